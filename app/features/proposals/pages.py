"""Proposals as pages: their list, the form of a draft, and what is done with a proposal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.errors import AppError, Message
from app.features.calibration.service import list_calibrations
from app.features.comparisons.model import Comparison, ComparisonSummary
from app.features.comparisons.service import get_comparison, list_comparisons
from app.features.networks.pages import choice_at
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
from app.features.proposals.views import proposal_page, replay_page
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web.contexts import Choice, Form
from app.platform.web.deps import BenchDep, WorkspaceDep, workbench_of, workspace_of
from app.platform.web.forms import FormDep, refused, typed
from app.platform.web.locale import CSV, PDF, XLSX, attachment, language_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench

router = page_router()

LISTED = 30

OFFERED_COMPARISONS = 10


@router.post("/studies/{identifier}/network/proposal")
@needs(Right.PROPOSE, CostClass.SEARCH)
def propose_networks(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Compare the network taken with the one it is held against, and go on to the form of a proposal.

    The address of a choice of networks is its state, and names it in the form too.
    """
    choice = choice_at(bench, workspace, identifier, request.query_params)
    locale: Literal["ko", "en"] = "ko" if language_of(request) == "ko" else "en"
    made = compare_networks(bench, workspace, choice, locale)
    path = request.url.path.removesuffix("/proposal")
    address = {"comparison": made.id, "networks": f"{path}?{request.url.query}"}
    return RedirectResponse(f"/proposals/new?{urlencode(address)}", 303)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalsPage:
    """Proposals made so far, and the comparisons that one can be made of."""

    found: Page[ProposalSummary]
    comparisons: Sequence[ComparisonSummary]
    status: str
    """How those that are listed stand; empty for all."""
    standings: Sequence[str]
    calibration_id: str
    """Measured runs that the proposal is to name; empty where it is to name none."""


def proposals_page(request: Request, found: Page[ProposalSummary]) -> ProposalsPage:
    made = list_comparisons(workbench_of(request), workspace_of(request), OFFERED_COMPARISONS, None)
    return ProposalsPage(
        found=found,
        comparisons=made.items,
        status=request.query_params.get("status", ""),
        standings=get_args(Standing),
        calibration_id=request.query_params.get("calibration_id", ""),
    )


