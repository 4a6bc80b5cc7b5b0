"""Estimates: what must hold for any request."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.engine.records import GpuSystem
from app.errors import AppError
from app.estimating.context import SizingContext
from app.estimating.deciding import decide, risk_of
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.hardware import Hardware
from app.estimating.request import AssumptionsInput, EstimateRequest
from app.estimating.workload import resolve_model
from app.features.estimates.model import scaled_requests
from tests.conftest import answer, asked, plan_given_back, seconds, sizing_context
from tests.estimating.conftest import numbers, quantities

SYSTEMS = [entry.id for entry in sizing_context().catalog.systems()]

SEQUENCES = ("bert-base", "bert-large", "gpt2-1.5b", "llama-7b", "t5-large", "gpt3-175b", "mixtral-8x7b")

IMAGES = ("resnet50", "efficientnet-b4", "vit-base", "unet")

systems = st.fixed_dictionaries(
    {"id": st.sampled_from(SYSTEMS)}, optional={"count": st.sampled_from([1, 2, 3, 8, 32])}
)

amounts = st.one_of(
    st.fixed_dictionaries({"samples": st.floats(1.0, 1e9)}),
    st.fixed_dictionaries({"epochs": st.sampled_from([1.0, 90.0]), "dataset_samples": st.just(1281167.0)}),
)

details = st.fixed_dictionaries(
    {},
    optional={
        "global_batch": st.sampled_from([1, 8, 96, 512, 1536, 8192]),
        "precision": st.sampled_from(["bf16", "fp16", "tf32", "fp32", "fp16.16"]),
        "optimizer": st.sampled_from(["sgd", "momentum", "adam", "lamb", "adafactor"]),
        "seq_len": st.sampled_from([128, 512, 2048]),
    },
)

plans = st.fixed_dictionaries(
    {},
    optional={
        "tensor": st.sampled_from([1, 2, 4, 8]),
        "pipeline": st.sampled_from([1, 2, 4]),
        "micro_batch": st.sampled_from([1, 2, 8]),
        "recompute": st.sampled_from(["none", "full"]),
        "offload": st.booleans(),
    },
)

assumptions = st.fixed_dictionaries(
    {},
    optional={
        "input_samples_per_second": st.floats(0.1, 1e5),
        "failures_per_1000_node_days": st.sampled_from([0.0, 6.5, 1000.0]),
        "checkpoint_minutes": st.sampled_from([1.0, 60.0]),
        "acquisition": st.sampled_from(["own", "rent"]),
        "utilisation": st.sampled_from([0.3, 1.0]),
        "hourly_price": st.just(30.0),
    },
)

requests = st.builds(
    lambda model, system, amount, detail, plan, assumed, currency: EstimateRequest.model_validate(
        {
            "model": {"preset": model},
            "system": system,
            "workload": amount | detail,
            "plan": plan,
            "assumptions": assumed,
            "currency": currency,
        }
    ),
    st.sampled_from(SEQUENCES + IMAGES),
    systems,
    amounts,
    details,
    plans,
    assumptions,
    st.sampled_from(["USD", "KRW"]),
)


@settings(max_examples=70)
@given(request=requests)
def test_any_request_is_answered_or_refused_by_name(request: EstimateRequest) -> None:
    try:
        found = estimate(request, sizing_context())
    except AppError as refused:
        assert 400 <= refused.status < 500
        assert refused.errors
        return
    assert estimate(request, sizing_context()) == found
    document = found.model_dump()
    for path, quantity in quantities(document):
        assert quantity["low"] <= quantity["value"] <= quantity["high"], path
    for path, number in numbers(document):
        assert math.isfinite(number), path
    assert found.plan is not None
    assert found.plan.tensor * found.plan.pipeline * found.plan.data <= found.system.devices
    assert found.plan.data * found.plan.micro_batch * found.plan.accumulation == found.plan.global_batch
    assert sum(found.plan.stage_layers) >= found.plan.pipeline
    for name in request.plan.model_fields_set:
        assert getattr(found.plan, name) == getattr(request.plan, name)
    if found.fits:
        check_times(found)
    else:
        assert "does_not_fit" in {warning.code for warning in found.warnings}
        assert found.time_to_train is found.cost is found.breakdown is None


def check_times(found: Estimate) -> None:
    assert found.breakdown is not None
    assert found.time_to_train is not None
    assert found.steps is not None
    assert found.step_time is not None
    assert found.samples is not None
    assert found.plan is not None
    assert found.mfu is not None
    total = math.fsum(part.seconds for part in found.breakdown)
    assert total == pytest.approx(found.time_to_train.value, rel=1e-6)
    assert all(part.seconds >= 0 for part in found.breakdown)
    assert found.steps == math.ceil(found.samples / found.plan.global_batch - 1e-9)
    assert found.time_to_train.value >= found.steps * found.step_time.value * (1 - 1e-12)
    assert 0 < found.mfu.value < 1
    steps = {step.name: step.value for step in found.trace}
    assert steps["time_to_train"] == found.time_to_train.value


@settings(max_examples=40)
@given(request=requests)
def test_a_plan_that_is_found_gives_the_same_answer_when_it_is_given(request: EstimateRequest) -> None:
    try:
        found = estimate(request, sizing_context())
    except AppError:
        return
    if not found.fits or found.plan is None:
        return
    batch = request.workload.model_copy(update={"global_batch": found.plan.global_batch})
    plan = type(request.plan).model_validate(plan_given_back(found))
    again = estimate(request.model_copy(update={"plan": plan, "workload": batch}), sizing_context())
    assert again.time_to_train == found.time_to_train
    assert again.step_time == found.step_time
    assert again.memory == found.memory
    assert again.cost == found.cost
    assert again.plan is not None
    assert again.plan.searched == []
    assert again.plan.model_copy(update={"searched": found.plan.searched}) == found.plan


PORTS = (1, 2, 4, 8, 16)


@pytest.mark.parametrize("model", ["bert-large", "gpt2-1.5b", "llama-7b", "resnet50"])
@pytest.mark.parametrize("count", [2, 16])
@pytest.mark.parametrize("plan", [{}, {"sharding": "parameters"}, {"tensor": 1, "pipeline": 1}])
def test_more_ports_are_never_slower(model: str, count: int, plan: dict[str, Any]) -> None:
    if model == "resnet50":
        plan = {name: value for name, value in plan.items() if name == "sharding"}
    workload = {"seq_len": None if model == "resnet50" else 512, "global_batch": 1024}
    times = [
        seconds(
            answer(
                model={"preset": model},
                workload=workload,
                plan=plan,
                system={"count": count, "ports_per_node": ports},
            )
        )
        for ports in PORTS
    ]
    assert np.all(np.diff(times) <= 0), times


def faster(hardware: Hardware, factor: float) -> Hardware:
    """Return hardware whose memory, or whose exchange and streaming, is faster."""
    engine = hardware.engine
    if isinstance(engine, GpuSystem):
        chip = replace(engine.chip, memory_bandwidth=engine.chip.memory_bandwidth * factor)
        return replace(hardware, engine=replace(engine, chip=chip))
    return replace(
        hardware,
        engine=engine._replace(
            exchange_bytes_per_cycle=engine.exchange_bytes_per_cycle * factor,
            streaming_bandwidth=engine.streaming_bandwidth * factor,
            link_bandwidth=engine.link_bandwidth * factor,
            allreduce_bandwidth=engine.allreduce_bandwidth * factor,
            gateway_bandwidth=engine.gateway_bandwidth * factor,
        ),
    )


@pytest.mark.parametrize("system", ["dgx-a100-640gb", "bow-pod16", "ipu-pod256", "a100-pcie-80gb"])
@pytest.mark.parametrize("model", ["bert-large", "gpt2-1.5b", "resnet50"])
@pytest.mark.parametrize("searched", [True, False])
def test_faster_memory_is_never_slower(
    system: str, model: str, searched: bool, context: SizingContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = {"seq_len": None if model == "resnet50" else 512, "global_batch": 512}
    parts = {"model": {"preset": model}, "workload": workload, "system": {"id": system}}
    before = answer(**parts)
    if not searched:
        parts["plan"] = plan_given_back(before)
    finder = type(context.hardware)
    usual = finder.system
    times = [seconds(before)]
    for factor in (1.1, 2.0, 10.0):
        monkeypatch.setattr(finder, "system", lambda *a, f=factor, **k: faster(usual(*a, **k), f))
        times.append(seconds(answer(**parts)))
    assert np.all(np.diff(times) <= 0), times
    assert times[-1] < times[0]


@settings(max_examples=50)
@given(
    model=st.sampled_from(["bert-large", "gpt2-124m", "resnet50"]),
    system=st.sampled_from(["dgx-a100-640gb", "a100-pcie-80gb", "ipu-pod256", "bow-pod256", "aws-p4d"]),
    pipeline=st.sampled_from([1, 2, 4, 8]),
    data=st.sampled_from([1, 2, 4, 8]),
    rounds=st.sampled_from([8, 32]),
    sharding=st.sampled_from(["none", "optimizer", "parameters"]),
    micro_batch=st.sampled_from([1, 4]),
)
def test_device_time_never_falls_with_more_replicas(
    model: str, system: str, pipeline: int, data: int, rounds: int, sharding: str, micro_batch: int
) -> None:
    """The same plan at the same global batch, but for the data-parallel degree."""
    ipu = "pod" in system
    if model == "resnet50" and not ipu:
        pipeline = 1
    plan = {"tensor": 1, "pipeline": pipeline, "micro_batch": micro_batch, "recompute": "none"}
    plan |= {"offload": True, "phases": 1, "rts": 1, "rts_optimizer": 1} if ipu else {"sharding": sharding}
    batch = data * micro_batch * rounds
    times = []
    for ways in (1, 2, 4, 8):
        request = asked(
            model={"preset": model},
            system={"id": system, "count": 2 if ipu else 64},
            plan=plan | {"data": data * ways},
            workload={"global_batch": batch, "seq_len": None if model == "resnet50" else 128},
        )
        found = estimate(request, sizing_context())
        assume(found.step_time is not None)
        times.append((found.step_time.value if found.step_time else 0.0) * pipeline * data * ways)
    assert np.all(np.diff(times) >= -1e-9 * np.array(times[1:])), times


def test_the_search_finds_the_best_of_all_plans(context: SizingContext) -> None:
    """Each legal plan that fits is given back by hand; none is faster once its risk is weighed in."""
    request = asked(model={"preset": "gpt2-355m"}, workload={"global_batch": 32, "seq_len": 1024})
    best = ranked(request, context)
    tried = 0
    for tensor in (1, 2, 4, 8):
        for pipeline in (1, 2, 4, 8):
            for micro in (1, 2, 4):
                for recompute in ("none", "selective", "full"):
                    for sharding in ("none", "optimizer"):
                        plan = {
                            "tensor": tensor, "pipeline": pipeline, "micro_batch": micro,
                            "recompute": recompute, "sharding": sharding,
                        }  # fmt: skip
                        given_plan = type(request.plan).model_validate(plan)
                        try:
                            other = ranked(request.model_copy(update={"plan": given_plan}), context)
                        except AppError:
                            continue
                        tried += 1
                        assert other >= best * (1 - 1e-12)
    assert tried > 50


def ranked(request: EstimateRequest, context: SizingContext) -> float:
    """Return the time of a step of the plan that is chosen, with its risk; infinite where it does not fit."""
    hardware = context.hardware.system("dgx-a100-640gb", 1)
    profile = resolve_model(request.model, context)
    sizing = decide(request, profile, hardware, context)
    plans = sizing.choice.plans
    factor = risk_of(sizing.scenario, profile.family, context)(plans)
    return (
        float(sizing.scenario.step(plans).total[0] * np.ravel(factor)[0]) if sizing.choice.fits else math.inf
    )


def test_the_scaling_curve_is_the_estimate_at_each_count(context: SizingContext) -> None:
    request = asked()
    curve = [estimate(one, context) for one in scaled_requests(request, [1, 2, 8])]
    assert [found.system.count for found in curve] == [1, 2, 8]
    assert [seconds(found) for found in curve] == [seconds(answer(system={"count": n})) for n in (1, 2, 8)]
    speedup = [seconds(curve[0]) / seconds(found) for found in curve]
    assert 1 < speedup[1] <= 2
    assert speedup[1] < speedup[2] <= 8


def outcome(request: EstimateRequest, context: SizingContext) -> Any:
    try:
        return estimate(request, context).model_dump(mode="json")
    except AppError as error:
        return str(error)


@given(requests, assumptions)
@settings(max_examples=40)
def test_a_decision_from_memory_changes_no_answer(request: EstimateRequest, assumed: dict[str, Any]) -> None:
    kept: dict[Any, Any] = {}

    def remember(key: Any, make: Any) -> Any:
        if key not in kept:
            kept[key] = make()
        return kept[key]

    context = replace(sizing_context(), remember=remember)
    before = outcome(request, context)
    turned = request.model_copy(update={"assumptions": AssumptionsInput.model_validate(assumed)})
    assert outcome(turned, context) == outcome(turned, sizing_context())
    assert outcome(request, context) == before == outcome(request, sizing_context())
    assert sum(kind == "plan" for kind, *_ in kept) <= 1, "money and use are no part of the question"
