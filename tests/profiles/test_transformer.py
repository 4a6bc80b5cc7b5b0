"""A transformer by its dimensions, and a bare figure."""

from typing import Any

import pytest

from app.errors import BadInput, Unprocessable
from app.profiles.model import ModelProfile
from app.profiles.presets import preset
from app.profiles.transformer import figure_profile, transformer_profile

GPT3: dict[str, Any] = {"layers": 96, "hidden": 12288, "heads": 96, "vocab": 50257, "seq_len": 2048}


def test_the_dimensions_of_a_preset_give_the_preset() -> None:
    profile = transformer_profile(GPT3)
    assert profile.operators() is preset("gpt3-175b").operators()
    assert ModelProfile.from_json(profile.to_json()) == profile


@pytest.mark.parametrize("kind", ["decoder", "encoder", "encoder-decoder"])
def test_what_is_not_given_is_assumed_in_words(kind: str) -> None:
    profile = transformer_profile({"layers": 12, "hidden": 768, "heads": 12, "seq_len": 512, "kind": kind})
    assert any("vocab" in str(note) for note in profile.assumptions)
    assert any("ffn" in str(note) for note in profile.assumptions)
    assert profile.forward_flop_per_sample > 0


def test_a_gated_decoder_with_experts() -> None:
    profile = transformer_profile(
        {
            "layers": 32,
            "hidden": 4096,
            "heads": 32,
            "kv_heads": 8,
            "ffn": 14336,
            "vocab": 32000,
            "seq_len": 4096,
            "gated": True,
            "experts": 8,
            "experts_per_token": 2,
        }
    )
    assert profile.parameters == preset("mixtral-8x7b").parameters


def test_an_output_layer_that_is_tied_has_no_weights_of_its_own() -> None:
    sheet = {"layers": 16, "hidden": 2048, "heads": 32, "kv_heads": 8, "ffn": 8192, "vocab": 128256}
    tied, own = (
        transformer_profile({**sheet, "seq_len": 8192, "gated": True, "tied_embeddings": tied})
        for tied in (True, False)
    )
    # Llama 3.2 1B, whose card states 1.24 billion parameters with tied embeddings.
    assert round(tied.parameters / 1e9, 2) == 1.24
    assert own.parameters - tied.parameters == 2048 * 128256
    assert own.forward_flop_per_sample == tied.forward_flop_per_sample


@pytest.mark.parametrize(
    ("change", "error", "field"),
    [
        ({"layers": None}, Unprocessable, "model.transformer.layers"),
        ({"layers": -1}, BadInput, "model.transformer.layers"),
        ({"heads": 97}, BadInput, "model.transformer.heads"),
        ({"kv_heads": 7}, BadInput, "model.transformer.kv_heads"),
        ({"kind": "recurrent"}, Unprocessable, "model.transformer.kind"),
        ({"kind": ["decoder"]}, Unprocessable, "model.transformer.kind"),
        ({"tied_embeddings": "yes"}, Unprocessable, "model.transformer.tied_embeddings"),
        ({"gated": 1}, Unprocessable, "model.transformer.gated"),
        ({"experts_per_token": 2}, BadInput, "model.transformer.experts_per_token"),
        ({"width": 3}, Unprocessable, "model.transformer.width"),
    ],
)
def test_the_wrong_field_is_named(change: dict[str, Any], error: type[BadInput], field: str) -> None:
    with pytest.raises(error) as caught:
        transformer_profile({**GPT3, **change})
    assert type(caught.value) is error
    assert caught.value.errors[0].field == field


def test_a_bare_figure_has_no_operators() -> None:
    profile = figure_profile(3.14e23)
    assert profile.total_flop == 3.14e23
    assert profile.summary() == []
    assert ModelProfile.from_json(profile.to_json()) == profile
    with pytest.raises(BadInput, match="no operators"):
        profile.operators()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0])
def test_a_figure_that_cannot_be_is_refused(value: float) -> None:
    with pytest.raises(BadInput):
        figure_profile(value)


@pytest.mark.parametrize(("seq_len", "mean"), [(0, None), (128, 0.0), (128, 129.0)])
def test_impossible_lengths_are_refused(seq_len: int, mean: float | None) -> None:
    with pytest.raises(BadInput):
        preset("bert-large").tokens(seq_len, mean)
