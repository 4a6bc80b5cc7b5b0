"""Uploads as files, and their end, through the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi import FastAPI

from app.platform.web.examples import (
    ACCELERATOR,
    BILL,
    BOOK,
    CONFIG,
    FLEET_PLAN,
    GPT3,
    HEAD_TO_HEAD,
    MODELLED,
    STUDY,
)
from app.platform.workspace import LOCAL_WORKSPACE
from tests.conftest import problem_of
from tests.support.application import Ask

TABLE = b"name,kind,count,rows,inner,columns\nproject,gemm,12,128,1024,1024\n"


def uploaded(ask: Ask, name: str = "layers.csv", content: bytes = TABLE) -> str:
    response = ask("POST", "/api/v1/profiles", files={"file": (name, content)})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


@pytest.mark.parametrize("name", ["layers.csv", "모델 “표”.csv", 'a"; filename=evil.html', "../../up.csv"])
def test_the_file_comes_back_as_it_went(ask: Ask, name: str) -> None:
    identifier = uploaded(ask, name)
    response = ask("GET", f"/api/v1/profiles/{identifier}/file")
    assert response.content == TABLE
    assert response.headers["content-type"] == "application/octet-stream"
    disposition = response.headers["content-disposition"]
    assert disposition.startswith("attachment; filename*=UTF-8''") and disposition.isascii()
    assert not set(disposition.partition("''")[2]) & set("\"/;\\ '")


def test_a_list_says_how_much_is_kept(ask: Ask) -> None:
    identifier = uploaded(ask)
    described = ask("POST", "/api/v1/profiles", json={"config": CONFIG}).json()["id"]
    items = ask("GET", "/api/v1/profiles?limit=200").json()["items"]
    sizes = {one["id"]: one["size"] for one in items}
    assert sizes[identifier] == len(TABLE) and sizes[described] is None
    assert ask("GET", f"/api/v1/profiles/{described}/file").status_code == 404


def test_models_and_samples_are_deleted(ask: Ask, application: FastAPI) -> None:
    model = f"/api/v1/profiles/{uploaded(ask, content=TABLE + b'z,gemm,1,1,1,1' + bytes([10]))}"
    made = ask("POST", "/api/v1/workloads", files={"file": ("s.csv", b"length\n7\n9\n")}).json()
    files = application.state.installation.files
    before = len(list(files.each()))
    for address in (model, f"/api/v1/workloads/{made['id']}"):
        assert ask("DELETE", address).status_code == 204
        assert ask("GET", address).status_code == 404
        assert ask("DELETE", address).status_code == 404
    assert len(list(files.each())) == before - 1
    assert all(one.workspace_id == LOCAL_WORKSPACE for one in files.each())


def test_a_study_is_deleted_once_it_is_archived(ask: Ask) -> None:
    profile = uploaded(ask)
    base = {**STUDY["base"], "model": {"profile_id": profile}, "workload": {"samples": 1e6}}
    base["workload"]["global_batch"] = 256
    body = {**STUDY, "base": base, "options": STUDY["options"][:1]}
    made = ask("POST", "/api/v1/studies", json=body)
    assert made.status_code == 201, json.dumps(made.json())
    address = f"/api/v1/studies/{made.json()['id']}"
    refused = ask("DELETE", f"/api/v1/profiles/{profile}")
    assert refused.status_code == 409 and STUDY["name"] in refused.json()["detail"]
    assert ask("DELETE", address).status_code == 409
    assert ask("POST", f"{address}/archive").status_code == 200
    assert ask("DELETE", address).status_code == 204
    assert ask("GET", address).status_code == 404
    assert ask("GET", f"/api/v1/profiles/{profile}").status_code == 404


def test_the_server_says_whether_it_is_ready(ask: Ask) -> None:
    assert ask("GET", "/readyz").json()["status"] == "ok"


MADE = {
    "estimates": GPT3,
    "comparisons": HEAD_TO_HEAD,
    "boms": BILL,
    "price-books": BOOK,
    "accelerators": ACCELERATOR,
}


def made(ask: Ask, kind: str, body: Any) -> dict[str, Any]:
    answer = ask("POST", f"/api/v1/{kind}", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@pytest.mark.parametrize("kind", MADE)
def test_what_nothing_stands_on_is_deleted(ask: Ask, kind: str) -> None:
    key = {"Idempotency-Key": f"delete-{kind}"}
    first = ask("POST", f"/api/v1/{kind}", json=MADE[kind], headers=key).json()["id"]
    address = f"/api/v1/{kind}/{first}"
    assert ask("DELETE", address).status_code == 204
    assert ask("GET", address).status_code == 404
    assert ask("DELETE", address).status_code == 404
    # The answer that was kept to be given again is gone with it.
    assert ask("POST", f"/api/v1/{kind}", json=MADE[kind], headers=key).json()["id"] != first


@pytest.mark.parametrize("kind", ["comparisons", "price-books"])
def test_only_the_version_that_was_read_is_deleted(ask: Ask, kind: str) -> None:
    answer = ask("POST", f"/api/v1/{kind}", json=MADE[kind])
    address = answer.headers["location"]
    changed = ask("PATCH", address, json={"name" if kind == "price-books" else "title": "Theirs"})
    late = ask("DELETE", address, headers={"If-Match": answer.headers["etag"]})
    assert (late.status_code, late.json()["errors"][0]["field"]) == (412, "If-Match")
    assert ask("DELETE", address, headers={"If-Match": changed.headers["etag"]}).status_code == 204


def test_what_something_stands_on_says_what(ask: Ask) -> None:
    comparison = made(ask, "comparisons", MODELLED)
    estimate = next(row["estimate"] for row in comparison["rows"] if row["estimate"])
    refused = ask("DELETE", f"/api/v1/estimates/{estimate['id']}")
    assert problem_of(refused) == (409, "conflict", "id") and comparison["id"] in refused.json()["detail"]
    draft = made(ask, "proposals", {"comparison_id": comparison["id"], "customer": "A customer"})
    refused = ask("DELETE", f"/api/v1/comparisons/{comparison['id']}")
    assert problem_of(refused) == (409, "conflict", "id") and draft["id"] in refused.json()["detail"]
    assert ask("DELETE", f"/api/v1/proposals/{draft['id']}").status_code == 204
    assert ask("DELETE", f"/api/v1/comparisons/{comparison['id']}").status_code == 204
    assert ask("DELETE", f"/api/v1/estimates/{estimate['id']}").status_code == 204


def test_what_is_frozen_stays_with_what_it_stands_on(ask: Ask) -> None:
    comparison = made(ask, "comparisons", HEAD_TO_HEAD)["id"]
    frozen = made(ask, "proposals", {"comparison_id": comparison, "customer": "A customer"})["id"]
    assert ask("POST", f"/api/v1/proposals/{frozen}/freeze").is_success
    for address in (f"/api/v1/proposals/{frozen}", f"/api/v1/comparisons/{comparison}"):
        assert problem_of(ask("DELETE", address)) == (409, "conflict", "id")
        assert ask("GET", address).status_code == 200


def test_prices_that_a_study_asks_for_stay_until_it_is_archived(ask: Ask) -> None:
    book = made(ask, "price-books", BOOK)["id"]
    base = {**STUDY["base"], "assumptions": {**STUDY["base"].get("assumptions", {}), "price_book_id": book}}
    study = made(ask, "studies", {**STUDY, "base": base})["id"]
    refused = ask("DELETE", f"/api/v1/price-books/{book}")
    assert problem_of(refused) == (409, "conflict", "id") and study in refused.json()["detail"]
    ask("POST", f"/api/v1/studies/{study}/archive")
    assert ask("DELETE", f"/api/v1/price-books/{book}").status_code == 204


def test_a_sweep_is_deleted_once_it_has_ended(ask: Ask) -> None:
    address = f"/api/v1/sweeps/{made(ask, 'sweeps', FLEET_PLAN)['id']}"
    running = ask("DELETE", address)
    assert problem_of(running) == (409, "conflict", "id") and "cancel" in running.json()["detail"]
    ask("POST", f"{address}/cancel")
    assert ask("DELETE", address).status_code == 204
    assert ask("GET", address).status_code == ask("GET", address.replace("sweeps", "jobs")).status_code == 404


QUOTE = "구분;내역;EA;견적가;NET\nA;서버;2;₩380000000;₩760000000\nB;케이블;64;₩1200000;₩76800000\n".encode()
COLUMNS = {"item_column": "내역", "unit_price_column": "견적가", "count_column": "EA", "total_column": "NET"}


def fields_of(refused: Any) -> list[str]:
    assert refused.status_code in (400, 422)
    return [error["field"] for error in refused.json()["errors"]]


def test_chosen_columns_of_prices_are_kept_for_the_next_file_of_the_heading(ask: Ask) -> None:
    def imported(content: bytes, **fields: str) -> Any:
        return ask("POST", "/api/v1/imports", files={"file": ("quote.csv", content)}, data=fields)

    wrong = imported(QUOTE, item_column="내역", unit_price_column="원가")
    assert fields_of(wrong) == ["unit_price_column"]
    read = imported(QUOTE, **COLUMNS).json()["read"]["prices"]
    assert [(line["price"], line["count"], line["currency"]) for line in read] == [
        (380_000_000, 2, "KRW"),
        (1_200_000, 64, "KRW"),
    ]
    later = imported(QUOTE.replace("380000000;₩760000000".encode(), "400000000;₩800000000".encode()))
    assert later.json()["read"]["prices"][0]["price"] == 400_000_000
    another = imported(QUOTE.replace("견적가".encode(), "제시가".encode()))
    assert fields_of(another) == ["item_column"]


def test_sizes_can_be_asked_of_a_file(ask: Ask) -> None:
    def flop(**sizes: int) -> Any:
        files = {"file": ("config.json", json.dumps(CONFIG).encode())}
        return ask("POST", "/api/v1/imports", files=files, data=sizes)

    long, short = flop(seq_len=4096).json(), flop(seq_len=512).json()
    assert (long["read"]["workload"]["seq_len"], short["read"]["workload"]["seq_len"]) == (4096, 512)
    assert long["forward_flop_per_sample"] > 8 * short["forward_flop_per_sample"]
    wrong = flop(seq_len=0)
    assert fields_of(wrong) == ["seq_len"]
