"""Parameters of an address that say how a page is shown, not what it shows."""

from __future__ import annotations

from app.web.locale import PARAMETER as LANGUAGE
from app.web.pictures import PARAMETER as CHART

DISPLAY_PARAMS = frozenset({LANGUAGE, CHART})
"""The language, and the chart that is wanted as a file; no page may take them for a question."""
