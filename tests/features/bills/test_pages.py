"""Bills of materials as a view of a study."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from bs4 import BeautifulSoup

from tests.support.application import Reader

SUPERPOD = {"id": "dgx-a100-640gb", "count": 20}
POD = {"id": "ipu-pod64"}
MORE = {"storage_tb": "1,000", "spare": "1"}


def headline(page: BeautifulSoup) -> dict[str, str]:
    return {
        one.dt.get_text(strip=True): one.dd.get_text(" ", strip=True)
        for one in page.select(".headline > div")
    }


def kept(reader: Reader, **asked: Any) -> dict[str, Any]:
    """Keep a bill as the API does."""
    made = reader.ask("POST", "/api/v1/boms", json=asked)
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.json()
    return found


def test_the_page_of_a_bill_and_its_twin_agree(reader: Reader) -> None:
    place = reader.landed(f"{reader.study(SUPERPOD)}/bill?{urlencode(MORE)}")
    page, data = reader.page(place), reader.data(place.replace("?", ".json?"))
    rows = page.select("#lines tbody tr:not(.group)")
    assert len(rows) == len(data["lines"])
    for row, line in zip(rows, data["lines"], strict=True):
        cells = row.select("td")
        assert cells[0].get_text(strip=True) == f"{line['quantity']:,}"
        assert line["rule"]["message"][1:] in row.th.get_text()
        assert cells[-1].a["href"] == f"/catalog/sources/{line['source']['id']}"
    total = page.select_one("#lines tfoot td")
    assert total is not None
    assert total.get_text(strip=True) == f"${data['totals']['price']['value']:,.0f}"
    assert len(page.select("svg.drawing")) == 2
    first = page.select_one("#racks tbody th")
    assert first is not None and first.get_text() == "Racks 1–6 (6 identical)"
    assert page.find("input", id="storage_tb")["value"] == "1,000"
    uses = {line["use"] for line in data["lines"]}
    assert {"storage_server", "spare_machine"} <= uses
    assert not {"storage_server", "spare_machine"} & {
        line["use"] for line in reader.data(place.partition("?")[0] + ".json")["lines"]
    }


def test_downloads_hold_what_is_shown(reader: Reader) -> None:
    place = reader.landed(f"{reader.study(SUPERPOD, POD)}/bill?option=b&storage_tb=100")
    page, data = reader.page(place), reader.data(place.replace("?", ".json?"))
    links = {link.get_text(): str(link["href"]) for link in page.select(".downloads a")}
    assert data["system"] == "ipu-pod64"
    told = reader.get(links["CSV"])
    assert told.headers["content-type"].startswith("text/csv")
    assert [line["item"] in told.text for line in data["lines"]] == [True] * len(data["lines"])
    assert len(told.text.strip().splitlines()) == len(data["lines"]) + 1
    assert reader.get(links["Workbook (XLSX)"]).content.startswith(b"PK")


def test_the_bill_is_at_the_prices_of_the_study(reader: Reader) -> None:
    body = {
        "name": "Own price",
        "base": {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}, "currency": "KRW"},
        "options": [{"system": SUPERPOD, "assumptions": {"system_price": 3e8}}],
    }
    address = f"/studies/{reader.ask('POST', '/api/v1/studies', json=body).json()['id']}"
    bill, answer = reader.data(f"{address}/bill.json"), reader.data(f"{address}.json")
    assert bill["lines"][0]["total"]["value"] == 20 * 3e8
    assert bill["lines"][0]["source"]["url"] == address
    capex = answer["options"][0]["estimate"]["cost"]["capex"]["value"]
    assert bill["totals"]["price"]["value"] == capex
    assert reader.page(f"{address}/bill").select_one(f'#lines a[href="{address}"]') is not None


def test_a_total_without_every_price_says_at_least(reader: Reader) -> None:
    page = reader.page(f"{reader.study({'id': 'big-basin-p100', 'count': 4})}/bill")
    assert "price unknown" in page.select_one("#lines").get_text()  # type: ignore[union-attr]
    assert page.select_one('[data-code="price_unknown"]') is not None


@pytest.mark.parametrize(
    ("field", "text", "status"),
    [("storage_tb", "-1", 400), ("rack_power_kw", "much", 422), ("oversubscription", "0.5", 400)],
)
def test_a_refused_bill_keeps_what_was_typed(reader: Reader, field: str, text: str, status: int) -> None:
    place = reader.landed(f"{reader.study(SUPERPOD)}/bill?{urlencode(MORE)}")
    page = reader.page(f"{place}&{urlencode({**MORE, field: text})}", status=status)
    assert page.find(id=f"{field}-error-1") is not None
    assert page.find(id="spare")["value"] == "1"  # type: ignore[index]
    assert page.select_one("details[open] form") is not None
    assert "stale" in page.find(id="result")["class"]  # type: ignore[index]


def test_nothing_is_asked_of_a_pod_that_comes_with_it(reader: Reader) -> None:
    page = reader.page(f"{reader.study(POD)}/bill")
    assert page.find(id="ports_per_node") is None and page.find(id="oversubscription") is None


def test_a_study_of_rented_systems_has_no_bill(reader: Reader) -> None:
    address = reader.study({"id": "aws-p4d"})
    assert "bought" in reader.page(f"{address}/bill").select_one(".notice").get_text()  # type: ignore[union-attr]
    assert reader.get(f"{address}/bill.json").status_code == 404


def test_parity_of_a_pod_and_three_dgx(reader: Reader) -> None:
    address = reader.study(POD, {"id": "dgx-a100-320gb", "count": 3}, {"id": "aws-p4d"})
    form = reader.page(f"{address}/bill").find("select", id="other")
    assert [one["value"] for one in form.select("option")] == ["", "b"]  # type: ignore[union-attr]
    place = reader.landed(f"{address}/bill?other=b")
    page, data = reader.page(place), reader.data(place.replace("?", ".json?"))
    verdicts = {
        str(row["id"]): row.select("td")[-1].get_text(strip=True) for row in page.select("#ratios tbody tr")
    }
    assert verdicts["package"] == "about equal"
    assert verdicts["power"] == verdicts["power_max"] == "not equal"
    assert page.select_one('[data-code="power_basis_differs"]') is not None
    assert [ratio["measure"] for ratio in data["comparison"]["ratios"]] == list(verdicts)
    assert reader.get(f"{address}/bill?other=c").status_code == 404


def test_a_kept_bill_can_be_had_as_files(reader: Reader) -> None:
    dgx = kept(reader, system="dgx-a100-320gb", count=3, spare=2)
    address = f"/boms/{dgx['id']}"
    assert reader.data(f"{address}.json") == dgx
    for ending in ("xlsx", "csv"):
        assert reader.get(f"{address}.{ending}").status_code == 200
    assert reader.get("/boms/bom_nobody.csv").status_code == 404


def test_drawings_can_be_had_as_files(reader: Reader) -> None:
    place = f"{reader.study(SUPERPOD)}/bill"
    files = [link["href"] for link in reader.page(place).select("figure.drawn a[download]")]
    assert len(files) == 4
    for one in files:
        start = b"<svg" if one.endswith(".svg") else b"\x89PNG"
        assert reader.get(one).content.startswith(start), one
    assert reader.get(f"{place}?chart=topology.csv").status_code == 404
