"""What was typed into the first form: uploads kept, fields turned into the request of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from app.errors import AppError, BadInput, FieldError, Message, Unprocessable
from app.estimating.request import WorkloadInput
from app.features.comparisons.model import ComparisonRequest
from app.features.uploads.service import upload_profile, upload_workload
from app.features.workloads.filling import AMOUNT, PREFIX, Filled, fill
from app.platform.catalogue_model import System
from app.platform.web.contexts import Choice, Form
from app.platform.web.forms import nested, plain_number, refused, typed
from app.platform.web.query_forms import FormFields
from app.platform.workbench import Workbench

MODEL = ("model.preset", "model.profile_id")

WORKLOAD = FormFields(WorkloadInput, "workload.")

WORKLOAD_OF_PRESET = FormFields(WorkloadInput, "workload.", without=("workload.workload_id",))
"""Where no sample can be sent along."""


@dataclass(frozen=True)
class Draft:
    """A form with its uploads, and what is wrong so far."""

    form: Form
    profile: Choice | None = None
    """An uploaded model profile."""
    sample: Choice | None = None
    """An uploaded sample of the data."""
    message: Message | None = None
    wrong: tuple[FieldError, ...] = ()
    """What is wrong with the uploads."""
    offered: Mapping[str, System] = field(default_factory=dict)
    """Systems to choose from; the kind of chip decides what software they run."""
    filled: Filled | None = None
    """What the form holds of the training of its model."""
    unseen: bool = False
    """Whether an assumption was filled in that nobody has seen yet."""

    @property
    def systems(self) -> Sequence[str]:
        """Systems that were ticked, in the order of the form."""
        return self.form.values.get("system", ())

    def request(self, language: str) -> ComparisonRequest:
        """Return the comparison that was asked for."""
        missing = list(self.wrong)
        if not any(self.form.get(name) for name in MODEL) and not self.wrong:
            missing.append(FieldError("model", Message("choose a preset or upload a profile")))
        if not self.systems:
            missing.append(FieldError("system", Message("select at least one system")))
        if missing:
            raise BadInput(Message("the form is incomplete"), missing)
        if self.unseen:
            message = Message("no training setup is published for this model; check the filled-in values")
            raise Unprocessable(message, [FieldError("workload", message)])
        rows = [self.row(system) for system in self.systems]
        currency = self.form.get("currency", "USD")
        return ComparisonRequest.model_validate(
            {
                "title": self.filled.model if self.filled else None,
                "locale": language,
                "currency": currency,
                "rows": rows,
            }
        )

    def row(self, system: str) -> dict[str, Any]:
        """Return the estimate request of one system."""
        # A profile that was uploaded is meant, whatever the list of presets still shows.
        chosen = next(name for name in reversed(MODEL) if self.form.get(name))
        asked = nested({chosen: self.form.get(chosen), "system.id": system}) | WORKLOAD.body(self.form.values)
        count, fabric = self.form.get(f"count.{system}"), self.form.get(f"fabric.{system}")
        asked["system"] |= {"count": plain_number(count)} if count else {}
        asked["system"] |= {"fabric": fabric} if fabric else {}
        known = self.offered.get(system)
        software = self.form.get(f"software.{known.chip_kind if known else ''}")
        asked |= {"software": software} if software else {}
        name = known.name if known else system
        return asked | {"label": name if count in {"", "1"} else f"{count} × {name}"}

    def refused(self, error: AppError | ValidationError) -> Draft:
        """Return the draft with what is wrong, for the form to show."""
        message = error.message if isinstance(error, AppError) else Message("some fields are invalid")
        return replace(self, form=refused(self.form.values, error, self.systems), message=message)


def read_draft(bench: Workbench, workspace: str, form: FormData) -> Draft:
    """Return a form with its files kept; a file that is refused is an error beside its field."""
    values = typed(form)

    def keep_profile(name: str, content: bytes) -> Choice:
        profile = upload_profile(bench, workspace, name, content)
        return Choice(profile.id, profile.name)

    def keep_sample(name: str, content: bytes) -> Choice:
        return Choice(upload_workload(bench, workspace, name, content).id, name)

    profile, no_profile = _kept(form, values, "model_file", "model.profile_id", keep_profile)
    sample, no_sample = _kept(form, values, "workload_file", "workload.workload_id", keep_sample)
    draft = filled_draft(bench, workspace, values)
    stated = any(values.get(f"{PREFIX}{name}") for name in AMOUNT)
    assumed = draft.filled is not None and draft.filled.assumed and bool(draft.filled.fields)
    return replace(
        draft,
        profile=profile,
        sample=sample,
        wrong=(*no_profile, *no_sample),
        unseen=assumed and not stated and profile is not None,
    )


def filled_draft(bench: Workbench, workspace: str, values: Mapping[str, Sequence[str]]) -> Draft:
    """Return what was typed with the training of the model in the fields that were left alone."""
    found, filled = fill(bench, workspace, values)
    profile = next(iter(values.get("model.profile_id", ())), "")
    return Draft(
        Form(found),
        profile=Choice(profile, filled.model) if profile and filled else None,
        offered=bench.catalogue.systems.documents,
        filled=filled,
    )


def _kept(
    form: FormData,
    values: dict[str, list[str]],
    file_field: str,
    field_name: str,
    keep: Callable[[str, bytes], Choice],
) -> tuple[Choice | None, Sequence[FieldError]]:
    """Keep an upload and put its identifier among the values, as if it had been chosen."""
    file = form.get(file_field)
    if not isinstance(file, UploadFile) or not file.filename:
        earlier = next(iter(values.get(field_name, ())), "")
        return (Choice(earlier, earlier) if earlier else None), ()
    try:
        kept = keep(file.filename, file.file.read())
    except AppError as error:
        return None, [FieldError(file_field, error.message)]
    values[field_name] = [kept.id]
    return kept, ()
