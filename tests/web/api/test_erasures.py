"""Erasing a customer's name: it stands nowhere afterwards, and what it stood in still works."""

from __future__ import annotations

import io
import json
from datetime import datetime
from typing import Any

import pypdf
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from app.platform.store.account_tables import WebhookDelivery
from app.platform.store.archives.form import reflected
from app.platform.web.examples import (
    ACCELERATOR,
    BILL,
    BOOK,
    CALIBRATION,
    CONFIG,
    GPT3,
    HEAD_TO_HEAD,
    SIZING,
    STUDY,
)
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


def test_an_erasure_has_a_certificate_in_two_languages(ask: Ask) -> None:
    made(ask, "studies", {**STUDY, "name": "BERT at Wombat AG", "customer": "Wombat AG"})
    done = ask("POST", PATH, json={"customer": "Wombat AG", "replacement": "고객 17"}).json()
    path = f"{PATH}/{done['id']}"
    assert ask("GET", path).json() == done and done["erased_by"] == "Local"
    for language, words in (
        ("en", ("Certificate of erasure", "Local", "Studies 1", "Backups made before", "Signature")),
        ("ko", ("삭제 확인서", "Local", "스터디 1", "이전에 만든 백업", "서명")),
    ):
        answer = ask("GET", f"{path}.pdf?lang={language}")
        assert answer.status_code == 200 and answer.headers["content-type"] == "application/pdf"
        reader = pypdf.PdfReader(io.BytesIO(answer.content))
        text = " ".join(reader.pages[0].extract_text().replace("\u200b", "").split())
        assert len(reader.pages) == 1 and all(word in text for word in (*words, done["id"], "고객 17")), text
        assert "Wombat" not in text and json.loads(reader.attachments["erasure.json"][0]) == done
        assert answer.content == ask("GET", f"{path}.pdf?lang={language}").content
    page = ask("GET", "/audit?action=customer.erased&lang=ko").text
    assert f"{path}.pdf?lang=ko" in page and "고객 17" not in page
    assert ask("GET", f"{PATH}/ers_aaaaaaaaaaaaaaaa.pdf").status_code == 404
    assert ask("GET", f"{path}.pdf?lang=fr").status_code == 422


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


@pytest.mark.parametrize("replacement", ["\\1", "\\", "\\g<0>", "\\g<name>"])
def test_a_replacement_is_put_as_it_is_written(ask: Ask, replacement: str) -> None:
    study = made(ask, "studies", {**STUDY, "customer": "Bilby AG"})["id"]
    done = ask("POST", PATH, json={"customer": "Bilby AG", "replacement": replacement})
    assert done.status_code == 200, done.text
    assert ask("GET", f"/api/v1/studies/{study}").json()["content"]["customer"] == replacement


@pytest.mark.parametrize("name", ["Adam", "Selective", "USD", "Vendor", "Linear", "Info", "Gemm"])
def test_a_customer_may_be_called_as_a_choice_of_a_field_is(ask: Ask, name: str) -> None:
    estimate = made(ask, "estimates", {**GPT3, "label": f"{name}: GPT-3"})["id"]
    comparison = made(ask, "comparisons", HEAD_TO_HEAD)["id"]
    proposal = made(ask, "proposals", {"comparison_id": comparison, "customer": name})["id"]
    ask("POST", f"/api/v1/proposals/{proposal}/freeze")
    before = ask("GET", f"/api/v1/estimates/{estimate}").json()
    done = ask("POST", PATH, json={"customer": name})
    assert done.status_code == 200, done.text
    after = ask("GET", f"/api/v1/estimates/{estimate}").json()
    assert after["name"] == "[erased]: GPT-3"
    assert after["request"] == before["request"] | {"label": after["name"]}
    for part in ("plan", "breakdown"):
        assert after[part] == before[part], part
    content = ask("GET", f"/api/v1/proposals/{proposal}").json()["content"]
    assert content["customer"] == "[erased]"
    assert [row["kind"] for row in content["comparison"]["rows"]] == ["vendor", "linear", "vendor"]


