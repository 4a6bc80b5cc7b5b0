"""Plans as arrays, and the sums their evaluation gives."""

from dataclasses import replace

import numpy as np
import pytest

from app.engine.plans import PLAN_FIELDS, MemoryUse, Plans, StepTime


def test_what_is_left_out_of_a_plan_changes_nothing() -> None:
    plan = Plans.of()
    assert plan.devices == plan.global_batch == plan.rts == plan.phases == 1
    assert plan.recompute == plan.sharding == plan.offload == plan.sequence_parallel == 0


def test_states_are_shared_by_all_replicas_unless_told_otherwise() -> None:
    assert Plans.of(data=64.0).sharding_ranks == 64
    assert Plans.of(data=64.0, sharding_ranks=8.0).sharding_ranks == 8


def test_devices_and_batch_follow_from_the_degrees() -> None:
    plan = Plans.of(tensor=8, pipeline=np.array([1, 8]), data=4, micro_batch=2, accumulation=16)
    assert plan.devices.tolist() == [32, 256]
    assert plan.global_batch == 128


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(TypeError, match="tensors"):
        Plans.of(tensors=8)


def test_the_rows_of_plans_are_not_copied_and_follow_what_is_replaced() -> None:
    rows = np.arange(4.0 * len(PLAN_FIELDS)).reshape(4, -1).copy()
    plans = Plans.of_rows(rows)
    assert plans.rows is rows
    for value in (np.zeros(4), plans.data, plans.offload[:1]):
        changed = replace(plans, offload=value)
        expected = rows.copy()
        expected[:, PLAN_FIELDS.index("offload")] = value
        assert np.array_equal(changed.rows, expected)
        assert np.array_equal(changed.take(np.array([3, 1])).rows, expected[[3, 1]])


def test_totals_are_the_sum_of_the_parts() -> None:
    step = StepTime({"gemm": np.array([1.0, 2.0]), "fixed": np.array(0.5)})
    assert step.total.tolist() == [1.5, 2.5]
    memory = MemoryUse({"weights": np.array([2.0]), "buffers": np.array(1.0)}, 80e9, np.array([0.0]), 0.0)
    assert memory.total.tolist() == [3.0]
