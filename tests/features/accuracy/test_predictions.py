"""Runs beside their predictions: the file, the errors computed from it, chains, pairs and reasons."""

from __future__ import annotations

import csv
import math
from dataclasses import replace

import pytest

from app.engine.uncertainty import shape_error, wilson_interval
from app.estimating.nearest import load_outcomes
from app.features.accuracy.agreement import (
    ChainPoint,
    agreement,
    chains,
    ranking,
    replicate_deviation,
)
from app.features.accuracy.predictions import (
    KINDS,
    Prediction,
    load_patterns,
    read_predictions,
)
from tests.conftest import DATA

REPEATS = load_patterns(DATA / "validation" / "repeats.csv")


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


@pytest.mark.parametrize("name", ["reasons.csv", "repeats.csv"])
def test_patterns_are_never_about_single_runs(name: str) -> None:
    with (DATA / "validation" / name).open(encoding="utf-8", newline="") as handle:
        columns = set(next(csv.reader(handle)))
    assert not columns & {"id", "group", "source", "submitter"}


def test_outcomes_are_those_of_the_file() -> None:
    found = load_outcomes(DATA / "validation" / "predictions.csv")
    for one in read_predictions(DATA):
        assert (found[one.id].measured, found[one.id].predicted) == (one.measured, one.predicted)
    assert load_outcomes(DATA / "nowhere.csv") == {}


@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_no_runs_are_unknown(kind: str) -> None:
    assert agreement([], kind).median is None and agreement([], kind).coverage_low is None
