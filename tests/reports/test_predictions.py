"""Runs beside their predictions: the file, the errors computed from it, chains, pairs and reasons."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine.uncertainty import shape_error, wilson_interval
from app.estimating.context import SizingContext, load_context
from app.estimating.nearest import load_outcomes
from app.estimating.regimes import CORE_FAMILIES
from app.estimating.validation.run import SLOWER_IS_MORE, summary
from app.features.accuracy.agreement import (
    SCALE_CODES,
    ChainPoint,
    RunChoice,
    agreement,
    cells,
    chains,
    counted,
    ranking,
    replicate_deviation,
    scale_of,
    scaled,
    worst,
)
from app.features.accuracy.document import accuracy_document, throughput
from app.features.accuracy.evidence import AccuracyEvidence, collect
from app.features.accuracy.predictions import (
    KINDS,
    Prediction,
    load_patterns,
    predictions_of,
    predictions_text,
    read_predictions,
    reason_texts,
)

DATA = Path(__file__).parents[2] / "data"

REPEATS = load_patterns(DATA / "validation" / "repeats.csv")


@pytest.fixture(scope="module")
def context() -> SizingContext:
    return load_context(DATA)


@pytest.fixture(scope="module")
def evidence(context: SizingContext) -> AccuracyEvidence:
    return collect(context, DATA)


def run(**more: object) -> Prediction:
    """Return a run of one chain: 100 samples/s measured, predicted as it was measured."""
    usual = Prediction(
        id="a",
        group="g",
        family="bert",
        model="BERT",
        chip="a100-sxm-80gb",
        system="dgx-a100-80g",
        devices=8,
        metric="samples_per_s",
        software="NGC",
        profile="ngc-pytorch",
        length="512",
        precision="fp16",
        batch=64.0,
        plan="",
        scope="counted",
        status="predicted",
        regimes="gpu_profile_known",
        reason="",
        measured=100.0,
        predicted=100.0,
        low=90.0,
        high=110.0,
        log_error=0.0,
        group_left_out=0.1,
        software_unknown=None,
        fitted_on_one_machine=None,
    )
    return replace(usual, **more)  # type: ignore[arg-type]


def scaling(*rates: tuple[int, float, float]) -> list[Prediction]:
    """Return a chain from devices, measured and predicted rate."""
    return [
        run(
            id=f"r{place}",
            group=f"g{place}",
            devices=devices,
            measured=measured,
            predicted=predicted,
            log_error=math.log(predicted / measured),
        )
        for place, (devices, measured, predicted) in enumerate(rates)
    ]


def test_every_measured_row_is_in_the_file_once_and_sorted(evidence: AccuracyEvidence) -> None:
    names = [one.id for one in evidence.predictions]
    assert names == sorted(set(evidence.configurations)) and len(set(names)) == len(names)


def test_the_file_is_read_as_it_was_written(evidence: AccuracyEvidence, tmp_path: Path) -> None:
    (tmp_path / "validation").mkdir()
    text = predictions_text(evidence.predictions)
    (tmp_path / "validation" / "predictions.csv").write_text(text, encoding="utf-8")
    assert read_predictions(tmp_path) == evidence.predictions
    assert read_predictions(tmp_path / "nowhere") == ()


def test_tiny_differences_between_machines_do_not_show_in_the_file(evidence: AccuracyEvidence) -> None:
    def moved(scope: str, row: object) -> tuple[str, object]:
        value = row.predicted  # type: ignore[attr-defined]
        return scope, row if value is None else replace(row, predicted=value * (1 + 1e-13))  # type: ignore[type-var]

    rows = [("counted", row) for row in (*evidence.headline.rows, *evidence.newer.rows)]
    rows += [("apart", row) for row in evidence.apart.rows]
    reasons = load_patterns(DATA / "validation" / "reasons.csv")
    again = predictions_of(
        [moved(*one) for one in rows],  # type: ignore[misc]
        evidence.configurations,
        DATA / "validation" / "held_out.csv",
        reasons,
    )
    assert predictions_text(again) == predictions_text(evidence.predictions)


def test_a_chain_is_that_of_the_validation(evidence: AccuracyEvidence) -> None:
    rows = {row.id: row for row in (*evidence.headline.rows, *evidence.newer.rows, *evidence.apart.rows)}
    for one in evidence.predictions:
        if one.status == "predicted":
            assert one.chain == rows[one.id].chain and one.regimes.split() == [*rows[one.id].regimes]


def test_figures_are_those_of_the_validation(evidence: AccuracyEvidence) -> None:
    rows = [*throughput(evidence.headline), *throughput(evidence.newer)]
    known = summary("", [row for row in rows if row.family in CORE_FAMILIES])
    found = agreement(filter(RunChoice(family="core").holds, counted(evidence.predictions)), "in_sample")
    assert (found.runs, found.groups) == (known.supported, known.groups)
    for name in ("median", "ninetieth", "bias", "coverage"):
        assert getattr(found, name) == pytest.approx(getattr(known, name), abs=2e-3)


def test_left_out_errors_count_in_the_unit_of_the_metric(evidence: AccuracyEvidence) -> None:
    with (DATA / "validation" / "held_out.csv").open(encoding="utf-8", newline="") as handle:
        slower = {row["id"]: row for row in csv.DictReader(handle)}
    joined = [one for one in evidence.predictions if one.group_left_out is not None]
    assert len(joined) > 100
    for one in joined:
        sign = 1 if one.metric in SLOWER_IS_MORE else -1
        assert one.group_left_out == pytest.approx(sign * float(slower[one.id]["group_left_out"]))


def test_the_band_moves_with_what_is_left_out() -> None:
    known = run().result("group_left_out")
    assert known.predicted == pytest.approx(100 * math.exp(0.1))
    assert known.low == pytest.approx(90 * math.exp(0.1))
    assert run().result("software_unknown").predicted is None


def test_a_run_nothing_was_fitted_to_is_left_out_as_it_stands() -> None:
    assert run(log_error=0.4, group_left_out=None).error("group_left_out") == 0.4
    assert run(log_error=0.4, group_left_out=0.5).error("group_left_out") == 0.5
    assert run(log_error=0.4).error("software_unknown") is None


def test_the_interval_of_a_share_narrows_with_the_groups() -> None:
    few, many = ([float(end) for end in wilson_interval(0.8, trials)] for trials in (10.0, 1000.0))
    assert few[0] < many[0] < 0.8 < many[1] < few[1]
    assert [float(end) for end in wilson_interval(1.0, 1.0)][1] == 1.0


def test_every_predicted_run_is_in_one_cell(evidence: AccuracyEvidence) -> None:
    runs = counted(evidence.predictions)
    found = cells(runs)
    assert sum(one.in_sample.runs for one in found) == sum(one.log_error is not None for one in runs)
    assert len({(one.family, one.chip, one.scale) for one in found}) == len(found)
    assert [scale_of(devices) for devices in (1, 8, 64, 512, 513)] == [*SCALE_CODES]


def test_shape_is_what_one_offset_leaves() -> None:
    """Errors of ln 1.1, ln 1.1 and ln 1.21: the mean is 4/3 ln 1.1, what is left −1/3, −1/3 and 2/3 of it."""
    (chain,) = chains(scaling((1, 100, 110), (8, 800, 880), (64, 5000, 6050)), "in_sample", REPEATS)
    step = math.log(1.1)
    assert chain.offset == pytest.approx(4 / 3 * step)
    assert chain.shape == pytest.approx(step * math.sqrt((1 / 9 + 1 / 9 + 4 / 9) / 3))
    assert [point.measured for point in chain.points] == pytest.approx([100, 100, 78.125])
    assert [point.predicted for point in chain.points] == pytest.approx([110, 110, 94.53125])
    assert shape_error([0.3, 0.3]) == pytest.approx(0)


def test_a_slower_step_is_a_lower_throughput() -> None:
    runs = [replace(one, metric="step_time_s") for one in scaling((8, 2, 4), (16, 1.5, 2), (32, 1, 1))]
    (chain,) = chains(runs, "in_sample", REPEATS)
    assert [point.measured for point in chain.points] == pytest.approx([64 / 2 / 8, 64 / 1.5 / 16, 64 / 32])
    assert chain.points[0].predicted == pytest.approx(64 / 4 / 8)


def test_pairs_within_the_noise_are_not_ranked() -> None:
    """Per device 100, 101, 80 measured and 100, 99, 90 predicted: the first two are too close to rank."""
    found = ranking(chains(scaling((1, 100, 100), (2, 202, 198), (4, 320, 360)), "in_sample", REPEATS))
    assert (found.pairs, found.right, found.share) == (2, 2, 1.0)
    wrong = ranking(chains(scaling((1, 100, 100), (2, 202, 198), (4, 320, 440)), "in_sample", REPEATS))
    assert (wrong.pairs, wrong.right) == (2, 0)


def test_repeats_are_runs_of_one_configuration() -> None:
    def point(name: str, group: str, devices: int, measured: float) -> ChainPoint:
        return ChainPoint(name, group, devices, 64.0, "", measured, measured, 0.0)

    points = [point("a", "g", 8, 100.0), point("b", "h", 8, 100.0 * math.exp(0.2)), point("c", "g", 16, 90.0)]
    assert replicate_deviation(points) == pytest.approx(0.1 * math.sqrt(2))
    assert replicate_deviation(points, same_group=True) is None


def test_repeat_deviations_are_known_apart_or_the_usual(evidence: AccuracyEvidence) -> None:
    found = chains(counted(evidence.predictions), "in_sample", evidence.repeats)
    stated = [float(one.result["deviation"]) for one in evidence.repeats]
    iterations = [one for one in found if "Feb 2022" in one.software]
    assert iterations and {one.repeat_deviation for one in iterations} == {stated[0]}
    alone = [one for one in found if one.repeats is None and one not in iterations]
    assert alone and {one.repeat_deviation for one in alone} == {stated[-1]}


@pytest.mark.parametrize("name", ["reasons.csv", "repeats.csv"])
def test_patterns_are_never_about_single_runs(name: str) -> None:
    with (DATA / "validation" / name).open(encoding="utf-8", newline="") as handle:
        columns = set(next(csv.reader(handle)))
    assert not columns & {"id", "group", "source", "submitter"}


def test_every_reason_has_a_sentence_and_is_met(evidence: AccuracyEvidence) -> None:
    texts = reason_texts(DATA)
    assert {one.reason for one in evidence.predictions} - {""} == set(texts)
    assert all(one.reason == "" for one in evidence.predictions if one.status == "refused")


def test_worst_cases_are_of_different_kinds(evidence: AccuracyEvidence) -> None:
    found = worst(counted(evidence.predictions), "in_sample", 20)
    errors = [abs(one.log_error or 0.0) for one in found]
    assert errors == sorted(errors, reverse=True)
    assert len({(one.model, one.chip, one.software) for one in found}) == len(found) == 20


def test_what_is_not_validated_has_no_run(evidence: AccuracyEvidence) -> None:
    runs = [one for one in counted(evidence.predictions) if one.log_error is not None]
    assert not set(evidence.gaps.families) & {one.family for one in runs}
    assert not set(evidence.gaps.chips) & {one.chip for one in runs}
    assert {"ipu_phased", "gpu_offload"} <= set(evidence.gaps.regimes)
    for largest in evidence.gaps.largest:
        assert largest.devices == max(one.devices for one in runs if one.chip == largest.chip)


def test_every_fitted_figure_is_listed(evidence: AccuracyEvidence) -> None:
    listed = {name: sum(one.file == name for one in evidence.figures) for name in evidence.counts.fitted}
    assert listed == dict(evidence.counts.fitted)


def test_the_document_prints_every_fitted_figure_and_gap(evidence: AccuracyEvidence) -> None:
    text = accuracy_document(evidence)
    for file, count in evidence.counts.fitted.items():
        assert re.search(rf"^### .*{re.escape(file)}.*\({count}\)$", text, re.MULTILINE)
    assert all(f"`{name}`" in text for name in evidence.gaps.regimes)
    chain = scaled(chains(counted(evidence.predictions), "in_sample", evidence.repeats))[0]
    assert f"| {chain.model}, {chain.length} |" in text


def test_nothing_is_predicted_from_what_was_measured(
    context: SizingContext, evidence: AccuracyEvidence
) -> None:
    untold = replace(context, outcomes={})
    assert collect(untold, DATA).predictions == evidence.predictions


def test_outcomes_are_those_of_the_file() -> None:
    found = load_outcomes(DATA / "validation" / "predictions.csv")
    for one in read_predictions(DATA):
        assert (found[one.id].measured, found[one.id].predicted) == (one.measured, one.predicted)
    assert load_outcomes(DATA / "nowhere.csv") == {}


@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_no_runs_are_unknown(kind: str) -> None:
    assert agreement([], kind).median is None and agreement([], kind).coverage_low is None
