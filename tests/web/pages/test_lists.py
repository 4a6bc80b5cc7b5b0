"""The lists of comparisons and estimates, and the ways to them and back."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from fastapi import FastAPI

from app.main import create_app
from app.platform.listing import USUAL_ITEMS
from app.platform.web.examples import RESNET
from app.settings import Settings
from tests.web.pages.conftest import Reader
from tests.web.pages.test_language import sentences

NAME = "<b>Seoul</b> & 서울"

TRANSFORMER = {"layers": 2, "hidden": 64, "heads": 2, "vocab": 100, "seq_len": 32}


def claims(title: str, *labels: str) -> dict[str, Any]:
    """Return the request of a comparison of stated figures, which takes no time to make."""
    rows = [{"label": label, "hours": 3 + place, "kind": "vendor"} for place, label in enumerate(labels)]
    return {"title": title, "rows": rows}


def made(reader: Reader, kind: str, body: dict[str, Any]) -> str:
    """Keep something and return its identifier."""
    answer = reader.ask("POST", f"/api/v1/{kind}", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def row_of(page: BeautifulSoup, address: str) -> list[str]:
    """Return the cells of the row that leads to an address."""
    link = page.select_one(f'main table a[href="{address}"]')
    assert link is not None, address
    row = link.find_parent("tr")
    assert isinstance(row, Tag)
    return [cell.get_text(strip=True) for cell in row.find_all(["th", "td"])]


def led_to(page: BeautifulSoup, kind: str) -> list[str]:
    """Return the identifiers that the table leads to, in its order."""
    return [str(link["href"]).removeprefix(f"/{kind}/") for link in page.select(f"#{kind} tbody th a")]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Somebody at a server on which little is made: what is there, the tests of this module made."""
    app: FastAPI = create_app(Settings.at(tmp_path_factory.mktemp("lists")))
    return Reader(app)


@pytest.fixture(scope="module")
def empty(fresh: Reader) -> dict[str, BeautifulSoup]:
    """The pages before anything is made."""
    return {path: fresh.page(path) for path in ("/", "/estimates")}


@pytest.fixture(scope="module")
def many(fresh: Reader, empty: dict[str, BeautifulSoup]) -> list[str]:
    """Identifiers of more comparisons than one stretch holds, the newest first."""
    return [
        made(fresh, "comparisons", claims(f"Round {number}", "ours", "theirs"))
        for number in range(USUAL_ITEMS + 3)
    ][::-1]


@pytest.fixture(scope="module")
def estimates(fresh: Reader, empty: dict[str, BeautifulSoup]) -> list[str]:
    """Identifiers of more estimates than one stretch holds, the newest first."""
    return [made(fresh, "estimates", RESNET) for _ in range(USUAL_ITEMS + 3)][::-1]


def test_an_empty_list_leads_to_the_form(empty: dict[str, BeautifulSoup]) -> None:
    page = empty["/estimates"]
    notice = page.select_one("main .notice")
    assert notice is not None and "No estimates yet" in notice.get_text()
    assert notice.select_one('a[href="/"]') is not None
    assert page.select_one("main table") is None


def test_the_start_page_is_silent_where_nothing_was_made(empty: dict[str, BeautifulSoup]) -> None:
    assert empty["/"].select_one(".recent") is None


def test_the_newest_stands_first_and_the_list_goes_on(fresh: Reader, estimates: list[str]) -> None:
    first = fresh.page("/estimates")
    assert led_to(first, "estimates") == estimates[:USUAL_ITEMS]
    following = first.select_one(".pages a")
    assert following is not None
    second = fresh.page(str(following["href"]))
    assert led_to(second, "estimates") == estimates[USUAL_ITEMS:]
    assert second.select_one(".pages a") is None


def test_each_stretch_has_its_own_data(fresh: Reader, estimates: list[str]) -> None:
    address = "/estimates"
    seen: list[str] = []
    while address:
        page = fresh.page(address)
        twin = page.find("link", rel="alternate", type="application/json")
        assert isinstance(twin, Tag)
        data = fresh.data(str(twin["href"]))
        assert [one["id"] for one in data["items"]] == led_to(page, "estimates")
        seen += [one["id"] for one in data["items"]]
        following = page.select_one(".pages a")
        assert (data["next"] is None) == (following is None)
        address = str(following["href"]) if following is not None else ""
    assert seen == estimates


