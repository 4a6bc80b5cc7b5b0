"""The training of a model filled into a form: visibly, and in the same way on every form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from app.errors import AppError, Message
from app.estimating.request import WorkloadInput
from app.estimating.schema import SourceRef
from app.features.workloads.suggestions import targets_for, training_of
from app.platform.catalogue import source_ref
from app.platform.web.contexts import Choice, Form
from app.platform.web.forms import plain_number, refused
from app.platform.web.query_forms import FormFields
from app.platform.workbench import Workbench
from app.profiles.model import LONGEST_TAKEN, ModelProfile
from app.profiles.presets import presets


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What a form holds of the training of its model."""

    model: str
    """Name of the model."""
    why: Message | None
    """The amount in words and where it comes from; None where nothing is known of it."""
    assumed: bool
    """Whether nobody published it."""
    global_batch: int | None
    """Batch of that training, which is left to the search. [samples]"""
    source: SourceRef | None
    """Source of the figure."""
    fields: frozenset[str]
    """Names of the fields that hold what was filled in."""
    sequences: bool
    """Whether the model reads sequences of a stated length."""
    images: bool
    """Whether it reads images of a stated size."""
    limit: int | None
    """Positions that its configuration allows, where less is filled in. [tokens]"""


PREFIX = "workload."

WORKLOAD = FormFields(WorkloadInput, PREFIX)

AMOUNT = ("target", "tokens", "samples", "epochs", "dataset_samples")
"""Fields that say how much is trained."""

WAYS = (("target",), ("tokens",), ("samples",), ("epochs", "dataset_samples"))
"""Fields of each way to say it."""

FOR = "filled"
"""Field of a form that names the model whose training it holds."""

LENGTH = "length"
"""Field of the button that takes the longest sample a configuration allows."""

Values = Mapping[str, Sequence[str]]


def fill(bench: Workbench, workspace: str, values: Values) -> tuple[dict[str, Sequence[str]], Filled | None]:
    """Return a form with the training of its model in the fields that nobody typed into.

    What was filled in for another model gives way; what was cleared stays empty.
    """
    found = dict(values)
    chosen, before = chosen_model(values), next(iter(values.get(FOR, ())), "")
    profile = known_profile(bench, workspace, chosen)
    if profile is None:
        return found, None
    if before and before != chosen:
        for name, text in _written(bench, known_profile(bench, workspace, before)).items():
            if _same(found.get(name, ()), text):
                del found[name]
    written = _written(bench, profile)
    amount = tuple(f"{PREFIX}{name}" for name in AMOUNT)
    if before != chosen:
        stated = any(found.get(name) for name in amount)
        for name, text in written.items():
            if not found.get(name) and not (stated and name in amount):
                found[name] = [text]
    _give_way(found, written)
    for length in found.pop(LENGTH, ())[:1]:
        found[f"{PREFIX}seq_len"] = [length]
    found[FOR] = [chosen]
    training = training_of(bench, profile)
    limit = profile.default_seq_len if profile.limited else None
    length = plain_number(next(iter(found.get(f"{PREFIX}seq_len", ())), ""))
    return found, Filled(
        model=profile.name,
        why=training.why,
        assumed=training.assumed,
        global_batch=training.global_batch,
        source=None if training.source is None else source_ref(training.source),
        fields=frozenset(name for name, text in written.items() if _same(found.get(name, ()), text)),
        sequences=profile.default_seq_len is not None,
        images=profile.default_image_size is not None,
        limit=limit if length == str(LONGEST_TAKEN) else None,
    )


def _give_way(found: dict[str, Sequence[str]], written: Mapping[str, str]) -> None:
    """Take out the amount that was filled in where another way to say it was typed."""

    def filled(name: str) -> bool:
        return name in written and _same(found.get(name, ()), written[name])

    ways = [[f"{PREFIX}{name}" for name in way] for way in WAYS]
    typed = [way for way in ways if any(any(found.get(name, ())) and not filled(name) for name in way)]
    for way in ways if typed else []:
        for name in way:
            if way not in typed and filled(name):
                del found[name]


def targets(bench: Workbench, workspace: str, values: Values) -> list[Choice]:
    """Return the targets to choose from: those of the model, and the one that was chosen whosever it is."""
    profile, catalog = known_profile(bench, workspace, chosen_model(values)), bench.sizing.catalog
    own = targets_for(bench, profile)
    chosen = [name for name in values.get(f"{PREFIX}target", ()) if name in catalog.items]
    return [Choice(name, catalog.items[name].name) for name in dict.fromkeys([*own, *chosen])]


def chosen_model(values: Values) -> str:
    """Return the identifier of a preset or of an upload."""
    names = ("model.profile_id", "model.preset")
    return next((values[name][0] for name in names if values.get(name)), "")


def known_profile(bench: Workbench, workspace: str, identifier: str) -> ModelProfile | None:
    if not identifier or identifier in presets():
        return presets().get(identifier)
    try:
        return bench.profile(workspace, identifier)
    except AppError:
        return None


def _written(bench: Workbench, profile: ModelProfile | None) -> dict[str, str]:
    """Return the training of a model as the fields of a form show it."""
    if profile is None:
        return {}
    workload = training_of(bench, profile).workload
    return {
        f"{PREFIX}{name}": value if isinstance(value, str) else f"{value:,}"
        for name, value in workload.items()
    }


def _same(typed: Sequence[str], text: str) -> bool:
    return bool(typed) and plain_number(typed[0]) == plain_number(text)


@dataclass(frozen=True)
class Draft:
    """A form, what of it was filled in, and why it was refused."""

    form: Form
    filled: Filled | None = None
    message: Message | None = None

    def refused(self, error: AppError | ValidationError, systems: Sequence[str] = ()) -> Draft:
        """Return the draft with what is wrong, for the form to show."""
        message = error.message if isinstance(error, AppError) else Message("some fields are invalid")
        return replace(self, form=refused(self.form.values, error, systems), message=message)


def filled_draft(bench: Workbench, workspace: str, values: Mapping[str, Sequence[str]]) -> Draft:
    """Return what was typed with the training of the model in the fields that were left alone."""
    found, filled = fill(bench, workspace, values)
    return Draft(Form(found), filled)
