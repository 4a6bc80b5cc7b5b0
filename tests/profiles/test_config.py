"""Hugging Face configurations against the parameter counts of the released weights."""

from typing import Any

import pytest

from app.errors import BadInput, Unprocessable
from app.profiles.config import config_profile
from tests.profiles.conftest import CONFIGS, DEEPSEEK, LLAMA


@pytest.mark.parametrize(
    ("document", "parameters"), [row[1:] for row in CONFIGS], ids=[row[0] for row in CONFIGS]
)
def test_parameters_are_those_of_the_released_weights(document: dict[str, Any], parameters: float) -> None:
    profile = config_profile(document)
    assert profile.parameters == pytest.approx(parameters, rel=0.002)
    assert profile.origin == "config"


def test_a_mixture_uses_two_of_its_eight_experts() -> None:
    profile = config_profile(CONFIGS[2][1])
    # Jiang et al. 2024: 13 billion active parameters.
    assert profile.active_parameters == pytest.approx(12.9e9, rel=0.01)


def test_a_layer_that_predicts_a_further_token_comes_on_top() -> None:
    profile = config_profile(DEEPSEEK)
    without = config_profile({**DEEPSEEK, "num_nextn_predict_layers": 0})
    # The released weights hold 11.6 billion for it beside the vectors and outputs it shares with the model.
    assert profile.parameters - without.parameters == pytest.approx(11.61e9, rel=0.01)
    assert without.active_parameters == pytest.approx(37e9, rel=0.02)
    assert profile.operators().depth == 62


def test_layers_with_and_without_a_window_are_told_apart() -> None:
    profile = config_profile(CONFIGS[[row[0] for row in CONFIGS].index("gpt-oss")][1])
    table = profile.operators(profile.tokens(4096))
    found = dict(zip(table.names, zip(table.count, table.squared, strict=True), strict=True))
    assert found["attention"] == (18, 4096**2)
    assert found["window_attention"] == (18, 4096 * 128 - 128**2 / 2)
    assert profile.active_parameters == pytest.approx(5.1e9 + 201088 * 2880, rel=0.02)


def test_an_unknown_type_says_what_is_assumed() -> None:
    profile = config_profile({**LLAMA, "model_type": "brand-new", "rope_theta": 1e4})
    assert profile.parameters == 6_738_415_616
    assert "gated" in str(profile.doubts[0])
    assert profile.family == "llama"


def test_the_towers_of_a_known_multimodal_model_are_counted() -> None:
    # LLaVA 1.5 7B: the language model, CLIP ViT-L/14 at 336 pixels and two layers that join them.
    profile = config_profile({"model_type": "llava", "text_config": LLAMA, "vision_config": {}})
    assert profile.parameters == 7_062_902_784
    assert profile.doubts == ()


def test_the_towers_of_an_unknown_multimodal_model_are_a_doubt() -> None:
    profile = config_profile({"model_type": "new-vl", "text_config": LLAMA, "vision_config": {}})
    assert profile.parameters == 6_738_415_616
    assert "vision_config" in {doubt.values["field"] for doubt in profile.doubts}


@pytest.mark.parametrize(
    ("change", "error", "field"),
    [
        ({"hidden_size": None}, Unprocessable, "model.config.hidden_size"),
        ({"hidden_size": "4096"}, Unprocessable, "model.config.hidden_size"),
        ({"hidden_size": 0}, BadInput, "model.config.hidden_size"),
        ({"hidden_size": 10**400}, BadInput, "model.config.hidden_size"),
        ({"num_attention_heads": 31}, BadInput, "model.config.num_attention_heads"),
        ({"num_key_value_heads": 5}, BadInput, "model.config.num_key_value_heads"),
        ({"num_hidden_layers": 1.5}, Unprocessable, "model.config.num_hidden_layers"),
        ({"tie_word_embeddings": "no"}, Unprocessable, "model.config.tie_word_embeddings"),
        ({"vocab_size": None}, Unprocessable, "model.config.vocab_size"),
        ({"model_type": 7}, Unprocessable, "model.config.model_type"),
        ({"model_type": "swin", "depths": "no"}, Unprocessable, "model.config.depths"),
        ({"model_type": "nemotron_h"}, Unprocessable, "model.config.hybrid_override_pattern"),
        (
            {"model_type": "nemotron_h", "layers_block_type": ["mamba", "conv"]},
            Unprocessable,
            "model.config.hybrid_override_pattern",
        ),
    ],
)
def test_the_wrong_field_is_named(change: dict[str, Any], error: type[BadInput], field: str) -> None:
    with pytest.raises(error) as caught:
        config_profile({**LLAMA, **change})
    assert type(caught.value) is error
    assert caught.value.errors[0].field == field
