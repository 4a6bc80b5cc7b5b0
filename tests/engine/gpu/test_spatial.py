"""One sample over several GPUs: what its parts exchange, and what that is worth."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.collectives import IntraLinks, intra_node_allreduce_time
from app.engine.gpu.passes import STATISTICS_BYTES, halo_elements
from app.engine.gpu.work import EDGE_KERNELS, split_sample_time
from app.engine.operators.layers import convolution_layer
from app.engine.operators.table import OperatorTable, Pointwise
from app.engine.plans import Plans
from app.engine.records import Precision
from tests.engine.conftest import dgx, gpu_case, gpu_step, software, table

SYSTEM = dgx()


def alone(norm: Pointwise = Pointwise.GROUP_NORM, kernel: int = 3, side: int = 128) -> OperatorTable:
    layers = convolution_layer("c", 32, 32, (side, side, side), kernel=kernel, norm=norm)
    return OperatorTable.of(layers, depth=1, hidden=1.0, tokens=1.0)


def between_parts(micro_batch: float) -> float:
    """Time of one convolution in half precision where a launch takes 3 us. [s]"""
    system = replace(SYSTEM, chip=replace(SYSTEM.chip, kernel_overhead=3e-6))
    return split_sample_time(gpu_case(alone(), software(), system).case, micro_batch)


def test_one_convolution_exchanges_faces_and_statistics_both_ways() -> None:
    links = IntraLinks.of(SYSTEM.machine)
    start = intra_node_allreduce_time(1.0, 8, links)
    norm = intra_node_allreduce_time(32 * STATISTICS_BYTES, 8, links)
    face = 32 * 128**2 * 2 / links.bus_bandwidth
    assert between_parts(1 / 8) == pytest.approx(2 * (start + face + norm) + EDGE_KERNELS * 3e-6)


@pytest.mark.parametrize("micro_batch", [1.0, 2.0, 64.0])
def test_whole_samples_exchange_nothing(micro_batch: float) -> None:
    assert between_parts(micro_batch) == 0.0


def test_a_convolution_of_one_position_needs_no_neighbours() -> None:
    assert np.all(halo_elements(alone(norm=Pointwise.NONE, kernel=1)) == 0)


def test_a_halo_of_an_image_is_a_row_and_of_a_wide_kernel_several() -> None:
    layer = convolution_layer(name="c", channels_in=8, channels_out=8, size=64, kernel=7)
    model = OperatorTable.of(layer, depth=1, hidden=1.0, tokens=1.0)
    assert halo_elements(model)[0] == pytest.approx(3 * 8 * 64)


@given(st.sampled_from([2.0, 4.0, 8.0]))
def test_parts_are_faster_than_the_whole_but_not_by_their_number(parts: float) -> None:
    """A volume over eight GPUs takes longer than an eighth: halos, statistics, fixed costs."""
    model = table("unet3d")

    def seconds(micro_batch: float) -> float:
        plan = Plans.of(data=8.0, micro_batch=micro_batch)
        return float(gpu_step(model, plan, SYSTEM, software(), Precision.FP16, "momentum").total)

    assert seconds(1.0) / parts < seconds(1.0 / parts) < seconds(1.0)
