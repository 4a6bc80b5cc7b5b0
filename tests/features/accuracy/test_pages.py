from __future__ import annotations

import json
import math
from typing import Any

import pytest
from bs4 import BeautifulSoup

from app.features.accuracy import charts as figures
from app.features.accuracy.agreement import agreement, counted
from app.features.accuracy.predictions import KINDS, Prediction
from app.features.accuracy.service import choice_of, predictions
from app.platform.wording.voice import voice
from tests.conftest import problem_of
from tests.support.application import Reader

CHOICES = [
    "",
    "?family=bert",
    "?family=gpt&chip=a100-sxm-80gb&errors=fitted_on_one_machine",
    "?family=all&scale=9-64",
    "?family=other&errors=in_sample",
    "?chip=bow&errors=software_unknown",
]

ENGLISH = voice("en")


def written(share: float | None) -> str:
    return "–" if share is None else ENGLISH.share(share)


def cells(row: Any) -> list[str]:
    return [" ".join(cell.get_text(" ", strip=True).split()) for cell in row.select("td")]


def all_runs(reader: Reader, query: str) -> list[dict[str, Any]]:
    """Return every chosen run, stretch by stretch."""
    found, cursor = [], ""
    while cursor is not None:
        data = reader.data(f"/accuracy.json?{query}" + (f"&cursor={cursor}" if cursor else ""))
        found += data["runs"]
        cursor = data["next"]
    return found


def test_errors_of_memory_are_a_table_of_their_own(reader: Reader) -> None:
    page, parts = reader.page("/accuracy"), reader.data("/accuracy.json")["memory"]
    rows = [cells(row)[1:] for row in page.select("#memory tbody tr")]
    assert rows == [
        [
            *(ENGLISH.number(part[name]) for name in ("peaks", "groups")),
            *(written(part[name]) for name in ("median", "ninetieth")),
            rows[place][-1],
        ]
        for place, part in enumerate(parts)
    ]
    everything, *kinds = parts
    assert everything["peaks"] == sum(part["peaks"] for part in kinds) > 0


@pytest.mark.parametrize("query", CHOICES)
def test_headline_is_that_of_the_data(reader: Reader, query: str) -> None:
    page, data = reader.page(f"/accuracy{query}"), reader.data(f"/accuracy.json{query}")
    choice = choice_of(**data["choice"])
    expected = agreement(filter(choice.holds, counted(predictions())), choice.errors)
    found = data["headline"]
    assert found == {name: getattr(expected, name) for name in found}
    if not expected.runs:
        assert page.select_one("dl.headline") is None
        return
    shown = [dd.select_one(".figure").get_text() for dd in page.select("dl.headline dd")]
    assert shown[0] == written(expected.median) and shown[1] == written(expected.ninetieth)
    assert shown[2].startswith(f"{round((expected.coverage or 0) * 100)}%")
    assert shown[3] == ENGLISH.number(expected.runs)
    assert shown[4] == str(len(data["fitted"]))


@pytest.mark.parametrize("query", CHOICES)
def test_twin_has_what_the_page_shows(reader: Reader, query: str) -> None:
    page, data = reader.page(f"/accuracy{query}"), reader.data(f"/accuracy.json{query}")
    assert page.select_one("link[rel=alternate]")["href"] == f"/accuracy.json{query}"
    assert {row["id"] for row in page.select("#runs tbody tr")} == {one["id"] for one in data["runs"]}
    rows = page.select("#cells tbody tr")
    assert len(rows) == len(data["cells"])
    for row, one in zip(rows, data["cells"], strict=True):
        known = one["in_sample"]
        assert cells(row)[2:5] == [str(known["runs"]), str(known["groups"]), written(known["median"])]
    curves = [one for one in data["chains"] if len({point["devices"] for point in one["points"]}) > 1]
    shapes = [cells(row)[5] for row in page.select("#chains tbody tr")]
    assert sorted(shapes) == sorted(written(one["shape"]) for one in curves)
    assert len(page.select("#worst tbody tr")) == len(data["worst"])
    kinds = {name: part for name, part in data["kinds"].items() if part["runs"]}
    assert [cells(row)[0] for row in page.select("#kinds tbody tr")] == [
        ENGLISH.number(part["runs"]) for part in kinds.values()
    ]
    assert len(page.select("#fitted-title ~ details tbody tr")) == len(data["fitted"])
    assert data["title"] == "Accuracy" and data["sections"]


