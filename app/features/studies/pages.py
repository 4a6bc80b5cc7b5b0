"""What is done with whole studies: listed, imported and exported, copied, put away, made a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData, QueryParams, UploadFile

from app.errors import AppError, BadInput, Conflict, FieldError, Message, TooLarge
from app.features.price_books.service import list_books
from app.features.studies import service as studies
from app.features.studies import states
from app.features.studies.forms import Clash, StudiesPage, StudyVersionsPage, address_query, form_of, knobs_in
from app.features.studies.model import (
    ComparisonOfState,
    DuplicateRequest,
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
from app.features.studies.views import assumptions_page, study_page, trace_page
from app.platform.json_bodies import from_validation, read_json
from app.platform.listing import USUAL_ITEMS, Page
from app.platform.rates import CostClass
from app.platform.web.contexts import Choice
from app.platform.web.deletion import FOR_GOOD, DeletePage, deleted
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.forms import checked, plain_number, read_form, typed, whole
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.pictures import DISPLAY_PARAMS
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench

router = page_router()

FormDep = Annotated[FormData, Depends(read_form)]

BOOKS = 30
"""Price books that are offered, the newest."""


def version_in(query: QueryParams) -> int | None:
    """Return the version an address names; the newest where it names none."""
    text = query.get("version", "").strip()
    if not text:
        return None
    found = whole(text)
    if not found:
        raise BadInput.at("version", "must be a whole number")
    return found


def pair_in(query: QueryParams) -> list[str] | None:
    """Return the two options an address holds against each other; the best two where it names none."""
    pair = [key[:20] for key in query.getlist("pair") if key]
    if not pair:
        return None
    if len(pair) != 2 or pair[0] == pair[1]:
        raise BadInput.at("pair", "choose two different options")
    return pair


def answered(
    bench: Workbench, workspace: str, identifier: str, query: QueryParams, *, strict: bool = True
) -> StudyAnswer:
    """Return the answer of an address."""
    state = states.state_of(bench, workspace, identifier, knobs_in(query), version_in(query))
    return states.answer_state(bench, workspace, state, pair_in(query), strict=strict)


@router.get("/studies/{identifier}.json")
def show_study_data(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str
) -> StudyAnswer:
    """Return the answer of the page of the same address."""
    return answered(bench, workspace, identifier, request.query_params)


@router.get("/studies/{identifier}", response_class=HTMLResponse)
def show_study(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show a study in the state of the address; every state has one address."""
    query = request.query_params
    studies.get_study(bench, workspace, identifier)
    try:
        answer = answered(bench, workspace, identifier, query)
    except (AppError, ValidationError) as error:
        return refused(request, bench, workspace, identifier, error)
    wanted = address_query(answer, pair_in(query))
    if sorted(wanted) != sorted(
        (name, value) for name, value in query.multi_items() if name not in DISPLAY_PARAMS
    ):
        asides = [(name, value) for name, value in query.multi_items() if name in DISPLAY_PARAMS]
        return RedirectResponse(address(identifier, urlencode([*wanted, *asides])), 303)
    form = form_of(answer, {}, ())
    books = books_of(bench, workspace)
    page = study_page(bench, answer, voice_of(request), form, books=books, pair=pair_in(query))
    return render(request, "studies/study.html", page)


def books_of(bench: Workbench, workspace: str) -> list[Choice]:
    """Return the newest price books to choose from."""
    return [Choice(one.id, one.name) for one in list_books(bench, workspace, BOOKS, None).items]


def address(identifier: str, query: str) -> str:
    """Return the address of a state."""
    return f"/studies/{identifier}?{query}" if query else f"/studies/{identifier}"


def refused(
    request: Request, bench: Workbench, workspace: str, identifier: str, error: AppError | ValidationError
) -> Response:
    """Return the page with what is wrong beside its knobs and the result of the state before."""
    known = from_validation(error.errors(include_url=False)) if isinstance(error, ValidationError) else error
    errors = known.errors or (FieldError("", known.message),)
    before = request.query_params.get("previous", "")
    answer, pair = _before(bench, workspace, identifier, before)
    form = form_of(answer, _typed(request.query_params), [one.field for one in errors])
    page = study_page(
        bench,
        answer,
        voice_of(request),
        form,
        books=books_of(bench, workspace),
        pair=pair,
        errors=errors,
        previous=before,
    )
    return render(request, "studies/study.html", page, status=known.status)


