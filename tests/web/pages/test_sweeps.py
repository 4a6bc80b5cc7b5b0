"""Pages of sweeps: the form, the results, without JavaScript."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bs4 import BeautifulSoup
from fastapi import FastAPI

from app.platform.web.examples import FLEET_PLAN, PRICE_BOOK
from tests.jobs import do_all
from tests.sizing.sweeping import Threads
from tests.web.pages.conftest import Reader

LARGE = {"model": {"preset": "gpt3-175b"}, "workload": {"tokens": 1e9, "global_batch": 64}}

MIXED = {
    **PRICE_BOOK,
    "models": [*PRICE_BOOK["models"], LARGE],
    "systems": [*PRICE_BOOK["systems"], {"id": "nosuch"}],
    "prices": PRICE_BOOK["prices"][1:],
}


def ask_for(reader: Reader, body: Any) -> str:
    """Send the form and return the address of the sweep."""
    response = reader.submit("/sweeps", {"request": json.dumps(body)})
    assert response.status_code == 303, response.text
    return str(response.headers["location"])


def compute(app: FastAPI) -> None:
    """Compute every sweep that waits, as the background of the server would."""
    do_all(app.state.workbench, Threads)


@pytest.fixture(scope="module")
def swept(reader: Reader, app: FastAPI) -> str:
    """Address of a complete sweep with points that are refused and points that do not fit."""
    address = ask_for(reader, MIXED)
    compute(app)
    return address


@pytest.mark.parametrize(
    ("example", "body"), [("prices", PRICE_BOOK), ("fleet", FLEET_PLAN), ("", PRICE_BOOK)]
)
def test_the_form_is_filled_with_an_example_that_works(reader: Reader, example: str, body: Any) -> None:
    page = reader.page(f"/sweeps?example={example}")
    text = page.find(id="request").get_text()
    assert json.loads(text) == body
    assert reader.submit("/sweeps", {"request": text}).status_code == 303


def test_a_file_goes_before_what_is_typed(reader: Reader) -> None:
    content = json.dumps({**PRICE_BOOK, "title": "From a file"}).encode()
    files = {"file": ("request.json", content, "application/json")}
    response = reader.submit("/sweeps", {"request": "{}"}, files)
    assert reader.page(response.headers["location"]).h1.get_text() == "From a file"


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("", 400, "Paste a request or choose a file"),
        ("{", 400, "not JSON"),
        ('{"models": [], "systems": 1}', 422, "systems: must be a list"),
        (json.dumps({**PRICE_BOOK, "surplus": 1}), 422, "surplus: unknown field in this request"),
    ],
)
def test_the_form_comes_back_with_what_is_wrong(reader: Reader, text: str, status: int, said: str) -> None:
    response = reader.submit("/sweeps", {"request": text})
    assert response.status_code == status
    page = BeautifulSoup(response.text, "html.parser")
    assert said in page.main.get_text()
    assert page.find(id="request").get_text().strip() == text


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
    assert "Not estimated No system is named “nosuch”" in text
    assert "Does not fit It would need" in text
    assert "3 points could not be estimated" in page.get_text()
    links = {link["href"] for link in page.find(id="actions").find_all("a")}
    identifier = swept.rpartition("/")[2]
    assert links == {f"/api/v1/sweeps/{identifier}.csv", f"/api/v1/sweeps/{identifier}.parquet"}


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
    assert BeautifulSoup(piece, "html.parser").progress["value"] == "15"
    assert last.split("\n") == ["event: end", "id: end", "data: done"]


def test_sweeps_made_before_are_listed(reader: Reader, swept: str) -> None:
    assert reader.page("/sweeps").find("a", href=swept).get_text() == MIXED["title"]
    assert swept.rpartition("/")[2] in [item["id"] for item in reader.data("/sweeps.json")["items"]]


def test_a_sweep_that_is_not_there_is_a_page(reader: Reader) -> None:
    assert reader.page("/sweeps/swp_nosuch", status=404).h1.get_text() == "Not found"
