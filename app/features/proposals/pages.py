"""Proposals as pages: their list, the form of a draft, and the actions on a proposal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.errors import AppError, Message
from app.features.calibration.service import list_calibrations
from app.features.comparisons.pages import unsaved_of
from app.features.comparisons.service import question_of_comparison
from app.features.price_books.service import list_books
from app.features.proposals import service as proposals
from app.features.proposals import sharing
from app.features.proposals.customers import reply_to
from app.features.proposals.files import FILE_KINDS, FileKind, file_of
from app.features.proposals.forms import (
    edited_sections,
    form_values,
    has_networks,
    request_body,
    section_texts,
    version_of,
    with_texts,
)
from app.features.proposals.model import (
    Proposal,
    ProposalPatch,
    ProposalSummary,
    Replay,
    ReplyRequest,
    Review,
    ReviewRequest,
    ShareRequest,
)
from app.features.proposals.review import Mailer, take_step
from app.features.proposals.service import Standing
from app.features.proposals.views import proposal_page, replay_page, visible_sections
from app.features.studies.service import get_study
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web.auth import IdentityDep, located_at
from app.platform.web.contexts import Choice, Form
from app.platform.web.deps import WorkspaceDep
from app.platform.web.forms import FormDep, refusal, refused, typed
from app.platform.web.locale import asked_for
from app.platform.web.rendering import render
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.workspace import Workspace

router = page_router()

LISTED = 30

REFUSED = (AppError, ValidationError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalsPage:
    proposals: Page[ProposalSummary]
    review: str
    """State of review listed; empty for all."""
    reviews: Sequence[str]


def proposals_page(request: Request, page: Page[ProposalSummary]) -> ProposalsPage:
    return ProposalsPage(
        proposals=page, review=request.query_params.get("review", ""), reviews=get_args(Review)
    )


@resource(router, "/proposals", "proposals/proposals.html", proposals_page)
def show_proposals(
    workspace: WorkspaceDep,
    cursor: str | None = None,
    status: Standing | None = None,
    review: Review | None = None,
) -> Page[ProposalSummary]:
    return proposals.list_proposals(workspace, LISTED, cursor, status, review)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalFormPage:
    form: Form
    message: Message | None
    """Error of the form as a whole."""
    proposal: Proposal
    labels: Sequence[str]
    """Options of its comparison."""
    books: Sequence[Choice]
    """Newest price books to choose from."""
    calibrations: Sequence[Choice]
    """Newest measured runs to choose from."""
    has_networks: bool


def render_form(
    request: Request,
    workspace: Workspace,
    draft: Proposal,
    form: Form | None = None,
    error: AppError | None = None,
) -> Response:
    comparison = question_of_comparison(workspace, draft.comparison_id)
    labels = [option.label or "" for option in comparison.content.options]
    books = list_books(workspace, LISTED, None).items
    runs = list_calibrations(workspace, LISTED, None).items
    page = ProposalFormPage(
        form=form or Form(form_values(draft, labels)),
        message=None if error is None else error.message,
        proposal=draft,
        labels=labels,
        books=[Choice(book.id, book.name) for book in books],
        calibrations=[Choice(run.id, run.name, run.created_at.date().isoformat()) for run in runs],
        has_networks=has_networks(draft),
    )
    return render(
        request, "proposals/proposal_form.html", page, status=200 if error is None else error.status
    )


@router.get("/proposals/new", response_class=HTMLResponse)
def show_form(workspace: WorkspaceDep, comparison: str = "", study: str = "") -> Response:
    """Go to the proposal view of a study, or of the study made from a comparison."""
    if comparison:
        study = unsaved_of(workspace, comparison)
    path = f"/studies/{get_study(workspace, study).id}/proposal" if study else "/proposals"
    return RedirectResponse(path, 303)


@router.get("/proposals/{identifier}/edit", response_class=HTMLResponse)
def show_edit(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    return render_form(request, workspace, proposals.get_proposal(workspace, identifier))


@router.post("/proposals/{identifier}/edit", response_class=HTMLResponse)
@requires(Right.PROPOSE, CostClass.SEARCH)
def change_proposal(request: Request, workspace: WorkspaceDep, form: FormDep, identifier: str) -> Response:
    """Change a draft, or return the form with its errors."""
    values = typed(form)
    try:
        body = request_body(form)
        # In the API null leaves the customer as it is; an emptied field is a mistake.
        patch = ProposalPatch.model_validate({**body, "customer": body["customer"] or ""})
        proposals.change_proposal(workspace, identifier, patch, version_of(values))
    except REFUSED as error:
        # After a conflict the form shows the newer version, which only sending it again overwrites.
        draft = proposals.get_proposal(workspace, identifier)
        return render_form(request, workspace, draft, refused(values, error, ()), refusal(error))
    return RedirectResponse(f"/proposals/{identifier}", 303)


def render_again(
    request: Request,
    proposal: Proposal,
    values: Mapping[str, Sequence[str]],
    error: AppError | ValidationError,
) -> Response:
    """Return the page of a proposal with the form as sent and its errors."""
    problem = refusal(error)
    page = proposal_page(request, proposal, form=refused(values, error, ()), message=problem.message)
    return render(request, "proposals/proposal.html", page, status=problem.status)


@router.post("/proposals/{identifier}/sections", response_class=HTMLResponse)
@requires(Right.PROPOSE, CostClass.SEARCH)
def change_sections(request: Request, workspace: WorkspaceDep, form: FormDep, identifier: str) -> Response:
    """Save the texts of all sections as they were sent, and move or leave out one of them."""
    values, texts = typed(form), section_texts(form)
    move = values.get("move", [""])[0]
    draft = proposals.get_proposal(workspace, identifier)
    try:
        sections = edited_sections(draft, texts, move, visible_sections(draft))
        patch = ProposalPatch.model_validate({"sections": sections})
        proposals.change_proposal(workspace, identifier, patch, version_of(values))
    except REFUSED as error:
        return render_again(request, with_texts(draft, texts), values, error)
    moved = move.rpartition(" ")[2]
    return RedirectResponse(f"/proposals/{identifier}" + (f"#{moved}" if moved else ""), 303)


def file_route(kind: FileKind) -> Callable[..., Response]:
    def give_file(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
        proposal = proposals.get_proposal(workspace, identifier)
        return file_of(workspace, proposal, kind, asked_for(request))

    return requires(cost=None if kind == "csv" else CostClass.SEARCH)(give_file)


for file_kind in FILE_KINDS:
    router.add_api_route(f"/proposals/{{identifier}}.{file_kind}", file_route(file_kind))


# After the files: its path takes them too.
@resource(router, "/proposals/{identifier}", "proposals/proposal.html", proposal_page)
def show_proposal(workspace: WorkspaceDep, identifier: str) -> Proposal:
    return proposals.get_proposal(workspace, identifier)


@router.post("/proposals/{identifier}/review", response_class=HTMLResponse)
@requires(Right.PROPOSE, CostClass.SEARCH)
def review(
    request: Request, workspace: WorkspaceDep, identity: IdentityDep, form: FormDep, identifier: str
) -> Response:
    """Take a step of review; only sending by e-mail uses the address."""
    values = typed(form)
    first = {name: texts[0] for name, texts in values.items()}
    step = first.get("step", "")
    step_fields = {"step": "send", "to": first.get("to", "")} if step == "mail" else {"step": step}
    try:
        review_request = ReviewRequest.model_validate({**step_fields, "note": first.get("note")})
        take_step(workspace, identifier, review_request, Mailer(identity, str(request.base_url)))
    except REFUSED as error:
        return render_again(request, proposals.get_proposal(workspace, identifier), values, error)
    return RedirectResponse(f"/proposals/{identifier}", 303)


@router.post("/proposals/{identifier}/reply", response_class=HTMLResponse)
@requires(Right.PROPOSE)
def reply(request: Request, workspace: WorkspaceDep, form: FormDep, identifier: str) -> Response:
    """Reply to the customer's questions."""
    values = typed(form)
    try:
        reply_to(workspace, identifier, ReplyRequest.model_validate({"text": values.get("text", [""])[0]}))
    except REFUSED as error:
        return render_again(request, proposals.get_proposal(workspace, identifier), values, error)
    return RedirectResponse(f"/proposals/{identifier}#questions", 303)


