"""What the template of vendor claims is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.sizing.claims.documents import FootingRatio, VendorClaim, VendorClaims
from app.web.contexts import BasePage, FigureView, Form, WarningGroup


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One claim of the table."""

    claim: VendorClaim
    cells: Mapping[str, FootingRatio]
    """Footing → ratio with software of the time; empty where there is no estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsPage(BasePage):
    """Vendor claims with their verdicts."""

    form: Form
    query: str
    """Assumptions as the end of an address; may be empty."""
    found: VendorClaims
    rows: Sequence[ClaimRow]
    tally: Sequence[tuple[str, int]]
    """Verdict and how many claims it stands for."""
    footings: Sequence[str]
    """Footings that are columns of the table."""
    placeholders: Mapping[str, str]
    """Field → what the catalogue says, where nothing is asked."""
    article_url: str
    """Address with equal price and power as the article has it."""
    plain_url: str
    """Address without any assumption."""
    chart: FigureView
    warnings: Sequence[WarningGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPage(BasePage):
    """One vendor claim with both estimates."""

    claim: VendorClaim
    query: str
    """Assumptions as the end of an address; may be empty."""
    warnings: Sequence[WarningGroup]
