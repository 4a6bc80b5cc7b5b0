"""What the customer does on a link: accept and sign, decline, or ask; and the author's reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.errors import BadInput, Conflict, Unprocessable
from app.features.proposals.model import CustomerAct, ProposalContent, ProposalEvent, Reply, ReplyRequest
from app.features.proposals.service import existing, list_events, status_of
from app.features.proposals.sharing import WrongPassphrase, is_locked, link_id, link_target, no_link
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.identity import token_hash
from app.platform.store.queries import now
from app.platform.store.repository import Repository
from app.platform.store.tables import ProposalRecord
from app.platform.workspace import Installation, Workspace

MOST_QUESTIONS = 50
"""Questions that may wait for a reply, since events are never dropped."""

SEEN = ("accepted", "declined", "asked", "replied")
"""Events that the customer sees: the own ones and the author's replies."""

SIGNED = SEEN[:2]
"""The acceptance or the refusal, of which there is one at most."""

OPEN = ("approved", "sent")
"""States of review in which the customer may answer."""


def choices_of(content: ProposalContent) -> Sequence[str]:
    """Return the labels of which the customer may accept one: what is offered, and what ties with it."""
    decision, offered = content.decision, content.offered
    if decision is None or decision.recommended is None or list(offered) != [decision.recommended]:
        return offered
    return [*offered, *decision.tied]


def act_on_link(installation: Installation, token: str, proof: str | None, act: CustomerAct) -> None:
    """Record what the customer does, if the link works and the proposal is still what was read."""
    workspace, identifier = link_target(installation, token)
    moment = now()
    with workspace.transaction() as repository:
        queries = repository.of_proposal(identifier)
        # One act after the other: of two answers at once only the first stands.
        queries.hold()
        share = queries.share_of(token_hash(token), moment)
        if share is None:
            raise no_link()
        if is_locked(share, token, proof):
            raise WrongPassphrase("open the link in a browser and enter its passphrase first")
        record = existing(repository, identifier)
        if act.act == "ask":
            check_waiting(queries.events())
            detail, kind = {"note": required(act.text, "text")}, "asked"
        else:
            detail, kind = answer_of(record, act)
            if not queries.move(record.review, {"review": kind}):
                raise Conflict.at("act", "the proposal has changed in the meantime; reload it")
        signed = {"name": act.name} if act.name else {}
        queries.add_event(kind, moment, {**signed, **detail, "link": link_id(token)})


def answer_of(record: ProposalRecord, act: CustomerAct) -> tuple[dict[str, Any], str]:
    """Return the detail of an acceptance or a refusal, and its event."""
    if record.review not in OPEN:
        raise Conflict.at("act", "this proposal has been answered already")
    if status_of(record) == "expired":
        raise Conflict.at("act", "the validity date of the proposal has passed; ask for a new one")
    if act.sha256 != record.sha256:
        raise Conflict.at("sha256", "this is not the proposal that the link shows; reload the page")
    if act.act == "decline":
        return {"note": required(act.text, "text"), "sha256": record.sha256}, "declined"
    required(act.name, "name")
    choices = choices_of(ProposalContent.read(record.content, frozen=True))
    if not choices:
        raise Conflict.at("act", "nothing is offered in this proposal, so there is nothing to accept")
    option = choices[0] if len(choices) == 1 else required(act.option, "option")
    if option not in choices:
        raise BadInput.at("option", "choose one of {options}", options=", ".join(choices))
    return {"option": option, "sha256": record.sha256}, "accepted"


def required(text: str | None, field: str) -> str:
    if not text:
        raise Unprocessable.at(field, "this field is required")
    return text


def waiting(events: Sequence[Any]) -> int:
    """Return how many questions came after the last reply."""
    count = 0
    for event in events:
        count = 0 if event.kind == "replied" else count + (event.kind == "asked")
    return count


def check_waiting(events: Sequence[Any]) -> None:
    if waiting(events) >= MOST_QUESTIONS:
        template = "{most} questions wait for a reply; ask again after it"
        raise Conflict.at("text", template, most=MOST_QUESTIONS)


def seen_by_customer(workspace: Workspace, identifier: str) -> list[ProposalEvent]:
    """Return what the customer did and was replied, without who of the workspace replied."""
    events = list_events(workspace, identifier).items
    shown = ("name", "note", "option", "sha256")
    return [
        event.model_copy(update={"by": None, "detail": {k: v for k, v in event.detail.items() if k in shown}})
        for event in events
        # An answer that the author enters is a note of the workspace.
        if event.kind in SEEN and (event.kind == "replied" or "link" in event.detail)
    ]


def reply_to(workspace: Workspace, identifier: str, request: ReplyRequest, key: str | None = None) -> Reply:
    """Reply to the questions of the customer, who reads it on the link."""
    call = IdempotentCall.of(f"proposals/{identifier}/replies", key, request)

    def make() -> tuple[Reply, Save]:
        with workspace.transaction() as repository:
            existing(repository, identifier)
            if not waiting(repository.of_proposal(identifier).events()):
                raise Conflict.at("text", "no question of the customer waits for a reply")
        reply = Reply(text=request.text, at=now())

        def save(repository: Repository) -> None:
            repository.of_proposal(identifier).add_event("replied", reply.at, {"note": reply.text})

        return reply, save

    return keep(workspace, call, Reply, make)
