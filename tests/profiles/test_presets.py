"""Parameter counts of the presets against the counts their authors publish."""

import pytest

from app.errors import NotFound
from app.profiles.model import ModelProfile
from app.profiles.presets import preset, presets

COUNTED_DIFFERENTLY = 0.03
"""Largest gap where the publication rounds or counts other parts, as its note says."""


@pytest.mark.parametrize("identifier", list(presets()))
def test_parameters_are_those_published(identifier: str) -> None:
    profile = preset(identifier)
    assert profile.published is not None
    allowed = COUNTED_DIFFERENTLY if profile.published.note else 0.01
    assert profile.parameters == pytest.approx(profile.published.parameters, rel=allowed)


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
