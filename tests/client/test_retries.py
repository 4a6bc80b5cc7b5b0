"""What is sent again, after how long, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from rackline_client import (
    AsyncRackline,
    BadAnswer,
    Missing,
    Overloaded,
    Rackline,
    Retries,
    ServerFault,
    Unreachable,
)

from app.platform.web.examples import CHECK, RESNET
from tests.conftest import run

DRAWN = 0.5

CHECKED = {"warnings": [], "suggested_devices": 128}

PROBLEM = {"type": "/problems/x", "title": "X", "status": 0, "detail": "said", "errors": []}

Handler = Callable[[httpx.Request], httpx.Response]


class ScriptedServer:
    """Answers in turn with what it was given; remembers what was asked and how long was waited."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers: Iterator[httpx.Response | Exception] = iter(answers)
        self.asked: list[httpx.Request] = []
        self.waited: list[float] = []

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, **values: Any) -> Rackline:
        retries = Retries(chance=lambda: DRAWN, clock=lambda: 1_000.0, **values)
        client = Rackline(transport=httpx.MockTransport(self.handle), retries=retries)
        client._sleep = self.waited.append
        return client

    def asynchronous(self) -> AsyncRackline:
        client = AsyncRackline(
            transport=httpx.MockTransport(self.handle), retries=Retries(chance=lambda: DRAWN)
        )

        async def wait(seconds: float) -> None:
            self.waited.append(seconds)

        client._sleep = wait
        return client


def busy(status: int, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers=headers, json=PROBLEM)


def done() -> httpx.Response:
    return httpx.Response(200, json=CHECKED)


def test_pauses_grow_and_are_drawn() -> None:
    server = ScriptedServer(busy(503), httpx.ReadTimeout("late"), busy(503), done())
    answer = server.client().check_plan.answer(CHECK)
    assert (answer.value.suggested_devices, answer.attempts) == (128, 4)
    assert server.waited == [0.25, 0.5, 1.0]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("Thu, 01 Jan 1970 00:16:50 GMT", 10.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("x", 0.25),
    ],
)
def test_the_server_says_when_to_come_back(header: str, seconds: float) -> None:
    server = ScriptedServer(busy(429, **{"Retry-After": header}), done())
    server.client().check_plan(CHECK)
    assert server.waited == [seconds]


def test_a_wait_that_is_too_long_is_the_caller_s() -> None:
    server = ScriptedServer(busy(429, **{"Retry-After": "3600"}))
    with pytest.raises(Overloaded) as refused:
        server.client().check_plan(CHECK)
    assert (refused.value.status, server.waited) == (429, [])


def test_all_attempts_of_a_call_share_a_key_and_calls_do_not() -> None:
    answers = [busy(503), httpx.ReadError("broken"), busy(404), busy(404)]
    server = ScriptedServer(*answers)
    client = server.client()
    for _ in range(2):
        with pytest.raises(Missing):
            client.create_estimate(RESNET)
    first, again, third, other = (request.headers["Idempotency-Key"] for request in server.asked)
    assert first == again == third != other


def test_a_key_of_the_caller_s_is_kept() -> None:
    server = ScriptedServer(busy(404))
    with pytest.raises(Missing):
        server.client().create_comparison({"rows": []}, key="quote-17")
    assert server.asked[0].headers["Idempotency-Key"] == "quote-17"


def test_a_change_is_not_sent_twice_once_the_server_may_have_seen_it() -> None:
    server = ScriptedServer(httpx.ReadTimeout("late"))
    with pytest.raises(Unreachable, match="sent once"):
        server.client().change_comparison("cmp_x", {"title": "x"})
    server = ScriptedServer(busy(503))
    with pytest.raises(ServerFault):
        server.client().cancel_sweep("swp_x")
    assert server.waited == []


def test_what_was_never_seen_is_sent_again_whatever_it_is() -> None:
    server = ScriptedServer(httpx.ConnectError("refused"), busy(429), busy(404))
    with pytest.raises(Missing):
        server.client().change_comparison("cmp_x", {"title": "x"})
    assert len(server.asked) == 3


def test_attempts_come_to_an_end() -> None:
    server = ScriptedServer(*[httpx.ConnectError("refused")] * 2)
    with pytest.raises(Unreachable, match="sent 2 times: refused"):
        server.client(attempts=2).list_estimates()
    server = ScriptedServer(busy(503), busy(503))
    with pytest.raises(ServerFault):
        server.client(attempts=2).list_estimates()


def test_a_refusal_is_not_sent_again() -> None:
    for status in (400, 401, 403, 404, 409, 412, 413, 422, 500, 502):
        server = ScriptedServer(busy(status))
        with pytest.raises(Exception, match=str(status)):
            server.client().list_estimates()
        assert len(server.asked) == 1


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'{"items": 1, "next": null}', b"\xff"])
def test_an_answer_of_another_shape_says_so(content: bytes) -> None:
    with pytest.raises(BadAnswer, match="/api/v1/estimates"):
        ScriptedServer(httpx.Response(200, content=content)).client().list_estimates()


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"{}", b'{"status": 1}', b"\xff"])
def test_who_is_no_rackline_is_not_well(content: bytes) -> None:
    with pytest.raises(BadAnswer, match="/healthz"):
        ScriptedServer(httpx.Response(200, content=content)).client().health()
    with pytest.raises(BadAnswer, match="/readyz"):
        ScriptedServer(httpx.Response(200, content=content)).client().ready()


@pytest.mark.parametrize("data", ["", "<html>", "[]", "{}"])
def test_a_state_of_another_shape_says_so(data: str) -> None:
    content = f"event: progress\ndata: {data}\n\n".encode()
    with pytest.raises(BadAnswer, match="state"):
        list(ScriptedServer(httpx.Response(200, content=content)).client().follow_sweep("swp_x"))


EVENT = (
    'event: progress\ndata: {"id": "swp_x", "name": "t", "title": "t", "status": "running", "total": 2, '
    '"done": %d, "created_at": "2026-11-02T09:30:00Z", "updated_at": "2026-11-02T09:30:00Z"}\n\n'
)


def streams() -> ScriptedServer:
    """A server that ends a stream of events in good order before the sweep has ended."""
    rest = EVENT % 1 + EVENT % 2 + "event: end\nid: end\ndata: done\n\n"
    return ScriptedServer(httpx.Response(200, text=EVENT % 1), httpx.Response(200, text=rest))


def test_a_stream_that_a_server_ends_is_followed_again() -> None:
    server = streams()
    assert [state.done for state in server.client().follow_sweep("swp_x")] == [1, 2]
    assert len(server.asked) == 2 and len(server.waited) == 1


def test_a_stream_that_a_server_ends_is_followed_again_where_it_is_awaited() -> None:
    server = streams()

    async def go() -> None:
        found = [state.done async for state in server.asynchronous().follow_sweep("swp_x")]
        assert found == [1, 2] and len(server.waited) == 1

    run(go())


def test_fields_of_a_newer_server_are_passed_over() -> None:
    answer = httpx.Response(200, json={**CHECKED, "field_of_tomorrow": 1})
    assert ScriptedServer(answer).client().check_plan(CHECK).suggested_devices == 128


def test_what_is_awaited_is_sent_again_in_the_same_way() -> None:
    server = ScriptedServer(busy(503), httpx.ConnectError("refused"), done())

    async def ask() -> int:
        async with server.asynchronous() as client:
            answer = await client.check_plan.answer(CHECK)
            return answer.attempts

    assert run(ask()) == 3
    assert server.waited == [0.25, 0.5]
