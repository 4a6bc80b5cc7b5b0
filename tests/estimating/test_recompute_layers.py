"""Recomputing a part of the layers whole."""

from __future__ import annotations

from typing import Any

import pytest

from app.errors import BadInput
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest, PlanInput
from tests.conftest import sizing_context

LAYOUT = {"tensor": 4, "pipeline": 2, "data": 4, "micro_batch": 1, "interleave": 1, "sharding": "optimizer"}


def asked(more: dict[str, Any], system: str = "dgx-h100") -> Estimate:
    body = {
        "model": {"preset": "llama2-70b"},
        "workload": {"tokens": 1e11, "global_batch": 64},
        "system": {"id": system, "count": 4},
        "plan": {**LAYOUT, **more} if system == "dgx-h100" else more,
    }
    return estimate(EstimateRequest.model_validate(body), sizing_context())


def test_memory_falls_and_time_rises_with_each_layer_that_is_recomputed() -> None:
    found = [asked({"recompute": "full", "recompute_layers": count}) for count in (10, 40, 70)]
    memory = [one.memory.per_device.value for one in found if one.memory is not None]
    assert memory == sorted(memory, reverse=True) and memory[0] > memory[2]
    times = [one.step_time.value for one in found if one.step_time is not None]
    assert times == sorted(times) and (len(times) < 2 or times[0] < times[-1])
    assert [one.plan.recompute_layers for one in found if one.plan is not None] == [10, 40, 70]
    assert {one.plan.recompute for one in found if one.plan is not None} == {"full"}


def test_all_layers_are_full_recompute() -> None:
    whole, counted = asked({"recompute": "full"}), asked({"recompute_layers": 80})
    assert whole.step_time is not None and counted.step_time is not None
    assert counted.step_time.value == pytest.approx(whole.step_time.value)
    assert counted.plan is not None and counted.plan.recompute_layers is None


@pytest.mark.parametrize(
    ("more", "system"),
    [
        ({"recompute_layers": 81}, "dgx-h100"),
        ({"recompute_layers": 3, "recompute": "none"}, "dgx-h100"),
        ({"recompute_layers": 3}, "bow-pod16"),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, Any], system: str) -> None:
    with pytest.raises(BadInput) as caught:
        asked(more, system)
    assert [fault.field for fault in caught.value.errors] == ["plan.recompute_layers"]


@pytest.mark.parametrize(
    ("preset", "system", "count"), [("llama2-70b", "dgx-a100-320gb", 128), ("gpt3-175b", "dgx-h100", 128)]
)
def test_a_search_recomputes_no_more_layers_than_memory_asks_for(
    preset: str, system: str, count: int
) -> None:
    body: dict[str, Any] = {
        "model": {"preset": preset},
        "workload": {"tokens": 1e11},
        "system": {"id": system, "count": count},
    }

    def planned(plan: dict[str, Any]) -> Estimate:
        return estimate(EstimateRequest.model_validate({**body, "plan": plan}), sizing_context())

    found, whole = planned({}), planned({"recompute": "full"})
    assert found.plan is not None and found.step_time is not None and whole.step_time is not None
    assert found.plan.recompute == "full" and found.plan.recompute_layers is not None
    assert whole.plan is not None and whole.plan.recompute_layers is None
    assert "recompute_layers" in found.plan.searched and "recompute_layers" not in whole.plan.searched
    assert found.step_time.value < whole.step_time.value
    given = {name: getattr(found.plan, name) for name in PlanInput.model_fields}
    again, fewer = planned(given), planned({**given, "recompute_layers": found.plan.recompute_layers - 1})
    assert again.step_time is not None and again.step_time.value == pytest.approx(found.step_time.value)
    assert found.memory is not None and fewer.memory is not None
    assert found.memory.usable is not None
    limit = found.memory.usable.value
    assert found.memory.per_device.value <= limit < fewer.memory.per_device.value
