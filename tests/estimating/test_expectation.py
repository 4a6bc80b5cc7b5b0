"""Two figures where the asker is unknown: published records, and what ordinary teams report."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.estimating.documents import Estimate
from app.estimating.effects import UNNAMED
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from tests.conftest import DATA, sizing_context

ASKED: dict[str, Any] = {
    "model": {"preset": "llama2-7b"},
    "workload": {"tokens": 1e10, "global_batch": 256, "seq_len": 4096},
    "system": {"id": "dgx-h100", "count": 2},
}


def asked(**changes: Any) -> Estimate:
    return estimate(EstimateRequest.model_validate({**ASKED, **changes}), sizing_context())


def test_without_software_the_headline_is_what_people_report_and_the_range_holds_both() -> None:
    found = asked()
    expectation, time = found.expectation, found.time_to_train
    assert expectation is not None and expectation.reported is not None and time is not None
    assert expectation.headline == "reported"
    assert time.value == expectation.reported.value >= expectation.tuned.value
    assert expectation.reported.high > expectation.tuned.high
    assert time.low <= min(expectation.tuned.low, expectation.reported.low)
    assert time.high >= max(expectation.tuned.high, expectation.reported.high)
    assert found.breakdown is not None
    assert sum(part.seconds for part in found.breakdown) == pytest.approx(time.value, rel=1e-6)


def test_naming_the_software_moves_to_published_records() -> None:
    unnamed = asked()
    named = asked(software=unnamed.software)
    assert unnamed.expectation is not None and named.expectation is not None
    assert named.expectation.headline == "tuned" and named.expectation.reported is None
    assert named.time_to_train is not None
    (effect,) = (effect for effect in unnamed.effects if effect.name == UNNAMED)
    assert effect.factor * named.time_to_train.value == pytest.approx(
        unnamed.expectation.tuned.value, rel=1e-3
    )
    assert all(effect.name != UNNAMED for effect in named.effects)


def test_a_benchmark_and_the_software_of_an_ipu_are_tuned() -> None:
    for changes in (
        {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}},
        {
            "model": {"preset": "bert-large"},
            "workload": {"samples": 1e8, "seq_len": 128},
            "system": {"id": "ipu-pod64"},
        },
    ):
        found = asked(**changes).expectation
        assert found is not None and (found.headline, found.reported) == ("tuned", None)


def test_an_open_plan_of_a_named_framework_keeps_the_tuned_value_in_a_range_over_both() -> None:
    large = {
        "workload": {"kind": "finetune", "epochs": 1, "dataset_samples": 50_000, "seq_len": 1024},
        "software": "huggingface",
    }
    open_plan = asked(**large)
    stated = asked(**large, plan={"sharding": "parameters"})
    assert open_plan.expectation is not None and stated.expectation is not None
    assert open_plan.expectation.headline == "tuned" and open_plan.expectation.reported is not None
    assert stated.expectation.reported is None
    assert open_plan.time_to_train is not None
    assert open_plan.time_to_train.high == pytest.approx(open_plan.expectation.reported.high)


def test_most_public_runs_lie_in_their_ranges() -> None:
    cases = json.loads((DATA / "validation" / "public-cases.json").read_text(encoding="utf-8"))
    assert len(cases) >= 20
    inside = 0
    for case in cases:
        found = estimate(EstimateRequest.model_validate(case["body"]), sizing_context())
        assert found.plan is not None and found.time_to_train is not None and found.step_time is not None
        truth = float(case["truth"])
        figure, scale = {
            "step": (found.step_time, 1.0),
            "h": (found.time_to_train, 1.0 / 3600.0),
            "img/s": (found.throughput, 1.0),
            "tok/s": (found.tokens_per_second, 1.0),
            "tok/s/dev": (
                found.tokens_per_second,
                1.0 / (found.plan.tensor * found.plan.pipeline * found.plan.data),
            ),
        }[case["metric"]]
        assert figure is not None
        inside += figure.low * scale <= truth <= figure.high * scale
    assert inside / len(cases) >= 0.68
