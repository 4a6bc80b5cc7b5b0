"""Queries of long work: who does it, how far it is, who has fallen silent.

Each claim counts the job's ``fence`` up, and everything its runner writes names that number. Whoever
has been taken for dead and is not therefore writes nothing: no clock decides whose a job is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col

from app.platform.store.queries import Queries
from app.platform.store.tables import ChoreRecord, JobRecord
from app.platform.store.trail import TrailQueries

WATCHED = 10_000
"""Jobs looked after at once."""


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job that a runner has taken on."""

    workspace_id: str
    id: str
    kind: str
    fence: int
    """Number of the claim; what a runner writes must name the newest."""


@dataclass(frozen=True, slots=True)
class WatchedJob:
    """What shows whether a job that has not ended moves."""

    id: str
    status: str
    fence: int
    beat: int
    attempts: int


def claim_job(session: Session, identifier: str, runner: str, moment: datetime) -> ClaimedJob | None:
    """Take on a job that waits; None where it does not, such as when another was faster."""
    claim = (
        sa.update(JobRecord)
        .where(col(JobRecord.id) == identifier, col(JobRecord.status) == "queued")
        .values(
            status="running",
            runner=runner,
            fence=JobRecord.fence + 1,
            attempts=JobRecord.attempts + 1,
            beat=JobRecord.beat + 1,
            updated_at=moment,
        )
        .returning(col(JobRecord.workspace_id), col(JobRecord.id), col(JobRecord.kind), col(JobRecord.fence))
    )
    claimed = session.connection().execute(claim).first()
    return ClaimedJob(*claimed) if claimed else None


def watched_jobs(session: Session) -> list[WatchedJob]:
    """Return the jobs of every workspace that have not ended, oldest first."""
    query = (
        sa.select(
            col(JobRecord.id),
            col(JobRecord.status),
            col(JobRecord.fence),
            col(JobRecord.beat),
            col(JobRecord.attempts),
        )
        .where(col(JobRecord.status).in_(("queued", "running")))
        .order_by(col(JobRecord.created_at), col(JobRecord.id))
        .limit(WATCHED)
    )
    return [WatchedJob(*row) for row in session.connection().execute(query)]


def waiting_jobs(session: Session) -> list[tuple[str, str]]:
    """Return workspace and identifier of the jobs that wait, oldest first."""
    query = (
        sa.select(col(JobRecord.workspace_id), col(JobRecord.id))
        .where(col(JobRecord.status) == "queued")
        .order_by(col(JobRecord.created_at), col(JobRecord.id))
        .limit(WATCHED)
    )
    return [(workspace_id, identifier) for workspace_id, identifier in session.connection().execute(query)]


def take_back(
    session: Session, silent: WatchedJob, status: str, message: dict[str, Any] | None, moment: datetime
) -> bool:
    """Take a job from a runner that has fallen silent; false where it has been heard of since."""
    update = (
        sa.update(JobRecord)
        .where(
            col(JobRecord.id) == silent.id,
            col(JobRecord.status) == "running",
            col(JobRecord.fence) == silent.fence,
            col(JobRecord.beat) == silent.beat,
        )
        .values(status=status, message=message, runner=None, fence=JobRecord.fence + 1, updated_at=moment)
        .returning(col(JobRecord.workspace_id), col(JobRecord.kind))
    )
    own = session.connection().execute(update).first()
    if own is not None and status == "failed":
        workspace_id, kind = own
        TrailQueries(session, workspace_id).note(f"{kind}.{status}", kind, silent.id)
    return own is not None


def jobs_by_state(session: Session) -> Sequence[tuple[str, str, int, datetime]]:
    """Return kind, status, number and oldest moment of the jobs that have not ended."""
    query = (
        sa.select(
            col(JobRecord.kind),
            col(JobRecord.status),
            sa.func.count(),
            sa.func.min(col(JobRecord.created_at)),
        )
        .where(col(JobRecord.status).in_(("queued", "running")))
        .group_by(col(JobRecord.kind), col(JobRecord.status))
    )
    rows = session.connection().execute(query)
    return [(kind, status, count, oldest) for kind, status, count, oldest in rows]


def take_turn(session: Session, name: str, moment: datetime, due_before: datetime) -> bool:
    """Take the turn of a recurring chore; false where another server has taken it already.

    A turn that lies in the future, which a clock that was set back leaves behind, counts as due.
    """
    last = session.get(ChoreRecord, name)
    if last is None:
        session.add(ChoreRecord(name=name, turn_at=moment))
        session.flush()
        return True
    if due_before < last.turn_at <= moment:
        return False
    change = (
        sa.update(ChoreRecord)
        .where(
            col(ChoreRecord.name) == name,
            sa.or_(col(ChoreRecord.turn_at) <= due_before, col(ChoreRecord.turn_at) > moment),
        )
        .values(turn_at=moment)
    )
    return bool(session.connection().execute(change).rowcount)


class JobQueries(Queries):
    """One job."""

    def __init__(self, session: Session, workspace_id: str, job_id: str) -> None:
        super().__init__(session, workspace_id)
        self._job_id = job_id

    def beat(self, fence: int) -> bool:
        """Show that the runner of a claim lives; false where the job is no longer its own."""
        return self._change_own(fence, beat=JobRecord.beat + 1)

    def advance(self, fence: int, steps: int, moment: datetime) -> bool:
        """Count steps that the runner of a claim has done; false where the job is no longer its own.

        What the steps have made belongs into the same transaction, and only where this is true.
        """
        done, beat = JobRecord.done + steps, JobRecord.beat + 1
        return self._change_own(fence, done=done, beat=beat, attempts=1, updated_at=moment)

    def end(self, fence: int, status: str, moment: datetime, message: dict[str, Any] | None = None) -> bool:
        """Let go of a job that the runner of a claim has done, given up or left for later."""
        changes: dict[str, Any] = {"status": status, "message": message, "runner": None, "updated_at": moment}
        if status == "queued":
            # Put down in good order: that says nothing against the job.
            changes["attempts"] = 0
        return self._noted(self._change_own(fence, **changes), status)

    def move(self, before: Iterable[str], status: str, moment: datetime) -> bool:
        """Change the status from any of some others, taking the job from whoever does it."""
        changes = {
            "status": status,
            "message": None,
            "runner": None,
            "attempts": 0,
            "fence": JobRecord.fence + 1,
            "updated_at": moment,
        }
        stands = col(JobRecord.status).in_(list(before))
        return self._noted(self.update_rows(JobRecord, changes, stands, id=self._job_id) > 0, status)

    def _change_own(self, fence: int, **values: Any) -> bool:
        """Change the job while the runner of a claim has it; tell whether it has."""
        return self.update_rows(JobRecord, values, id=self._job_id, fence=fence, status="running") > 0

    def _noted(self, changed: bool, status: str) -> bool:
        if changed:
            (kind,) = self.values(JobRecord, JobRecord.kind, id=self._job_id)
            trail = TrailQueries(self._session, self._workspace_id)
            trail.note(f"{kind}.{status}", kind, self._job_id)
        return changed
