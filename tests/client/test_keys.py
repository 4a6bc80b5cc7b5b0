"""The API key: sent with every call, shown nowhere."""

from __future__ import annotations

import logging
import traceback

import httpx
import pytest
from rackline_client import AsyncRackline, Invalid, ProblemField, Rackline, Retries, Unauthorized, Unreachable

KEY = "rk_live_0123456789abcdef"
ADDRESS = "https://rackline.example"


def test_a_key_is_sent_and_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("Authorization"))
        return httpx.Response(200, json={"status": "ok"})

    transport = httpx.MockTransport(handle)
    monkeypatch.setenv("RACKLINE_API_KEY", KEY)
    Rackline(ADDRESS, transport=transport).health()
    Rackline(ADDRESS, key="another", transport=transport).health()
    Rackline(ADDRESS, key="", transport=transport).health()
    monkeypatch.delenv("RACKLINE_API_KEY")
    Rackline(ADDRESS, transport=transport).health()
    assert seen == [f"Bearer {KEY}", "Bearer another", None, None]


def test_a_key_is_in_no_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def handle(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    client = Rackline(ADDRESS, key=KEY, retries=Retries(attempts=1), transport=httpx.MockTransport(handle))
    with pytest.raises(Unreachable) as failure:
        client.health()
    told = "".join(traceback.format_exception(failure.value))
    shown = [repr(client), repr(client._http.auth), repr(vars(client)), str(vars(failure.value)), told]
    shown.append(repr(AsyncRackline(ADDRESS, key=KEY)))
    assert all(KEY not in text for text in (*shown, caplog.text))
    assert repr(client) == "Rackline('https://rackline.example')"


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "half\ud800", "ключ"])
def test_a_key_that_is_none_is_refused_without_being_told(key: str) -> None:
    with pytest.raises(ValueError, match="API key") as refused:
        Rackline(ADDRESS, key=key)
    assert key not in str(refused.value)


@pytest.mark.parametrize(
    "address", ["ftp://rackline.example", "rackline.example", "https://a:b@rackline.example"]
)
def test_an_address_has_a_form(address: str) -> None:
    with pytest.raises(ValueError, match="address of the server"):
        Rackline(address)


def test_a_key_travels_encrypted_or_not_at_all() -> None:
    with pytest.raises(ValueError, match="unencrypted"):
        Rackline("http://rackline.example", key=KEY)
    for address in ("http://localhost:8000", "http://127.0.0.1", "http://[::1]:8000", ADDRESS):
        Rackline(address, key=KEY)
    Rackline("http://rackline.example", key=KEY, allow_plain=True)
    Rackline("http://rackline.example", key="")


def test_a_key_follows_no_one_elsewhere() -> None:
    asked: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(307, headers={"Location": "https://elsewhere.example/"})

    with pytest.raises(Exception, match="307"):
        Rackline(ADDRESS, key=KEY, transport=httpx.MockTransport(handle)).health()
    assert asked == [f"{ADDRESS}/healthz"]


def test_a_refusal_says_what_is_wrong_with_which_field() -> None:
    body = {
        "type": "/problems/unprocessable-input",
        "title": "Unprocessable input",
        "status": 422,
        "detail": "system.id: is required",
        "errors": [{"field": "system.id", "message": "this field is required"}],
    }
    transport = httpx.MockTransport(lambda _: httpx.Response(422, json=body))
    with pytest.raises(Invalid, match="422") as refused:
        Rackline(transport=transport).create_estimate({})
    assert refused.value.fields == (ProblemField("system.id", "this field is required"),)
    assert refused.value.kind == "/problems/unprocessable-input"


def test_a_refusal_from_something_in_between_says_its_status() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(401, text="<html>"))
    with pytest.raises(Unauthorized, match="401 Unauthorized"):
        Rackline(transport=transport).health()
