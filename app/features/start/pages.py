"""The first page: a model, what to train and systems become a study; examples and recent studies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import Field, ValidationError
from starlette.datastructures import FormData, UploadFile

from app.errors import AppError, BadInput, FieldError, Message, NotFound
from app.estimating.schema import Document
from app.features.start.examples import EXAMPLES
from app.features.start.finding import SearchResults, find_models, find_systems
from app.features.start.question import (
    FIND_SYSTEM,
    PROFILE,
    ChosenSystem,
    Values,
    arranged,
    check_model,
    chosen_systems,
    content_of,
    count_in,
    model_of,
    own_systems,
    workload_of,
)
from app.features.studies.model import MAX_OPTIONS, StudyContent
from app.features.studies.service import Recent, create_study, recent_studies
from app.features.uploads.service import get_workload, upload_profile, upload_workload
from app.features.workloads import filling
from app.features.workloads.filling import Draft, chosen_model, filled_draft, known_profile
from app.features.workloads.suggestions import least_counts
from app.platform.catalogue_model import Model, System
from app.platform.json_bodies import as_app_error
from app.platform.rates import CostClass
from app.platform.web.auth import reach_of
from app.platform.web.contexts import Choice, Example, Form
from app.platform.web.deps import QueryDep, WorkspaceDep, workspace_of
from app.platform.web.forms import FormDep, typed
from app.platform.web.locale import COOKIE_SECONDS, voice_of
from app.platform.web.rendering import render
from app.platform.web.requirements import Right, requires
from app.platform.web.rights import page_router
from app.platform.workspace import Workspace
from app.profiles.model import ModelProfile

router = page_router()

RECENT = 3
"""Recent studies listed."""

LOOKED_THROUGH = 20
"""Recent studies whose models are listed first."""

FIND_MODEL, SAMPLE = "find", "workload.workload_id"


@dataclass(frozen=True, slots=True)
class FoundModels:
    """Models that a search found."""

    found: SearchResults
    own: str
    """Query of the systems to keep with another model; empty, or beginning with &."""


def own_query(values: Values) -> str:
    return "".join(f"&system={name}" for name in map(quote, own_systems(values)))


def sought(text: str) -> str:
    return text.strip()[:200]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPage:
    """The form that starts a study."""

    draft: Draft
    model: ModelProfile | None
    targets: Sequence[Choice]
    least: Sequence[str]
    """Smallest counts of systems that fit the model."""
    systems: Sequence[ChosenSystem]
    full: bool
    """Whether no more systems can be added."""
    sample: Choice | None
    """An uploaded sample of the data."""
    find: str
    find_system: str
    models: FoundModels
    found_systems: SearchResults | None
    """Result of a search without JavaScript."""
    examples: Sequence[Example]
    recent: Sequence[Recent]
    total: int
    """Number of presets that can be searched."""


def start_page(request: Request, workspace: Workspace, draft: Draft, favourites: Sequence[str]) -> StartPage:
    values = draft.form.values
    recent = recent_studies(workspace, LOOKED_THROUGH)
    find, find_system = sought(draft.form.get(FIND_MODEL)), sought(draft.form.get(FIND_SYSTEM))
    model = known_profile(workspace, chosen_model(values))
    sample = draft.form.get(SAMPLE)
    return StartPage(
        draft=draft,
        model=model,
        targets=filling.targets(workspace, values),
        least=least_systems(workspace, values) if model else [],
        systems=chosen_systems(workspace, values, favourites),
        full=len(values.get("system", ())) >= MAX_OPTIONS,
        sample=Choice(sample, sample_name(workspace, sample)) if sample else None,
        find=find,
        find_system=find_system,
        models=FoundModels(find_models(workspace, find, recent), own_query(values)),
        found_systems=find_systems(workspace, find_system, values.get("system", ()), favourites)
        if find_system
        else None,
        examples=[example for example, _, _ in EXAMPLES.values()],
        recent=recent[:RECENT],
        total=len(workspace.catalogue.models.documents),
    )


def least_systems(workspace: Workspace, values: Values) -> list[str]:
    """Return the smallest counts of common systems that fit the model, as text."""
    counts = least_counts(model_of(values), workload_of(values), workspace.context())
    names = workspace.catalogue.systems.documents
    smallest: dict[str, str] = {}
    for name, count in counts.items():
        # Where a small pod fits the model, a large one adds nothing.
        smallest.setdefault(f"{names[name].chip_kind} {count}", f"{count} × {names[name].name}")
    return list(smallest.values())


def sample_name(workspace: Workspace, identifier: str) -> str:
    try:
        return get_workload(workspace, identifier).name
    except AppError:
        return identifier


class Suggestion(Document):
    """What the form starts from with a model."""

    workload: dict[str, Any] = Field(description="Training of the model.")
    systems: dict[str, int] = Field(description="Count of each suggested system.")
    least: dict[str, int] = Field(description="Smallest count of common systems that holds the model.")


class Offer(Document):
    """What can be asked for."""

    models: list[Model]
    systems: list[System]
    suggested: Suggestion | None
    """For the model of the address."""


@router.get("/index.json")
def show_offer(workspace: WorkspaceDep, query: QueryDep) -> Offer:
    """Return what the form offers, and what it suggests for the model of the address."""
    shelf, values = workspace.catalogue, typed(query)
    check_model(workspace, values)
    suggested = None
    if model := model_of(values):
        filled = arranged(workspace, filled_draft(workspace, values).form.values)
        workload = workload_of(filled)
        suggested = Suggestion(
            workload=workload,
            systems={name: count_in(filled[f"count.{name}"][0]) for name in filled["system"]},
            least=least_counts(model, workload, workspace.context()),
        )
    return Offer(
        models=list(shelf.models.documents.values()), systems=shelf.systems.listed, suggested=suggested
    )


def favourites_in(request: Request, workspace: str) -> list[str]:
    """Return the favourites of the cookie, with the change that the address makes."""
    stored = request.cookies.get(favourites_cookie(workspace), "").split(".")
    marked = [*stored, request.query_params.get("star", "")]
    known = workspace_of(request).catalogue.systems.documents
    return [
        name
        for name in dict.fromkeys(marked)
        if name in known and name != request.query_params.get("unstar", "")
    ]


def favourites_cookie(workspace: str) -> str:
    return f"rackline_favourites_{workspace}"


@router.get("/", response_class=HTMLResponse)
def show_start(request: Request, workspace: WorkspaceDep) -> Response:
    """Show the form; what the address names is filled in, with the training of its model and systems."""
    values = typed(request.query_params)
    favourites = favourites_in(request, workspace.id)
    try:
        check_model(workspace, values)
    except AppError as error:
        draft = Draft(Form(values, [FieldError("model", error.message)]), None, error.message)
        page = start_page(request, workspace, draft, favourites)
        return render(request, "start/start.html", page, status=error.status)
    draft = filled_draft(workspace, values)
    draft = replace(draft, form=replace(draft.form, values=arranged(workspace, draft.form.values)))
    page = start_page(request, workspace, draft, favourites)
    response = render(request, "start/start.html", page)
    if {"star", "unstar"} & values.keys():
        response.set_cookie(
            favourites_cookie(workspace.id), ".".join(favourites), max_age=COOKIE_SECONDS, path="/",
            secure=reach_of(request).https, httponly=True, samesite="lax",
        )  # fmt: skip
    return response


@router.get("/choices", response_class=HTMLResponse)
@requires(cost=CostClass.READ)
def show_choices(request: Request, workspace: WorkspaceDep, query: QueryDep) -> Response:
    """Show the systems that a search finds, or the models."""
    if FIND_SYSTEM in query:
        favourites = favourites_in(request, workspace.id)
        systems = find_systems(workspace, sought(query[FIND_SYSTEM]), query.getlist("system"), favourites)
        return render(request, "start/_found_systems.html", systems)
    recent = recent_studies(workspace, LOOKED_THROUGH)
    models = find_models(workspace, sought(query.get(FIND_MODEL, "")), recent)
    return render(request, "start/_found_models.html", FoundModels(models, own_query(typed(query))))


@router.post("/", response_class=HTMLResponse)
@requires(Right.MAKE, CostClass.SEARCH)
def compare(request: Request, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make a study of what was asked, or return the form with its errors beside the fields."""
    values: dict[str, list[str]] = typed(form)
    if values.get(FIND_SYSTEM):
        # Without JavaScript, Enter in the search field submits the whole form.
        return RedirectResponse(f"/?{urlencode(values, doseq=True)}", 303)
    try:
        if file := file_in(form, "workload_file"):
            values[SAMPLE] = [upload_workload(workspace, *file).id]
    except AppError as error:
        error.errors = (FieldError("workload_file", error.message),)
        return refused(request, workspace, filled_draft(workspace, values), error)
    draft = filled_draft(workspace, values)
    try:
        content = content_of(draft, voice_of(request).language)
        study = create_study(workspace, content, saved=False)
    except (AppError, ValidationError) as error:
        return refused(request, workspace, draft, as_app_error(error))
    return RedirectResponse(f"/studies/{study.id}", 303)


