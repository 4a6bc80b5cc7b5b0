"""Batch, devices and plan as they are chosen: never slower for more machines, nor than another batch."""

import math

import pytest

from app.estimating.effects import UNNAMED
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from tests.conftest import codes, sizing_context
from tests.estimating.choices import RISES, asked, lead_of_others, over_counts, seconds_of

HOUR = 3600.0


@pytest.mark.parametrize(
    ("model", "system"),
    [("llama2-70b", "dgx-a100-640gb"), ("vit-large", "a100-pcie-80gb"), ("gpt2-1.5b", "bow-pod16")],
)
def test_more_machines_are_never_slower(model: str, system: str) -> None:
    row = over_counts(model, system, sizing_context(), (8, 20, 47, 64, 128, 140, 180, 256, 300))
    assert row.worst_rise <= RISES, row


@pytest.mark.parametrize(
    ("model", "system", "count"),
    [("gpt3-175b", "dgx-a100-320gb", 20), ("bert-large", "bow-pod16", 2), ("resnet50", "dgx-a100-640gb", 3)],
)
def test_no_other_batch_is_faster(model: str, system: str, count: int) -> None:
    lead = lead_of_others(model, system, count, sizing_context(), number=8)
    assert lead is not None
    assert lead[0] <= 0.01, lead


@pytest.mark.parametrize(("count", "most"), [(128, 1500), (140, 1444), (256, 740), (300, 700)])
def test_llama2_70b_on_many_dgx(count: int, most: float) -> None:
    """2,100 and 1,800 hours on 140 and 300 machines once, with 35 and 75 stages; [h]."""
    found = estimate(asked("llama2-70b", "dgx-a100-640gb", count), sizing_context())
    assert found.expectation is not None
    unnamed = math.prod(effect.factor for effect in found.effects if effect.name == UNNAMED)
    assert found.expectation.tuned.value / unnamed <= most * HOUR
    assert found.plan.pipeline <= 16
    assert found.plan.tensor <= 8 and not found.plan.offload


def test_a_batch_whose_activations_overflow_takes_rounds_and_no_longer_by_sample() -> None:
    times = [
        seconds_of(
            estimate(asked("llama2-70b", "bow-pod256", 1, tokens=1e11, global_batch=batch), sizing_context())
        )
        for batch in (512, 1024, 4096)
    ]
    assert times[0] is not None and times[0] < 2200 * HOUR
    assert times == sorted(times, reverse=True)


def test_a_run_of_few_tokens_is_no_handful_of_steps() -> None:
    found = estimate(asked("llama-7b", "dgx-a100-640gb", 8, tokens=1e8), sizing_context())
    assert found.steps is not None and found.steps > 150
    assert "batch_beyond_critical" not in codes(found)
    large = estimate(asked("llama-7b", "dgx-a100-640gb", 8, tokens=1e8, global_batch=2048), sizing_context())
    assert "batch_beyond_critical" in codes(large)


def test_machines_that_a_batch_cannot_use_are_named() -> None:
    found = estimate(asked("bert-large", "dgx-a100-640gb", 300, global_batch=1024), sizing_context())
    assert found.plan.global_batch == 1024
    assert found.plan.idle_machines == 300 - -(
        -found.plan.tensor * found.plan.pipeline * found.plan.data // 8
    )
    assert codes(found) & {"devices_unused", "batch_not_divisible"}


def test_a_bolder_plan_is_told_and_not_taken() -> None:
    found = estimate(asked("gpt3-175b", "dgx-a100-640gb", 16), sizing_context())
    assert found.plan.interleave <= 3 and not found.plan.offload
    (said,) = (warning for warning in found.warnings if warning.code == "bolder_plan")
    assert said.severity == "info" and not said.text.values.get("count")


