"""Recomputing a part of the layers whole."""

from __future__ import annotations

from typing import Any

import pytest

from app.errors import BadInput
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from tests.sizing.asking import sizing_context

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
    memory = [one.memory.per_device.value for one in found]
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
