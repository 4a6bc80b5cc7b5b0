"""The view of plans of a study: the best, why they win, and how one of them is taken over."""

from __future__ import annotations

import itertools
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag

from tests.features.plans.conftest import made
from tests.support.application import Reader, narrowed

SLOW = {"tensor": 8, "pipeline": 4, "micro_batch": 1, "recompute": "full"}


@pytest.fixture(scope="module")
def study(reader: Reader) -> str:
    return made(reader, "megatron-1.7b", 512, {"id": "dgx-a100-640gb", "count": 4})


@pytest.fixture(scope="module")
def slow(reader: Reader) -> str:
    """A study whose option has a plan that is far from the best."""
    return made(reader, "megatron-1.7b", 512, {"id": "dgx-a100-640gb", "count": 4}, **SLOW)


@pytest.fixture(scope="module")
def page(reader: Reader, study: str) -> BeautifulSoup:
    return reader.page(f"{study}/plan")


@pytest.fixture(scope="module")
def found(reader: Reader, study: str) -> Any:
    return reader.data(f"{study}/plan.json")


def rows(page: BeautifulSoup) -> list[Tag]:
    return list(page.select("#plans tbody tr"))


def chips(page: BeautifulSoup) -> list[str]:
    return [" ".join(chip.find_all(string=True, recursive=False)).split()[0] for chip in page.select(".chip")]


def test_best_plan_is_said_in_a_sentence(page: BeautifulSoup, found: Any) -> None:
    said, best = page.select_one("#best .answer").get_text().strip(), found["plans"][0]
    assert said.startswith("The best plan is ")
    assert f"micro-batch size {best['plan']['micro_batch']}" in said
    assert f"using {best['memory']['value'] / 1e9:.1f} GB of 85.9 GB" in said
    counts = page.find(id="counts").get_text()
    for name in ("enumerated", "evaluated", "feasible"):
        assert f"{found[name]:,}" in counts


def test_table_is_that_of_the_twin(page: BeautifulSoup, found: Any) -> None:
    assert len(rows(page)) == len(found["plans"])
    for row, plan in zip(rows(page), found["plans"], strict=True):
        degrees = [str(plan["plan"][name]) for name in ("tensor", "pipeline", "data")]
        assert row.select_one(".degrees").get_text().split() == " × ".join(degrees).split()
        marked = row.select_one(".status-unvalidated") is not None
        assert marked == bool(plan["unmeasured"])


def test_nothing_that_the_study_knows_is_asked_again(page: BeautifulSoup) -> None:
    fields = {one["name"] for one in page.select("form.plan-form [name]") if one.get("type") != "hidden"}
    assert fields <= {"tensor", "pipeline", "recompute", "sharding", "offload", "phases"}
    assert page.select_one(".subtabs [aria-current]").get_text() == "Plan"


def test_map_has_a_link_for_every_legal_cell(page: BeautifulSoup, found: Any) -> None:
    cells = {(cell["tensor"], cell["pipeline"]): cell for cell in found["map"]}
    links = page.select("#map td a")
    assert len(links) == len(cells)
    for link in links:
        asked = parse_qs(urlsplit(link["href"]).query)
        cell = cells[int(asked["tensor"][0]), int(asked["pipeline"][0])]
        assert ("unfit" in link.parent["class"]) == (cell["feasible"] == 0)
    assert len(page.select("#map td.winner")) == 1


def test_nearer_the_fastest_is_darker(page: BeautifulSoup) -> None:
    shades: dict[int, list[float]] = {}
    for cell in page.select("#map td[class*=shade-]"):
        shade = next(int(name[6:]) for name in cell["class"] if name.startswith("shade-"))
        shades.setdefault(shade, []).append(float(cell.get_text().replace(",", "")))
    ordered = [shades[shade] for shade in sorted(shades)]
    assert len(ordered) > 1
    for darker, paler in itertools.pairwise(ordered):
        assert max(darker) <= min(paler)


def test_following_a_cell_narrows_and_following_it_again_widens(reader: Reader, page: BeautifulSoup) -> None:
    link = page.select("#map td:not(.unfit):not(.winner) a")[0]
    asked = parse_qs(urlsplit(link["href"]).query)
    shown = narrowed(reader, str(link["href"]))
    wanted = f"{asked['tensor'][0]} × {asked['pipeline'][0]} ×"
    assert rows(shown)
    assert all(row.select_one(".degrees").get_text().startswith(wanted) for row in rows(shown))
    assert chips(shown) == ["Tensor", "Pipeline"]
    # The map still shows all degrees, so that the next cell is one step away.
    assert len(shown.select("#map td a")) == len(page.select("#map td a"))
    again = shown.select_one("#map td.chosen a")
    assert again["aria-current"] == "true"
    assert chips(narrowed(reader, str(again["href"]))) == []


