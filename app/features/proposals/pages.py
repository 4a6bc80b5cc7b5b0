"""Networks in a proposal: the address of a choice of networks is its state, and names it here too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlencode, urlsplit

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData, QueryParams

from app.errors import AppError, BadInput, FieldError, Message
from app.features.calibration.service import list_calibrations
from app.features.comparisons.model import Comparison
from app.features.comparisons.service import get_comparison, list_comparisons
from app.features.estimates.service import get_estimate_request
from app.features.networks.forms import asked, placed, read_query, written_query
from app.features.networks.pages import OF_ESTIMATE
from app.features.price_books.service import list_books
from app.features.proposals import service as proposals
from app.features.proposals import sharing
from app.features.proposals.evidence import compare_networks
from app.features.proposals.forms import asked_body, has_networks, shown, version_of, without_nulls
from app.features.proposals.model import (
    Proposal,
    ProposalPatch,
    ProposalRequest,
    ProposalSummary,
    Replay,
    ShareRequest,
)
from app.features.proposals.service import Standing
from app.features.proposals.views import (
    ProposalFormPage,
    ProposalRow,
    ProposalsPage,
    proposal_page,
    replay_page,
)
from app.platform.listing import Page as Stretch
from app.platform.rates import CostClass
from app.platform.web.contexts import Choice, Form
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.forms import read_form, refused, typed
from app.platform.web.locale import CSV, PDF, XLSX, attachment, language_of, voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench

router = page_router()

PAGE = re.compile(r"/estimates/(?P<estimate>[a-z0-9_-]{1,40})/fabrics(?:\.json)?/?")

LONGEST = 4_000
"""Letters of an address that is pasted."""


def named_networks(bench: Workbench, workspace: str, address: str) -> dict[str, Any]:
    """Return the choice of networks that an address asks for, as a proposal names it."""
    try:
        parts = urlsplit(address[:LONGEST])
    except ValueError:
        raise not_an_address() from None
    found = PAGE.fullmatch(parts.path)
    if found is None:
        raise not_an_address()
    try:
        kept = get_estimate_request(bench, workspace, found["estimate"])
        choice = asked(read_query(QueryParams(parts.query)), kept)
    except AppError as error:
        error.errors = (FieldError("networks", error.message),)
        raise
    return choice.model_dump(mode="json", exclude_unset=True)


def not_an_address() -> BadInput:
    """Return the error for text that is no address of a choice of networks."""
    return BadInput.at("networks", "is not the address of a network choice; copy the address of its page")


@router.post(f"{OF_ESTIMATE}/proposal")
@needs(Right.PROPOSE, CostClass.SEARCH)
def propose_networks(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Compare the network taken with the one it is held against, and go on to the form of a proposal."""
    values = read_query(request.query_params)
    try:
        choice = asked(values, get_estimate_request(bench, workspace, identifier))
    except AppError as error:
        raise placed(error) from None
    locale: Literal["ko", "en"] = "ko" if language_of(request) == "ko" else "en"
    made = compare_networks(bench, workspace, choice, locale)
    path, query = OF_ESTIMATE.format(identifier=identifier), written_query(values)
    address = {"comparison": made.id, "networks": f"{path}?{query}" if query else path}
    return RedirectResponse(f"/proposals/new?{urlencode(address)}", 303)


FormDep = Annotated[FormData, Depends(read_form)]

LISTED = 30

OFFERED = 10


def row_of(one: ProposalSummary) -> ProposalRow:
    """Return one line of the list."""
    return ProposalRow(
        id=one.id,
        title=one.title,
        customer=one.customer,
        status=one.status,
        valid_until="" if one.valid_until is None else one.valid_until.isoformat(),
        created_on=one.created_at.date().isoformat(),
    )


@router.get("/proposals.json")
def show_proposals_data(
    bench: BenchDep, workspace: WorkspaceDep, cursor: str | None = None, status: Standing | None = None
) -> Stretch[ProposalSummary]:
    """Return the list of the page of the same address."""
    return proposals.list_proposals(bench, workspace, LISTED, cursor, status)