@router.post("/model-file", response_class=HTMLResponse)
@requires(Right.MAKE)
def upload_model(request: Request, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Keep an uploaded model and go on with it, or say what is wrong with the file beside its field."""
    try:
        if not (file := file_in(form, "model_file")):
            raise BadInput(Message("choose a file"))
        profile = upload_profile(workspace, *file)
    except AppError as error:
        error.errors = (FieldError("model_file", error.message),)
        return refused(request, workspace, Draft(Form(typed(form))), error)
    systems = [("system", name) for name in own_systems(typed(form))]
    return RedirectResponse(f"/?{urlencode([(PROFILE, profile.id), *systems])}", 303)


def file_in(form: FormData, name: str) -> tuple[str, bytes] | None:
    file = form.get(name)
    return (file.filename, file.file.read()) if isinstance(file, UploadFile) and file.filename else None


def refused(request: Request, workspace: Workspace, draft: Draft, error: AppError) -> Response:
    draft = draft.refused(error, draft.form.values.get("system", ()))
    page = start_page(request, workspace, draft, favourites_in(request, workspace.id))
    return render(request, "start/start.html", page, status=error.status)


@router.post("/examples/{identifier}", response_class=HTMLResponse)
@requires(Right.MAKE, CostClass.SEARCH)
def open_example(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    if identifier not in EXAMPLES:
        raise NotFound.named("example", identifier, EXAMPLES)
    example, base, options = EXAMPLES[identifier]
    voice = voice_of(request)
    currency = "KRW" if voice.language == "ko" else "USD"
    content = StudyContent.model_validate(
        {"name": voice.gettext(example.title), "base": {**base, "currency": currency}, "options": options}
    )
    return RedirectResponse(f"/studies/{create_study(workspace, content, saved=False).id}", 303)
