"""Estimates as the tests of decisions ask for them."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from app.estimating.context import SizingContext, load_context
from app.estimating.documents import CheckWarning, Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest, PlanInput

DATA = Path(__file__).parents[2] / "data"

BERT: Mapping[str, Any] = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e7, "global_batch": 1024, "seq_len": 128},
    "system": {"id": "dgx-a100-640gb"},
}
"""A request that is answered without a warning."""


@cache
def sizing_context() -> SizingContext:
    return load_context(DATA)


def asked(**parts: Any) -> EstimateRequest:
    """Return the request of :data:`BERT` with some parts changed, field by field."""
    request = {name: dict(value) for name, value in BERT.items()}
    for name, value in parts.items():
        before = request.get(name)
        request[name] = before | value if isinstance(before, dict) and name != "model" else value
    return EstimateRequest.model_validate(request)


def answer(**parts: Any) -> Estimate:
    return estimate(asked(**parts), sizing_context())


def codes(found: Estimate) -> set[str]:
    return {warning.code for warning in found.warnings}


def warning(found: Estimate, code: str) -> CheckWarning:
    (one,) = (entry for entry in found.warnings if entry.code == code)
    return one


def seconds(found: Estimate) -> float:
    assert found.time_to_train is not None
    return found.time_to_train.value


def plan_given_back(found: Estimate) -> dict[str, Any]:
    """Return the plan of an answer as a request states it."""
    assert found.plan is not None
    return {name: getattr(found.plan, name) for name in PlanInput.model_fields}
