"""Proposals: a comparison made into a document, frozen, shared and replayed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, Path, Query, Response

from app.features.proposals import service as proposals
from app.features.proposals import sharing
from app.features.proposals.model import (
    Frozen,
    Proposal,
    ProposalEvents,
    ProposalPatch,
    ProposalRequest,
    ProposalSummary,
    Replay,
    Share,
    ShareRequest,
)
from app.features.proposals.service import Standing
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web.api import ASK, CHANGE, CHANGED, LIST, READ, TAGGED, api_router
from app.platform.web.deps import ID, USUAL, BenchDep, CursorQuery, KeyHeader, LimitQuery, WorkspaceDep
from app.platform.web.examples import PROPOSAL, PROPOSAL_CHANGED, SHARE
from app.platform.web.locale import CSV, PDF, XLSX, attachment
from app.platform.web.needs import Right, needs
from app.platform.web.tags import REMEMBER, MatchHeader, read_tag, write_tag

router = api_router("proposals", "/proposals")

ProposalId = Annotated[str, Path(alias="id", description=ID, examples=["prp_a2b3c4d5e6f7g2h3"])]

USUAL_SHARE = ShareRequest()


def file_of(kind: str, meaning: str) -> dict[int | str, dict[str, Any]]:
    """Return the answer of an address that gives a file, for OpenAPI."""
    content = {kind: {"schema": {"type": "string", "format": "binary"}}}
    return {**READ, 200: {"description": meaning, "content": content}}


@router.post("", status_code=201, summary="Create proposal", responses=ASK)
@needs(Right.PROPOSE, CostClass.SEARCH)
def create_proposal(
    bench: BenchDep,
    workspace: WorkspaceDep,
    body: Annotated[ProposalRequest, Body(examples=[PROPOSAL])],
    key: KeyHeader = None,
) -> Proposal:
    """Put together what a comparison says for a customer: recommendation, parts, costs, warnings, sources."""
    return proposals.create_proposal(bench, workspace, body, key)


@router.get("", summary="Proposals made so far", responses=LIST)
def list_proposals(
    bench: BenchDep,
    workspace: WorkspaceDep,
    limit: LimitQuery = USUAL,
    cursor: CursorQuery = None,
    status: Annotated[
        Standing | None, Query(description="How they stand today; left out, all.", examples=["frozen"])
    ] = None,
) -> Page[ProposalSummary]:
    """List identifiers, customers and how they stand, newest first."""
    return proposals.list_proposals(bench, workspace, limit, cursor, status)


@router.get(
    "/{id}.pdf",
    summary="Proposal as PDF",
    responses=file_of(PDF, "PDF/UA-1 with the content attached."),
    response_class=Response,
)
@needs(cost=CostClass.SEARCH)
def proposal_pdf(bench: BenchDep, workspace: WorkspaceDep, identifier: ProposalId) -> Response:
    """Give the document: of a frozen proposal the one that was kept, the same bytes every time."""
    return attachment(proposals.pdf_of(bench, workspace, identifier), PDF, f"{identifier}.pdf")


@router.get(
    "/{id}.xlsx",
    summary="Proposal as workbook",
    responses=file_of(XLSX, "Workbook whose totals are formulas."),
    response_class=Response,
)
@needs(cost=CostClass.SEARCH)
def proposal_workbook(bench: BenchDep, workspace: WorkspaceDep, identifier: ProposalId) -> Response:
    """Give the tables; totals are formulas, so that other quantities and terms can be tried."""
    return attachment(proposals.workbook_of(bench, workspace, identifier), XLSX, f"{identifier}.xlsx")


@router.get(
    "/{id}.csv",
    summary="Proposal as CSV",
    responses=file_of(CSV, "One line for every figure, warning, assumption and source."),
    response_class=Response,
)
def proposal_csv(bench: BenchDep, workspace: WorkspaceDep, identifier: ProposalId) -> Response:
    """Give every line; text that a spreadsheet would read as a formula begins with an apostrophe."""
    return attachment(proposals.csv_of(bench, workspace, identifier).encode(), CSV, f"{identifier}.csv")


@router.get("/{id}.json", summary="Proposal as a file of JSON", responses=READ)
def proposal_json(bench: BenchDep, workspace: WorkspaceDep, identifier: ProposalId) -> Proposal:
    """Give the proposal; the canonical form (RFC 8785) of its content has the hash beside it."""
    return proposals.get_proposal(bench, workspace, identifier)


@router.get("/{id}", summary="Read a proposal", responses={**READ, **TAGGED}, dependencies=REMEMBER)
def get_proposal(
    bench: BenchDep, workspace: WorkspaceDep, identifier: ProposalId, response: Response
) -> Proposal:
    """Read the proposal as it stands; the ETag is for If-Match when changing it."""
    found = proposals.get_proposal(bench, workspace, identifier)
    response.headers["ETag"] = write_tag(found.version)
    return found


@router.patch("/{id}", summary="Change a draft", responses={**ASK, **CHANGED})
@needs(Right.PROPOSE, CostClass.SEARCH)
def change_proposal(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: ProposalId,
    body: Annotated[ProposalPatch, Body(examples=[PROPOSAL_CHANGED])],
    response: Response,
    tag: MatchHeader = None,
) -> Proposal:
    """Change what is given and put the figures together anew; frozen proposals answer 409."""
    changed = proposals.change_proposal(bench, workspace, identifier, body, read_tag(tag))
    response.headers["ETag"] = write_tag(changed.version)
    return changed


@router.post("/{id}/freeze", summary="Freeze a draft", responses=CHANGE)
@needs(Right.PROPOSE, CostClass.SEARCH)
def freeze_proposal(bench: BenchDep, workspace: WorkspaceDep, identifier: ProposalId) -> Frozen:
    """Hash the content, set the document and keep both for good; repeating it changes nothing."""
    return proposals.freeze_proposal(bench, workspace, identifier)


@router.post("/{id}/replay", summary="Compare with current prices", responses=CHANGE)
@needs(Right.PROPOSE, CostClass.SEARCH)
def replay_proposal(
    bench: BenchDep, workspace: WorkspaceDep, identifier: ProposalId, key: KeyHeader = None
) -> Replay:
    """Compute the proposal anew and list the lines that changed; the proposal stays as it is."""
    return proposals.replay_proposal(bench, workspace, identifier, key)


@router.get("/{id}/events", summary="What happened to a proposal", responses=READ)
def list_events(bench: BenchDep, workspace: WorkspaceDep, identifier: ProposalId) -> ProposalEvents:
    """List what happened: created, changed, frozen, shared, opened, replayed, in that order."""
    return proposals.list_events(bench, workspace, identifier)


@router.post("/{id}/share", status_code=201, summary="Share a frozen proposal", responses=ASK)
@needs(Right.PROPOSE)
def share_proposal(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: ProposalId,
    body: Annotated[ShareRequest, Body(examples=[SHARE])] = USUAL_SHARE,
    key: KeyHeader = None,
) -> Share:
    """Make a link that shows this proposal alone, without a login; an earlier link stops working.

    The token is told once and not kept: an answer repeated by its key comes without it.
    """
    return sharing.create_share(bench, workspace, identifier, body, key)


@router.delete("/{id}/share", status_code=204, summary="Revoke link", responses=READ)
@needs(Right.PROPOSE)
def revoke_share(bench: BenchDep, workspace: WorkspaceDep, identifier: ProposalId) -> None:
    """Make the link stop working at once."""
    sharing.revoke_share(bench, workspace, identifier)
