"""Runs of many plans in one call are those of each plan alone."""

from typing import Any

import numpy as np
import pytest

from app.engine.plans import Plans
from app.estimating.deciding import decide
from app.estimating.hardware import reliability
from app.estimating.ranges import common_normals
from app.estimating.runtime import runs_of
from app.estimating.workload import resolve_model
from tests.conftest import asked, sizing_context


@pytest.mark.parametrize("system", ["dgx-a100-640gb", "bow-pod16"])
@pytest.mark.parametrize(
    "workload",
    [
        {"samples": 1e7, "global_batch": 1024},
        {"target": "mlperf-bert", "samples": None, "seq_len": None, "global_batch": 448},
    ],
)
def test_many_runs_at_once_are_those_of_each_alone(system: str, workload: dict[str, Any]) -> None:
    context, normals = sizing_context(), common_normals()
    found = []
    for count in (1, 2, 4):
        request = asked(system={"id": system, "count": count}, workload=workload)
        hardware = context.hardware.system(system, count)
        found.append(decide(request, resolve_model(request.model, context), hardware, context))
    assumed = reliability(
        context.catalog.reliability_defaults(found[0].hardware.entry.machine.chip.kind),
        found[0].request.assumptions,
    )
    factors = np.exp(0.1 * np.stack([normals["price"], normals["power"], normals["run_length"]]))
    same: dict[str, Any] = {
        "assumed": assumed,
        "input_rate": 900.0,
        "normals": normals,
        "run_deviation": 0.05,
    }
    machines = np.array([float(one.hardware.machines) for one in found])
    together = runs_of(
        found[0].scenario,
        Plans.joined([one.choice.plans for one in found]),
        found[0].training,
        machines=machines,
        factors=factors,
        **same,
    )
    for place, one in enumerate(found):
        (alone,) = runs_of(
            one.scenario,
            one.choice.plans,
            one.training,
            machines=one.hardware.machines,
            factors=factors[place],
            **same,
        )
        run = together[place]
        assert run.steps == alone.steps
        for name in ("total", "evaluation", "checkpoint", "failures", "input_wait", "interval"):
            assert getattr(run.time, name) == pytest.approx(getattr(alone.time, name), rel=1e-12)
        assert run.total_samples == pytest.approx(alone.total_samples, rel=1e-12)
        assert run.training_samples == pytest.approx(alone.training_samples, rel=1e-12)
