"""Comparisons as studies: each row an option, what is turned in the address, and curves over sizes."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from sqlmodel import col

from app.errors import Message
from app.estimating.documents import CheckWarning
from app.platform.store.tables import IdempotencyKey
from app.platform.web.contexts import grouped
from app.platform.web.examples import STUDY
from tests.support.application import Reader

CLAIMED: list[dict[str, Any]] = [
    {"label": "1 × DGX A100", "hours": 69.5, "kind": "vendor", "system": "dgx-a100-320gb"},
    {"label": "3 × DGX A100", "kind": "linear", "scaled_from": "1 × DGX A100", "factor": 3},
    {"label": "1 × IPU-POD64", "hours": 13.2, "kind": "vendor", "system": "ipu-pod64"},
]

BERT = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}

MODELLED: list[dict[str, Any]] = [
    {**BERT, "label": "DGX", "system": {"id": "dgx-a100-640gb", "count": 2}, "plan": {"tensor": 1}},
    {**BERT, "label": "Pod", "system": {"id": "bow-pod16"}, "assumptions": {"utilisation": 0.5}},
    {
        "label": "Language",
        "model": {"preset": "gpt2-1.5b"},
        "workload": {"tokens": 1e9, "global_batch": 512},
        "system": {"id": "aws-p4d"},
        "software": "megatron-2022",
    },
    {"label": "Stated", "hours": 10, "kind": "published"},
]


def kept(reader: Reader, rows: list[dict[str, Any]]) -> str:
    made = reader.ask("POST", "/api/v1/comparisons", json={"title": "Head to head", "rows": rows})
    assert made.status_code == 201, made.text
    return f"/comparisons/{made.json()['id']}"


@pytest.fixture(scope="module")
def claims(reader: Reader) -> str:
    return kept(reader, CLAIMED)


@pytest.fixture(scope="module")
def mixed(reader: Reader) -> str:
    return kept(reader, MODELLED)


def study_at(reader: Reader, address: str) -> str:
    """Return the address of the study that the page of a comparison is about."""
    return str(reader.page(address).select_one("#study-form")["action"])


def column(page: BeautifulSoup, key: str) -> str:
    return page.select_one(f"#column-{key}").get_text(" ", strip=True)


def test_rows_are_options_and_ask_the_same(reader: Reader, mixed: str) -> None:
    data, comparison = reader.data(f"{study_at(reader, mixed)}.json"), reader.data(f"{mixed}.json")
    assert not data["saved"] and data["content"]["name"] == "Head to head"
    assert [one["label"] for one in data["options"]] == [row["label"] for row in comparison["rows"]]
    for option, row in zip(data["options"], comparison["rows"], strict=True):
        assert option["time"]["value"] == pytest.approx(row["hours"] * 3600)
        assert (option["kind"], option["system"]) == (row["kind"], row["system"])
    assert data["options"][2]["estimate"]["software"] == "megatron-2022"
    assert data["options"][1]["estimate"]["model"]["id"] == "bert-large"
    assert data["options"][2]["estimate"]["model"]["id"] == "gpt2-1.5b"


def test_a_comparison_is_made_a_study_once_until_its_rows_change(reader: Reader, claims: str) -> None:
    rows = kept(reader, CLAIMED)
    before = study_at(reader, rows)
    assert before == study_at(reader, rows) != study_at(reader, claims)
    reader.ask("PATCH", f"/api/v1{rows}", json={"rows": CLAIMED[:2]})
    assert study_at(reader, rows) != before


def test_no_key_of_a_caller_stands_in_the_way_of_a_comparison(reader: Reader) -> None:
    address = kept(reader, CLAIMED)
    before = study_at(reader, address)
    with reader.app.state.installation.store.engine.connect() as connection:
        own = col(IdempotencyKey.key).startswith(f"{address}:")
        (key,) = connection.scalars(sa.select(col(IdempotencyKey.key)).where(own))
    made = reader.ask("POST", "/api/v1/studies", json=STUDY, headers={"Idempotency-Key": key})
    assert made.status_code == 201
    assert study_at(reader, address) == before


def test_a_deleted_study_is_made_anew(reader: Reader) -> None:
    address = kept(reader, CLAIMED[:1])
    before = study_at(reader, address)
    for step in ("archive", "delete"):
        assert reader.submit(f"{before}/{step}", {}).status_code == 303
    assert study_at(reader, address) != before


@pytest.mark.parametrize("typed", ["85", "0.85", "85%"])
def test_efficiency_restates_scaled_figures(reader: Reader, claims: str, typed: str) -> None:
    page = reader.page(claims)
    assert "23.2 h" in column(page, "b") and "1.8×" in column(page, "b") and "5.3×" in column(page, "a")
    answer = reader.arrive(f"{claims}?scaling_efficiency={typed}")
    restated = BeautifulSoup(answer.text, "lxml")
    assert "27.3 h" in column(restated, "b") and "2.1×" in column(restated, "b")
    assert restated.select_one("#knob-scaling_efficiency")["value"] == "85"


def test_json_twin_takes_the_same_efficiency(reader: Reader, claims: str) -> None:
    data = reader.data(f"{claims}.json?scaling_efficiency=85")
    assert data["scaling_efficiency"] == 0.85
    assert data["rows"][1]["hours"] == pytest.approx(69.5 / 3 / 0.85)


@pytest.mark.parametrize("typed", ["0", "-3", "101", "nan", "much"])
def test_wrong_efficiency_is_refused_beside_its_field(reader: Reader, claims: str, typed: str) -> None:
    answer = reader.arrive(f"{claims}?scaling_efficiency={typed}")
    assert answer.status_code in {400, 422}
    page = BeautifulSoup(answer.text, "lxml")
    field = page.select_one("#knob-scaling_efficiency")
    assert field["value"] == typed and field["aria-invalid"] == "true"
    assert "23.2 h" in column(page, "b")


def test_each_option_says_who_claims_it(reader: Reader, claims: str) -> None:
    page, data = reader.page(claims), reader.data(f"{claims}.json")
    told = [tag.get_text() for tag in page.select(".r-head .tag")]
    assert told == ["vendor", "linear extrapolation", "vendor"]
    shown = {item["data-code"] for item in page.select(".warnings li")}
    # The study says besides what to clear up before a purchase.
    assert shown == {warning["code"] for warning in data["warnings"]} | {"not_sold_new"}
    assert "stated figures only" in page.select_one(".study-question").get_text()


def test_one_check_is_one_row_that_names_its_options() -> None:
    def thin(share: int) -> CheckWarning:
        return CheckWarning.of("thin", "caution", Message("{share} % is full", {"share": share}))

    grave = CheckWarning.of("grave", "serious", Message("no"))
    found = grouped([("a", thin(94)), ("b", thin(97)), ("c", thin(94)), ("", grave)])
    assert [(group.code, group.severity) for group in found] == [("grave", "serious"), ("thin", "caution")]
    assert [(line.text.message, line.options) for line in found[1].lines] == [
        ("94 % is full", ["a", "c"]),
        ("97 % is full", ["b"]),
    ]


def test_curves_are_a_part_for_htmx_and_a_page_otherwise(reader: Reader, mixed: str) -> None:
    study = study_at(reader, mixed)
    assert reader.page(study).select_one("#scaling")["hx-get"] == f"{study}/scaling"
    whole = reader.get(f"{study}/scaling")
    part = reader.get(f"{study}/scaling", headers={"HX-Request": "true"})
    assert whole.text.startswith("<!doctype html>") and not part.text.startswith("<!doctype")
    curves = reader.data(f"{study}/scaling.json")
    assert set(curves) == {"a", "b", "c"}
    assert [one["system"]["count"] for one in curves["a"]] == [1, 2, 4, 8]
    table = ".chart-box:has(#figure-scaling) .chart-table tbody tr"
    rows = BeautifulSoup(part.text, "lxml").select(table)
    assert [row.th.get_text() for row in rows].count("DGX") == 4
    turned_url = reader.page(f"{study}?count.a=4").select_one("#scaling")["hx-get"]
    turned = reader.data(turned_url.replace("/scaling?", "/scaling.json?"))
    assert [one["system"]["count"] for one in turned["a"]] == [1, 2, 4, 8, 16]
