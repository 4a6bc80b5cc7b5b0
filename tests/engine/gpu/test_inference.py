"""Generation on GPUs: its cache and weights, and the limits that its times keep to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.gpu.inference import Generation, weight_bytes, working_bytes
from app.engine.gpu.plan_steps import PERFECT
from app.engine.inference import (
    cached_elements,
    distinct_experts,
    generating,
    prompt_operators,
    seen_tokens,
    time_per_output_token,
    token_attention,
    token_operators,
    visited_by,
)
from app.engine.operators.table import Kind
from app.engine.operators.transformer import TransformerShape
from app.engine.records import GpuSystem, Precision
from app.estimating.hardware import HardwareFinder
from app.profiles.bodies import TransformerBody
from app.profiles.presets import preset
from tests.engine.conftest import catalog, software, software_catalog

BATCHES = st.lists(st.integers(1, 2000), min_size=2, max_size=6, unique=True).map(sorted)


def shape_of(name: str) -> TransformerShape:
    body = preset(name).body
    assert isinstance(body, TransformerBody)
    return generating(body.shape)


def generation(
    name: str, where: str = "dgx-h100", tensor: int = 1, precision: Precision = Precision.BF16
) -> Generation:
    system = HardwareFinder(catalog(), software_catalog()).system(where, 1).engine
    assert isinstance(system, GpuSystem)
    return Generation(shape_of(name), system, precision, tensor, 2.0)


def read_once(name: str) -> float:
    """Return the weights of all products, the output layer's included, which a step reads. [B]"""
    table = token_operators(shape_of(name))
    products = table.kind == Kind.MATMUL
    return 2.0 * float(np.sum((table.inner * table.columns * table.batch * table.count)[products]))


def test_the_cache_of_grouped_heads_is_that_of_the_published_dimensions() -> None:
    assert 2 * cached_elements(shape_of("llama2-70b"), 4096.0) == 2 * 80 * 8 * 128 * 2 * 4096
    # A rank holds whole key heads: sixteen ranks hold no less than one each.
    assert cached_elements(shape_of("llama2-70b"), 4096.0, 16) == cached_elements(
        shape_of("llama2-70b"), 4096.0, 8
    )


def test_latent_attention_caches_one_narrow_vector_on_every_rank() -> None:
    shape = shape_of("deepseek-v3")
    assert cached_elements(shape, 1.0) == 61 * (512 + 64)
    assert cached_elements(shape, 1.0, 8) == cached_elements(shape, 1.0)
    (attention,) = token_attention(shape, 1000.0, 8)
    assert attention.flop == 2 * 16 * 1000 * (576 + 512) and attention.elements == 1000 * 576


def test_a_window_bounds_the_cache_of_its_layers() -> None:
    shape = shape_of("gpt-oss-120b")
    assert seen_tokens(shape, 8192.0) == {128.0: 18, 8192.0: 18}
    growth = cached_elements(shape, 8193.0) - cached_elements(shape, 8192.0)
    assert growth == 18 * 2 * shape.key_heads * shape.head_dimension


def test_a_prompt_multiplies_two_flop_a_weight_and_token() -> None:
    table = prompt_operators(shape_of("llama2-7b"), 1024.0)
    layers = np.array([name not in ("logits", "cross_entropy") for name in table.names])
    product = (table.kind == Kind.MATMUL) & layers
    weights = float(np.sum((table.weights * table.count)[product]))
    assert float(np.sum(table.forward_flop[product])) == pytest.approx(2.0 * weights * 1024)
    logits = table.forward_flop[list(table.names).index("logits")]
    assert logits == 2.0 * 4096 * 32000


def test_one_sequence_waits_for_the_weights_and_little_else() -> None:
    one = generation("llama2-7b")
    chip = one.system.chip
    roof = read_once("llama2-7b") / (chip.memory_bandwidth * chip.achieved_bandwidth)
    found = one.token_time(software("gpu-flash"), [1], 128.0)
    assert float(found.gemm[0]) == pytest.approx(roof, rel=0.03)
    assert roof < float(found.total[0]) < 1.5 * roof
    assert float(found.tensor_comm[0]) == 0.0


