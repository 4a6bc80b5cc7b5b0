"""Proposals: a comparison made into a document, frozen, shared and replayed."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path, Query, Request, Response

from app.features.proposals import service as proposals
from app.features.proposals import sharing
from app.features.proposals.customers import reply_to
from app.features.proposals.files import file_of
from app.features.proposals.model import (
    FreezeRecord,
    Proposal,
    ProposalEvents,
    ProposalLocale,
    ProposalPatch,
    ProposalRequest,
    ProposalSummary,
    Replay,
    Reply,
    ReplyRequest,
    Review,
    ReviewRequest,
    Share,
    ShareRequest,
)
from app.features.proposals.review import Mailer, check_approver, take_step
from app.features.proposals.service import Standing
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web.api import (
    ASK,
    CHANGE,
    CHANGED,
    DELETE,
    LIST,
    READ,
    MatchHeader,
    api_router,
    file_answer,
    read_tag,
    write_tag,
)
from app.platform.web.auth import IdentityDep, PrincipalDep, located_at
from app.platform.web.deps import ID, CustomerQuery, KeyHeader, ListDep, WorkspaceDep
from app.platform.web.examples import PROPOSAL, PROPOSAL_CHANGED, REPLY, REVIEW, SHARE
from app.platform.web.locale import CSV, PDF, XLSX
from app.platform.web.requirements import LARGE_BODY, Right, requires

router = api_router("proposals", "/proposals")

ProposalId = Annotated[str, Path(alias="id", description=ID, examples=["prp_a2b3c4d5e6f7g2h3"])]

ProposalLanguage = Annotated[
    ProposalLocale | None,
    Query(description="Language of headings and texts; if omitted, that of the proposal.", examples=["en"]),
]

USUAL_SHARE = ShareRequest()


@router.post("", status_code=201, summary="Create a proposal", responses=ASK)
@requires(Right.PROPOSE, CostClass.SEARCH, body=LARGE_BODY)
def create_proposal(
    workspace: WorkspaceDep,
    body: Annotated[ProposalRequest, Body(examples=[PROPOSAL])],
    key: KeyHeader = None,
) -> Proposal:
    """Compile a comparison for a customer: recommendation, parts, costs, warnings and sources."""
    return proposals.create_proposal(workspace, body, key)


@router.get("", summary="List proposals", responses=LIST)
def list_proposals(
    workspace: WorkspaceDep,
    listed: ListDep,
    customer: CustomerQuery = "",
    status: Annotated[
        Standing | None,
        Query(description="Only proposals with this current status; if omitted, all.", examples=["frozen"]),
    ] = None,
    review: Annotated[
        Review | None,
        Query(description="Only proposals in this state of review; if omitted, all.", examples=["sent"]),
    ] = None,
) -> Page[ProposalSummary]:
    """List identifiers, customers and statuses, newest first.

    “since” finds every proposal whose content, state, approval, link or answer has changed, and
    “order=updated” begins with the last of them.
    """
    list_filter = listed.of(customer=customer)
    return proposals.list_proposals(
        workspace, listed.limit, listed.cursor, status, review, wanted=list_filter
    )


@router.get(
    "/{id}.pdf",
    summary="Export a proposal as PDF",
    responses=file_answer(PDF, "PDF/UA-1 with the content attached."),
    response_class=Response,
)
@requires(cost=CostClass.SEARCH)
def proposal_pdf(workspace: WorkspaceDep, identifier: ProposalId) -> Response:
    """Return the document; for a frozen proposal, the stored one, with the same bytes every time."""
    return file_of(workspace, proposals.get_proposal(workspace, identifier), "pdf")


@router.get(
    "/{id}.xlsx",
    summary="Export a proposal as a workbook",
    responses=file_answer(XLSX, "Workbook with totals as formulas."),
    response_class=Response,
)
@requires(cost=CostClass.SEARCH)
def proposal_workbook(
    workspace: WorkspaceDep, identifier: ProposalId, lang: ProposalLanguage = None
) -> Response:
    """Return the tables; totals are formulas, so that other quantities and terms can be tried."""
    return file_of(workspace, proposals.get_proposal(workspace, identifier), "xlsx", lang)


@router.get(
    "/{id}.csv",
    summary="Export a proposal as CSV",
    responses=file_answer(
        CSV,
        "One line per figure, warning, assumption and source.",
        "section,option,name,label,value,low,high,unit,written,path\r\nproposal,,status,,frozen,,,,,status\r\n",
    ),
    response_class=Response,
)
def proposal_csv(workspace: WorkspaceDep, identifier: ProposalId, lang: ProposalLanguage = None) -> Response:
    """Return all lines; text that a spreadsheet would read as a formula is prefixed with an
    apostrophe.
    """
    return file_of(workspace, proposals.get_proposal(workspace, identifier), "csv", lang)


@router.get("/{id}.json", summary="Export a proposal as JSON", responses=READ)
def proposal_json(workspace: WorkspaceDep, identifier: ProposalId) -> Proposal:
    """Return the proposal with the hash of the canonical form (RFC 8785) of its content."""
    return proposals.get_proposal(workspace, identifier)


@router.get("/{id}", summary="Retrieve a proposal", responses=READ)
def get_proposal(workspace: WorkspaceDep, identifier: ProposalId, response: Response) -> Proposal:
    """Return the proposal in its current state; use the ETag in If-Match to change it."""
    proposal = proposals.get_proposal(workspace, identifier)
    response.headers["ETag"] = write_tag(proposal.version)
    return proposal


@router.patch("/{id}", summary="Update a draft", responses={**ASK, **CHANGED})
@requires(Right.PROPOSE, CostClass.SEARCH, body=LARGE_BODY)
def change_proposal(
    workspace: WorkspaceDep,
    identifier: ProposalId,
    body: Annotated[ProposalPatch, Body(examples=[PROPOSAL_CHANGED])],
    response: Response,
    tag: MatchHeader = None,
) -> Proposal:
    """Change the given fields and recompute the figures; returns 409 for frozen proposals."""
    proposal = proposals.change_proposal(workspace, identifier, body, read_tag(tag))
    response.headers["ETag"] = write_tag(proposal.version)
    return proposal


@router.post("/{id}/freeze", summary="Freeze a draft", responses=CHANGE)
@requires(Right.PROPOSE, CostClass.SEARCH)
def freeze_proposal(workspace: WorkspaceDep, principal: PrincipalDep, identifier: ProposalId) -> FreezeRecord:
    """Hash the content, render the document and store both permanently; repeating it changes nothing.

    In a workspace that asks for it, another person than the author has to do it, or another key with the
    scope “approve”.
    """
    check_approver(workspace, principal.scopes)
    return proposals.freeze_proposal(workspace, identifier)


@router.post("/{id}/review", summary="Take a step of review", responses=ASK)
@requires(Right.PROPOSE, CostClass.SEARCH)
def review_proposal(
    request: Request,
    workspace: WorkspaceDep,
    identity: IdentityDep,
    principal: PrincipalDep,
    identifier: ProposalId,
    body: Annotated[ReviewRequest, Body(examples=[REVIEW])],
    key: KeyHeader = None,
) -> Proposal:
    """Move a proposal on: draft, in review, approved (frozen), sent, then accepted or declined.

    Only the steps listed in “steps” of the proposal are allowed; others return 409. The step “send” with an
    address e-mails the customer a new link, if a mail server is configured.
    """
    if body.step == "approve":
        check_approver(workspace, principal.scopes)
    return take_step(workspace, identifier, body, Mailer(identity, str(request.base_url)), key)


@router.post("/{id}/replay", summary="Replay a proposal", responses=CHANGE)
@requires(Right.PROPOSE, CostClass.SEARCH)
def replay_proposal(workspace: WorkspaceDep, identifier: ProposalId, key: KeyHeader = None) -> Replay:
    """Recompute the proposal and list the lines that changed; the proposal itself is unchanged."""
    return proposals.replay_proposal(workspace, identifier, key)


@router.get("/{id}/events", summary="List events of a proposal", responses=READ)
def list_events(workspace: WorkspaceDep, identifier: ProposalId) -> ProposalEvents:
    """List events in the order they happened, each with who caused it: created, submitted, frozen, sent …

    What the customer did on the link has “name” (the signature), “option”, “sha256” and “note” (the question
    or the reason) in its detail.
    """
    return proposals.list_events(workspace, identifier)


@router.post("/{id}/replies", status_code=201, summary="Reply to the customer", responses=ASK)
@requires(Right.PROPOSE)
def reply_to_customer(
    workspace: WorkspaceDep,
    identifier: ProposalId,
    body: Annotated[ReplyRequest, Body(examples=[REPLY])],
    key: KeyHeader = None,
) -> Reply:
    """Reply to the questions that the customer asked on the link; 409 if none waits for a reply."""
    return reply_to(workspace, identifier, body, key)


@router.post("/{id}/share", status_code=201, summary="Share a frozen proposal", responses=ASK)
@requires(Right.PROPOSE)
def share_proposal(
    request: Request,
    response: Response,
    workspace: WorkspaceDep,
    identifier: ProposalId,
    body: Annotated[ShareRequest, Body(examples=[SHARE])] = USUAL_SHARE,
    key: KeyHeader = None,
) -> Share:
    """Create a link that shows only this proposal, without a login; an earlier link stops working.

    The token is returned only once and not stored: a response repeated for its key omits it.
    """
    created = sharing.create_share(workspace, identifier, body, key)
    if created.path is not None:
        url = response.headers["Location"] = located_at(request, created.path)
        created = created.model_copy(update={"url": url})
    return created


@router.delete("/{id}/share", status_code=204, summary="Revoke a share link", responses=READ)
@requires(Right.PROPOSE)
def revoke_share(workspace: WorkspaceDep, identifier: ProposalId) -> None:
    """Revoke the link immediately."""
    sharing.revoke_share(workspace, identifier)


@router.delete("/{id}", status_code=204, summary="Delete a draft", responses=DELETE)
@requires(Right.PROPOSE)
def delete_proposal(workspace: WorkspaceDep, identifier: ProposalId, tag: MatchHeader = None) -> None:
    """Delete a draft with its history; 409 for a frozen proposal. Its number is not used again."""
    proposals.delete_proposal(workspace, identifier, read_tag(tag))
