"""Adapters beside frozen products: what is trained, against published counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.operators.adapters import MODULES, adaptable_modules, adapted
from app.engine.operators.table import Kind
from tests.engine.conftest import table


@pytest.mark.parametrize(("modules", "rank", "millions"), [
    (["q_proj", "v_proj"], 1, 4.7),
    (["v_proj"], 2, 4.7),
    (["q_proj", "v_proj"], 8, 37.7),
    (["q_proj", "k_proj", "v_proj", "o_proj"], 2, 37.7 / 2),
])  # fmt: skip
def test_adapters_of_gpt3_have_the_published_parameters(
    modules: list[str], rank: float, millions: float
) -> None:
    """Hu et al. 2021, arXiv 2106.09685, appendix D.4; rank 2 on all four is half of their rank 8 on two."""
    model = adapted(table("gpt3-175b"), modules, rank)
    assert round(model.trained_parameters / 1e6, 1) == pytest.approx(millions, abs=0.06)


def test_adapters_of_gpt3_at_rank_4_fill_a_checkpoint_of_35_mb() -> None:
    """Hu et al. 2021, section 4.2: 350 GB become 35 MB, roughly a ten thousandth."""
    model = adapted(table("gpt3-175b"), ["q_proj", "v_proj"], 4)
    assert 2.0 * model.trained_parameters == pytest.approx(35e6, rel=0.1)
    assert 2.0 * (model.parameters - model.trained_parameters) == pytest.approx(350e9, rel=0.01)


def test_adapters_of_llama_have_the_parameters_that_lit_gpt_counts() -> None:
    """Raschka 2023: rank 8 on queries and values of Llama 2 7B trains 4,194,304 parameters."""
    assert adapted(table("llama-7b"), ["q_proj", "v_proj"], 8).trained_parameters == 4_194_304


def test_modules_are_those_of_the_layers() -> None:
    assert adaptable_modules(table("llama-7b")) == MODULES
    assert "gate_proj" not in adaptable_modules(table("gpt3-175b"))
    assert set(adaptable_modules(table("t5-large"))) == set(MODULES) - {"gate_proj"}
    assert adaptable_modules(table("resnet50")) == ()


def test_grouped_keys_have_narrower_adapters() -> None:
    """Llama 2 70B has 8 key heads for 64 query heads of 128 each, over 80 layers."""
    model = table("llama2-70b")
    queries = adapted(model, ["q_proj"], 8).trained_parameters
    keys = adapted(model, ["k_proj"], 8).trained_parameters
    assert (queries, keys) == (80 * 8 * (8192 + 8192), 80 * 8 * (8192 + 1024))


@given(rank=st.integers(1, 256), share=st.integers(1, 7))
def test_trained_parameters_grow_with_rank_and_modules(rank: int, share: int) -> None:
    model, modules = table("llama-7b"), MODULES[:share]
    trained = adapted(model, modules, rank).trained_parameters
    assert trained == pytest.approx(rank * adapted(model, modules, 1).trained_parameters)
    assert trained < adapted(model, modules, rank + 1).trained_parameters
    assert trained <= adapted(model, MODULES, rank).trained_parameters


def test_a_frozen_model_needs_two_thirds_of_the_products() -> None:
    """Forward and gradients of activations remain; attention has no weights and needs all three."""
    full = table("gpt3-175b")
    frozen = adapted(full, ["q_proj"], 1)
    attention = float(np.sum(full.forward_flop[full.kind == Kind.ATTENTION]))
    expected = 2.0 * float(np.sum(full.forward_flop)) + attention
    assert frozen.training_flop == pytest.approx(expected, rel=1e-3)
    assert full.training_flop == 3.0 * float(np.sum(full.forward_flop))


def test_an_input_is_kept_only_where_an_adapter_or_attention_reads_it() -> None:
    full = table("llama-7b")
    frozen = adapted(full, ["q_proj", "v_proj"], 8)
    saved = dict(zip(frozen.names, frozen.saved, strict=True))
    assert saved["ffn_in"] == saved["ffn_out"] == saved["logits"] == 0.0
    assert saved["qkv"] > 0 and saved["attention_out"] > 0
    assert saved["qkv.q_proj.lora_b"] == 8 * full.tokens


def test_only_products_of_the_layers_are_stored_in_4_bit() -> None:
    model = adapted(table("llama-65b"), MODULES, 64, quantised=True)
    packed = {name for name, one in zip(model.names, model.quantised, strict=True) if one}
    assert packed == {"qkv", "attention_out", "ffn_in", "ffn_out"}
