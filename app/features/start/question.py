"""The form of the first page (model, training, systems) and the study it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.engine.units import DAY, YEAR
from app.errors import AppError, BadInput, FieldError, Message
from app.estimating.numbers import DAYS, PLAIN, WHOLE, number_in
from app.estimating.request import WorkloadInput
from app.features.start.grammar import acquisitions_in
from app.features.studies.knobs import apply_knobs
from app.features.studies.model import MAX_OPTIONS, StudyContent
from app.features.studies.service import NAME_LENGTH
from app.features.workloads.filling import WORKLOAD, Draft, chosen_model, known_profile
from app.features.workloads.suggestions import (
    UNKNOWN,
    dataset_of,
    starting_counts,
    suggested_systems,
)
from app.platform.web import choices
from app.platform.web.choices import SystemChoice
from app.platform.web.contexts import Choice
from app.platform.wording.voice import Voice
from app.platform.workspace import Workspace
from app.profiles.presets import preset

Values = Mapping[str, Sequence[str]]

PROFILE, PRESET = "model.profile_id", "model.preset"

SUGGESTED = "suggested"
"""Field with the suggested systems: those chosen by the reader are kept with another model."""

COUNTED = "counted."
"""Field with the count of a system that was suggested, by the system: another one was typed."""

FIND_SYSTEM = "find_system"
"""Field of the search among systems."""

LIMITS = ("deadline", "budget", "budget_kind", "power", "years")
"""Fields of the limits and of the term, by their knobs."""

DEMAND = "demand"
"""Field that says how often the work is done: a knob with its value, such as runs=1."""

ONCE = "runs=1"

USUAL_DEMANDS = ("", "runs_per_year=10", "busy=100")
"""What can be chosen; nothing chosen is once, unless the line says another."""

TURNS = ("add", "remove", "more", "less")
"""Buttons that change the systems, each with the identifier of one."""


@dataclass(frozen=True, slots=True)
class ChosenSystem:
    """A row of the form: a system with its count."""

    choice: SystemChoice
    count: str
    counted: str
    """Count that was suggested."""
    favourite: bool


def model_of(values: Values) -> dict[str, str]:
    """Return the model of a request; an upload takes precedence over a preset."""
    name = next((name for name in (PROFILE, PRESET) if values.get(name)), "")
    return {name.removeprefix("model."): chosen_model(values)} if name else {}


def check_model(workspace: Workspace, values: Values) -> None:
    """Refuse an unknown model, with similar names."""
    name = chosen_model(values)
    if name and known_profile(workspace, name) is None:
        if PROFILE in values:
            workspace.profile(name)
        preset(name)


def count_in(text: str) -> int:
    """Return a number of systems; 1 if invalid: errors are reported when the study is created."""
    try:
        return int(number_in(text, WHOLE))
    except AppError:
        return 1


def workload_of(values: Values) -> dict[str, Any]:
    """Return the training, empty if invalid: errors are reported when the study is created."""
    try:
        stated = WORKLOAD.body(values).get("workload", {})
        return WorkloadInput.model_validate(stated).model_dump(exclude_unset=True)
    except (AppError, ValidationError):
        return {}


def with_dataset(workspace: Workspace, fields: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the fields with the samples of an epoch where a line states the epochs alone."""
    epochs, samples = "workload.epochs", "workload.dataset_samples"
    profile = known_profile(workspace, chosen_model(fields)) if epochs in fields else None
    if profile is None or samples in fields:
        return fields
    images = dataset_of(profile, workspace.sizing.catalog)
    return fields if images is None else {**fields, samples: [f"{images:,}"]}


def deadline_in(values: Values) -> float | None:
    """Return the deadline, None if invalid: errors are reported when the study is created. [s]"""
    try:
        return number_in(values["deadline"][0], DAYS) * DAY if any(values.get("deadline", ())) else None
    except AppError:
        return None


def between_runs(values: Values) -> float | None:
    """Return the time from one run to the next where runs a year are stated. [s]"""
    knob, _, number = next(iter(values.get(DEMAND, ())), "").partition("=")
    try:
        return YEAR / number_in(number, PLAIN) if knob == "runs_per_year" else None
    except (AppError, ZeroDivisionError):
        return None