def test_filters_narrow_the_runs(reader: Reader) -> None:
    everything = all_runs(reader, "family=all")
    assert len(everything) == len({one["id"] for one in everything}) == len(predictions())
    for query, holds in (
        ("family=bert", lambda one: one["family"] == "bert"),
        ("family=all&chip=bow", lambda one: one["chip"] == "bow"),
        ("family=all&scale=65-512", lambda one: 65 <= one["devices"] <= 512),
        ("family=all&scale=513-", lambda one: one["devices"] >= 513),
    ):
        found = all_runs(reader, query)
        assert 0 < len(found) < len(everything)
        assert [one["id"] for one in found] == [one["id"] for one in everything if holds(one)]


def test_sets_of_families_part_the_runs(reader: Reader) -> None:
    page, data = reader.page("/accuracy"), reader.data("/accuracy.json")
    assert data["choice"]["family"] == "all"
    assert sum(part["runs"] for part in data["sets"].values()) == data["headline"]["runs"]
    lines = [line.get_text() for line in page.select(".sets li")]
    for line, part in zip(lines, data["sets"].values(), strict=True):
        assert written(part["median"]) in line
    assert not reader.page("/accuracy?family=bert").select(".sets")


def test_filters_work_without_a_script(reader: Reader) -> None:
    page = reader.page("/accuracy?family=gpt&errors=in_sample")
    form = page.select_one("form.filters")
    assert form["method"] == "get" and form.select_one("button[type=submit]") is not None
    chosen = {one["name"]: one.select_one("[selected]")["value"] for one in form.select("select")}
    assert chosen == {"family": "gpt", "chip": "", "scale": "", "errors": "in_sample"}
    kinds = [one["value"] for one in form.select("[name=errors] option")]
    assert kinds == [*KINDS]


@pytest.mark.parametrize("field", ["family", "chip", "scale", "errors"])
def test_an_unknown_value_is_refused_by_its_field(reader: Reader, field: str) -> None:
    answer = reader.get(f"/accuracy.json?{field}=nonesuch", headers={"accept": "application/json"})
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error["field"] == field and "nonesuch" in json.dumps(error)
    assert reader.page(f"/accuracy?{field}=nonesuch", status=400).select_one("h1") is not None


def test_charts_have_a_table_that_holds_their_runs(reader: Reader) -> None:
    page = reader.page("/accuracy?family=resnet50")
    listed = all_runs(reader, "family=resnet50")
    boxes = page.select("figure.chart-box")
    drawn = [reader.data(box.select_one("script")["data-address"]) for box in boxes]
    for box, figure in zip(boxes, drawn, strict=True):
        assert box.select_one("p.hint a[href='#runs']") is not None
        marks = sum(len(one["x"]) for one in figure["data"] if one["mode"] == "markers")
        assert 0 < marks <= len(listed)
    ratios = drawn[0]
    points = sorted(y for one in ratios["data"] if one["mode"] == "markers" for y in one["y"])
    runs = [one for one in counted(predictions()) if one.family == "resnet50"]
    errors = {one.group: error for one in runs if (error := one.error("group_left_out")) is not None}
    known = [math.exp(error) for one in runs if (error := one.error("group_left_out")) is not None]
    assert len(points) == len(errors)
    assert all(min(abs(point / value - 1.0) for value in known) < 1e-3 for point in points)


def test_the_page_is_light(reader: Reader) -> None:
    assert len(reader.get("/accuracy").content) < 400_000


def test_a_list_of_runs_marks_ranges_that_miss(reader: Reader) -> None:
    page, data = reader.page("/accuracy?errors=in_sample"), reader.data("/accuracy.json?errors=in_sample")
    missed = {
        one["id"]
        for one in data["runs"]
        if one["predicted"] is not None and not one["low"] <= one["measured"] <= one["high"]
    }
    marked = {row["id"] for row in page.select("#runs tbody tr") if row.select_one("strong")}
    assert len(marked ^ missed) <= 2, "values are shown rounded"


