"""The page of vendor claims: what it says, what is assumed in its address, the twin, both estimates."""

from __future__ import annotations

import re
import time

import pytest
from bs4 import BeautifulSoup

from app.engine.units import HOUR
from app.features.claims import service as claims
from app.features.claims.model import ClaimsRequest
from tests.support.application import Reader

TIMES = re.compile(r"([\d.]+)×")


def cells(page: BeautifulSoup, row: str) -> list[str]:
    found = page.select_one(f"#row-{row}")
    return [" ".join(cell.get_text(" ", strip=True).split()) for cell in found.select("th, td")]


def test_the_table_sets_claim_beside_estimate(reader: Reader) -> None:
    page = reader.page("/claims")
    row = cells(page, "resnet50-training")
    assert row[0].startswith("ResNet-50") and "one of the 8 GPUs" in row[1] and row[2] == "2.6×"
    assert row[-1] == "does not hold" and all("×" in cell for cell in row[3:-1])
    nothing = cells(page, "mcmc-training")
    assert "Markov chain" in nothing[3] and nothing[-1] == "not modelled" and len(nothing) == 5
    assert "5.3×" in page.select_one("#hours").get_text()
    assert "9.43 h" in page.select_one("#hours").get_text()
    quotes = [quote.get_text() for quote in page.select('q[lang="zh"]')]
    assert any("功率和价格基本相同" in quote for quote in quotes) and len(quotes) == 11
    assert page.select_one("#figure-claims-data") is not None


def test_the_address_holds_what_is_assumed(reader: Reader) -> None:
    response = reader.get("/claims?scaling_efficiency=85&dgx_per_pod64=&pod64_price=")
    assert (response.status_code, response.headers["location"]) == (303, "/claims?scaling_efficiency=0.85")
    page = reader.page("/claims?scaling_efficiency=0.85")
    hours = page.select_one("#hours").get_text()
    assert "27.3 h" in hours and "2.1×" in hours
    assert cells(page, "bert-large-3-dgx")[2].startswith("2.1× 1.8× at 85%")
    assert page.select_one("#scaling_efficiency")["value"] == "85"
    assert page.select_one('[rel="alternate"], a[href="/claims.json?scaling_efficiency=0.85"]') is not None


def test_page_and_twin_agree(reader: Reader) -> None:
    query = "?dgx_per_pod64=3"
    data, page = reader.data(f"/claims.json{query}"), reader.page(f"/claims{query}")
    for claim in data["items"]:
        shown = cells(page, claim["id"])
        for one in claim["readings"][0]["footings"] if claim["readings"] else ():
            if one["footing"] in ("per_dollar", "per_watt_typical"):
                ratio = one["ours"]["value"]
                times = [float(cell.partition("×")[0]) for cell in shown if TIMES.match(cell)]
                assert any(abs(one - ratio) <= 0.05 for one in times)
    assert "3 DGX A100" in page.get_text()
    one = reader.data("/claims/bert-large-3-dgx.json?dgx_per_pod64=3")
    assert one["verdict"] == next(c for c in data["items"] if c["id"] == "bert-large-3-dgx")["verdict"]


@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ("scaling_efficiency=0", 400, "scaling_efficiency"),
        ("dgx_price=-5", 400, "dgx_price"),
        ("dgx_price=cheap", 422, "dgx_price"),
        ("dgx_per_pod64=3&pod64_price=5", 400, "pod64_price"),
        ("price_book_id=nothing", 404, "price_book_id"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field(reader: Reader, query: str, status: int, field: str) -> None:
    page = reader.page(f"/claims?{query}", status)
    assert page.select_one(f"#{field}-error-1") is not None
    assert page.select("#claims tbody tr")


def test_both_estimates_stand_on_the_page_of_a_claim(reader: Reader) -> None:
    page = reader.page("/claims/bert-large-1-dgx")
    text = page.get_text(" ", strip=True)
    for shown in ("poplar-2.1-popart", "poplar-2.5-popart", "mlperf-bert-2020", "65,536", "FP16.16"):
        assert shown in text
    assert len(page.select("#footings tbody tr")) == 6
    assert reader.get("/claims/nothing").status_code == 404
    without = reader.page("/claims/mcmc-training")
    assert without.select_one("#footings") is None


def test_estimates_and_hours_become_studies(reader: Reader) -> None:
    made = reader.submit("/claims/bert-large-1-dgx/comparison?phase=1", {})
    assert made.status_code == 303
    rows = reader.data(f"{made.headers['location']}.json")["options"]
    assert [row["system"] for row in rows] == ["ipu-pod64", "dgx-a100-320gb"] * 2
    assert rows[0]["estimate"]["plan"]["global_batch"] == 32768
    assert reader.submit("/claims/bert-large-1-dgx/comparison?phase=2", {}).status_code == 404
    assert reader.submit("/claims/mcmc-training/comparison", {}).status_code == 404
    made = reader.submit("/claims/published", {"scaling_efficiency": "0.85"})
    assert made.headers["location"].endswith("?scaling_efficiency=0.85")
    hours = {
        option["label"]: option["time"]["value"] / HOUR
        for option in reader.data(made.headers["location"].replace("?", ".json?"))["options"]
    }
    assert hours["3 × DGX A100 320GB"] == pytest.approx(69.5 / 3 / 0.85)
    assert hours["1 × Bow Pod64 (≤)"] == pytest.approx(13.2 / 1.4)


def test_korean_says_the_same_numbers(reader: Reader, korean: Reader) -> None:
    ours, theirs = (cells(one.page("/claims"), "efficientnet-b4-training") for one in (reader, korean))
    assert ours[3:-1] == theirs[3:-1] and theirs[-1] == "축소"


def test_estimates_are_made_once(reader: Reader) -> None:
    installation = reader.app.state.installation
    first = claims.estimates(installation)
    claims.list_claims(installation.workspace("ws_local"), ClaimsRequest())
    before = time.process_time()
    claims.list_claims(installation.workspace("ws_local"), ClaimsRequest(dgx_price=1e5))
    assert time.process_time() - before < 0.5
    assert claims.estimates(installation) is first


def test_measured_ratios_stand_on_the_page_as_in_its_twin(reader: Reader, korean: Reader) -> None:
    pages, data = (reader.page("/claims"), korean.page("/claims")), reader.data("/claims.json")
    assert {"h100-a100-bert", "gb200-h100-llama3-405b"} <= {one["id"] for one in data["measured"]}
    for one in data["measured"]:
        for page in pages:
            found = page.select_one(f"#measured-{one['id']}").get_text(" ", strip=True)
            assert any(abs(float(one["ratio"]) - float(times)) <= 0.05 for times in TIMES.findall(found))
            assert one["claimed"]["name"] in found and one["baseline"]["name"] in found
            assert one["claimed"]["source"] in page.get_text()
