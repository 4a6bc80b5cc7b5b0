"""The workspace and its addresses, saving, traces, assumptions and files."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from bs4 import BeautifulSoup

from app.platform.web.examples import STUDY
from tests.support.application import Reader, sentences


@pytest.fixture
def address(reader: Reader) -> str:
    made = reader.ask("POST", "/api/v1/studies", json=STUDY)
    assert made.status_code == 201, made.text
    return f"/studies/{made.json()['id']}"


def value(page: BeautifulSoup, knob: str) -> str:
    return page.select_one(f"#knob-{knob}")["value"]


def column(page: BeautifulSoup, key: str) -> str:
    return page.select_one(f"#column-{key}").get_text(" ", strip=True)


def test_page_and_twin_agree_in_any_state(reader: Reader, address: str) -> None:
    for query in ("", "?count.a=4&utilisation=0.5"):
        data, page = reader.data(f"{address}.json{query}"), reader.page(address + query)
        assert page.select_one('link[type="application/json"]')["href"] == f"{address}.json{query}"
        for one in data["options"]:
            assert one["label"] in column(page, one["key"])
        decision = data["decision"]
        assert page.select_one(".study-option.recommended")["id"] == f"column-{decision['recommended']}"
        names = [one.get_text(strip=True) for one in page.select("#decision tbody th")]
        labels = {one["key"]: one["label"] for one in data["options"]}
        assert names == [labels[one["id"]] for one in decision["options"]]
        assert len(page.select("#answer .answer-words p")) == len(decision["sentences"])


def test_every_state_has_one_address(reader: Reader, address: str) -> None:
    typed = reader.get(
        f"{address}?count.a=4&count.b=&batch=&utilisation=75%25&precision=&version=1&previous="
    )
    assert typed.status_code == 303
    kept = parse_qs(urlsplit(typed.headers["location"]).query)
    assert kept == {"count.a": ["4"], "utilisation": ["0.75"]}
    assert reader.get(f"{address}?count.a=2").headers["location"] == address
    page = reader.page(typed.headers["location"])
    assert value(page, "count-a") == "4" and value(page, "utilisation") == "75"
    assert page.select_one("#knob-count-a").find_parent(class_="changed")


def test_changes_are_listed_and_each_can_be_taken_back(reader: Reader, address: str) -> None:
    page = reader.page(f"{address}?count.a=4&batch=2048")
    *chips, everything = page.select("#changes a")
    assert len(chips) == 2 and everything["href"] == address
    assert {urlsplit(one["href"]).query for one in chips} == {"count.a=4", "batch=2048"}
    added = reader.page(f"{address}?add.e=ipu-pod16&count.e=2")
    assert "IPU-POD16" in column(added, "e")
    assert urlsplit(added.select_one("#changes a")["href"]).query == ""


def test_an_option_is_renamed_and_two_of_a_name_are_refused(reader: Reader, address: str) -> None:
    page = reader.page(f"{address}?label.a=Our+cluster")
    assert page.select_one("#option-a a").get_text() == "Our cluster"
    assert value(page, "label-a") == "Our cluster"
    assert "→ Our cluster" in page.select_one("#changes").get_text()
    stated = reader.page(f"{address}?label.d=Offer")
    assert "Offer" in stated.select_one("#option-d").get_text()
    twice = reader.page(f"{address}?label.a=Same&label.b=Same", 400)
    assert "use different labels" in twice.select_one('[role="alert"]').get_text()


def test_changes_call_systems_by_their_names(reader: Reader, address: str) -> None:
    query = "add.e=bow-pod16&fabric.a=roce-100"
    told = reader.page(f"{address}?{query}").select_one("#changes").get_text()
    assert "Bow Pod16" in told and "RoCE" in told
    reader.submit(f"{address}/save", {"state": query, "version": "1", "expected": "1"})
    assert "Bow Pod16" in reader.page(f"{address}/versions").get_text()
    assert "version 2 saved on" in reader.page(address).select_one(".crumb").get_text()


def test_a_long_view_begins_with_links_to_its_headings(reader: Reader, address: str) -> None:
    for view in ("", "/plan", "/details"):
        page = reader.page(address + view)
        targets = [one["href"].removeprefix("#") for one in page.select(".on-page a")]
        assert len(targets) > 3 and all(page.find(id=target) for target in targets)
        assert all(one.get_text(strip=True) for one in page.select(".on-page a"))


def test_a_wrong_knob_keeps_the_result_of_before(reader: Reader, address: str) -> None:
    before = reader.page(f"{address}?count.a=4")
    time = before.select_one("#column-a .r-time .study-value").get_text()
    query = "?count.a=many&previous=count.a%3D4"
    for typed, status, told in (("many", 422, "whole number"), ("0", 400, "at least 1")):
        page = reader.page(f"{address}{query.replace('many', typed)}", status)
        assert value(page, "count-a") == typed
        assert told in page.select_one("#knob-count-a-error-1").get_text()
        assert page.select_one("#knob-count-a")["aria-describedby"] == "knob-count-a-error-1"
        assert page.select_one("#options.outdated #column-a .r-time .study-value").get_text() == time
    unknown = reader.page(f"{address}?fabric.a=token-ring", 404)
    assert "closest matches" in unknown.select_one("#knob-fabric-a-error-1").get_text()
    assert "nonsense" in reader.page(f"{address}?nonsense=1", 422).select_one('[role="alert"]').get_text()


def test_steppers_and_removal_are_addresses(reader: Reader, address: str) -> None:
    page = reader.page(address)
    less, more = (one["href"] for one in page.select("#column-a a.stepper"))
    assert value(reader.page(less), "count-a") == "1" and value(reader.page(more), "count-a") == "3"
    without = reader.page(page.select_one("#column-b .drop")["href"])
    assert without.select_one("#column-b") is None and without.select_one("#column-a")


def test_saving_makes_a_version_and_a_late_one_is_shown_what_changed(reader: Reader, address: str) -> None:
    page = reader.page(f"{address}?count.a=4")
    form = page.select_one(f'form[action="{address}/save"]')
    fields = {one["name"]: one["value"] for one in form.select("input")}
    assert reader.submit(form["action"], fields).headers["location"] == address
    assert value(reader.page(address), "count-a") == "4"
    late = reader.submit(form["action"], {**fields, "state": "batch=2048"})
    assert late.status_code == 409
    clash = BeautifulSoup(late.text, "lxml").select_one("#clash")
    assert "2 → 4" in clash.get_text()
    mine = reader.page(clash.select_one("a.button")["href"])
    assert value(mine, "batch") == "2,048" and value(mine, "count-a") == "4"
    versions = reader.page(f"{address}/versions")
    assert len(versions.select(".study-versions > li")) == 2


def test_a_price_book_of_the_workspace_is_chosen_by_its_name(reader: Reader, address: str) -> None:
    row = {"item": "dgx-a100-640gb", "parameter": "price", "value": 500_000, "unit": "USD"}
    book = {"name": "Seoul 2026", "rows": [row]}
    made = reader.ask("POST", "/api/v1/price-books", json=book)
    assert made.status_code == 201, made.text
    choice = reader.page(address).select_one("#knob-price_book")
    offered = {one["value"]: one.get_text(strip=True) for one in choice.select("option")}
    assert offered[made.json()["id"]] == "Seoul 2026"
    turned = reader.page(f"{address}?price_book={made.json()['id']}")
    assert turned.select_one("#knob-price_book option[selected]").get_text(strip=True) == "Seoul 2026"
    assert column(turned, "a") != column(reader.page(address), "a")


def test_an_older_version_says_so(reader: Reader, address: str) -> None:
    reader.submit(f"{address}/save", {"state": "count.a=4", "version": "1", "expected": "1"})
    old = reader.page(f"{address}?version=1")
    assert old.select_one("#older") and value(old, "count-a") == "2"
    assert reader.page(f"{address}?version=9", 404).select_one('[role="alert"]')


def test_every_headline_figure_leads_to_its_trace(reader: Reader, address: str) -> None:
    page = reader.page(f"{address}?count.a=4")
    links = [one["href"] for one in page.select("#column-a .traced")]
    assert {parse_qs(urlsplit(one).query)["figure"][0] for one in links} == {
        "time_to_train",
        "cost",
        "mfu",
        "throughput",
        "memory",
        "energy",
    }
    for link in links:
        trace, data = reader.page(link), reader.data(link.replace("/trace?", "/trace.json?"))
        assert trace.select_one(".formula").get_text(strip=True) == data["step"]["formula"]
        assert data["knobs"] == {"count.a": "4"} and "modelled" in trace.get_text()
    stated = reader.page(f"{address}/trace?option=d&figure=time_to_train")
    assert "linear extrapolation" in stated.get_text() and "caling efficiency" in stated.get_text()
    assert reader.page(f"{address}/trace?option=z", 404)
    refused = reader.get(f"{address}/trace.json?option=z", headers={"accept": "application/json"})
    assert [error["field"] for error in refused.json()["errors"]] == ["option"]


def test_competing_claims_stand_in_the_trace(reader: Reader) -> None:
    body = {**STUDY, "options": [{"system": {"id": "aws-p4d"}}]}
    made = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
    page = reader.page(f"/studies/{made}/trace?option=a&figure=cost")
    assert page.select("#claims tr.struck .reason")
    assert page.select('#claims a[href^="/catalog/systems/aws-p4d"]')


def test_the_panel_is_a_part_of_the_page(reader: Reader, address: str) -> None:
    part = reader.get(f"{address}/trace?option=a&figure=cost", headers={"HX-Request": "true"}).text
    assert "<dialog" in part and "<html" not in part


def test_assumptions_name_defaults_their_reason_and_their_knob(reader: Reader, address: str) -> None:
    page, data = reader.page(f"{address}/assumptions"), reader.data(f"{address}/assumptions.json")
    rows = {row["field"]: row for row in data["rows"]}
    assert rows["assumptions.utilisation"]["values"]["b"] == {"value": 0.5, "default": False, "text": None}
    assert rows["assumptions.utilisation"]["values"]["a"]["default"]
    text = page.select_one("#assumptions").get_text(" ", strip=True)
    # The system of an option is its label.
    assert len(page.select("#assumptions tbody tr")) >= len(rows.keys() - {"system.id"})
    assert "Catalogue value" in text and page.select("#assumptions .tag.default")
    knob = page.select_one(f'#assumptions a[href="{address}#knob-utilisation"]')
    assert knob.get_text() == "Utilization" and reader.page(address).select_one("#knob-utilisation")
    for row in page.select("#assumptions tbody tr"):
        assert not row.select("td:last-child code"), "a name of the code changes nothing on a page"


def test_a_file_goes_out_and_comes_back(reader: Reader, address: str) -> None:
    sent = reader.get(f"{address}/export.json")
    assert "attachment" in sent.headers["content-disposition"]
    brought = reader.submit("/studies/import", {}, {"file": ("study.json", sent.content)})
    assert brought.status_code == 303
    again = reader.get(f"{brought.headers['location']}/export.json")
    assert json.loads(again.text) == json.loads(sent.text)
    for content in (b"not json", b"{}", b'{"format": "rackline-study"}', b"\x00" * 2_000_000):
        refused = reader.submit("/studies/import", {}, {"file": ("x.json", content)})
        assert 400 <= refused.status_code < 500
        assert "file-error-1" in refused.text
    assert reader.submit("/studies/import", {}).status_code == 400


def test_buttons_of_the_workspace(reader: Reader, address: str) -> None:
    copied = reader.submit(f"{address}/duplicate", {"state": "count.a=4"}).headers["location"]
    assert value(reader.page(copied), "count-a") == "4"
    figure = {"figure.label": "Own run", "figure.kind": "measured", "figure.hours": "3", "expected": "1"}
    reader.submit(f"{address}/figures", figure)
    assert "Own run" in reader.page(address).get_text()
    renamed = {"name": "Renamed <b>", "customer": "<i>", "tags": "a, b", "notes": "n", "expected": "2"}
    reader.submit(f"{address}/save", renamed)
    assert reader.page(address).h1.get_text() == "Renamed <b>"
    assert reader.submit(f"{address}/archive", {}).headers["location"] == "/studies"
    assert address not in str(reader.page("/studies"))
    assert address in str(reader.page("/studies?archived=1"))
    reader.submit(f"{address}/restore", {})
    assert reader.page("/studies?search=renamed").select_one(f'a[href="{address}"]')


@pytest.mark.parametrize("button", ["save", "duplicate", "figures"])
def test_a_state_of_more_knobs_than_there_are_is_refused(reader: Reader, address: str, button: str) -> None:
    state = "&".join(f"count.a{number}=4" for number in range(121))
    refused = reader.submit(f"{address}/{button}", {"state": state, "version": "1", "expected": "1"})
    assert refused.status_code == 400 and "120" in refused.text


def test_demands_are_answered_beside_each_other(reader: Reader) -> None:
    study = reader.study({"id": "dgx-h100"}, {"id": "aws-p5"})
    links = reader.page(study).select("#by-demand a")
    names = [one.strong.find(string=True, recursive=False).strip() for one in links]
    assert names == ["Once", "10 a year", "Always busy"]
    assert [bool(one.get("aria-current")) for one in links] == [True, False, False]
    asked = reader.data(f"{study}.json")["by_demand"]
    for link, told in zip(links, asked, strict=True):
        found = reader.data(f"{study}.json?{urlsplit(link['href']).query}")["decision"]
        assert (found["question"]["demand"], found["runs"]) == (told["demand"], told["runs"])
        assert found["recommended"] == told["recommended"]


def test_a_demand_takes_the_place_of_another(reader: Reader, address: str) -> None:
    state = reader.page(f"{address}?runs_per_year=10")
    assert value(state, "runs_per_year") == "10" and state.select_one("#knob-runs") is None
    reader.submit(f"{address}/save", {"state": "runs_per_year=10", "expected": "1"})
    kept = reader.data(f"{address}.json?busy=0.5")["content"]["base"]["assumptions"]["demand"]
    assert {name: number for name, number in kept.items() if number} == {"utilisation": 0.5}
    refused = reader.get(f"{address}?busy=0.5&runs=3")
    assert refused.status_code == 400


def test_counts_are_offered_anew_where_what_is_trained_changed_and_nobody_typed_them(reader: Reader) -> None:
    base = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 3e11}}
    options = [{"key": key, "system": {"id": "dgx-h100", "count": 128}} for key in "ab"]
    made = reader.ask("POST", "/api/v1/studies", json={"name": "x", "base": base, "options": options})
    study = f"/studies/{made.json()['id']}"
    assert reader.page(study).select_one("#recount") is None
    offered = reader.page(f"{study}?tokens=1e10&count.b=64").select_one("#recount a")
    counts = parse_qs(urlsplit(offered["href"]).query)
    assert counts["count.b"] == ["64"] and int(counts["count.a"][0]) < 10


def test_power_is_a_limit_in_kilowatts(reader: Reader, address: str) -> None:
    found = reader.data(f"{address}.json?power=1")
    assert found["content"]["limits"]["power_w"] == 1000
    assert {one["why_not"] for one in found["decision"]["options"] if one["outlay"]} == {"over_power"}


def test_a_sentence_rounds_money_as_a_cell_does(reader: Reader, korean: Reader) -> None:
    study = reader.study({"id": "aws-p4d"})
    shown = reader.page(study).select_one("#decision td:nth-of-type(2) .figure").get_text(strip=True)
    assert shown in reader.page(study).select_one(".answer-first").get_text()
    other = korean.page(study)
    told = other.select_one("#decision td:nth-of-type(2) .figure").get_text(strip=True)
    assert told.endswith("달러") and told in other.select_one(".answer-first").get_text()


def test_korean_pages_are_korean(korean: Reader, address: str) -> None:
    for path in (
        "/studies",
        "/studies?archived=1",
        f"{address}?count.a=4&pair=a&pair=c",
        f"{address}/assumptions",
        f"{address}/versions",
        f"{address}/trace?option=a&figure=cost",
        f"{address}/trace?option=c&figure=time_to_train",
    ):
        page = korean.page(path)
        assert list(sentences(page)) == [], path
    told = korean.page(f"{address}?count.a=x", 422).select_one("#knob-count-a-error-1").get_text()
    assert re.search("[가-힣]", told)


def test_a_version_that_is_no_number_of_ours_is_none(reader: Reader, address: str) -> None:
    response = reader.submit(f"{address}/save", {"name": "Another name", "expected": "9" * 5000})
    assert response.status_code == 303
    assert reader.page(f"{address}?version={'9' * 5000}", 400)


def test_rack_units_beyond_all_numbers_are_refused(reader: Reader) -> None:
    address = reader.study({"id": "dgx-a100-640gb"})
    assert reader.get(f"{address}/bill?rack_units={'9' * 5000}").status_code == 422
