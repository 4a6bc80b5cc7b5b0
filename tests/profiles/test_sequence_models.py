"""Sequence and recommendation models: what their papers and published code say of their operators."""

import numpy as np
import pytest

from app.catalog.software import load_software
from app.engine.operators.table import Kind, OperatorTable, Pointwise
from app.profiles.architectures.recommendation import CRITEO
from app.profiles.architectures.sequences import GROUPS, WORDS, rare_shares
from app.profiles.presets import preset
from tests.conftest import DATA


def table(name: str, seq_len: int | None = None) -> OperatorTable:
    profile = preset(name)
    return profile.operators(None if seq_len is None else profile.tokens(seq_len))


def only(model: OperatorTable, name: str, column: str) -> float:
    return float(getattr(model, column)[model.names.index(name)])


def test_transformer_xl_attends_to_its_memory_by_content_and_by_position() -> None:
    model = table("transformer-xl-base")
    # A head multiplies 192 queries by 384 keys of 64, once for content and once for positions.
    assert only(model, "positions", "rows") == 192
    assert only(model, "positions", "columns") == 384
    assert only(model, "positions", "inner") == 64
    assert only(model, "positions", "batch") == 8
    assert only(model, "attention", "squared") == 192 * 384
    assert only(model, "shift", "elements") == 8 * 192 * 384


def test_words_beyond_the_frequent_ones_are_few_and_fall_in_the_published_groups() -> None:
    shares = rare_shares()
    assert sum(GROUPS) == WORDS
    assert 0.02 < sum(shares) < 0.06
    # A group of eight times as many words but rarer ones holds less than eight times the tokens.
    assert shares[0] < shares[1] < 8 * shares[0]


def test_rare_words_cost_less_than_the_frequent_ones() -> None:
    model = table("transformer-xl-base")
    flop = dict(zip(model.names, model.forward_flop, strict=True))
    rare = sum(flop[f"group{rank}_logits"] for rank in (1, 2, 3))
    assert rare < 0.25 * flop["logits"]


def test_dlrm_multiplies_as_the_mlperf_reference_says() -> None:
    """Bottom 13-512-256-128, top 479-1024-1024-512-256-1, and products of 27 vectors of 128."""
    model = table("dlrm")
    bottom = 13 * 512 + 512 * 256 + 256 * 128
    top = 479 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256
    assert float(np.sum(model.forward_flop)) == 2 * (bottom + top + 27 * 27 * 128)


def test_no_more_rows_travel_than_the_large_tables_have() -> None:
    """HugeCTR's hybrid embedding copies small tables: 8 of Criteo's 26 are left to exchange."""
    large = sum(entries > 40_000 for entries in CRITEO)
    assert large == 8
    assert 0 < load_software(DATA).profile("hugectr").gpu().row_exchange < large / len(CRITEO)


def test_collaborative_filtering_keeps_its_tables_on_every_device() -> None:
    model = table("ncf")
    # The count that ncf.py of DeepLearningExamples prints.
    assert model.parameters == 31_832_577
    assert not np.any(model.sparse)


def test_tacotron_decodes_frame_by_frame() -> None:
    short, long = table("tacotron2", 283), table("tacotron2", 566)
    assert float(np.sum(long.kernels)) == pytest.approx(2 * float(np.sum(short.kernels)))
    # LJ Speech: its longest clip of 10.1 s has 870 frames, to which a batch is padded.
    assert only(long, "decoder_cell_state", "steps") == pytest.approx(870, abs=1)
    assert long.tokens == 566


def test_waveglow_convolves_three_times_a_layer() -> None:
    model = table("waveglow", 8000)
    steps, layers = 1000, 8
    one = 2 * steps * 512 * (3 * 1024 + 1024) + 2 * steps * 640 * 1024
    last = 2 * steps * 512 * 512
    flows = [
        flop
        for name, flop in zip(model.names, model.forward_flop, strict=True)
        if name.startswith("flow1_") and name.split("_")[1] in {"in", "skip", "last", "conditions"}
    ]
    assert sum(flows) == pytest.approx(layers * one - last, rel=1e-9)
    assert model.tokens == 8000
    norms = [name for name in model.names if name.endswith("weight_norm")]
    assert len(norms) == 12 * 5


def test_translation_counts_the_tokens_of_both_sides() -> None:
    assert table("gnmt", 26).tokens == 52


def test_temporal_fusion_selects_among_its_inputs_and_looks_at_the_whole_week() -> None:
    model = table("tft")
    # Electricity: three known inputs and the past of the target; 168 hours of history, 24 to forecast.
    assert only(model, "past_variable_in", "count") == 4
    assert only(model, "future_variable_in", "count") == 3
    assert only(model, "past_state", "steps") == 168
    assert only(model, "future_state", "steps") == 24
    assert only(model, "attention", "squared") == 192 * 192
    more = table("tft-traffic").parameters - model.parameters
    assert more == (963 - 369) * 128


@pytest.mark.parametrize("name", ["tacotron2", "gnmt", "tft"])
def test_recurrent_states_are_loops(name: str) -> None:
    model = table(name)
    loops = model.kind == Kind.RECURRENT
    assert np.all(model.steps[loops] > 1)
    assert np.all(model.pointwise[loops] == Pointwise.NONE)
