"""Mixtures, hybrids, transducers, graphs and towers: counts that their publications state, and limits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.operators.blocks import latent_attention_operators
from app.engine.operators.state_space import state_space_operators
from app.engine.operators.table import Kind, OperatorTable
from app.engine.operators.transformer import TransformerShape, layer_kinds
from app.profiles.architectures.graph import hops, sampled
from app.profiles.architectures.recommendation import HOT
from app.profiles.architectures.sparse import compressed_keys
from app.profiles.bodies import TransformerBody
from app.profiles.presets import preset


def shape_of(identifier: str) -> TransformerShape:
    body = preset(identifier).body
    assert isinstance(body, TransformerBody)
    return body.shape


def flop(table: OperatorTable, *, ending: str) -> float:
    """Forward FLOP of the operators whose names end so."""
    chosen = np.array([name.endswith(ending) for name in table.names])
    return float(np.sum(table.forward_flop[chosen]))


@given(
    layers=st.integers(1, 80),
    dense=st.integers(0, 10),
    every=st.integers(1, 6),
    full=st.integers(0, 6),
    window=st.sampled_from([0, 128, 8192]),
    tokens=st.sampled_from([64.0, 4096.0, 65536.0]),
)
def test_every_layer_is_of_one_kind(
    layers: int, dense: int, every: int, full: int, window: int, tokens: float
) -> None:
    shape = replace(
        shape_of("qwen3-30b-a3b"),
        layers=layers,
        dense_layers=dense,
        expert_every=every,
        window=window,
        full_every=full,
    )
    kinds = layer_kinds(shape, tokens)
    assert sum(kinds.values()) == layers
    if not 0 < window < tokens:
        assert not any(windowed for windowed, _ in kinds)
    if full == 1:
        assert not any(windowed for windowed, _ in kinds)


def test_as_many_layers_have_experts_as_the_configurations_say() -> None:
    assert layer_kinds(shape_of("deepseek-v3"), 4096) == {(False, False): 3, (False, True): 58}
    assert layer_kinds(shape_of("llama4-maverick"), 8192) == {(False, False): 24, (False, True): 24}
    assert layer_kinds(shape_of("llama4-scout"), 8192) == {(False, True): 48}
    assert layer_kinds(shape_of("grok-1"), 8192) == {(False, True): 64}


def test_latent_attention_of_full_rank_is_no_narrower_than_ordinary_attention() -> None:
    """Without squeezed queries and a part that is turned, the keys' second product comes on top."""
    block = latent_attention_operators(
        "",
        1024,
        16,
        128,
        query_rank=0,
        key_rank=1024,
        head_dimension=64,
        rotary_dimension=0,
        value_dimension=64,
    )
    own = 1024 + 1024 * 1024
    assert sum(operator.weights for operator in block) == 4 * 1024 * 1024 + own


def test_an_expert_sees_its_share_of_the_tokens() -> None:
    profile = preset("deepseek-v3")
    table = profile.operators(profile.tokens(4096))
    place = table.names.index("ffn_in")
    assert (table.batch[place], table.rows[place]) == (256, 4096 * 8 / 256)
    shared = table.names.index("shared_ffn_in")
    assert (table.batch[shared], table.rows[shared], table.active[shared]) == (1, 4096, 1)
    assert table.experts == 256


def test_latent_experts_exchange_narrow_tokens() -> None:
    profile = preset("nemotron-3-super")
    table = profile.operators(profile.tokens(8192))
    place = table.names.index("expert_ffn_out")
    assert table.columns[place] == 1024
    assert table.inner[table.names.index("expert_shared_ffn_in")] == 4096


@given(tokens=st.sampled_from([256.0, 1024.0, 8192.0]), chunk=st.sampled_from([64, 128, 256]))
def test_longer_chunks_cost_more_inside_and_leave_fewer_states(tokens: float, chunk: int) -> None:
    def block(length: int) -> OperatorTable:
        operators = state_space_operators(
            "", 512, tokens, heads=16, head_dimension=64, state=128, groups=2, chunk=length
        )
        return OperatorTable.of(operators, depth=1, hidden=512, tokens=tokens)

    short, long = block(chunk), block(2 * chunk)
    assert flop(long, ending="chunk_inside") == pytest.approx(2 * flop(short, ending="chunk_inside"))
    assert flop(long, ending="chunk_states") == pytest.approx(flop(short, ending="chunk_states"))
    kept = [float(np.sum(table.elements[table.names.index("states")])) for table in (short, long)]
    assert kept[0] == pytest.approx(2 * kept[1])
    assert short.parameters == long.parameters


def test_a_transducer_scores_every_pair_of_frame_and_word_piece() -> None:
    profile = preset("rnnt")
    short, long = profile.operators(profile.tokens(200)), profile.operators(profile.tokens(400))
    # Both sides of the pairs grow with the audio; the begin of the text does not.
    assert 3.5 < flop(long, ending="joint_out") / flop(short, ending="joint_out") < 4
    assert flop(long, ending="encoder_state") == 2 * flop(short, ending="encoder_state")


@given(neighbours=st.floats(0.01, 1e4), fan_out=st.floats(1, 50))
def test_no_more_neighbours_are_sampled_than_there_are_or_than_asked(
    neighbours: float, fan_out: float
) -> None:
    found = sampled(neighbours, fan_out)
    assert 0 < found <= min(neighbours, fan_out) * (1 + 1e-9)


def test_wider_samples_reach_more_papers() -> None:
    few, many = (sum(sum(hop.values()) for hop in hops(fans)[0]) for fans in ([5, 5, 5], [15, 10, 5]))
    assert 1 < few < many
    nodes, edges = hops([15, 10, 5])
    assert [len(nodes), len(edges)] == [4, 3]
    # Every edge leads to one node of the next hop.
    assert sum(edges[0].values()) == pytest.approx(sum(nodes[1].values()))


def test_a_sample_of_the_multi_hot_tables_looks_up_214_rows() -> None:
    table = preset("dlrm-dcnv2").operators()
    assert float(np.sum(table.rows[table.sparse > 0])) == sum(HOT) == 214


def test_compressed_keys_are_at_most_those_picked() -> None:
    assert compressed_keys(1024, 4, 512) == 128
    assert compressed_keys(1e9, 4, 512) == pytest.approx(512, rel=1e-3)


def test_image_and_caption_towers_cost_what_their_sizes_say() -> None:
    profile = preset("clip-base")
    table = profile.operators()
    image = 12 * (12 * 768**2 * 50 + 2 * 50**2 * 768)
    patches = 49 * 3072 * 768
    text = 12 * (12 * 512**2 * 77 + 2 * 77**2 * 512)
    heads = 768 * 512 + 512 * 512
    assert float(np.sum(table.forward_flop)) == pytest.approx(2 * (image + patches + text + heads))


def test_frozen_convolutions_have_no_gradients() -> None:
    table = preset("wav2vec2-large").operators()
    frozen = table.trained == 0
    assert all(name.startswith("features") for name, held in zip(table.names, frozen, strict=True) if held)
    assert np.count_nonzero(frozen & (table.kind == Kind.CONVOLUTION)) == 7
