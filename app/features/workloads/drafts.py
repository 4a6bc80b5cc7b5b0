"""What was typed into a form that asks for a model and its training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from app.errors import AppError, Message
from app.estimating.request import WorkloadInput
from app.features.workloads.filling import PREFIX, Filled, fill
from app.platform.web.contexts import Form
from app.platform.web.forms import refused
from app.platform.web.query_forms import FormFields
from app.platform.workbench import Workbench

WORKLOAD = FormFields(WorkloadInput, PREFIX)

WORKLOAD_OF_PRESET = FormFields(WorkloadInput, PREFIX, without=(f"{PREFIX}workload_id",))
"""Where no sample can be sent along."""


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
