"""The first screen of a study: sentence, map, cards, demands; its groups, and its roofline."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.features.studies.model import GROUPS, VIEWS
from tests.support.application import Reader

ASKED: dict[str, Any] = {
    "name": "7B in 60 days",
    "base": {"model": {"preset": "llama2-7b"}, "workload": {"tokens": 2e12}, "currency": "KRW"},
    "limits": {"deadline_s": 60 * 86_400, "budget": 5e9},
    "options": [
        {"key": "a", "system": {"id": "dgx-b200", "count": 3}},
        {"key": "b", "system": {"id": "aws-p5", "count": 8}},
        {"key": "c", "system": {"id": "dgx-h100", "count": 8}},
        {"key": "d", "label": "published", "figure": {"hours": 900, "kind": "published"}},
    ],
}


@pytest.fixture(scope="module")
def study(reader: Reader) -> str:
    made = reader.ask("POST", "/api/v1/studies", json=ASKED)
    assert made.status_code == 201, made.text
    return f"/studies/{made.json()['id']}"


def map_of(page: Any) -> dict[str, Any]:
    figure: dict[str, Any] = json.loads(page.select_one("#figure-map-data").get_text())
    return figure


def test_the_map_shows_the_options_with_their_names_and_the_limits(reader: Reader, study: str) -> None:
    page, decision = reader.page(study), reader.data(f"{study}.json")["decision"]
    figure = map_of(page)
    named = {trace["name"]: trace for trace in figure["data"]}
    assert len(named) == 4 and all(trace["text"] == [name] for name, trace in named.items())
    best = next(one for one in ASKED["options"] if one["key"] == decision["recommended"])
    marked = [name for name, trace in named.items() if trace["marker"]["symbol"] == "diamond"]
    assert len(marked) == 1 and best["system"]["id"].partition("-")[0] in marked[0].lower()
    assert named["published"]["marker"]["symbol"] == "star"
    deadline, budget = figure["layout"]["shapes"]
    assert deadline["x0"] == 60 and budget["y0"] == 5e9
    assert figure["layout"]["meta"]["limits"] == {"deadline": [0, 1.0], "budget": [1, 1.0]}


def test_there_are_at_most_three_cards_and_the_recommended_is_first(reader: Reader, study: str) -> None:
    page, decision = reader.page(study), reader.data(f"{study}.json")["decision"]
    cards = page.select(".answer-card")
    assert 2 <= len(cards) <= 3 and "best" in cards[0]["class"]
    names = [card.strong.get_text() for card in cards]
    assert len(set(names)) == len(names)
    labels = {one["key"]: one["label"] for one in reader.data(f"{study}.json")["options"]}
    assert names[0] == labels[decision["recommended"]]


def test_what_if_is_shown_as_old_and_new(reader: Reader, study: str) -> None:
    assert reader.page(study).select(".was") == []
    page = reader.page(f"{study}?count.a=6")
    (row,) = [row for row in page.select("#decision tbody tr") if "6 × DGX B200" in row.get_text()]
    old = [mark.get_text() for mark in row.select(".was s")]
    before = reader.page(study)
    (was,) = [row for row in before.select("#decision tbody tr") if "3 × DGX B200" in row.get_text()]
    assert len(old) == 2 and all(text in was.get_text() for text in old)


def test_five_groups_hold_every_view(reader: Reader, study: str) -> None:
    assert sorted(view for _, views in GROUPS for view in views) == sorted(VIEWS)
    page = reader.page(study)
    assert len(page.select(".tabs a")) == 5
    reached = set()
    for tab in page.select(".tabs a"):
        inside = reader.page(tab["href"])
        reached |= {link["href"].partition("?")[0] for link in (tab, *inside.select(".subtabs a"))}
    views = {f"{study}/{view}" if view else study for view in VIEWS}
    assert reached == views | {"/accuracy", "/accuracy/famous-runs", "/claims"}
    assert all(reader.get(address).status_code == 200 for address in reached)


def test_the_roofline_has_the_operators_and_the_measured_runs_of_each_chip(
    reader: Reader, study: str
) -> None:
    page, data = reader.page(f"{study}/roofline"), reader.data(f"{study}/roofline.json")
    figures = [json.loads(one.get_text()) for one in page.select('script[id^="figure-roofline"]')]
    assert len(figures) == len(data) == 2
    for figure, estimate in zip(figures, data.values(), strict=True):
        peak = estimate["roof"]["peak"] / 1e12
        heights = [value for trace in figure["data"] for value in trace["y"]]
        assert max(heights) <= peak * 1.001
        symbols = [str(trace["marker"]["symbol"]) for trace in figure["data"] if "marker" in trace]
        measured = estimate["validation"]["nearest_measured"]
        assert ("star" in symbols) == any(run["metric"] == "tflops_per_accel" for run in measured)
        assert any(len(trace.get("x", ())) == len(
            [one for one in estimate["roofline"] if one["intensity"] > 0 and one["attained"] > 0]
        ) for trace in figure["data"])  # fmt: skip
    svg = reader.get(f"{study}/roofline?chart=figure-roofline-0.svg")
    assert svg.status_code == 200
