"""What is asked for wrongly is refused by the field, with the status the contract gives it."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.errors import AppError, BadInput, Conflict, NotFound, Unprocessable
from tests.conftest import answer, asked

NOTHING_TO_DO = {"samples": None}
FLOP = {"total_flop": 1e20}


@pytest.mark.parametrize(
    ("parts", "error", "field"),
    [
        ({"model": {}}, Unprocessable, "model"),
        ({"model": {"preset": "bert-base", "total_flop": 1e9}}, Unprocessable, "model"),
        ({"model": {"preset": "bert-huge"}}, NotFound, "model.preset"),
        ({"model": {"profile_id": "missing"}}, NotFound, "model.profile_id"),
        ({"model": {"total_flop": 0}}, BadInput, "model.total_flop"),
        ({"model": {"layers": []}}, BadInput, "model.layers"),
        ({"workload": NOTHING_TO_DO}, Unprocessable, "workload"),
        ({"workload": {"samples": 0}}, BadInput, "workload.samples"),
        ({"workload": {"samples": -1}}, BadInput, "workload.samples"),
        ({"workload": {"samples": 1e31}}, BadInput, "workload.samples"),
        ({"workload": {"tokens": 1e9}}, BadInput, "workload.tokens"),
        ({"workload": {"epochs": 3} | NOTHING_TO_DO}, BadInput, "workload.dataset_samples"),
        ({"workload": {"target": "mlperf-berd"} | NOTHING_TO_DO}, NotFound, "workload.target"),
        ({"workload": {"workload_id": "missing"}}, NotFound, "workload.workload_id"),
        ({"workload": {"global_batch": 0}}, BadInput, "workload.global_batch"),
        ({"workload": {"global_batch": 10**8}}, BadInput, "workload.global_batch"),
        ({"workload": {"seq_len": 0}}, BadInput, "workload.seq_len"),
        ({"workload": {"seq_len": 10**7}}, BadInput, "workload.seq_len"),
        ({"workload": {"mean_tokens": 129}}, BadInput, "workload.mean_tokens"),
        ({"workload": {"evaluation_interval": 1e5}}, BadInput, "workload.evaluated_samples"),
        ({"workload": {"evaluated_samples": 1e4}}, BadInput, "workload.evaluation_interval"),
        ({"workload": {"evaluation_interval": 0, "evaluated_samples": 1e4}}, BadInput,
         "workload.evaluation_interval"),
        ({"model": {"preset": "bert-large"}, "workload": NOTHING_TO_DO | {"target": "mlperf-bert",
          "seq_len": 512, "evaluation_interval": 1e5, "evaluated_samples": 1e4}}, BadInput,
         "workload.evaluation_interval"),
        ({"model": {"preset": "resnet50"}, "workload": {"image_size": 10**5, "seq_len": None}}, BadInput,
         "workload.image_size"),
        ({"model": {"preset": "resnet50"}, "workload": NOTHING_TO_DO | {"tokens": 1e9, "seq_len": None}},
         BadInput, "workload.tokens"),
        ({"system": {"id": "dgx-a200"}}, NotFound, "system.id"),
        ({"system": {"count": 0}}, BadInput, "system.count"),
        ({"system": {"count": 10**6}}, BadInput, "system.count"),
        ({"system": {"fabric": "token ring"}}, NotFound, "system.fabric"),
        ({"system": {"fabric": "ipu-fabric"}}, Conflict, "system.fabric"),
        ({"system": {"id": "bow-pod16", "fabric": "hdr-infiniband"}}, Conflict, "system.fabric"),
        ({"system": {"ports_per_node": 0}}, BadInput, "system.ports_per_node"),
        ({"system": {"ports_per_node": 64}}, BadInput, "system.ports_per_node"),
        ({"system": {"id": "bow-pod16", "streaming_memory_gb": 0}}, BadInput, "system.streaming_memory_gb"),
        ({"plan": {"tensor": 3}, "system": {"count": 3}}, BadInput, "plan.tensor"),
        ({"plan": {"pipeline": 32}, "system": {"count": 4}}, BadInput, "plan.pipeline"),
        ({"plan": {"tensor": 2}, "model": {"preset": "resnet50"}, "workload": {"seq_len": None}}, BadInput,
         "plan.tensor"),
        ({"plan": {"phases": 2}}, BadInput, "plan.phases"),
        ({"plan": {"rts": 2}}, BadInput, "plan.rts"),
        ({"plan": {"sharding": "optimizer"}, "system": {"id": "bow-pod16"}}, BadInput, "plan.sharding"),
        ({"plan": {"interleave": 2}, "system": {"id": "bow-pod16"}}, BadInput, "plan.interleave"),
        ({"plan": {"sequence_parallel": True}, "system": {"id": "bow-pod16"}}, BadInput,
         "plan.sequence_parallel"),
        ({"plan": {"data": 8, "micro_batch": 1, "accumulation": 1}}, BadInput, "plan.micro_batch"),
        ({"plan": {"micro_batch": 3}}, BadInput, "plan.micro_batch"),
        ({"software": "megatron"}, NotFound, "software"),
        ({"software": "poplar-2.5-popart"}, BadInput, "software"),
        ({"software": "gpu-fused", "system": {"id": "bow-pod16"}}, BadInput, "software"),
        ({"assumptions": {"memory_margin": 1.0}}, BadInput, "assumptions.memory_margin"),
        ({"assumptions": {"pue": 0.9}}, BadInput, "assumptions.pue"),
        ({"assumptions": {"utilisation": 1.1}}, BadInput, "assumptions.utilisation"),
        ({"assumptions": {"amortisation_years": 0}}, BadInput, "assumptions.amortisation_years"),
        ({"assumptions": {"electricity_per_kwh": -1}}, BadInput, "assumptions.electricity_per_kwh"),
        ({"assumptions": {"system_price": -1}}, BadInput, "assumptions.system_price"),
        ({"assumptions": {"hourly_price": -1}}, BadInput, "assumptions.hourly_price"),
        ({"assumptions": {"checkpoint_minutes": 0}}, BadInput, "assumptions.checkpoint_minutes"),
        ({"assumptions": {"restart_minutes": -1}}, BadInput, "assumptions.restart_minutes"),
        ({"assumptions": {"failures_per_1000_node_days": -1}}, BadInput,
         "assumptions.failures_per_1000_node_days"),
        ({"assumptions": {"input_samples_per_second": 0}}, BadInput, "assumptions.input_samples_per_second"),
        ({"model": FLOP, "assumptions": {"utilization": 1.5}}, BadInput, "assumptions.utilization"),
        ({"model": FLOP, "assumptions": {"peak_flops": -1}}, BadInput, "assumptions.peak_flops"),
        ({"model": FLOP, "assumptions": {"peak": "fp99"}}, Unprocessable, "assumptions.peak"),
    ],
)  # fmt: skip
def test_a_wrong_value_names_its_field(parts: dict[str, Any], error: type[AppError], field: str) -> None:
    with pytest.raises(error) as caught:
        answer(**parts)
    assert type(caught.value) is error
    assert field in [one.field for one in caught.value.errors]
    assert caught.value.status == {BadInput: 400, Unprocessable: 422, NotFound: 404, Conflict: 409}[error]


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        ({"workload": {"sampels": 1}}, ("workload", "sampels")),
        ({"workload": {"samples": "many"}}, ("workload", "samples")),
        ({"workload": {"samples": float("nan")}}, ("workload", "samples")),
        ({"workload": {"precision": "int8"}}, ("workload", "precision")),
        ({"system": {"count": 1.5}}, ("system", "count")),
        ({"plan": {"recompute": "some"}}, ("plan", "recompute")),
        ({"plan": {"tensor": 0}}, ("plan", "tensor")),
        ({"plan": {"micro_batch": 10**7}}, ("plan", "micro_batch")),
        ({"label": "x" * 201}, ("label",)),
    ],
)
def test_unknown_fields_and_wrong_types_never_reach_the_engine(
    parts: dict[str, Any], place: tuple[str, ...]
) -> None:
    with pytest.raises(ValidationError) as caught:
        asked(**parts)
    assert place in [error["loc"] for error in caught.value.errors()]


@pytest.mark.parametrize(
    ("system", "plan", "needed", "available"),
    [
        ({"id": "ipu-pod256"}, {"tensor": 8, "pipeline": 8, "data": 5}, "320", "256"),
        ({"id": "ipu-pod16"}, {"tensor": 4, "pipeline": 8}, "32", "16"),
        ({}, {"tensor": 8, "pipeline": 2}, "16", "8"),
        ({"count": 20}, {"data": 161}, "161", "160"),
        ({"id": "bow-2000", "count": 3}, {"pipeline": 16}, "16", "12"),
    ],
)
def test_a_plan_for_more_devices_than_there_are_names_both_numbers(
    system: dict[str, Any], plan: dict[str, int], needed: str, available: str
) -> None:
    with pytest.raises(Conflict) as caught:
        answer(system=system, plan=plan)
    assert f"needs {needed} devices" in str(caught.value)
    assert f"has {available}" in str(caught.value)
    assert caught.value.errors[0].field.removeprefix("plan.") in plan


@pytest.mark.parametrize("name", ["tensor", "pipeline", "data"])
@pytest.mark.parametrize("value", [3, 6, 12])
def test_degrees_on_ipus_are_powers_of_two(name: str, value: int) -> None:
    with pytest.raises(BadInput, match="power of two") as caught:
        answer(system={"id": "ipu-pod16"}, plan={name: value})
    assert caught.value.errors[0].field == f"plan.{name}"


def test_an_unknown_identifier_is_answered_with_the_nearest() -> None:
    with pytest.raises(NotFound, match="dgx-a100-640gb"):
        answer(system={"id": "dgx-a100-64gb"})


def test_a_peak_that_a_chip_lacks_is_refused_with_those_it_has() -> None:
    with pytest.raises(Unprocessable, match=r"MI300X.*fp16_sparse.*fp8_dense"):
        answer(model=FLOP, system={"id": "mi300x-8"}, assumptions={"peak": "fp16_sparse"})


def test_all_contradictions_of_a_plan_are_named_at_once() -> None:
    plan = {"tensor": 7, "pipeline": 99, "rts": 2, "recompute": "none", "recompute_layers": 3}
    with pytest.raises(BadInput) as caught:
        answer(system={"id": "dgx-a100-640gb"}, plan=plan)
    found = {fault.field: str(fault.message) for fault in caught.value.errors}
    assert set(found) == {f"plan.{name}" for name in plan} - {"plan.recompute"}
    # That seven times 99 is more than there are devices is no fault beside one of seven itself.
    assert "24 layers" in found["plan.pipeline"] and "does not divide" in found["plan.tensor"]
