"""Parameters and FLOP of operators against published counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.operators.table import Kind, OperatorTable, Section
from app.engine.operators.transformer import Stack, TransformerShape, transformer_operators
from app.engine.records import Tokens
from app.profiles.presets import preset

GPT3_TOKENS = 300e9


def decoder(
    layers: int, hidden: int, heads: int, vocabulary: int, length: int, **more: object
) -> OperatorTable:
    values = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "key_heads": heads,
        "head_dimension": hidden // heads,
        "feed_forward": 4 * hidden,
        "vocabulary": vocabulary,
        "stack": Stack.DECODER,
        "positions": length,
    }
    shape = TransformerShape(**(values | more))
    return transformer_operators(shape, Tokens(length, length, float(length) ** 2, length))


def products(table: OperatorTable, *kinds: Kind) -> float:
    return float(np.sum(table.forward_flop[np.isin(table.kind, kinds)]))


def test_gpt3_takes_3_14e23_flop_for_300_billion_tokens() -> None:
    """Brown et al. 2020, appendix D: six FLOP a parameter and token, attention not counted."""
    model = preset("gpt3-175b").operators()
    dense = 3.0 * products(model, Kind.MATMUL) * GPT3_TOKENS / 2048
    assert dense == pytest.approx(3.14e23, rel=0.01)
    everything = 3.0 * float(np.sum(model.forward_flop)) * GPT3_TOKENS / 2048
    assert everything == pytest.approx(3.14e23 * (1 + 2048 / (6 * 12288)), rel=0.01)


@given(
    layers=st.integers(1, 128),
    heads=st.integers(1, 128),
    width=st.sampled_from([64, 80, 128]),
    length=st.sampled_from([512, 1024, 2048, 8192]),
    vocabulary=st.sampled_from([30522, 51200]),
)
def test_iterations_cost_what_narayanan_counts(
    layers: int, heads: int, width: int, length: int, vocabulary: int
) -> None:
    """F = 96 B s L h² (1 + s/6h + V/16Lh), with the forward pass of the layers run twice (SC 2021)."""
    hidden = heads * width
    model = decoder(layers, hidden, heads, vocabulary, length)
    within = model.section == Section.LAYER
    forward = float(np.sum(model.forward_flop))
    again = float(np.sum(model.forward_flop[within]))
    formula = 96.0 * length * layers * hidden**2
    formula *= 1 + length / (6 * hidden) + vocabulary / (16 * layers * hidden)
    assert 3 * forward + again == pytest.approx(formula, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "millions", "allowed"),
    [
        ("bert-large", 336.2, 0.001),  # Hugging Face's BertForPreTraining; 340 in the paper
        ("bert-base", 110.1, 0.001),
        ("gpt2-1.5b", 1557.6, 0.001),  # 1,557,611,200 in OpenAI's release
        ("llama-7b", 6738.4, 0.001),  # 6,738,415,616 in Meta's release
        ("gpt3-175b", 174_600.0, 0.001),  # Brown et al. 2020, table 2.1
        ("resnet50", 25.557, 0.001),  # torchvision
        ("megatron-1t", 1_008_000.0, 0.001),  # Narayanan et al. 2021, table 1
    ],
)
def test_parameters_are_those_published(name: str, millions: float, allowed: float) -> None:
    assert preset(name).operators().parameters == pytest.approx(millions * 1e6, rel=allowed)


def test_resnet50_takes_4_1_billion_multiplications() -> None:
    """He et al. 2016, with the stride in the 3 × 3 convolution (version 1.5)."""
    model = preset("resnet50").operators()
    assert float(np.sum(model.forward_flop)) / 2 == pytest.approx(4.1e9, rel=0.01)
    assert (
        len([name for name, kind in zip(model.names, model.kind, strict=True) if kind == Kind.CONVOLUTION])
        <= 53
    )
    assert np.sum(model.count[model.kind == Kind.CONVOLUTION]) == 53


@given(layers=st.integers(1, 64), heads=st.integers(1, 64), vocabulary=st.integers(1, 100_000))
def test_a_gpt_layer_holds_12_h_squared_and_13_h(layers: int, heads: int, vocabulary: int) -> None:
    hidden = 64 * heads
    model = decoder(layers, hidden, heads, vocabulary, 1024)
    layer = layers * (12 * hidden**2 + 13 * hidden)
    assert model.parameters == layer + (vocabulary + 1024 + 2) * hidden
    assert model.active_parameters == model.parameters


def test_grouped_key_heads_shrink_the_projection_alone() -> None:
    """Llama 2 70B: eight key heads of 64 spare 7/8 of the key and value weights (Touvron et al. 2023)."""
    common = {"gated": True, "biases": False, "tied": False, "rms_norm": True, "positions": 0, "rotary": True}
    many = decoder(80, 8192, 64, 32000, 4096, feed_forward=28672, **common)
    few = decoder(80, 8192, 64, 32000, 4096, feed_forward=28672, **(common | {"key_heads": 8}))
    assert few.parameters == 68_976_648_192
    assert many.parameters - few.parameters == 80 * 2 * 8192 * 8192 * 7 / 8
    assert products(many, Kind.ATTENTION) == products(few, Kind.ATTENTION)


def test_experts_hold_all_weights_and_use_some() -> None:
    """Mixtral 8x7B: 46.7 billion parameters, 12.9 active (Jiang et al. 2024)."""
    model = preset("mixtral-8x7b").operators()
    assert model.parameters == pytest.approx(46.7e9, rel=0.002)
    assert model.active_parameters == pytest.approx(12.9e9, rel=0.005)
    per_token = products(model, Kind.MATMUL) / model.tokens / 2
    assert per_token == pytest.approx(model.active_parameters, rel=0.015)


@given(length=st.sampled_from([128.0, 512.0, 4096.0]))
def test_attention_costs_the_square_of_the_length(length: float) -> None:
    profile = preset("llama-7b")
    once = products(profile.operators(profile.tokens(length)), Kind.ATTENTION)
    twice = products(profile.operators(profile.tokens(2 * length)), Kind.ATTENTION)
    assert once == 32 * 4 * length**2 * 4096
    assert twice == 4 * once


def test_a_window_makes_attention_linear() -> None:
    lengths = (8192, 16384, 32768)
    short, long, longest = (
        products(decoder(32, 4096, 32, 32000, length, window=4096, positions=0), Kind.ATTENTION)
        for length in lengths
    )
    assert longest - long == 2 * (long - short)


def test_every_token_of_a_window_sees_what_stands_before_it_at_most() -> None:
    """A causal window of w over s tokens computes s w − w²/2 pairs."""
    window, length = 4096, 32768
    found = products(decoder(1, 4096, 32, 32000, length, window=window, positions=0), Kind.ATTENTION)
    pairs = sum(min(place + 1, window) for place in range(length))
    assert found == pytest.approx(4 * 4096 * pairs, rel=0.001)


def test_short_samples_cost_less_than_their_padded_length() -> None:
    profile = preset("bert-large")
    padded, real = profile.operators(profile.tokens(512)), profile.operators(profile.tokens(512, 256.0))
    assert products(real, Kind.MATMUL) == pytest.approx(products(padded, Kind.MATMUL) / 2, rel=0.01)
    assert products(real, Kind.ATTENTION) < products(padded, Kind.ATTENTION) / 2


def test_an_encoder_decoder_attends_twice_on_its_decoder_side() -> None:
    model = preset("t5-large").operators()
    names = [name for name, kind in zip(model.names, model.kind, strict=True) if kind == Kind.ATTENTION]
    assert names == ["encoder_attention", "decoder_attention", "decoder_cross_attention"]
    assert model.depth == 48
