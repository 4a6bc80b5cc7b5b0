"""Parameter counts of the presets against the counts their authors publish."""

import pytest

from app.catalog.catalog import load_training
from app.errors import NotFound
from app.profiles.model import ModelProfile
from app.profiles.presets import data_directory, preset, presets

COUNTED_DIFFERENTLY = 0.03
"""Largest gap where the publication rounds or counts other parts, as its note says."""


@pytest.mark.parametrize("identifier", list(presets()))
def test_parameters_are_those_published(identifier: str) -> None:
    profile = preset(identifier)
    if profile.published.parameters is None:
        assert profile.assumptions
        return
    allowed = COUNTED_DIFFERENTLY if profile.published.note else 0.01
    assert profile.parameters == pytest.approx(profile.published.parameters, rel=allowed)


@pytest.mark.parametrize(
    ("identifier", "published"),
    [
        ("llama3.1-8b", 8.03e9),
        ("llama3.1-70b", 70.6e9),
        ("llama3-405b", 405e9),
        ("llama3.2-1b", 1.23e9),
        ("llama3.2-3b", 3.21e9),
        ("llama3.3-70b", 70.6e9),
        ("gemma2-2b", 2.61e9),
        ("gemma2-9b", 9.24e9),
        ("gemma2-27b", 27.2e9),
        ("gemma3-1b", 1.0e9),
        ("gemma3-4b", 3.88e9),  # of the language model, as the next two
        ("gemma3-12b", 11.8e9),
        ("gemma3-27b", 27.0e9),
        ("qwen2.5-0.5b", 0.49e9),
        ("qwen2.5-1.5b", 1.54e9),
        ("qwen2.5-3b", 3.09e9),
        ("qwen2.5-7b", 7.61e9),
        ("qwen2.5-14b", 14.7e9),
        ("qwen2.5-32b", 32.5e9),
        ("qwen2.5-72b", 72.7e9),
        ("qwen3-0.6b", 0.6e9),
        ("qwen3-1.7b", 1.72e9),
        ("qwen3-4b", 4.02e9),
        ("qwen3-8b", 8.2e9),
        ("qwen3-14b", 14.8e9),
        ("qwen3-32b", 32.8e9),
        ("qwen3-30b-a3b", 30.5e9),
        ("qwen3-235b-a22b", 235e9),
        ("exaone3.5-2.4b", 2.4e9),
        ("exaone3.5-7.8b", 7.8e9),
        ("exaone3.5-32b", 32.0e9),
        ("exaone4.0-1.2b", 1.28e9),
        ("exaone4.0-32b", 32.0e9),
        ("solar-10.7b", 10.7e9),
        ("solar-pro-22b", 22.1e9),
        ("kanana-nano-2.1b", 2.1e9),
        ("mistral-7b", 7.24e9),
        ("mistral-nemo-12b", 12.2e9),
        ("mistral-small-3-24b", 23.6e9),
        ("mixtral-8x7b", 46.7e9),
        ("mixtral-8x22b", 141e9),
        ("gpt-oss-20b", 20.9e9),
        ("gpt-oss-120b", 116.8e9),
        ("phi-4", 14.7e9),
    ],
)
def test_models_people_look_for_have_their_published_size(identifier: str, published: float) -> None:
    assert preset(identifier).parameters == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize("identifier", ["mixtral-8x7b", "mixtral-8x22b"])
def test_the_longest_context_of_a_mixture_is_not_its_training_length(identifier: str) -> None:
    assert preset(identifier).default_seq_len == 4096


@pytest.mark.parametrize("identifier", list(presets()))
def test_every_preset_names_its_source_and_survives_storage(identifier: str) -> None:
    profile = preset(identifier)
    assert profile.source is not None
    assert profile.source.url.startswith("https://")
    again = ModelProfile.from_json(profile.to_json())
    assert again == profile
    assert again.operators() is profile.operators()  # one table per shape, whoever asks


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(NotFound, match="gpt3-175b"):
        preset("gpt3-175")


def test_resnet50_costs_what_is_published() -> None:
    profile = preset("resnet50")
    assert profile.parameters == 25_557_032
    assert profile.forward_flop_per_sample == pytest.approx(2 * 4.089e9, rel=0.01)


def test_bert_scores_the_masked_words_alone() -> None:
    profile = preset("bert-large")
    assert profile.tokens(128).scored == 20
    assert profile.tokens(512).scored == 80
    assert profile.tokens(384).scored == pytest.approx(57.6)
    unpadded = profile.tokens(512, 256.0)
    assert unpadded.scored == pytest.approx(38.4)
    assert 256**2 < unpadded.squared < 512 * 256
    assert profile.tokens(512, 256.0, packed=True).squared == 512 * 256


