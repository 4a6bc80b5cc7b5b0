"""Studies as pages: the workspace with its knobs, its assumptions, its traces and its versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import parse_qsl, urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData, QueryParams

from app.errors import AppError, BadInput, Conflict, FieldError
from app.services import studies, study_states
from app.services.price_books import list_books
from app.services.study_trace import StudyTrace, trace_figure
from app.services.workbench import Workbench
from app.sizing.study.documents import StudyAnswer, StudyAssumptions, StudyVersions
from app.sizing.study.request import StudyPatch
from app.sizing.validation_errors import from_validation
from app.web.contexts import Choice
from app.web.deps import BenchDep, WorkspaceDep
from app.web.display_params import DISPLAY_PARAMS
from app.web.locale import voice_of
from app.web.pages.documents import available
from app.web.pages.forms import checked, typed, whole
from app.web.pages.start import read_form
from app.web.pages.studies_knobs import address_query, knobs_in, shown
from app.web.pages.studies_views import assumptions_page, study_page, trace_page
from app.web.rendering import render
from app.web.routers import page_router
from app.web.study_contexts import Clash, StudyVersionsPage

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
    state = study_states.state_of(bench, workspace, identifier, knobs_in(query), version_in(query))
    return study_states.answer_state(bench, workspace, state, pair_in(query), strict=strict)


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
    form = shown(answer, {}, ())
    books = books_of(bench, workspace)
    page = study_page(bench, answer, voice_of(request), available(), form, books=books, pair=pair_in(query))
    return render(request, "study.html", page)


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
    form = shown(answer, _typed(request.query_params), [one.field for one in errors])
    page = study_page(
        bench,
        answer,
        voice_of(request),
        available(),
        form,
        books=books_of(bench, workspace),
        pair=pair,
        errors=errors,
        previous=before,
    )
    return render(request, "study.html", page, status=known.status)


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
        available(),
        shown(answer, {}, ()),
        books=books_of(bench, workspace),
        pair=pair_in(own),
        clash=clash,
    )
    return render(request, "study.html", page, status=409)


@router.get("/studies/{identifier}/assumptions.json")
def show_assumptions_data(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str
) -> StudyAssumptions:
    """Return the assumptions of the page of the same address."""
    query = request.query_params
    state = study_states.state_of(bench, workspace, identifier, knobs_in(query), version_in(query))
    return study_states.assumptions_of(bench, workspace, state)


@router.get("/studies/{identifier}/assumptions", response_class=HTMLResponse)
def show_assumptions(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show everything a state takes for granted, with what changes it."""
    found = show_assumptions_data(request, bench, workspace, identifier)
    query = urlencode([one for one in request.query_params.multi_items() if one[0] not in DISPLAY_PARAMS])
    page = assumptions_page(found, query, voice_of(request), available())
    return render(request, "study_assumptions.html", page)


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
    page = trace_page(found, query, voice_of(request), available(), panel)
    return render(request, "_study_trace.html" if panel else "study_trace.html", page)


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
        data_url=f"/studies/{identifier}/versions.json",
        documents=available(),
        id=identifier,
        name=study.content.name,
        versions=found.items,
        archived=study.archived,
    )
    return render(request, "study_versions.html", page)
