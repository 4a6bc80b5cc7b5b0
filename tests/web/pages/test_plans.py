from __future__ import annotations

import itertools
import math
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag

from app.features.plans.forms import EXAMPLE, written_query
from tests.web.pages.conftest import Reader

SMALL = {"model": "megatron-1.7b", "system": "dgx-a100-640gb", "count": "4", "global_batch": "512"}

POD = {"model": "bert-large", "system": "bow-pod64", "global_batch": "8192"}


def at(values: dict[str, str], **more: str) -> str:
    return f"/plans?{written_query({**values, **more})}"


def twin(address: str) -> str:
    return address.replace("/plans", "/plans.json", 1)


def rows(page: BeautifulSoup) -> list[Tag]:
    return list(page.select("#plans tbody tr"))


def chips(page: BeautifulSoup) -> list[str]:
    return [" ".join(chip.find_all(string=True, recursive=False)).split()[0] for chip in page.select(".chip")]


@pytest.fixture(scope="module")
def page(reader: Reader) -> BeautifulSoup:
    return reader.page(at(SMALL))


@pytest.fixture(scope="module")
def found(reader: Reader) -> Any:
    return reader.data(twin(at(SMALL)))


@pytest.fixture(scope="module")
def estimated(reader: Reader, modelled: str) -> str:
    """Address of an estimate on GPUs whose plan was searched."""
    return f"/estimates/{reader.data(f'{modelled}.json')['rows'][0]['estimate']['id']}"


def test_best_plan_is_said_in_a_sentence(page: BeautifulSoup, found: Any) -> None:
    said, best = page.select_one("#best .answer").get_text(), found["plans"][0]
    assert said.startswith("The best plan is ")
    assert f"micro-batch size {best['plan']['micro_batch']}" in said
    assert f"using {best['memory']['value'] / 1e9:.1f} GB of 80 GB" in said
    counts = page.find(id="counts").get_text()
    for name in ("enumerated", "evaluated", "feasible"):
        assert f"{found[name]:,}" in counts


def test_table_is_that_of_the_twin(page: BeautifulSoup, found: Any) -> None:
    assert len(rows(page)) == len(found["plans"])
    for row, plan in zip(rows(page), found["plans"], strict=True):
        degrees = [str(plan["plan"][name]) for name in ("tensor", "pipeline", "data")]
        assert row.select_one(".degrees").get_text() == " × ".join(degrees)
        marked = row.select_one(".status-unvalidated") is not None
        assert marked == bool(plan["unmeasured"])


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
    narrowed = reader.page(str(link["href"]).partition("#")[0])
    asked = parse_qs(urlsplit(link["href"]).query)
    wanted = f"{asked['tensor'][0]} × {asked['pipeline'][0]} ×"
    assert rows(narrowed) and all(
        row.select_one(".degrees").get_text().startswith(wanted) for row in rows(narrowed)
    )
    assert chips(narrowed) == ["Tensor", "Pipeline"]
    # The map still shows all degrees, so that the next cell is one step away.
    assert len(narrowed.select("#map td a")) == len(page.select("#map td a"))
    again = narrowed.select_one("#map td.chosen a")
    assert again["aria-current"] == "true"
    assert str(again["href"]).partition("#")[0] == at(SMALL)


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
    reader: Reader, filters: dict[str, str], field: str, allowed: set[object]
) -> None:
    address = at(SMALL, **filters)
    assert {plan["plan"][field] for plan in reader.data(twin(address))["plans"]} <= allowed
    narrowed = reader.page(address)
    assert len(narrowed.select(".chip")) == 1
    assert narrowed.select_one(".chip")["href"] == at(SMALL)
    shown = narrowed.select_one(f"select#{field} option[selected]")
    assert shown is not None and shown["value"] == filters[field].replace(" ", " ")


def test_the_second_is_held_against_the_first(page: BeautifulSoup, found: Any) -> None:
    more = found["plans"][1]["more"]
    assert page.find(id="why-title").get_text() == "Why the first plan and not plan 2?"
    total = sum(part["seconds"] for part in more)
    foot = page.select(".chart-box:has(#figure-difference) .chart-table td")[-1].get_text()
    assert foot.startswith("+" if total >= 0 else "−")
    sentence = page.select("section .answer")[-1].get_text()
    assert ("saves" in sentence) == any(part["seconds"] >= 0.05 * abs(more[0]["seconds"]) for part in more)
    assert ("pays" in sentence) == any(-part["seconds"] >= 0.05 * abs(more[0]["seconds"]) for part in more)


