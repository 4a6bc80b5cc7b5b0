"""Sweeps in a study: the form, the results, without JavaScript."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bs4 import BeautifulSoup
from fastapi import FastAPI

from app.platform.web.examples import FLEET_PLAN, PRICE_BOOK
from tests.support.application import Reader
from tests.support.jobs import do_all
from tests.support.sweeping import Threads

LARGE = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 1e9, "global_batch": 64}}

MIXED = {
    **PRICE_BOOK,
    "models": [*PRICE_BOOK["models"], LARGE],
    "systems": [*PRICE_BOOK["systems"], {"id": "nosuch"}],
    "prices": PRICE_BOOK["prices"][1:],
}


def ask_for(reader: Reader, body: Any) -> str:
    """Ask for a sweep and return its address, in a study made for it."""
    made = reader.ask("POST", "/api/v1/sweeps", json=body)
    assert made.status_code == 201, made.text
    return str(reader.get(f"/sweeps/{made.json()['id']}").headers["location"])


def compute(app: FastAPI) -> None:
    """Compute every sweep that waits, as the background of the server would."""
    do_all(app.state.installation, Threads)


@pytest.fixture(scope="module")
def swept(reader: Reader, app: FastAPI) -> str:
    """Address of a complete sweep with points that are refused and points that do not fit."""
    address = ask_for(reader, MIXED)
    compute(app)
    return address


STUDY: dict[str, Any] = {
    "name": "Many",
    "base": {
        "model": {"preset": "bert-large"},
        "workload": {"target": "mlperf-bert"},
        "assumptions": {"utilisation": 0.5},
    },
    "options": [
        {"system": {"id": "dgx-a100-640gb", "count": 2, "fabric": "roce-200"}, "software": "mlperf-bert"},
        {"system": {"id": "dgx-a100-640gb", "count": 1}},
        {"system": {"id": "bow-pod16"}},
    ],
}


@pytest.fixture(scope="module")
def study(reader: Reader) -> str:
    return f"/studies/{reader.ask('POST', '/api/v1/studies', json=STUDY).json()['id']}"


def typed(page: BeautifulSoup, name: str) -> list[str]:
    return [field["value"] for field in page.select(f"input[name={name}]")]


def test_the_form_holds_what_the_study_compares(reader: Reader, study: str) -> None:
    page = reader.page(f"{study}/many")
    assert typed(page, "system")[:3] == ["DGX A100 640GB", "Bow Pod16", ""]
    assert typed(page, "counts")[:2] == ["1, 2", "1"]
    assert page.select_one("input[name=own]").has_attr("checked")
    assert reader.page(f"{study}/systems?run=0").select_one(f"a[href='{study}/many']") is not None
    assert {"Llama 2 7B", "BERT-Large"} <= {one["value"] for one in page.select("#many-models option")}


def test_what_is_chosen_becomes_a_sweep_of_the_study(reader: Reader, app: FastAPI, study: str) -> None:
    rows = [{"item": "dgx-a100-640gb", "parameter": "price", "value": 300_000, "unit": "USD"}]
    book = reader.ask("POST", "/api/v1/price-books", json={"name": "Ours", "rows": rows}).json()["id"]
    fields = {
        "own": "1", "model": ["GPT-2 1.5B", ""], "system": ["dgx a100 640gb", "", "Bow Pod16"],
        "counts": ["1 4", "", ""], "batches": "256, 512", "book": ["catalogue", book], "title": "Ours",
    }  # fmt: skip
    response = reader.submit(f"{study}/many?count.a=4", fields)
    assert response.status_code == 303, response.text
    address = response.headers["location"]
    assert address.startswith(f"{study}/many/swp_")
    compute(app)
    data = reader.data(f"{address}.json")
    asked = data["request"]
    assert data["total"] == 2 * 3 * 2 * 2 and data["refused"] == 0
    assert [model["label"] for model in asked["models"]] == ["BERT-Large", "GPT-2 1.5B"]
    assert asked["models"][0]["workload"]["target"] == "mlperf-bert" != asked["models"][1]["workload"]
    assert asked["systems"][0]["software"] == "mlperf-bert" and asked["systems"][0]["fabric"] == "roce-200"
    assert "software" not in asked["systems"][1]
    assert [one["assumptions"] for one in asked["scenarios"]] == [{"utilisation": 0.5}] * 2
    page = reader.page(address)
    assert "option" not in page.select_one("#points tbody td:last-child").get_text()
    added = reader.page(page.select_one("#points tbody td:last-child a")["href"])
    assert added.select_one("#column-d [name='batch.d']")["value"] == "256"
    rows_of_gpt = [row for row in page.select("#points tbody tr") if row.th.get_text() == "GPT-2 1.5B"]
    assert rows_of_gpt and all(row.select_one("td:last-child a") is None for row in rows_of_gpt)
    earlier = reader.page(f"{study}/many").select_one("section a[href*='/many/swp_']")
    assert earlier.get_text() == "Ours"
    assert [one["id"] for one in reader.data(f"{study}/many.json")["items"]] == [data["id"]]
    assert reader.get(f"/sweeps/{data['id']}").headers["location"] == address
    assert reader.get(f"/sweeps/{data['id']}.json").headers["location"] == f"{address}.json"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"own": "1", "system": "DGX A900"}, "system-0"),
        ({"own": "1", "system": "Bow Pod16", "counts": "1, many"}, "counts-0"),
        ({"system": "Bow Pod16", "model": ["", "GPT-9"]}, "model-1"),
        ({"system": "Bow Pod16"}, "model-0"),
        ({"own": "1"}, "system-0"),
        ({"own": "1", "system": "Bow Pod16", "batches": "0"}, "batches"),
    ],
)
def test_the_form_comes_back_with_what_is_wrong(
    reader: Reader, study: str, fields: dict[str, Any], field: str
) -> None:
    response = reader.submit(f"{study}/many", fields)
    assert response.status_code == 400
    page = BeautifulSoup(response.text, "lxml")
    assert page.select_one(f"#{field}")["aria-invalid"] == "true"
    assert page.select_one(f"#{field}-error-1") is not None


def test_a_sweep_names_a_study_that_is_there(reader: Reader) -> None:
    answer = reader.ask("POST", "/api/v1/sweeps", json={**FLEET_PLAN, "study_id": "stu_none"})
    assert answer.status_code == 404


def test_a_sweep_that_waits_can_be_followed_and_stopped(reader: Reader) -> None:
    address = ask_for(reader, FLEET_PLAN)
    page = reader.page(address)
    state = page.find(id="state")
    assert state["hx-sse:connect"] == f"{address}/events"
    assert state.progress["max"] == "18" and state.progress["value"] == "0"
    assert page.find(id="points") is None
    stopped = reader.submit(f"{address}/cancel", {})
    assert stopped.headers["location"] == address
    page = reader.page(address)
    assert "stopped" in page.find(id="state").get_text()
    assert not page.find(id="state").has_attr("hx-sse:connect")
    reader.submit(f"{address}/resume", {})
    assert "waiting" in reader.page(address).find(id="state").get_text()
    reader.submit(f"{address}/cancel", {})


def test_results_have_a_line_for_each_point(reader: Reader, swept: str) -> None:
    page = reader.page(swept)
    lines = page.find(id="points").tbody.find_all("tr")
    assert len(lines) == 3 * 5
    assert "15 of 15 points" in page.find(id="state").get_text()
    text = " ".join(page.find(id="points").get_text(" ").split())
    assert text.count("Not estimated") == 3 and "Does not fit" in text
    links = {link["href"] for link in page.find(id="actions").find_all("a")}
    identifier = swept.rpartition("/")[2]
    assert links > {f"/api/v1/sweeps/{identifier}.csv", f"/api/v1/sweeps/{identifier}.parquet"}


def test_results_are_narrowed_and_sorted_by_the_address(reader: Reader, swept: str) -> None:
    page = reader.page(f"{swept}?model=BERT-Large&system=DGX+A100&order=cost")
    lines = page.find(id="points").tbody.find_all("tr")
    data = reader.data(f"{swept}.json?model=BERT-Large&system=DGX+A100&order=cost")
    assert len(lines) == data["matching"] == 3
    costs = [row["cost"] for row in data["rows"]]
    assert costs == sorted(costs)
    assert page.find(id="filter-model").find("option", selected=True)["value"] == "BERT-Large"
    assert page.find("link", rel="alternate")["href"].startswith(f"{swept}.json?model=BERT-Large")


def test_long_results_come_in_pages(reader: Reader, app: FastAPI) -> None:
    tariffs = [{"label": str(place), "electricity_per_kwh": place / 1000} for place in range(20)]
    address = ask_for(
        reader, {**FLEET_PLAN, "scenarios": [], "prices": tariffs, "systems": FLEET_PLAN["systems"][1:]}
    )
    compute(app)
    seen, following = [], address
    while following:
        page = reader.page(following)
        seen += [line.find_all("td")[:2] for line in page.find(id="points").tbody.find_all("tr")]
        link = page.find("a", rel="next")
        following = link["href"].partition("#")[0] if link else ""
    assert len(seen) == len({str(line) for line in seen}) == 60


def test_the_picture_has_a_point_for_each_row_with_a_cost(reader: Reader, swept: str) -> None:
    page = reader.page(swept)
    figure = json.loads(page.find(id="time-against-cost-data").get_text())
    rows = [row for row in reader.data(f"{swept}.json")["rows"] if row["cost"] and row["time_to_train"]]
    assert sum(len(trace["x"]) for trace in figure["data"]) == len(rows)
    by_system = {trace["name"]: trace for trace in figure["data"]}
    pods = [row["cost"] for row in rows if row["system"] == "IPU-POD"]
    assert sorted(by_system["IPU-POD"]["x"]) == sorted(pods)
    ends = by_system["IPU-POD"]["error_x"]
    assert all(up >= 0 and down >= 0 for up, down in zip(ends["array"], ends["arrayminus"], strict=True))


def test_events_carry_pieces_of_the_page(reader: Reader, swept: str) -> None:
    response = reader.get(f"{swept}/events")
    first, last = response.text.strip().split("\n\n")
    piece = "\n".join(line.removeprefix("data: ") for line in first.split("\n"))
    assert BeautifulSoup(piece, "lxml").progress["value"] == "15"
    assert last.split("\n") == ["event: end", "id: end", "data: done"]
