"""Pages of the network choice: the advice first, every state an address, errors beside their fields."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from bs4 import BeautifulSoup

from tests.web.pages.conftest import Reader

RUNS = {"runs-hdr-infiniband-8": "1003, 998, 999", "runs-roce-100-8": "985, 990, 980"}


@pytest.fixture(scope="module")
def path(reader: Reader) -> str:
    """Address of the networks of an example."""
    opened = reader.submit("/fabric-choices/new", {"example": "gpt2"})
    assert opened.status_code == 303
    return str(opened.headers["location"])


@pytest.fixture(scope="module")
def usual(reader: Reader, path: str) -> BeautifulSoup:
    return reader.page(path)


def first(page: BeautifulSoup) -> str:
    found = page.select_one("#advice .answer-first")
    assert found is not None
    return found.get_text(strip=True)


def test_an_estimate_leads_to_its_networks_and_back(reader: Reader, path: str, usual: BeautifulSoup) -> None:
    estimate = path.removesuffix("/fabrics")
    assert reader.page(estimate).select_one(f'a[href="{path}"]') is not None
    assert usual.select_one(f'.crumb a[href="{estimate}"]') is not None


def test_the_hub_leads_to_workloads(reader: Reader, path: str) -> None:
    assert reader.page("/fabric-choices/new").select_one(f'#estimates a[href="{path}"]') is not None


def test_the_first_line_is_the_advice_of_the_twin(reader: Reader, path: str, usual: BeautifulSoup) -> None:
    data = reader.data(f"{path}.json")
    # Money is written shorter on the page; everything before it is word for word the same.
    assert first(usual).split(" saves ")[0] == data["advice"]["sentence"]["message"].split(" saves ")[0]
    rows = [row["id"] for row in usual.select("#networks tbody tr")]
    assert rows == [one["id"] for one in data["options"]]
    best = usual.select_one("#networks tr.best")
    assert best is not None and best["id"] == data["advice"]["recommendation"]
    assert len(usual.select("#rungs tbody tr")) == len(data["turning"]["rungs"])
    assert {row.th.get_text() for row in usual.select("#rungs tr.chosen")} == {data["turning"]["turns_at"]}


def test_measured_runs_stand_beside_what_was_predicted(reader: Reader, path: str) -> None:
    page = reader.page(f"{path}?{urlencode(RUNS)}")
    assert first(page).startswith("Not recommended: 8 × HDR InfiniBand, 200 Gb/s gains 1.5 % over 8 × RoCE")
    assert "one switch and 16 cables" in first(page)
    cells = [
        [cell.get_text(" ", strip=True) for cell in row.select("td")]
        for row in page.select("#measured tbody tr")
    ]
    assert [row[0] for row in cells] == ["985 samples/s", "1,000 samples/s"]
    assert [row[1] for row in cells] == ["5", "2.65"]
    assert page.select("#fitted tbody tr")
    assert [row.td.get_text() for row in page.select("#not-bought tbody tr")] == ["1", "16"]
    assert page.select_one("#not-bought a[href^='/catalog/sources/']") is not None


def test_other_runs_turn_the_advice(reader: Reader, path: str) -> None:
    page = reader.page(f"{path}?{urlencode({**RUNS, 'runs-roce-100-8': '700 701 699'})}")
    assert first(page).startswith("Recommended: 8 × HDR InfiniBand, 200 Gb/s gains 43 %")
    assert page.select_one('[data-code="measured_contradicts_model"]') is not None


def test_knobs_are_in_the_address(reader: Reader, path: str) -> None:
    query = {"threshold": "0.1", "oversubscription": "2", "options": "hdr-infiniband-8,roce-100-4-4to1"}
    page = reader.page(f"{path}?{urlencode(query)}")
    assert [row["id"] for row in page.select("#networks tbody tr")] == ["roce-100-4-4to1", "hdr-infiniband-8"]
    assert page.select_one("#oversubscription option[selected]")["value"] == "2"
    assert page.select_one("input[name=options][type=hidden]")["value"] == query["options"]
    data = reader.data(f"{path}.json?{urlencode(query)}")
    assert data["threshold"] == pytest.approx(0.001)
    assert data["options"][0]["oversubscription"] == 4


def test_empty_fields_leave_no_trace_in_the_address(reader: Reader, path: str) -> None:
    sent = reader.get(f"{path}?threshold=5&reference=&runs-roce-100-8=&oversubscription=1")
    assert sent.status_code == 303
    assert sent.headers["location"] == f"{path}?threshold=5&oversubscription=1"


@pytest.mark.parametrize(
    ("name", "text", "status", "words"),
    [
        ("threshold", "-5", 400, "at least 0"),
        ("threshold", "much", 422, "number"),
        ("oversubscription", "0", 400, "at least 1"),
        ("reference", "carrier-pigeon-1", 404, "carrier-pigeon-1"),
        ("installed", "carrier-pigeon-1", 404, "carrier-pigeon-1"),
        ("runs-roce-100-8", "fast", 422, "number"),
        ("runs-roce-100-8", "985,990,980", 400, "space after each comma"),
        ("runs-roce-100-8", "0", 400, "at least"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    reader: Reader, path: str, name: str, text: str, status: int, words: str
) -> None:
    page = reader.page(f"{path}?{urlencode({name: text})}", status)
    field = page.find(id=name)
    assert field is not None and field["aria-invalid"] == "true"
    error = page.find(id=field["aria-describedby"])
    assert error is not None and words in error.get_text()
    assert page.select_one("#advice") is None


@pytest.mark.parametrize(
    ("query", "status"),
    [("options=nothing", 400), ("options=roce-100-1", 400), ("colour=blue", 422), ("runs-nobody=1", 404)],
)
def test_what_the_form_does_not_show_is_refused_too(
    reader: Reader, path: str, query: str, status: int
) -> None:
    assert reader.page(f"{path}?{query}", status).select_one('[role="alert"]') is not None
    assert reader.get(f"{path}.json?{query}").status_code == status


def test_pods_have_no_network_to_choose(reader: Reader) -> None:
    body = {
        "model": {"preset": "bert-large"},
        "workload": {"samples": 1e6, "global_batch": 512},
        "system": {"id": "bow-pod16"},
    }
    made = reader.ask("POST", "/api/v1/estimates", json=body).json()
    assert reader.page(f"/estimates/{made['id']}").select_one('a[href$="/fabrics"]') is None
    page = reader.page(f"/estimates/{made['id']}/fabrics", 409)
    assert "GW-Link" in page.select_one('[role="alert"]').get_text()


def test_nobody_elses_estimate(reader: Reader) -> None:
    reader.page("/estimates/est_nobody/fabrics", 404)


def test_unknown_example(reader: Reader) -> None:
    assert reader.submit("/fabric-choices/new", {"example": "nobody"}).status_code == 404


def test_korean_says_the_same_numbers(reader: Reader, korean: Reader, path: str) -> None:
    english, spoken = (one.page(f"{path}?{urlencode(RUNS)}") for one in (reader, korean))
    assert first(spoken).startswith("권장하지 않음: 8 × HDR InfiniBand, 200 Gb/s의 이득은")
    assert "1.5%" in first(spoken) and "5%에 못 미칩니다" in first(spoken)
    shares = [
        [cell.get_text(strip=True) for cell in page.select("#rungs td.number:last-child")]
        for page in (english, spoken)
    ]
    assert shares[0] == shares[1]
