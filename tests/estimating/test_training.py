"""What is trained is said and never silently absurd: targets, lengths, and times that make no sense."""

from typing import Any

import pytest

from app.engine.units import YEAR
from app.errors import BadInput, Unprocessable
from app.estimating.estimate import estimate, seconds_to_train
from app.estimating.ranges import count_of, duration
from app.estimating.request import EstimateRequest
from app.estimating.workload import targets_of
from app.features.workloads.suggestions import starting_counts, usual_training
from app.profiles.config import config_profile
from app.profiles.presets import preset, presets
from tests.conftest import codes, seconds, sizing_context, warning

QWEN2_7B = {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "intermediate_size": 18944,
    "vocab_size": 152064,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}

DAY = 86_400.0


def request(model: object, workload: dict[str, Any], count: int = 1, **more: Any) -> EstimateRequest:
    given = {"preset": model} if isinstance(model, str) else {"config": model}
    system = {"id": "dgx-a100-640gb", "count": count}
    return EstimateRequest.model_validate({"model": given, "workload": workload, "system": system, **more})


def test_bert_with_the_target_of_resnet_is_refused_with_its_own() -> None:
    with pytest.raises(BadInput) as refused:
        estimate(request("bert-large", {"target": "mlperf-resnet50"}), sizing_context())
    assert refused.value.errors[0].field == "workload.target"
    assert "mlperf-resnet50" in refused.value.message.values.values()
    assert refused.value.status == 400
    assert "choose mlperf-bert" in str(refused.value)


@pytest.mark.parametrize(
    ("model", "target"),
    [("bert-base", "mlperf-bert"), ("resnet18", "mlperf-resnet50"), ("dlrm", "mlperf-ssd")],
)
def test_a_smaller_model_of_the_family_does_not_reach_the_target(model: str, target: str) -> None:
    with pytest.raises(BadInput, match="is a target for"):
        estimate(request(model, {"target": target}), sizing_context())


def test_an_upload_of_the_same_network_may_use_its_target() -> None:
    large = {
        "model_type": "bert",
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
        "vocab_size": 30522,
        "max_position_embeddings": 512,
    }
    assert targets_of(config_profile(large), sizing_context().catalog) == ["mlperf-bert"]


def test_every_target_is_one_of_its_own_model_and_every_published_target_is_accepted() -> None:
    catalog = sizing_context().catalog
    for name in catalog.names("target"):
        assert name in targets_of(preset(catalog.convergence(name).model), catalog)
    for profile in presets().values():
        target = profile.published.target
        assert target is None or target in targets_of(profile, catalog)


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        ("resnet50", "seq_len", 128),
        ("resnet50", "mean_tokens", 64),
        ("dlrm", "seq_len", 128),
        ("dlrm", "image_size", 224),
        ("bert-large", "image_size", 224),
    ],
)
def test_a_length_or_image_size_the_model_has_no_use_for_is_refused(
    model: str, field: str, value: int
) -> None:
    with pytest.raises(BadInput, match="does not take") as refused:
        estimate(request(model, {"samples": 1e6, field: value}), sizing_context())
    assert refused.value.errors[0].field == f"workload.{field}"
    assert refused.value.status == 400


def test_qwen2_upload_takes_no_position_limit_for_a_training_length() -> None:
    found = estimate(request(QWEN2_7B, {"tokens": 1e9}), sizing_context())
    assert found.model.seq_len == 4096
    (default,) = (one for one in found.defaults if one.field == "workload.seq_len")
    assert default.value == 4096
    assert "131,072 positions" in default.why
    assert "published" not in default.why
    assert not any("131072 tokens" in text.message for text in found.model.assumptions)
    asked = estimate(request(QWEN2_7B, {"tokens": 1e9, "seq_len": 131072}, count=4), sizing_context())
    assert asked.model.seq_len == 131072
    assert not any(one.field == "workload.seq_len" for one in asked.defaults)


def test_a_limit_below_the_cap_is_taken_and_said_to_be_one() -> None:
    found = estimate(request(QWEN2_7B | {"max_position_embeddings": 2048}, {"tokens": 1e9}), sizing_context())
    (default,) = (one for one in found.defaults if one.field == "workload.seq_len")
    assert default.value == 2048
    assert "published" not in default.why


