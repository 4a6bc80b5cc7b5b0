"""Pages of studies: their list, a study in any of its states, and changes to whole studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData, QueryParams, UploadFile

from app.errors import AppError, BadInput, Conflict, FieldError, Message, TooLarge
from app.estimating.documents import Estimate
from app.estimating.numbers import HOURS, PLAIN, number_in
from app.features.estimates.pages import estimate_page, roofline_view
from app.features.estimates.service import get_estimate, get_estimate_request
from app.features.studies import service as studies
from app.features.studies import states
from app.features.studies.answering import State
from app.features.studies.forms import address, pair_in, state_in, version_in
from app.features.studies.frame import (
    OpenView,
    StudyFrame,
    is_estimate,
    led,
    no_suited_option,
    open_view,
    read_state,
    state_query,
    study_of,
    view_address,
)
from app.features.studies.model import (
    VIEWS,
    DuplicateRequest,
    Study,
    StudyAnswer,
    StudyAssumptions,
    StudyContent,
    StudyFile,
    StudyPatch,
    StudySummary,
    StudyVersions,
    tree_of,
)
from app.features.studies.trace import StudyTrace, trace_figure
from app.features.studies.views import (
    AnsweredState,
    Clash,
    assumptions_page,
    costs_page,
    query_of,
    query_without,
    study_page,
    trace_page,
    with_names,
)
from app.platform.json_bodies import as_app_error, read_json
from app.platform.listing import USUAL_ITEMS, Page
from app.platform.rates import CostClass
from app.platform.web.contexts import FigureView
from app.platform.web.deps import QueryDep, WorkspaceDep, workspace_of
from app.platform.web.forms import FormDep, typed, whole
from app.platform.web.locale import voice_of
from app.platform.web.rendering import FOR_GOOD, DeletePage, deleted, displayed, render
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.workspace import Workspace

router = page_router()


def answered_state(
    workspace: Workspace, identifier: str, query: QueryParams, *, strict: bool = True
) -> AnsweredState:
    state, pair = read_state(workspace, identifier, query, plain=True), pair_in(query)
    return AnsweredState(state, states.answer_state(workspace, state, pair, strict=strict), pair)


@router.get("/studies/{identifier}.json")
@router.get("/studies/{identifier}/costs.json")
def show_study_data(workspace: WorkspaceDep, identifier: str, query: QueryDep) -> StudyAnswer:
    return answered_state(workspace, identifier, query).answer


@router.get("/studies/{identifier}", response_class=HTMLResponse)
def show_study(request: Request, workspace: WorkspaceDep, identifier: str, query: QueryDep) -> Response:
    """Show a study in the state of the address, after a redirect to the one address of that state."""
    try:
        shown = answered_state(workspace, identifier, query)
    except (AppError, ValidationError) as error:
        return refused_page(request, workspace, identifier, as_app_error(error))
    canonical = query_of(workspace, shown)
    if sorted(canonical) != sorted(query_without(request)):
        return RedirectResponse(address(identifier, [*canonical, *displayed(request)]), 303)
    return render(request, "studies/study.html", study_page(request, workspace, shown))


@router.get("/studies/{identifier}/costs", response_class=HTMLResponse)
def show_costs(request: Request, workspace: WorkspaceDep, identifier: str, query: QueryDep) -> Response:
    """Show the items of the cost of every option, and what owning and renting cost on one basis."""
    shown = answered_state(workspace, identifier, query)
    return render(request, "studies/costs.html", costs_page(request, workspace, shown))


def refused_page(request: Request, workspace: Workspace, identifier: str, error: AppError) -> Response:
    """Return the page with errors beside its knobs and the answer of the previous state.

    If that cannot be answered either, the page shows the newest version as far as possible.
    """
    previous = request.query_params.get("previous", "")
    try:
        shown = answered_state(workspace, identifier, state_in(previous))
    except (AppError, ValidationError):
        shown = answered_state(workspace, identifier, QueryParams(""), strict=False)
    page = study_page(
        request,
        workspace,
        shown,
        typed={name: text[:200] for name, text in request.query_params.multi_items()},
        errors=error.errors or (FieldError("", error.message),),
        previous=previous,
    )
    return render(request, "studies/study.html", page, status=error.status)


HEADINGS = ("name", "customer", "owner", "notes")


@router.post("/studies/{identifier}/save", response_class=HTMLResponse)
@requires(Right.MAKE, CostClass.SEARCH)
def save_study(request: Request, workspace: WorkspaceDep, identifier: str, form: FormDep) -> Response:
    """Save a study in the state shown, unless somebody else has changed it since."""
    fields = first_values(form)
    state = sent_state(workspace, identifier, fields)
    heading: dict[str, Any] = {name: fields[name] for name in HEADINGS if name in fields}
    if "tags" in fields:
        heading["tags"] = [tag.strip() for tag in fields["tags"].split(",") if tag.strip()]
    try:
        states.save_state(workspace, state, heading, whole(fields.get("expected", "")))
    except Conflict as error:
        return clash_page(request, workspace, error, state)
    view = fields.get("view", "")
    return RedirectResponse(view_address(identifier, view if view in VIEWS else "", []), 303)


def sent_state(workspace: Workspace, identifier: str, fields: Mapping[str, str]) -> State:
    """Return the state in the fields of a form, of the version that its page showed."""
    query = state_in(fields.get("state", ""))
    if "state" not in query and "version" not in query and (version := whole(fields.get("version", ""))):
        query = QueryParams([*query.multi_items(), ("version", str(version))])
    return read_state(workspace, identifier, query, plain=True)


def first_values(form: FormData) -> dict[str, str]:
    return {name: values[0] for name, values in typed(form).items()}


def clash_page(request: Request, workspace: Workspace, error: Conflict, state: State) -> Response:
    """Return the page in the reader's own state, with what somebody else has changed."""
    study = state.study
    answer = states.answer_state(workspace, state, strict=False)
    changes = studies.changes_since(workspace, study.id, study.version)
    own = State(studies.get_study(workspace, study.id), state.variant, state.views)
    apply_url = address(study.id, state_query(workspace, own))
    clash = Clash(error.message, with_names(changes, workspace), apply_url)
    page = study_page(request, workspace, AnsweredState(state, answer, None), clash=clash)
    return render(request, "studies/study.html", page, status=409)


