"""Figures of a plan search, on searches made by hand."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from app.estimating.documents import Part, PlanSummary
from app.estimating.schema import Quantity
from app.features.plans import charts as figures
from app.features.plans.model import MapCell, PlanPoint, Search, SearchedPlan
from app.features.plans.words import plan_in_short, plan_in_words, reasons
from app.platform.charts.figures import Figure
from app.platform.wording.voice import Voice, voice

ENGLISH, KOREAN = voice("en"), voice("ko")


def plan(**changed: Any) -> PlanSummary:
    whole: dict[str, Any] = dict.fromkeys(
        (
            *("tensor", "pipeline", "data", "micro_batch", "accumulation", "global_batch", "interleave"),
            *("sharding_ranks", "expert", "rts", "rts_optimizer", "phases"),
        ),
        1,
    )
    others = {
        "recompute": "none",
        "sequence_parallel": False,
        "sharding": "none",
        "offload": False,
        "stage_layers": [1],
        "searched": [],
    }
    return PlanSummary(**{**whole, **others, **changed})


def cell(tensor: int, pipeline: int, step_time: float | None, share: float = 0.5) -> MapCell:
    return MapCell(
        tensor=tensor,
        pipeline=pipeline,
        plans=4,
        feasible=0 if step_time is None else 2,
        step_time=step_time,
        memory_share=share,
        plan=plan(tensor=tensor, pipeline=pipeline),
    )


def searched(seconds: float, memory: float) -> SearchedPlan:
    exact = Quantity.exact(seconds, "s")
    return SearchedPlan.model_construct(
        plan=plan(), step_time=exact, memory=Quantity.exact(memory, "B"), memory_share=memory / 80e9
    )


def search(times: list[tuple[float, float]], front: list[tuple[float, float]]) -> Search:
    return Search.model_construct(
        memory_limit=Quantity.exact(75e9, "B"),
        memory_capacity=Quantity.exact(80e9, "B"),
        plans=[searched(*one) for one in times],
        pareto=[PlanPoint(plan=plan(), step_time=seconds, memory=memory) for seconds, memory in front],
    )


def traces(drawn: Figure) -> dict[str, dict[str, Any]]:
    json.dumps(drawn, allow_nan=False)
    return {trace["name"]: trace for trace in drawn["data"]}


def test_map_is_shaded_by_how_far_a_cell_is_behind() -> None:
    drawn = figures.heat_map(
        [cell(1, 1, None, 3.0), cell(1, 2, 10.0), cell(2, 1, 10.1), cell(2, 4, 12.0), cell(4, 2, 99.0)]
    )
    assert list(drawn.tensor) == [1, 2, 4] and list(drawn.pipeline) == [1, 2, 4]
    shades = [[None if one is None else one.shade for one in row] for row in drawn.rows]
    assert shades == [[5, 0, None], [0, None, 3], [None, 5, None]]
    unfit = drawn.rows[0][0]
    assert unfit is not None and unfit.behind is None


def test_a_map_where_nothing_fits_has_no_fastest() -> None:
    (row,) = figures.heat_map([cell(1, 1, None, 2.0)]).rows
    assert row[0] is not None and row[0].behind is None


@pytest.mark.parametrize(
    ("share", "filled", "over"), [(0.5, 50.0, False), (0.95, 95.0, True), (2.0, 100.0, True)]
)
def test_bar_of_memory_keeps_the_limit_in_proportion(share: float, filled: float, over: bool) -> None:
    bar = figures.filled_bar(share, 0.94)
    assert bar.filled == pytest.approx(filled) and bar.over == over
    assert bar.limit / bar.capacity == pytest.approx(0.94)
    assert max(bar.filled, bar.capacity) == pytest.approx(100.0)


def test_differences_go_both_ways_and_end_with_their_sum() -> None:
    more = [Part(part="tensor_comm", seconds=1.5), Part(part="pipeline_bubble", seconds=-0.6)]
    drawn = traces(figures.differences(more, "more", ENGLISH))
    assert drawn["saved by the first plan"]["x"] == pytest.approx([1.5, 0.9])
    assert drawn["saved by the first plan"]["y"] == [0, 2]
    assert drawn["added by the first plan"]["x"] == pytest.approx([-0.6])
    labels = figures.differences(more, "more", ENGLISH)["layout"]["yaxis"]["ticktext"]
    assert labels[-1] == "Total"


def test_differences_of_equal_plans_are_an_empty_figure() -> None:
    assert figures.differences([], "more", ENGLISH)["data"] == []


def test_front_shows_plans_points_and_both_lines_in_one_unit() -> None:
    found = search([(0.02, 70e9), (0.021, 60e9)], [(0.019, 72e9), (0.03, 20e9), (0.5, 1e9)])
    drawn = figures.time_and_memory(found, ["a", "b"], ["c", "d", "e"], ENGLISH)
    parts = traces(drawn)
    assert parts["best distinct plans"]["x"] == pytest.approx([20.0, 21.0])
    assert parts["best distinct plans"]["customdata"][1] == ["2 · b", "21.0 ms", "60.0 GB"]
    assert parts["device memory"]["y"] == [80.0, 80.0]
    assert parts["memory available to a plan"]["y"] == [75.0, 75.0]
    assert "(ms)" in drawn["layout"]["xaxis"]["title"]["text"]
    least, most = drawn["layout"]["xaxis"]["range"]
    assert least < 19.0 and 30.0 < most < 2 * 19.0
    assert drawn["layout"]["yaxis"]["range"][1] > 80.0


def test_one_plan_alone_has_an_axis() -> None:
    drawn = figures.time_and_memory(search([(2.0, 9e9)], [(2.0, 9e9)]), ["a"], ["a"], KOREAN)
    least, most = drawn["layout"]["xaxis"]["range"]
    assert least < 2.0 < most


def numbers_of(said: str) -> list[str]:
    """Return the number that each part of a plan is said with."""
    return ["".join(filter(str.isdecimal, part)) for part in said.split(", ")]


def test_plans_are_said_without_what_they_do_not_use() -> None:
    assert numbers_of(plan_in_words(plan(), ENGLISH)) == ["", "1", ""]
    said = plan_in_words(
        plan(tensor=8, pipeline=4, interleave=3, recompute="full", sharding="optimizer", sharding_ranks=16),
        ENGLISH,
    )
    assert numbers_of(said) == ["8", "4", "1", "3", "", "16"]
    assert plan_in_short(plan(tensor=8, data=2)) == "t8 p1 d2 b1"


def test_pods_say_phases_and_shares() -> None:
    said = plan_in_words(plan(pipeline=4, phases=3, rts=4, rts_optimizer=8, offload=True), ENGLISH)
    for part in (
        "3 phases per stage",
        "weights sharded over 4",
        "optimizer sharded over 8",
        "optimizer offload",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("more", "times"),
    [
        ({"tensor_comm": 1.58, "pipeline_bubble": -0.633, "fixed": 0.001}, ["1.58", "0.633"]),
        ({"part": 0.0}, []),
        ({"optimizer": 0.0287}, ["28.7"]),
    ],
)
@pytest.mark.parametrize("speaker", [ENGLISH, KOREAN])
def test_reasons_are_the_largest_parts_both_ways(
    more: dict[str, float], times: list[str], speaker: Voice
) -> None:
    said = reasons([Part(part=name, seconds=seconds) for name, seconds in more.items()], 2, speaker)
    assert re.findall(r"\d+\.\d+", said) == times and "2" in said