def test_gpt3_study_of_the_issue_is_warned_of_and_starts_sensibly() -> None:
    context = sizing_context()
    found = estimate(request("gpt3-175b", {"tokens": 3.49e12}, count=2), context)
    said = warning(found, "longer_than_amortisation")
    assert said.severity == "serious"
    assert "years" in said.message
    count = int(said.message.split(" × ")[0].rsplit(" ", 1)[1])
    within = seconds_to_train(request("gpt3-175b", {"tokens": 3.49e12}, count=count), context)
    assert within is not None
    assert within <= YEAR
    training = usual_training(preset("gpt3-175b"), context.catalog)
    assert training.workload["tokens"] == 300_000_000_000
    assert "300 billion" in str(training.why)
    counts = starting_counts({"preset": "gpt3-175b"}, training.workload, ["dgx-a100-640gb"], context)
    start = seconds_to_train(request("gpt3-175b", dict(training.workload), counts["dgx-a100-640gb"]), context)
    assert start is not None
    assert start <= 90 * DAY
    fewer = dict(training.workload), counts["dgx-a100-640gb"] - 1
    late = seconds_to_train(request("gpt3-175b", *fewer), context)
    assert late is None or late > 90 * DAY


def test_more_than_a_year_is_warned_of_where_the_system_is_rented() -> None:
    found = estimate(
        request("gpt3-175b", {"tokens": 300e9}, count=2, assumptions={"acquisition": "rent"}),
        sizing_context(),
    )
    assert seconds(found) > YEAR
    assert "longer_than_a_year" in codes(found)
    assert "longer_than_amortisation" not in codes(found)
    short = estimate(request("gpt3-175b", {"tokens": 300e9}, count=32), sizing_context())
    assert not {"longer_than_a_year", "longer_than_amortisation"} & codes(short)


def test_a_shorter_amortisation_is_exceeded_sooner() -> None:
    asked = request("llama-7b", {"tokens": 300e9}, assumptions={"amortisation_years": 0.1})
    assert "longer_than_amortisation" in codes(estimate(asked, sizing_context()))


def test_a_bare_division_of_years_is_warned_of() -> None:
    asked = EstimateRequest.model_validate(
        {
            "model": {"total_flop": 3.14e23},
            "system": {"id": "dgx-a100-640gb"},
            "assumptions": {"utilization": 0.4},
        }
    )
    found = estimate(asked, sizing_context())
    count = int(found.warnings[-1].message.split(" × ")[0].rsplit(" ", 1)[1])
    assert seconds(found) / count <= YEAR < seconds(found) / (count - 1)


@pytest.mark.parametrize("model", ["gpt3-175b", "swin-t", "megatron-22b", "dlrm"])
def test_what_is_missing_offers_the_published_training(model: str) -> None:
    with pytest.raises(Unprocessable) as refused:
        estimate(request(model, {}, count=8), sizing_context())
    said = str(refused.value)
    assert refused.value.errors[0].field == "workload"
    assert all(f'"{name}"' in said for name in preset(model).published.workload)
    assert ("published training" in said) is not preset(model).published.assumed


def test_what_is_trained_is_said_in_words() -> None:
    found = estimate(request("llama-7b", {"tokens": 1e12}), sizing_context())
    assert found.trained is not None
    values = found.trained.values
    assert (values["tokens"]["values"]["count"], values["seq_len"]) == (1e12, 2048)
    bert = estimate(request("bert-large", {"target": "mlperf-bert"}), sizing_context())
    assert bert.trained is not None
    assert "mlperf" in str(bert.trained.values).lower()


def test_an_upload_starts_from_what_is_usual_marked_as_an_assumption() -> None:
    training = usual_training(config_profile(QWEN2_7B), sizing_context().catalog)
    assert training.assumed
    assert training.workload["seq_len"] == 4096
    assert training.workload["tokens"] == pytest.approx(20 * 7.6e9, rel=0.01)


def test_times_and_counts_are_said_as_people_say_them() -> None:
    assert str(duration(4010 * DAY)) == "11 years"
    assert str(duration(700 * DAY)) == "700 days"
    assert str(count_of(3.49e12)) == "3.49 trillion"
