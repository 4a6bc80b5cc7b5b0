"""The guided start of a study: model, workload, systems, each with its defaults filled in and marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.errors import AppError, BadInput, FieldError, Message
from app.features.studies.model import StudyContent
from app.features.studies.service import create_study
from app.features.workloads import filling
from app.features.workloads.drafts import WORKLOAD_OF_PRESET
from app.features.workloads.filling import Filled, fill
from app.features.workloads.suggestions import Suggestion, suggested
from app.platform.json_bodies import as_app_error
from app.platform.rates import CostClass
from app.platform.web import choices
from app.platform.web.choices import SystemGroup
from app.platform.web.contexts import Choice, ChoiceGroup, Form
from app.platform.web.deps import BenchDep, QueryDep, WorkspaceDep
from app.platform.web.forms import FormDep, plain_number, typed
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench

router = page_router()

FEATURED = ("bert-large", "resnet50", "gpt3-175b", "llama2-7b", "llama2-70b", "vit-large")
"""Models that are one click away; all others are in the list."""

MODEL = "model.preset"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFormPage:
    """The guided start: model, workload, systems."""

    form: Form
    message: Message | None
    featured: Sequence[Choice]
    models: Sequence[ChoiceGroup]
    model: Choice | None
    """The model that was chosen; the other steps open with it."""
    filled: Filled | None
    """What the form holds of the training of its model; None where no model is chosen."""
    targets: Sequence[Choice]
    softwares: Sequence[ChoiceGroup]
    """Software profiles of GPUs, then of IPUs."""
    systems: Sequence[SystemGroup]
    within: Message | None
    """Time within which the counts finish; None where one of each system does."""


def render_guide(
    request: Request,
    bench: Workbench,
    workspace: str,
    form: Form,
    suggestion: Suggestion | None = None,
    message: Message | None = None,
    status: int = 200,
) -> Response:
    """Return the three steps with what has been chosen and what is suggested."""
    voice = voice_of(request)
    values, filled = fill(bench, workspace, form.values)
    form = replace(form, values=values)
    known = {
        model.id: Choice(model.id, model.name, voice.count(model.parameters.value))
        for model in bench.catalogue.models.documents.values()
    }
    page = StudyFormPage(
        form=form,
        message=message,
        featured=[known[name] for name in FEATURED if name in known],
        models=choices.models(bench.catalogue, voice),
        model=known.get(form.get(MODEL)),
        filled=filled,
        targets=filling.targets(bench, workspace, values),
        softwares=choices.softwares(bench, voice),
        systems=choices.systems(bench.catalogue),
        within=suggestion.within if suggestion else None,
    )
    return render(request, "studies/study_form.html", page, status=status)


def suggested_values(suggestion: Suggestion, model: str) -> dict[str, Sequence[str]]:
    """Return a suggestion as the fields of the form."""
    counts = {f"count.{name}": [str(count)] for name, count in suggestion.systems.items()}
    return {MODEL: [model], "system": list(suggestion.systems), **counts}


@router.get("/studies/new.json")
def show_guide_data(bench: BenchDep, query: QueryDep) -> dict[str, Any]:
    """Return what the guide suggests for the model of the address."""
    model = query.get(MODEL, "")
    if not model:
        return {"models": list(bench.catalogue.models.documents), "featured": list(FEATURED)}
    found = suggested(bench, model)
    return {"model": model, "workload": dict(found.training.workload), "systems": dict(found.systems)}


@router.get("/studies/new", response_class=HTMLResponse)
def show_guide(request: Request, bench: BenchDep, workspace: WorkspaceDep, query: QueryDep) -> Response:
    """Show the guide; the model of the address opens its other steps with what is suggested."""
    values = typed(query)
    model = values.get(MODEL, [""])[0]
    if not model:
        return render_guide(request, bench, workspace, Form(values))
    try:
        suggestion = suggested(bench, model)
    except AppError as error:
        form = Form(values, [FieldError("model", error.message)])
        return render_guide(request, bench, workspace, form, status=error.status)
    form = Form({**suggested_values(suggestion, model), **values})
    return render_guide(request, bench, workspace, form, suggestion)


@router.post("/studies/new", response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def make_study(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Keep the study that was put together, or return the form with its errors beside the fields."""
    values, _ = fill(bench, workspace, typed(form))
    try:
        made = create_study(bench, workspace, content_of(bench, values))
    except (AppError, ValidationError) as error:
        return refused_guide(request, bench, workspace, values, as_app_error(error))
    return RedirectResponse(f"/studies/{made.id}", 303)


def content_of(bench: Workbench, values: Mapping[str, Sequence[str]]) -> StudyContent:
    """Return the study that was put together."""
    first = {name: one[0] for name, one in values.items()}
    missing = []
    if not first.get(MODEL):
        missing.append(FieldError("model", Message("choose a preset")))
    if not values.get("system"):
        missing.append(FieldError("system", Message("select at least one system")))
    if missing:
        raise BadInput(Message("the form is incomplete"), missing)
    base = {
        "model": {"preset": first[MODEL]},
        "currency": first.get("currency", "USD"),
        **WORKLOAD_OF_PRESET.body(values),
    }
    known = bench.catalogue.models.documents.get(first[MODEL])
    name = first.get("name") or (known.name if known else first[MODEL])
    systems = bench.catalogue.systems.documents
    kinds = {name: systems[name].chip_kind for name in values["system"] if name in systems}
    options = [_option(first, system, kinds.get(system, "")) for system in values["system"]]
    return StudyContent.model_validate({"name": name, "base": base, "options": options})


def _option(first: Mapping[str, str], system: str, kind: str) -> dict[str, Any]:
    asked: dict[str, Any] = {"id": system}
    if count := first.get(f"count.{system}"):
        asked["count"] = plain_number(count)
    if fabric := first.get(f"fabric.{system}"):
        asked["fabric"] = fabric
    software = first.get(f"software.{kind}")
    return {"system": asked} | ({"software": software} if software else {})


def refused_guide(
    request: Request,
    bench: Workbench,
    workspace: str,
    values: Mapping[str, Sequence[str]],
    error: AppError,
) -> Response:
    systems = values.get("system", ())
    errors = [FieldError(_placed(one.field, systems), one.message) for one in error.errors]
    unique = {(one.field, str(one.message)): one for one in errors}
    form = Form(values, list(unique.values()))
    try:
        suggestion = suggested(bench, form.get(MODEL)) if form.get(MODEL) else None
    except AppError:
        suggestion = None
    return render_guide(request, bench, workspace, form, suggestion, error.message, error.status)


def _placed(field: str, systems: Sequence[str]) -> str:
    """Return the field of the form at which an error of a study belongs."""
    parts = field.split(".")
    if parts[0] == "base":
        return ".".join(parts[1:])
    if parts[0] == "options" and len(parts) > 2 and parts[1].isdecimal():
        rest = ".".join(parts[2:])
        if rest.startswith("system") and int(parts[1]) < len(systems):
            return f"system.{systems[int(parts[1])]}"
        return rest
    return field
