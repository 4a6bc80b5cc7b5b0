"""Build or rent through the API: the contract's shape and its problems."""

from typing import Any

import pytest

from app.platform.web.examples import BREAK_EVEN
from tests.support.application import Ask


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"capex": "dear"}, 422, "capex"),
        ({"capex": None}, 422, "capex"),
        ({"extra": 1}, 422, "extra"),
        ({"capex": -1}, 400, "capex"),
        ({"utilisation": 2}, 400, "utilisation"),
        ({"price_book_id": "pb_x"}, 404, "price_book_id"),
        ({"demand": [1.0] * 9000}, 400, "demand"),
    ],
)
def test_wrong_input_is_a_problem_at_its_field(
    ask: Ask, changes: dict[str, Any], status: int, field: str
) -> None:
    response = ask("POST", "/api/v1/breakevens", json=BREAK_EVEN | changes)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["errors"][0]["field"] == field


@pytest.mark.parametrize("number", ["1e400", "NaN", "-Infinity"])
def test_numbers_that_are_none_are_refused(ask: Ask, number: str) -> None:
    body = f'{{"currency": "KRW", "capex": {number}, "onprem_monthly": 1, "cloud_monthly": 2}}'
    headers = {"content-type": "application/json"}
    assert ask("POST", "/api/v1/breakevens", content=body, headers=headers).status_code == 400


def test_a_cluster_that_is_never_used_is_refused_by_field(ask: Ask) -> None:
    body = {"currency": "USD", "capex": 1e9, "onprem_monthly": 1, "cloud_monthly": 1e9, "utilisation": 5e-324}
    response = ask("POST", "/api/v1/breakevens", json=body)
    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "utilisation")
