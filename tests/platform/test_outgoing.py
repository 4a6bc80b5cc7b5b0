"""Messages go to public addresses only, to the one that was checked, within limits of time and size."""

from __future__ import annotations

import ipaddress
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.errors import BadInput
from app.platform import outgoing
from app.platform.outgoing import (
    Address,
    HttpSender,
    Receipt,
    is_public,
    resolved,
)
from tests.support.receiving import LOOPBACK, Receiver, certified, receiving

PRIVATE = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.8.8.8",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.1",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::1",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "ff02::1",
    "2001:db8::1",
]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Address]:
    """Addresses that every name leads to: of this machine, unless others are put in their place."""
    addresses: list[Address] = [LOOPBACK]
    monkeypatch.setattr(outgoing, "resolved", lambda host, port: addresses)
    return addresses


def local_sender(*, http: bool = True) -> HttpSender:
    return HttpSender.of(["127.0.0.0/8"], http=http)


def reason(reply: Receipt) -> str:
    assert reply.reason is not None
    return str(reply.reason)


@pytest.mark.parametrize("text", PRIVATE)
def test_no_address_inside_is_public(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", ["8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_addresses_outside_are_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", PRIVATE)
def test_a_name_that_leads_inside_is_not_connected_to(found: list[Address], text: str) -> None:
    # One inside among those outside is enough.
    found[:] = [ipaddress.ip_address("8.8.8.8"), ipaddress.ip_address(text)]
    assert "not public" in reason(HttpSender().send("https://innocent.example/", {}, b""))


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "017700000001"])
def test_odd_spellings_of_this_machine_lead_to_this_machine(host: str) -> None:
    assert reason(HttpSender().send(f"https://{host}/", {}, b""))


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "ftp://hooks.example.com/",
        "file:///etc/passwd",
        "//hooks.example.com/",
        "hooks.example.com",
        "https://",
        "https:///path",
        "https://user@hooks.example.com/",
        "https://user:word@hooks.example.com/",
        "https://hooks.example.com/#part",
        "https://localhost/",
        "https://LOCALHOST./",
        "https://a.localhost/",
        "https://printer.local/",
        "https://vault.internal/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://hooks.example.com:99999/",
        "https://xn--a/x",
        "https://./x",
        "https://hooks.example.com/\r\nX: y",
        "https://hooks.example.com/" + "x" * 500,
    ],
)
def test_addresses_that_cannot_be_meant_are_refused_when_they_are_given(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        HttpSender().checked("url", url)
    assert [error.field for error in caught.value.errors] == ["url"]


def test_http_is_for_those_who_allow_it() -> None:
    assert HttpSender(http=True).checked("url", "http://hooks.example.com/a").scheme == "http"
    assert HttpSender().checked("url", "https://훅.example.com/a?b=c").raw_host.startswith(b"xn--")


def test_the_connection_goes_to_the_checked_address_and_keeps_the_name(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[Address]:
        asked.append(host)
        # Nothing listens on the first: the receiver is bound to the other.
        return [ipaddress.ip_address("127.9.9.9"), LOOPBACK]

    monkeypatch.setattr(outgoing, "resolved", resolve)
    reply = local_sender().send(f"http://hooks.example.com:{receiver.port}/in?a=b", {"X-One": "1"}, b"body")
    assert reply == (200, "thank you", None)
    ((path, headers, body),) = receiver.received
    assert (path, body, headers["x-one"]) == ("/in?a=b", b"body", "1")
    assert headers["host"] == f"hooks.example.com:{receiver.port}"
    assert asked == ["hooks.example.com"]


def test_tls_is_that_of_the_name(
    found: list[Address], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, client = certified(tmp_path, "hooks.example.com")
    with receiving(server) as receiver:
        assert reason(local_sender().send(f"https://hooks.example.com:{receiver.port}/", {}, b"x"))
        monkeypatch.setattr("httpx.create_ssl_context", lambda **_: client)
        sender = local_sender(http=False)
        assert sender.send(f"https://hooks.example.com:{receiver.port}/", {}, b"x").status == 200
        assert reason(sender.send(f"https://other.example.com:{receiver.port}/", {}, b"x"))
        assert len(receiver.received) == 1


def test_redirects_are_not_followed(found: list[Address], receiver: Receiver) -> None:
    receiver.status, receiver.headers = 302, {"Location": f"http://127.0.0.1:{receiver.port}/elsewhere"}
    reply = local_sender().send(f"http://a.example:{receiver.port}/", {}, b"")
    assert reply.status == 302 and "302" in reason(reply)
    assert [path for path, _, _ in receiver.received] == ["/"]


def test_of_a_long_answer_the_beginning_is_read(found: list[Address], receiver: Receiver) -> None:
    receiver.answer = b"\x00<b>" + "가".encode() * 5_000_000
    reply = local_sender().send(f"http://a.example:{receiver.port}/", {}, b"")
    assert reply.text == "<b>" + "가" * 497


def test_compressed_answers_are_neither_asked_for_nor_opened(
    found: list[Address], receiver: Receiver
) -> None:
    receiver.headers, receiver.answer = {"Content-Encoding": "gzip"}, b"not gzip"
    assert local_sender().send(f"http://a.example:{receiver.port}/", {}, b"").text == "not gzip"
    assert receiver.received[0][1]["accept-encoding"] == "identity"


def test_an_answer_that_trickles_in_is_given_up(
    found: list[Address], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.stall, before = threading.Event(), time.monotonic()
    monkeypatch.setattr(outgoing, "SECONDS", 0.5)
    assert "no complete response" in reason(
        local_sender().send(f"http://a.example:{receiver.port}/", {}, b"")
    )
    receiver.stall.set()
    assert time.monotonic() - before < 5


def test_who_does_not_answer_is_a_sentence(found: list[Address]) -> None:
    with receiving() as gone:
        port = gone.port
    assert "cannot be reached" in reason(local_sender().send(f"http://a.example:{port}/", {}, b""))
    found.clear()
    assert "has no address" in reason(HttpSender().send("https://nowhere.example/", {}, b""))


def test_names_are_looked_up_without_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(0, 0, 0, "", ("fe80::1%eth0", 443, 0, 2)), (0, 0, 0, "", ("8.8.8.8", 443))]
    monkeypatch.setattr(outgoing.socket, "getaddrinfo", lambda *_, **__: found)
    assert [str(one) for one in resolved("a.example", 443)] == ["fe80::1", "8.8.8.8"]


def test_a_name_that_nobody_tells_of_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()

    def slow(*_: Any, **__: Any) -> list[Any]:
        told.wait(30)
        return []

    monkeypatch.setattr(outgoing.socket, "getaddrinfo", slow)
    monkeypatch.setattr(outgoing, "LOOK_UP_SECONDS", 0.05)
    before = time.monotonic()
    assert "has no address" in reason(HttpSender().send("https://slow.example/", {}, b""))
    assert time.monotonic() - before < 5
    told.set()


def test_neither_address_nor_signature_is_logged(
    found: list[Address], receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        headers = {"webhook-signature": "v1,unmistakable-signature"}
        local_sender().send(f"http://a.example:{receiver.port}/unmistakable-token", headers, b"{}")
    assert receiver.received and "unmistakable" not in caplog.text


@pytest.mark.parametrize(
    ("allowed", "arrives"),
    [
        ([], False),
        (["crm.corp.internal"], True),
        (["other.corp.internal"], False),
        (["127.0.0.0/8"], True),
        (["10.0.0.0/8"], False),
    ],
)
def test_a_host_inside_receives_where_it_is_allowed(
    found: list[Address], receiver: Receiver, allowed: list[str], arrives: bool
) -> None:
    url = f"http://crm.corp.internal:{receiver.port}/in"
    reply = HttpSender.of(allowed, http=True).send(url, {}, b"{}")
    assert (reply.status == 200, len(receiver.received)) == (arrives, arrives)


def test_an_allowed_network_is_no_door_to_others() -> None:
    sender = HttpSender.of(["10.1.0.0/16"])
    inside, other = (ipaddress.ip_address(one) for one in ("10.1.0.1", "169.254.169.254"))
    assert sender.may_reach("crm.example.com", [inside])
    assert not sender.may_reach("crm.example.com", [inside, other])
    assert not sender.may_reach("crm.example.com", [ipaddress.ip_address("::ffff:10.1.0.1")])
