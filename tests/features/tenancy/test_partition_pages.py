from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from bs4 import BeautifulSoup

from tests.support.application import Reader

J5 = {"system": "bow-pod64", "isolation": "strict", "orchestrator": "backend.ai"}
for at, size in enumerate((16, 16, 8, 4, 16)):
    J5 |= {f"requests.{at}.team": "ABCDE"[at], f"requests.{at}.devices": str(size)}


def address(reader: Reader, **more: str) -> str:
    return reader.view("partitions", J5 | {name.replace("__", "."): value for name, value in more.items()})


def told(page: BeautifulSoup) -> dict[str, str]:
    return {
        row.th.get_text(strip=True): row.td.get_text(strip=True)
        for row in page.select("#placements tbody tr")
    }


def test_the_first_visit_shows_five_teams_on_a_pod(reader: Reader) -> None:
    page = reader.page(reader.view("partitions"))
    assert (page.find(id="allocated").get_text(), page.find(id="free").get_text()) == ("60", "4")
    assert told(page) == {"A": "16", "B": "16", "C": "8", "D": "4", "E": "16"}
    assert page.select_one(".warning") is None


def test_page_and_twin_agree(reader: Reader) -> None:
    place = address(reader)
    data, page = reader.data(place.replace("?", ".json?")), reader.page(place)
    twin = page.select_one("link[rel=alternate]")["href"]
    assert reader.data(str(twin)) == data
    rows = page.select("#placements tbody tr")
    for row, one in zip(rows, data["placements"], strict=True):
        last = one["first_device"] + one["devices"] - 1
        assert f"pod {one['pod']}: {one['first_device']}–{last}" in " ".join(row.get_text().split())


def test_every_figure_and_rule_leads_to_its_source(reader: Reader) -> None:
    page = reader.page(address(reader))
    rows = page.select("#figures tbody tr")
    assert len(rows) == 5
    for row in rows[:-1]:
        links = [str(link["href"]) for link in row.select("a")]
        assert links[0].startswith("/catalog/") and links[1].startswith("/catalog/sources/")
        assert reader.get(links[0]).status_code == reader.get(links[1]).status_code == 200
    told_figures = {row.th.get_text(strip=True): " ".join(row.get_text().split()) for row in rows}
    assert "16" in told_figures["Machines per system"]
    assert "348.6 TFLOP/s" in told_figures["FP16 peak per device"]
    assert "350 TFLOP/s" in told_figures["FP16 peak per device"]
    assert "900 MB" in told_figures["Memory capacity per device"]
    assert all(rule.select_one("a[href^='/catalog/sources/']") for rule in page.select(".grounds li"))


def test_the_drawing_says_in_words_what_it_shows(reader: Reader) -> None:
    drawing = reader.page(address(reader)).select_one(".pod-drawing")
    assert drawing["role"] == "img"
    assert re.findall(r"\d+", drawing["aria-label"]) == ["60", "64", "4"]
    cells = [rect.title.get_text() for rect in drawing.select("rect") if rect.title]
    assert len(cells) == 64
    assert sum(cell.endswith("free") for cell in cells) == 4
    assert {text.get_text() for text in drawing.select("text.team")} == {
        "A · 16",
        "B · 16",
        "C · 8",
        "D · 4",
        "E · 16",
    }


def test_refused_request_stands_beside_its_row_and_the_previous_result_stays(reader: Reader) -> None:
    at = reader.arrive(address(reader)).url
    before = reader.page(str(at))
    # A row left empty in between does not move the error to another row.
    page = reader.page(f"{at}&requests.6.devices=12", status=409)
    error = page.find(id="requests-6-devices-error-1").get_text()
    assert "8 and 16" in error
    assert page.find("input", id="requests-6-devices")["aria-invalid"] == "true"
    assert "2 × Bow Pod64" in page.find(id="count-error-1").get_text()
    assert "stale" in page.find(id="result")["class"]
    assert told(page) == told(before)


def test_gpus_offer_their_profiles(reader: Reader) -> None:
    asked = {"system": "dgx-a100-640gb", "isolation": "none", "orchestrator": "none"}
    asked |= {"requests.0.devices": "4", "requests.1.devices": "5"}
    asked |= {"requests.1.team": "B", "requests.1.slice": "1g.10gb"}
    page = reader.page(reader.view("partitions", asked))
    assert [option["value"] for option in page.select_one("#requests-0-slice").select("option")] == [
        "", "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb",
    ]  # fmt: skip
    assert told(page)["B"] == "5 × 1g.10gb"
    assert reader.page(reader.view("partitions")).select_one("#requests-0-slice") is None


def test_rows_take_names_of_their_own(reader: Reader) -> None:
    assert told(reader.page(reader.view("partitions", {"requests.0.devices": "16"})))["#1"] == "16"
    hostile = reader.page(address(reader, requests__0__team='<svg onload="x">'))
    assert hostile.find("svg", onload=True) is None


@pytest.mark.parametrize(
    ("name", "value", "status", "place"),
    [
        ("requests__0__devices", "many", 422, "requests-0-devices"),
        ("requests__0__devices", "0", 400, "requests-0-devices"),
        ("requests__0__pod", "0", 400, "requests-0-first_device"),
    ],
)
def test_wrong_field_is_refused_at_its_place(
    reader: Reader, name: str, value: str, status: int, place: str
) -> None:
    page = reader.page(address(reader, **{name: value}), status=status)
    assert page.find(id=f"{place}-error-1") is not None


def test_a_large_cluster_is_drawn_in_part(reader: Reader) -> None:
    asked = {"system": "dgx-a100-640gb", "count": "500", "orchestrator": "none"}
    page = reader.page(reader.view("partitions", {**asked, "requests.0.devices": "4000"}))
    assert {"320", "4,000"} <= set(page.select_one(".pod").get_text().split())


@pytest.mark.parametrize("language", ["reader", "korean"])
def test_the_drawing_can_be_saved_with_its_key(request: pytest.FixtureRequest, language: str) -> None:
    who: Reader = request.getfixturevalue(language)
    page = who.page(who.view("partitions", {"requests.0.devices": "16", "requests.0.team": "하이<"}))
    links = [link["href"] for link in page.select("figure.pod .chart-files a[download]")]
    assert [link.rpartition(".")[2] for link in links] == ["svg", "png", "csv"]
    drawn, dots, rows = (who.get(link) for link in links)
    found = ElementTree.fromstring(drawn.text)
    words = [one.text for one in found.iter("{http://www.w3.org/2000/svg}text")]
    # Over its block and in the key.
    assert words.count("하이< · 16") == 2
    boxes = [one.get("class") for one in found.iter("{http://www.w3.org/2000/svg}rect")]
    assert (boxes.count("box-tenant-0"), boxes.count("box-idle")) == (16 + 1, 48)
    assert dots.content.startswith(b"\x89PNG")
    assert rows.text.splitlines()[1] == "하이<,0,0,16,"
