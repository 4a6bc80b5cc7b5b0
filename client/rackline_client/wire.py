"""Where the server is and how a call looks on the wire."""

from __future__ import annotations

import ipaddress
import json
import os
import uuid
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import ValidationError

from rackline_client.base import Request
from rackline_client.calls import Call
from rackline_client.problems import BadAnswer
from rackline_client.version import __version__

if TYPE_CHECKING:
    from rackline_client.documents import SweepState

LOCAL = "http://127.0.0.1:8000"
"""Where ``rackline serve`` listens unless told otherwise."""

KEY_VARIABLE = "RACKLINE_API_KEY"

USER_AGENT = f"rackline-client/{__version__}"

CONNECT_SECONDS = 5.0
"""Longest time until a connection stands. [s]"""


class Bearer(httpx.Auth):
    """Puts the key on a request; shows it nowhere else."""

    def __init__(self, key: str) -> None:
        if not key.isascii() or not key.isprintable() or " " in key or not key:
            raise ValueError("the API key holds characters that no key has")
        self._header = f"Bearer {key}"

    def __repr__(self) -> str:
        return "Bearer(…)"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = self._header
        yield request


def settings(url: str | None, key: str | None, timeout: float, allow_plain: bool) -> dict[str, Any]:
    """Return what a connection is made with; the key is that of the environment unless given."""
    base = httpx.URL(url or LOCAL)
    if base.scheme not in {"http", "https"} or not base.host:
        raise ValueError("the address of the server must begin with https:// or http://")
    if base.userinfo:
        raise ValueError("the address of the server must not hold a password; give the key as “key”")
    key = os.environ.get(KEY_VARIABLE) if key is None else key
    if key and base.scheme == "http" and not allow_plain and not loopback(base.host):
        raise ValueError(
            "the key would travel unencrypted: use https://, or allow_plain=True in a closed network"
        )
    return {
        "base_url": base,
        "auth": Bearer(key) if key else None,
        "timeout": httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
        "headers": {"User-Agent": USER_AGENT, "Accept": "application/json, */*;q=0.5"},
        "follow_redirects": False,
    }


def loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def with_key(call: Call[Any]) -> dict[str, str]:
    """Return the headers of a call, with an idempotency key that all its attempts share."""
    if not call.keyed:
        return dict(call.headers)
    return {**call.headers, "Idempotency-Key": call.key or str(uuid.uuid4())}


def parts(call: Call[Any], headers: dict[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"method": call.method, "url": call.path, "headers": headers}
    query = {name: value for name, value in call.query.items() if value is not None}
    if query:
        made["params"] = query
    if call.file is not None:
        made["files"] = {"file": (call.file.name, call.file.content)}
        made["data"] = dict(call.form)
    elif call.body is not None:
        made["content"] = encoded(call.body)
        made["headers"] = {**headers, "Content-Type": "application/json"}
    return made


def encoded(body: Any) -> bytes:
    """Return a body as JSON; of a request only what was given, so that defaults stay the server's."""
    if isinstance(body, Request):
        return body.model_dump_json(exclude_unset=True).encode()
    return json.dumps(dict(body), default=nested, allow_nan=False, ensure_ascii=False).encode()


def nested(value: object) -> Any:
    if isinstance(value, Request):
        return value.model_dump(mode="json", exclude_unset=True)
    raise TypeError(f"a request cannot hold a value of the type {type(value).__name__}")


@dataclass(slots=True)
class States:
    """States of a sweep out of a stream of events (HTML Living Standard, 9.2.6)."""

    name: str = ""
    data: str = ""
    ended: bool = False
    last: SweepState | None = None
    """The state that was yielded last."""
    told: bool = False
    """Whether a state has come since the stream began."""

    def goes_on(self) -> bool:
        """Tell, at the orderly end of a stream, whether there is more to follow by another one.

        A server ends streams from time to time. One that tells nothing at all is not followed again.
        """
        told, self.told, self.name, self.data = self.told, False, "", ""
        return told and not self.ended

    def of_line(self, line: str) -> Iterator[SweepState]:
        """Take the next line; yield the state that it completes, if it completes one that is news."""
        if line:
            field, _, value = line.partition(":")
            if field == "event":
                self.name = value.removeprefix(" ")
            elif field == "data":
                self.data += value.removeprefix(" ")
            return
        name, data, self.name, self.data = self.name, self.data, "", ""
        if name == "progress":
            from rackline_client.documents import SweepState

            try:
                state = SweepState.model_validate_json(data)
            except ValidationError as error:
                raise BadAnswer("a state of the sweep is not what the API describes") from error
            self.told = True
            if state != self.last:
                self.last = state
                yield state
        self.ended = self.ended or name == "end"