def test_a_key_may_do_what_it_could_before(ask: Ask) -> None:
    made(ask, "studies", {**STUDY, "customer": "Read"})
    key = made(ask, "keys", {"name": "For Read", "scopes": ["read", "propose"]})["id"]
    assert ask("POST", PATH, json={"customer": "Read"}).status_code == 200
    found = ask("GET", f"/api/v1/keys/{key}").json()
    assert (found["name"], sorted(found["scopes"])) == ("For [erased]", ["propose", "read"])


def test_a_name_that_looks_like_an_identifier_goes_too(ask: Ask, application: FastAPI) -> None:
    comparison = made(ask, "comparisons", {**HEAD_TO_HEAD, "title": "Qwopzil"})["id"]
    asked = {
        "comparison_id": comparison,
        "customer": "Qwopzil",
        "sender": {"organization": "qwopzil.com"},
        "sections": [{"id": "reasons", "text": "qwopzil-cluster"}],
    }
    proposal = made(ask, "proposals", asked)["id"]
    made(ask, "estimates", GPT3, headers={"Idempotency-Key": "order-Qwopzil-1"})
    assert ask("POST", PATH, json={"customer": "Qwopzil"}).status_code == 200
    assert "qwopzil" not in whole_store(application)
    assert ask("GET", f"/api/v1/proposals/{proposal}").status_code == 200


EXAMPLES = {
    "estimates": GPT3,
    "sizings": SIZING,
    "comparisons": HEAD_TO_HEAD,
    "studies": STUDY,
    "price-books": BOOK,
    "accelerators": ACCELERATOR,
    "boms": BILL,
    "calibrations": CALIBRATION,
    "profiles": {"config": CONFIG},
}


@pytest.mark.parametrize("name", ["2026", "11", "aws"])
def test_dates_numbers_and_identifiers_stay(ask: Ask, application: FastAPI, name: str) -> None:
    webhook = {"url": "https://example.com/hook", "events": ["*"]}
    hook = made(ask, "webhooks", webhook)["id"]
    keyed = {kind: {"Idempotency-Key": f"dated {kind} {hook}"} for kind in EXAMPLES}
    before = {kind: made(ask, kind, body, headers=keyed[kind]) for kind, body in EXAMPLES.items()}
    asked = {"comparison_id": before["comparisons"]["id"], "customer": name}
    proposal = made(ask, "proposals", asked)["id"]
    frozen = ask("POST", f"/api/v1/proposals/{proposal}/freeze").json()
    assert ask("POST", PATH, json={"customer": name, "replacement": "Erased"}).status_code == 200
    for kind, body in EXAMPLES.items():
        again = ask("POST", f"/api/v1/{kind}", json=body, headers=keyed[kind])
        assert again.status_code == 201 and again.json()["id"] == before[kind]["id"], again.text
        found = ask("GET", f"/api/v1/{kind}/{before[kind]['id']}")
        assert found.status_code == 200, (kind, found.text)
        assert moments(again.json()) == moments(before[kind])
    found = ask("GET", f"/api/v1/proposals/{proposal}").json()
    assert (found["frozen_at"], found["content"]["customer"]) == (frozen["frozen_at"], "Erased")
    assert found["content"]["number"] == found["number"]
    with application.state.workbench.store.transaction(LOCAL_WORKSPACE) as repository:
        messages = repository.values(WebhookDelivery, WebhookDelivery.body, webhook_id=hook)
    assert messages
    for message in map(json.loads, messages):
        assert datetime.fromisoformat(message["timestamp"]) and "Erased" not in message["type"]
    ask("DELETE", f"/api/v1/webhooks/{hook}")


def moments(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name.endswith(("_at", "date", "version", "id"))}
