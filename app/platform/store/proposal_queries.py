"""Every query about proposals by name: events, files and links, each within one workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select, update

from app.platform.store.tables import ProposalArtifact, ProposalEventRecord, ProposalRecord, ProposalShare
from app.platform.store.webhook_queries import WebhookQueries

EXPIRED = "expired"
"""Event of a frozen proposal whose last day is over."""


@dataclass(frozen=True, slots=True)
class SharedBy:
    """Where a link leads."""

    workspace_id: str
    proposal_id: str


def shared_by(session: Session, token_sha256: str) -> SharedBy | None:
    """Return where a link of any workspace leads, whether it still works or not."""
    found = session.get(ProposalShare, token_sha256)
    return None if found is None else SharedBy(found.workspace_id, found.proposal_id)


def standing(status: str, today: str) -> sa.ColumnElement[bool]:
    """Return the condition of a proposal that stands so on a day, given as an ISO date."""
    over = sa.func.coalesce(col(ProposalRecord.valid_until), today) < today
    if status == "expired":
        return over
    frozen = col(ProposalRecord.frozen_at)
    return sa.and_(sa.not_(over), frozen.is_(None) if status == "draft" else frozen.is_not(None))


def ended_proposals(session: Session, day: date, most: int) -> list[SharedBy]:
    """Return frozen proposals of any workspace whose last day was before a day, without an event of it."""
    noted = (
        sa.select(col(ProposalEventRecord.position))
        .where(
            col(ProposalEventRecord.proposal_id) == col(ProposalRecord.id),
            col(ProposalEventRecord.kind) == EXPIRED,
        )
        .exists()
    )
    query = (
        sa.select(col(ProposalRecord.workspace_id), col(ProposalRecord.id))
        .where(
            col(ProposalRecord.frozen_at).is_not(None),
            # ISO dates are in the order of their days.
            col(ProposalRecord.valid_until) < day.isoformat(),
            sa.not_(noted),
        )
        .order_by(col(ProposalRecord.valid_until))
        .limit(most)
    )
    return [SharedBy(*row) for row in session.connection().execute(query)]


class ProposalQueries:
    """The queries of one proposal."""

    def __init__(self, session: Session, workspace_id: str, proposal_id: str) -> None:
        self._session = session
        self._workspace_id = workspace_id
        self._proposal_id = proposal_id

    def change(self, version: int, values: dict[str, Any]) -> bool:
        """Change a draft of this version; tell whether it was still that draft."""
        changed = self._session.execute(
            update(ProposalRecord)
            .where(
                col(ProposalRecord.workspace_id) == self._workspace_id,
                col(ProposalRecord.id) == self._proposal_id,
                col(ProposalRecord.version) == version,
                col(ProposalRecord.frozen_at).is_(None),
            )
            .values(**values)
        )
        return changed.rowcount == 1  # type: ignore[attr-defined, no-any-return]

    def hold(self) -> None:
        """Let nobody else write down what happens to the proposal until this transaction ends."""
        self._session.execute(
            update(ProposalRecord)
            .where(
                col(ProposalRecord.workspace_id) == self._workspace_id,
                col(ProposalRecord.id) == self._proposal_id,
            )
            .values(title=ProposalRecord.title)
        )

    def add_event(self, kind: str, at: datetime, detail: dict[str, Any]) -> None:
        """Write down what happened, with the messages to the webhooks that are to be told.

        Whoever writes down something else of the same proposal waits, so that no two take the same place.
        """
        self._session.flush()
        self.hold()
        last = self._session.scalar(
            sa.select(sa.func.max(col(ProposalEventRecord.position))).where(
                col(ProposalEventRecord.workspace_id) == self._workspace_id,
                col(ProposalEventRecord.proposal_id) == self._proposal_id,
            )
        )
        position = 0 if last is None else last + 1
        self._session.add(
            ProposalEventRecord(
                proposal_id=self._proposal_id,
                position=position,
                workspace_id=self._workspace_id,
                kind=kind,
                at=at,
                detail=detail,
            )
        )
        told = {"proposal_id": self._proposal_id, "position": position, "detail": detail}
        WebhookQueries(self._session, self._workspace_id).tell(f"proposal.{kind}", at, told)

    def events(self) -> Sequence[ProposalEventRecord]:
        """Return what happened, in its order."""
        query = (
            select(ProposalEventRecord)
            .where(
                ProposalEventRecord.workspace_id == self._workspace_id,
                ProposalEventRecord.proposal_id == self._proposal_id,
            )
            .order_by(col(ProposalEventRecord.position))
        )
        return self._session.exec(query).all()

    def add_artifact(self, kind: str, sha256: str, data: bytes) -> None:
        """Keep a file."""
        self._session.add(
            ProposalArtifact(
                proposal_id=self._proposal_id,
                kind=kind,
                workspace_id=self._workspace_id,
                sha256=sha256,
                data=data,
            )
        )

    def artifact(self, kind: str) -> bytes | None:
        """Return a file."""
        query = select(ProposalArtifact).where(
            ProposalArtifact.workspace_id == self._workspace_id,
            ProposalArtifact.proposal_id == self._proposal_id,
            ProposalArtifact.kind == kind,
        )
        found = self._session.exec(query).first()
        return None if found is None else found.data

    def add_share(self, share: ProposalShare) -> None:
        """Keep a link."""
        self._session.add(share)

    def share(self, moment: datetime) -> ProposalShare | None:
        """Return the link that works at a moment, the newest where there are several."""
        query = (
            select(ProposalShare)
            .where(
                ProposalShare.workspace_id == self._workspace_id,
                ProposalShare.proposal_id == self._proposal_id,
                col(ProposalShare.revoked_at).is_(None),
                col(ProposalShare.expires_at) > moment,
            )
            .order_by(col(ProposalShare.created_at).desc())
        )
        return self._session.exec(query).first()

    def share_of(self, token_sha256: str, moment: datetime) -> ProposalShare | None:
        """Return the link of a token, if it works at a moment."""
        found = self.share(moment)
        return found if found is not None and found.token_sha256 == token_sha256 else None

    def count_opening(self, token_sha256: str) -> ProposalShare | None:
        """Count an opening and return the link as it then is; who opens at the same time waits for this."""
        mine = (
            col(ProposalShare.workspace_id) == self._workspace_id,
            col(ProposalShare.token_sha256) == token_sha256,
        )
        counted = update(ProposalShare).where(*mine).values(opened=col(ProposalShare.opened) + 1)
        self._session.execute(counted)
        return self._session.exec(
            select(ProposalShare).where(*mine).execution_options(populate_existing=True)
        ).first()

    def count_attempt(self, token_sha256: str) -> None:
        """Count a passphrase before it is looked at; whoever tries at the same time waits for this one."""
        self._session.execute(
            update(ProposalShare)
            .where(
                col(ProposalShare.workspace_id) == self._workspace_id,
                col(ProposalShare.token_sha256) == token_sha256,
            )
            .values(failures=col(ProposalShare.failures) + 1)
        )

    def settle_attempts(self, token_sha256: str, forgiven: int) -> None:
        """Forget so many of the passphrases that were counted; whoever settles at the same time waits.

        Those that came since stay counted: of them it is not known yet whether they are right.
        """
        left = sa.case(
            (col(ProposalShare.failures) > forgiven, col(ProposalShare.failures) - forgiven), else_=0
        )
        self._session.execute(
            update(ProposalShare)
            .where(
                col(ProposalShare.workspace_id) == self._workspace_id,
                col(ProposalShare.token_sha256) == token_sha256,
            )
            .values(
                failures=left,
                failed_at=sa.case((left == 0, sa.null()), else_=col(ProposalShare.failed_at)),
            )
        )

    def revoke_shares(self, moment: datetime) -> int:
        """Take all links back, and return how many still worked."""
        revoked = self._session.execute(
            update(ProposalShare)
            .where(
                col(ProposalShare.workspace_id) == self._workspace_id,
                col(ProposalShare.proposal_id) == self._proposal_id,
                col(ProposalShare.revoked_at).is_(None),
                col(ProposalShare.expires_at) > moment,
            )
            .values(revoked_at=moment)
        )
        return int(revoked.rowcount)  # type: ignore[attr-defined]
