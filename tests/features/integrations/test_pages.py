"""The pages of keys and webhooks: what is made is shown once, what is wrong stands beside its field."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bs4 import BeautifulSoup
from fastapi import FastAPI

from app.platform.store.queries import now
from tests.support.application import Reader, sentences
from tests.support.receiving import Pen, deliver_due

FORM = {"name": "CRM", "scopes": ["read", "estimate"], "expires_in_days": "30"}

HOOK = {"url": "https://crm.example.com/hooks", "name": "CRM", "events": ["proposal.frozen"]}


@pytest.fixture
def pen(app: FastAPI) -> Iterator[Pen]:
    installation, found = app.state.installation, Pen(503)
    before, installation.sender = installation.sender, found
    yield found
    installation.sender = before


def secret_of(reader: Reader, path: str, fields: dict[str, object]) -> str:
    """Send a form and return the secret that the answer shows."""
    answer = reader.submit(path, fields)
    assert answer.status_code == 201, answer.text
    assert answer.headers["cache-control"] == "no-store"
    page = BeautifulSoup(answer.text, "lxml")
    field = page.select_one("#secret")
    assert field is not None and field.has_attr("readonly")
    return str(field["value"])


def row_of(reader: Reader, prefix: str) -> str:
    """Return the line of a key in the list, as it is read."""
    for row in reader.page("/keys").select("#keys tbody tr"):
        if prefix in row.get_text():
            return " ".join(row.get_text(" ").split())
    raise AssertionError(prefix)


def test_a_key_is_shown_once_and_listed_by_its_beginning(reader: Reader) -> None:
    secret = secret_of(reader, "/keys", FORM)
    prefix = secret[:11]
    assert secret not in reader.get("/keys").text + reader.get("/keys.json").text
    assert "run estimates read active" in row_of(reader, prefix)
    assert "not yet" in row_of(reader, prefix)


def test_an_emptied_field_makes_a_key_without_end(reader: Reader) -> None:
    secret_of(reader, "/keys", {**FORM, "expires_in_days": ""})
    newest = reader.data("/keys.json")["items"][0]
    assert newest["expires_at"] is None
    assert "–" in row_of(reader, newest["prefix"])


def test_a_key_is_replaced_and_revoked_from_the_page(reader: Reader) -> None:
    secret_of(reader, "/keys", FORM)
    old = reader.data("/keys.json")["items"][0]
    new = secret_of(reader, f"/keys/{old['id']}/rotate", {})
    assert "replaced" in row_of(reader, old["prefix"])
    assert reader.submit(f"/keys/{old['id']}/rotate", {}).status_code == 409
    newest = reader.data("/keys.json")["items"][0]
    assert new.startswith(newest["prefix"])
    assert reader.submit(f"/keys/{newest['id']}/revoke", {}).headers["location"] == "/keys"
    assert "revoked" in row_of(reader, newest["prefix"])


@pytest.mark.parametrize(
    ("change", "field"),
    [({"name": ""}, "name"), ({"scopes": []}, "scopes"), ({"expires_in_days": "many"}, "expires_in_days")],
)
def test_what_is_wrong_with_a_key_stands_beside_its_field(
    reader: Reader, change: dict[str, object], field: str
) -> None:
    answer = reader.submit("/keys", {**FORM, **change})
    assert answer.status_code in {400, 422}
    page = BeautifulSoup(answer.text, "lxml")
    assert page.select_one(f"#{field}-error-1") is not None
    if field != "name":
        assert page.select_one("#name")["value"] == "CRM"


def test_a_webhook_with_its_log(reader: Reader, app: FastAPI, pen: Pen) -> None:
    secret = secret_of(reader, "/webhooks", HOOK)
    assert secret.startswith("whsec_")
    hook = reader.data("/webhooks.json")["items"][0]
    address = f"/webhooks/{hook['id']}"
    assert secret not in reader.get(address).text + reader.get(f"{address}.json").text
    assert reader.submit(f"{address}/test", {}).headers["location"] == f"{address}#log"
    deliver_due(app.state.installation, now(), pen)
    page = reader.page(address)
    row = " ".join(page.select_one("#deliveries tbody tr").get_text(" ").split())
    assert "test" in row and "waiting" in row and "503" in row and "webhook.test" in row
    for one in ("checked", "value"):
        assert page.select_one(f'input[name="events"][{one}]') is not None
    assert reader.submit(f"{address}/switch", {"active": "false"}).status_code == 303
    page = reader.page(address)
    assert "off" in page.h1.get_text() and "dropped" in page.select_one("#deliveries").get_text()
    assert reader.submit(f"{address}/test", {}).status_code == 409
    assert reader.submit(f"{address}/switch", {"active": "true"}).status_code == 303
    message = page.select_one("#deliveries summary").get_text()
    assert reader.submit(f"{address}/deliveries/{message}/resend", {}).status_code == 303
    new = secret_of(reader, f"{address}/rotate", {})
    assert new != secret and "previous secret" in reader.page(address).get_text()
    assert reader.submit(address, {**HOOK, "name": "Other"}).status_code == 303
    assert reader.data(f"{address}.json")["name"] == "Other"
    assert reader.submit(f"{address}/remove", {}).headers["location"] == "/webhooks"
    assert reader.get(address).status_code == 404


def test_why_a_webhook_was_switched_off_is_told(
    reader: Reader, korean: Reader, app: FastAPI, pen: Pen
) -> None:
    secret_of(reader, "/webhooks", HOOK)
    address = f"/webhooks/{reader.data('/webhooks.json')['items'][0]['id']}"
    pen.status = 410
    reader.submit(f"{address}/test", {})
    deliver_due(app.state.installation, now(), pen)
    assert "410" in reader.page(address).select_one(".notice.serious").get_text()
    assert "410" in korean.page(address).select_one(".notice.serious").get_text()


@pytest.mark.parametrize(
    ("change", "field"), [({"url": "http://x.example/"}, "url"), ({"events": []}, "events")]
)
def test_what_is_wrong_with_a_webhook_stands_beside_its_field(
    reader: Reader, change: dict[str, object], field: str
) -> None:
    secret_of(reader, "/webhooks", HOOK)
    made = f"/webhooks/{reader.data('/webhooks.json')['items'][0]['id']}"
    for address in ("/webhooks", made):
        answer = reader.submit(address, {**HOOK, **change})
        assert answer.status_code == 400
        assert BeautifulSoup(answer.text, "lxml").select_one(f"#{field}-error-1") is not None


def test_the_pages_are_korean(korean: Reader) -> None:
    secret_of(korean, "/webhooks", HOOK)
    made = f"/webhooks/{korean.data('/webhooks.json')['items'][0]['id']}"
    korean.submit(f"{made}/test", {})
    for address in ("/keys", "/webhooks", made):
        assert list(sentences(korean.page(address))) == [], address
