"""Queries of proposals: events, files and links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from app.platform.store.integration_queries import WebhookQueries
from app.platform.store.queries import Queries, Statements
from app.platform.store.tables import (
    ProposalArtifact,
    ProposalEventRecord,
    ProposalRecord,
    ProposalShare,
    WorkspaceRow,
)
from app.platform.store.trail import acting_name

EXPIRED = "expired"
"""Event of a frozen proposal whose last day is over."""


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Where a link leads."""

    workspace_id: str
    proposal_id: str


def shared_by(session: Session, token_sha256: str) -> LinkTarget | None:
    """Return where a link of any workspace leads, whether it still works or not."""
    share = session.get(ProposalShare, token_sha256)
    return None if share is None else LinkTarget(share.workspace_id, share.proposal_id)


LOOKED_AT = ("opened", "replayed")
"""Events that leave a proposal as it is."""

ANSWERED = ("accepted", "declined")
"""States of review that stay when the last day is over: the customer has answered."""


def status_criterion(status: str, today: str) -> sa.ColumnElement[bool]:
    """Return the condition of a proposal that stands so on a day, given as an ISO date."""
    over = _over(today)
    if status == "expired":
        return over
    frozen = col(ProposalRecord.frozen_at)
    return sa.and_(sa.not_(over), frozen.is_(None) if status == "draft" else frozen.is_not(None))


def reviewed(state: str, today: str) -> sa.ColumnElement[bool]:
    """Return the condition of a proposal that is in a state of review on a day."""
    review, over = col(ProposalRecord.review), _over(today)
    if state == EXPIRED:
        return sa.and_(over, review.not_in(ANSWERED))
    return review == state if state in ANSWERED else sa.and_(sa.not_(over), review == state)


def _over(today: str) -> sa.ColumnElement[bool]:
    return sa.func.coalesce(col(ProposalRecord.valid_until), today) < today


def ended_proposals(session: Session, day: date, most: int) -> list[LinkTarget]:
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
    return [LinkTarget(*row) for row in session.connection().execute(query)]


def next_number(session: Session, workspace_id: str, year: int) -> str:
    """Return the next reference number of a workspace; years begin anew, and never go back.

    Whoever asks at the same time waits for the end of this transaction.
    """
    statements, last_number = Statements(session), col(WorkspaceRow.last_proposal)
    statements.update_rows(WorkspaceRow, {"last_proposal": last_number}, id=workspace_id)
    (last,) = statements.values(WorkspaceRow, last_number, id=workspace_id)
    last_year, _, count = (last or "0-0").partition("-")
    same = int(last_year) >= year
    number = f"{last_year if same else year}-{(int(count) if same else 0) + 1:04}"
    statements.update_rows(WorkspaceRow, {"last_proposal": number}, id=workspace_id)
    return number


TOLD = frozenset(
    (
        "sha256",
        "before",
        "comparison",
        "fields",
        "valid_until",
        "expires_at",
        "passphrase",
        "changes",
        "refused",
    )
)
"""What webhooks are told of an event; names, addresses and notes stay here."""