@resource(router, "/studies/{identifier}/assumptions", "studies/study_assumptions.html", assumptions_page)
def show_assumptions(workspace: WorkspaceDep, identifier: str, query: QueryDep) -> StudyAssumptions:
    state = read_state(workspace, identifier, query, plain=True)
    return states.assumptions_of(workspace, state)


@resource(
    router,
    "/studies/{identifier}/trace",
    "studies/study_trace.html",
    trace_page,
    part="studies/_study_trace.html",
)
def show_trace(
    workspace: WorkspaceDep, identifier: str, query: QueryDep, option: str = "", figure: str = "time_to_train"
) -> StudyTrace:
    answer = answered_state(workspace, identifier, query).answer
    return trace_figure(workspace, answer, option[:20] or answer.options[0].key, figure)


def view_of(request: Request) -> OpenView:
    """Return the view that an address names last."""
    name = request.url.path.rpartition("/")[2].removesuffix(".json")
    suits = is_estimate if name == "details" else None
    return open_view(request, workspace_of(request), request.path_params["identifier"], name, suits)


ViewDep = Annotated[OpenView, Depends(view_of)]


def details_page(request: Request, estimate: Estimate) -> object:
    return estimate_page(request, estimate, view_of(request).frame)


@resource(router, "/studies/{identifier}/details", "estimates/estimate.html", details_page)
def show_details(shown: ViewDep, workspace: WorkspaceDep) -> Estimate:
    """Show the estimate of an option down to its formulas."""
    if shown.question is None or shown.question.request is None:
        raise no_suited_option()
    return studies.estimate_option(workspace, shown.question.request)


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePage:
    """The model of a study on the roof of each chip."""

    frame: StudyFrame
    roofs: Sequence[tuple[str, Estimate, FigureView]]
    """Label, estimate and roofline of each option."""


