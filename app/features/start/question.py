"""What the first page asks, a model, what to train and systems: from its form to a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.errors import BadInput, FieldError, Message
from app.estimating.request import WorkloadInput
from app.features.studies.model import MAX_OPTIONS, StudyContent
from app.features.workloads.filling import WORKLOAD, Draft, chosen_model, known_profile
from app.features.workloads.suggestions import starting_counts, suggested_systems
from app.platform.web import choices
from app.platform.web.choices import SystemChoice
from app.platform.web.forms import plain_number, whole
from app.platform.workbench import Workbench
from app.profiles.presets import preset

Values = Mapping[str, Sequence[str]]

PROFILE, PRESET = "model.profile_id", "model.preset"

SUGGESTED = "suggested"
"""Field that names the systems which were filled in: those that the reader chose stay with another model."""

FIND_SYSTEM = "find_system"
"""Field of the search among systems."""

TURNS = ("add", "remove", "more", "less")
"""Buttons that change the systems, each with the identifier of one."""


@dataclass(frozen=True, slots=True)
class ChosenSystem:
    """A system as a row of the form."""

    choice: SystemChoice
    count: str
    favourite: bool


def model_of(values: Values) -> dict[str, str]:
    """Return the model as a request names it; an upload goes before a preset."""
    for name in (PROFILE, PRESET):
        if values.get(name):
            return {name.removeprefix("model."): values[name][0]}
    return {}


def check_model(bench: Workbench, workspace: str, values: Values) -> None:
    """Refuse a model that is not there, with those of a similar name."""
    name = chosen_model(values)
    if name and known_profile(bench, workspace, name) is None:
        if PROFILE in values:
            bench.profile(workspace, name)
        preset(name)


def workload_of(values: Values) -> dict[str, Any]:
    """Return what is trained, as far as it can be read: what is wrong is told when a study is made of it."""
    stated: dict[str, Any] = WORKLOAD.body(values).get("workload", {})
    try:
        return WorkloadInput.model_validate(stated).model_dump(exclude_unset=True)
    except ValidationError:
        return {}


def arranged(bench: Workbench, workspace: str, values: Values) -> dict[str, list[str]]:
    """Return the form with its systems: suggested ones to begin with, later as the buttons leave them."""
    found = {name: list(texts) for name, texts in values.items()}
    turns = {name: texts[0] for name in TURNS if (texts := found.pop(name, []))}
    if turns:
        found.pop(FIND_SYSTEM, None)
    model, context = model_of(found), bench.context(workspace)
    if not model or known_profile(bench, workspace, chosen_model(found)) is None:
        return found
    workload = workload_of(found)
    if "system" not in found and SUGGESTED not in found:
        counts = suggested_systems(model, workload, context)
        found["system"] = list(counts)
        found[SUGGESTED] = [" ".join(counts)]
        found |= {f"count.{name}": [str(count)] for name, count in counts.items()}
    known = bench.catalogue.systems.documents
    systems = dict.fromkeys(name for name in found.get("system", ()) if name in known)
    if turns.get("add") in known:
        systems[turns["add"]] = None
    systems.pop(turns.get("remove", ""), None)
    found["system"] = list(systems)[:MAX_OPTIONS]
    open_counts = [name for name in found["system"] if not found.get(f"count.{name}")]
    counts = starting_counts(model, workload, open_counts, context)
    found |= {f"count.{name}": [str(counts.get(name, 1))] for name in open_counts}
    for turn, step in (("more", 1), ("less", -1)):
        field = f"count.{turns.get(turn, '')}"
        if field in found:
            found[field] = [str(max((whole(found[field][0]) or 1) + step, 1))]
    return found


def own_systems(values: Values) -> list[str]:
    """Return the systems where the reader chose others than were suggested: they stay with another model."""
    systems = list(values.get("system", ()))
    return [] if " ".join(systems) == next(iter(values.get(SUGGESTED, ())), "") else systems


def chosen_systems(bench: Workbench, values: Values, favourites: Sequence[str]) -> list[ChosenSystem]:
    shelf = bench.catalogue
    scale_out = [fabric for fabric in shelf.fabrics.documents.values() if fabric.id != "ipu-fabric"]
    return [
        ChosenSystem(
            choices.system_choice(shelf.systems.documents[name], scale_out, shelf),
            next(iter(values.get(f"count.{name}", ())), ""),
            name in favourites,
        )
        for name in values.get("system", ())
        if name in shelf.systems.documents
    ]


def content_of(draft: Draft, language: str) -> StudyContent:
    """Return the study that is asked for."""
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
    currency = "KRW" if language == "ko" else "USD"
    base = {"model": model, "currency": currency, **WORKLOAD.body(values)}
    name = draft.filled.model if draft.filled else next(iter(model.values()))
    options = [_option(draft, system) for system in systems]
    return StudyContent.model_validate({"name": name, "base": base, "options": options})


def _option(draft: Draft, system: str) -> dict[str, Any]:
    count, fabric = draft.form.get(f"count.{system}"), draft.form.get(f"fabric.{system}")
    counted = {"count": plain_number(count)} if count else {}
    return {"system": {"id": system, **counted, **({"fabric": fabric} if fabric else {})}}
