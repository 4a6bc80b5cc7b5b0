"""Pages of bills of materials."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from tests.web.pages.conftest import Reader

SUPERPOD = {"system": "dgx-a100-640gb", "count": "20", "storage_tb": "1,000", "spare": "1"}


def headline(page: BeautifulSoup) -> dict[str, str]:
    return {
        one.dt.get_text(strip=True): one.dd.get_text(" ", strip=True)
        for one in page.select(".headline > div")
    }


def made(reader: Reader, fields: dict[str, str]) -> str:
    answer = reader.submit("/boms/new", fields)
    assert answer.status_code == 303, answer.text[:2000]
    return str(answer.headers["location"])


def test_the_page_of_a_bill_and_its_twin_agree(reader: Reader) -> None:
    address = made(reader, SUPERPOD)
    page, data = reader.page(address), reader.data(f"{address}.json")
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


def test_downloads_are_linked_and_work(reader: Reader) -> None:
    address = made(reader, {"system": "ipu-pod16"})
    links = {str(link["href"]) for link in reader.page(address).select(".downloads a")}
    assert {f"{address}.xlsx", f"{address}.csv"} <= links
    for ending in ("xlsx", "csv"):
        assert reader.get(f"{address}.{ending}").status_code == 200
    again = next(link for link in links if link.startswith("/boms/new?"))
    option = reader.page(again).select_one("#system option[selected]")
    assert option is not None and option["value"] == "ipu-pod16"


def test_a_total_without_every_price_says_at_least(reader: Reader) -> None:
    page = reader.page(made(reader, {"system": "big-basin-p100", "count": "4"}))
    assert "Total, at least" in headline(page)
    assert "price unknown" in page.select_one("#lines").get_text()  # type: ignore[union-attr]
    assert page.select_one('[data-code="price_unknown"]') is not None


@pytest.mark.parametrize(
    ("change", "field", "status"),
    [
        ({"count": "2001"}, "count", 400),
        ({"count": "many"}, "count", 422),
        ({"fabric": "efa-400"}, "fabric", 400),
        ({"storage_tb": "-1"}, "storage_tb", 400),
        ({"price_book_id": "book_none"}, "price_book_id", 404),
    ],
)
def test_a_refused_bill_keeps_what_was_typed(
    reader: Reader, change: dict[str, str], field: str, status: int
) -> None:
    answer = reader.submit("/boms/new", {**SUPERPOD, **change})
    assert answer.status_code == status
    page = BeautifulSoup(answer.text, "html.parser")
    assert page.find(id=f"{field}-error-1") is not None
    assert page.find(id="spare")["value"] == "1"  # type: ignore[index]


def test_an_estimate_leads_to_its_bill(reader: Reader) -> None:
    estimate = reader.data(f"{reader.example('bert-large')}.json")["rows"][0]["estimate"]
    form = reader.page(f"/boms/new?estimate={estimate['id']}")
    assert form.select_one("input[name=estimate_id]")["value"] == estimate["id"]  # type: ignore[index]
    address = made(reader, {"estimate_id": estimate["id"]})
    assert reader.data(f"{address}.json")["system"] == estimate["system"]["id"]


def test_parity_of_a_pod_and_three_dgx(reader: Reader) -> None:
    pod, dgx = made(reader, {"system": "ipu-pod64"}), made(reader, {"system": "dgx-a100-320gb", "count": "3"})
    ids = [address.removeprefix("/boms/") for address in (pod, dgx)]
    page = reader.page(f"/boms/compare?ids={ids[0]}&ids={ids[1]}")
    verdicts = {
        str(row["id"]): row.select("td")[-1].get_text(strip=True) for row in page.select("#ratios tbody tr")
    }
    assert verdicts["package"] == "about equal"
    assert verdicts["power"] == verdicts["power_max"] == "not equal"
    assert page.select_one('[data-code="power_basis_differs"]') is not None
    data = reader.data(f"/boms/compare.json?ids={','.join(ids)}")
    assert [ratio["measure"] for ratio in data["ratios"]] == list(verdicts)


def test_lists_lead_to_the_form(reader: Reader) -> None:
    assert reader.get("/boms").headers["location"] == "/boms/new"