def test_runs_are_listed_a_hundred_at_a_time(reader: Reader) -> None:
    wanted = {one.id for one in predictions() if one.family == "gpt"}
    page, ids = reader.page("/accuracy?family=gpt"), []
    while True:
        ids += [row["id"] for row in page.select("#runs tbody tr")]
        link = page.find("a", string="Next runs")
        if link is None:
            break
        page = reader.page(link["href"].partition("#")[0])
    assert len(ids) == len(wanted) > 200 and set(ids) == wanted
    back = page.find("a", string="Previous runs")["href"].partition("#")[0]
    assert [row["id"] for row in reader.page(back).select("#runs tbody tr")] == ids[
        -(len(ids) % 100) - 100 :
    ][:100]
    assert problem_of(reader.get("/accuracy.json?cursor=nonesuch")) == (400, "bad_input", "cursor")


def test_a_run_that_is_asked_for_is_in_the_list(reader: Reader) -> None:
    last = all_runs(reader, "family=gpt")[-1]["id"]
    for address in (f"/accuracy?family=gpt&run={last}", f"/accuracy.json?family=gpt&run={last}"):
        assert last in reader.get(address).text
    for link in reader.page("/accuracy").select("#worst tbody a"):
        address, anchor = link["href"].split("#")
        assert f'<tr id="{anchor}"' in reader.get(address).text


def test_links_lead_somewhere(reader: Reader) -> None:
    page = reader.page("/accuracy?family=all")
    anchors = {one["id"] for one in page.select("[id]")}
    assert len(anchors) == len(page.select("[id]"))
    addresses = {link["href"] for link in page.select("main a")}
    assert {one.removeprefix("#") for one in addresses if one.startswith("#")} <= anchors
    for address in sorted(one for one in addresses if one.startswith("/")):
        assert reader.get(address).status_code == 200, address


def test_a_missed_run_has_a_reason_or_says_there_is_none(reader: Reader) -> None:
    page, data = reader.page("/accuracy?family=all"), reader.data("/accuracy.json?family=all")
    for row, one in zip(page.select("#worst tbody tr"), data["worst"], strict=True):
        shown = cells(row)[-1]
        assert shown.lower() == (one["reason"] or "no known reason").lower()
    assert any(one["reason"] for one in data["worst"])


def test_nearest_runs_of_an_estimate_lead_to_their_lines(reader: Reader, modelled: str) -> None:
    rows = reader.data(f"{modelled}.json")["rows"]
    identifier = rows[0]["estimate"]["id"]
    known: dict[str, Prediction] = {one.id: one for one in predictions()}
    estimate = reader.data(f"/estimates/{identifier}.json")
    page = reader.page(f"/estimates/{identifier}")
    nearest = estimate["validation"]["nearest_measured"]
    assert nearest
    for run, link in zip(nearest, page.select("#validation tbody th a"), strict=True):
        one = known[run["id"]]
        assert (run["measured"], run["predicted"], run["metric"]) == (one.measured, one.predicted, one.metric)
        address, anchor = link["href"].split("#")
        assert anchor == run["id"]
        target = BeautifulSoup(reader.get(address).text, "lxml")
        assert target.find(id=anchor) is not None


def test_runs_of_one_size_stand_beside_each_other() -> None:
    places = figures.spread_out([8] * 5 + [16])
    assert len(set(places)) == 6 and max(places[:5]) < 16 == places[5]


def test_more_families_than_colours_share_the_last() -> None:
    marks = [
        figures.Mark(f"family {number}", "", 8, 1.0, 1.0, 0.9, 1.1)
        for number in range(12)
        for _ in range(12 - number)
    ]
    drawn = [one for one in figures.ratios(marks, ENGLISH)["data"] if one["mode"] == "markers"]
    assert len(drawn) == 8 and drawn[-1]["name"] == "other families"
    assert sum(len(one["x"]) for one in drawn) == len(marks)
    assert len({one["marker"]["color"] for one in drawn}) == 8