@pytest.mark.parametrize(
    ("identifier", "multiplications"),
    [
        ("resnext101", 8.0e9),  # Xie et al. 2017; torchvision gives 8.0
        ("efficientnet-b0", 0.39e9),  # Tan and Le 2019, table 2
        ("efficientnet-b4", 4.39e9),  # torchvision
        ("efficientnet-b7", 37.75e9),  # torchvision
        ("vit-base", 17.56e9),  # torchvision
        ("vit-large", 61.55e9),  # torchvision
    ],
)
def test_image_models_cost_what_is_published(identifier: str, multiplications: float) -> None:
    assert preset(identifier).forward_flop_per_sample / 2 == pytest.approx(multiplications, rel=0.015)


@pytest.mark.parametrize(
    ("identifier", "active"),
    [
        ("deepseek-v3", 37e9 + 1.2e9),  # DeepSeek-AI 2024, with the layer of a further prediction
        ("qwen3-235b-a22b", 22e9),  # Yang et al. 2025
        ("llama4-maverick", 17e9),  # model card
        ("mixtral-8x22b", 39e9),  # model card
        ("gpt-oss-20b", 3.61e9 + 201_088 * 2880),  # OpenAI 2025, table 1, without the input embedding
        ("nemotron-3-nano", 3.6e9),  # technical report, with embeddings
        ("nemotron-3-super", 12_770_216_960 + 0.245e9),  # count of the released weights, with predictions
    ],
)
def test_mixtures_use_as_many_weights_as_published(identifier: str, active: float) -> None:
    assert preset(identifier).active_parameters == pytest.approx(active, rel=0.02)


def test_the_state_spaces_of_a_hybrid_grow_with_the_length_alone() -> None:
    profile = preset("nemotron-h-8b")
    short, long = profile.operators(profile.tokens(4096)), profile.operators(profile.tokens(8192))
    chunks = [place for place, name in enumerate(short.names) if name.startswith("state_chunk")]
    assert len(chunks) == 4
    for place in chunks:
        assert long.forward_flop[place] == 2 * short.forward_flop[place]
    attention = short.names.index("attention")
    assert long.forward_flop[attention] == 4 * short.forward_flop[attention]


def test_an_image_transformer_follows_the_image_size() -> None:
    profile = preset("vit-base")
    assert profile.operators(image_size=384).tokens == 24 * 24 + 1
    assert profile.operators(image_size=384).parameters > profile.parameters


def test_half_the_input_is_half_the_target_of_an_encoder_decoder() -> None:
    profile = preset("t5-large")
    full, half = profile.operators(profile.tokens(512)), profile.operators(profile.tokens(256))
    row = full.names.index("logits")
    assert full.rows[row] == 2 * half.rows[row] == 114


@pytest.mark.parametrize("identifier", list(presets()))
def test_every_preset_says_how_it_was_trained(identifier: str) -> None:
    profile = preset(identifier)
    published = profile.published
    assert (published.seq_len, published.image_size) == (profile.default_seq_len, profile.default_image_size)
    assert published.global_batch is not None
    assert published.amount is not None
    assert published.source is not None
    if published.assumed:
        assert published.amount.note  # what nobody published gives its reason
    if published.amount.recalled:
        assert "recalled, unverified" in published.amount.note


def test_no_training_is_stated_of_an_unknown_preset() -> None:
    assert set(load_training(data_directory())) <= set(presets())


@pytest.mark.parametrize(
    ("identifier", "workload", "batch_tokens"),
    [
        ("gpt3-175b", {"seq_len": 2048, "tokens": 300_000_000_000}, 3.2e6),
        ("llama-65b", {"seq_len": 2048, "tokens": 1_400_000_000_000}, 4e6),
        ("llama2-70b", {"seq_len": 4096, "tokens": 2_000_000_000_000}, 4e6),
        ("bloom-176b", {"seq_len": 2048, "tokens": 366_000_000_000}, 2048 * 2048),
    ],
)
def test_language_models_repeat_their_published_training(
    identifier: str, workload: dict[str, int], batch_tokens: float
) -> None:
    published = preset(identifier).published
    assert published.workload == workload
    assert published.global_batch is not None
    assert published.seq_len is not None
    assert published.global_batch * published.seq_len == pytest.approx(batch_tokens, rel=1e-3)


def test_image_models_and_targets_repeat_theirs() -> None:
    assert preset("bert-large").published.workload == {"seq_len": 512, "target": "mlperf-bert"}
    swin = preset("swin-t").published
    assert swin.workload == {"image_size": 224, "epochs": 300, "dataset_samples": 1_281_167}
    assert swin.samples == 300 * 1_281_167
    assert swin.global_batch == 1024
