"""Steps whose pace the host sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.host import host_wait_time, input_sharers
from app.engine.plans import Plans
from app.engine.records import GpuSoftware, Precision
from tests.engine.conftest import dgx, gpu_step, software, table

SYSTEM = dgx()

FREE = software()._replace(step_overhead=0.0, multi_device_overhead=0.0, overlap=0.98)


def seconds(stack: GpuSoftware, precision: Precision = Precision.FP16, **plan: object) -> float:
    return float(gpu_step(table("resnet50"), Plans.of(**plan), SYSTEM, stack, precision, "momentum").total)


def test_a_slow_process_beside_each_gpu_sets_the_rate_whatever_the_precision() -> None:
    slow = FREE._replace(host_time_per_sample=0.1)
    for precision in (Precision.FP16, Precision.TF32):
        assert seconds(slow, precision, micro_batch=32.0) == pytest.approx(3.2, rel=0.01)
    assert seconds(slow, data=8.0, micro_batch=32.0) == pytest.approx(3.2, rel=0.01)


def test_processors_of_a_machine_are_shared_by_its_gpus() -> None:
    shared = FREE._replace(input_time_per_sample=0.01)
    assert seconds(shared, data=8.0, micro_batch=32.0) == pytest.approx(8 * 0.32, rel=0.01)
    assert seconds(shared, data=16.0, micro_batch=32.0) == pytest.approx(8 * 0.32, rel=0.01)
    assert seconds(shared, micro_batch=32.0) == pytest.approx(0.32, rel=0.01)


@given(st.floats(0.0, 1e-4), st.sampled_from([1.0, 8.0]), st.sampled_from([1.0, 4.0]))
def test_a_fast_host_is_hidden(host: float, data: float, accumulation: float) -> None:
    quick = FREE._replace(host_time_per_sample=host)
    plan = {"data": data, "micro_batch": 32.0, "accumulation": accumulation}
    assert seconds(quick, **plan) == pytest.approx(seconds(FREE, **plan))


def test_waiting_is_what_the_device_leaves() -> None:
    assert host_wait_time(np.array([1.0, 2.0, 3.0]), 1.0, 2.0).tolist() == [0.0, 0.0, 1.0]


def test_tensor_ranks_read_the_samples_of_their_copy_together() -> None:
    assert input_sharers(1.0, 1.0, 64.0, 8.0) == 8
    assert input_sharers(8.0, 1.0, 64.0, 8.0) == 1
    assert input_sharers(8.0, 4.0, 2.0, 8.0) == 1
    assert input_sharers(1.0, 1.0, 4.0, 8.0) == 4