def roofline_page(request: Request, found: Mapping[str, Estimate]) -> RooflinePage:
    voice = voice_of(request)
    roofs = [
        (label, estimate, replace(roofline_view([(label, estimate)], voice), id=f"figure-roofline-{place}"))
        for place, (label, estimate) in enumerate(found.items())
    ]
    return RooflinePage(frame=view_of(request).frame, roofs=roofs)


@resource(router, "/studies/{identifier}/roofline", "studies/roofline.html", roofline_page)
def show_roofline(workspace: WorkspaceDep, shown: ViewDep) -> dict[str, Estimate]:
    """Show the operators of the model under the roof of each chip, with the measured runs."""
    return dict(rooflines(workspace, shown.state))


def rooflines(workspace: Workspace, state: State) -> list[tuple[str, Estimate]]:
    """Return the options with a roofline, one of each chip, with their labels."""
    answer = states.answer_state(workspace, state, strict=False)
    chips: dict[str, tuple[str, Estimate]] = {}
    for option in answer.options:
        estimate = option.estimate
        if estimate is not None and estimate.roof is not None and estimate.roofline:
            chips.setdefault(estimate.system.chip, (option.label, estimate))
    return list(chips.values())


@router.get("/estimates/{identifier}/study", response_class=HTMLResponse)
@requires(cost=CostClass.SEARCH)
def open_estimate(request: Request, workspace: WorkspaceDep, identifier: str, view: str = "") -> Response:
    """Go to an unsaved study that asks what a stored estimate asked, or to one of its views."""
    asked = get_estimate_request(workspace, identifier)
    name = get_estimate(workspace, identifier).name
    return led(request, workspace, view if view in VIEWS else "", "", (study_of(asked, name), {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyVersionsPage:
    study: Study
    versions: StudyVersions


def versions_page(request: Request, versions: StudyVersions) -> StudyVersionsPage:
    workspace = workspace_of(request)
    study = studies.get_study(workspace, versions.id)
    items = [
        version.model_copy(update={"changes": with_names(version.changes, workspace)})
        for version in versions.items
    ]
    return StudyVersionsPage(study=study, versions=versions.model_copy(update={"items": items}))


@resource(router, "/studies/{identifier}/versions", "studies/study_versions.html", versions_page)
def show_versions(workspace: WorkspaceDep, identifier: str) -> StudyVersions:
    return studies.list_versions(workspace, identifier)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiesPage:
    studies: Page[StudySummary]
    search: str
    archived: bool
    unsaved: bool
    next_url: str
    """Address of the next page; empty on the last."""
    error: AppError | None
    """Why a file could not be imported."""


def studies_page(request: Request, listed: Page[StudySummary], error: AppError | None = None) -> StudiesPage:
    query = QueryParams("") if error else request.query_params
    filters = {name: query[name] for name in ("search", "archived", "unsaved") if query.get(name)}
    return StudiesPage(
        studies=listed,
        search=query.get("search", "")[:200],
        archived=query.get("archived", "") == "1",
        unsaved=query.get("unsaved", "") == "1",
        next_url=f"/studies?{urlencode({**filters, 'cursor': listed.next})}" if listed.next else "",
        error=error,
    )


@resource(router, "/studies", "studies/studies.html", studies_page)
def show_studies(workspace: WorkspaceDep, query: QueryDep) -> Page[StudySummary]:
    search, archived = query.get("search", "")[:200], query.get("archived", "") == "1"
    cursor = query.get("cursor") or None
    saved = query.get("unsaved", "") != "1"
    return studies.list_studies(workspace, USUAL_ITEMS, cursor, search, archived, saved)


MAX_FILE = 1_000_000
"""Most bytes of an imported file."""


@router.post("/studies/import", response_class=HTMLResponse)
@requires(Right.MAKE, CostClass.SEARCH)
def import_file(request: Request, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Store the study of a file, or show its errors beside the field."""
    try:
        study = studies.import_study(workspace, study_file(form))
    except (AppError, ValidationError) as error:
        refusal = as_app_error(error)
        page = studies_page(request, show_studies(workspace, QueryParams("")), refusal)
        return render(request, "studies/studies.html", page, status=refusal.status)
    return RedirectResponse(f"/studies/{study.id}", 303)


def study_file(form: FormData) -> StudyFile:
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise BadInput.at("file", "choose a file exported from Rackline")
    content = file.file.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        message = Message("the file is larger than {limit} bytes", {"limit": MAX_FILE})
        raise TooLarge(message, [FieldError("file", message)])
    return StudyFile.model_validate(read_json(content))


@router.get("/studies/{identifier}/export.json")
def export_file(workspace: WorkspaceDep, identifier: str, query: QueryDep) -> Response:
    file = studies.export_study(workspace, identifier, version_in(query))
    headers = {"Content-Disposition": f'attachment; filename="{identifier}.json"'}
    body = file.model_dump_json(indent=1, exclude_unset=True)
    return Response(body, media_type="application/json", headers=headers)


@router.post("/studies/{identifier}/duplicate")
@requires(Right.MAKE, CostClass.SEARCH)
def duplicate(workspace: WorkspaceDep, identifier: str, form: FormDep) -> Response:
    state = sent_state(workspace, identifier, first_values(form))
    copy = DuplicateRequest(knobs=dict(state.variant.knobs), version=state.study.version)
    study = states.duplicate_study(workspace, identifier, copy)
    return RedirectResponse(f"/studies/{study.id}", 303)


@router.post("/studies/{identifier}/archive")
@requires(Right.MAKE)
def archive(workspace: WorkspaceDep, identifier: str) -> Response:
    studies.archive_study(workspace, identifier, True)
    return RedirectResponse("/studies", 303)


@router.post("/studies/{identifier}/restore")
@requires(Right.MAKE)
def restore(workspace: WorkspaceDep, identifier: str) -> Response:
    studies.archive_study(workspace, identifier, False)
    return RedirectResponse(f"/studies/{identifier}", 303)


@router.post("/studies/{identifier}/figures", response_class=HTMLResponse)
@requires(Right.MAKE)
def add_figure(request: Request, workspace: WorkspaceDep, identifier: str, form: FormDep) -> Response:
    """Add a stated figure as an option, in a new version."""
    values = first_values(form)
    state = sent_state(workspace, identifier, values)
    try:
        patch = figure_patch(state.study.content, values)
        studies.change_study(workspace, identifier, patch, whole(values.get("expected", "")))
    except ValidationError as error:
        raise as_app_error(error) from None
    except Conflict as error:
        return clash_page(request, workspace, error, state)
    return RedirectResponse(address(identifier, list(state.variant.knobs.items())), 303)


def figure_patch(content: StudyContent, values: Mapping[str, str]) -> StudyPatch:
    figure: dict[str, Any] = {"kind": values.get("figure.kind", "")}
    for name in ("hours", "factor"):
        if values.get(f"figure.{name}"):
            kind = HOURS if name == "hours" else PLAIN
            figure[name] = number_in(values[f"figure.{name}"], kind, f"figure.{name}")
    if values.get("figure.scaled_from"):
        figure["scaled_from"] = values["figure.scaled_from"]
    option = {"label": values.get("figure.label") or None, "figure": figure}
    tree = tree_of(content)
    changed = StudyContent.model_validate({**tree, "options": [*tree["options"], option]})
    return StudyPatch.model_validate({"options": changed.options})


@router.get("/studies/{identifier}/delete", response_class=HTMLResponse)
def ask_about_study(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    return render(request, "delete.html", study_question(workspace, identifier))


@router.post("/studies/{identifier}/delete", response_class=HTMLResponse)
@requires(Right.MAKE)
def delete_study(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    """Delete an archived study and redirect to the list of archived ones."""
    return deleted(
        request,
        lambda: studies.delete_study(workspace, identifier),
        lambda error: study_question(workspace, identifier, error),
        "/studies?archived=1",
    )


def study_question(workspace: Workspace, identifier: str, error: AppError | None = None) -> DeletePage:
    study = studies.get_study(workspace, identifier)
    return DeletePage(
        title=Message("Delete the study?"),
        name=study.content.name,
        consequences=[
            Message("All versions are deleted: {count}.", {"count": study.latest}),
            Message("Uploads that nothing else uses are deleted too."),
            Message("Comparisons and proposals based on it are kept."),
            FOR_GOOD,
        ],
        action=f"/studies/{identifier}/delete",
        back=f"/studies/{identifier}",
        refused=error,
    )
