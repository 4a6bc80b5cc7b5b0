"""Build or rent on its page: the address is its state, refusals stand at their fields."""

from __future__ import annotations

import csv
from urllib.parse import urlencode

import pytest
from bs4 import BeautifulSoup

from tests.web.pages.conftest import Reader

ARTICLE = {
    "currency": "KRW",
    "capex": "4,378,000,000",
    "onprem_monthly": "50,000,000",
    "cloud_monthly": "300,000,000",
    "horizon_months": "48",
}


def address(**changes: str) -> str:
    return f"/breakevens?{urlencode(ARTICLE | changes)}"


def facts(page: BeautifulSoup) -> dict[str, str]:
    return {one.dt.get_text(): one.dd.get_text(strip=True) for one in page.select("#result .facts > div")}


def months(page: BeautifulSoup) -> str:
    return str(page.find(id="months").get_text())


def first_input(page: BeautifulSoup) -> str:
    return str(page.select("#tornado tbody th")[0].get_text())


def test_the_article_s_figures(reader: Reader) -> None:
    page = reader.page("/breakevens")
    assert months(page) == "17.5"
    assert first_input(page) == "Cloud bill per month"
    assert facts(page)["Purchase price"] == "₩4,378,000,000"
    assert facts(page)["Cloud bill to break even by the horizon"] == "₩141,208,333"
    assert "pays off after 17.5 months" in page.select_one(".answer-first").get_text()
    doubled = reader.page(address(cloud_monthly="600,000,000"))
    assert months(doubled) == "8.0"
    assert first_input(doubled) == "Cloud bill per month"


def test_never_is_said(reader: Reader, korean: Reader) -> None:
    page = reader.page(address(cloud_monthly="40000000"))
    assert months(page) == "never"
    assert page.select_one(".answer-first").get_text().startswith("Never pays back:")
    assert korean.page(address(cloud_monthly="4000만")).find(id="months").get_text() == "회수 불가"


def test_both_languages_show_the_same_numbers(reader: Reader, korean: Reader) -> None:
    asked = address(
        discount_percent="8", growth_percent="20", utilisation_percent="60", residual_percent="10"
    )
    english, hangul = reader.page(asked), korean.page(asked)
    assert months(english) == months(hangul)
    assert list(facts(english).values()) == list(facts(hangul).values())


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"discount_percent": "8", "growth_percent": "20", "teams_now": "2", "teams_then": "4"},
        {"demand": "20, 20, 100; 40", "peak_price_factor": "1.5"},
        {"hardware.system": "dgx-a100-320gb", "hardware.count": "20", "onprem.pue": "1.3"},
        {
            "cloud.system": "aws-p4d",
            "cloud.count": "20",
            "cloud.hours_per_month": "600",
            "cloud.rental": "spot",
        },
        {"ranges.cloud_monthly.low": "2억", "ranges.cloud_monthly.high": "4억"},
    ],
)
def test_page_and_twin_agree(reader: Reader, changes: dict[str, str]) -> None:
    page = reader.page(address(**changes))
    data = reader.data(address(**changes).replace("?", ".json?"))
    assert months(page) == f"{data['months']:,.1f}"
    assert len(page.select("#tornado tbody tr")) == len(data["tornado"])
    assert page.select_one("link[rel=alternate]") is not None
    assert reader.data(str(page.select_one("link[rel=alternate]")["href"])) == data


def test_percent_is_typed_and_a_share_is_asked(reader: Reader) -> None:
    data = reader.data(address(discount_percent="8", growth_percent="20%").replace("?", ".json?"))
    assert data["discount_rate"] == pytest.approx(0.08)
    assert data["growth"] == pytest.approx(0.2)


def test_a_price_with_its_network_can_be_said(reader: Reader) -> None:
    def warned(page: BeautifulSoup) -> set[str]:
        return {str(one["data-code"]) for one in page.select(".warning")}

    assert "capex_excludes_fabric" in warned(reader.page(address()))
    said = reader.page(address(capex_includes_fabric="true"))
    assert "capex_excludes_fabric" not in warned(said)
    assert said.find("input", id="capex_includes_fabric").has_attr("checked")


