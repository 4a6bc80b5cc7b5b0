"""POST, list, read, compare and save bills; plan networks."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import Any

import pytest
from openpyxl import load_workbook

from app.platform.web.examples import BILL, FABRIC, RESNET
from tests.conftest import problem_of
from tests.support.application import Ask

PATH = "/api/v1/boms"


def made(ask: Ask, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    response = ask("POST", PATH, json=body, **more)
    assert response.status_code == 201, response.text[:500]
    return dict(response.json())


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for child in value.values():
            yield from numbers(child)
    elif isinstance(value, list):
        for child in value:
            yield from numbers(child)
    elif isinstance(value, int | float):
        yield value


def test_a_network_as_the_contract_says(ask: Ask) -> None:
    answer = ask("POST", "/api/v1/fabrics", json=FABRIC).json()
    wanted = {
        "leaf": 8,
        "spine": 4,
        "balanced_spine": 4,
        "core": 0,
        "minimum_switches": 12,
        "cables": 320,
        "node_tbps": 1.6,
        "oversubscription": 1.0,
    }
    assert {name: answer[name] for name in wanted} == wanted
    assert [warning["code"] for warning in answer["warnings"]] == ["switches_beyond_network"]
    forty = ask("POST", "/api/v1/fabrics", json={**FABRIC, "nodes": 40, "declared_switches": None}).json()
    assert (forty["leaf"], forty["spine"], forty["balanced_spine"]) == (16, 8, 10)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"nodes": 0}, 400),
        ({"nodes": 2001}, 400),
        ({"nodes": 10**9}, 400),
        ({"switch_ports": 1}, 400),
        ({"oversubscription": 0.5}, 400),
        ({"nodes": "many"}, 422),
        ({"colour": "red"}, 422),
    ],
)
def test_a_network_that_cannot_be_is_refused(ask: Ask, change: dict[str, Any], status: int) -> None:
    response = ask("POST", "/api/v1/fabrics", json={**FABRIC, **change})
    assert response.status_code == status, response.text
    assert response.json()["errors"][0]["field"] == next(iter(change))


def test_every_line_of_a_bill_has_its_rule(ask: Ask) -> None:
    bill = made(ask, BILL)
    assert all(math.isfinite(number) for number in numbers(bill))
    for line in bill["lines"]:
        assert line["rule"]["message"] and line["quantity"] > 0


def test_the_bill_of_an_estimate(ask: Ask) -> None:
    body = {**RESNET, "system": {"id": "dgx-a100-640gb", "count": 4, "fabric": "roce-200"}, "currency": "KRW"}
    estimate = ask("POST", "/api/v1/estimates", json=body).json()
    bill = made(ask, {"estimate_id": estimate["id"], "spare": 1})
    assert (bill["system"], bill["count"], bill["fabric"]) == ("dgx-a100-640gb", 4, "roce-200")
    assert (bill["currency"], bill["estimate_id"]) == ("KRW", estimate["id"])
    assert made(ask, {"estimate_id": estimate["id"], "count": 8})["count"] == 8
    missing = ask("POST", PATH, json={"estimate_id": "est_none"})
    assert (missing.status_code, missing.json()["errors"][0]["field"]) == (404, "estimate_id")


def test_files_hold_the_lines(ask: Ask) -> None:
    bill = made(ask, BILL)
    text = ask("GET", f"{PATH}/{bill['id']}.csv", headers={"accept-language": "en"})
    assert text.headers["content-type"].startswith("text/csv")
    assert "attachment" in text.headers["content-disposition"]
    assert len(text.text.splitlines()) == len(bill["lines"]) + 1
    book = ask("GET", f"{PATH}/{bill['id']}.xlsx")
    assert len(load_workbook(io.BytesIO(book.content)).worksheets) == 2
    assert ask("GET", f"{PATH}/bom_none.xlsx").status_code == 404


@pytest.mark.parametrize(
    ("query", "language", "head"),
    [
        ("", None, "Quantity"),
        ("", "de", "Quantity"),
        ("", "ko-KR, en;q=0.5", "수량"),
        ("?lang=ko", "en", "수량"),
        ("?lang=en", "ko", "Quantity"),
    ],
)
def test_files_are_in_english_unless_another_language_is_asked_for(
    ask: Ask, query: str, language: str | None, head: str
) -> None:
    path = f"{PATH}/{made(ask, BILL)['id']}"
    headers = {"accept-language": language} if language else {}
    table = ask("GET", f"{path}.csv{query}", headers=headers)
    assert table.text.splitlines()[0].split(",")[4] == head
    assert "Accept-Language" in table.headers["vary"]
    book = load_workbook(io.BytesIO(ask("GET", f"{path}.xlsx{query}", headers=headers).content))
    assert book.worksheets[0].cell(3, 5).value == head


def test_a_language_that_no_file_is_written_in_is_refused(ask: Ask) -> None:
    refused = ask("GET", f"{PATH}/{made(ask, BILL)['id']}.csv?lang=fr")
    assert problem_of(refused) == (422, "not_a_choice", "lang")


def test_two_bills_are_compared(ask: Ask) -> None:
    pod, dgx = made(ask, {"system": "ipu-pod64"}), made(ask, {"system": "dgx-a100-320gb", "count": 3})
    answer = ask("GET", f"{PATH}/compare?ids={pod['id']},{dgx['id']}").json()
    package = next(ratio for ratio in answer["ratios"] if ratio["measure"] == "package")
    assert package["parity"] and package["first"]["value"] == 644_200
    assert [warning["code"] for warning in answer["warnings"]] == ["power_basis_differs"]
    for ids, status in [(pod["id"], 400), (f"{pod['id']},bom_none", 404), ("", 400)]:
        assert ask("GET", f"{PATH}/compare", params={"ids": ids}).status_code == status


def test_the_bill_of_an_estimate_is_priced_with_its_book(ask: Ask) -> None:
    rows = [{"item": "dgx-a100-640gb", "parameter": "price", "value": 150_000, "unit": "USD"}]
    book = ask("POST", "/api/v1/price-books", json={"name": "Offers", "rows": rows}).json()["id"]
    asked = {**RESNET, "assumptions": {"price_book_id": book}}
    estimate = ask("POST", "/api/v1/estimates", json=asked).json()["id"]
    found = made(ask, {"estimate_id": estimate})
    assert found["request"]["price_book_id"] == book
    assert found["lines"][0]["unit_price"]["value"] == 150_000