@pytest.mark.parametrize(
    ("model", "system", "counts"),
    [
        ("bert-large", "gb200-nvl72", (32, 48, 64, 97, 128)),
        ("resnet50", "dgx-h100", (64, 96, 128)),
        ("llama2-70b", "dgx-h100", (96, 97, 128)),
        ("llama-7b", "h100-pcie-80gb-8", (128, 140)),
        ("gpt2-1.5b", "dgx-superpod-a100", (40, 47)),
        ("vit-large", "gb200-nvl72", (23, 40, 47, 140)),
        ("vit-large", "gb200-nvl72", (16, 64, 256)),
        ("resnet50", "gb300-nvl72", (97, 256)),
        ("bert-large", "gb200-nvl72", (97, 128)),
    ],
)
def test_larger_clusters_keep_the_plan_of_smaller_ones(
    model: str, system: str, counts: tuple[int, ...]
) -> None:
    row = over_counts(model, system, sizing_context(), counts)
    assert row.worst_rise <= 1e-9, row


def test_a_run_is_charged_for_the_machines_that_work_and_a_purchase_for_all() -> None:
    few, many = (estimate(asked("bert-large", "gb200-nvl72", count), sizing_context()) for count in (32, 128))
    assert few.cost is not None and many.cost is not None
    assert many.plan.idle_machines > 0
    charged = 128 - many.plan.idle_machines // 18
    assert many.cost.hourly.value == pytest.approx(charged / 32 * few.cost.hourly.value, rel=0.1)
    assert few.cost.capex is not None and many.cost.capex is not None
    assert many.cost.capex.value == pytest.approx(4.0 * few.cost.capex.value, rel=0.1)
    (said,) = (warning for warning in many.warnings if warning.code == "idle_not_charged")
    assert said.text is not None
    assert (said.text.values["charged"], said.text.values["count"]) == (charged, 128)


@pytest.mark.parametrize("system", ["dgx-a100-640gb", "aws-p4de"])
def test_a_batch_of_one_on_a_thousand_machines_costs_what_it_occupies(system: str) -> None:
    one = {"tokens": 1e9, "global_batch": 1}
    many = estimate(asked("gpt3-175b", system, 1000, **one), sizing_context())
    used = 1000 - many.plan.idle_machines
    few = estimate(asked("gpt3-175b", system, used, **one), sizing_context())
    assert used < 100 and many.cost is not None and few.cost is not None
    assert many.time_to_train == few.time_to_train
    assert many.cost.run.value == pytest.approx(few.cost.run.value, rel=0.15)
    assert {"batch_not_divisible", "idle_not_charged"} <= codes(many)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"workload": {"tokens": 1e9, "global_batch": 1}}, "workload.global_batch"),
        ({"plan": {"tensor": 4, "pipeline": 3}, "system": {"id": "dgx-h100", "count": 2}}, "plan"),
    ],
)
def test_machines_that_the_request_leaves_idle_are_not_said_to_be_of_no_use(
    changes: dict[str, object], field: str
) -> None:
    body = {
        "model": {"preset": "llama-7b"},
        "workload": {"tokens": 1e12},
        "system": {"id": "dgx-h100", "count": 1000},
        **changes,
    }
    found = estimate(EstimateRequest.model_validate(body), sizing_context())
    assert found.cost is not None
    unused = {"devices_unused", "batch_not_divisible"}
    (said,) = (warning for warning in found.warnings if warning.code in unused)
    assert field in said.fields and "faster" not in said.message
    assert ("idle_not_charged" in codes(found)) == ("workload" in changes)


def test_degrees_that_fewer_machines_cannot_hold_are_taken_as_asked() -> None:
    request = EstimateRequest.model_validate(
        {
            "model": {"preset": "megatron-1.7b"},
            "workload": {"tokens": 1e10, "global_batch": 512},
            "system": {"id": "dgx-a100-640gb", "count": 4},
            "plan": {"tensor": 8, "pipeline": 4, "micro_batch": 1, "recompute": "full"},
        }
    )
    found = estimate(request, sizing_context())
    assert (found.plan.tensor, found.plan.pipeline, found.plan.data) == (8, 4, 1)
