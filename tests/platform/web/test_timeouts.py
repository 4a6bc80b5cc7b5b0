"""Those who dribble: heads and bodies of requests have to arrive in time."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from fastapi import FastAPI, Request

from app.platform.web import problems, security
from app.platform.web.security import BOUNDS, CurrentAccess, Guard, ServerAccess


@contextlib.contextmanager
def listening() -> Iterator[int]:
    """Start a small application behind the guard on a server with our bounds; give its port."""
    app = FastAPI(docs_url=None, redoc_url=None)
    local = ServerAccess(frozenset({"localhost"}))
    access = CurrentAccess(local, local, lambda: False)
    app.add_middleware(Guard, access=access, max_body=1000, max_upload=1000)
    problems.install(app)

    @app.post("/")
    async def count(request: Request) -> int:
        return len(await request.body())

    server = uvicorn.Server(uvicorn.Config(app, **BOUNDS, log_level="critical"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module", autouse=True)
def short_timeouts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(security, "HEAD", 0.5)
        patch.setattr(security, "BODY", 0.5)
        yield


@pytest.fixture(scope="module")
def port(short_timeouts: None) -> Iterator[int]:
    with listening() as found:
        yield found


START = b"POST / HTTP/1.1\r\nConnection: close\r\n"

HEAD = START + b"Host: localhost\r\nContent-Length: 5\r\n\r\n"


def said(port: int, parts: list[bytes], pause: float = 0.0) -> bytes:
    """Send parts with pauses between them; return what comes back until the connection ends."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        with contextlib.suppress(OSError):
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
        with contextlib.suppress(ConnectionError):
            while data := connection.recv(65536):
                found += data
    return found


def test_a_request_in_time_is_answered(port: int) -> None:
    assert said(port, [HEAD + b"12345"]).endswith(b"\r\n\r\n5")
    assert said(port, [HEAD[:9], HEAD[9:], b"123", b"45"], pause=0.05).endswith(b"\r\n\r\n5")


@pytest.mark.parametrize("parts", [[], [b"P"], [b"POST / HTTP/1.1\r\n", *[b"X-A: 1\r\n"] * 20]])
def test_a_head_that_does_not_come_to_an_end_is_not_waited_for(port: int, parts: list[bytes]) -> None:
    begun = time.monotonic()
    assert said(port, parts, pause=0.05) == b""
    assert time.monotonic() - begun < 8


def test_a_second_request_has_its_own_time(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        for _ in range(3):
            connection.sendall(HEAD.replace(b"close", b"keep-alive") + b"12345")
            assert connection.recv(65536)
            time.sleep(0.3)
        connection.sendall(b"POST")
        while connection.recv(65536):
            pass


@pytest.mark.parametrize("parts", [[HEAD], [HEAD, *[b"1"] * 4]])
def test_a_body_that_dribbles_is_refused(port: int, parts: list[bytes]) -> None:
    answer = said(port, parts, pause=0.2)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"application/problem+json" in answer and b"too slowly" in answer


@pytest.mark.parametrize(
    "head",
    [
        b"Host: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Host: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        b"Host: localhost\r\nHost: evil.example\r\nContent-Length: 5\r\n\r\n12345",
        b"Host: localhost\r\nContent-Length: +5\r\n\r\n12345",
        b"Host: localhost\r\nContent-Length : 5\r\n\r\n12345",
        b"Host: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n12345",
        b"Host: localhost\r\n evil.example\r\nContent-Length: 5\r\n\r\n12345",
        b"Host: evil.example\r\nContent-Length: 5\r\n\r\n12345",
        b"Content-Length: 5\r\n\r\n12345",
    ],
)
def test_a_request_that_could_be_read_in_two_ways_is_refused(port: int, head: bytes) -> None:
    answer = said(port, [START + head])
    assert answer[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 421", b"HTTP/1.1 501"}, answer[:300]
    assert answer.count(b"HTTP/1.1 ") == 1, "what follows is not taken for a second request"


def test_nothing_behind_a_body_that_ends_in_two_ways_is_a_request(port: int) -> None:
    both = b"Host: localhost\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    kept_open = START.replace(b"Connection: close\r\n", b"") + both
    answer = said(port, [kept_open + b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"])
    assert answer.startswith(b"HTTP/1.1 400") and b"\r\nconnection: close\r\n" in answer.lower()
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("lines", [b"X-A: " + b"a" * 40_000 + b"\r\n", b"A: b\r\n" * 120])
def test_a_head_that_is_too_long_is_not_read(port: int, lines: bytes) -> None:
    # Where more is on its way than is read, the refusal itself may be lost.
    answer = said(port, [START + b"Host: localhost\r\n" + lines + b"\r\n"])
    assert answer[:12] in {b"", b"HTTP/1.1 400", b"HTTP/1.1 431"}


def test_what_is_left_of_a_refused_body_is_not_waited_for(port: int) -> None:
    begun = time.monotonic()
    answer = said(port, [HEAD.replace(b": 5", b": 5000").replace(b"close", b"keep-alive"), *[b"1"] * 30], 0.1)
    assert answer.startswith(b"HTTP/1.1 413")
    assert time.monotonic() - begun < 15