def arranged(workspace: Workspace, values: Values) -> dict[str, list[str]]:
    """Return the form with its systems: suggested at first, then as changed by the buttons."""
    fields = {name: list(texts) for name, texts in values.items()}
    turns = {name: texts[0] for name in TURNS if (texts := fields.pop(name, []))}
    if turns:
        fields.pop(FIND_SYSTEM, None)
    model, context = model_of(fields), workspace.context()
    if not model or known_profile(workspace, chosen_model(fields)) is None:
        return fields
    workload, deadline, apart = workload_of(fields), deadline_in(fields), between_runs(fields)
    if "system" not in fields and SUGGESTED not in fields:
        rent, own = acquisitions_in(next(iter(fields.get("ask", ())), ""))
        counts = suggested_systems(model, workload, context, deadline, apart, rent=rent, own=own)
        fields["system"] = list(counts)
        fields[SUGGESTED] = [" ".join(counts)]
    known = workspace.catalogue.systems.documents
    systems = dict.fromkeys(name for name in fields.get("system", ()) if name in known)
    if turns.get("add") in known:
        systems[turns["add"]] = None
    systems.pop(turns.get("remove", ""), None)
    fields["system"] = list(systems)[:MAX_OPTIONS]
    open_counts = [name for name in fields["system"] if not is_typed(fields, name)]
    counts = starting_counts(model, workload or UNKNOWN, open_counts, context, deadline, apart)
    for name in open_counts:
        fields[f"count.{name}"] = fields[f"{COUNTED}{name}"] = [str(counts.get(name, 1))]
    for turn, step in (("more", 1), ("less", -1)):
        name = f"count.{turns.get(turn, '')}"
        if name in fields:
            fields[name] = [str(max(count_in(fields[name][0]) + step, 1))]
    return fields


def is_typed(fields: Values, system: str) -> bool:
    """Tell whether the reader chose a count: one that was counted follows what is trained."""
    count = next(iter(fields.get(f"count.{system}", ())), "").strip()
    return bool(count) and count != next(iter(fields.get(f"{COUNTED}{system}", ())), "")


def own_systems(values: Values) -> list[str]:
    """Return the systems if the reader chose other than the suggested ones."""
    systems = list(values.get("system", ()))
    return [] if " ".join(systems) == next(iter(values.get(SUGGESTED, ())), "") else systems


def chosen_systems(workspace: Workspace, values: Values, favourites: Sequence[str]) -> list[ChosenSystem]:
    shelf = workspace.catalogue
    scale_out = [fabric for fabric in shelf.fabrics.documents.values() if fabric.id != "ipu-fabric"]
    return [
        ChosenSystem(
            choices.system_choice(shelf.systems.documents[name], scale_out, shelf),
            next(iter(values.get(f"count.{name}", ())), ""),
            next(iter(values.get(f"{COUNTED}{name}", ())), ""),
            name in favourites,
        )
        for name in values.get("system", ())
        if name in shelf.systems.documents
    ]


def demands(stated: str, voice: Voice) -> list[Choice]:
    """Return what can be chosen as a demand, and what was stated."""
    words = {
        "runs": voice.gettext("{number} times"),
        "runs_per_year": voice.gettext("{number} a year"),
        "busy": voice.gettext("busy {number} % of the time"),
    }
    usual = {USUAL_DEMANDS[0]: voice.gettext("once"), USUAL_DEMANDS[2]: voice.gettext("always busy")}
    choices = []
    for demand in dict.fromkeys((*USUAL_DEMANDS, "" if stated == ONCE else stated)):
        knob, _, number = demand.partition("=")
        if demand in usual or knob in words:
            choices.append(Choice(demand, usual.get(demand) or words[knob].format(number=number)))
    return choices


def content_of(draft: Draft, language: str, line: str = "") -> StudyContent:
    """Return the study that a form asks for, named after the line where there is one."""
    values = draft.form.values
    model, systems = model_of(values), values.get("system", ())
    missing = []
    if not model:
        missing.append(FieldError("model", Message("choose a preset or upload a model")))
    if not systems:
        missing.append(FieldError("system", Message("select at least one system")))
    if len(systems) > MAX_OPTIONS:
        most = Message("select at most {most} systems", {"most": MAX_OPTIONS})
        missing.append(FieldError("system", most))
    if missing:
        raise BadInput(Message("the form is incomplete"), missing)
    currency = draft.form.get("currency") or ("KRW" if language == "ko" else "USD")
    base = {"model": model, "currency": currency, **WORKLOAD.body(values)}
    name = line.strip() or (draft.filled.model if draft.filled else next(iter(model.values())))
    options = [_option(draft, system) for system in systems]
    content = StudyContent.model_validate({"name": name[:NAME_LENGTH], "base": base, "options": options})
    knobs = {limit: text for limit in LIMITS if (text := draft.form.get(limit))}
    demand, _, number = draft.form.get(DEMAND).partition("=")
    if demand:
        knobs[demand] = number
        # Of work that is done again and again a budget pays for all.
        knobs |= {"budget_kind": "term"} if "budget" in knobs and "budget_kind" not in knobs else {}
    return apply_knobs(content, knobs).content


def _option(draft: Draft, system: str) -> dict[str, Any]:
    count, fabric = draft.form.get(f"count.{system}"), draft.form.get(f"fabric.{system}")
    counted = {"count": number_in(count, WHOLE, f"system.{system}")} if count else {}
    if used := draft.form.get(f"accelerators.{system}"):
        counted["accelerators"] = number_in(used, WHOLE, f"system.{system}")
    return {"system": {"id": system, **counted, **({"fabric": fabric} if fabric else {})}}
