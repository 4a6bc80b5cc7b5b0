"""The list of studies, and what is told of comparisons and estimates in a list."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from fastapi import FastAPI

from app.main import create_app
from app.platform.listing import USUAL_ITEMS
from app.platform.web.examples import RESNET, STUDY
from app.settings import Settings
from tests.support.application import Reader

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


def led_to(page: BeautifulSoup) -> list[str]:
    """Return the identifiers that the table leads to, in its order."""
    return [str(link["href"]).removeprefix("/studies/") for link in page.select("#studies tbody th a")]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Somebody at a server on which little is made: what is there, the tests of this module made."""
    app: FastAPI = create_app(Settings.at(tmp_path_factory.mktemp("lists")))
    return Reader(app)


@pytest.fixture(scope="module")
def empty(fresh: Reader) -> dict[str, BeautifulSoup]:
    """The pages before anything is made."""
    return {path: fresh.page(path) for path in ("/", "/studies")}


@pytest.fixture(scope="module")
def many(fresh: Reader, empty: dict[str, BeautifulSoup]) -> list[str]:
    """Identifiers of more studies than one stretch holds, the newest first."""
    return [
        made(fresh, "studies", {**STUDY, "name": f"Round {number}"}) for number in range(USUAL_ITEMS + 3)
    ][::-1]


def test_an_empty_list_leads_to_the_form(empty: dict[str, BeautifulSoup]) -> None:
    page = empty["/studies"]
    assert page.select_one('main a[href="/"]') is not None
    assert page.select_one("main table") is None


def test_the_start_page_is_silent_where_nothing_was_made(empty: dict[str, BeautifulSoup]) -> None:
    assert empty["/"].select_one(".recent") is None


def test_the_newest_study_stands_first_and_the_list_goes_on(fresh: Reader, many: list[str]) -> None:
    first = fresh.page("/studies")
    assert led_to(first) == many[:USUAL_ITEMS]
    following = first.select_one(".pages a")
    assert following is not None
    second = fresh.page(str(following["href"]))
    assert led_to(second) == many[USUAL_ITEMS:]
    assert second.select_one(".pages a") is None


def test_each_stretch_has_its_own_data(fresh: Reader, many: list[str]) -> None:
    address = "/studies"
    seen: list[str] = []
    while address:
        page = fresh.page(address)
        twin = page.find("link", rel="alternate", type="application/json")
        assert isinstance(twin, Tag)
        data = fresh.data(str(twin["href"]))
        assert [one["id"] for one in data["items"]] == led_to(page)
        seen += [one["id"] for one in data["items"]]
        following = page.select_one(".pages a")
        assert (data["next"] is None) == (following is None)
        address = str(following["href"]) if following is not None else ""
    assert seen == many


def test_the_start_page_leads_to_the_newest_studies_and_to_all(fresh: Reader, many: list[str]) -> None:
    block = fresh.page("/").select_one(".recent")
    assert block is not None
    links = [link["href"] for link in block.select("a")]
    assert links == ["/studies", *(f"/studies/{one}" for one in many[:3])]
    assert f"Round {USUAL_ITEMS + 2}" in block.text and "DGX A100 640GB" in block.text


def test_what_others_typed_is_text_and_says_no_language(reader: Reader) -> None:
    study = made(reader, "studies", {**STUDY, "name": NAME})
    page = reader.page("/studies")
    link = page.select_one(f'main table a[href="/studies/{study}"]')
    assert link is not None
    assert link.get_text() == NAME and link["lang"] == "und"
    assert page.find("b", string="Seoul") is None
    estimate = reader.page(f"/estimates/{made(reader, 'estimates', {**RESNET, 'label': NAME})}")
    assert estimate.h1.get_text() == NAME and estimate.h1["lang"] == "und"
    recent = reader.page("/").select_one(f'.recent a[href="/studies/{study}"]')
    assert recent is not None and recent.get_text() == NAME and recent["lang"] == "und"


def test_options_of_a_comparison_are_those_of_its_list(reader: Reader) -> None:
    rows = [{**RESNET, "label": "Labelled"}, RESNET, {"label": "Stated", "hours": 3, "kind": "measured"}]
    comparison = made(reader, "comparisons", {"title": "Mixed", "rows": rows})
    shown = [row["label"] for row in reader.data(f"/comparisons/{comparison}.json")["rows"]]
    listed = {one["id"]: one for one in reader.data("/api/v1/comparisons")["items"]}
    assert listed[comparison]["labels"] == shown


def test_a_comparison_with_other_options_is_listed_with_those(reader: Reader) -> None:
    comparison = made(reader, "comparisons", claims("Before", "old", "older"))
    change = claims("After", "new", "newer", "newest")
    assert reader.ask("PATCH", f"/api/v1/comparisons/{comparison}", json=change).status_code == 200
    listed = {one["id"]: one for one in reader.data("/api/v1/comparisons")["items"]}[comparison]
    assert (listed["title"], listed["labels"]) == ("After", ["new", "newer", "newest"])


def test_an_estimate_is_listed_with_its_model_and_system(reader: Reader) -> None:
    asked = {"workload": {"samples": 1e6, "global_batch": 64}, "label": "Which"}
    upload = made(reader, "profiles", {"name": "Our own", "transformer": TRANSFORMER})
    expected = {
        made(
            reader, "estimates", {**asked, "model": model, "system": {"id": "dgx-a100-640gb", **count}}
        ): cells
        for model, count, cells in (
            ({"preset": "bert-large"}, {}, ("BERT-Large", 1)),
            ({"profile_id": upload}, {"count": 3}, ("Our own", 3)),
            ({"transformer": TRANSFORMER}, {"count": 2}, (None, 2)),
        )
    }
    items = reader.data("/api/v1/estimates")["items"][: len(expected)]
    assert [one["id"] for one in items] == [*expected][::-1]
    assert {one["id"]: (one["model"], one["count"]) for one in items} == expected
    assert {(one["name"], one["system"]) for one in items} == {("Which", "DGX A100 640GB")}


def test_an_upload_that_is_deleted_leaves_its_estimates_in_the_list(reader: Reader) -> None:
    upload = made(reader, "profiles", {"name": "Soon gone", "transformer": TRANSFORMER})
    asked = {"model": {"profile_id": upload}, "workload": {"samples": 1e6, "global_batch": 64}}
    estimate = made(reader, "estimates", {**asked, "system": {"id": "ipu-pod16"}, "label": "Left"})
    assert reader.ask("DELETE", f"/api/v1/profiles/{upload}").status_code == 204
    listed = next(one for one in reader.data("/api/v1/estimates")["items"] if one["id"] == estimate)
    assert (listed["name"], listed["model"], listed["system"]) == ("Left", None, "IPU-POD16")