@router.post("/proposals/{identifier}/share", response_class=HTMLResponse)
@requires(Right.PROPOSE)
def share(request: Request, workspace: WorkspaceDep, form: FormDep, identifier: str) -> Response:
    values = typed(form)
    try:
        share_request = ShareRequest.model_validate({name: texts[0] for name, texts in values.items()})
        created = sharing.create_share(workspace, identifier, share_request)
    except REFUSED as error:
        values.pop("passphrase", None)
        return render_again(request, proposals.get_proposal(workspace, identifier), values, error)
    link = located_at(request, created.path or "")
    page = proposal_page(request, proposals.get_proposal(workspace, identifier), link=link)
    return render(request, "proposals/proposal.html", page)


@router.post("/proposals/{identifier}/unshare")
@requires(Right.PROPOSE)
def unshare(workspace: WorkspaceDep, identifier: str) -> Response:
    sharing.revoke_share(workspace, identifier)
    return RedirectResponse(f"/proposals/{identifier}", 303)


@resource(
    router, "/proposals/{identifier}/replay", "proposals/replay.html", replay_page, cost=CostClass.SEARCH
)
def show_replay(workspace: WorkspaceDep, identifier: str) -> Replay:
    """Show what differs with today's catalogue, without recording an event."""
    return proposals.replay_proposal(workspace, identifier, note=False)
