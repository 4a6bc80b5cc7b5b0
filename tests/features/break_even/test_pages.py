"""Build or rent as a view of a study: its amounts, what is typed over them, refusals at their fields."""

from __future__ import annotations

import csv
from urllib.parse import urlencode

import pytest
from bs4 import BeautifulSoup

from tests.support.application import Reader
from tests.support.views import ARTICLE


def address(reader: Reader, **changes: str) -> str:
    return reader.view("rent", ARTICLE | changes)


def facts(page: BeautifulSoup) -> dict[str, str]:
    return {one.dt.get_text(): one.dd.get_text(strip=True) for one in page.select("#result .facts > div")}


def months(page: BeautifulSoup) -> str:
    return str(page.find(id="months").get_text())


def first_input(page: BeautifulSoup) -> str:
    return str(page.select("#tornado tbody th")[0].get_text())


def test_the_article_s_figures(reader: Reader) -> None:
    page = reader.page(reader.view("rent"))
    assert page.select_one(".subtabs [aria-current]").get_text() == "Build or rent"
    assert months(page) == "17.5"
    assert first_input(page) == "Cloud bill per month"
    assert facts(page)["Purchase with freight and installation"] == "₩4,378,000,000"
    assert facts(page)["Cloud bill to break even by the horizon"] == "₩141,208,333"
    assert "17.5" in page.select_one(".answer-first").get_text()
    doubled = reader.page(address(reader, cloud_monthly="600,000,000"))
    assert months(doubled) == "8.0"
    assert first_input(doubled) == "Cloud bill per month"


def test_the_bill_of_a_study_says_how_it_is_paid_and_includes_the_range_of_use(reader: Reader) -> None:
    study = reader.study({"id": "dgx-a100-640gb", "count": 4}, {"id": "aws-p4d", "count": 4})
    answer = reader.data(f"{study}/rent.json")
    said = " ".join(one["message"] for one in answer["sentences"])
    assert "on demand" in said and "3 years" in said
    assert "utilisation" in next(
        one["values"]["fields"] for one in answer["sentences"] if "fields" in one["values"]
    )
    body = {
        "name": "stated",
        "base": {
            "model": {"preset": "bert-large"},
            "workload": {"target": "mlperf-bert"},
            "assumptions": {"utilisation": 0.75},
        },
        "options": [{"system": {"id": "dgx-a100-640gb", "count": 4}}],
    }
    stated = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
    told = reader.data(f"/studies/{stated}/rent.json")["sentences"]
    assert all("utilisation" not in one["values"].get("fields", "") for one in told)
    page = reader.page(f"{study}/rent")
    own = next(way for way in reader.data(f"{study}.json")["options"][0]["costs"] if way["own"])
    assert f"${own['over_term']['value'] / 1e6:.2f}M" in page.find(id="own-difference").get_text()


def test_never_is_said(reader: Reader, korean: Reader) -> None:
    page = reader.page(address(reader, cloud_monthly="40000000"))
    assert months(page) == "never"
    assert page.select_one(".answer-first").get_text().startswith("Never pays back:")
    assert korean.page(address(reader, cloud_monthly="4000만")).find(id="months").get_text() == "회수 불가"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"discount_percent": "8", "growth_percent": "20", "teams_now": "2", "teams_then": "4"},
        {"demand": "20, 20, 100; 40", "peak_price_factor": "1.5"},
        {"onprem.pue": "1.3", "onprem.staff": "2"},
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
    page = reader.page(address(reader, **changes))
    data = reader.data(address(reader, **changes).replace("?", ".json?"))
    assert months(page) == ("never" if data["months"] is None else f"{data['months']:,.1f}")
    assert len(page.select("#tornado tbody tr")) == len(data["tornado"])
    assert page.select_one("link[rel=alternate]") is not None
    assert reader.data(str(page.select_one("link[rel=alternate]")["href"])) == data


def test_percent_is_typed_and_a_share_is_asked(reader: Reader) -> None:
    data = reader.data(address(reader, discount_percent="8", growth_percent="20%").replace("?", ".json?"))
    assert data["discount_rate"] == pytest.approx(0.08)
    assert data["growth"] == pytest.approx(0.2)


def test_a_price_with_its_network_can_be_said(reader: Reader) -> None:
    def warned(page: BeautifulSoup) -> set[str]:
        return {str(one["data-code"]) for one in page.select(".warning")}

    assert "capex_excludes_fabric" in warned(reader.page(address(reader)))
    said = reader.page(address(reader, capex_includes_fabric="true"))
    assert "capex_excludes_fabric" not in warned(said)
    assert said.find("input", id="capex_includes_fabric").has_attr("checked")


