"""Price books through the API: files, versions, edits that collide, and whose they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.features.price_books import service as price_books_service
from app.features.price_books import sheets as price_books
from app.features.price_books.model import PriceBookRequest
from app.platform.web.examples import BOOK, STUDY
from tests.conftest import problem_of
from tests.support.application import Ask

BOOKS = "/api/v1/price-books"

ROW = {"item": "dgx-a100-640gb", "parameter": "price", "value": 200_000, "unit": "USD"}

ESTIMATE: dict[str, Any] = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e7, "global_batch": 1024, "seq_len": 128},
    "system": {"id": "dgx-a100-640gb"},
}


def made(ask: Ask, **more: Any) -> dict[str, Any]:
    answer = ask("POST", BOOKS, json={"name": "Offers", "rows": [ROW], **more})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def capex(ask: Ask, name: str) -> Any:
    answer = ask("POST", "/api/v1/estimates", json={**ESTIMATE, "assumptions": {"price_book_id": name}})
    return answer.json()["cost"]["capex"]["value"] if answer.is_success else answer


@pytest.mark.parametrize("system", ["dgx-a100-640gb", "bow-pod16"])
def test_each_book_prices_the_same_system_anew(ask: Ask, system: str) -> None:
    """A plan is kept across books, the price of a machine or of a whole pod is not."""
    found = []
    for value in (100_000, 400_000):
        book = made(ask, rows=[{**ROW, "item": system, "value": value}])
        request = {**ESTIMATE, "system": {"id": system}, "assumptions": {"price_book_id": book["id"]}}
        found.append(ask("POST", "/api/v1/estimates", json=request).json()["cost"])
    first, second = found
    assert second["capex"]["value"] > 3 * first["capex"]["value"]
    assert second["run"]["value"] > first["run"]["value"]


def test_an_edit_makes_a_version_and_estimates_take_the_newest_or_the_named(ask: Ask) -> None:
    book = made(ask)
    address = f"{BOOKS}/{book['id']}"
    assert (book["version"], book["rows"][0]["catalogue"]["value"]) == (1, 270_000)
    tag = ask("GET", address).headers["etag"]
    changed = ask(
        "PATCH", address, json={"rows": [{**ROW, "value": 190_000}], "comment": "better"},
        headers={"If-Match": tag},
    )  # fmt: skip
    assert changed.status_code == 200 and changed.json()["version"] == 2
    (change,) = changed.json()["versions"][0]["changes"]
    assert (change["kind"], change["before"], change["after"]) == ("changed", 200_000, 190_000)
    cheaper = capex(ask, book["id"])
    dearer = capex(ask, f"{book['id']}@1") - cheaper
    assert dearer == pytest.approx(10_000 * 1.03 * 1.04), "with spare parts, freight and start-up"
    assert ask("GET", address, params={"version": 1}).json()["rows"][0]["value"] == 200_000
    assert ask("GET", address, params={"version": 7}).status_code == 404
    stale = ask("PUT", address, json={"name": "Mine", "rows": []}, headers={"If-Match": tag})
    assert problem_of(stale) == (412, "precondition_failed", "If-Match")
    emptied = ask("PUT", address, json={"name": "Mine", "rows": []})
    assert (emptied.json()["version"], emptied.json()["name"], emptied.json()["rows"]) == (3, "Mine", [])
    assert capex(ask, book["id"]) - cheaper == pytest.approx(80_000 * 1.03 * 1.04)


def test_who_loses_a_race_is_told_the_versions_there_are(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"{BOOKS}/{made(ask)['id']}"
    ask("PATCH", address, json={"name": "Second"})
    edited = price_books.edited

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr(price_books_service, "edited", edited)
        assert ask("PATCH", address, json={"name": "Faster"}).json()["version"] == 3
        return edited(*arguments)

    monkeypatch.setattr(price_books_service, "edited", overtaken)
    late = ask("PATCH", address, json={"name": "Slower"})
    assert problem_of(late) == (409, "conflict", "If-Match") and "(version 3, not 2)" in late.json()["detail"]
    assert ask("GET", address).json()["name"] == "Faster"


def test_a_file_goes_in_and_comes_out(ask: Ask) -> None:
    text = "item,parameter,condition,value,unit,note\ndgx-a100-640gb,price,,210000,USD,-offer\n"
    answer = ask("POST", BOOKS, files={"file": ("march.csv", text.encode())})
    assert answer.status_code == 201, answer.text
    book = answer.json()
    assert (book["name"], book["rows"][0]["note"]) == ("march", "-offer")
    csv = ask("GET", f"{BOOKS}/{book['id']}.csv")
    assert csv.headers["content-type"].startswith("text/csv") and "'-offer" in csv.text
    again = ask("POST", BOOKS, files={"file": ("again.csv", csv.content)}, data={"name": "Again"})
    assert again.json()["rows"] == book["rows"] and again.json()["name"] == "Again"


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"name": "x", "rows": [{**ROW, "item": "dgx"}]}, 400, "rows[0].item"),
        ({"name": "x", "rows": [ROW, ROW]}, 400, "rows[1].item"),
        ({"name": "x", "rows": [{**ROW, "value": "much"}]}, 422, "rows[0].value"),
        ({"name": "x", "rows": [{**ROW, "low": 1}]}, 422, "rows[0].low"),
        ({"name": "", "rows": []}, 400, "name"),
        ({"name": "  ", "rows": []}, 400, "name"),
        ({"name": "a\u0000b", "rows": []}, 400, "name"),
        ({"name": "x", "rows": [{**ROW, "note": "a\u0000b"}]}, 400, "rows[0].note"),
        ({"rows": []}, 422, "name"),
    ],
)
def test_a_wrong_book_is_refused_at_its_field(
    ask: Ask, body: dict[str, Any], status: int, field: str
) -> None:
    answer = ask("POST", BOOKS, json=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["errors"][0]["field"] == field


def test_nobody_knows_a_book_that_is_not_there(ask: Ask) -> None:
    for name in ("pbk_aaaaaaaaaaaaaaaa", "pbk_aaaaaaaaaaaaaaaa@1", "@", f"{made(ask)['id']}@9"):
        answer = capex(ask, name)
        assert answer.status_code == 404, name
        assert answer.json()["errors"][0]["field"] == "assumptions.price_book_id"
    assert ask("GET", f"{BOOKS}/pbk_none").status_code == 404
    assert ask("GET", f"{BOOKS}/pbk_none.csv").status_code == 404


def test_a_book_belongs_to_its_workspace(ask: Ask, application: Any) -> None:
    installation = application.state.installation
    with installation.workspace("ws_other").transaction() as repository:
        repository.ensure_workspace("Other")
    other = price_books_service.create_book(
        installation.workspace("ws_other"), PriceBookRequest.model_validate({"name": "Secret", "rows": [ROW]})
    )
    assert ask("GET", f"{BOOKS}/{other.id}").status_code == 404
    assert ask("PATCH", f"{BOOKS}/{other.id}", json={"name": "Mine"}).status_code == 404
    assert ask("GET", f"{BOOKS}/{other.id}.csv").status_code == 404
    assert capex(ask, other.id).status_code == 404
    assert "Secret" not in ask("GET", BOOKS).text
    assert price_books_service.get_book(installation.workspace("ws_other"), other.id).name == "Secret"


def test_sizings_and_comparisons_take_a_book(ask: Ask) -> None:
    book = made(ask)["id"]
    usual, own = (
        ask(
            "POST",
            "/api/v1/sizings",
            json={
                "model": {"preset": "bert-large"},
                "workload": {"samples": 1e6, "global_batch": 1024, "seq_len": 128},
                "systems": ["dgx-a100-640gb"],
                "counts": [1],
                "assumptions": {} if name is None else {"price_book_id": name},
            },
        ).json()["options"][0]["cost"]["value"]
        for name in (None, book)
    )
    assert own < usual
    row = {**ESTIMATE, "label": "Ours", "assumptions": {"price_book_id": book}}
    comparison = ask("POST", "/api/v1/comparisons", json={"rows": [row, {**ESTIMATE, "label": "List"}]})
    assert "cost_bases_differ" in {one["code"] for one in comparison.json()["warnings"]}
    basis = comparison.json()["rows"][0]["estimate"]["cost"]["basis"]
    assert (basis["price_book_id"], basis["price_book_version"]) == (book, 1)
    assert json.dumps(comparison.json(), allow_nan=False)


@pytest.mark.parametrize("kind", ["price-books", "studies"])
@pytest.mark.parametrize("version", ["9" * 400, str(2**63), "2147483648"])
def test_a_version_beyond_all_counting_is_not_found(ask: Ask, kind: str, version: str) -> None:
    made = ask("POST", f"/api/v1/{kind}", json=BOOK if kind == "price-books" else STUDY).json()["id"]
    answer = ask("GET", f"/api/v1/{kind}/{made}?version={version}")
    assert answer.status_code in {400, 404}, answer.text
