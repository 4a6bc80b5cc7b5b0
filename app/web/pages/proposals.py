"""Proposals as forms and pages: make, look, change, freeze, share, replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, get_args

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from app.errors import AppError, Message
from app.services import freezing, proposals, replaying, sharing
from app.services.calibrations import list_calibrations
from app.services.comparisons import get_comparison, list_comparisons
from app.services.price_books import list_books
from app.services.proposals import Standing
from app.services.workbench import Workbench
from app.sizing.document import Comparison
from app.sizing.kept.documents import Page as Stretch
from app.sizing.kept.documents import ProposalSummary
from app.sizing.proposal.documents import Proposal, Replay
from app.sizing.proposal.request import ProposalPatch, ProposalRequest, ShareRequest
from app.web.contexts import Choice, Form
from app.web.deps import BenchDep, WorkspaceDep
from app.web.files import CSV, PDF, XLSX, attachment
from app.web.locale import language_of, voice_of
from app.web.pages.documents import available
from app.web.pages.forms import refused, typed
from app.web.pages.proposal_forms import asked_body, has_networks, shown, version_of, without_nulls
from app.web.pages.proposal_networks import named_networks
from app.web.pages.proposals_views import proposal_page, replay_page
from app.web.pages.start import read_form
from app.web.proposal_contexts import ProposalFormPage, ProposalRow, ProposalsPage
from app.web.rendering import render
from app.web.routers import page_router

router = page_router()

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
        data_url="/proposals.json" + (f"?{chosen}" if chosen else ""),
        status=status or "",
        standings=get_args(Standing),
        documents=available(),
        rows=[row_of(one) for one in found.items],
        next_url="" if found.next is None else f"/proposals?{chosen}&cursor={found.next}".replace("?&", "?"),
        calibration_id=calibration_id,
        comparisons=[Choice(one.id, one.title, one.updated_at.date().isoformat()) for one in made],
    )
    return render(request, "proposals.html", page)


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
        documents=available(),
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
    return Message("some fields cannot be used as they are"), 422


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
    return render(request, "proposal_form.html", form_page(bench, workspace, found, form, None))


@router.post("/proposals/new", response_class=HTMLResponse)
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
        return render(request, "proposal_form.html", page, status=status)
    return RedirectResponse(f"/proposals/{made.id}", 303)


@router.get("/proposals/{identifier}/edit", response_class=HTMLResponse)
def show_edit(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show the form of a draft."""
    draft = proposals.get_proposal(bench, workspace, identifier)
    found = get_comparison(bench, workspace, draft.comparison_id).comparison
    form = Form(shown(draft, [row.label for row in found.rows]))
    return render(request, "proposal_form.html", form_page(bench, workspace, found, form, draft))


@router.post("/proposals/{identifier}/edit", response_class=HTMLResponse)
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
        return render(request, "proposal_form.html", page, status=status)
    return RedirectResponse(f"/proposals/{identifier}", 303)


@router.get("/proposals/{identifier}.json")
def show_proposal_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Proposal:
    """Return the proposal of the page of the same address."""
    return proposals.get_proposal(bench, workspace, identifier)


@router.get("/proposals/{identifier}.pdf")
def give_pdf(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Give the document."""
    return attachment(freezing.pdf_of(bench, workspace, identifier), PDF, f"{identifier}.pdf")


@router.get("/proposals/{identifier}.xlsx")
def give_workbook(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Give the tables with live totals."""
    return attachment(freezing.workbook_of(bench, workspace, identifier), XLSX, f"{identifier}.xlsx")


@router.get("/proposals/{identifier}.csv")
def give_csv(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Give every line."""
    return attachment(freezing.csv_of(bench, workspace, identifier).encode(), CSV, f"{identifier}.csv")


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
    page = proposal_page(found, events, voice_of(request), available(), link=link, form=form, message=message)
    return render(request, "proposal.html", page, status=status)


@router.get("/proposals/{identifier}", response_class=HTMLResponse)
def show_proposal(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show a proposal."""
    return shown_page(request, bench, workspace, identifier)


@router.post("/proposals/{identifier}/freeze", response_class=HTMLResponse)
def freeze(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Freeze a draft and go back to it."""
    try:
        freezing.freeze_proposal(bench, workspace, identifier)
    except AppError as error:
        return shown_page(request, bench, workspace, identifier, message=error.message, status=error.status)
    return RedirectResponse(f"/proposals/{identifier}", 303)


@router.post("/proposals/{identifier}/share", response_class=HTMLResponse)
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
def unshare(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Revoke link."""
    sharing.revoke_share(bench, workspace, identifier)
    return RedirectResponse(f"/proposals/{identifier}", 303)


@router.get("/proposals/{identifier}/replay.json")
def show_replay_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Replay:
    """Return what changed, without writing down that somebody looked."""
    return replaying.replay_proposal(bench, workspace, identifier, note=False)


@router.get("/proposals/{identifier}/replay", response_class=HTMLResponse)
def show_replay(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show what today's catalogue would say otherwise."""
    found = proposals.get_proposal(bench, workspace, identifier)
    replay = replaying.replay_proposal(bench, workspace, identifier, note=False)
    return render(request, "replay.html", replay_page(found, replay, voice_of(request), available()))
