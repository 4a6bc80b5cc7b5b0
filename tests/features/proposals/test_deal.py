"""State of a deal: polls find every change, approvals keep their note and may need a second person."""

from __future__ import annotations

import pytest

from app.errors import Conflict
from app.features.proposals import service as proposals
from app.features.proposals.model import ProposalPatch, ReviewRequest, ShareRequest, Step
from app.features.proposals.review import Mailer, check_approver, take_step
from app.features.proposals.sharing import create_share
from app.platform.admission import Scope
from app.platform.identity import Identity
from app.platform.store.queries import ListFilter
from app.platform.store.trail import Actor, acting
from app.platform.workspace import Workspace
from tests.support.objects import comparison_of, proposal_of


@pytest.fixture
def draft(workspace: Workspace) -> str:
    return proposal_of(workspace, comparison_of(workspace))


def step(workspace: Workspace, identifier: str, name: Step, note: str | None = None) -> None:
    mailer = Mailer(Identity(workspace.installation.store, workspace.installation.sealer), "http://localhost")
    take_step(workspace, identifier, ReviewRequest(step=name, note=note), mailer)


def test_every_change_moves_the_time_of_the_last_one_and_the_order_by_it(workspace: Workspace) -> None:
    first, second = (proposal_of(workspace, comparison_of(workspace)) for _ in range(2))

    def newest() -> str:
        wanted = ListFilter(order="updated")
        return proposals.list_proposals(workspace, 10, None, wanted=wanted).items[0].id

    assert newest() == second
    changes = [
        lambda: step(workspace, first, "submit"),
        lambda: step(workspace, first, "approve"),
        lambda: create_share(workspace, first, ShareRequest()),
        lambda: step(workspace, first, "send"),
        lambda: step(workspace, first, "accept"),
    ]
    for change in changes:
        proposals.change_proposal(workspace, second, ProposalPatch(customer="Another"))
        assert newest() == second
        since = proposals.get_proposal(workspace, second).updated_at
        change()
        assert newest() == first
        found = proposals.list_proposals(workspace, 10, None, wanted=ListFilter(since=since)).items
        assert first in {proposal.id for proposal in found}
    before = proposals.get_proposal(workspace, first).updated_at
    proposals.replay_proposal(workspace, first)
    assert proposals.get_proposal(workspace, first).updated_at == before


def test_an_approval_keeps_its_note(workspace: Workspace, draft: str) -> None:
    step(workspace, draft, "approve", "prices checked against the quote")
    approved = proposals.list_events(workspace, draft).items[-1]
    assert (approved.kind, approved.detail["note"]) == ("frozen", "prices checked against the quote")


def test_a_workspace_may_ask_for_approval_by_another_than_the_author(workspace: Workspace) -> None:
    author, other = Actor("person", "acc_author", "Author"), Actor("key", "key_other", "CRM")
    with acting(author):
        identifier = proposal_of(workspace, comparison_of(workspace))
    with workspace.installation.store.identity() as queries:
        queries.people.change_workspace(workspace.id, {"second_approval": True})
    with acting(author), pytest.raises(Conflict):
        step(workspace, identifier, "approve")
    with acting(other):
        proposals.change_proposal(workspace, identifier, ProposalPatch(customer="Another"))
        with pytest.raises(Conflict):
            step(workspace, identifier, "approve")
    with pytest.raises(Conflict):
        check_approver(workspace, frozenset({Scope.READ, Scope.PROPOSE}))
    check_approver(workspace, frozenset({Scope.PROPOSE, Scope.APPROVE}))
    with acting(author):
        step(workspace, identifier, "approve")
    assert proposals.get_proposal(workspace, identifier).review == "approved"
