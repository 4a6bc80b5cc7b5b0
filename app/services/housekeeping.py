"""What a server does by itself now and then: forget what is over, and note what has ended."""

from __future__ import annotations

from datetime import datetime

from app.services.once import purge_answers
from app.services.proposals import note_expired
from app.services.rates import purge_rates
from app.services.webhook_delivery import purge_messages
from app.services.workbench import Workbench

TIDY_SECONDS = 600.0
"""How often that is due. [s]"""


def tidy(bench: Workbench, moment: datetime) -> None:
    """Forget answers under used keys, counted requests and old messages; note proposals that have ended."""
    note_expired(bench, moment)
    purge_answers(bench, moment)
    purge_rates(bench, moment)
    purge_messages(bench, moment)