@router.get("/proposals", response_class=HTMLResponse)
def show_proposals(
    request: Request,
    bench: BenchDep,
    workspace: WorkspaceDep,
    cursor: str | None = None,
    calibration_id: str = "",
    status: Standing | None = None,
) -> Response:
    """Show what there is, and what a proposal can be made of."""
    found = proposals.list_proposals(bench, workspace, LISTED, cursor, status)
    chosen = f"status={status}" if status else ""
    made = list_comparisons(bench, workspace, OFFERED, None).items
    page = ProposalsPage(
        status=status or "",
        standings=get_args(Standing),
        rows=[row_of(one) for one in found.items],
        next_url="" if found.next is None else f"/proposals?{chosen}&cursor={found.next}".replace("?&", "?"),
        calibration_id=calibration_id,
        comparisons=[Choice(one.id, one.title, one.updated_at.date().isoformat()) for one in made],
    )
    return render(request, "proposals/proposals.html", page)


def form_page(
    bench: Workbench,
    workspace: str,
    comparison: Comparison,
    form: Form,
    proposal: Proposal | None,
    message: Message | None = None,
) -> ProposalFormPage:
    """Return the form with what has been typed into it."""
    books = list_books(bench, workspace, LISTED, None).items
    runs = list_calibrations(bench, workspace, LISTED, None).items
    place = "/proposals/new" if proposal is None else f"/proposals/{proposal.id}/edit"
    return ProposalFormPage(
        form=form,
        message=message,
        action=f"{place}?comparison={comparison.id}",
        proposal_id="" if proposal is None else proposal.id,
        version=0 if proposal is None else proposal.version,
        title=comparison.title,
        options=[Choice(row.label, row.label, row.kind) for row in comparison.rows],
        books=[Choice(one.id, one.name) for one in books],
        calibrations=[Choice(one.id, one.label, one.created_at.date().isoformat()) for one in runs],
        has_networks=proposal is not None and has_networks(proposal),
        has_logo=proposal is not None and proposal.content.branding.logo is not None,
    )


