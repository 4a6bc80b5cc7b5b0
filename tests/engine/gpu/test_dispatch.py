"""Kernels of a micro-batch and the host that launches them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.gpu.step import exposed_dispatch_time, update_kernels
from app.engine.gpu.work import kernel_count
from app.engine.operators.layers import dense_layer, embedding_bag
from app.engine.operators.table import Kind, Operator, OperatorTable
from app.engine.plans import Plans, Recompute
from app.engine.records import GpuSoftware, Precision
from tests.engine.conftest import dgx, gpu_case, gpu_step, plan_of, software, table

SYSTEM = dgx()

positive = st.floats(1e-9, 1.0)


@given(kernels=st.floats(1.0, 1e6), interval=st.floats(1e-7, 1e-4), busy=positive)
def test_host_and_gpu_together_take_the_longer_of_both(kernels: float, interval: float, busy: float) -> None:
    found = float(exposed_dispatch_time(kernels, interval, busy))
    assert busy + found == pytest.approx(max(busy, kernels * interval))


def test_nothing_is_exposed_with_recorded_graphs() -> None:
    assert np.all(exposed_dispatch_time(np.array([1.0, 1e6]), 0.0, 1e-9) == 0.0)


def test_layers_convolutions_and_steps_of_a_loop_are_counted() -> None:
    rows = [
        Operator(name="layer", kind=Kind.MATMUL, count=3.0, layer_launches=1.0),
        Operator(name="convolution", kind=Kind.CONVOLUTION, count=2.0, convolution_launches=1.0),
        Operator(name="loop", kind=Kind.RECURRENT, steps=100.0, kernels=400.0),
    ]
    model = OperatorTable.of(rows, depth=1, hidden=1.0, tokens=1.0)
    stack = software("gpu-eager")
    counted = 3 * stack.kernels_per_layer + 2 * stack.kernels_per_convolution + 400.0
    known = gpu_case(model, stack, SYSTEM)
    none, full = (
        kernel_count(known.case, float(mode), known.stack) for mode in (Recompute.NONE, Recompute.FULL)
    )
    assert none == counted
    assert full == counted + 3 * SYSTEM.kernels.recompute_kernels


def seconds(stack: str, micro_batch: float, interval: float) -> float:
    slow = software(stack)._replace(dispatch_interval=interval)
    plans = Plans.of(micro_batch=micro_batch)
    return float(gpu_step(table("bert-large"), plans, SYSTEM, slow, Precision.BF16, "lamb").total)


def test_a_small_micro_batch_takes_what_the_host_takes() -> None:
    launches = 24 * software("gpu-eager").kernels_per_layer
    fast, slow = seconds("gpu-eager", 1.0, 0.0), seconds("gpu-eager", 1.0, 100e-6)
    assert slow > fast
    assert slow > launches * 100e-6


def test_a_large_micro_batch_hides_the_host() -> None:
    assert seconds("gpu-eager", 64.0, 6e-6) == seconds("gpu-eager", 64.0, 0.0)


def updates(model: OperatorTable, stack: GpuSoftware, **plan: float) -> float:
    known = gpu_case(model, stack, SYSTEM)
    return update_kernels(known.case, plan_of(**plan), known.stack)


def test_an_update_tensor_by_tensor_launches_for_weights_and_biases() -> None:
    model = OperatorTable.of(
        [
            dense_layer(name="layer", inputs=8, outputs=8, count=3.0),
            embedding_bag(name="table", entries=100.0, width=8, lookups=1.0),
        ],
        depth=1,
        hidden=8.0,
        tokens=1.0,
    )
    stack = software("gpu-eager")._replace(optimizer_kernels=12.0)
    # The table is updated row by row and takes no part.
    assert updates(model, stack) == 3 * 2 * 12
    assert updates(model, stack, data=8.0) > updates(model, stack)
    assert updates(model, stack, pipeline=2.0) == 3 * 12
    assert updates(model, stack, offload=1.0) == 0.0
    assert updates(model, software("gpu-fused"), data=8.0) == 0.0


def test_a_slow_update_adds_what_the_gpu_does_not_cover() -> None:
    stack = software("gpu-eager")
    by_tensor = stack._replace(optimizer_kernels=12.0)
    plans = Plans.of(micro_batch=64.0)
    fast = gpu_step(table("bert-large"), plans, SYSTEM, stack, Precision.BF16, "lamb")
    slow = gpu_step(table("bert-large"), plans, SYSTEM, by_tensor, Precision.BF16, "lamb")
    launched = updates(table("bert-large"), by_tensor) * by_tensor.dispatch_interval
    assert float(slow.total - fast.total) == pytest.approx(launched - float(fast.parts["optimizer"]))
