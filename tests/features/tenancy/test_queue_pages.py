from __future__ import annotations

import json

import pytest
from bs4 import BeautifulSoup

from app.engine.units import HOUR
from app.estimating.schema import Quantity
from app.platform.wording.scales import Scale
from app.platform.wording.voice import voice
from tests.conftest import problem_of
from tests.support.application import Reader

ASKED = {
    "system": "dgx-a100-640gb",
    "count": "4",
    "discipline": "fifo",
    "days": "120",
    "teams.0.team": "vision",
    "teams.0.jobs_per_month": "30",
    "teams.0.devices": "8",
    "teams.0.hours": "48",
    "teams.3.team": "tests",
    "teams.3.jobs_per_month": "60",
    "teams.3.devices": "4",
    "teams.3.hours": "3",
}


def address(reader: Reader, **more: str) -> str:
    return reader.view("queues", ASKED | {name.replace("__", "."): value for name, value in more.items()})


@pytest.fixture(scope="module")
def page(reader: Reader) -> BeautifulSoup:
    return reader.page(address(reader))


def test_page_and_twin_agree(reader: Reader, page: BeautifulSoup) -> None:
    assert page.select_one(".subtabs [aria-current]").get_text() == "Partitions"
    data = reader.data(reader.landed(address(reader)).replace("/partitions?", "/queues.json?"))
    assert data == reader.data(address(reader).replace("?", ".json?"))
    assert "over 120 simulated days" in page.get_text()
    assert f"{data['machines_needed']} × DGX A100 640GB keep" in page.find(id="needed").get_text()
    assert [row.th.span.get_text() for row in page.select("#waits tbody tr")] == ["vision", "tests"]
    counts = [int(row.th.get_text()) for row in page.select("#counts tbody tr")]
    assert counts == [point["count"] for point in data["by_count"]]
    chosen = page.select_one("#counts tr.chosen")
    assert int(chosen.th.get_text()) == data["machines_needed"]
    for row, team in zip(page.select("#waits tbody tr"), data["teams"], strict=True):
        wait = row.select("td")[5].get_text(" ", strip=True)
        assert wait == voice("en").quantity(Quantity(**team["ninetieth_wait"]), Scale(HOUR, "h"))


def test_charts_show_what_the_tables_say(reader: Reader, page: BeautifulSoup) -> None:
    data = reader.data(address(reader).replace("?", ".json?"))
    drawn = {
        script["id"]: json.loads(script.get_text())
        for script in page.select("script[type='application/json']")
    }
    waits = drawn["figure-teams-data"]["data"][0]["x"]
    assert waits == pytest.approx([team["ninetieth_wait"]["value"] / 3600 for team in data["teams"]])
    assert drawn["figure-counts-data"]["data"][1]["x"] == [point["count"] for point in data["by_count"]]
    assert "(h)" in drawn["figure-counts-data"]["layout"]["yaxis"]["title"]["text"]
    assert len(drawn["figure-line-data"]["data"][-1]["x"]) == len(data["line"]) == 60


def test_refused_question_stands_beside_its_row(reader: Reader, page: BeautifulSoup) -> None:
    at = reader.landed(address(reader)).replace("/partitions?", "/queues?")
    refused = reader.page(f"{at}&teams.3.devices=64", status=409)
    error = refused.find(id="teams-3-devices-error-1").get_text()
    assert "64" in error and "32" in error
    assert refused.find(id="count-error-1").get_text(strip=True).startswith("8 ×")
    assert "stale" in refused.find(id="queue-result")["class"]


def test_an_estimate_says_how_long_jobs_take(reader: Reader) -> None:
    asked = {
        "model": {"preset": "bert-large"},
        "workload": {"samples": 1e9, "global_batch": 1024, "seq_len": 128},
        "system": {"id": "dgx-a100-640gb", "count": 2},
    }
    estimate = reader.ask("POST", "/api/v1/estimates", json=asked).json()
    team = {"team": "A", "jobs_per_month": 4, "estimate_id": estimate["id"]}
    body = {"system": "dgx-a100-640gb", "count": 4, "days": 60, "teams": [team]}
    found = reader.ask("POST", "/api/v1/queues", json=body).json()["teams"][0]
    assert found["devices"] == 16
    assert found["hours"] == pytest.approx(estimate["time_to_train"]["value"] / 3600)
    other = reader.ask("POST", "/api/v1/queues", json=body | {"system": "bow-pod64"})
    assert problem_of(other) == (409, "conflict", "teams[0].estimate_id")
    gone = body | {"teams": [team | {"estimate_id": "est_none"}]}
    missing = reader.ask("POST", "/api/v1/queues", json=gone)
    assert missing.status_code == 404 and missing.json()["errors"][0]["field"] == "teams[0].estimate_id"


def test_teams_of_the_partitions_are_filled_in(reader: Reader) -> None:
    study = reader.study({"id": "dgx-a100-640gb", "count": 2})
    teams = "requests.0.team=A&requests.0.devices=8&requests.2.team=B&requests.2.devices=4"
    place = reader.landed(f"{study}/partitions?{teams}&requests.1.team=&requests.1.devices=")
    page = reader.page(place)
    assert page.find(id="allocated").get_text() == "12"
    rows = [
        [page.find("input", id=f"teams-{row}-{name}")["value"] for name in ("team", "devices")]
        for row in (0, 1)
    ]
    assert rows == [["A", "8"], ["B", "4"]]
    assert page.find(id="queue-result") is None, "how often jobs come only the reader can say"
    jobs = "&".join(f"teams.{row}.{name}=6" for row in (0, 1) for name in ("jobs_per_month", "hours"))
    both = reader.page(place.replace("/partitions?", "/queues?") + f"&{jobs}")
    assert both.find(id="allocated").get_text() == "12"
    assert [row.th.span.get_text() for row in both.select("#waits tbody tr")] == ["A", "B"]


@pytest.mark.parametrize(
    ("name", "value", "status", "place"),
    [
        ("teams__0__jobs_per_month", "", 422, "teams-0-jobs_per_month"),
        ("teams__0__hours", "1e400", 400, "teams-0-hours"),
        ("days", "3", 400, "days"),
        ("days", "1830", 400, "days"),
        ("seed", "-1", 400, "seed"),
    ],
)
def test_wrong_field_is_refused_at_its_place(
    reader: Reader, name: str, value: str, status: int, place: str
) -> None:
    more = {"teams__0__jobs_per_month": "5000"} if value == "1830" else {}
    page = reader.page(address(reader, **more | {name: value}), status=status)
    assert page.find(id=f"{place}-error-1") is not None
