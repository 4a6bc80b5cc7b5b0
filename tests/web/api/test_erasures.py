"""Erasing a customer's name: it stands nowhere afterwards, and what it stood in still works."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from app.platform.store.archives.form import reflected
from app.platform.web.examples import CONFIG, GPT3, HEAD_TO_HEAD, STUDY
from app.platform.workbench import LOCAL_WORKSPACE
from tests.web.api.conftest import Ask

PATH = "/api/v1/erasures"


def made(ask: Ask, kind: str, body: Any, **more: Any) -> dict[str, Any]:
    answer = ask("POST", f"/api/v1/{kind}", json=body, **more)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def whole_store(application: FastAPI) -> str:
    """Return every value of every table as text, JSON as it reads."""
    with application.state.workbench.store.engine.connect() as connection:
        rows = [row for table in reflected(connection) for row in connection.execute(sa.select(table))]
    return "\n".join(str(value) for row in rows for value in row if not isinstance(value, bytes)).casefold()


@pytest.mark.parametrize("name", ["Quokka Bank", "쿼카은행 주식회사"])
def test_a_name_stands_nowhere_afterwards(ask: Ask, application: FastAPI, name: str) -> None:
    study = made(ask, "studies", {**STUDY, "name": f"BERT for {name.upper()}", "customer": name})
    ask("PATCH", f"/api/v1/studies/{study['id']}", json={"notes": f"{name}, 2nd floor"})
    estimate = made(
        ask,
        "estimates",
        {**GPT3, "label": f"{name}: GPT-3"},
        headers={"Idempotency-Key": f"erase-{len(name)}"},
    )
    comparison = made(ask, "comparisons", {**HEAD_TO_HEAD, "title": f"Options for {name}"})
    profile = made(ask, "profiles", {"config": CONFIG})["id"]
    ask("PATCH", f"/api/v1/profiles/{profile}", json={"customer": name, "name": f"Model of {name}"})
    asked = {"comparison_id": comparison["id"], "customer": name, "reason": f"{name}의 요청"}
    frozen = made(ask, "proposals", asked)["id"]
    before = ask("POST", f"/api/v1/proposals/{frozen}/freeze").json()
    old_pdf = ask("GET", f"/api/v1/proposals/{frozen}.pdf").content
    assert name.casefold() in whole_store(application)

    counted = ask("POST", PATH, json={"customer": name, "dry_run": True}).json()
    assert counted["erased_at"] is None and counted["rows"]["study"] == 1
    assert name.casefold() in whole_store(application)

    done = ask("POST", PATH, json={"customer": name.lower(), "replacement": "Customer 17"})
    assert done.status_code == 200, done.text
    assert done.json()["rows"] == counted["rows"] and done.json()["proposals"] == [frozen]
    text = whole_store(application)
    assert name.casefold() not in text and name.encode("unicode_escape").decode().casefold() not in text

    for kind, identifier in (
        ("studies", study["id"]),
        ("estimates", estimate["id"]),
        ("comparisons", comparison["id"]),
        ("profiles", profile),
        ("proposals", frozen),
    ):
        found = ask("GET", f"/api/v1/{kind}/{identifier}")
        assert found.status_code == 200 and "Customer 17" in found.text, kind
        assert name not in found.text
    found = ask("GET", f"/api/v1/proposals/{frozen}").json()
    assert (found["status"], found["frozen_at"]) == ("frozen", before["frozen_at"])
    assert found["sha256"] != before["sha256"]
    new_pdf = ask("GET", f"/api/v1/proposals/{frozen}.pdf").content
    assert new_pdf.startswith(b"%PDF") and new_pdf != old_pdf
    assert new_pdf == ask("GET", f"/api/v1/proposals/{frozen}.pdf").content
    events = ask("GET", f"/api/v1/proposals/{frozen}/events").json()["items"]
    assert (events[-1]["kind"], events[-1]["detail"]["before"]) == ("erased", before["sha256"])
    (noted,) = ask("GET", "/api/v1/audit-events?action=customer.erased&limit=1").json()["items"]
    assert noted["detail"]["rows"] == sum(done.json()["rows"].values())
    assert ask("POST", PATH, json={"customer": name}).status_code == 404


def test_the_trail_still_only_grows(ask: Ask, application: FastAPI) -> None:
    made(ask, "studies", {**STUDY, "customer": "Numbat GmbH"})
    assert ask("POST", PATH, json={"customer": "Numbat GmbH"}).status_code == 200
    store = application.state.workbench.store
    with pytest.raises(RuntimeError), store.transaction(LOCAL_WORKSPACE) as repository:
        repository.erasure.erase("bert", "x", dry_run=False)
        raise RuntimeError
    engine = store.engine
    with pytest.raises(sa.exc.DatabaseError), engine.begin() as connection:
        connection.execute(sa.text("UPDATE audit_event SET action = 'x'"))


def test_other_names_stay(ask: Ask) -> None:
    study = made(ask, "studies", {**STUDY, "customer": "Ibisware", "notes": "Not Ibis, but IBIS."})["id"]
    assert ask("POST", PATH, json={"customer": "Ibis"}).status_code == 200
    content = ask("GET", f"/api/v1/studies/{study}").json()["content"]
    assert (content["customer"], content["notes"]) == ("Ibisware", "Not [erased], but [erased].")


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "customer"),
        ({"customer": "x"}, 400, "customer"),
        ({"customer": "   "}, 400, "customer"),
        ({"customer": "No such customer"}, 404, "customer"),
        ({"customer": "bert-large"}, 400, "customer"),
        ({"customer": "DGX A100 640GB"}, 400, "customer"),
        ({"customer": "Ibis", "replacement": "the former ibis"}, 400, "replacement"),
        ({"customer": "y" * 301}, 400, "customer"),
    ],
)
def test_what_is_no_customer_is_refused(ask: Ask, body: Any, status: int, field: str) -> None:
    refused = ask("POST", PATH, json=body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (status, field), refused.text
