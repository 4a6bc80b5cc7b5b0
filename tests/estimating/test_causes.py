"""Calibrations of broken and of healthy systems: the cause is named, and nobody healthy is accused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.engine.records import GpuSystem
from app.estimating.causes import StatedRun, causes_of
from app.estimating.deciding import PlanDecision, decide
from app.estimating.request import EstimateRequest
from app.estimating.scenario import Scenario
from app.estimating.workload import resolve_model
from tests.conftest import sizing_context

LLAMA = {
    "model": {"preset": "llama2-7b"},
    "workload": {"tokens": 1e9, "seq_len": 4096},
    "software": "fsdp-compile",
    "plan": {
        "tensor": 1,
        "pipeline": 1,
        "micro_batch": 2,
        "recompute": "none",
        "sharding": "parameters",
    },
}
GPT = {
    "model": {"preset": "gpt2-1.5b"},
    "workload": {"tokens": 1e9, "seq_len": 1024},
    "software": "fsdp-flash",
    "plan": {"tensor": 1, "pipeline": 1, "micro_batch": 8, "recompute": "none", "sharding": "parameters"},
}
BERT = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e8, "seq_len": 512},
    "software": "ngc-pytorch",
    "plan": {"tensor": 1, "pipeline": 1, "micro_batch": 16},
}
MEGATRON = {
    "model": {"preset": "megatron-18.4b"},
    "workload": {"tokens": 1e9, "seq_len": 2048},
    "software": "megatron-core-2024",
    "plan": {"tensor": 8, "pipeline": 1, "micro_batch": 2, "recompute": "none"},
}

SMALL = {
    **MEGATRON,
    "model": {"preset": "megatron-1.7b"},
    "plan": {"tensor": 1, "pipeline": 1, "micro_batch": 2},
}


def decided(base: dict[str, Any], system: str, machines: int, batch: int) -> PlanDecision:
    context = sizing_context()
    request = EstimateRequest.model_validate(
        {
            **base,
            "workload": {**base["workload"], "global_batch": batch * machines},
            "system": {"id": system, "count": machines},
        }
    )
    hardware = context.hardware.system(system, machines)
    return decide(request, resolve_model(request.model, context), hardware, context)


def seconds(decision: PlanDecision) -> float:
    return float(np.ravel(decision.scenario.step(decision.choice.plans).total)[0])


def slow_network(share: float) -> Callable[[PlanDecision], float]:
    def time(decision: PlanDecision) -> float:
        system = decision.scenario.hardware
        assert isinstance(system, GpuSystem)
        fabric = replace(system.fabric, port_bandwidth=float(system.fabric.port_bandwidth) * share)
        scenario: Scenario = replace(decision.scenario, hardware=replace(system, fabric=fabric))
        return seconds(replace(decision, scenario=scenario))

    return time


def throttled(share: float) -> Callable[[PlanDecision], float]:
    def time(decision: PlanDecision) -> float:
        system = decision.scenario.hardware
        assert isinstance(system, GpuSystem)
        peaks = {name: peak * share for name, peak in system.chip.matrix_peak.items()}
        chip = replace(system.chip, matrix_peak=peaks)
        return seconds(
            replace(decision, scenario=replace(decision.scenario, hardware=replace(system, chip=chip)))
        )

    return time


def slow_input(rate: float) -> Callable[[PlanDecision], float]:
    return lambda decision: max(seconds(decision), decision.batch / decision.machines_used / rate)


def slow_node(factor: float) -> Callable[[PlanDecision], float]:
    return lambda decision: seconds(decision) * (factor if decision.machines_used > 2 else 1.0)


def other_plan(base: dict[str, Any], system: str, batch: int, **plan: Any) -> Callable[[PlanDecision], float]:
    def time(decision: PlanDecision) -> float:
        changed = {**base, "plan": {**base["plan"], **plan}}
        return seconds(decided(changed, system, decision.machines_used, batch))

    return time


def other_batch(base: dict[str, Any], system: str, batch: int) -> Callable[[PlanDecision], float]:
    return lambda decision: seconds(decided(base, system, decision.machines_used, batch))


BROKEN: tuple[tuple[str, dict[str, Any], str, int, Callable[[PlanDecision], float]], ...] = (
    ("network", LLAMA, "dgx-h100", 16, slow_network(0.08)),
    ("network", GPT, "dgx-a100-640gb", 128, slow_network(0.05)),
    ("network", BERT, "dgx-a100-640gb", 512, slow_network(0.03)),
    ("input", BERT, "dgx-a100-640gb", 512, slow_input(155.0)),
    ("input", GPT, "dgx-h100", 128, slow_input(90.0)),
    ("clocks", LLAMA, "dgx-h100", 16, throttled(0.6)),
    ("clocks", MEGATRON, "dgx-a100-640gb", 32, throttled(0.55)),
    ("layout", SMALL, "dgx-a100-640gb", 128, other_plan(SMALL, "dgx-a100-640gb", 128, tensor=8)),
    ("batch", LLAMA, "dgx-h100", 16, other_batch(LLAMA, "dgx-h100", 64)),
    ("slow_node", GPT, "dgx-a100-640gb", 128, slow_node(1.8)),
)
HEALTHY = tuple(
    (base, system, batch, factor)
    for base, system, batch in (
        (LLAMA, "dgx-h100", 16),
        (GPT, "dgx-a100-640gb", 128),
        (BERT, "dgx-a100-640gb", 512),
        (MEGATRON, "dgx-a100-640gb", 32),
        (GPT, "dgx-h100", 128),
    )
    for factor in (0.92, 1.2)
)
COUNTS = (1, 2, 4, 8)
SCATTER = (1.01, 0.985, 1.02, 0.99)
"""Of one run beside the next."""


def measured(
    base: dict[str, Any], system: str, batch: int, time: Callable[[PlanDecision], float]
) -> list[StatedRun]:
    decisions = [decided(base, system, count, batch) for count in COUNTS]
    return [
        StatedRun(decision, math.log(time(decision) * scatter), per_step=True)
        for decision, scatter in zip(decisions, SCATTER, strict=True)
    ]


def test_the_cause_of_a_broken_system_is_named_and_no_healthy_one_is_accused() -> None:
    context = sizing_context()
    found = [
        (cause, causes_of(measured(base, system, batch, time), context)[0].name)
        for cause, base, system, batch, time in BROKEN
    ]
    right = sum(cause == named for cause, named in found)
    assert right >= 8, found
    for base, system, batch, factor in HEALTHY:
        runs = measured(base, system, batch, lambda decision, factor=factor: seconds(decision) * factor)
        assert [cause.name for cause in causes_of(runs, context)] == ["software"]


def test_a_slow_network_needs_the_rate_that_it_has() -> None:
    runs = measured(LLAMA, "dgx-h100", 16, slow_network(0.08))
    first = causes_of(runs, sizing_context())[0]
    assert first.name == "network" and first.needs is not None and first.usual is not None
    assert first.needs / first.usual == pytest.approx(0.08, rel=0.25)
