"""Operator times: the limits of the roofline and what must hold for any model."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.gpu.plan_steps import gpu_operator_times
from app.engine.operators.layers import dense_layer, embedding_bag, pointwise_layer, recurrent_layer
from app.engine.operators.table import Kind, OperatorTable, Pointwise, Section
from app.engine.plans import Bound, OperatorTimes, Plans
from app.engine.records import GpuSoftware, Precision
from tests.engine.conftest import dgx, software, table

SYSTEM = dgx()

MODELS = (
    "bert-large",
    "gpt3-175b",
    "llama-7b",
    "resnet50",
    "efficientnet-b4",
    "resnext101",
    "vit-base",
    "t5-3b",
    "mixtral-8x7b",
    "deepvoice3",
    "dlrm",
)


def times(
    model: OperatorTable, stack: GpuSoftware, precision: Precision = Precision.BF16, **plan: object
) -> OperatorTimes:
    return gpu_operator_times(model, Plans.of(**plan), SYSTEM, stack, precision)


def alone(rows: float, inputs: int, outputs: int) -> OperatorTable:
    layer = dense_layer(name="dense", inputs=inputs, outputs=outputs, rows=rows)
    return OperatorTable.of([layer], depth=1, hidden=inputs, tokens=rows)


def test_operators_of_one_table_take_as_long_as_each_alone() -> None:
    products = [(64.0, 1024, 128), (1000.0, 1024, 30522), (4096.0, 1024, 1024)]
    layers = [dense_layer(name="d", inputs=k, outputs=n, rows=m) for m, k, n in products]
    together = times(OperatorTable.of(layers, depth=1, hidden=1024, tokens=1), software())
    single = [times(alone(m, k, n), software()) for m, k, n in products]
    assert together.forward.tolist() == [float(one.forward[0]) for one in single]
    assert together.backward.tolist() == [float(one.backward[0]) for one in single]


def test_a_large_product_is_bound_by_compute_at_the_efficiency_of_the_stack() -> None:
    stack = software()._replace(matrix_efficiency=0.8)
    found = times(alone(16384, 16384, 16384), stack)
    rate = found.flop[0] / (found.forward[0] + found.backward[0])
    assert rate == pytest.approx(0.8 * 312e12, rel=0.02)
    assert rate < 0.8 * 312e12
    assert found.bound[0] == Bound.COMPUTE


def test_a_product_of_one_row_streams_its_weights() -> None:
    found = times(alone(1, 8192, 8192), software())
    bandwidth = 2039e9 * SYSTEM.chip.achieved_bandwidth
    assert found.forward[0] == pytest.approx(8192 * 8192 * 2 / bandwidth, rel=0.001)
    assert found.bound[0] == Bound.MEMORY


def test_an_elementwise_operator_costs_its_passes() -> None:
    """A residual with dropout reads two tensors and writes one and its mask: 3.5 passes forward."""
    add = pointwise_layer(name="add", pointwise=Pointwise.RESIDUAL, elements=1e9)
    model = OperatorTable.of([add], depth=1, hidden=1, tokens=1)
    stack = software()._replace(elementwise_factor=1.0)
    bandwidth = SYSTEM.chip.memory_bandwidth * SYSTEM.chip.achieved_bandwidth
    assert times(model, stack).forward[0] == pytest.approx(3.5 * 1e9 * 2 / bandwidth)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("stack", ["gpu-tuned", "gpu-fused", "gpu-eager"])
def test_no_operator_beats_the_roofs(model: str, stack: str) -> None:
    found = times(table(model), software(stack), micro_batch=4.0)
    seconds = found.forward + found.backward
    assert np.all(seconds >= 0)
    assert np.all(np.isfinite(seconds))
    assert np.all(found.flop <= seconds * 312e12)
    assert np.all(found.traffic[found.bound == Bound.MEMORY] <= seconds[found.bound == Bound.MEMORY] * 2039e9)


@pytest.mark.parametrize("model", ["bert-large", "gpt3-175b", "llama-7b", "resnet50", "t5-3b", "vit-base"])
def test_the_backward_pass_of_products_costs_about_two_forward_passes(model: str) -> None:
    operators = table(model)
    found = times(operators, software("gpu-tuned"), micro_batch=64.0)
    dense = np.isin(operators.kind, (Kind.MATMUL, Kind.CONVOLUTION))
    ratio = found.backward[dense].sum() / found.forward[dense].sum()
    assert 1.8 < ratio < 2.3


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("stack", ["gpu-tuned", "gpu-fused"])
def test_larger_micro_batches_cost_more_but_never_more_in_proportion(model: str, stack: str) -> None:
    sizes = 2.0 ** np.arange(8)
    found = times(table(model), software(stack), micro_batch=sizes)
    seconds = (found.forward + found.backward).sum(axis=0)
    assert np.all(np.diff(seconds) >= 0)
    assert np.all(np.diff(seconds / sizes) <= 1e-15)


@pytest.mark.parametrize("model", ["bert-large", "gpt3-175b", "llama-7b"])
def test_tensor_ranks_share_the_work_but_not_perfectly(model: str) -> None:
    operators = table(model)
    degrees = np.array([1.0, 2.0, 4.0, 8.0])
    found = times(operators, software(), tensor=degrees)
    layers = operators.section == Section.LAYER
    seconds = (found.forward + found.backward)[layers].sum(axis=0)
    assert np.all(np.diff(seconds) < 0)
    assert np.all(np.diff(seconds * degrees) > 0)


@pytest.mark.parametrize("model", ["bert-large", "resnet50", "llama-7b"])
def test_wider_formats_are_slower(model: str) -> None:
    seconds = [
        float(sum((part := times(table(model), software(), form, micro_batch=8.0)).forward + part.backward))
        for form in (Precision.BF16, Precision.TF32, Precision.FP32)
    ]
    assert seconds[0] < seconds[1] < seconds[2]


def test_fused_attention_never_writes_its_matrix() -> None:
    long = table("llama-7b", 16384)
    row = int(np.flatnonzero(long.kind == Kind.ATTENTION)[0])
    fused, unfused = times(long, software("gpu-tuned")), times(long, software("gpu-fused"))
    assert fused.traffic[row] < 0.01 * unfused.traffic[row]
    assert fused.forward[row] < 0.5 * unfused.forward[row]


def test_a_head_that_is_no_multiple_of_eight_is_slow_without_fused_attention() -> None:
    operators = table("bert-large")
    odd = replace(operators, inner=np.where(operators.kind == Kind.ATTENTION, 65.0, operators.inner))
    row = int(np.flatnonzero(operators.kind == Kind.ATTENTION)[0])
    stack = software("gpu-fused")
    assert times(odd, stack).forward[row] > 1.5 * times(operators, stack).forward[row]


@given(efficiency=st.floats(0.3, 1.0), factor=st.floats(0.5, 3.0), better=st.floats(1.01, 2.0))
def test_a_better_stack_is_never_slower(efficiency: float, factor: float, better: float) -> None:
    model = table("bert-large")
    before = software()._replace(matrix_efficiency=efficiency, elementwise_factor=factor)
    after = before._replace(matrix_efficiency=efficiency * better, elementwise_factor=factor / better)
    assert np.all(times(model, after).forward <= times(model, before).forward)
    assert np.all(times(model, after).backward <= times(model, before).backward)


@pytest.mark.parametrize("precision", [Precision.TF32, Precision.FP16])
def test_channels_first_pays_a_transposition_of_every_convolution(precision: Precision) -> None:
    """Input and output of the forward pass and of both gradients are read and written once more."""
    size = 4 if precision is Precision.TF32 else 2
    last = software()._replace(layout_passes=0.0, layout_passes_tf32=0.0)
    first = software()._replace(layout_passes=2.0, layout_passes_tf32=2.0)
    model = table("unet3d")
    found = [times(model, stack, precision) for stack in (last, first)]
    more = (found[1].forward + found[1].backward) - (found[0].forward + found[0].backward)
    image = model.count * (model.input_elements + model.output_elements)
    image = np.where(model.kind == Kind.CONVOLUTION, image, 0.0)
    bandwidth = SYSTEM.chip.memory_bandwidth * SYSTEM.chip.achieved_bandwidth
    products = 2.0 + model.input_gradient
    assert more == pytest.approx(2.0 * size * products * image / bandwidth, abs=1e-12)


def test_layouts_do_not_touch_transformers() -> None:
    first = software()._replace(layout_passes=2.0, layout_passes_tf32=2.0)
    plain = times(table("bert-large"), software(), Precision.TF32)
    assert np.array_equal(times(table("bert-large"), first, Precision.TF32).forward, plain.forward)


def recurrent(steps: float, rows: float = 1.0) -> OperatorTable:
    layer = recurrent_layer(name="cell", cell="lstm", inputs=512, hidden=512, steps=steps)[1]
    return OperatorTable.of([replace(layer, rows=rows)], depth=1, hidden=512, tokens=steps)


def test_steps_of_a_loop_wait_for_one_another() -> None:
    found, twice = times(recurrent(100.0), software()), times(recurrent(200.0), software())
    assert float(twice.forward[0]) == pytest.approx(2 * float(found.forward[0]))
    assert float(found.forward[0]) > 100 * 2 * SYSTEM.chip.kernel_overhead


def test_the_weight_gradient_of_a_loop_is_one_product() -> None:
    """Backward repeats the steps for the state, but not for the weights."""
    found = times(recurrent(1000.0), software(), micro_batch=64.0)
    assert float(found.backward[0]) < 1.5 * float(found.forward[0])


def test_rows_of_tables_keep_single_precision() -> None:
    rows = embedding_bag(name="table", entries=1e6, width=128, lookups=1.0)
    model = OperatorTable.of([rows], depth=1, hidden=128, tokens=1.0)
    stack = software()._replace(elementwise_factor=1.0)
    half, single = (
        times(model, stack, micro_batch=65536.0),
        times(model, stack, Precision.TF32, micro_batch=65536.0),
    )
    read = 65536 * 128 / (2039e9 * SYSTEM.chip.achieved_bandwidth)
    assert float(half.forward[0]) == pytest.approx(read * (4 + 2), rel=0.01)
    assert float(half.backward[0]) == pytest.approx(read * (4 + 4 + 2), rel=0.01)
    assert float(single.forward[0]) == pytest.approx(read * (4 + 4), rel=0.01)