def test_the_months_are_there_as_csv(reader: Reader) -> None:
    page = reader.page(address(reader))
    (link,) = (str(one["href"]) for one in page.select("#result a") if ".csv" in str(one["href"]))
    response = reader.get(link)
    assert response.headers["content-type"].startswith("text/csv")
    assert reader.arrive(address(reader).replace("?", ".csv?")).text == response.text
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
        ("capex", "many", 422, "“many”"),
        ("cloud_monthly", "1e400", 400, "finite"),
        ("utilisation_percent", "120", 400, "at most 100"),
        ("demand", "20, x", 422, "“x”"),
        ("teams_now", "2", 400, "together"),
        ("horizon_months", "1e9", 400, "at most 600"),
    ],
)
def test_what_is_refused_stands_at_its_field_beside_the_last_answer(
    reader: Reader, name: str, value: str, status: int, told: str
) -> None:
    place = reader.landed(address(reader))
    asked = f"{place}&{urlencode(ARTICLE | {'discount_percent': '', 'residual_percent': '', name: value})}"
    page = reader.page(asked, status=status)
    at = "teams_then" if name == "teams_now" else name
    assert told in page.find(id=f"{at}-error-1").get_text()
    assert page.find("input", id=name)["value"] == value
    assert "stale" in page.find(id="result")["class"]
    assert months(page) == "17.5"
    assert reader.get(asked.replace("/rent?", "/rent.json?")).status_code == status


def test_an_unknown_system_is_refused(reader: Reader) -> None:
    cloud = {"cloud.system": "aws-p4", "cloud.hours_per_month": "600"}
    page = reader.page(address(reader, **cloud), status=404)
    assert "closest matches" in page.find(id="cloud-system-error-1").get_text()


OWN, CLOUD = {"id": "dgx-a100-320gb", "count": 2}, {"id": "aws-p4d", "count": 2}


def test_the_study_fills_in_the_amounts(reader: Reader) -> None:
    address = reader.study(OWN, CLOUD)
    page = reader.page(f"{address}/rent")
    data, answer = reader.data(f"{address}/rent.json"), reader.data(f"{address}.json")
    own, cloud = answer["options"]
    basis, hours = answer["one_basis"], answer["one_basis"]["useful_hours_per_year"] / 12
    bought = own["estimate"]["cost"]["capex"]["value"]
    assert data["capex"]["value"] == pytest.approx(bought, abs=1)
    lines = {one["item"]: one["hourly"] * hours for one in own["costs"][0]["lines"]}
    running = sum(lines[name] for name in ("power", "space", "staff", "support"))
    assert data["onprem_monthly"] == pytest.approx(running, abs=1)
    runs = hours * 3600 / own["time"]["value"]
    assert data["cloud_monthly"] == pytest.approx(cloud["costs"][0]["run"]["value"] * runs, rel=1e-3)
    assert (data["horizon_months"], data["currency"]) == (12 * basis["term_years"], "USD")
    assert data["probability"] is not None, "purchase and bill come with their ranges"
    assert page.find("input", id="capex")["value"] == f"{data['capex']['value']:,.0f}"
    assert "2 × AWS p4d.24xlarge" in page.find(id="cloud_monthly-hint").get_text()
    assert "closest in the catalogue" not in page.find(id="amounts").get_text()
    assert [one["field"] for one in data["defaults"]] == ["growth", "own_growth", "utilisation"]


def test_without_a_rented_option_the_closest_system_stands_in(reader: Reader) -> None:
    address = reader.study(OWN)
    page = reader.page(f"{address}/rent")
    row = page.find(id="amounts").select_one(".tag").parent
    assert row.get_text().strip().startswith("2 × "), "as many of the same accelerator"
    (link,) = page.select("#amounts-title ~ p a")
    added = reader.data(str(link["href"]).replace("?", ".json?", 1))
    assert len(added["options"]) == 2
    assert added["options"][1]["estimate"]["system"]["devices"] == 16


def test_what_is_typed_is_kept_and_an_empty_field_is_the_study_s(reader: Reader) -> None:
    address = reader.study(OWN, CLOUD)
    usual = reader.data(f"{address}/rent.json")
    place = reader.landed(f"{address}/rent?cloud_monthly=50000&growth_percent=10&capex=")
    assert "cloud_monthly" not in place and "state=" in place
    page, data = reader.page(place), reader.data(place.replace("?", ".json?"))
    assert page.find("input", id="cloud_monthly")["value"] == "50000"
    assert (data["cloud_monthly"], data["growth"]) == (50_000, 0.1)
    assert data["capex"] == usual["capex"]
    assert "in the study" in page.find(id="cloud_monthly-hint").get_text()


