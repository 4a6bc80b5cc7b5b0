"""BERT-Large on a DGX A100, two cloud copies of it and a Bow: a tie in time, costs on one basis."""

from __future__ import annotations

import io
from typing import Any

import pypdf
import pytest

from tests.support.application import Reader

DGX, AZURE, GOOGLE, BOW = "DGX A100", "Azure", "Google", "Bow"


def row(label: str, system: str, **more: Any) -> dict[str, Any]:
    return {
        "label": label,
        "model": {"preset": "bert-large"},
        "workload": {"target": "mlperf-bert"},
        "system": {"id": system},
        **more,
    }


ROWS = [
    row(DGX, "dgx-a100-640gb"),
    row(AZURE, "azure-nd96amsr"),
    row(GOOGLE, "gcp-a2-ultragpu-8g"),
    row(BOW, "bow-pod16"),
]


@pytest.fixture(scope="module")
def comparison(reader: Reader) -> dict[str, Any]:
    answer = reader.ask("POST", "/api/v1/comparisons", json={"rows": ROWS})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def test_bert_on_dgx_two_cloud_copies_and_bow_is_a_tie(reader: Reader, comparison: dict[str, Any]) -> None:
    assert comparison["fastest"] is None
    assert {DGX, AZURE, GOOGLE} <= set(comparison["fastest_tied"])
    copies = [one for one in comparison["ratios"] if {one["slower"], one["faster"]} <= {DGX, AZURE, GOOGLE}]
    assert len(copies) == 3
    assert all(one["tie"] and one["probability"] == 0.5 and one["ratio"] == 1 for one in copies)
    page = reader.page(f"/comparisons/{comparison['id']}")
    assert [page.select_one(f"#column-{key} .r-time-delta .tag").get_text() for key in "abc"] == ["tie"] * 3
    text = page.get_text(" ", strip=True)
    for wrong in ("probability 0%", "probability 100%", "cannot be compared"):
        assert wrong not in text


def test_every_row_has_its_costs_on_one_basis(reader: Reader, comparison: dict[str, Any]) -> None:
    basis = comparison["one_basis"]
    hours = basis["useful_hours_per_year"] * basis["term_years"]
    for one in comparison["rows"]:
        assert one["costs"] and one["costs"][0]["own"]
        for way in one["costs"]:
            assert way["over_term"]["value"] == pytest.approx(way["hourly"]["value"] * hours)
            assert way["run"]["value"] * way["runs"] == pytest.approx(way["over_term"]["value"], rel=1e-6)
    differ = [one for one in comparison["warnings"] if one["code"] == "cost_bases_differ"]
    assert differ and "one basis" in differ[0]["message"]
    address = f"/comparisons/{comparison['id']}?utilisation=0.4&term_years=3"
    data = reader.data(address.replace("?", ".json?"))
    assert data["one_basis"] == {
        "utilisation": 0.4,
        "term_years": 3.0,
        "useful_hours_per_year": pytest.approx(0.4 * 8766, rel=1e-3),
    }
    page = reader.page(address)
    assert page.select_one("#knob-utilisation")["value"] == "40"  # type: ignore[index]
    assert page.select_one("#knob-years")["value"] == "3"  # type: ignore[index]
    rent = next(str(tab["href"]) for tab in page.select(".tabs a") if "/rent" in str(tab["href"]))
    costs = reader.page(rent.replace("/rent", "/costs"))
    assert len(costs.select("#basis-costs tbody tr")) == sum(len(one["costs"]) for one in data["rows"])


def test_less_use_makes_ownership_and_commitments_dearer_and_leaves_list_prices(reader: Reader) -> None:
    rows = [row(DGX, "dgx-a100-640gb"), row("AWS", "aws-p4d")]
    answer = reader.ask("POST", "/api/v1/comparisons", json={"rows": rows}).json()

    def hourly(share: float) -> dict[str, float]:
        data = reader.data(f"/comparisons/{answer['id']}.json?utilisation={share}")
        return {
            way["rental"] or way["acquisition"]: way["hourly"]["value"]
            for one in data["rows"]
            for way in one["costs"]
        }

    half, full = hourly(0.5), hourly(1.0)
    assert set(full) == {"own", "on-demand", "reserved-1-year", "reserved-3-years", "spot"}
    assert half["reserved-1-year"] == pytest.approx(2 * full["reserved-1-year"])
    assert half["on-demand"] == pytest.approx(full["on-demand"])
    assert half["spot"] == pytest.approx(full["spot"])
    assert half["own"] > full["own"]


@pytest.mark.parametrize(("query", "field"), [("utilisation=0", "utilisation"), ("term_years=-1", "years")])
def test_a_basis_that_cannot_be_is_named(
    reader: Reader, comparison: dict[str, Any], query: str, field: str
) -> None:
    page = reader.page(f"/comparisons/{comparison['id']}?{query}", 400)
    assert page.select_one(f"#knob-{field}")["aria-invalid"] == "true"  # type: ignore[index]


@pytest.mark.parametrize("locale", ["en", "ko"])
def test_the_customers_pdf_says_tie_and_has_one_basis_on_every_page(
    reader: Reader, comparison: dict[str, Any], locale: str
) -> None:
    body = {"comparison_id": comparison["id"], "customer": "Seoul lab", "locale": locale, "currency": "USD"}
    made = reader.ask("POST", "/api/v1/proposals", json=body).json()
    frozen = reader.ask("POST", f"/api/v1/proposals/{made['id']}/freeze")
    assert frozen.status_code == 200, frozen.text
    data = reader.get(f"/api/v1/proposals/{made['id']}.pdf").content
    pages = pypdf.PdfReader(io.BytesIO(data)).pages
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    wrong = {
        "en": (
            "not known on one basis",
            "cannot be compared as they are",
            "probability of 0 %",
            "is the fastest",
        ),
        "ko": ("같은 기준으로 알 수 없어", "그대로 비교할 수 없습니다", "확률은 0%", "가장 빠름"),
    }[locale]
    for sentence in wrong:
        assert sentence not in text
    assert {"en": "tie", "ko": "동률"}[locale] in text
