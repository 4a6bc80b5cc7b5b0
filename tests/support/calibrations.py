from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.catalog.software import SoftwareProfile
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.features.calibration.fitting import CalibrationResult, calibrate
from app.features.calibration.model import CalibrationRequest
from tests.conftest import asked, sizing_context

TARGET: dict[str, Any] = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e8, "global_batch": 4096, "seq_len": 128},
    "system": {"id": "dgx-a100-640gb", "count": 8},
}


NODES = ((1, 512), (1, 1024), (2, 1024))
"""Machines and global batch of the runs that are measured here."""


def small(count: int, batch: int, software: str | None = None) -> EstimateRequest:
    changed = asked(workload={"samples": 1e8, "global_batch": batch, "seq_len": 128}, system={"count": count})
    return changed.model_copy(update={"software": software})


def step_seconds(request: EstimateRequest, profile: SoftwareProfile | None = None) -> float:
    """Return the step time that a profile of ours predicts."""
    context = sizing_context()
    if profile is not None:
        context = replace(context, find_calibration=lambda name: profile if name == profile.id else None)
        request = request.model_copy(update={"software": profile.id})
    found = estimate(request, context).step_time
    assert found is not None
    return found.value


NAME = "cal_test"


def calibrated(runs: list[dict[str, Any]], **changes: Any) -> CalibrationResult:
    request = CalibrationRequest.model_validate({"estimate": {**TARGET, **changes}, "runs": runs})
    return calibrate(request, sizing_context(), NAME)


def runs_of(factors: tuple[float, ...], software: str | None = None) -> list[dict[str, Any]]:
    """Return runs that took so many times as long as predicted with a profile."""
    return [
        {
            "step_time_s": step_seconds(small(count, batch, software or "gpu-flash")) * factor,
            "system": {"count": count},
            "workload": {"global_batch": batch},
        }
        for (count, batch), factor in zip(NODES, factors, strict=False)
    ]


def after(found: CalibrationResult, **changes: Any) -> Estimate:
    """Return an estimate with the fitted profile."""
    context = replace(sizing_context(), find_calibration=lambda name: found.profile if name == NAME else None)
    return estimate(EstimateRequest.model_validate({**TARGET, **changes, "software": NAME}), context)
