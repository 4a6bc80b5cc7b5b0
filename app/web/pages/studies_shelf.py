"""What is done with whole studies: listed, imported and exported, copied, put away, made a comparison."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData, QueryParams, UploadFile

from app.errors import AppError, BadInput, Conflict, FieldError, Message, TooLarge
from app.services import studies, study_states
from app.services.listing import USUAL_ITEMS
from app.services.workbench import Workbench
from app.sizing.kept.documents import Page
from app.sizing.strict_json import read_json
from app.sizing.study.documents import StudySummary
from app.sizing.study.request import (
    ComparisonOfState,
    DuplicateRequest,
    StudyContent,
    StudyFile,
    StudyPatch,
    tree_of,
)
from app.sizing.validation_errors import from_validation
from app.web.deps import BenchDep, WorkspaceDep
from app.web.locale import voice_of
from app.web.pages.documents import available
from app.web.pages.forms import checked, plain_number, typed, whole
from app.web.pages.start import read_form
from app.web.pages.studies import address, clashed, version_in
from app.web.pages.studies_knobs import knobs_in
from app.web.rendering import render
from app.web.routers import page_router
from app.web.study_contexts import StudiesPage

router = page_router()

FormDep = Annotated[FormData, Depends(read_form)]

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
        data_url="/studies.json" + (f"?{urlencode(kept)}" if kept else ""),
        documents=available(),
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
    return render(request, "studies.html", shelf_page(request, bench, workspace))


@router.post("/studies/import", response_class=HTMLResponse)
def import_file(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Keep the study of a file, or say what is wrong with it beside the field."""
    try:
        made = studies.import_study(bench, workspace, _file(form))
    except (AppError, ValidationError) as error:
        known = (
            from_validation(error.errors(include_url=False)) if isinstance(error, ValidationError) else error
        )
        page = shelf_page(request, bench, workspace, known.errors, known.message)
        return render(request, "studies.html", page, status=known.status)
    return RedirectResponse(f"/studies/{made.id}", 303)


def _file(form: FormData) -> StudyFile:
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise BadInput.at("file", "choose a file that was exported here")
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
def duplicate(bench: BenchDep, workspace: WorkspaceDep, identifier: str, form: FormDep) -> Response:
    """Copy the state and go to the copy."""
    asked, _ = _state(form)
    made = study_states.duplicate_study(bench, workspace, identifier, checked(DuplicateRequest, asked))
    return RedirectResponse(f"/studies/{made.id}", 303)


@router.post("/studies/{identifier}/comparison")
def compare(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, form: FormDep
) -> Response:
    """Make a comparison of the state and go there."""
    asked, _ = _state(form)
    body = checked(ComparisonOfState, {**asked, "locale": voice_of(request).language})
    made = study_states.comparison_of_state(bench, workspace, identifier, body)
    state = study_states.state_of(bench, workspace, identifier, body.knobs, body.version)
    share = state.content.base.scaling_efficiency
    query = f"?scaling_efficiency={share:.6g}" if share != 1 else ""
    return RedirectResponse(f"/comparisons/{made.id}{query}", 303)


@router.post("/studies/{identifier}/archive")
def archive(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Put a study away and go to the list."""
    studies.archive_study(bench, workspace, identifier, True)
    return RedirectResponse("/studies", 303)


@router.post("/studies/{identifier}/restore")
def restore(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Bring a study back and go there."""
    studies.archive_study(bench, workspace, identifier, False)
    return RedirectResponse(f"/studies/{identifier}", 303)


@router.post("/studies/{identifier}/edit", response_class=HTMLResponse)
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
