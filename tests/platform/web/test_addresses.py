"""Data of pages whose address is their question: what cannot be read is refused as the API refuses it."""

import pytest

from app.platform.web.examples import RESNET
from tests.conftest import problem_of
from tests.support.application import Reader
from tests.support.views import ARTICLE, JOBS


@pytest.mark.parametrize(
    ("view", "fields", "field"),
    [
        ("queues", {**JOBS, "days": "x"}, "days"),
        ("partitions", {"requests.0.devices": "x"}, "requests[0].devices"),
        ("rent", {**ARTICLE, "capex": "x"}, "capex"),
    ],
)
def test_a_word_for_a_number_is_refused_at_its_field(
    reader: Reader, view: str, fields: dict[str, str], field: str
) -> None:
    answer = reader.arrive(reader.view(view, fields).replace("?", ".json?"))
    assert answer.status_code == 422, answer.text[:300]
    assert field in [one["field"] for one in answer.json()["errors"]]


def test_a_word_for_a_price_of_claims_is_refused_at_its_field(reader: Reader) -> None:
    answer = reader.get("/claims.json?pod64_price=x")
    assert problem_of(answer) == (422, "unprocessable_input", "pod64_price"), answer.text[:300]
    assert [one["field"].rpartition(".")[2] for one in answer.json()["errors"]] == ["pod64_price"]


@pytest.mark.parametrize("tail", ["price_date=x", "pue=x", "currency=x"])
def test_terms_of_a_cost_that_cannot_be_read(reader: Reader, tail: str) -> None:
    estimate = reader.ask("POST", "/api/v1/estimates", json=RESNET).json()["id"]
    answer = reader.get(f"/estimates/{estimate}/costs.json?{tail}")
    assert answer.status_code == 422, answer.text[:300]
    assert reader.get(f"/estimates/{estimate}/costs?{tail}").status_code == 422


def test_an_estimate_leads_to_a_study_of_its_own_whatever_became_of_the_last(reader: Reader) -> None:
    body = {**RESNET, "system": {"id": "bow-pod64", "count": 3}}
    asked = f"/estimates/{reader.ask('POST', '/api/v1/estimates', json=body).json()['id']}/study"
    first = reader.landed(asked)
    assert reader.landed(asked) == first, "the same question leads to the same study"
    assert reader.landed(f"{asked}?view=plan") == f"{first}/plan"
    saved = reader.submit(f"{first}/save", {"state": "count.a=7", "version": "1", "expected": "1"})
    assert saved.status_code == 303, saved.text
    second = reader.landed(asked)
    assert second != first
    assert reader.data(f"/api/v1{second}")["content"]["options"][0]["system"]["count"] == 3
    reader.submit(f"{second}/archive", {})
    assert reader.ask("DELETE", f"/api/v1{second}").status_code == 204
    third = reader.landed(asked)
    assert reader.get(third).status_code == 200 and third not in (first, second)
