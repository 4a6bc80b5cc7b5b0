"""For how long what is kept for a time only is kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.errors import BadInput

KINDS = ("estimates", "sweeps", "idempotency", "shares", "unsaved")
"""What may have a time; everything else stays until it is deleted."""

MOST_DAYS = 36_500

VARIABLE = "RACKLINE_RETENTION_DAYS"


@dataclass(frozen=True, slots=True)
class Retention:
    """For how many days each kind is kept; None for as long as it is not deleted."""

    estimates: int | None = None
    """Estimates that no comparison, bill of materials or proposal names. [d]"""
    sweeps: int | None = None
    """Sweeps that have ended. [d]"""
    idempotency: int | None = 1
    """Answers kept to be given again to a repeated key. [d]"""
    shares: int | None = 90
    """Links to proposals after they ended. [d]"""
    unsaved: int | None = 30
    """Studies that nobody has saved. [d]"""

    def before(self, kind: str, moment: datetime) -> datetime | None:
        """Return the moment before which a kind has had its time."""
        days = getattr(self, kind)
        return None if days is None else moment - timedelta(days=days)

    @classmethod
    def read(cls, text: str) -> Retention:
        """Return the times that a setting states: ``estimates=90 sweeps=365``; “never” for no end."""
        stated: dict[str, int | None] = {}
        for part in text.replace(",", " ").split():
            kind, _, days = part.partition("=")
            if kind not in KINDS or not (days == "never" or (days.isdecimal() and len(days) < 6)):
                raise BadInput.at(
                    VARIABLE,
                    "enter kinds with their days, such as “estimates=90 sweeps=never”; the kinds are {kinds}",
                    kinds=", ".join(KINDS),
                )
            stated[kind] = None if days == "never" else int(days)
            if stated[kind] is not None and not 1 <= int(days) <= MOST_DAYS:
                raise BadInput.at(
                    VARIABLE, "{kind} must be kept for 1 to {most} days", kind=kind, most=MOST_DAYS
                )
        return cls(**stated)