def _typed(query: QueryParams) -> dict[str, str]:
    return {name: text[:200] for name, text in query.multi_items()}


def _before(
    bench: Workbench, workspace: str, identifier: str, before: str
) -> tuple[StudyAnswer, Sequence[str] | None]:
    """Return the last state that could be answered, else the newest version as far as it can be."""
    query = QueryParams(parse_qsl(before[:4000], keep_blank_values=True))
    try:
        return answered(bench, workspace, identifier, query), pair_in(query)
    except (AppError, ValidationError):
        return answered(bench, workspace, identifier, QueryParams(""), strict=False), None


@router.post("/studies/{identifier}/versions", response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def save_version(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, form: FormDep
) -> Response:
    """Keep a state as a new version, unless somebody else has kept one meanwhile."""
    fields = {name: values[0] for name, values in typed(form).items()}
    state = QueryParams(parse_qsl(fields.get("state", "")[:4000], keep_blank_values=True))
    version, expected = whole(fields.get("version", "")), whole(fields.get("expected", ""))
    patch = checked(StudyPatch, {"knobs": knobs_in(state)})
    try:
        studies.change_study(bench, workspace, identifier, patch, expected, version)
    except Conflict as error:
        return clashed(request, bench, workspace, identifier, error, state, version)
    return RedirectResponse(f"/studies/{identifier}", 303)


def clashed(
    request: Request,
    bench: Workbench,
    workspace: str,
    identifier: str,
    error: Conflict,
    state: QueryParams,
    version: int | None,
) -> Response:
    """Return the reader's own state, with what the other has changed and how to go on."""
    knobs = [(name, value) for name, value in state.multi_items() if name != "version"]
    own = QueryParams([*knobs, *([("version", str(version))] if version else [])])
    answer = answered(bench, workspace, identifier, own, strict=False)
    since = studies.changes_since(bench, workspace, identifier, version) if version else []
    clash = Clash(error.message, [one.text for one in since], address(identifier, urlencode(knobs)))
    page = study_page(
        bench,
        answer,
        voice_of(request),
        form_of(answer, {}, ()),
        books=books_of(bench, workspace),
        pair=pair_in(own),
        clash=clash,
    )
    return render(request, "studies/study.html", page, status=409)


@router.get("/studies/{identifier}/assumptions.json")
def show_assumptions_data(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str
) -> StudyAssumptions:
    """Return the assumptions of the page of the same address."""
    query = request.query_params
    state = states.state_of(bench, workspace, identifier, knobs_in(query), version_in(query))
    return states.assumptions_of(bench, workspace, state)


@router.get("/studies/{identifier}/assumptions", response_class=HTMLResponse)
def show_assumptions(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show everything a state takes for granted, with what changes it."""
    found = show_assumptions_data(request, bench, workspace, identifier)
    query = urlencode([one for one in request.query_params.multi_items() if one[0] not in DISPLAY_PARAMS])
    page = assumptions_page(found, query, voice_of(request))
    return render(request, "studies/study_assumptions.html", page)


@router.get("/studies/{identifier}/trace.json")
def show_trace_data(
    request: Request,
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: str,
    option: str = "",
    figure: str = "time_to_train",
) -> StudyTrace:
    """Return the trace of the page of the same address."""
    answer = answered(bench, workspace, identifier, request.query_params)
    return trace_figure(bench, answer, option[:20] or answer.options[0].key, figure)


@router.get("/studies/{identifier}/trace", response_class=HTMLResponse)
def show_trace(
    request: Request,
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: str,
    option: str = "",
    figure: str = "time_to_train",
) -> Response:
    """Show where a figure comes from: beside the workspace for htmx, as a page of its own otherwise."""
    found = show_trace_data(request, bench, workspace, identifier, option, figure)
    apart = {*DISPLAY_PARAMS, "option", "figure"}
    query = urlencode([one for one in request.query_params.multi_items() if one[0] not in apart])
    panel = "HX-Request" in request.headers
    page = trace_page(found, query, voice_of(request), panel)
    return render(request, "studies/_study_trace.html" if panel else "studies/study_trace.html", page)


@router.get("/studies/{identifier}/versions.json")
def show_versions_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> StudyVersions:
    """Return the versions of the page of the same address."""
    return studies.list_versions(bench, workspace, identifier)


@router.get("/studies/{identifier}/versions", response_class=HTMLResponse)
def show_versions(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show every version with what changed."""
    found, study = (
        studies.list_versions(bench, workspace, identifier),
        studies.get_study(bench, workspace, identifier),
    )
    page = StudyVersionsPage(
        id=identifier,
        name=study.content.name,
        versions=found.items,
        archived=study.archived,
    )
    return render(request, "studies/study_versions.html", page)


MAX_FILE = 1_000_000
"""Bytes of a file that is imported."""


def _listed(bench: Workbench, workspace: str, query: QueryParams) -> Page[StudySummary]:
    return studies.list_studies(
        bench,
        workspace,
        USUAL_ITEMS,
        query.get("cursor") or None,
        query.get("search", "")[:200],
        query.get("archived", "") == "1",
    )


def shelf_page(
    request: Request,
    bench: Workbench,
    workspace: str,
    errors: tuple[FieldError, ...] = (),
    message: Message | None = None,
) -> StudiesPage:
    """Return the list of studies; errors are those of a file that was to be imported."""
    query = QueryParams("") if errors or message else request.query_params
    found = _listed(bench, workspace, query)
    kept = {name: query[name] for name in ("search", "archived") if query.get(name)}
    following = urlencode({**kept, "cursor": found.next}) if found.next else ""
    return StudiesPage(
        studies=found.items,
        sought=query.get("search", "")[:200],
        archived=query.get("archived", "") == "1",
        next_url=f"/studies?{following}" if following else "",
        errors=errors,
        message=message,
    )


@router.get("/studies.json")
def show_studies_data(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Page[StudySummary]:
    """Return the studies of the page of the same address."""
    return _listed(bench, workspace, request.query_params)


@router.get("/studies", response_class=HTMLResponse)
def show_studies(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show the studies."""
    return render(request, "studies/studies.html", shelf_page(request, bench, workspace))


@router.post("/studies/import", response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def import_file(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Keep the study of a file, or say what is wrong with it beside the field."""
    try:
        made = studies.import_study(bench, workspace, _file(form))
    except (AppError, ValidationError) as error:
        known = (
            from_validation(error.errors(include_url=False)) if isinstance(error, ValidationError) else error
        )
        page = shelf_page(request, bench, workspace, known.errors, known.message)
        return render(request, "studies/studies.html", page, status=known.status)
    return RedirectResponse(f"/studies/{made.id}", 303)


def _file(form: FormData) -> StudyFile:
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise BadInput.at("file", "choose a file exported from Rackline")
    content = file.file.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        message = Message("the file is larger than {limit} bytes", {"limit": MAX_FILE})
        raise TooLarge(message, [FieldError("file", message)])
    return StudyFile.model_validate(read_json(content))


@router.get("/studies/{identifier}/export.json")
def export_file(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Send a version as a file."""
    version = version_in(request.query_params)
    found = studies.export_study(bench, workspace, identifier, version)
    headers = {"Content-Disposition": f'attachment; filename="{identifier}.json"'}
    body = found.model_dump_json(indent=1, exclude_unset=True)
    return Response(body, media_type="application/json", headers=headers)


def _state(form: FormData) -> tuple[dict[str, Any], QueryParams]:
    """Return the state that a button of the workspace sends along, as a request has it."""
    values = {name: one[0] for name, one in typed(form).items()}
    state = QueryParams(parse_qsl(values.get("state", "")[:4000], keep_blank_values=True))
    return {"knobs": dict(knobs_in(state)), "version": version_in(state)}, state


@router.post("/studies/{identifier}/duplicate")
@needs(Right.MAKE, CostClass.SEARCH)
def duplicate(bench: BenchDep, workspace: WorkspaceDep, identifier: str, form: FormDep) -> Response:
    """Copy the state and go to the copy."""
    asked, _ = _state(form)
    made = states.duplicate_study(bench, workspace, identifier, checked(DuplicateRequest, asked))
    return RedirectResponse(f"/studies/{made.id}", 303)


@router.post("/studies/{identifier}/comparison")
@needs(Right.MAKE, CostClass.SEARCH)
def compare(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, form: FormDep
) -> Response:
    """Make a comparison of the state and go there."""
    asked, _ = _state(form)
    body = checked(ComparisonOfState, {**asked, "locale": voice_of(request).language})
    made = states.comparison_of_state(bench, workspace, identifier, body)
    state = states.state_of(bench, workspace, identifier, body.knobs, body.version)
    share = state.content.base.scaling_efficiency
    query = f"?scaling_efficiency={share:.6g}" if share != 1 else ""
    return RedirectResponse(f"/comparisons/{made.id}{query}", 303)


@router.post("/studies/{identifier}/archive")
@needs(Right.MAKE)
def archive(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Put a study away and go to the list."""
    studies.archive_study(bench, workspace, identifier, True)
    return RedirectResponse("/studies", 303)


@router.post("/studies/{identifier}/restore")
@needs(Right.MAKE)
def restore(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Bring a study back and go there."""
    studies.archive_study(bench, workspace, identifier, False)
    return RedirectResponse(f"/studies/{identifier}", 303)


@router.post("/studies/{identifier}/edit", response_class=HTMLResponse)
@needs(Right.MAKE)
def edit(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, form: FormDep
) -> Response:
    """Keep another name, other notes or one more stated figure as a new version."""
    values = {name: one[0] for name, one in typed(form).items()}
    _, state = _state(form)
    expected = whole(values.get("expected", ""))
    try:
        patch = _patch(bench, workspace, identifier, values)
        studies.change_study(bench, workspace, identifier, patch, expected)
    except ValidationError as error:
        raise from_validation(error.errors(include_url=False)) from None
    except Conflict as error:
        return clashed(request, bench, workspace, identifier, error, state, expected)
    knobs = [(name, value) for name, value in state.multi_items() if name != "version"]
    return RedirectResponse(address(identifier, urlencode(knobs)), 303)


def _patch(bench: Workbench, workspace: str, identifier: str, values: dict[str, str]) -> StudyPatch:
    if "figure.kind" not in values:
        return StudyPatch.model_validate({"name": values.get("name"), "notes": values.get("notes", "")})
    figure: dict[str, Any] = {"kind": values["figure.kind"]}
    for name in ("hours", "factor"):
        if values.get(f"figure.{name}"):
            figure[name] = plain_number(values[f"figure.{name}"])
    if values.get("figure.scaled_from"):
        figure["scaled_from"] = values["figure.scaled_from"]
    content = studies.get_study(bench, workspace, identifier).content
    option = {"label": values.get("figure.label") or None, "figure": figure}
    tree = tree_of(content)
    made = StudyContent.model_validate({**tree, "options": [*tree["options"], option]})
    return StudyPatch(options=made.options)


@router.get("/studies/{identifier}/delete", response_class=HTMLResponse)
def ask_about_study(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Ask whether a study is really to be deleted."""
    return render(request, "delete.html", study_question(bench, workspace, identifier))


@router.post("/studies/{identifier}/delete", response_class=HTMLResponse)
@needs(Right.MAKE)
def delete_study(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Delete an archived study and go to the list of those put away."""
    return deleted(
        request,
        lambda: studies.delete_study(bench, workspace, identifier),
        lambda error: study_question(bench, workspace, identifier, error),
        "/studies?archived=1",
    )


def study_question(
    bench: Workbench, workspace: str, identifier: str, error: AppError | None = None
) -> DeletePage:
    """Return the question about a study."""
    study = studies.get_study(bench, workspace, identifier)
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
        refused=error.message if error else None,
    )