def test_a_prompt_is_bound_by_the_matrix_units() -> None:
    one = generation("llama2-7b")
    stack = software("gpu-flash")._replace(**PERFECT)
    found = one.prompt_time(stack, 4096.0)
    flop = float(np.sum(prompt_operators(one.shape, 4096.0).forward_flop))
    peak = one.system.chip.matrix_peak[Precision.BF16] * one.system.chip.sustained_clock
    # Causal attention skips nearly half of its square.
    assert 0.93 * flop / peak < float((found.gemm + found.attention)[0]) < 1.4 * flop / peak


@given(BATCHES, st.sampled_from(["llama3-8b", "mixtral-8x7b", "deepseek-v3"]))
@settings(max_examples=25, deadline=None)
def test_a_step_never_gets_shorter_with_its_batch(batches: list[int], model: str) -> None:
    seconds = generation(model, "dgx-h200", 8).token_time(software("gpu-flash"), batches, 1000.0).total
    assert np.all(np.diff(seconds) >= -1e-12)


@given(st.integers(1, 1000), st.integers(1, 1000))
@settings(max_examples=20, deadline=None)
def test_twice_the_batch_generates_no_less(batch: int, tokens: int) -> None:
    one = generation("llama3-8b")
    seconds = one.token_time(software("gpu-flash"), [batch, 2 * batch], float(tokens)).total
    prompt = float(one.prompt_time(software("gpu-flash"), float(tokens)).total[0])
    per_token = time_per_output_token(np.array([batch, 2 * batch]), 64.0, prompt, seconds)
    assert 2 * batch / per_token[1] >= 0.99 * batch / per_token[0]


@given(st.integers(2, 512), st.integers(1, 8), st.integers(1, 10_000))
def test_a_step_reads_between_the_experts_of_one_token_and_all(
    experts: int, visited: int, tokens: int
) -> None:
    visited = min(visited, experts)
    found = float(distinct_experts(experts, visited, tokens))
    assert visited - 1e-9 <= found <= min(experts, visited * tokens) + 1e-6


def test_a_token_reads_its_experts_alone_and_a_large_batch_reads_all() -> None:
    table = token_operators(shape_of("mixtral-8x7b"))
    routed = table.active < 1.0
    assert set(visited_by(table, 1.0).batch[routed]) == {2.0}
    assert np.allclose(visited_by(table, 1000.0).batch[routed], 8.0)
    for tokens in (1.0, 7.0, 1000.0):
        visits = visited_by(table, tokens)
        assert np.allclose((visits.rows * visits.batch)[routed], 2.0)


def test_narrow_weights_take_the_bytes_of_their_format() -> None:
    table = prompt_operators(shape_of("llama2-70b"), 1.0)
    half = weight_bytes(table, Precision.BF16, 1)
    assert half == pytest.approx(2.0 * table.parameters)
    outside = 2.0 * (2.0 * 32000 * 8192)
    eight, four = (weight_bytes(table, one, 1) for one in (Precision.FP8, Precision.NVFP4))
    assert eight == pytest.approx(outside + (half - outside) / 2.0, rel=1e-3)
    assert four == pytest.approx(outside + (half - outside) * 0.5625 / 2.0, rel=1e-3)
    assert weight_bytes(table, Precision.BF16, 8) == pytest.approx(half / 8.0, rel=1e-3)
    assert working_bytes(table, Precision.BF16, 8) < working_bytes(table, Precision.BF16, 1)


def test_more_ranks_shorten_a_step_of_a_large_model_by_less_than_their_number() -> None:
    stack = software("gpu-flash")
    one, eight = (generation("llama2-13b", tensor=ranks).token_time(stack, [1], 100.0) for ranks in (1, 8))
    assert 1.0 < float(one.total[0] / eight.total[0]) < 8.0
    assert float(eight.tensor_comm[0]) > 0.0
