"""Client of the JSON API for commands: of a server, or in this process on its database."""

from __future__ import annotations

import asyncio
import ipaddress
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from app import __version__
from app.commands.inputs import content
from app.errors import AppError, BadInput, FieldError, Message, need

KEY_VARIABLE = "RACKLINE_API_KEY"

MOST_KEY_BYTES = 4096

ANSWER_SECONDS, CONNECT_SECONDS = 600.0, 10.0
"""Longest time until an answer, and until a connection. [s]"""

LOCAL = "http://localhost"


class RemoteError(AppError):
    """A server refused a call or did not answer."""


class ApiSession:
    """Calls the API; its problems are raised as local errors."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            response = self._http.request(method, f"/api/v1/{path}", **options)
        except httpx.TimeoutException:
            raise self._silent("no answer in time") from None
        except httpx.RequestError as error:
            raise self._silent(str(error) or type(error).__name__) from None
        if not response.is_success:
            raise refusal(response, str(self._http.base_url))
        return response

    def post(self, path: str, body: bytes = b"") -> Any:
        headers = {"Content-Type": "application/json"} if body else {}
        return self.document(self.call("POST", path, content=body, headers=headers))

    def get(self, path: str) -> Any:
        return self.document(self.call("GET", path))

    def document(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError:
            raise no_server(response, str(self._http.base_url)) from None

    def _silent(self, reason: str) -> RemoteError:
        values = {"server": str(self._http.base_url), "reason": reason}
        return RemoteError(Message("{server} cannot be reached: {reason}", values))


def refusal(response: httpx.Response, server: str) -> AppError:
    """Return a problem (RFC 9457) as an error."""
    try:
        problem = response.json()
        detail, faults = problem["detail"], problem.get("errors") or []
        fields = [FieldError(str(fault["field"]), as_said(fault["message"])) for fault in faults]
    except (ValueError, KeyError, TypeError, AttributeError):
        return no_server(response, server)
    return RemoteError(as_said(detail), fields)


def as_said(text: object) -> Message:
    """Return a text of a server, already translated, as a message."""
    return Message("{text}", {"text": str(text)})


def no_server(response: httpx.Response, server: str) -> RemoteError:
    values = {"server": server, "status": response.status_code}
    return RemoteError(
        Message("{server} answered {status} and not as a Rackline server does; check the address", values)
    )


@contextmanager
def server_session(server: str, key_file: Path | None, language: str) -> Iterator[ApiSession]:
    address = address_of(server)
    key = key_of(key_file)
    if key and address.scheme == "http" and not own_machine(address.host):
        raise BadInput.at(
            "--server", "the API key would be sent unencrypted; enter an address that begins with https://"
        )
    stated = {"Authorization": f"Bearer {key}"} if key else {}
    timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    with httpx.Client(base_url=address, headers=headers(language) | stated, timeout=timeout) as http:
        yield ApiSession(http)


@contextmanager
def local_session(language: str) -> Iterator[ApiSession]:
    """Run the API in this process on the database of the settings, with all rights."""
    need("fastapi", "server")
    from app.main import create_app
    from app.platform.admission import LocalAdmission
    from app.settings import Settings

    application = create_app(Settings.from_environment())
    application.state.admission = LocalAdmission(lambda: False, application.state.admission)
    try:
        with httpx.Client(
            base_url=LOCAL, headers=headers(language), transport=InProcess(httpx.ASGITransport(application))
        ) as http:
            yield ApiSession(http)
    finally:
        application.state.installation.store.close()


class InProcess(httpx.BaseTransport):
    """Carries calls to an application in this process."""

    def __init__(self, inner: httpx.ASGITransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def send() -> httpx.Response:
            response = await self._inner.handle_async_request(request)
            assert isinstance(response.stream, httpx.AsyncByteStream)
            sent = b"".join([part async for part in response.stream])
            return httpx.Response(response.status_code, headers=response.headers, content=sent)

        return asyncio.run(send())


def headers(language: str) -> dict[str, str]:
    return {"User-Agent": f"rackline/{__version__}", "Accept-Language": language}


def address_of(server: str) -> httpx.URL:
    """Return the address of a server; errors do not repeat it, as it may hold a password."""
    try:
        address = httpx.URL(server)
    except httpx.InvalidURL:
        address = httpx.URL()
    if address.scheme not in {"http", "https"} or not address.host or address.query or address.fragment:
        raise BadInput.at("--server", "enter an address such as https://rackline.example.com")
    if address.userinfo:
        raise BadInput.at(
            "--server",
            "the address must not contain a password; set {name}, or --key-file",
            name=KEY_VARIABLE,
        )
    return address


def own_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def key_of(file: Path | None) -> str:
    """Return the API key of a file, else of the environment; never of an argument."""
    origin = KEY_VARIABLE if file is None else "--key-file"
    text = (
        os.environ.get(KEY_VARIABLE, "")
        if file is None
        else content(file, MOST_KEY_BYTES).decode("utf-8", "replace")
    ).strip()
    if (file is not None and not text) or not text.isascii() or not text.isprintable() or " " in text:
        raise BadInput.at(origin, "contains no API key")
    return text
