"""What looks after the server wants to know: how many jobs there are, and how old."""

from __future__ import annotations

from dataclasses import dataclass

from app.services.workbench import Workbench
from app.store.types import now


@dataclass(frozen=True, slots=True)
class JobsInState:
    """Jobs of one kind that wait or are under way."""

    kind: str
    status: str
    count: int
    oldest: float
    """Age of the oldest one. [s]"""


def jobs_in_states(bench: Workbench) -> list[JobsInState]:
    """Return the jobs of every workspace that have not ended, by kind and status."""
    moment = now()
    return [
        # A clock that was put back makes nothing younger than new.
        JobsInState(kind, status, count, max(0.0, (moment - oldest).total_seconds()))
        for kind, status, count, oldest in bench.store.jobs_by_state()
    ]