@pytest.mark.parametrize(
    ("filters", "field", "allowed"),
    [
        ({"tensor": "2,4"}, "tensor", {2, 4}),
        ({"recompute": "full"}, "recompute", {"full"}),
        ({"sharding": "optimizer,none"}, "sharding", {"optimizer", "none"}),
        ({"offload": "no"}, "offload", {False}),
        ({"data": "4 8"}, "data", {4, 8}),
    ],
)
def test_filters_are_constraints(
    reader: Reader, study: str, filters: dict[str, str], field: str, allowed: set[object]
) -> None:
    query = urlencode(filters)
    assert {plan["plan"][field] for plan in reader.data(f"{study}/plan.json?{query}")["plans"]} <= allowed
    shown = narrowed(reader, f"{study}/plan?{query}")
    assert len(shown.select(".chip")) == 1
    assert shown.select_one(f"select#filter-{field} option[selected]")["value"] == filters[field]
    assert chips(narrowed(reader, str(shown.select_one(".chip")["href"]))) == []


def test_the_second_is_held_against_the_first(page: BeautifulSoup, found: Any) -> None:
    more = found["plans"][1]["more"]
    assert page.find(id="why-title").get_text().endswith("plan 2?")
    total = sum(part["seconds"] for part in more)
    last = page.select(".chart-box:has(#figure-difference) .chart-table tr")[-1].select("td")
    # A difference stands in the column of its sign.
    (foot,) = (cell.get_text() for cell in last if cell.get_text() != "–")
    assert foot.startswith("+" if total >= 0 else "−")
    sentence = page.select("section .answer")[-1].get_text()
    assert ("saves" in sentence) == any(part["seconds"] >= 0.05 * abs(more[0]["seconds"]) for part in more)


def test_another_can_be_held_against_it(reader: Reader, page: BeautifulSoup) -> None:
    link = next(link for link in page.select("#plans .actions a") if "against=3" in link["href"])
    other = narrowed(reader, str(link["href"]))
    assert other.find(id="why-title").get_text().endswith("plan 3?")
    assert rows(other)[2]["class"] == ["compared"]


def test_advice_says_what_would_change_and_what_would_not(page: BeautifulSoup, found: Any) -> None:
    told = {row.dt.get_text(): row.dd.get_text() for row in page.select("#advice > div")}
    names = {
        "memory_capacity": "2× memory",
        "memory_bandwidth": "2× memory bandwidth",
        "network_bandwidth": "2× network bandwidth",
    }
    for one in found["what_if"]:
        changes = "no difference" not in told[names[one["change"]]]
        assert changes == (one["gain"] >= 0.005)


def test_a_plan_is_taken_over_into_the_option(reader: Reader, study: str, found: Any) -> None:
    row = rows(reader.page(f"{study}/plan"))[2]
    answer = reader.get(str(row.select_one("a.button")["href"]))
    while answer.status_code == 303:
        answer = reader.get(str(answer.headers["location"]))
    assert answer.status_code == 200
    link = BeautifulSoup(answer.text, "lxml").select_one(".tabs a:nth-of-type(3)")
    again = reader.page(str(link["href"]))
    assert rows(again)[2].find(string="this option") is not None
    details = str(link["href"]).replace("/plan?", "/details.json?")
    plan, taken = found["plans"][2]["plan"], reader.data(details)
    for name in ("tensor", "pipeline", "data", "micro_batch", "recompute", "sharding", "offload"):
        assert taken["plan"][name] == plan[name]
    assert taken["step_time"]["value"] == pytest.approx(found["plans"][2]["step_time"]["value"], rel=1e-9)


def test_the_batch_is_turned_where_the_option_states_none(reader: Reader) -> None:
    body = {
        "name": "Free batch",
        "base": {"model": {"preset": "megatron-1.7b"}, "workload": {"tokens": 1e10}},
        "options": [{"system": {"id": "dgx-a100-640gb", "count": 4}}],
    }
    free = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
    found = reader.data(f"/studies/{free}/plan.json")
    for row in rows(reader.page(f"/studies/{free}/plan"))[1:]:
        asked = parse_qs(urlsplit(str(row.select_one("a.button")["href"])).query)
        assert asked["batch.a"] == [str(found["global_batch"])]


