"""Fill the training of a model into a form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from app.errors import AppError, Message
from app.estimating.naming import finder
from app.estimating.numbers import number_in
from app.estimating.request import WorkloadInput
from app.estimating.schema import SourceRef
from app.estimating.trace import source_ref
from app.features.workloads.suggestions import targets_for, usual_training
from app.platform.web.contexts import Choice, Form
from app.platform.web.forms import refused
from app.platform.web.query_forms import FormFields
from app.platform.workspace import Workspace
from app.profiles.model import LONGEST_TAKEN, ModelProfile
from app.profiles.presets import presets


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingDefaults:
    """Training of the model that a form is filled with."""

    model: str
    """Name of the model."""
    why: Message | None
    """Amount in words with its origin; None if unknown."""
    assumed: bool
    """Whether it is an assumption, not published."""
    global_batch: int | None
    """Batch of that training, not filled in. [samples]"""
    source: SourceRef | None
    """Source of the figure."""
    fields: frozenset[str]
    """Names of the filled fields."""
    sequences: bool
    """Whether the model reads sequences of a stated length."""
    images: bool
    """Whether it reads images of a stated size."""
    limit: int | None
    """Longest sample of its configuration, if less is filled in. [tokens]"""


PREFIX = "workload."

WORKLOAD = FormFields(WorkloadInput, PREFIX)

AMOUNT = ("target", "tokens", "samples", "epochs", "dataset_samples")
"""Fields of the amount of training."""

WAYS = (("target",), ("tokens",), ("samples",), ("epochs", "dataset_samples"))
"""Fields of each way to state the amount."""

FOR = "filled"
"""Field with the model whose training is filled in."""

LENGTH = "length"
"""Field of the button that fills in the longest sample of the configuration."""

Values = Mapping[str, Sequence[str]]


def fill(workspace: Workspace, values: Values) -> tuple[dict[str, Sequence[str]], TrainingDefaults | None]:
    """Fill the training of the model into the empty fields of a form.

    Values filled in for another model are replaced; cleared fields stay empty.
    """
    fields = dict(values)
    chosen, before = chosen_model(values), next(iter(values.get(FOR, ())), "")
    profile = known_profile(workspace, chosen)
    if profile is None:
        return fields, None
    if before and before != chosen:
        for name, text in _fields_of(workspace, known_profile(workspace, before)).items():
            if _same(fields.get(name, ()), text):
                del fields[name]
    training_fields = _fields_of(workspace, profile)
    amount = tuple(f"{PREFIX}{name}" for name in AMOUNT)
    if before != chosen:
        stated = any(fields.get(name) for name in amount)
        for name, text in training_fields.items():
            if not fields.get(name) and not (stated and name in amount):
                fields[name] = [text]
    _remove_replaced_amount(fields, training_fields)
    if longest := fields.pop(LENGTH, ())[:1]:
        fields[f"{PREFIX}seq_len"] = longest
    fields[FOR] = [chosen]
    training = usual_training(profile, workspace.sizing.catalog)
    limit = profile.default_seq_len if profile.limited else None
    length = fields.get(f"{PREFIX}seq_len", ())
    return fields, TrainingDefaults(
        model=profile.name,
        why=training.why,
        assumed=training.assumed,
        global_batch=training.global_batch,
        source=None if training.source is None else source_ref(training.source),
        fields=frozenset(name for name, text in training_fields.items() if _same(fields.get(name, ()), text)),
        sequences=profile.default_seq_len is not None,
        images=profile.default_image_size is not None,
        limit=limit if _same(length, str(LONGEST_TAKEN)) else None,
    )


def _remove_replaced_amount(fields: dict[str, Sequence[str]], training_fields: Mapping[str, str]) -> None:
    """Remove a filled amount where the reader stated it in another way."""

    def filled(name: str) -> bool:
        return name in training_fields and _same(fields.get(name, ()), training_fields[name])

    ways = [[f"{PREFIX}{name}" for name in way] for way in WAYS]
    typed = [way for way in ways if any(any(fields.get(name, ())) and not filled(name) for name in way)]
    for way in ways if typed else []:
        for name in way:
            if way not in typed and filled(name):
                del fields[name]


def targets(workspace: Workspace, values: Values) -> list[Choice]:
    """Return the targets of the model, and the chosen one."""
    profile, catalog = known_profile(workspace, chosen_model(values)), workspace.sizing.catalog
    own = targets_for(workspace, profile)
    chosen = [name for name in values.get(f"{PREFIX}target", ()) if name in catalog.items]
    return [Choice(name, catalog.items[name].name) for name in dict.fromkeys([*own, *chosen])]


def chosen_model(values: Values) -> str:
    if values.get("model.profile_id"):
        return values["model.profile_id"][0]
    return finder("model preset").resolve(next(iter(values.get("model.preset", ())), ""))


def known_profile(workspace: Workspace, identifier: str) -> ModelProfile | None:
    if not identifier or identifier in presets():
        return presets().get(identifier)
    try:
        return workspace.profile(identifier)
    except AppError:
        return None


def _fields_of(workspace: Workspace, profile: ModelProfile | None) -> dict[str, str]:
    if profile is None:
        return {}
    workload = usual_training(profile, workspace.sizing.catalog).workload
    return {
        f"{PREFIX}{name}": value if isinstance(value, str) else f"{value:,}"
        for name, value in workload.items()
    }


def _same(typed: Sequence[str], text: str) -> bool:
    try:
        return bool(typed) and (typed[0] == text or number_in(typed[0]) == number_in(text))
    except AppError:
        return False


@dataclass(frozen=True)
class Draft:
    """A form, the training it is filled with, and why it was refused."""

    form: Form
    filled: TrainingDefaults | None = None
    message: Message | None = None

    def refused(self, error: AppError | ValidationError, systems: Sequence[str] = ()) -> Draft:
        message = error.message if isinstance(error, AppError) else Message("some fields are invalid")
        return replace(self, form=refused(self.form.values, error, systems), message=message)


def filled_draft(workspace: Workspace, values: Mapping[str, Sequence[str]]) -> Draft:
    fields, filled = fill(workspace, values)
    return Draft(Form(fields), filled)