def test_another_can_be_held_against_it(reader: Reader, page: BeautifulSoup) -> None:
    link = next(link for link in page.select("#plans .actions a") if "against=3" in link["href"])
    other = reader.page(str(link["href"]).partition("#")[0])
    assert other.find(id="why-title").get_text() == "Why the first plan and not plan 3?"
    assert rows(other)[2]["class"] == ["compared"]


def test_differences_add_up_to_that_of_the_steps(found: Any) -> None:
    first = found["plans"][0]["step_time"]["value"]
    for plan in found["plans"][1:]:
        total = sum(part["seconds"] for part in plan["more"])
        assert math.isclose(total, plan["step_time"]["value"] - first, rel_tol=1e-6, abs_tol=1e-9)


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


def test_pods_are_said_in_their_words(reader: Reader) -> None:
    told = [row.dt.get_text() for row in reader.page(at(POD)).select("#advice > div")]
    assert "2× exchange and streaming bandwidth" in told


def test_without_a_question_there_is_an_example(reader: Reader) -> None:
    assert reader.data("/plans.json")["model"]["id"] == EXAMPLE["model"]
    page = reader.page("/plans")
    assert page.select_one("#model option[selected]")["value"] == EXAMPLE["model"]
    for link in page.select(".plan-actions .hint a"):
        assert rows(reader.page(str(link["href"])))


def test_what_does_not_fit_is_an_answer(reader: Reader) -> None:
    address = at({"model": "gpt3-175b", "system": "dgx-a100-640gb", "global_batch": "64"})
    assert reader.data(twin(address))["fits"] is False
    page = reader.page(address)
    assert page.select_one("#best .notice [data-code=does_not_fit]") is not None
    assert page.select("#map td.unfit") and not page.select("#map td.winner")
    assert not rows(page)


@pytest.mark.parametrize(
    ("change", "field", "status"),
    [
        ({"model": "gpt-9"}, "model", 404),
        ({"system": "pod"}, "system", 404),
        ({"count": "many"}, "count", 422),
        ({"count": "-1"}, "count", 400),
        ({"fabric": "token-ring"}, "fabric", 404),
        ({"global_batch": "0"}, "global_batch", 400),
        ({"global_batch": "1e400"}, "global_batch", 422),
        ({"seq_len": "x"}, "seq_len", 422),
        ({"software": "none-such"}, "software", 404),
        ({"probability": "1.5"}, "probability", 400),
        ({"probability": "nan"}, "probability", 400),
        ({"memory_margin": "2"}, "memory_margin", 400),
        ({"memory_margin": "x%"}, "memory_margin", 422),
        ({"tensor": "x"}, "tensor", 422),
        ({"tensor": "0"}, "tensor", 400),
        ({"tensor": "5"}, "tensor", 400),
        ({"pipeline": "4096"}, "pipeline", 409),
        ({"recompute": "twice"}, "recompute", 422),
        ({"offload": "perhaps"}, "offload", 422),
        ({"rts": "4"}, "rts", 400),
    ],
)
def test_errors_stand_beside_their_field(
    reader: Reader, change: dict[str, str], field: str, status: int
) -> None:
    address = at(SMALL, **change)
    page = reader.page(address, status=status)
    assert page.find(id=f"{field}-error-1").get_text(strip=True)
    assert page.find(id=field)["aria-invalid"] == "true"
    assert page.select_one("[role=alert]") is not None
    refused = reader.get(twin(address), headers={"accept": "application/json"})
    assert refused.status_code == status
    assert [one["field"] for one in refused.json()["errors"]] == [field]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("modle=bert-large", 400),
        (f"{written_query(SMALL)}&tensr=8", 422),
        (f"{written_query(SMALL)}&against=77", 400),
        (f"{written_query(SMALL)}&against=x", 400),
        (f"{written_query(SMALL)}&constraints=1", 422),
        (f"{written_query(SMALL)}&tensor=8&pipeline=4&data=4", 409),
        (f"{written_query(SMALL)}&tensor=8&pipeline=4&micro_batch=7", 400),
        (f"{written_query(SMALL)}&tensor={'9' * 400}", 422),
        (f"{written_query(SMALL)}&tensor={','.join(['2'] * 99)}", 400),
        ("model=%01&system=%F0%9F%98%80&global_batch=1", 404),
    ],
)
def test_no_address_breaks_the_page(reader: Reader, query: str, status: int) -> None:
    page = reader.page(f"/plans?{query}", status=status)
    assert page.select_one("[role=alert] p").get_text(strip=True)