def test_the_start_page_leads_to_the_five_newest_and_to_all(fresh: Reader, many: list[str]) -> None:
    block = fresh.page("/").select_one(".recent")
    assert block is not None
    links = [link["href"] for link in block.select("a")]
    assert links == [*(f"/comparisons/{one}" for one in many[:5]), "/comparisons"]


def test_the_start_page_keeps_leading_there_when_the_form_is_refused(fresh: Reader, many: list[str]) -> None:
    refused = fresh.submit("/", {"workload.tokens": "many"})
    assert refused.status_code == 400
    assert f'href="/comparisons/{many[0]}"' in refused.text


def test_what_others_typed_is_text_and_says_no_language(reader: Reader) -> None:
    comparison = made(reader, "comparisons", claims(NAME, f"{NAME} 1", f"{NAME} 2"))
    estimate = made(reader, "estimates", {**RESNET, "label": NAME})
    page = reader.page("/estimates")
    link = page.select_one(f'main table a[href="/estimates/{estimate}"]')
    assert link is not None
    assert link.get_text() == NAME and link["lang"] == "und"
    assert page.find("b", string="Seoul") is None
    recent = reader.page("/").select_one(f'.recent a[href="/comparisons/{comparison}"]')
    assert recent is not None and recent.get_text() == NAME and recent["lang"] == "und"


def test_options_of_a_comparison_are_those_of_its_list(reader: Reader) -> None:
    rows = [{**RESNET, "label": "Labelled"}, RESNET, {"label": "Stated", "hours": 3, "kind": "measured"}]
    comparison = made(reader, "comparisons", {"title": "Mixed", "rows": rows})
    shown = [row["label"] for row in reader.data(f"/comparisons/{comparison}.json")["rows"]]
    listed = {one["id"]: one for one in reader.data("/api/v1/comparisons")["items"]}
    assert listed[comparison]["labels"] == shown


def test_an_estimate_is_listed_with_its_model_and_system(reader: Reader) -> None:
    asked = {"workload": {"samples": 1e6, "global_batch": 64}, "label": "Which"}
    upload = made(reader, "profiles", {"name": "Our own", "transformer": TRANSFORMER})
    expected = {
        made(
            reader, "estimates", {**asked, "model": model, "system": {"id": "dgx-a100-640gb", **count}}
        ): cells
        for model, count, cells in (
            ({"preset": "bert-large"}, {}, ["BERT-Large", "DGX A100 640GB"]),
            ({"profile_id": upload}, {"count": 3}, ["Our own", "3 × DGX A100 640GB"]),
            ({"transformer": TRANSFORMER}, {"count": 2}, ["–", "2 × DGX A100 640GB"]),
        )
    }
    page = reader.page("/estimates")
    for identifier, cells in expected.items():
        assert row_of(page, f"/estimates/{identifier}")[:3] == ["Which", *cells]
    assert led_to(page, "estimates")[: len(expected)] == [*expected][::-1]
    listed = {one["id"]: one for one in reader.data("/estimates.json")["items"]}
    told = [(listed[one]["model"], listed[one]["count"]) for one in expected]
    assert told == [("BERT-Large", 1), ("Our own", 3), (None, 2)]


def test_an_upload_that_is_deleted_leaves_its_estimates_in_the_list(reader: Reader) -> None:
    upload = made(reader, "profiles", {"name": "Soon gone", "transformer": TRANSFORMER})
    asked = {"model": {"profile_id": upload}, "workload": {"samples": 1e6, "global_batch": 64}}
    estimate = made(reader, "estimates", {**asked, "system": {"id": "ipu-pod16"}, "label": "Left"})
    assert reader.ask("DELETE", f"/api/v1/profiles/{upload}").status_code == 204
    cells = row_of(reader.page("/estimates"), f"/estimates/{estimate}")
    assert cells[:3] == ["Left", "–", "IPU-POD16"]


def test_a_cursor_that_is_none_is_refused(reader: Reader) -> None:
    assert reader.get("/estimates?cursor=none").status_code == 400
    assert reader.get("/estimates.json?cursor=none").status_code == 400


def test_an_estimate_leads_back_to_the_list(reader: Reader) -> None:
    page = reader.page(f"/estimates/{made(reader, 'estimates', RESNET)}")
    assert page.select_one('.crumb a[href="/estimates"]') is not None


def test_korean_lists_are_korean(korean: Reader, modelled: str) -> None:
    for path in ("/estimates", "/"):
        assert list(sentences(korean.page(path))) == [], path
    assert korean.page("/").select_one(".recent h2").get_text() == "최근 비교"
