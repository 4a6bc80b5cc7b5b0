from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup

from app.features.estimates.document import DERIVED_FIELDS
from tests.support.application import Reader


@pytest.fixture(scope="module")
def document(reader: Reader, modelled: str) -> dict[str, Any]:
    estimate = reader.data(f"{modelled}.json")["rows"][1]["estimate"]
    assert isinstance(estimate, dict)
    return estimate


@pytest.fixture(scope="module")
def page(reader: Reader, document: dict[str, Any]) -> BeautifulSoup:
    return reader.page(f"/estimates/{document['id']}")


def test_twin_is_the_same_document(reader: Reader, document: dict[str, Any]) -> None:
    assert reader.data(f"/estimates/{document['id']}.json") == document


def test_page_names_its_twin(page: BeautifulSoup, document: dict[str, Any]) -> None:
    link = page.find("link", rel="alternate", type="application/json")
    assert link is not None and link["href"] == f"/estimates/{document['id']}.json"


def test_headline_is_the_time_with_its_range(page: BeautifulSoup, document: dict[str, Any]) -> None:
    time = document["time_to_train"]
    value, low, high = (time[end] / 60 for end in ("value", "low", "high"))
    assert (
        page.select_one(".headline dd").get_text(" ", strip=True) == f"{value:.1f} min ({low:.1f}–{high:.1f})"
    )


def test_every_trace_step_opens_on_formula_inputs_and_sources(
    page: BeautifulSoup, document: dict[str, Any]
) -> None:
    steps = page.select(".trace details")
    assert len(steps) == len(document["trace"])
    for step, told in zip(steps, document["trace"], strict=True):
        assert step.select_one(".formula").get_text(strip=True) == told["formula"]
        assert len(step.select("tbody th")) == len(told["inputs"])
        links = {link["href"] for link in step.select(".sources a")}
        assert links == {f"/catalog/sources/{source['id']}" for source in told["source"]}


def test_sources_of_the_trace_are_in_the_catalogue(reader: Reader, page: BeautifulSoup) -> None:
    for address in {link["href"] for link in page.select(".trace .sources a")}:
        assert reader.page(address).select_one("h1") is not None


def test_defaults_are_tagged_and_explained(page: BeautifulSoup, document: dict[str, Any]) -> None:
    found = page.select("#defaults tbody tr")
    assert len(found) == len(document["defaults"]) + len(document["model"]["assumptions"])
    for row, told in zip(found, document["defaults"], strict=False):
        assert told["field"] in row.get_text()
        assert "default" in row.get_text()
        assert told["why"].lower()[1:20] in row.get_text().lower()


def test_warnings_on_the_page_are_those_of_the_document(
    page: BeautifulSoup, document: dict[str, Any]
) -> None:
    assert {item["data-code"] for item in page.select(".warnings li")} == {
        one["code"] for one in document["warnings"]
    }


def test_a_refusal_is_told_once(reader: Reader) -> None:
    asked = {
        "model": {"preset": "gpt3-175b"},
        "workload": {"tokens": 300e9},
        "system": {"id": "dgx-a100-640gb"},
    }
    made = reader.ask("POST", "/api/v1/estimates", json=asked).json()
    page = reader.page(f"/estimates/{made['id']}")
    (refusal,) = page.select("[data-code=does_not_fit]")
    message = next(one["message"] for one in made["warnings"] if one["code"] == "does_not_fit")
    assert refusal.get_text().lower() == message.lower()
    assert page.select_one(".headline") is None


def test_nearest_measured_runs_are_named(page: BeautifulSoup, document: dict[str, Any]) -> None:
    named = [row.th.get_text(strip=True) for row in page.select("#validation tbody tr")]
    assert named == [run["id"] for run in document["validation"]["nearest_measured"]]


def test_memory_bar_marks_what_a_plan_may_fill(page: BeautifulSoup) -> None:
    bar = page.select_one("svg.memory")
    assert 93 < float(bar.select_one(".capacity")["x"]) < 95
    drawn = sum(float(part["width"]) for part in bar.select("rect[class^=memory-]"))
    assert 50 < drawn <= 100


def test_software_is_named_with_its_error(page: BeautifulSoup, document: dict[str, Any]) -> None:
    said = page.select_one("p.validation")
    assert said.select_one(f'a[href="/catalog/software/{document["software"]}"]') is not None
    error = document["validation"]["basis_error"]
    assert (said.select_one("#basis") is not None) == (error is not None)
    assert error is None or document["validation"]["family_error"] == error["median"], "one error"


def resting(reader: Reader, system: str) -> dict[str, Any]:
    asked = {
        "model": {"preset": "llama2-70b"},
        "workload": {"tokens": 1e11, "global_batch": 1024},
        "system": {"id": system, "count": 8},
        "software": "megatron-core",
    }
    return dict(reader.ask("POST", "/api/v1/estimates", json=asked).json())


