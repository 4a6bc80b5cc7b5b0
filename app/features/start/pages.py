"""The first page: a question in one line, or a model, what to train and systems, becomes a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, expm1
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import Field, ValidationError
from starlette.datastructures import FormData, UploadFile

from app.errors import AppError, BadInput, FieldError, Message
from app.estimating.schema import Document
from app.estimating.validation.run import UNITS
from app.features.accuracy.predictions import GROUP_LEFT_OUT
from app.features.accuracy.service import predictions
from app.features.start.finding import SearchResults, find_models, find_systems
from app.features.start.grammar import LONGEST_LINE, Question, understand
from app.features.start.question import (
    DEMAND,
    FIND_SYSTEM,
    PROFILE,
    SUGGESTED,
    ChosenSystem,
    Values,
    arranged,
    check_model,
    chosen_systems,
    content_of,
    count_in,
    demands,
    model_of,
    own_systems,
    with_dataset,
    workload_of,
)
from app.features.studies.model import MAX_OPTIONS
from app.features.studies.service import Recent, create_study, recent_studies, unsaved_study
from app.features.uploads.service import get_workload, upload_profile, upload_workload
from app.features.workloads import filling
from app.features.workloads.filling import Draft, chosen_model, filled_draft, known_profile
from app.features.workloads.suggestions import least_counts
from app.platform.catalogue_model import Model, System
from app.platform.json_bodies import as_app_error
from app.platform.rates import CostClass
from app.platform.web.auth import reach_of
from app.platform.web.contexts import Choice, Form
from app.platform.web.deps import QueryDep, WorkspaceDep, workspace_of
from app.platform.web.forms import FormDep, typed
from app.platform.web.locale import COOKIE_SECONDS, voice_of
from app.platform.web.rendering import render
from app.platform.web.requirements import Right, requires
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workspace import Workspace
from app.profiles.model import ModelProfile

router = page_router()

RECENT = 3
"""Recent studies listed."""

LOOKED_THROUGH = 20
"""Recent studies whose models are listed first."""

ASK, FIND_MODEL, SAMPLE = "ask", "find", "workload.workload_id"

LINES = (
    Message("7B, 2T tokens, 60 days, $3M: buy or rent?"),
    Message("Llama 3.1 8B LoRA 50M tokens"),
    Message("BERT: 3 DGX A100 vs Bow Pod64"),
    Message("GPT-3 on 128 DGX A100: how long?"),
)
"""Questions that show how one is written."""

FAMOUS = {
    "meg-readme-gpt3-175b-1024": "GPT-3 175B (Megatron-LM)",
    "mtnlg-530b-280nodes": "Megatron-Turing NLG 530B",
    "mlperf-v5.0-nvidia-eos-dfw_n64_ngc25.01_nemo-llama31_405b-ttt": "Llama 3.1 405B (MLPerf 5.0)",
    "mlperf-v2.0-graphcore-ipu-pod64-popart-closed-bert-ttt": "BERT-Large (MLPerf 2.0)",
}
"""Published runs that the first page predicts, each without the runs of its own group."""


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


@dataclass(frozen=True, slots=True)
class FamousRunCard:
    """A published run beside its prediction."""

    model: str
    metric: str
    system: str
    published: str
    predicted: str
    error: float
    """Predicted over published, less one."""


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
    line: str
    """The question as it was typed."""
    asked: Question | None
    """How it was understood."""
    names: Mapping[str, str]
    """Names of the models it can mean."""
    composing: bool
    """Whether the form is shown in which a model and systems are chosen."""
    demands: Sequence[Choice]
    lines: Sequence[Message]
    proof: Sequence[FamousRunCard]
    recent: Sequence[Recent]
    total: int
    """Number of presets that can be searched."""


def start_page(request: Request, workspace: Workspace, draft: Draft, favourites: Sequence[str]) -> StartPage:
    values = draft.form.values
    recent = recent_studies(workspace, LOOKED_THROUGH)
    find, find_system = sought(draft.form.get(FIND_MODEL)), sought(draft.form.get(FIND_SYSTEM))
    model = known_profile(workspace, chosen_model(values))
    sample, line = draft.form.get(SAMPLE), draft.form.get(ASK)[:LONGEST_LINE]
    asked = understand(line, workspace.catalogue) if line else None
    models = workspace.catalogue.models.documents
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
        line=line,
        asked=asked,
        names={name: models[name].name for name in asked.models} if asked else {},
        composing=model is not None
        or FIND_MODEL in request.query_params
        or bool(draft.form.wrong("model", "model_file")),
        demands=demands(draft.form.get(DEMAND), voice_of(request)),
        lines=LINES,
        proof=famous_runs(workspace, voice_of(request)),
        recent=recent[:RECENT],
        total=len(workspace.catalogue.models.documents),
    )


def famous_runs(workspace: Workspace, voice: Voice) -> list[FamousRunCard]:
    """Return the famous runs, each predicted without the runs of its own group."""
    chips, shown = workspace.catalogue.chips.documents, []
    for run in sorted(
        (run for run in predictions() if run.id in FAMOUS), key=lambda run: [*FAMOUS].index(run.id)
    ):
        error = run.error(GROUP_LEFT_OUT)
        if error is None or run.measured is None:
            continue
        unit = voice.unit(UNITS.get(run.metric, run.metric))
        published, predicted = (
            f"{voice.number(value)}{unit}" for value in (run.measured, run.measured * exp(error))
        )
        chip = chips[run.chip].name if run.chip in chips else run.chip
        system = f"{voice.number(run.devices)} × {chip}"
        what = voice.label(run.metric, "metric")
        shown.append(FamousRunCard(FAMOUS[run.id], what, system, published, predicted, expm1(error)))
    return shown


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


class StartOffer(Document):
    """What can be asked for."""

    models: list[Model]
    systems: list[System]
    suggested: Suggestion | None
    """For the model of the address."""


@router.get("/index.json")
def show_offer(workspace: WorkspaceDep, query: QueryDep) -> StartOffer:
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
    return StartOffer(
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


def asked_values(workspace: Workspace, values: Values) -> dict[str, list[str]]:
    """Return the fields with those of the line; what a field of its own states goes first."""
    line = next(iter(values.get(ASK, ())), "")
    if not line or SUGGESTED in values:  # The form was shown, with all its fields.
        return {name: list(texts) for name, texts in values.items()}
    question = understand(line, workspace.catalogue)
    if demand := next((name for name in ("runs", "runs_per_year", "busy") if name in question.fields), ""):
        question.fields[DEMAND] = [f"{demand}={question.fields.pop(demand)[0]}"]
    stated = {name: list(texts) for name, texts in values.items() if any(texts)}
    return {**with_dataset(workspace, question.fields), **stated}


@router.get("/", response_class=HTMLResponse)
def show_start(request: Request, workspace: WorkspaceDep) -> Response:
    """Show the line, or the form; what the address asks is filled in, with the training of its model."""
    values = asked_values(workspace, typed(request.query_params))
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
    """Show how a question is understood, or the systems or models that a search finds."""
    if ASK in query:
        line = query[ASK][:LONGEST_LINE]
        return render(
            request, "start/_asked.html", understand(line, workspace.catalogue) if line.strip() else None
        )
    if FIND_SYSTEM in query:
        favourites = favourites_in(request, workspace.id)
        systems = find_systems(workspace, sought(query[FIND_SYSTEM]), query.getlist("system"), favourites)
        return render(request, "start/_found_systems.html", systems)
    recent = recent_studies(workspace, LOOKED_THROUGH)
    models = find_models(workspace, sought(query.get(FIND_MODEL, "")), recent)
    return render(request, "start/_found_models.html", FoundModels(models, own_query(typed(query))))


@router.get("/ask", response_class=HTMLResponse)
@requires(Right.MAKE, CostClass.SEARCH)
def ask(request: Request, workspace: WorkspaceDep, query: QueryDep) -> Response:
    """Answer a question in one line with its study, or show how far it is understood."""
    values = asked_values(workspace, typed(query))
    line = next(iter(values.get(ASK, ())), "")[:LONGEST_LINE]
    back = RedirectResponse(f"/?{urlencode(query.multi_items())}", 303)
    unknown = "anyway" not in query and understand(line, workspace.catalogue).unknown
    if not model_of(values) or unknown:
        return back
    draft = filled_draft(workspace, values)
    draft = replace(draft, form=replace(draft.form, values=arranged(workspace, draft.form.values)))
    try:
        content = content_of(draft, voice_of(request).language, line)
        identifier = unsaved_study(workspace, "ask", content, strict=True)
    except (AppError, ValidationError) as error:
        return refused(request, workspace, draft, as_app_error(error))
    view = "/systems" if query.get("view") == "systems" else ""
    return RedirectResponse(f"/studies/{identifier}{view}", 303)


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
    if not draft.form.errors and 0 < len(values.get("system", ())) <= MAX_OPTIONS:
        # What is trained may have changed since the counts were suggested.
        draft = replace(draft, form=replace(draft.form, values=arranged(workspace, draft.form.values)))
    try:
        content = content_of(draft, voice_of(request).language, draft.form.get(ASK)[:LONGEST_LINE])
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
