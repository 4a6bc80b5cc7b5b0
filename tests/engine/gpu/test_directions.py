"""How a micro-batch is divided between forward and backward: known shares and what cannot change them."""

import numpy as np
import pytest

from app.engine.gpu.case import GpuCase
from app.engine.gpu.plan_steps import gpu_forward_share, gpu_operator_times
from app.engine.operators.table import Section
from app.engine.plans import Plans, Recompute
from app.engine.records import Precision
from tests.engine.conftest import dgx, software, table

SYSTEM = dgx()

FULL = float(Recompute.FULL)


def share(name: str, *, seq_len: int | None = None, stack: str = "megatron-2022", **plan: object) -> float:
    case = GpuCase.of(table(name, seq_len), SYSTEM, software(stack), Precision.BF16, "adam")
    found = gpu_forward_share(case, Plans.of(**plan))
    return float(np.ravel(found)[0])


def test_a_forward_pass_is_about_a_third_and_a_quarter_where_it_runs_again() -> None:
    """Two products backward for each forward (Narayanan et al. 2021, appendix): 1 of 3, or 1 of 4."""
    assert share("gpt3-175b", seq_len=2048, pipeline=96.0) == pytest.approx(1 / 3, rel=0.05)
    assert share("gpt3-175b", seq_len=2048, pipeline=96.0, recompute=FULL) == pytest.approx(1 / 4, rel=0.05)


def test_ranks_exchange_as_much_forward_as_backward() -> None:
    """Two all-reduces either way (Shoeybi et al. 2019), so that they draw the share towards a half."""
    alone = share("gpt3-175b", seq_len=2048, pipeline=8.0)
    assert alone < share("gpt3-175b", seq_len=2048, tensor=8.0, pipeline=8.0) < 0.5


def test_without_tensor_ranks_the_share_is_that_of_the_operators_of_the_layers() -> None:
    model, plans = table("bert-large"), Plans.of(micro_batch=4.0, pipeline=4.0)
    times = gpu_operator_times(model, plans, SYSTEM, software("megatron-2022"), Precision.BF16)
    layers = model.section == Section.LAYER
    forward, backward = (float(part[layers].sum()) for part in (times.forward, times.backward))
    assert share("bert-large", micro_batch=4.0, pipeline=4.0) == pytest.approx(forward / (forward + backward))


@pytest.mark.parametrize("pipeline", [2.0, 4.0, 8.0])
def test_the_share_does_not_depend_on_the_number_of_stages(pipeline: float) -> None:
    assert share("gpt2-1.5b", pipeline=pipeline) == share("gpt2-1.5b", pipeline=1.0)
