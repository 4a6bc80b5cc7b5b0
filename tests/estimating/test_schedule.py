"""The schedule of an estimate is the one its step was priced with."""

from typing import Any

import pytest

from app.estimating.documents import Estimate
from tests.conftest import answer

GPT3: dict[str, Any] = {
    "model": {"preset": "gpt3-175b"},
    "workload": {"samples": 1e6, "global_batch": 1536, "seq_len": 2048},
    "system": {"count": 128},
}

PLANS: list[dict[str, Any]] = [
    {"tensor": 8, "pipeline": 8, "data": 16, "micro_batch": 1, "interleave": 1, "recompute": "full"},
    {"tensor": 8, "pipeline": 8, "data": 16, "micro_batch": 1, "interleave": 2, "recompute": "full"},
]


def shown(found: Estimate) -> None:
    """Parts of the schedule add up to the step, and its bubble is that of the breakdown."""
    one = found.schedule
    assert one is not None and found.step_time is not None and found.breakdown is not None
    assert one.length + one.after == pytest.approx(found.step_time.value)
    slot = one.forward + one.backward
    assert one.length == pytest.approx((one.micro_batches + (one.stages - 1) / one.chunks) * slot)
    parts = {part.part: part.seconds for part in found.breakdown}
    assert one.bubble * found.steps == pytest.approx(parts["pipeline_bubble"])
    assert one.bubble_share == pytest.approx(one.bubble / one.length)
    assert found.plan is not None
    assert (one.stages, one.micro_batches) == (found.plan.pipeline, found.plan.accumulation)


@pytest.mark.parametrize("plan", PLANS)
def test_on_gpus(plan: dict[str, Any]) -> None:
    found = answer(**GPT3, plan=plan)
    shown(found)
    assert found.schedule is not None
    interleaved = plan["interleave"] > 1
    assert found.schedule.kind == ("interleaved" if interleaved else "one_forward_one_backward")
    assert found.schedule.superstep is None
    # With full recomputation a backward pass is about three forward passes.
    assert 2.5 < found.schedule.backward / found.schedule.forward < 3.5


def test_on_ipus_the_parts_of_a_superstep_fill_it() -> None:
    found = answer(system={"id": "bow-pod16"}, workload={"samples": 1e6})
    shown(found)
    one = found.schedule
    assert one is not None and one.kind == "lockstep" and one.superstep is not None
    assert sum(part.seconds for part in one.superstep) == pytest.approx(one.forward + one.backward)
    assert {"gemm", "exchange", "sync"} <= {part.part for part in one.superstep}


def test_one_stage_has_no_schedule() -> None:
    assert answer(system={"id": "dgx-a100-640gb"}, workload={"global_batch": 1024}).schedule is None


def test_the_chunks_of_a_stage_that_do_not_divide_wait_for_the_longest() -> None:
    # Five chunks of twelve layers hold at most three, so a slot of the pipeline counts four of them.
    found = answer(**GPT3, plan={**PLANS[0], "interleave": 5})
    one = found.schedule
    assert one is not None and found.step_time is not None and one.after > 0
    slot = one.forward + one.backward
    assert one.length == pytest.approx((one.micro_batches + (one.stages - 1) / 4) * slot)
    assert one.length + one.after == pytest.approx(found.step_time.value)
