"""Context parallelism: ranks that share the tokens of each sample."""

from __future__ import annotations

from typing import Any

import pytest

from app.errors import AppError, BadInput, Conflict
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest, PlanInput
from app.features.plans.model import SearchRequest
from app.features.plans.searching import search
from tests.conftest import sizing_context

LONG: dict[str, Any] = {
    "model": {"preset": "llama2-7b"},
    "workload": {"tokens": 1e11, "global_batch": 64, "seq_len": 32768},
    "system": {"id": "dgx-h100", "count": 4},
}


def asked(plan: dict[str, Any], **others: Any) -> Estimate:
    return estimate(EstimateRequest.model_validate({**LONG, **others, "plan": plan}), sizing_context())


def test_ranks_of_a_context_use_devices_beside_those_of_a_replica() -> None:
    found = asked({"context": 4, "tensor": 2, "data": 4, "micro_batch": 2}).plan
    assert found is not None
    assert (found.context, found.data, found.micro_batch, found.accumulation) == (4, 4, 2, 8)
    assert found.global_batch == 64 and found.idle_machines == 0
    assert found.tensor * found.pipeline * found.context * found.data == 32


def test_a_plan_of_an_estimate_is_its_own_question() -> None:
    first = asked({"context": 8})
    assert first.plan is not None and first.step_time is not None
    given = set(PlanInput.model_fields)
    again = asked(first.plan.model_dump(include=given))
    assert again.step_time is not None and again.step_time.value == pytest.approx(first.step_time.value)


def test_each_rank_keeps_its_part_of_the_activations() -> None:
    layout = {"tensor": 4, "pipeline": 1, "micro_batch": 1, "recompute": "none", "sharding": "none"}
    kept = [
        {part.part: part.value for part in asked({**layout, "context": context}).memory.parts}["activations"]
        for context in (1, 2, 4)
    ]
    assert kept[1] == pytest.approx(kept[0] / 2, rel=0.05) and kept[2] == pytest.approx(kept[0] / 4, rel=0.05)


def test_a_slow_network_shows_keys_and_values_that_attention_does_not_hide() -> None:
    """At 2,048 tokens attention is short; over 16 ranks keys and values leave the machine."""
    short = {"workload": {"tokens": 1e11, "global_batch": 64, "seq_len": 2048}}
    layout = {"tensor": 2, "pipeline": 1, "micro_batch": 1, "recompute": "none", "sharding": "optimizer"}

    def seconds(context: int) -> float:
        found = asked({**layout, "context": context, "data": 16 // context}, **short)
        assert found.breakdown is not None
        return next(part.seconds for part in found.breakdown if part.part == "tensor_comm")

    assert seconds(16) > 10.0 * seconds(1)


@pytest.mark.parametrize(
    ("plan", "others", "code"),
    [
        ({"context": 3}, {}, BadInput),
        ({"context": 64}, {}, Conflict),
        ({"context": 2}, {"system": {"id": "bow-pod16"}}, BadInput),
        ({"context": 2}, {"model": {"preset": "resnet50"}, "workload": {"samples": 1e6}}, BadInput),
    ],
)
def test_what_cannot_be_is_refused(
    plan: dict[str, Any], others: dict[str, Any], code: type[AppError]
) -> None:
    with pytest.raises(code) as caught:
        asked(plan, **others)
    assert [fault.field for fault in caught.value.errors] == ["plan.context"]


def test_a_search_holds_a_plan_against_those_with_as_many_ranks_to_a_sample() -> None:
    context = sizing_context()
    estimated = asked({"context": 4, "tensor": 2, "data": 4, "micro_batch": 1}).plan
    assert estimated is not None
    beside = estimated.model_dump(include=set(PlanInput.model_fields))
    asking = {**LONG, "beside": beside, "what_if": False, "keep": 1}
    same = search(SearchRequest.model_validate({**asking, "constraints": {"context": 4}}), context)
    assert {one.plan.context for one in same.plans} == {4}
    assert any(one.plan.data == 4 and one.plan.micro_batch == 1 for one in same.plans)
    other = search(SearchRequest.model_validate({**asking, "constraints": {"context": 1}}), context)
    assert {one.plan.context for one in other.plans} == {1}


def test_a_search_beside_a_plan_that_recomputes_some_layers_answers() -> None:
    asking = {**LONG, "beside": {"recompute": "full", "recompute_layers": 3}, "what_if": False}
    assert search(SearchRequest.model_validate(asking), sizing_context()).fits