def test_a_plan_that_was_asked_for_is_held_against_the_best(reader: Reader, slow: str) -> None:
    found, page = reader.data(f"{slow}/plan.json"), reader.page(f"{slow}/plan")
    own = next(row for row in rows(page) if row.find(string="this option"))
    place = int(own.td.get_text())
    assert place > 1 and own.select_one("a.button") is None
    assert [one["behind"] for one in found["plans"]] == sorted(one["behind"] for one in found["plans"])
    assert page.find(id="why-title").get_text().endswith(f"plan {place}?")
    assert not page.select(".chip")


def test_a_plan_outside_the_filters_is_told_beside_them(reader: Reader, slow: str) -> None:
    page = narrowed(reader, f"{slow}/plan?tensor=1")
    assert "not listed below" in page.find(id="own-plan").get_text()
    assert not page.find_all(string="this option")


def test_what_does_not_fit_is_an_answer(reader: Reader) -> None:
    study = made(reader, "gpt3-175b", 64, {"id": "dgx-a100-640gb"})
    assert reader.data(f"{study}/plan.json")["fits"] is False
    page = reader.page(f"{study}/plan")
    assert page.select_one("#best .notice [data-code=does_not_fit]") is not None
    assert page.select("#map td.unfit") and not page.select("#map td.winner")
    assert not rows(page)


@pytest.mark.parametrize(
    ("query", "field", "status"),
    [
        ("tensor=x", "tensor", 422),
        ("tensor=0", "tensor", 400),
        ("tensor=5", "tensor", 400),
        ("pipeline=4096", "pipeline", 409),
        ("recompute=twice", "recompute", 422),
        ("offload=perhaps", "offload", 422),
        ("rts=4", "rts", 400),
        (f"tensor={'9' * 400}", "tensor", 422),
    ],
)
def test_errors_stand_beside_their_field_and_the_result_before_stays(
    reader: Reader, study: str, query: str, field: str, status: int
) -> None:
    page = reader.page(f"{study}/plan?{query}", status=status)
    assert page.find(id=f"filter-{field}-error-1").get_text(strip=True)
    assert page.find(id=f"filter-{field}")["aria-invalid"] == "true"
    assert rows(page) and page.select(".outdated-part #plans")
    refused = reader.get(f"{study}/plan.json?{query}", headers={"accept": "application/json"})
    assert refused.status_code == status
    assert {re.split(r"\W", one["field"])[0] for one in refused.json()["errors"]} == {field}


@pytest.mark.parametrize("query", ["against=77", "against=x", "tensor=8&pipeline=4&data=4"])
def test_what_no_filter_shows_is_told_above(reader: Reader, study: str, query: str) -> None:
    answer = reader.get(f"{study}/plan?{query}")
    assert answer.status_code in {400, 409, 422}
    assert BeautifulSoup(answer.text, "lxml").select_one("[role=alert], .field-error") is not None


def test_a_bare_figure_has_no_plans(reader: Reader) -> None:
    body = {
        "name": "Bare",
        "base": {"model": {"total_flop": 1e21}},
        "options": [{"system": {"id": "dgx-a100-640gb"}}],
    }
    bare = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
    page = reader.page(f"/studies/{bare}/plan")
    assert "no layers" in page.select_one("[role=alert]").get_text()


def test_stated_figures_have_no_plans(reader: Reader) -> None:
    figure = {"label": "Theirs", "figure": {"hours": 3, "kind": "vendor"}}
    body = {"name": "Stated", "base": {"model": {"preset": "bert-large"}}, "options": [figure]}
    stated = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
    assert "stated figures only" in reader.page(f"/studies/{stated}/plan").select_one(".notice").get_text()
    assert reader.get(f"/studies/{stated}/plan.json").status_code == 404


def test_an_estimate_leads_to_its_plans(reader: Reader, modelled: str) -> None:
    known = reader.data(f"{modelled}.json")["rows"][0]["estimate"]
    page = reader.page(f"/estimates/{known['id']}")
    link = page.select_one("#plan-title a")
    address = str(reader.get(str(link["href"])).headers["location"])
    # The estimate's plan was searched the same way: it is the best.
    assert rows(reader.page(address))[0].find(string="this option") is not None
    assert reader.data(f"{address}.json")["global_batch"] == known["plan"]["global_batch"]
    assert reader.get("/estimates/none/study?view=plan").status_code == 404


def test_no_script_is_needed(page: BeautifulSoup) -> None:
    for form in page.select("main form"):
        assert form.select_one("button[type=submit]") is not None
    assert not page.select("[hx-get], [onclick]")
    for box in page.select(".chart-box"):
        assert box.select_one("input[type=checkbox]")["id"] == box.select_one("label")["for"]