def test_the_months_are_there_as_csv(reader: Reader) -> None:
    page = reader.page("/breakevens")
    (link,) = (str(one["href"]) for one in page.select("#result a") if ".csv" in str(one["href"]))
    response = reader.get(link)
    assert response.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(response.text.splitlines()))
    won = [value for row in rows for name, value in row.items() if name.endswith("[KRW]") and value]
    assert won and all(value.lstrip("-").isdigit() for value in won), "whole won, written out"
    assert [row["month"] for row in rows] == [str(month) for month in range(49)]
    assert float(rows[0]["own [KRW]"]) == 4.378e9
    assert float(rows[12]["cloud [KRW]"]) == 3.6e9


@pytest.mark.parametrize(
    ("name", "value", "status", "told"),
    [
        ("capex", "-1", 400, "above 0"),
        ("capex", "many", 422, "a number"),
        ("cloud_monthly", "1e400", 400, "finite"),
        ("utilisation_percent", "120", 400, "at most 100"),
        ("demand", "20, x", 422, "a number"),
        ("teams_now", "2", 400, "together"),
        ("horizon_months", "1e9", 400, "at most 600"),
    ],
)
def test_what_is_refused_stands_at_its_field_beside_the_last_answer(
    reader: Reader, name: str, value: str, status: int, told: str
) -> None:
    asked = address(**{name: value, "previous": urlencode(ARTICLE)})
    page = reader.page(asked, status=status)
    at = "teams_then" if name == "teams_now" else name
    assert told in page.find(id=f"{at}-error-1").get_text()
    assert page.find("input", id=name)["value"] == value
    assert "stale" in page.find(id="result")["class"]
    assert months(page) == "17.5"
    refused = reader.get(asked.replace("/breakevens?", "/breakevens.json?"))
    assert refused.status_code == status


def test_the_last_answer_need_not_be_there(reader: Reader) -> None:
    page = reader.page(address(capex="-1", previous="capex=nothing"), status=400)
    assert page.find(id="result") is None


def test_an_unknown_system_is_refused_at_its_field(reader: Reader) -> None:
    page = reader.page(address(**{"hardware.system": "dgx-a100"}), status=404)
    assert "closest matches" in page.find(id="hardware-system-error-1").get_text()


def test_every_example_is_answered(reader: Reader, korean: Reader) -> None:
    for link in reader.page("/breakevens").select("form .hint a[href^='/breakevens']"):
        assert reader.page(str(link["href"])).find(id="months") is not None
        assert korean.page(str(link["href"])).find(id="months") is not None


def test_charts_have_their_tables(reader: Reader) -> None:
    page = reader.page(address(demand="20, 20, 100, 40"))
    assert all(box.select(".chart-table tbody tr") for box in page.select("figure"))
    assert len(page.select("figure")) == 3


def test_a_price_book_prices_the_cluster(reader: Reader) -> None:
    rows = [{"item": "dgx-a100-320gb", "parameter": "price", "value": 150000, "unit": "USD"}]
    kept = reader.ask("POST", "/api/v1/price-books", json={"name": "Ours", "rows": rows})
    assert kept.status_code == 201, kept.text
    priced = {"hardware.system": "dgx-a100-320gb", "hardware.count": "20"}
    dear = reader.data(address(**priced).replace("?", ".json?"))
    book = {"price_book_id": kept.json()["id"]}
    page = reader.page(address(**priced, **book))
    cheap = reader.data(str(page.select_one("link[rel=alternate]")["href"]))
    paid, usual = ({one["item"]: one["amount"] for one in found["capex_lines"]} for found in (cheap, dear))
    assert paid["machines"] == pytest.approx(usual["machines"] * 150_000 / 199_000)
    assert paid["fabric"] == pytest.approx(usual["fabric"]), "the book says nothing of switches"
    assert months(page) == f"{cheap['months']:.1f}"
    assert page.select_one("#price_book_id option[selected]").get_text(strip=True) == "Ours"
    unknown = reader.page(address(price_book_id="pbk_nobody"), status=404)
    assert unknown.find(id="price_book_id-error-1") is not None