def networks_of(bench: Workbench, workspace: str, values: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the networks that the form names by their address; nothing where it names none."""
    named = values.get("networks")
    return {"fabric_choice": named_networks(bench, workspace, named[0])} if named else {}


def refusal(error: AppError | ValidationError) -> tuple[Message, int]:
    """Return what to say above a form that was refused, and the status."""
    if isinstance(error, AppError):
        return error.message, error.status
    return Message("some fields are invalid"), 422


@router.get("/proposals/new", response_class=HTMLResponse)
def show_form(request: Request, bench: BenchDep, workspace: WorkspaceDep, comparison: str = "") -> Response:
    """Show the form for a comparison, filled in with what the address says and what is usual."""
    if not comparison:
        return RedirectResponse("/proposals", 303)
    found = get_comparison(bench, workspace, comparison).comparison
    usual = {
        "title": [found.title],
        "locale": [language_of(request)],
        "currency": [found.currency],
        "options": [row.label for row in found.rows],
        "confidential": ["yes"],
    }
    form = Form({**usual, **typed(request.query_params)})
    return render(request, "proposals/proposal_form.html", form_page(bench, workspace, found, form, None))


@router.post("/proposals/new", response_class=HTMLResponse)
@needs(Right.PROPOSE, CostClass.SEARCH)
def make_proposal(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep, comparison: str = ""
) -> Response:
    """Make a draft of what was typed, or return the form with its errors beside the fields."""
    values = typed(form)
    try:
        values, body = asked_body(form)
        body |= networks_of(bench, workspace, values)
        asked = ProposalRequest.model_validate({**without_nulls(body), "comparison_id": comparison})
        made = proposals.create_proposal(bench, workspace, asked)
    except (AppError, ValidationError) as error:
        found = get_comparison(bench, workspace, comparison).comparison
        message, status = refusal(error)
        page = form_page(bench, workspace, found, refused(values, error, ()), None, message)
        return render(request, "proposals/proposal_form.html", page, status=status)
    return RedirectResponse(f"/proposals/{made.id}", 303)


@router.get("/proposals/{identifier}/edit", response_class=HTMLResponse)
def show_edit(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show the form of a draft."""
    draft = proposals.get_proposal(bench, workspace, identifier)
    found = get_comparison(bench, workspace, draft.comparison_id).comparison
    form = Form(shown(draft, [row.label for row in found.rows]))
    return render(request, "proposals/proposal_form.html", form_page(bench, workspace, found, form, draft))


@router.post("/proposals/{identifier}/edit", response_class=HTMLResponse)
@needs(Right.PROPOSE, CostClass.SEARCH)
def change_proposal(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep, identifier: str
) -> Response:
    """Change a draft by what was typed, or return the form with its errors beside the fields."""
    values = typed(form)
    try:
        values, body = asked_body(form)
        body |= networks_of(bench, workspace, values)
        # In the API null leaves the customer as it is; an emptied field is a mistake.
        patch = ProposalPatch.model_validate({**body, "customer": body["customer"] or ""})
        proposals.change_proposal(bench, workspace, identifier, patch, version_of(values))
    except (AppError, ValidationError) as error:
        # Whoever was overtaken sees so, and saves over the other's edit only by sending the form again.
        draft = proposals.get_proposal(bench, workspace, identifier)
        found = get_comparison(bench, workspace, draft.comparison_id).comparison
        message, status = refusal(error)
        page = form_page(bench, workspace, found, refused(values, error, ()), draft, message)
        return render(request, "proposals/proposal_form.html", page, status=status)
    return RedirectResponse(f"/proposals/{identifier}", 303)


@router.get("/proposals/{identifier}.json")
def show_proposal_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Proposal:
    """Return the proposal of the page of the same address."""
    return proposals.get_proposal(bench, workspace, identifier)


@router.get("/proposals/{identifier}.pdf")
@needs(cost=CostClass.SEARCH)
def give_pdf(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Give the document."""
    return attachment(proposals.pdf_of(bench, workspace, identifier), PDF, f"{identifier}.pdf")


@router.get("/proposals/{identifier}.xlsx")
@needs(cost=CostClass.SEARCH)
def give_workbook(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Give the tables with live totals."""
    return attachment(proposals.workbook_of(bench, workspace, identifier), XLSX, f"{identifier}.xlsx")


@router.get("/proposals/{identifier}.csv")
def give_csv(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Give every line."""
    return attachment(proposals.csv_of(bench, workspace, identifier).encode(), CSV, f"{identifier}.csv")


def shown_page(
    request: Request,
    bench: Workbench,
    workspace: str,
    identifier: str,
    *,
    link: str = "",
    form: Form | None = None,
    message: Message | None = None,
    status: int = 200,
) -> Response:
    """Show a proposal with what happened to it."""
    found = proposals.get_proposal(bench, workspace, identifier)
    events = proposals.list_events(bench, workspace, identifier).items
    page = proposal_page(found, events, voice_of(request), link=link, form=form, message=message)
    return render(request, "proposals/proposal.html", page, status=status)


@router.get("/proposals/{identifier}", response_class=HTMLResponse)
def show_proposal(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show a proposal."""
    return shown_page(request, bench, workspace, identifier)


@router.post("/proposals/{identifier}/freeze", response_class=HTMLResponse)
@needs(Right.PROPOSE, CostClass.SEARCH)
def freeze(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Freeze a draft and go back to it."""
    try:
        proposals.freeze_proposal(bench, workspace, identifier)
    except AppError as error:
        return shown_page(request, bench, workspace, identifier, message=error.message, status=error.status)
    return RedirectResponse(f"/proposals/{identifier}", 303)


@router.post("/proposals/{identifier}/share", response_class=HTMLResponse)
@needs(Right.PROPOSE)
def share(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep, identifier: str
) -> Response:
    """Make a link and show it, this once."""
    values = typed(form)
    try:
        asked = ShareRequest.model_validate({name: one[0] for name, one in values.items()})
        made = sharing.create_share(bench, workspace, identifier, asked)
    except (AppError, ValidationError) as error:
        message, status = refusal(error)
        kept = {name: one for name, one in values.items() if name != "passphrase"}
        known = refused(kept, error, ())
        return shown_page(request, bench, workspace, identifier, form=known, message=message, status=status)
    link = str(request.base_url).rstrip("/") + (made.url or "")
    return shown_page(request, bench, workspace, identifier, link=link)


@router.post("/proposals/{identifier}/unshare")
@needs(Right.PROPOSE)
def unshare(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Revoke link."""
    sharing.revoke_share(bench, workspace, identifier)
    return RedirectResponse(f"/proposals/{identifier}", 303)


@router.get("/proposals/{identifier}/replay.json")
@needs(cost=CostClass.SEARCH)
def show_replay_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Replay:
    """Return what changed, without writing down that somebody looked."""
    return proposals.replay_proposal(bench, workspace, identifier, note=False)


@router.get("/proposals/{identifier}/replay", response_class=HTMLResponse)
@needs(cost=CostClass.SEARCH)
def show_replay(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show what today's catalogue would say otherwise."""
    found = proposals.get_proposal(bench, workspace, identifier)
    replay = proposals.replay_proposal(bench, workspace, identifier, note=False)
    return render(request, "proposals/replay.html", replay_page(found, replay, voice_of(request)))