class ProposalQueries(Queries):
    """One proposal."""

    def __init__(self, session: Session, workspace_id: str, proposal_id: str) -> None:
        super().__init__(session, workspace_id)
        self._proposal_id = proposal_id

    def change(self, version: int, values: dict[str, Any]) -> bool:
        """Change a draft of this version; tell whether it was still that draft."""
        draft = {"id": self._proposal_id, "version": version, "frozen_at": None}
        return self.update_rows(ProposalRecord, values, **draft) == 1

    def move(self, before: str, values: dict[str, Any]) -> bool:
        """Give a proposal another state of review; tell whether it was still in the one before."""
        return self.update_rows(ProposalRecord, values, id=self._proposal_id, review=before) == 1

    def count_visit(self, moment: datetime) -> None:
        """Count that the customer's page was opened."""
        counted = {
            "opened": col(ProposalRecord.opened) + 1,
            "first_opened_at": sa.func.coalesce(col(ProposalRecord.first_opened_at), moment),
            "last_opened_at": moment,
        }
        self.update_rows(ProposalRecord, counted, id=self._proposal_id)

    def hold(self) -> None:
        """Let nobody else write down what happens to the proposal until this transaction ends."""
        self.update_rows(ProposalRecord, {"title": ProposalRecord.title}, id=self._proposal_id)

    def add_event(self, kind: str, at: datetime, detail: dict[str, Any]) -> None:
        """Write down what happened, with the messages to the webhooks that are to be told.

        Whoever writes down something else of the same proposal waits, so that no two take the same place.
        What changes the proposal moves the time of its last change; others only look at it.
        """
        self._session.flush()
        changed = {} if kind in LOOKED_AT else {"updated_at": at}
        self.update_rows(ProposalRecord, {"title": ProposalRecord.title, **changed}, id=self._proposal_id)
        newest = sa.func.max(col(ProposalEventRecord.position))
        (last,) = self.values(ProposalEventRecord, newest, proposal_id=self._proposal_id)
        position = 0 if last is None else last + 1
        if name := acting_name():
            detail = {**detail, "by": name}
        self._add(
            ProposalEventRecord(
                proposal_id=self._proposal_id, position=position, kind=kind, at=at, detail=detail
            )
        )
        told = {name: value for name, value in detail.items() if name in TOLD}
        values = {"proposal_id": self._proposal_id, "position": position, "detail": told}
        WebhookQueries(self._session, self._workspace_id).tell(f"proposal.{kind}", at, values)

    def events(self) -> Sequence[ProposalEventRecord]:
        """Return what happened, in its order."""
        in_order = [col(ProposalEventRecord.position)]
        return self.every(ProposalEventRecord, order=in_order, proposal_id=self._proposal_id)

    def add_artifact(self, kind: str, sha256: str, data: bytes) -> None:
        self._add(ProposalArtifact(proposal_id=self._proposal_id, kind=kind, sha256=sha256, data=data))

    def artifact(self, kind: str) -> bytes | None:
        artifact_row = self.first(ProposalArtifact, proposal_id=self._proposal_id, kind=kind)
        return None if artifact_row is None else artifact_row.data

    def artifacts(self) -> Sequence[ProposalArtifact]:
        return self.every(ProposalArtifact, proposal_id=self._proposal_id)

    def add_share(self, share: ProposalShare) -> None:
        self._session.add(share)

    def share(self, moment: datetime) -> ProposalShare | None:
        """Return the link that works at a moment, the newest where there are several."""
        return self.first(
            ProposalShare,
            col(ProposalShare.expires_at) > moment,
            order=[col(ProposalShare.created_at).desc()],
            proposal_id=self._proposal_id,
            revoked_at=None,
        )

    def share_of(self, token_sha256: str, moment: datetime) -> ProposalShare | None:
        """Return the link of a token, if it works at a moment."""
        share = self.share(moment)
        return share if share is not None and share.token_sha256 == token_sha256 else None

    def count_opening(self, token_sha256: str) -> ProposalShare | None:
        """Count an opening and return the link as it then is; who opens at the same time waits for this."""
        counted = {"opened": col(ProposalShare.opened) + 1}
        self.update_rows(ProposalShare, counted, token_sha256=token_sha256)
        query = select(ProposalShare).where(*self.criteria(ProposalShare, token_sha256=token_sha256))
        return self._session.exec(query.execution_options(populate_existing=True)).first()

    def count_attempt(self, token_sha256: str) -> None:
        """Count a passphrase before it is looked at; whoever tries at the same time waits for this one."""
        counted = {"failures": col(ProposalShare.failures) + 1}
        self.update_rows(ProposalShare, counted, token_sha256=token_sha256)

    def settle_attempts(self, token_sha256: str, forgiven: int) -> None:
        """Forget so many of the passphrases that were counted; whoever settles at the same time waits.

        Those that came since stay counted: of them it is not known yet whether they are right.
        """
        failures = col(ProposalShare.failures)
        left = sa.case((failures > forgiven, failures - forgiven), else_=0)
        settled = {
            "failures": left,
            "failed_at": sa.case((left == 0, sa.null()), else_=col(ProposalShare.failed_at)),
        }
        self.update_rows(ProposalShare, settled, token_sha256=token_sha256)

    def revoke_shares(self, moment: datetime) -> int:
        """Take all links back, and return how many still worked."""
        return self.update_rows(
            ProposalShare,
            {"revoked_at": moment},
            col(ProposalShare.expires_at) > moment,
            proposal_id=self._proposal_id,
            revoked_at=None,
        )