def test_only_the_work_that_the_purchase_can_do_is_counted(reader: Reader) -> None:
    address = reader.study(OWN, CLOUD)
    full, more = (
        reader.data(f"{reader.landed(f'{address}/rent?cloud_monthly={bill}')}".replace("?", ".json?"))
        for bill in (5_000_000, 10_000_000)
    )
    assert more["cloud_monthly"] == 2 * full["cloud_monthly"]
    assert more["replaced_monthly"] == pytest.approx(full["replaced_monthly"])
    assert more["months"] == pytest.approx(full["months"])
    assert "capacity_short" in {one["code"] for one in more["warnings"]}


def test_the_study_s_bill_follows_the_utilisation_that_is_asked(reader: Reader) -> None:
    address = reader.study(OWN, CLOUD)
    usual = reader.data(f"{address}/rent.json")
    (share,) = (one["value"] for one in usual["defaults"] if one["field"] == "utilisation")
    path, _, query = reader.landed(f"{address}/rent?utilisation_percent=40").partition("?")
    less = reader.data(f"{path}.json?{query}")
    assert less["cloud_monthly"] == pytest.approx(usual["cloud_monthly"] * 0.4 / share, abs=1)
    assert less["months"] > usual["months"] and less["probability"] < usual["probability"]


def test_a_rented_study_has_nothing_to_buy(reader: Reader) -> None:
    address = reader.study(CLOUD)
    assert "bought system" in reader.page(f"{address}/rent").select_one(".notice").get_text()
    assert reader.get(f"{address}/rent.json").status_code == 404


def test_charts_have_their_tables(reader: Reader) -> None:
    page = reader.page(address(reader, demand="20, 20, 100, 40"))
    assert all(box.select(".chart-table tbody tr") for box in page.select("figure"))
    assert len(page.select("figure")) == 3


def test_a_price_book_prices_the_purchase(reader: Reader) -> None:
    rows = [{"item": "dgx-a100-320gb", "parameter": "price", "value": 150000, "unit": "USD"}]
    kept = reader.ask("POST", "/api/v1/price-books", json={"name": "Ours", "rows": rows})
    assert kept.status_code == 201, kept.text
    system = {"id": "dgx-a100-320gb", "count": 20}
    dear = reader.data(f"{reader.study(system)}/rent.json")
    cheap = reader.data(f"{reader.study(system, price_book_id=kept.json()['id'])}/rent.json")
    assert dear["capex"]["value"] - cheap["capex"]["value"] == pytest.approx(20 * 49_000, rel=0.1)


def test_an_option_without_a_price_says_where_to_enter_one(reader: Reader) -> None:
    study = reader.study({"id": "dgx-h100"}, {"id": "h800-sxm-80gb"})
    page = reader.page(f"{study}/rent?option=b")
    assert "HGX H800" in page.select_one("#answer").get_text()
    link = page.select_one("#answer a")["href"]
    path, _, field = link.partition("#")
    compared = reader.page(path)
    assert compared.find(id=field)["placeholder"] == "no published price"
    assert compared.select_one("#column-b .r-cost a")["href"] == f"#{field}"
    assert "price" in compared.select_one("#answer").get_text(), "costs are compared without it"


def test_buying_and_renting_are_decided_for_every_demand(reader: Reader) -> None:
    """A few minutes of adapters are rented; a machine that is always busy is bought."""
    body = {
        "name": "Adapters",
        "base": {"model": {"preset": "llama3-8b"}, "workload": {"kind": "lora", "tokens": 20e6}},
        "options": [{"key": "a", "system": {"id": "dgx-h100"}}, {"key": "b", "system": {"id": "aws-p5"}}],
    }
    study = reader.ask("POST", "/api/v1/studies", json=body).json()["id"]
    page = reader.page(f"/studies/{study}/rent")
    told = [line.strong.find_next_sibling("span").get_text() for line in page.select("#by-demand li")]
    named = [text.partition(" · ")[0].strip() for text in told]
    assert named == ["AWS p5.48xlarge", "AWS p5.48xlarge", "DGX H100"]
    decision = reader.data(f"/studies/{study}.json")["decision"]
    outlay = page.select_one("#decision tbody tr:nth-of-type(2) .figure").get_text()
    assert decision["recommended"] == "b" and outlay == f"${decision['options'][1]['outlay']['value']:.2f}"
