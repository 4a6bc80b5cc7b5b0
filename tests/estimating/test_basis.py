"""What an estimate says of its ground: what it rests on, how far that was off, what measuring would gain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.estimating.basis import basis_error
from app.estimating.context import SizingContext
from app.estimating.documents import Estimate
from app.estimating.estimate import estimate
from app.estimating.nearest import NAMED
from app.estimating.ranges import significant
from app.estimating.regimes import CORE_FAMILIES, chip_series
from app.estimating.request import EstimateRequest
from app.features.accuracy.agreement import counted
from app.features.accuracy.predictions import read_predictions
from app.platform.wording.voice import voice
from tests.conftest import DATA, codes, seconds
from tests.conftest import H200 as OWN
from tests.support.calibrations import NAME, calibrated, runs_of
from tests.support.calibrations import after as after_calibrating

LLAMA: dict[str, Any] = {
    "model": {"preset": "llama2-70b"},
    "workload": {"tokens": 1e11, "global_batch": 1024, "seq_len": 4096},
}
MLPERF = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}


def ask(context: SizingContext, **request: Any) -> Estimate:
    return estimate(EstimateRequest.model_validate(request), context)


def on(context: SizingContext, system: str, software: str | None = "megatron-core") -> Estimate:
    return ask(context, **LLAMA, system={"id": system, "count": 8}, software=software)


@pytest.mark.parametrize(
    ("system", "software", "basis"),
    [
        ("dgx-h100", "megatron-core", "measured_here"),
        ("dgx-h100", None, "chip_elsewhere"),
        ("dgx-h100", "megatron-2022", "software_elsewhere"),
        ("dgx-h200", "megatron-core", "data_sheet"),
        ("dgx-h200", None, "data_sheet"),
    ],
)
def test_llama_rests_on(context: SizingContext, system: str, software: str | None, basis: str) -> None:
    found = on(context, system, software).validation
    assert found.basis == basis
    assert (found.status == "unvalidated") == (basis == "data_sheet")


def test_the_stack_of_mlperf_was_measured_on_its_machine_named_or_brought(context: SizingContext) -> None:
    system = {"id": "dgx-a100-640gb"}
    for software in ("mlperf-bert", None):
        found = ask(context, **MLPERF, system=system, software=software).validation
        assert found.basis == "measured_here" and not found.software_presumed
        assert found.basis_text is not None and "with this software" in found.basis_text.message
    work = {**MLPERF, "workload": {"samples": 1e8, "seq_len": 512}}
    unnamed = ask(context, **work, system=system).validation
    assert unnamed.basis == "chip_elsewhere" and unnamed.software_presumed


def test_an_ipu_runs_its_makers_software_named_or_not(context: SizingContext) -> None:
    found = ask(context, **MLPERF, system={"id": "bow-pod16"})
    assert found.validation.software_presumed and found.validation.basis == "measured_here"


def test_a_far_larger_run_was_not_measured_here(context: SizingContext) -> None:
    far = ask(context, **LLAMA, system={"id": "dgx-h100", "count": 4096}, software="mlperf-nemo")
    near = ask(context, **LLAMA, system={"id": "dgx-h100", "count": 8}, software="mlperf-nemo")
    assert (near.validation.basis, far.validation.basis) == ("measured_here", "software_elsewhere")


def test_an_own_accelerator_rests_on_its_data_sheet(context: SizingContext) -> None:
    own = replace(context, catalog=context.catalog.with_own([OWN]))
    found = on(own, OWN.id)
    assert found.validation.basis == "data_sheet"
    assert "from_data_sheet" in codes(found) and found.validation.three_steps is not None


def test_a_bare_figure_rests_on_nothing_that_was_run(context: SizingContext) -> None:
    found = ask(context, model={"total_flop": 3e23}, system={"id": "dgx-a100-640gb"}).validation
    assert (found.basis, found.basis_text, found.basis_error, found.three_steps) == (None,) * 4


def test_own_runs_are_their_own_ground_and_need_no_advice() -> None:
    found = after_calibrating(calibrated(runs_of((1.0, 1.0, 1.0))))
    assert found.software == NAME and found.validation.basis == "own_runs"
    assert found.validation.basis_error is None and found.validation.three_steps is None
    elsewhere = after_calibrating(calibrated(runs_of((1.0, 1.0, 1.0))), system={"id": "dgx-h100"})
    assert elsewhere.validation.basis == "software_elsewhere", "the class was measured, but not here"


def test_the_error_is_of_runs_left_out_in_the_way_that_fits(context: SizingContext) -> None:
    runs = [run for run in counted(read_predictions(DATA)) if run.family in CORE_FAMILIES]
    newer = [run for run in runs if chip_series(run.chip) not in context.measured.series]
    for system, kind in (("dgx-h100", "laboratory"), ("dgx-h200", "chip")):
        found = on(context, system).validation.basis_error
        assert found is not None and (found.left_out, found.families, found.chips) == (kind, "core", "newer")
        if kind == "laboratory":
            # A family with runs on the chip itself has their error, everywhere.
            own = context.family_errors["llama", "h100-sxm-80gb", NAMED]
            assert (found.runs, found.groups, found.median) == (own.runs, own.groups, own.median)
            continue
        errors = [error for run in newer if (error := run.error(f"{kind}_left_out")) is not None]
        assert found.runs == len(errors)
        assert found.groups == len({run.group for run in newer if run.error(f"{kind}_left_out") is not None})
        # Each group counts once there and each run here, so that they are near and not equal.
        assert found.median == pytest.approx(float(np.median(np.abs(errors))), rel=0.5)
        assert found.median < found.ninetieth < 0.6


def test_other_families_and_the_chips_of_the_fit_have_errors_of_their_own(context: SizingContext) -> None:
    errors = context.left_out
    assert {key for key in errors if key[0] == "chip"} == {
        ("chip", "core", "newer"),
        ("chip", "other", "newer"),
    }
    of_sets = [
        basis_error("measured_here", errors, families, chips)
        for families in ("core", "other")
        for chips in ("fitted", "newer")
    ]
    assert len({one.median for one in of_sets if one is not None}) == len(of_sets)
    assert basis_error("own_runs", errors, "core", "fitted") is None


def test_three_steps_gain_what_a_calibration_with_three_runs_as_predicted_does(
    context: SizingContext,
) -> None:
    asked = {
        "model": {"preset": "bert-large"},
        "workload": {"samples": 1e8, "global_batch": 1024, "seq_len": 128},
        "system": {"id": "dgx-a100-640gb"},
    }
    before = ask(context, **asked)
    gain = before.validation.three_steps
    assert gain is not None and before.step_time is not None
    tuned = ask(context, **asked, software=before.software).step_time
    assert tuned is not None
    runs = [{"step_time_s": tuned.value}] * 3
    after = after_calibrating(calibrated(runs, **asked), **asked)
    for found, width in ((before, gain.now), (after, gain.after)):
        time = found.time_to_train
        assert time is not None
        assert (time.high - time.low) / (2 * time.value) == pytest.approx(width, rel=1e-3)
    assert gain.after < 0.8 * gain.now
    assert gain.text is not None
    assert gain.text.values == {
        "now": significant(100 * gain.now, 2),
        "after": significant(100 * gain.after, 2),
    }


def test_where_a_range_is_narrow_already_nothing_is_advised(context: SizingContext) -> None:
    found = ask(context, **MLPERF, system={"id": "dgx-a100-640gb"}, software="mlperf-bert")
    assert found.validation.three_steps is None


def test_what_runs_of_a_chip_take_beyond_its_data_sheet_is_told_with_its_runs(context: SizingContext) -> None:
    found = on(context, "dgx-b200")
    (effect,) = found.effects
    (row,) = (row for row in context.effects.rows if row.name == "Blackwell")
    assert (effect.kind, effect.factor, effect.source.id) == ("architecture", row.factor, "rackline-fit")
    assert row.note.startswith(f"{effect.runs} runs in {effect.groups} groups")
    percent = round(100.0 * (effect.factor - 1.0))
    said = f"{effect.runs} measured runs of chips of this architecture take {percent} % longer"
    assert said in effect.text.message
    (step,) = (step for step in found.trace if step.name == "architecture_effect")
    assert (
        step.value == effect.factor and step.inputs["runs"] == effect.runs and step.source == [effect.source]
    )
    without = replace(context, effects=replace(context.effects, rows=()))
    shorter = on(without, "dgx-b200")
    assert seconds(found) / seconds(shorter) == pytest.approx(effect.factor, rel=0.02)
    assert shorter.effects == [] and all(step.name != "architecture_effect" for step in shorter.trace)


def test_faster_runs_and_families_are_told_too(context: SizingContext) -> None:
    work = {"workload": {"samples": 1e8, "global_batch": 4096}, "system": {"id": "l40s-8", "count": 2}}
    told = {effect.kind: effect for effect in ask(context, model={"preset": "vit-large"}, **work).effects}
    assert "less time" in told["architecture"].text.message and told["architecture"].factor < 1.0
    assert "longer" in told["family"].text.message and told["family"].factor > 1.0


def test_korean_readers_get_the_same_figures(context: SizingContext) -> None:
    found = on(context, "dgx-h200")
    text, error = found.validation.basis_text, found.validation.basis_error
    assert text is not None and error is not None
    said = voice("ko").sentence(text)
    for share in (error.median, error.ninetieth):
        assert f"{significant(100 * share, 2):g}%" in said
    assert "데이터시트" in said and not set("{}") & set(said)
    gain = found.validation.three_steps
    assert gain is not None and gain.text is not None
    assert f"±{significant(100 * gain.after, 2):g}%" in voice("ko").sentence(gain.text)
