from __future__ import annotations

import json
from typing import Any

import pytest

from app.estimating.schema import Quantity
from app.features.comparisons import charts as figures
from app.features.estimates import charts as estimates_charts
from app.platform.charts import figures as palette
from app.platform.charts.figures import round_steps
from app.platform.wording.voice import voice
from tests.web.pages import documents

ENGLISH = voice("en")


def traces(figure: dict[str, Any]) -> list[dict[str, Any]]:
    json.dumps(figure, allow_nan=False)
    found: list[dict[str, Any]] = figure["data"]
    return found


def test_bars_are_the_hours_of_the_rows_in_one_unit() -> None:
    comparison = documents.vendor_comparison(0.85)
    drawn = traces(figures.time_to_train(comparison, ENGLISH))
    bars = {y: x for trace in drawn for y, x in zip(trace["y"], trace["x"], strict=True)}
    assert bars == {index: pytest.approx(row.hours) for index, row in enumerate(comparison.rows)}
    assert {trace["name"] for trace in drawn} == {"vendor", "linear extrapolation"}


def test_bars_carry_their_range() -> None:
    comparison = documents.modelled_comparison()
    (trace,) = traces(figures.time_to_train(comparison, ENGLISH))
    first = comparison.rows[0]
    assert trace["x"][0] + trace["error_x"]["array"][0] == pytest.approx(first.high / 24)
    assert trace["x"][0] - trace["error_x"]["arrayminus"][0] == pytest.approx(first.low / 24)


def test_what_does_not_fit_has_no_bar() -> None:
    comparison = documents.modelled_comparison()
    (trace,) = traces(figures.cost_to_train(comparison, ENGLISH))
    assert trace["y"] == [0, 1]


def test_shares_of_the_breakdown_fill_a_hundred() -> None:
    drawn = traces(
        estimates_charts.breakdown([("a", documents.estimate()), ("b", documents.estimate())], ENGLISH)
    )
    assert sum(trace["x"][0] for trace in drawn) == pytest.approx(100)


def test_no_point_stands_above_its_roof() -> None:
    estimate = documents.estimate()
    roof, ridge, points = traces(estimates_charts.roofline([("a", estimate)], ENGLISH))
    assert ridge["x"] == [roof["x"][1]] == [estimate.roof.peak / estimate.roof.bandwidth]
    assert ridge["text"] == [f"ridge point {ENGLISH.number(ridge['x'][0])}"]
    assert roof["y"][1] == estimate.roof.peak / 1e12
    for intensity, attained in zip(points["x"], points["y"], strict=True):
        assert attained * 1e12 <= min(estimate.roof.peak, intensity * estimate.roof.bandwidth) * 1.01


def test_sensitivity_starts_at_the_value_and_ends_at_the_input() -> None:
    estimate = documents.estimate()
    for trace, end in zip(
        traces(estimates_charts.sensitivity(estimate, ENGLISH)), ("low", "high"), strict=True
    ):
        reached = trace["base"] + trace["x"][0]
        assert reached == pytest.approx(getattr(estimate.sensitivity[0], end) / 86400)


def test_labels_are_no_markup() -> None:
    label = "<a href='https://example.com'>x</a>"
    series = estimates_charts.Series(label, [8], [Quantity.exact(1.0, "s")])
    drawn = json.dumps(
        [
            estimates_charts.scaling([series], ENGLISH),
            estimates_charts.roofline([(label, documents.estimate())], ENGLISH),
        ]
    )
    assert "<a" not in drawn


def test_perfect_scaling_halves_with_twice_the_devices() -> None:
    times = [Quantity.exact(seconds, "s") for seconds in (7200.0, 4000.0)]
    band, perfect, curve = traces(
        estimates_charts.scaling([estimates_charts.Series("a", [8, 16], times)], ENGLISH)
    )
    assert perfect["y"] == [pytest.approx(120), pytest.approx(60)]
    assert curve["y"] == [pytest.approx(120), pytest.approx(4000 / 60)]
    assert band["fill"] == "toself" and band["hoverinfo"] == "skip"


def test_efficiency_compares_samples_that_belong_together() -> None:
    """What slows both sizes alike, here by up to a half, says nothing of how they scale."""
    slow = [1.0, 1.2, 1.5, 0.8]
    one, two = (
        documents.estimate(seconds=seconds).model_copy(
            update={"time_samples": [seconds * factor for factor in slow]}
        )
        for seconds in (1000.0, 625.0)
    )
    two = two.model_copy(update={"system": two.system.model_copy(update={"devices": 2 * one.system.devices})})
    found = estimates_charts.efficiency(one, two)
    assert found is not None
    assert (found.low, found.value, found.high) == tuple(pytest.approx(0.8) for _ in range(3))
    assert estimates_charts.efficiency(one, one.model_copy(update={"time_to_train": None})) is None


def test_memory_of_every_option_stands_against_its_own_capacity() -> None:
    options = [("a", documents.estimate()), ("b", documents.estimate(fits=False))]
    drawn = estimates_charts.memory(options, ENGLISH)
    filled = [sum(trace["x"][place] for trace in traces(drawn)) for place in (0, 1)]
    assert filled == [
        pytest.approx(100 * sum(part.value for part in one.memory.parts) / one.memory.capacity.value)
        for _, one in options
    ]
    (line,) = drawn["layout"]["shapes"]
    assert line["x0"] == line["x1"] == 100
    assert drawn["layout"]["xaxis"]["range"][1] > filled[1] > 100


def test_every_part_of_the_time_has_a_colour_of_its_own() -> None:
    assert len(set(palette.PARTS.values())) == len(palette.PARTS)


def test_memory_over_capacity_is_marked() -> None:
    fits, over = (palette.memory_bar(documents.estimate(fits=fits).memory) for fits in (True, False))
    assert not fits.over and fits.capacity == 100
    assert over.over and over.capacity < 50
    assert over.segments[-1].start + over.segments[-1].width == pytest.approx(100)


@pytest.mark.parametrize("highest", [0.7, 9.9, 10.0, 101.0, 4.7e6, 2.2e9])
def test_steps_of_an_axis_are_few_and_round(highest: float) -> None:
    steps = round_steps(highest)
    assert 3 <= len(steps) <= 7 and steps[-1] <= highest < steps[-1] + steps[1]
