"""Data of pages whose address is their question: what cannot be read is refused as the API refuses it."""

import pytest

from app.platform.web.examples import RESNET
from tests.web.pages.conftest import Reader


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/queues.json?system=dgx-a100-640gb&days=x", "days"),
        ("/partitions.json?system=bow-pod64&count=x", "count"),
        ("/claims.json?pod64_price=x", "pod64_price"),
        ("/breakevens.json?currency=KRW&capex=x", "capex"),
    ],
)
def test_a_word_for_a_number_is_refused_at_its_field(reader: Reader, path: str, field: str) -> None:
    answer = reader.arrive(path)
    assert answer.status_code == 422, answer.text[:300]
    assert field in [one["field"].rpartition(".")[2] for one in answer.json()["errors"]]


@pytest.mark.parametrize("tail", ["price_date=x", "pue=x", "currency=x"])
def test_terms_of_a_cost_that_cannot_be_read(reader: Reader, tail: str) -> None:
    estimate = reader.ask("POST", "/api/v1/estimates", json=RESNET).json()["id"]
    answer = reader.get(f"/estimates/{estimate}/costs.json?{tail}")
    assert answer.status_code == 422, answer.text[:300]
    assert reader.get(f"/estimates/{estimate}/costs?{tail}").status_code == 422


def test_an_old_address_leads_to_what_it_asks_whatever_became_of_its_study(reader: Reader) -> None:
    asked = "/partitions?system=bow-pod64&count=3"
    first = reader.landed(asked).partition("/partitions")[0]
    assert reader.landed(asked).startswith(first), "the same question leads to the same study"
    saved = reader.submit(f"{first}/save", {"state": "count.a=7", "version": "1", "expected": "1"})
    assert saved.status_code == 303, saved.text
    second = reader.landed(asked).partition("/partitions")[0]
    assert second != first
    assert reader.data(f"/api/v1{second}")["content"]["options"][0]["system"]["count"] == 3
    reader.submit(f"{second}/archive", {})
    assert reader.ask("DELETE", f"/api/v1{second}").status_code == 204
    third = reader.landed(asked)
    assert reader.get(third).status_code == 200 and not third.startswith((first, second))
