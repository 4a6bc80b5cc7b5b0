"""A proposal is mailed once, whoever asks at the same time, on SQLite and PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from app.errors import Conflict
from app.features.proposals import service as proposals
from app.features.proposals.model import Proposal, ReviewRequest
from app.features.proposals.review import Mailer, take_step
from app.platform.identity import Identity
from app.platform.workspace import Workspace
from tests.support.objects import at_once, comparison_of, proposal_of

Post = Callable[[str, str, str], bool]

REQUEST = ReviewRequest(step="send", to="buyer@example.com")


@pytest.fixture
def proposal(workspace: Workspace) -> str:
    identifier = proposal_of(workspace, comparison_of(workspace))
    proposals.freeze_proposal(workspace, identifier)
    return identifier


def send(workspace: Workspace, proposal: str, post: Post, key: str | None = "once") -> Proposal:
    mailer = Mailer(
        Identity(workspace.installation.store, workspace.installation.sealer, mail=post), "http://localhost"
    )
    return take_step(workspace, proposal, REQUEST, mailer, key)


def kinds(workspace: Workspace, proposal: str) -> list[str]:
    return [event.kind for event in proposals.list_events(workspace, proposal).items]


@pytest.mark.parametrize("key", ["once", None])
def test_of_several_at_once_only_one_sends(workspace: Workspace, proposal: str, key: str | None) -> None:
    mails, all_read = list[str](), threading.Barrier(4)
    existing = proposals.existing

    def read(*asked: Any) -> Any:
        record = existing(*asked)
        all_read.wait(30)
        return record

    def post(address: str, subject: str, text: str) -> bool:
        mails.append(text)
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.features.proposals.review.existing", read)
        refused = at_once(lambda _: send(workspace, proposal, post, key), 4)
    assert len(mails) == 1
    assert all(isinstance(error, Conflict) for error in refused)
    assert kinds(workspace, proposal) == ["created", "frozen", "shared", "sent"]
    if key is not None:
        assert send(workspace, proposal, post, key).review == "sent"
        assert len(mails) == 1, "a repeated key gets the answer of the first"


def test_a_key_whose_mail_is_on_its_way_has_no_answer_yet(workspace: Workspace, proposal: str) -> None:
    repeated: list[str] = []

    def post(address: str, subject: str, text: str) -> bool:
        assert proposals.get_proposal(workspace, proposal).review == "sent"
        with pytest.raises(Conflict) as caught:
            send(workspace, proposal, post)
        repeated.append(caught.value.errors[0].field)
        return True

    assert send(workspace, proposal, post).review == "sent"
    assert repeated == ["Idempotency-Key"]


def test_a_mail_that_is_not_accepted_leaves_state_and_key_as_they_were(
    workspace: Workspace, proposal: str
) -> None:
    with pytest.raises(Conflict):
        send(workspace, proposal, lambda *_: False)
    assert proposals.get_proposal(workspace, proposal).review == "approved"
    assert "sent" not in kinds(workspace, proposal)
    assert send(workspace, proposal, lambda *_: True).review == "sent"
