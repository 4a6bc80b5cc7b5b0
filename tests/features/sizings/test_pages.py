"""The view that finds a system: its search, limits, filters, and rows that become options of the study."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI

from app.features.sizings.finding import Filters, WatchedSearch, question_of
from app.features.studies.model import StudyContent
from app.platform.workspace import LOCAL_WORKSPACE
from tests.support.application import Reader

STUDY: dict[str, Any] = {
    "name": "BERT-Large for a deadline",
    "base": {
        "model": {"preset": "bert-large"},
        "workload": {"samples": 1e8, "global_batch": 4096, "seq_len": 128},
    },
    "options": [{"system": {"id": "dgx-a100-640gb", "count": 2}}],
    "limits": {"deadline_s": 36_000, "budget": 5000, "budget_kind": "run"},
    "views": {"systems": {"system": "dgx-a100-640gb,bow-pod64,aws-p4d"}},
}


@pytest.fixture(scope="module")
def address(reader: Reader) -> str:
    made = reader.ask("POST", "/api/v1/studies", json=STUDY)
    assert made.status_code == 201, made.text
    found = f"/studies/{made.json()['id']}/systems"
    assert reader.page(f"{found}?run=wait").select_one("#options") is not None
    return found


def shown(reader: Reader, address: str) -> list[str]:
    return [row["id"] for row in reader.page(address).select("#options tbody tr")]


def test_the_answer_stands_first(reader: Reader, address: str) -> None:
    page = reader.page(address)
    first = page.select_one("#outcome .answer-first").get_text()
    data = reader.data(f"{address}.json")
    assert data["decision"]["sentences"][0]["values"]["option"]["values"]["system"] in first
    assert page.select_one("#options tr.best")["id"] == data["recommended"]
    assert page.select_one("#options tr.best") is not None
    assert page.select_one("#figure-frontier-data") is not None
    assert page.select_one(".chart-box:has(#figure-scaling) .chart-table tbody tr") is not None
    assert page.select_one("#deadline")["value"] == "0.416667"
    assert page.select_one("#budget")["value"] == "5,000"


def test_page_and_twin_agree(reader: Reader, address: str) -> None:
    data = reader.data(f"{address}.json")
    assert data["request"]["deadline_s"] == 36_000 and data["request"]["budget"] == 5000
    assert {option["system"] for option in data["options"]} == {"dgx-a100-640gb", "bow-pod64", "aws-p4d"}
    ids = shown(reader, address)
    assert ids == [option["id"] for option in data["options"]][: len(ids)]


def test_the_same_question_is_searched_once(reader: Reader, address: str) -> None:
    data = reader.data(f"{address}.json")
    assert reader.data(f"/api/v1/sizings/{data['id']}")["searched"] == data["searched"]
    again = reader.ask("POST", "/api/v1/studies", json={**STUDY, "limits": {}, "name": "again"}).json()["id"]
    other = reader.data(f"/studies/{again}/systems.json")
    assert other["id"] == data["id"] and other["decision"]["question"]["deadline_s"] is None


def test_limits_turn_the_knobs_of_the_study(reader: Reader, address: str) -> None:
    answer = reader.get(f"{address}?deadline=0.02&budget=&budget_kind=purchase&probability=50")
    assert answer.status_code == 303
    after = answer.headers["location"]
    assert after.startswith(f"{address}?state=")
    request = reader.data(after.replace("/systems?", "/systems.json?"))["request"]
    assert (request["deadline_s"], request["budget"], request["probability"]) == (1728, None, 0.5)
    study = reader.data(after.replace("/systems?", ".json?"))
    limits = study["content"]["limits"]
    assert limits.pop("budget") is None and limits.pop("power_w") is None
    assert limits == {"deadline_s": 1728, "budget_kind": "purchase", "probability": 0.5}
    assert len(study["changes"]) == 4
    hard = reader.page(reader.get(f"{address}?deadline=1e-6").headers["location"])
    assert "No option meets" in hard.select_one("#outcome").get_text()


def test_filters_narrow_what_is_recommended(reader: Reader, address: str) -> None:
    after = reader.get(f"{address}?filter=1&kind=ipu&accelerators=128").headers["location"]
    data = reader.data(after.replace("/systems?", "/systems.json?"))
    assert {option["system"].partition("-")[0] for option in data["options"]} <= {"ipu", "bow"}
    assert max(option["accelerators"] for option in data["options"]) <= 128
    page = reader.page(after)
    assert [box["value"] for box in page.select("[name=kind][checked]")] == ["ipu"]
    assert data["scaling"]["system"] in {option["system"] for option in data["options"]}
    everything = reader.get(f"{after}&filter=1&kind=gpu&kind=ipu&kind=cloud").headers["location"]
    assert len(reader.data(everything.replace("/systems?", "/systems.json?"))["options"]) == 100
    none = reader.page(reader.get(f"{address}?filter=1&kind=cloud&system=bow-pod64").headers["location"], 400)
    assert "fewer filters" in none.select_one(".notice").get_text()


def test_a_row_becomes_an_option(reader: Reader, address: str) -> None:
    page = reader.page(f"{address}?all=1")
    assert page.select_one("#dgx-a100-640gb-x2 td:last-child").get_text(strip=True) == "option a"
    row = page.select_one("#dgx-a100-640gb-x1 td:last-child a")
    added = reader.page(row["href"])
    assert "DGX A100 640GB" in added.select_one("#column-b").get_text()


@pytest.mark.parametrize(
    ("query", "field"),
    [("deadline=-1", "deadline"), ("deadline=soon", "deadline"), ("budget=0", "budget"),
     ("budget_kind=all", "budget_kind"), ("probability=180", "probability"),
     ("filter=1&accelerators=many", "accelerators")],
)  # fmt: skip
def test_what_is_wrong_stands_beside_its_field(reader: Reader, address: str, query: str, field: str) -> None:
    answer = reader.get(f"{address}?{query}")
    assert answer.status_code in {400, 422}
    page = reader.page(f"{address}?{query}", answer.status_code)
    assert page.select_one(f"#{field}")["aria-invalid"] == "true"
    assert page.select_one("#options tbody tr") is not None


def test_the_table_is_sorted_by_the_address(reader: Reader, address: str) -> None:
    page, data = reader.page(f"{address}?sort=time&all=1"), reader.data(f"{address}.json")
    times = {
        option["id"]: (option["time_to_train"] or {"value": 1e99})["value"] for option in data["options"]
    }
    ids = [row["id"] for row in page.select("#options tbody tr")]
    assert [times[one] for one in ids] == sorted(times[one] for one in ids)
    assert page.select_one("th[aria-sort]").get_text(strip=True) == "Training time"
    assert reader.page(f"{address}?sort=nonsense")


def test_a_search_is_followed_and_can_be_left(reader: Reader, app: FastAPI) -> None:
    body = {**STUDY, "base": {"model": {"preset": "gpt2-124m"}, "workload": {"tokens": 1e9}}}
    found = f"/studies/{reader.ask('POST', '/api/v1/studies', json=body).json()['id']}/systems"
    page = reader.page(found)
    assert page.select_one("#found progress") is not None
    assert page.select_one("noscript meta")["content"].endswith(f"{found}?run=wait")
    idle = reader.page(page.select_one("#found .actions a")["href"])
    assert idle.select_one("#found progress") is None and "Search all systems" in idle.get_text()

    installation = app.state.installation
    question = question_of(
        installation.workspace(LOCAL_WORKSPACE), StudyContent.model_validate(body), Filters()
    )
    assert question is not None
    left = WatchedSearch(question)
    left.stop()
    left.run()
    assert left.state.status == "running" and question.answer() is None

    events = reader.get(f"{found}/events").text
    assert "event: found" in events and "event: end" in events and "sizes, now" in events
    assert shown(reader, found)


def test_a_study_of_figures_says_what_is_missing(reader: Reader) -> None:
    figure = {"label": "Stated", "figure": {"hours": 10, "kind": "vendor"}}
    body = {"name": "Figures", "base": {"model": {}}, "options": [figure]}
    made = reader.ask("POST", "/api/v1/studies", json=body)
    page = reader.page(f"/studies/{made.json()['id']}/systems")
    assert "stated figures only" in page.select_one(".notice").get_text()
    assert reader.get(f"/studies/{made.json()['id']}/systems.json").status_code == 404


def test_korean_pages_say_it_in_korean(address: str, reader: Reader) -> None:
    korean = Reader(reader.app, "ko")
    heads = [head.get_text(strip=True) for head in korean.page(address).select("#options th")]
    assert "총지출" in heads
