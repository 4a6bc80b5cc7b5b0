"""Calibration end to end: from measured runs to a narrower estimate with another software profile."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from app.errors import AppError, BadInput, NotFound
from app.estimating.calibrated import profile_from_json, profile_to_json
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest
from app.features.calibration.fitting import CalibrationResult, calibrate
from app.features.calibration.gain import measured_gain
from app.features.calibration.model import CalibrationAnswer, CalibrationRequest, GainRequest
from tests.conftest import sizing_context
from tests.support.calibrations import (
    NAME,
    TARGET,
    after,
    calibrated,
    runs_of,
    step_seconds,
)


def width(found: Estimate | CalibrationAnswer) -> float:
    time = found.time_to_train if isinstance(found, Estimate) else found.before.time_to_train
    assert time is not None
    return math.log(time.high / time.low)


def codes(found: CalibrationResult) -> list[str]:
    return [warning.code for warning in found.answer.warnings]


def test_runs_as_predicted_move_nothing_and_make_the_range_narrower() -> None:
    found = calibrated(runs_of((1.0, 1.0, 1.0)))
    assert found.answer.gap_before == pytest.approx(0.0, abs=1e-9)
    assert all(abs(figure.deviations) < 0.01 for figure in found.answer.moved)
    assert width(after(found)) < 0.9 * width(found.answer)
    assert codes(found) == []
    assert after(found).validation.status == "validated", "the stack has been measured"


@pytest.mark.parametrize("factor", [0.85, 1.2, 1.35])
def test_runs_that_agree_close_the_gap_and_move_the_estimate(factor: float) -> None:
    found = calibrated(runs_of((factor, factor, factor)))
    answer = found.answer
    assert answer.gap_after < 0.25 * answer.gap_before
    assert answer.after.step_time is not None
    named = EstimateRequest.model_validate({**TARGET, "software": "gpu-flash"})
    moved = answer.after.step_time.value / step_seconds(named)
    assert moved == pytest.approx(factor, rel=0.08)
    assert answer.spread_after < 0.5 * answer.spread_before
    assert math.log(answer.after.step_time.high / answer.after.step_time.low) < width(answer)


def test_figures_of_another_stack_are_found_from_its_small_runs() -> None:
    """Runs computed with the eager class calibrate the default: a large one follows."""
    found = calibrated(runs_of((1.0, 1.0, 1.0), software="gpu-eager"))
    truth = step_seconds(EstimateRequest.model_validate({**TARGET, "software": "gpu-eager"}))
    before, later = found.answer.before.step_time, found.answer.after.step_time
    assert before is not None and later is not None
    assert abs(later.value / truth - 1.0) < 0.3 * abs(before.value / truth - 1.0)
    assert later.low <= truth <= later.high
    moved = {figure.parameter: figure for figure in found.answer.moved}
    assert moved["elementwise_factor"].posterior > moved["elementwise_factor"].prior


def test_a_later_estimate_says_what_the_answer_said() -> None:
    found = calibrated(runs_of((1.2, 1.2, 1.2)))
    assert after(found).step_time == found.answer.after.step_time
    assert after(found).software == NAME


def test_a_kept_profile_gives_the_same_estimate() -> None:
    found = calibrated(runs_of((1.2, 1.25, 1.2)))
    written = json.loads(json.dumps(profile_to_json(found.profile)))
    read = profile_from_json(NAME, written, sizing_context().software)
    again = CalibrationResult(found.answer, read)
    assert after(again).model_dump() == after(found).model_dump()


def test_elsewhere_the_narrow_range_does_not_hold() -> None:
    """Another family, and a machine of another chip, keep at least the range of the class."""
    found = calibrated(runs_of((1.0, 1.0, 1.0)))
    narrow = width(after(found))
    other = {"model": {"preset": "gpt2-1.5b"}, "workload": {"tokens": 1e10, "global_batch": 512}}
    assert width(after(found, **other)) > 1.1 * narrow
    assert width(after(found, system={"id": "dgx1-v100"}, workload=TARGET["workload"])) > 1.1 * narrow


def test_parts_of_a_calibrated_estimate_add_up() -> None:
    made = after(calibrated(runs_of((1.3, 1.3, 1.3))))
    assert made.breakdown is not None and made.time_to_train is not None
    assert sum(part.seconds for part in made.breakdown) == pytest.approx(made.time_to_train.value, rel=1e-9)


def test_throughput_and_step_time_are_the_same_measurement() -> None:
    seconds = runs_of((1.1,))
    rate = [{**seconds[0], "samples_per_s": 512 / seconds[0]["step_time_s"]}]
    del rate[0]["step_time_s"]
    one, other = calibrated(seconds).answer, calibrated(rate).answer
    assert one.gap_after == pytest.approx(other.gap_after, rel=1e-9)


def test_a_run_on_ipus_calibrates_ipus() -> None:
    pod = {
        "model": {"preset": "bert-large"},
        "workload": {"samples": 1e8, "seq_len": 128},
        "system": {"id": "ipu-pod64"},
    }
    predicted = estimate(
        EstimateRequest.model_validate({**pod, "system": {"id": "ipu-pod16"}}), sizing_context()
    )
    assert predicted.throughput is not None
    run = {"samples_per_s": predicted.throughput.value / 1.15, "system": "ipu-pod16"}
    answer = calibrated([run], **pod).answer
    assert answer.gap_before == pytest.approx(0.14, abs=0.01)
    assert answer.gap_after < 0.3 * answer.gap_before


def test_what_cannot_be_is_warned_of() -> None:
    assert "calibration_implausible" in codes(calibrated(runs_of((4.0, 4.0, 4.0))))
    assert "calibration_implausible" in codes(
        calibrated(runs_of((1.6, 1.6, 1.6), software="mlperf-bert"), software="mlperf-bert")
    )


def test_runs_that_disagree_are_warned_of_and_widen_the_range() -> None:
    agreed, torn = calibrated(runs_of((1.2, 1.2, 1.2))), calibrated(runs_of((1.2, 2.2, 1.2)))
    assert "calibration_scatter" in codes(torn) and "calibration_scatter" not in codes(agreed)
    (warning,) = (one for one in torn.answer.warnings if one.code == "calibration_scatter")
    assert warning.fields == ["runs.1"]
    assert width(after(torn)) > 1.2 * width(after(agreed))


def test_a_single_run_and_a_far_target_are_warned_of() -> None:
    alone = calibrated(runs_of((1.1,)), system={"id": "dgx-a100-640gb", "count": 32})
    assert {"calibration_single_run", "calibration_extrapolates"} <= set(codes(alone))
    assert codes(calibrated(runs_of((1.1, 1.1, 1.1)))) == []


def test_a_run_that_should_not_have_fitted_is_warned_of() -> None:
    run = {
        "step_time_s": 3.0,
        "system": {"count": 1},
        "workload": {"global_batch": 8192},
        "plan": {
            **{"micro_batch": 1024, "data": 8, "tensor": 1, "recompute": "none"},
            **dict.fromkeys(("offload", "offload_parameters", "offload_activations"), False),
        },
    }
    assert "calibration_does_not_fit" in codes(calibrated([run]))


@pytest.mark.parametrize(
    ("run", "field"),
    [
        ({}, "runs.0.samples_per_s"),
        ({"samples_per_s": 1.0, "step_time_s": 1.0}, "runs.0.samples_per_s"),
        ({"step_time_s": 1.0, "system": "ipu-pod16"}, "runs.0.system.id"),
        ({"step_time_s": 1.0, "system": {"count": 0}}, "runs.0.system.count"),
        ({"step_time_s": 1.0, "workload": {"global_batch": 0}}, "runs.0.workload.global_batch"),
        ({"step_time_s": 1.0, "plan": {"tensor": 3}}, "runs.0.plan.tensor"),
    ],
)
def test_a_run_that_cannot_be_is_refused_at_its_field(run: dict[str, Any], field: str) -> None:
    with pytest.raises(AppError) as caught:
        calibrated([run])
    assert field in {one.field for one in caught.value.errors}


def test_an_unknown_system_of_a_run_is_not_found() -> None:
    with pytest.raises(NotFound) as caught:
        calibrated([{"step_time_s": 1.0, "system": {"id": "dgx-a100-641gb"}}])
    assert caught.value.errors[0].field == "runs.0.system.id"
    assert "dgx-a100-640gb" in str(caught.value)


def test_what_has_no_steps_or_is_calibrated_already_is_refused() -> None:
    with pytest.raises(BadInput) as refused:
        calibrated([{"step_time_s": 1.0}], model={"total_flop": 1e20}, workload={})
    assert refused.value.errors[0].field == "estimate.model.total_flop"
    first = calibrated(runs_of((1.1,)))
    context = replace(sizing_context(), find_calibration=lambda _: first.profile)
    request = CalibrationRequest.model_validate(
        {"estimate": {**TARGET, "software": NAME}, "runs": [{"step_time_s": 1.0}]}
    )
    with pytest.raises(BadInput) as caught:
        calibrate(request, context, "cal_second")
    assert caught.value.errors[0].field == "estimate.software"


SEED: dict[str, Any] = {
    "system": "dgx-a100-640gb",
    "reference": "roce",
    "threshold": 0.05,
    "runs": {"infiniband": [1003, 998, 999], "roce": [985, 990, 980]},
}
"""Journey 1: means of 1,000 and 985."""


def test_a_gain_under_the_threshold_recommends_the_reference() -> None:
    found = measured_gain(GainRequest.model_validate(SEED), sizing_context().catalog, "cal_gain")
    assert found.relative_gain == pytest.approx(1000 / 985 - 1)
    assert (found.recommendation, found.warnings) == ("roce", [])


def test_a_gain_over_the_threshold_turns_the_recommendation() -> None:
    body = {**SEED, "runs": {"infiniband": [1003, 998, 999], "roce": [700, 700, 700]}}
    found = measured_gain(GainRequest.model_validate(body), sizing_context().catalog, "cal_gain")
    assert found.relative_gain == pytest.approx(0.4286, abs=1e-4)
    assert found.recommendation == "infiniband"


@pytest.mark.parametrize(
    ("runs", "code"),
    [
        ({"infiniband": [1000], "roce": [985]}, "gain_few_runs"),
        ({"infiniband": [1100, 1000, 900], "roce": [985, 990, 980]}, "gain_within_scatter"),
        ({"infiniband": [1050, 1040, 1020], "roce": [985, 990, 980]}, "gain_near_threshold"),
    ],
)
def test_a_gain_that_is_not_clear_is_warned_of(runs: dict[str, list[float]], code: str) -> None:
    found = measured_gain(
        GainRequest.model_validate({**SEED, "runs": runs}), sizing_context().catalog, "cal_gain"
    )
    assert code in {warning.code for warning in found.warnings}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"reference": "ethernet"}, "reference"),
        ({"system": "dgx"}, "system"),
        ({"system": {"id": "dgx"}}, "system.id"),
    ],
)
def test_a_gain_that_cannot_be_is_refused_at_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(AppError) as caught:
        measured_gain(GainRequest.model_validate({**SEED, **change}), sizing_context().catalog, "cal_gain")
    assert caught.value.errors[0].field == field


def test_units_of_a_measurement_are_one_another() -> None:
    seconds = runs_of((1.1,))[0]
    step, batch = seconds["step_time_s"], 512
    rest = {name: value for name, value in seconds.items() if name != "step_time_s"}
    gaps = [
        calibrated([{**rest, **measured}]).answer.gap_before
        for measured in (
            {"step_time_s": step},
            {"step_time_ms": 1000 * step},
            {"samples_per_s": batch / step},
            {"tokens_per_s": 128 * batch / step},
            {"samples_per_s_per_device": batch / step / 8},
            {"tokens_per_s_per_device": 128 * batch / step / 8},
        )
    ]
    assert all(gap == pytest.approx(gaps[0], rel=1e-6) for gap in gaps)


def test_a_run_faster_than_its_devices_is_refused() -> None:
    seconds = runs_of((1.0,))[0]
    with pytest.raises(BadInput) as refused:
        calibrated([{**seconds, "step_time_s": seconds["step_time_s"] / 10}])
    assert refused.value.errors[0].field == "runs.0.step_time_s"


@pytest.mark.parametrize("factors", [(1.0, 1.25, 1.5), (0.9, 1.3, 1.3), (1.6, 1.6, 1.6)])
def test_own_runs_lie_in_their_own_ranges_and_doubts_travel(factors: tuple[float, float, float]) -> None:
    runs = runs_of(factors)
    found = calibrated(runs)
    for run in runs:
        changes = {"system": {**TARGET["system"], **run["system"]}}
        changes |= {"workload": {**TARGET["workload"], **run["workload"]}}
        step = after(found, **changes).step_time
        assert step is not None and step.low <= run["step_time_s"] <= step.high
    doubted = "calibration_implausible" in codes(found)
    answer = after(found)
    assert ("calibration_implausible" in [warning.code for warning in answer.warnings]) == doubted
    assert not doubted or answer.validation.status != "validated"


def test_a_slow_network_is_named_with_the_rate_it_would_need() -> None:
    """Nodes of 8 H100 at 9,600, 3,000 and 1,000 tokens a second and device on one, two and eight of them."""
    asked = {
        "model": {"preset": "llama2-7b"},
        "workload": {"tokens": 1e9, "global_batch": 128, "seq_len": 4096},
        "system": {"id": "dgx-h100", "count": 8},
        "plan": {"tensor": 1, "pipeline": 1, "micro_batch": 2, "recompute": "none", "sharding": "parameters"},
        "software": "fsdp-compile",
    }
    runs = [
        {
            "tokens_per_s_per_device": rate,
            "system": {"count": count},
            "workload": {"global_batch": 16 * count},
            "plan": {"sharding_ranks": 8},
        }
        for count, rate in ((1, 9600.0), (2, 3000.0), (8, 1000.0))
    ]
    found = calibrated(runs, **asked)
    first = found.answer.causes[0]
    assert first.cause == "network" and first.needs is not None and first.usual is not None
    assert first.needs.value < 0.1 * first.usual.value
    assert "calibration_implausible" in codes(found)
    later = after(
        found,
        **asked,
    )
    assert "calibration_implausible" in [warning.code for warning in later.warnings]
    assert later.validation.status != "validated"
