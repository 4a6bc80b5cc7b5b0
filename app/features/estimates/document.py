"""A complete estimate: with its request, resolved values, links and summary."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pydantic import JsonValue

from app.estimating.documents import Estimate, Links, WorkloadSummary
from app.estimating.request import EstimateRequest
from app.platform.wording.voice import Voice

ASSUMPTIONS, WORKLOAD = "assumptions.", "workload."

DERIVED_FIELDS = {"created_at", "links", "summary", "request", "workload", "assumptions"}
"""Fields that are derived and not stored with the answer."""

SUMMARISED = 2
"""Most warnings in a summary."""


def with_request(estimate: Estimate, request: EstimateRequest, created_at: datetime) -> Estimate:
    """Return an estimate with its request and the resolved workload and assumptions."""
    return estimate.model_copy(
        update={
            "created_at": created_at,
            "request": request.model_dump(mode="json", exclude_unset=True),
            "workload": resolved_workload(estimate, request),
            "assumptions": used(estimate, ASSUMPTIONS)
            | request.assumptions.model_dump(mode="json", exclude_none=True),
        }
    )


def used(estimate: Estimate, part: str) -> dict[str, JsonValue]:
    """Return the defaults of a part of the request, by the field's name."""
    return {
        default.field.removeprefix(part): default.value
        for default in estimate.defaults
        if default.field.startswith(part)
    }


def resolved_workload(estimate: Estimate, request: EstimateRequest) -> WorkloadSummary:
    stated = {
        **used(estimate, WORKLOAD),
        **request.workload.model_dump(mode="json", exclude_none=True),
        "precision": estimate.precision_used,
        "samples": estimate.samples,
        "seq_len": estimate.model.seq_len,
        "image_size": estimate.model.image_size,
        "global_batch": estimate.plan and estimate.plan.global_batch,
    }
    rows = stated.get("mean_tokens") or estimate.model.seq_len
    tokens = estimate.samples * rows if estimate.samples and isinstance(rows, int | float) else None
    resolved = {"tokens": tokens, **stated}
    return WorkloadSummary.model_validate({name: resolved.get(name) for name in WorkloadSummary.model_fields})


def with_links(estimate: Estimate, voice: Voice, located: Callable[[str], str]) -> Estimate:
    """Return an estimate with its addresses and its summary in a reader's language."""
    links = Links(
        self=located(f"/api/v1/estimates/{estimate.id}"), page=located(f"/estimates/{estimate.id}"), pdf=None
    )
    return estimate.model_copy(update={"links": links, "summary": summary_of(estimate, voice)})


def summary_of(estimate: Estimate, voice: Voice) -> list[str]:
    """Return a summary in a few lines: time, cost, energy, validation and serious warnings."""
    lines = [estimate.name]
    figures = {
        voice.gettext("Training time"): estimate.time_to_train,
        voice.gettext("Cost per run"): estimate.cost.run if estimate.cost else None,
        voice.gettext("Energy"): estimate.energy,
    }
    lines += [
        f"{name}{voice.sign(': ')}{voice.quantity(quantity)}"
        for name, quantity in figures.items()
        if quantity is not None
    ]
    lines.append(voice.sentence(estimate.validation.basis_text or voice.label(estimate.validation.status)))
    warnings = [warning for warning in estimate.warnings if warning.severity == "serious"]
    return lines + [voice.sentence(warning.text) for warning in warnings[:SUMMARISED]]
