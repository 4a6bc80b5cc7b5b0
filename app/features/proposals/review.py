"""Steps of review, from the draft to the customer's answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from app.errors import Conflict, Message
from app.features.accounts.mailing import send
from app.features.proposals.model import Proposal, Review, ReviewRequest, ShareRequest, Step
from app.features.proposals.service import STEPS, existing, freeze_proposal, get_proposal, review_of
from app.features.proposals.sharing import create_share
from app.platform.admission import Scope
from app.platform.idempotency import IdempotentCall, Save, claimed, free, keep
from app.platform.identity import Identity, checked_email
from app.platform.store.queries import now
from app.platform.store.repository import Repository
from app.platform.workspace import Workspace

EVENTS: dict[Step, str] = {
    "submit": "submitted",
    "return": "returned",
    "send": "sent",
    "accept": "accepted",
    "decline": "declined",
}
"""Step → its event; the event of an approval is “frozen”."""


@dataclass(frozen=True, slots=True)
class Mailer:
    """How mails are sent, and the base URL of the request."""

    identity: Identity
    base_url: str


def take_step(
    workspace: Workspace, identifier: str, request: ReviewRequest, mailer: Mailer, key: str | None = None
) -> Proposal:
    """Take a step of review; a repeated key sends no second mail."""
    call = IdempotentCall.of(f"proposals/{identifier}/review", key, request)

    def make() -> tuple[Proposal, Save]:
        with workspace.transaction() as repository:
            record = existing(repository, identifier)
        before = review_of(record)
        after = next_state(before, request.step)
        if request.step == "approve":
            freeze_proposal(workspace, identifier, request.note)
            return get_proposal(workspace, identifier), lambda _: None
        moment = now()
        move = partial(move_on, identifier, before, after)
        detail: dict[str, Any] = {"note": request.note} if request.note else {}
        if request.step == "send" and request.to is not None:
            detail["to"] = checked_email(request.to, "to")
            # Key and state come before the mail, so that of several at once only one sends it; the event,
            # of which webhooks are told, comes after it.
            undo = partial(move_back, identifier, before, after)
            with claimed(workspace, call, move, undo):
                send_link(workspace, identifier, request, mailer)

        def save(repository: Repository) -> None:
            if "to" in detail:
                free(repository, call)
            else:
                move(repository)
            repository.of_proposal(identifier).add_event(EVENTS[request.step], moment, detail)

        moved = {"review": after, "steps": list(STEPS.get(after, ())), "updated_at": moment}
        return get_proposal(workspace, identifier).model_copy(update=moved), save

    return keep(workspace, call, Proposal, make)


def check_approver(workspace: Workspace, scopes: frozenset[Scope]) -> None:
    """Refuse an approval by a key that may only propose, where the workspace asks for a second one."""
    with workspace.transaction() as repository:
        second = repository.asks_second_approval()
    if second and Scope.APPROVE not in scopes:
        raise Conflict.at("step", "approving with an API key requires the scope “approve” in this workspace")


def move_on(identifier: str, before: Review, after: Review, repository: Repository) -> None:
    if not repository.of_proposal(identifier).move(before, {"review": after}):
        raise Conflict.at("step", "the proposal has changed in the meantime; reload it")


def move_back(identifier: str, before: Review, after: Review, repository: Repository) -> None:
    """Take a sending back, unless it was sent by another request."""
    queries = repository.of_proposal(identifier)
    queries.hold()
    if all(event.kind != EVENTS["send"] for event in queries.events()):
        queries.move(after, {"review": before})


def next_state(before: Review, step: Step) -> Review:
    allowed = STEPS.get(before, {})
    if step in allowed:
        return allowed[step]
    values = {"step": step, "state": Message(before.replace("_", " "))}
    if not allowed:
        raise Conflict.at("step", "“{step}” is not possible: the proposal is {state}", **values)
    raise Conflict.at(
        "step",
        "“{step}” is not possible: the proposal is {state}; choose one of {steps}",
        **values,
        steps=", ".join(allowed),
    )


def send_link(workspace: Workspace, identifier: str, request: ReviewRequest, mailer: Mailer) -> None:
    """Send the customer a new link, in the language of the proposal."""
    if mailer.identity.mail is None:
        raise Conflict.at("to", "no mail server is configured; create a link and send it yourself")
    share_request = ShareRequest(expires_in_days=request.expires_in_days)
    share = create_share(workspace, identifier, share_request)
    content = get_proposal(workspace, identifier).content
    about = {"title": content.title, "number": content.number or identifier}
    sender = content.sender.organization if content.sender else None
    until = (now() + timedelta(days=request.expires_in_days)).date().isoformat()
    accepted = send(
        mailer.identity,
        str(request.to),
        content.locale,
        Message("Proposal {number}: {title}", about),
        *([request.note] if request.note else []),
        Message("The proposal “{title}” ({number}) is ready for you:", about),
        mailer.identity.address_of(share.path or "", mailer.base_url),
        Message("The link is valid until {day}.", {"day": until}),
        *([sender] if sender else []),
    )
    if not accepted:
        raise Conflict.at("to", "the mail server did not accept the mail; create a link and send it yourself")
