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