def test_a_search_without_a_batch_takes_the_training_of_the_model(reader: Reader) -> None:
    without = {name: value for name, value in SMALL.items() if name != "global_batch"}
    page = reader.page(at(without))
    assert rows(page)
    assert page.select_one("#filled") is not None
    assert rows(reader.page(at(without, tokens="300B")))


def test_empty_fields_of_the_form_leave_the_address(reader: Reader) -> None:
    sent = reader.get(f"/plans?{written_query(SMALL)}&fabric=&tensor=&software=")
    assert sent.status_code == 303
    assert sent.headers["location"] == at(SMALL)


def opened(reader: Reader, address: str, place: int) -> Any:
    form = rows(reader.page(address))[place - 1].form
    assert form["method"] == "post"
    sent = reader.submit(str(form["action"]), {one["name"]: one["value"] for one in form.select("input")})
    assert sent.status_code == 303, sent.text
    return reader.data(f"{sent.headers['location']}.json")


@pytest.mark.parametrize("values", [SMALL | {"tokens": "300B"}, POD])
def test_an_opened_plan_is_the_plan_of_its_row(reader: Reader, values: dict[str, str]) -> None:
    address = at(values)
    plan = reader.data(twin(address))["plans"][2]
    made = opened(reader, address, 3)
    for name in ("tensor", "pipeline", "data", "micro_batch", "recompute", "sharding", "offload", "rts"):
        assert made["plan"][name] == plan["plan"][name]
    assert made["step_time"]["value"] == pytest.approx(plan["step_time"]["value"], rel=1e-9)
    assert made["step_time"]["low"] == pytest.approx(plan["step_time"]["low"], rel=0.02)
    assert made["memory"]["per_device"]["value"] == pytest.approx(plan["memory"]["value"], rel=1e-9)
    degrees = "t{tensor} p{pipeline} d{data} b{micro_batch}".format(**plan["plan"])
    assert made["label"].endswith(degrees)


def test_without_an_amount_the_estimate_is_of_one_step(reader: Reader) -> None:
    assert "a plan is estimated for a single step" in reader.page(at(SMALL)).get_text()
    assert opened(reader, at(SMALL), 1)["steps"] == 1


@pytest.mark.parametrize("plan", ["", "tensor=8", "global_batch=x", "global_batch=512&tensor=x", "&&=="])
def test_a_forged_plan_is_refused(reader: Reader, plan: str) -> None:
    sent = reader.submit(at(SMALL), {"plan": plan})
    # Degrees that are left out are searched, as in any estimate.
    assert sent.status_code in {303, 400, 422}
    assert sent.status_code != 303 or "global_batch" in plan


def test_other_sites_cannot_open_a_plan(reader: Reader) -> None:
    sent = reader.ask(
        "POST", at(SMALL), data={"plan": "global_batch=512"}, headers={"sec-fetch-site": "cross-site"}
    )
    assert sent.status_code == 403


def test_an_estimate_leads_to_its_other_plans(reader: Reader, estimated: str) -> None:
    link = reader.page(estimated).select_one("#plan-title a")
    assert link["href"] == f"{estimated}/plans"
    page = reader.page(str(link["href"]))
    assert page.select_one(".crumb a")["href"] == estimated
    # The estimate's plan was searched the same way: it is the best.
    assert rows(page)[0].find(string="this estimate") is not None
    known, found = reader.data(f"{estimated}.json"), reader.data(f"{estimated}/plans.json")
    assert found["global_batch"] == known["plan"]["global_batch"]
    assert found["plans"][0]["step_time"]["value"] == pytest.approx(known["step_time"]["value"])


