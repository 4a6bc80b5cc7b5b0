"""Products in 8 and 4 bit, links wider than a machine, and layers that are computed again in part."""

from dataclasses import replace

import numpy as np
import pytest

from app.engine.gpu.gemm import mixed_rate
from app.engine.gpu.plan_steps import gpu_operator_times
from app.engine.operators.table import Kind, OperatorTable
from app.engine.plans import Plans
from app.engine.records import Floats, GpuSystem, Precision
from app.estimating.hardware import HardwareFinder
from tests.engine.conftest import catalog, gpu_memory, gpu_step, software, software_catalog, table

FORMATS = (Precision.BF16, Precision.FP8, Precision.NVFP4)


def system(name: str, count: int = 1) -> GpuSystem:
    found = HardwareFinder(catalog(), software_catalog()).system(name, count).engine
    assert isinstance(found, GpuSystem)
    return found


def seconds(model: OperatorTable, where: GpuSystem, precision: Precision, **plan: float) -> float:
    plans = Plans.of(**plan)
    return float(gpu_step(model, plans, where, software("gpu-tuned"), precision, "adam").total)


def test_narrow_formats_pay_on_wide_layers_and_never_more_than_their_peaks() -> None:
    wide, where = table("llama2-70b", 4096), system("dgx-b200")
    half, eight, four = (seconds(wide, where, one, tensor=8, micro_batch=1) for one in FORMATS)
    peaks = where.chip.matrix_peak
    assert half / eight < peaks[Precision.FP8] / peaks[Precision.BF16]
    assert half > eight > four
    assert eight / four < peaks[Precision.NVFP4] / peaks[Precision.FP8]


def test_narrow_formats_gain_little_on_small_layers() -> None:
    where = system("dgx-b200")
    gains = [
        seconds(model, where, Precision.BF16, micro_batch=1)
        / seconds(model, where, Precision.FP8, micro_batch=1)
        for model in (table("gpt2-124m", 1024), table("llama-7b", 2048))
    ]
    assert gains[0] < gains[1]


def test_blocks_with_their_own_scales_cost_no_less_than_one_scale() -> None:
    model, where = table("llama-7b", 2048), system("dgx-b200")
    plain, blocks = (seconds(model, where, one, micro_batch=2) for one in (Precision.FP8, Precision.MXFP8))
    assert plain <= blocks < 1.02 * plain


def test_an_answer_does_not_depend_on_those_before_it() -> None:
    model, where, plans = table("llama-7b", 2048), system("dgx-b200"), Plans.of(micro_batch=2)

    def bytes_of(precision: Precision) -> float:
        return float(gpu_memory(model, plans, where, software("gpu-tuned"), precision, "adam").total)

    first = [bytes_of(precision) for precision in FORMATS]
    assert [bytes_of(precision) for precision in FORMATS] == first


@pytest.mark.parametrize("ranks", [8.0, 64.0])
def test_a_rack_of_one_domain_reduces_faster_than_machines_on_a_network(ranks: float) -> None:
    model = table("llama-7b", 2048)
    rack, machines = system("gb200-nvl72"), system("dgx-b200", 8)
    assert (rack.machine.devices, machines.machine.devices) == (72, 8)

    def exchanged(where: GpuSystem) -> float:
        plans = Plans.of(data=np.array([ranks]), micro_batch=1)
        parts = gpu_step(model, plans, where, software("gpu-eager"), Precision.BF16, "adam").parts
        return float(parts["data_comm"][0])

    if ranks > machines.machine.devices:
        assert exchanged(rack) < exchanged(machines)
    else:
        assert exchanged(rack) == pytest.approx(exchanged(machines), rel=0.2)


def test_a_share_of_the_layers_computed_again_lies_between_none_and_all() -> None:
    model, where = table("llama2-70b", 4096), system("dgx-h100")
    shares = np.linspace(1.0, 2.0, 5)
    plans = Plans.of(tensor=8, micro_batch=1, accumulation=4, recompute=shares)
    step = gpu_step(model, plans, where, software("gpu-tuned"), Precision.BF16, "adam").total
    kept: Floats = gpu_memory(model, plans, where, software("gpu-tuned"), Precision.BF16, "adam").parts[
        "activations"
    ]
    assert np.all(np.diff(step) > 0) and np.all(np.diff(kept) < 0)
    assert np.allclose(np.diff(step), np.diff(step)[0])


def test_four_bit_gains_more_where_a_model_is_not_trained() -> None:
    """Layers in 16 bit and second readings of tensors are for training."""
    trained, where = table("llama2-70b", 4096), system("dgx-b200")
    frozen = replace(trained, trained=np.zeros_like(trained.trained))
    plans = Plans.of(tensor=8, micro_batch=1)

    def forward(model: OperatorTable, precision: Precision) -> float:
        times = gpu_operator_times(model, plans, where, software("gpu-tuned"), precision).forward
        return float(np.sum(times[model.kind == Kind.MATMUL]))

    gains = [forward(one, Precision.FP8) / forward(one, Precision.NVFP4) for one in (trained, frozen)]
    assert 1.0 < gains[0] < gains[1]


@pytest.mark.parametrize(("share", "rate"), [(0.0, 4.0), (1.0, 1.0)])
def test_a_rate_of_one_format_alone_is_its_own(share: float, rate: float) -> None:
    assert float(mixed_rate(4.0, 1.0, share)) == pytest.approx(rate)


def test_a_rate_of_two_formats_falls_with_the_share_of_the_slower() -> None:
    rates = [float(mixed_rate(4.0, 1.0, share)) for share in np.linspace(0.0, 1.0, 9)]
    assert np.all(np.diff(rates) < 0)
