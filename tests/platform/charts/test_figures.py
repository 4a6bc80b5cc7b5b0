from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest

from app.estimating.schema import Quantity
from app.features.estimates import charts as estimates_charts
from app.features.proposals.charts import time_to_train
from app.platform.charts import figures as palette
from app.platform.charts.figure_tables import figure_table
from app.platform.charts.figures import round_steps
from app.platform.wording.voice import voice
from tests.support import documents

ENGLISH = voice("en")


def traces(figure: dict[str, Any]) -> list[dict[str, Any]]:
    json.dumps(figure, allow_nan=False)
    found: list[dict[str, Any]] = figure["data"]
    return found


def test_bars_are_the_hours_of_the_rows_in_one_unit() -> None:
    comparison = documents.vendor_comparison(0.85)
    drawn = traces(time_to_train(comparison, ENGLISH))
    bars = {y: x for trace in drawn for y, x in zip(trace["y"], trace["x"], strict=True)}
    assert bars == {index: pytest.approx(row.hours) for index, row in enumerate(comparison.rows)}
    assert {trace["name"] for trace in drawn} == {"vendor", "linear extrapolation"}


def test_bars_carry_their_range() -> None:
    comparison = documents.modelled_comparison()
    (trace,) = traces(time_to_train(comparison, ENGLISH))
    first = comparison.rows[0]
    assert trace["x"][0] + trace["error_x"]["array"][0] == pytest.approx(first.high / 24)
    assert trace["x"][0] - trace["error_x"]["arrayminus"][0] == pytest.approx(first.low / 24)


def test_shares_of_the_breakdown_fill_a_hundred() -> None:
    drawn = traces(
        estimates_charts.breakdown([("a", documents.estimate()), ("b", documents.estimate())], ENGLISH)
    )
    assert sum(trace["x"][0] for trace in drawn) == pytest.approx(100)


def test_no_point_stands_above_its_roof() -> None:
    estimate = documents.estimate()
    roof, ridge, points, whole, *_ = traces(estimates_charts.roofline([("a", estimate)], ENGLISH))
    assert ridge["x"] == [roof["x"][1]] == [estimate.roof.peak / estimate.roof.bandwidth]
    assert ridge["customdata"][0][:2] == ["ridge point", f"{ENGLISH.number(ridge['x'][0])} FLOP/B"]
    assert roof["y"][1] == estimate.roof.peak / 1e12
    for intensity, attained in zip(points["x"] + whole["x"], points["y"] + whole["y"], strict=True):
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
    series = estimates_charts.Series(label, [1], [8], [0], [Quantity.exact(1.0, "s")])
    drawn = json.dumps(
        [
            estimates_charts.scaling([series], ENGLISH),
            estimates_charts.roofline([(label, documents.estimate())], ENGLISH),
        ]
    )
    assert "<a" not in drawn


def test_perfect_scaling_halves_with_twice_the_devices() -> None:
    times = [Quantity(value=one, low=one / 2, high=2 * one, unit="s") for one in (7200.0, 4000.0)]
    series = estimates_charts.Series("a", [1, 2], [8, 16], [0, 0], times)
    band, perfect, curve = traces(estimates_charts.scaling([series], ENGLISH))
    assert perfect["y"] == [pytest.approx(120), pytest.approx(60)]
    assert curve["y"] == [pytest.approx(120), pytest.approx(4000 / 60)]
    assert band["fill"] == "toself" and band["hoverinfo"] == "skip"


def test_scaling_marks_idle_devices_and_where_twice_as_many_save_less_than_29_per_cent() -> None:
    seconds = [1000.0, 600.0, 450.0, 430.0]
    times = [Quantity.exact(one, "s") for one in seconds]
    series = estimates_charts.Series("a", [1, 2, 4, 8], [8, 16, 32, 64], [0, 0, 0, 16], times)
    drawn = traces(estimates_charts.scaling([series], ENGLISH))
    marked = {
        trace["name"]: trace["x"]
        for trace in drawn
        if trace.get("marker", {}).get("symbol", "").endswith("open")
    }
    assert marked == {"diminishing returns": [16], "idle devices": [64]}
    assert 1 - seconds[1] / seconds[0] > 1 - 0.5**0.5 > 1 - seconds[2] / seconds[1]
    head, rows = figure_table(estimates_charts.scaling([series], ENGLISH))
    assert head[1:] == ["Count", "Devices", "Training time", "idle devices"]
    assert [row[4] for row in rows] == ["–", "–", "–", "16"]
    costs = [Quantity.exact(one, "USD") for one in (10.0, 9.0, 12.0, 20.0)]
    priced = estimates_charts.scaling_cost(
        [estimates_charts.Series("a", [1, 2, 4, 8], [8, 16, 32, 64], [0] * 4, costs)], "USD", ENGLISH
    )
    assert [trace["x"] for trace in traces(priced) if trace.get("name") == "lowest cost"] == [[16]]


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


def test_every_part_of_the_time_has_a_colour_of_its_own() -> None:
    assert len(set(palette.PARTS.values())) == len(palette.PARTS)


def test_memory_over_capacity_is_marked() -> None:
    fits, over = (palette.memory_bar(documents.estimate(fits=fits).memory) for fits in (True, False))
    assert not fits.over and fits.capacity == 100
    assert over.over and over.capacity < 50
    assert over.segments[-1].start + over.segments[-1].width == pytest.approx(100)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((3.0, 2000.0), ["10", "100", "1,000"]),
        ((3.0, 45.0), ["5", "10", "20"]),
        ((1e-2, 1e9), ["0.01", "100", "1,000,000"]),
    ],
)
def test_logarithmic_ticks_are_powers_of_ten_that_can_be_read(
    ends: tuple[float, float], expected: list[str]
) -> None:
    assert palette.axis("x", (), ENGLISH.number, log=True, ends=ends)["ticktext"] == expected


def test_no_two_labels_of_an_axis_overlap() -> None:
    counts = [2**power for power in range(13)]
    found = palette.axis("x", counts, ENGLISH.number, log=True, at=[*counts, 4000])
    places = [palette.LETTERS * math.log10(tick) / math.log10(4096) for tick in found["tickvals"]]
    gaps = [second - first for first, second in itertools.pairwise(places)]
    widths = [(len(a) + len(b)) / 2 for a, b in itertools.pairwise(found["ticktext"])]
    assert all(gap > width for gap, width in zip(gaps, widths, strict=True))


def test_a_label_of_two_lines_stands_in_full_in_its_table() -> None:
    label = "아주 긴 이름을 가진 학습 시스템 구성안 하나와 그 뒤에 붙은 더 긴 설명"
    bar = palette.bar("a", [1.0], [0], palette.AFTER, ["one"])
    drawn = palette.lying([bar], [label], palette.axis("x", [1.0], ENGLISH.number, unit="s", zero=True))
    assert drawn["layout"]["yaxis"]["ticktext"][0].endswith("…")
    assert figure_table(drawn) == (["", "x (s)"], [[label, "one"]])


@pytest.mark.parametrize("highest", [0.7, 9.9, 10.0, 101.0, 4.7e6, 2.2e9])
def test_steps_of_an_axis_are_few_and_round(highest: float) -> None:
    steps = round_steps(highest)
    assert 3 <= len(steps) <= 7 and steps[-1] <= highest < steps[-1] + steps[1]