@resource(router, "/proposals", "proposals/proposals.html", proposals_page)
def show_proposals(
    bench: BenchDep, workspace: WorkspaceDep, cursor: str | None = None, status: Standing | None = None
) -> Page[ProposalSummary]:
    return proposals.list_proposals(bench, workspace, LISTED, cursor, status)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalFormPage:
    """The form that asks for a proposal, or changes a draft."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    proposal: Proposal | None
    """The draft that is changed."""
    comparison: Comparison
    options: Sequence[Choice]
    books: Sequence[Choice]
    """Price books to choose from, the newest."""
    calibrations: Sequence[Choice]
    """Measured runs to choose from, the newest."""
    has_networks: bool


def render_form(
    request: Request,
    bench: Workbench,
    workspace: str,
    comparison: Comparison,
    form: Form,
    proposal: Proposal | None = None,
    message: Message | None = None,
    status: int = 200,
) -> Response:
    books = list_books(bench, workspace, LISTED, None).items
    runs = list_calibrations(bench, workspace, LISTED, None).items
    page = ProposalFormPage(
        form=form,
        message=message,
        proposal=proposal,
        comparison=comparison,
        options=[Choice(row.label, row.label, row.kind) for row in comparison.rows],
        books=[Choice(one.id, one.name) for one in books],
        calibrations=[Choice(one.id, one.label, one.created_at.date().isoformat()) for one in runs],
        has_networks=proposal is not None and has_networks(proposal),
    )
    return render(request, "proposals/proposal_form.html", page, status=status)


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
    return render_form(request, bench, workspace, found, Form({**usual, **typed(request.query_params)}))


@router.post("/proposals/new", response_class=HTMLResponse)
@needs(Right.PROPOSE, CostClass.SEARCH)
def make_proposal(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep, comparison: str = ""
) -> Response:
    """Make a draft of what was typed, or return the form with its errors beside the fields."""
    try:
        body = without_nulls(asked_body(bench, workspace, form))
        wanted = ProposalRequest.model_validate({**body, "comparison_id": comparison})
        made = proposals.create_proposal(bench, workspace, wanted)
    except (AppError, ValidationError) as error:
        found = get_comparison(bench, workspace, comparison).comparison
        again = refused(typed(form), error, ())
        return render_form(request, bench, workspace, found, again, None, *refusal(error))
    return RedirectResponse(f"/proposals/{made.id}", 303)


@router.get("/proposals/{identifier}/edit", response_class=HTMLResponse)
def show_edit(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    draft = proposals.get_proposal(bench, workspace, identifier)
    found = get_comparison(bench, workspace, draft.comparison_id).comparison
    form = Form(shown(draft, [row.label for row in found.rows]))
    return render_form(request, bench, workspace, found, form, draft)


@router.post("/proposals/{identifier}/edit", response_class=HTMLResponse)
@needs(Right.PROPOSE, CostClass.SEARCH)
def change_proposal(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep, identifier: str
) -> Response:
    """Change a draft by what was typed, or return the form with its errors beside the fields."""
    values = typed(form)
    try:
        body = asked_body(bench, workspace, form)
        # In the API null leaves the customer as it is; an emptied field is a mistake.
        patch = ProposalPatch.model_validate({**body, "customer": body["customer"] or ""})
        proposals.change_proposal(bench, workspace, identifier, patch, version_of(values))
    except (AppError, ValidationError) as error:
        # Whoever was overtaken sees so, and saves over the other's edit only by sending the form again.
        draft = proposals.get_proposal(bench, workspace, identifier)
        found = get_comparison(bench, workspace, draft.comparison_id).comparison
        again = refused(values, error, ())
        return render_form(request, bench, workspace, found, again, draft, *refusal(error))
    return RedirectResponse(f"/proposals/{identifier}", 303)


@router.get("/proposals/{identifier}.pdf")
@needs(cost=CostClass.SEARCH)
def give_pdf(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    return attachment(proposals.pdf_of(bench, workspace, identifier), PDF, f"{identifier}.pdf")


@router.get("/proposals/{identifier}.xlsx")
@needs(cost=CostClass.SEARCH)
def give_workbook(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    return attachment(proposals.workbook_of(bench, workspace, identifier), XLSX, f"{identifier}.xlsx")


@router.get("/proposals/{identifier}.csv")
def give_csv(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    return attachment(proposals.csv_of(bench, workspace, identifier).encode(), CSV, f"{identifier}.csv")


# After the files: its path takes them too.
@resource(router, "/proposals/{identifier}", "proposals/proposal.html", proposal_page)
def show_proposal(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Proposal:
    return proposals.get_proposal(bench, workspace, identifier)


@router.post("/proposals/{identifier}/freeze", response_class=HTMLResponse)
@needs(Right.PROPOSE, CostClass.SEARCH)
def freeze(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    try:
        proposals.freeze_proposal(bench, workspace, identifier)
    except AppError as error:
        draft = proposals.get_proposal(bench, workspace, identifier)
        page = proposal_page(request, draft, message=error.message)
        return render(request, "proposals/proposal.html", page, status=error.status)
    return RedirectResponse(f"/proposals/{identifier}", 303)


@router.post("/proposals/{identifier}/share", response_class=HTMLResponse)
@needs(Right.PROPOSE)
def share(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep, identifier: str
) -> Response:
    """Make a link and show it, this once."""
    values = typed(form)
    status, link, again, message = 200, "", None, None
    try:
        wanted = ShareRequest.model_validate({name: one[0] for name, one in values.items()})
        made = sharing.create_share(bench, workspace, identifier, wanted)
        link = str(request.base_url).rstrip("/") + (made.url or "")
    except (AppError, ValidationError) as error:
        message, status = refusal(error)
        again = refused({name: one for name, one in values.items() if name != "passphrase"}, error, ())
    proposal = proposals.get_proposal(bench, workspace, identifier)
    page = proposal_page(request, proposal, link=link, form=again, message=message)
    return render(request, "proposals/proposal.html", page, status=status)


@router.post("/proposals/{identifier}/unshare")
@needs(Right.PROPOSE)
def unshare(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    sharing.revoke_share(bench, workspace, identifier)
    return RedirectResponse(f"/proposals/{identifier}", 303)


@resource(
    router, "/proposals/{identifier}/replay", "proposals/replay.html", replay_page, cost=CostClass.SEARCH
)
def show_replay(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Replay:
    """Show what today's catalogue would say otherwise, without writing down that somebody looked."""
    return proposals.replay_proposal(bench, workspace, identifier, note=False)
