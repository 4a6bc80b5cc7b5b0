"""Charts as files: pictures for readers without scripts, and their numbers as tables."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET

import pytest
from PIL import Image
from plotly import graph_objects

from app.platform.web.examples import STUDY
from tests.support.application import Reader

PAGES = ("bert-large", "vendor-claim")


@pytest.mark.parametrize("example", PAGES)
def test_every_chart_of_a_page_is_there_as_a_file(reader: Reader, example: str) -> None:
    page = reader.page(reader.example(example))
    boxes = page.select("figure.chart-box")
    assert boxes
    for box in boxes:
        shown = box.select_one("noscript img")
        assert shown["alt"] == box.select_one("[data-figure]")["aria-label"]
        assert box.select_one(f"input#{box.select_one('label')['for']}[type=checkbox]") is not None
        figure = json.loads(box.select_one("script").get_text())
        graph_objects.Figure(figure)
        assert box.select_one(".chart > svg")["height"] == str(figure["layout"]["height"])
        assert box.select(".chart-table tbody tr")
        files = {link.get_text(): link["href"] for link in box.select("a[download]")}
        assert set(files) == {"SVG", "PNG", "CSV"}
        drawn = reader.get(shown["src"])
        assert drawn.headers["content-type"] == "image/svg+xml"
        root = ET.fromstring(drawn.content)
        assert root.tag.endswith("svg")
        assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 20
        assert reader.get(files["SVG"]).content == drawn.content
        with Image.open(io.BytesIO(reader.get(files["PNG"]).content)) as picture:
            assert picture.width > 1000


@pytest.mark.parametrize("page", ["plans", "fabrics", "study", "breakevens", "queues", "claims"])
def test_pages_whose_address_is_their_state_give_their_charts_too(reader: Reader, page: str) -> None:
    addresses = {
        "plans": lambda: reader.view("plan"),
        "fabrics": lambda: reader.view("network"),
        "study": lambda: f"/studies/{_kept(reader, '/api/v1/studies', STUDY)}?count.a=4",
        "breakevens": lambda: reader.view("rent"),
        "queues": lambda: reader.view("queues"),
        "claims": lambda: "/claims",
    }
    shown = reader.page(addresses[page]())
    for data in shown.select("figure.chart-box > script"):
        graph_objects.Figure(json.loads(data.get_text()))
    links = shown.select("a[download][href*='chart=']")
    wanted = {"SVG": "image/svg+xml", "CSV": "text/csv; charset=utf-8"}
    found = [(link.get_text(), link["href"]) for link in links if link.get_text() in wanted]
    assert found
    for form, address in found[:4]:
        answer = reader.get(address)
        assert (answer.status_code, answer.headers["content-type"]) == (200, wanted[form]), address


def _kept(reader: Reader, path: str, body: dict[str, object]) -> str:
    return str(reader.ask("POST", path, json=body, headers={"accept": "application/json"}).json()["id"])


def test_the_table_of_a_chart_has_its_numbers_with_their_ranges(reader: Reader) -> None:
    path = f"/studies/{_kept(reader, '/api/v1/studies', STUDY)}"
    curves = f"{path}/scaling"
    figure = json.loads(reader.page(curves).select_one("#figure-scaling-cost-data").get_text())
    answer = reader.get(f"{curves}?chart=figure-scaling-cost.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    head, titles, *rows = csv.reader(io.StringIO(answer.content.decode("utf-8-sig")))
    assert head[:3] == ["series", "x", "y"]
    assert titles[2] == figure["layout"]["yaxis"]["title"]["text"]
    values = {float(row[2]) for row in rows}
    costs = [one["cost"]["run"]["value"] for curve in reader.data(f"{curves}.json").values() for one in curve]
    assert all(any(value == pytest.approx(cost) for value in values) for cost in costs)


def test_a_chart_that_is_not_there_is_named_with_those_that_are(reader: Reader) -> None:
    path = reader.example("bert-large")
    for asked in ("figure-prats.svg", "figure-parts.gif", "../figure-parts.svg", "figure-parts"):
        answer = reader.get(f"{path}?chart={asked}")
        assert answer.status_code == 404
    assert "figure-parts.svg" in reader.get(f"{path}?chart=figure-prats.svg").text


def test_numbers_are_in_english_for_whoever_states_no_language(reader: Reader) -> None:
    path = reader.example("bert-large")
    said = {"accept-language": ""}
    numbers = reader.get(f"{path}?chart=figure-parts.csv", headers=said).content.decode("utf-8-sig")
    assert not any("가" <= letter <= "힣" for letter in numbers)
    assert 'lang="ko"' in reader.get(path, headers=said).text