def test_a_plan_opened_beside_an_estimate_keeps_its_workload(reader: Reader, estimated: str) -> None:
    known = reader.data(f"{estimated}.json")
    made = opened(reader, f"{estimated}/plans", 2)
    assert made["model"]["id"] == known["model"]["id"]
    assert made["steps"] == known["steps"]
    assert made["time_to_train"]["value"] > known["time_to_train"]["value"]
    again = opened(reader, f"/estimates/{made['id']}/plans", 1)
    assert again["label"].count("· t") == 1


@pytest.fixture(scope="module")
def slow(reader: Reader) -> Any:
    """Estimate of a plan that somebody asked for and that is far from the best."""
    asked = {
        "model": {"preset": "megatron-1.7b"},
        "workload": {"tokens": 1e10, "global_batch": 512},
        "system": {"id": "dgx-a100-640gb", "count": 4},
        "plan": {"tensor": 8, "pipeline": 4, "micro_batch": 1, "recompute": "full"},
    }
    return reader.ask("POST", "/api/v1/estimates", json=asked).json()


def test_a_plan_that_was_asked_for_is_held_against_the_best(reader: Reader, slow: Any) -> None:
    address = f"/estimates/{slow['id']}/plans"
    found, page = reader.data(f"{address}.json"), reader.page(address)
    place = 1 + next(
        index
        for index, one in enumerate(found["plans"])
        if one["step_time"]["value"] == pytest.approx(slow["step_time"]["value"], rel=1e-9)
    )
    assert place > 1
    assert [one["behind"] for one in found["plans"]] == sorted(one["behind"] for one in found["plans"])
    assert rows(page)[place - 1].find(string="this estimate") is not None
    assert page.find(id="why-title").get_text() == f"Why the first plan and not plan {place}?"
    assert not page.select(".chip")


def test_a_plan_outside_the_filters_is_told_beside_them(reader: Reader, slow: Any) -> None:
    page = reader.page(f"/estimates/{slow['id']}/plans?tensor=1")
    assert "not listed below" in page.find(id="own-plan").get_text()
    assert not page.find_all(string="this estimate")


def test_filters_of_an_estimate_are_in_the_address(reader: Reader, estimated: str) -> None:
    page = reader.page(f"{estimated}/plans?offload=no&against=2")
    assert page.select_one(".chip")["href"] == f"{estimated}/plans"
    assert page.select_one("form.plan-form")["action"] == f"{estimated}/plans"
    assert not page.select("#model")
    reader.page(f"{estimated}/plans?model=bert-large", status=422)
    reader.page("/estimates/none/plans", status=404)


def test_a_bare_figure_has_no_plans(reader: Reader) -> None:
    asked = {"model": {"total_flop": 1e21}, "system": {"id": "dgx-a100-640gb"}}
    made = reader.ask("POST", "/api/v1/estimates", json=asked).json()
    page = reader.page(f"/estimates/{made['id']}/plans", status=400)
    assert "no layers" in page.select_one("[role=alert] p").get_text()


def test_no_script_is_needed(page: BeautifulSoup) -> None:
    for form in page.select("main form"):
        assert form.select_one("button[type=submit]") is not None
    assert not page.select("[hx-get], [onclick]")
    for box in page.select(".chart-box"):
        assert box.select_one("input[type=checkbox]")["id"] == box.select_one("label")["for"]


def test_plans_are_in_the_menu(reader: Reader) -> None:
    assert reader.page("/plans").select_one("nav.menu a[href='/plans']")["aria-current"] == "page"


def test_korean_page_is_korean(korean: Reader, estimated: str) -> None:
    from tests.web.pages.test_language import sentences

    for address in (at(SMALL), at(POD, tensor="1"), f"{estimated}/plans", at(SMALL, against="99")):
        page = BeautifulSoup(korean.get(address).text, "html.parser")
        assert page.html["lang"] == "ko"
        assert list(sentences(page)) == [], address
    said = korean.page(at(SMALL)).select_one("#best .answer").get_text()
    assert said.startswith("최적 계획은 ") and "을(를)" not in said
