"""Steps and memory of adapters on frozen weights: published figures, limits and properties."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.gpu.plan_steps import gpu_operator_times
from app.engine.operators.adapters import ATTENTION_MODULES, MODULES, adapted
from app.engine.operators.table import QUANTISED_BYTES, Kind, OperatorTable, Section
from app.engine.plans import MemoryUse, Plans, Recompute, Sharding
from app.engine.records import Precision
from app.profiles.transformer import transformer_profile
from tests.engine.conftest import collectives, dgx, gpu_memory, gpu_step, software, table

SYSTEM = dgx()

FLASH = software("gpu-flash")

ONE = Plans.of(recompute=float(Recompute.FULL), accumulation=8.0)


def memory(model: OperatorTable, plans: Plans = ONE) -> MemoryUse:
    return gpu_memory(model, plans, SYSTEM, FLASH, Precision.BF16, "adam")


def seconds(model: OperatorTable, plans: Plans = ONE) -> float:
    return float(np.ravel(gpu_step(model, plans, SYSTEM, FLASH, Precision.BF16, "adam").total)[0])


MEBIBYTE = 2.0**20


def held(model: OperatorTable, plans: Plans = ONE) -> float:
    """Weights, gradients and optimizer state of one device. [B]"""
    parts = memory(model, plans).parts
    return sum(float(np.ravel(parts[name])[0]) for name in ("weights", "gradients", "optimizer"))


def test_gpt3_with_lora_needs_its_weights_alone() -> None:
    """Hu et al. 2021, section 4.2: 350 GB with rank 4 on queries and values."""
    assert held(adapted(table("gpt3-175b"), ["q_proj", "v_proj"], 4)) == pytest.approx(350e9, rel=0.01)


@pytest.mark.parametrize(("model", "capacity"), [("llama-65b", 49140.0), ("llama-33b", 24564.0)])
def test_qlora_fits_on_the_published_gpus(model: str, capacity: float) -> None:
    """Dettmers et al. 2023, section 3: 65B on 48 GB and 33B on 24 GB, with paged optimizers; rank 64 on all
    products, samples of 528 tokens as in the scripts of its repository."""
    packed = adapted(table(model, 528), MODULES, 64, quantised=True)
    paged = replace(ONE, offload=np.asarray(1.0))
    capacity *= MEBIBYTE
    assert float(memory(packed, paged).total) < capacity
    assert float(memory(adapted(table(model, 528), MODULES, 64), paged).total) > capacity


def test_a_weight_in_4_bit_takes_half_a_byte_and_its_constants() -> None:
    """Dettmers et al. 2023, section 3: constants of 0.127 bits a parameter."""
    assert round(8.0 * QUANTISED_BYTES, 3) == 4.127
    model = adapted(table("llama-7b"), MODULES, 1, quantised=True)
    packed = float(np.sum(model.weights * model.count * model.quantised))
    plain = float(np.sum(model.weights * model.count * (1.0 - model.quantised)))
    assert float(memory(model).parts["weights"]) == pytest.approx(
        packed * 4.127 / 8.0 + plain * 2.0, rel=1e-4
    )


QWEN = [
    *[("7B", 512, 20.4), ("7B", 1024, 21.5), ("7B", 2048, 23.8)],
    *[("14B", 512, 35.1), ("14B", 1024, 35.3), ("14B", 2048, 37.4)],
]


@pytest.mark.parametrize(("size", "length", "gigabytes"), QWEN)
def test_memory_of_lora_is_near_what_qwen_measured(size: str, length: int, gigabytes: float) -> None:
    """README of QwenLM/Qwen, "Profiling of memory and speed": one A100 80GB, rank 64, batch 1."""
    model = adapted(qwen(size, length), MODULES, 64)
    use = memory(model)
    # Without what the allocator reserves over what is live.
    live = float(use.total - use.parts["framework"]) + SYSTEM.kernels.framework_memory
    assert live / 1e9 == pytest.approx(gigabytes, rel=0.1)


MEASURED = [("7B", 1024, 2.8), ("7B", 4096, 10.1), ("14B", 1024, 4.4), ("14B", 4096, 17.0)]


@pytest.mark.parametrize(("size", "length", "measured"), MEASURED)
def test_steps_of_lora_are_near_what_qwen_measured(size: str, length: int, measured: float) -> None:
    """The same profile: eight micro-batches of one sample, layers computed again."""
    model = adapted(qwen(size, length), MODULES, 64)
    assert seconds(model) == pytest.approx(measured, rel=0.25)


def qwen(size: str, length: int) -> OperatorTable:
    layers, hidden, heads, inside = {"7B": (32, 4096, 32, 11008), "14B": (40, 5120, 40, 13696)}[size]
    profile = transformer_profile(
        {
            "layers": layers, "hidden": hidden, "heads": heads, "ffn": inside, "vocab": 152064,
            "seq_len": length, "gated": True,
        }
    )  # fmt: skip
    return profile.operators()


def test_frozen_products_spend_two_thirds_of_a_full_step() -> None:
    full = table("gpt3-175b")
    frozen = adapted(full, ["q_proj"], 1)
    plans = Plans.of(tensor=8.0)

    def products(model: OperatorTable, trained: bool) -> float:
        times = gpu_operator_times(model, plans, SYSTEM, FLASH, Precision.BF16)
        inside = (model.kind == Kind.MATMUL) & (model.section == Section.LAYER) & (model.trained == trained)
        return float(np.sum((times.forward + times.backward)[inside]))

    assert products(frozen, False) == pytest.approx(2.0 / 3.0 * products(full, True), rel=0.02)


RANKS = st.sampled_from([1, 2, 4, 8, 16, 64])

LAYOUTS = st.sampled_from(
    [
        Plans.of(data=8.0, accumulation=4.0, sharding=float(level), sharding_ranks=8.0)
        for level in Sharding
    ]
    + [
        Plans.of(tensor=4.0, pipeline=2.0, data=2.0, accumulation=8.0, sharding_ranks=2.0),
        Plans.of(tensor=8.0, data=2.0, sharding_ranks=2.0, recompute=float(Recompute.FULL)),
    ]
)  # fmt: skip


@settings(deadline=None, max_examples=25)
@given(rank=RANKS, plans=LAYOUTS, quantised=st.booleans())
def test_memory_grows_with_rank_and_stays_below_that_of_full_training(
    rank: int, plans: Plans, quantised: bool
) -> None:
    full = table("llama-7b")
    one = adapted(full, ATTENTION_MODULES, rank, quantised=quantised)
    two = adapted(full, ATTENTION_MODULES, 2 * rank, quantised=quantised)
    assert float(memory(one, plans).total) <= float(memory(two, plans).total)
    assert held(two, plans) < held(full, plans)
    assert float(memory(one, plans).parts["activations"]) <= float(memory(full, plans).parts["activations"])


@settings(deadline=None, max_examples=25)
@given(rank=st.sampled_from([1, 4, 8]), plans=LAYOUTS)
def test_a_step_of_lora_takes_less_than_a_full_one(rank: int, plans: Plans) -> None:
    full = table("llama-7b")
    assert seconds(adapted(full, ["q_proj", "v_proj"], rank), plans) <= seconds(full, plans)


def test_rank_goes_to_nothing() -> None:
    """With no adapters at all, nothing is reduced, updated or kept for weights."""
    frozen = adapted(table("llama-7b"), [], 1)
    plans = Plans.of(data=8.0, accumulation=2.0)
    parts = gpu_step(frozen, plans, SYSTEM, FLASH, Precision.BF16, "adam").parts
    assert float(parts["data_comm"]) == float(parts["optimizer"]) == 0.0
    use = memory(frozen, plans).parts
    assert float(use["gradients"]) == float(use["optimizer"]) == 0.0
    small = seconds(adapted(table("llama-7b"), ["q_proj"], 1), plans)
    assert seconds(frozen, plans) < small == pytest.approx(seconds(frozen, plans), rel=0.1)


def test_only_adapters_are_reduced_but_all_weights_are_gathered_where_each_rank_holds_a_share() -> None:
    full = table("llama-7b")
    lora, packed = adapted(full, MODULES, 8), adapted(full, MODULES, 8, quantised=True)
    plan = {"data": 8.0, "sharding": float(Sharding.PARAMETERS), "sharding_ranks": 8.0}
    whole, few, least = (collectives(model, FLASH, SYSTEM, **plan) for model in (full, lora, packed))
    assert few.reduced < 0.02 * whole.reduced
    assert 0.6 * whole.streamed < few.streamed < 0.75 * whole.streamed
    assert least.streamed < 0.5 * few.streamed


def test_weights_in_4_bit_are_turned_whatever_the_micro_batch() -> None:
    model = adapted(table("llama-7b"), MODULES, 8, quantised=True)
    plans = Plans.of(micro_batch=np.array([1.0, 4.0]))
    times = gpu_operator_times(model, plans, SYSTEM, FLASH, Precision.BF16)
    turning = np.array([name.endswith(".dequantise") for name in model.names])
    once = np.sum(times.forward[turning], axis=0)
    assert once[0] == once[1] > 0
    assert np.array_equal(times.forward[turning], times.backward[turning])
