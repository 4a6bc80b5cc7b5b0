"""Answers in part: summaries and named fields."""

from __future__ import annotations

from typing import Any

import pytest

from app.features.catalogue import api as catalogue
from app.features.comparisons import api as comparisons
from app.features.estimates import api as estimates
from app.features.sizings import api as sizings
from app.platform.web.api import AnswerSelection
from app.platform.web.examples import GPT3, HEAD_TO_HEAD, MODELLED, SIZING
from tests.conftest import problem_of
from tests.support.application import Ask

OFFERED = {
    name: offer
    for routes in (catalogue, comparisons, estimates, sizings)
    for name, offer in vars(routes).items()
    if isinstance(offer, AnswerSelection)
}


@pytest.fixture(scope="module")
def made(ask: Ask) -> dict[str, dict[str, Any]]:
    bodies = {"estimates": GPT3, "comparisons": MODELLED, "sizings": SIZING}
    return {kind: ask("POST", f"/api/v1/{kind}", json=body).json() for kind, body in bodies.items()}


@pytest.mark.parametrize("name", OFFERED)
def test_a_summary_is_of_fields_that_are_there(name: str) -> None:
    for path in OFFERED[name].summary:
        OFFERED[name].check(path)


@pytest.mark.parametrize(("kind", "share"), [("estimates", 0.3), ("comparisons", 0.25), ("sizings", 0.8)])
def test_a_summary_is_a_part_of_the_whole(
    ask: Ask, made: dict[str, dict[str, Any]], kind: str, share: float
) -> None:
    whole = ask("GET", f"/api/v1/{kind}/{made[kind]['id']}")
    part = ask("GET", f"/api/v1/{kind}/{made[kind]['id']}?view=summary")
    assert len(part.content) < share * len(whole.content)
    assert within(part.json(), whole.json())
    assert part.json()["id"] == made[kind]["id"]


@pytest.mark.parametrize("kind", ["chips", "machines", "systems", "fabrics", "models", "software"])
def test_the_catalogue_has_a_short_list(ask: Ask, kind: str) -> None:
    whole, part = ask("GET", f"/api/v1/catalog/{kind}"), ask("GET", f"/api/v1/catalog/{kind}?view=summary")
    assert len(part.content) < len(whole.content) / 4
    assert within(part.json(), whole.json())
    assert [one["id"] for one in part.json()["items"]] == [one["id"] for one in whole.json()["items"]]


def within(part: Any, whole: Any) -> bool:
    """Tell whether all of a part stands in the whole."""
    if isinstance(part, dict):
        return all(name in whole and within(value, whole[name]) for name, value in part.items())
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(within, part, whole))
    return bool(part == whole)


def test_named_fields_are_answered_and_no_others(ask: Ask, made: dict[str, dict[str, Any]]) -> None:
    address, whole = f"/api/v1/estimates/{made['estimates']['id']}", made["estimates"]
    found = ask("GET", f"{address}?fields=id, time_to_train,cost.run").json()
    assert found == {
        "id": whole["id"],
        "time_to_train": whole["time_to_train"],
        "cost": {"run": whole["cost"]["run"]},
    }
    more = ask("GET", f"{address}?view=summary&fields=trace").json()
    assert more["trace"] == whole["trace"] and more["fits"] is True
    assert ask("GET", f"{address}?fields=").json() == whole
    posted = ask("POST", "/api/v1/estimates?fields=steps", json=GPT3)
    assert (posted.status_code, posted.json()) == (201, {"steps": whole["steps"]})


def test_options_come_as_many_as_are_asked_for(ask: Ask, made: dict[str, dict[str, Any]]) -> None:
    whole, ids, cursor = made["sizings"], [], ""
    while cursor is not None:
        address = f"/api/v1/sizings/{whole['id']}?limit=2&fields=options.id"
        found = ask("GET", address + (f"&cursor={cursor}" if cursor else "")).json()
        assert len(found["options"]) <= 2
        ids += [option["id"] for option in found["options"]]
        cursor = found["next"]
    assert ids == [option["id"] for option in whole["options"]]


@pytest.mark.parametrize("path", ["nonesuch", "cost.nonesuch", "cost.run.nonesuch"])
def test_an_unknown_field_is_refused(ask: Ask, made: dict[str, dict[str, Any]], path: str) -> None:
    answer = ask("GET", f"/api/v1/estimates/{made['estimates']['id']}?fields={path}")
    assert problem_of(answer) == (400, "bad_input", "fields")
    (error,) = answer.json()["errors"]
    assert error["field"] == "fields" and path in error["message"]


def test_a_part_has_a_tag_of_its_own(ask: Ask) -> None:
    address = f"/api/v1/comparisons/{ask('POST', '/api/v1/comparisons', json=HEAD_TO_HEAD).json()['id']}"
    whole, part = ask("GET", address), ask("GET", f"{address}?view=summary")
    assert whole.headers["etag"] != part.headers["etag"]
    tag = {"if-none-match": part.headers["etag"]}
    assert ask("GET", f"{address}?view=summary", headers=tag).status_code == 304
    assert ask("GET", address, headers=tag).status_code == 200
    changed = ask("PATCH", address, json={"title": "Two"}, headers={"if-match": part.headers["etag"]})
    assert changed.status_code == 200


def test_problems_are_told_whole(ask: Ask) -> None:
    answer = ask("GET", "/api/v1/estimates/est_nonesuch?fields=id")
    assert (answer.status_code, answer.json()["status"]) == (404, 404)


def test_a_path_deeper_than_any_answer_is_no_fault_of_the_server(ask: Ask) -> None:
    found = ask("GET", "/api/v1/estimates", params={"fields": "id" + ".a" * 990})
    assert found.status_code == 200, found.text