@pytest.mark.parametrize(
    ("system", "basis", "measured"),
    [("dgx-b200", "measured_here", "measured on this kind of chip"), ("dgx-h200", "data_sheet", "no run of")],
)
def test_a_page_says_what_the_estimate_rests_on_and_what_measuring_gains(
    reader: Reader, korean: Reader, system: str, basis: str, measured: str
) -> None:
    made = resting(reader, system)
    known = made["validation"]
    assert known["basis"] == basis and measured in known["basis_text"]["message"]
    page = reader.page(f"/estimates/{made['id']}")
    said = page.select_one("#basis")
    assert said["data-basis"] == basis
    assert known["basis_text"]["message"].lower() in said.get_text(" ", strip=True).lower()
    assert page.select_one("#three-steps") is not None
    told = [one.get_text() for one in page.select("#effects li")]
    assert len(told) == len(made["effects"])
    assert all(one["kind"] == "architecture" for one in made["effects"]) or basis == "measured_here"
    hangul = korean.page(f"/estimates/{made['id']}").select_one("#basis").get_text()
    error = known["basis_error"]
    assert f"{100 * error['median']:.2g}%" in hangul and "실측" in hangul


def test_a_study_says_beside_each_range_what_it_rests_on(reader: Reader, korean: Reader) -> None:
    address = reader.study({"id": "dgx-a100-640gb"}, {"id": "dgx-h200"}, {"id": "bow-pod16"})
    options = reader.data(f"{address}.json")["options"]
    bases = [one["estimate"]["validation"]["basis"] for one in options]
    assert bases == ["measured_here", "data_sheet", "measured_here"]
    for who in (reader, korean):
        page = who.page(address)
        assert [one["data-basis"] for one in page.select("#basis li")] == bases
        beside = [one["href"] for one in page.select(".r-time a.basis")]
        assert [page.select_one(one)["data-basis"] for one in beside] == bases


@pytest.fixture(scope="module")
def option(reader: Reader, document: dict[str, Any]) -> str:
    """Address of the study that one click on the page makes of the estimate."""
    page = reader.page(f"/estimates/{document['id']}")
    opened = reader.get(str(page.select_one(".next-steps a.primary")["href"]))
    assert opened.status_code == 303
    return str(opened.headers["location"])


def test_an_estimate_opens_as_a_study_that_nobody_has_saved(
    reader: Reader, option: str, document: dict[str, Any]
) -> None:
    data = reader.data(f"{option}.json")
    assert data["saved"] is False and len(data["options"]) == 1
    assert data["options"][0]["time"]["value"] == pytest.approx(document["time_to_train"]["value"])
    assert option.removeprefix("/studies/") not in str(reader.data("/studies.json"))
    assert reader.page(option).select_one('#options h2 a[href$="/details?option=a"]') is not None


def test_an_option_is_shown_in_full_in_the_frame_of_its_study(
    reader: Reader, option: str, page: BeautifulSoup, document: dict[str, Any]
) -> None:
    shown = reader.data(f"{option}/details.json")
    # It is not stored, and is called as the option is.
    apart = {"id", "label", "name", *DERIVED_FIELDS}
    assert {name: value for name, value in shown.items() if name not in apart} == {
        name: value for name, value in document.items() if name not in apart
    }
    assert shown["id"] == "" and shown["request"] is None
    inside = reader.page(f"{option}/details")
    assert inside.select_one(".tabs") is not None and page.select_one(".tabs") is None
    assert [one.get_text(" ", strip=True) for one in inside.select(".headline dd")] == [
        one.get_text(" ", strip=True) for one in page.select(".headline dd")
    ]
    assert len(inside.select(".trace details")) == len(page.select(".trace details"))
    assert not [link["href"] for link in inside.select("#study a") if "/estimates/" in link["href"]]


def test_the_software_of_an_option_is_turned_where_it_is_told(
    reader: Reader, option: str, document: dict[str, Any]
) -> None:
    form = reader.page(f"{option}/details").select_one("#software-title ~ form")
    assert form["action"] == option
    chosen = next(
        one["value"] for one in form.select("option") if one["value"] not in ("", document["software"])
    )
    answer = reader.get(f"{option}/details.json", params={"state": ""})
    assert answer.json()["software"] == document["software"]
    data = reader.data(f"{option}.json?{form.select_one('select')['name']}={chosen}")
    assert data["options"][0]["estimate"]["software"] == chosen


def test_options_are_chosen_by_their_key(reader: Reader) -> None:
    body = {
        "name": "Two",
        "base": {"model": {"preset": "bert-large"}, "workload": {"samples": 1e6, "global_batch": 256}},
        "options": [{"system": {"id": "dgx-a100-640gb"}}, {"system": {"id": "bow-pod16"}}],
    }
    made = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
    assert reader.data(f"/studies/{made}/details.json?option=b")["system"]["id"] == "bow-pod16"
    page = reader.page(f"/studies/{made}/details?option=b")
    assert page.select_one(".option-tabs [aria-current]").get_text() == "Bow Pod16"
    assert page.select_one("#plan-title a")["href"] == f"/studies/{made}/plan?option=b"


def test_measured_runs_outside_the_range_are_shown_with_their_software(reader: Reader) -> None:
    workload = {"samples": 1e8, "global_batch": 2048}
    asked = {"model": {"preset": "resnet50"}, "workload": workload, "system": {"id": "dgx-a100-640gb"}}
    asked |= {"software": "gpu-tuned"}
    estimate = reader.ask("POST", "/api/v1/estimates", json=asked).json()
    rows = reader.page(f"/estimates/{estimate['id']}").select("#outside tbody tr")
    assert len(rows) == len(estimate["validation"]["outside"]) > 0
    for row, told in zip(rows, estimate["validation"]["outside"], strict=True):
        link = row.select_one('a[href^="/catalog/software/"]')
        assert (link["href"].rpartition("/")[2] if link else None) == told["profile"]
