"""The form of a sizing, its page, and limits that are changed on it."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup

from tests.web.pages.conftest import Reader

FIELDS = {
    "model.preset": "bert-large",
    "workload.samples": "1e8",
    "workload.global_batch": "4096",
    "workload.seq_len": "128",
    "deadline": "10",
    "unit": "h",
    "budget": "5,000",
    "budget_kind": "run",
    "currency": "USD",
    "system": "dgx-a100-640gb",
}


@pytest.fixture(scope="module")
def address(reader: Reader) -> str:
    response = reader.submit("/sizings/new", FIELDS)
    assert response.status_code == 303, response.text[:500]
    return response.headers["location"]


def test_the_answer_stands_first(reader: Reader, address: str) -> None:
    page = reader.page(address)
    first = page.select_one("#outcome .answer-first").get_text()
    assert first.startswith("Cheapest that meets the requirements")
    assert "DGX A100 640GB" in first
    assert page.select_one("#options tr.best") is not None
    assert page.select_one("#figure-frontier-data") is not None
    assert page.select_one(".chart-box:has(#figure-scaling) .chart-table tbody tr") is not None


def test_page_and_twin_agree(reader: Reader, address: str) -> None:
    data, page = reader.data(f"{address}.json"), reader.page(address)
    assert data["request"]["deadline_s"] == 36_000 and data["request"]["budget"] == 5000
    shown = [row["id"] for row in page.select("#options tbody tr")]
    assert shown == [option["id"] for option in data["options"]][: len(shown)]


def test_limits_are_changed_in_the_address(reader: Reader, address: str) -> None:
    query = "?deadline=1&unit=h&budget=&probability=50"
    data = reader.data(f"{address}.json{query}")
    assert (data["request"]["deadline_s"], data["request"]["budget"]) == (3600, None)
    assert data["request"]["probability"] == 0.5
    page = reader.page(f"{address}{query}")
    assert page.select_one("#deadline")["value"] == "1"
    assert page.select_one("#budget")["value"] == ""
    hard = reader.page(f"{address}?deadline=1e-5&unit=h")
    assert "No system meets the requirements" in hard.select_one("#outcome").get_text()


def test_every_option_shows_purchase_run_and_term(reader: Reader, address: str) -> None:
    page, data = reader.page(address), reader.data(f"{address}.json")
    heads = [head.get_text() for head in page.select("#options thead th")]
    assert {"Purchase", "Cost per run", "Term cost"} <= set(heads)
    row = page.select_one("#options tbody tr")
    assert row.select_one("td[data-label='Purchase'] .figure").get_text().startswith("$")
    option = data["options"][0]
    assert all(option["costs"][kind]["value"] > 0 for kind in ("purchase", "run", "term"))
    assert data["ranked_by"] == "run" == option["budget_kind"]


def test_the_kind_of_budget_is_changed_in_the_address(reader: Reader, address: str) -> None:
    query = "?budget=5000&budget_kind=purchase"
    data, page = reader.data(f"{address}.json{query}"), reader.page(f"{address}{query}")
    assert data["request"]["budget_kind"] == "purchase" and data["outcome"] == "not_met"
    assert page.select_one("#budget_kind option[selected]")["value"] == "purchase"
    assert "would buy" in page.select_one("#outcome").get_text()
    assert "구매할 수 있습니다" in Reader(reader.app, "ko").page(f"{address}{query}").get_text()
    wrong = reader.page(f"{address}?budget_kind=all", 400)
    assert wrong.select_one("#budget_kind")["aria-invalid"] == "true"


def test_a_wrong_limit_stands_beside_its_field(reader: Reader, address: str) -> None:
    for typed in ("-1", "soon"):
        page = reader.page(f"{address}?deadline={typed}", 400)
        assert page.select_one("#deadline")["aria-invalid"] == "true"
        assert page.select_one("#deadline")["value"] == typed
        assert page.select_one("#options tbody tr") is not None


def test_the_table_is_sorted_by_the_address(reader: Reader, address: str) -> None:
    page = reader.page(f"{address}?sort=time&all=1")
    data = reader.data(f"{address}.json")
    times = {
        option["id"]: (option["time_to_train"] or {"value": 1e99})["value"] for option in data["options"]
    }
    shown = [times[row["id"]] for row in page.select("#options tbody tr")]
    assert shown == sorted(shown) and len(shown) == len(times)
    assert page.select_one("th[aria-sort]").get_text() == "Training time"
    assert reader.page(f"{address}?sort=nonsense")


def test_an_option_opens_as_an_estimate(reader: Reader, address: str) -> None:
    option = reader.page(address).select_one("#options tr.best")["id"]
    opened = reader.submit(f"{address}/options/{option}/estimate", {})
    assert opened.status_code == 303 and opened.headers["location"].startswith("/estimates/")
    assert reader.submit(f"{address}/options/none/estimate", {}).status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"model.preset": ""}, "#model-preset"),
        ({"deadline": "-3"}, "#deadline"),
        ({"deadline": "soon"}, "#deadline"),
        ({"budget": "0"}, "#budget"),
        ({"budget_kind": "everything"}, "#budget_kind"),
        ({"probability": "180"}, "#probability"),
        ({"workload.global_batch": "0"}, "#workload-global_batch"),
    ],
)
def test_the_form_says_what_is_wrong_beside_the_field(
    reader: Reader, change: dict[str, Any], field: str
) -> None:
    response = reader.submit("/sizings/new", FIELDS | change)
    assert response.status_code in {400, 422}
    assert "Not calculated yet" in response.text
    page = BeautifulSoup(response.text, "html.parser")
    assert page.select_one(field)["aria-invalid"] == "true"


def test_korean_pages_say_it_in_korean(address: str, reader: Reader) -> None:
    korean = Reader(reader.app, "ko")
    assert "최저 비용" in korean.page(address).select_one("#outcome").get_text()
    assert korean.page("/sizings/new").select_one("h1").get_text() == "어떤 시스템이 몇 대 필요합니까?"


def test_software_is_chosen_by_name(reader: Reader) -> None:
    page = reader.page("/sizings/new")
    assert page.select_one('select[name="software"] option[value="mlperf-bert"]') is not None
    assert page.select_one('select[name="software"] option[value="poplar-3-popart"]') is not None
    response = reader.submit("/sizings/new", FIELDS | {"software": "mlperf-bert"})
    assert response.status_code == 303, response.text[:500]
    assert reader.data(f"{response.headers['location']}.json")["request"]["software"] == "mlperf-bert"
