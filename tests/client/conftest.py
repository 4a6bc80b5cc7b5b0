"""The application asked through the client, without a network, and servers that misbehave as told."""

from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI
from rackline_client import AsyncRackline, Rackline

from app.main import create_app
from app.settings import Settings
from tests.conftest import run

LOCALHOST = "http://localhost"


class Bridge(httpx.BaseTransport):
    """Carries the calls of a client that waits to an application."""

    def __init__(self, application: FastAPI) -> None:
        self.inner = httpx.ASGITransport(application)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def send() -> httpx.Response:
            response = await self.inner.handle_async_request(request)
            assert isinstance(response.stream, httpx.AsyncByteStream)
            raw = b"".join([part async for part in response.stream])
            return httpx.Response(response.status_code, headers=response.headers, content=raw)

        return run(send())


@pytest.fixture(scope="session")
def application(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return create_app(Settings.at(tmp_path_factory.mktemp("client")))


@pytest.fixture(scope="session")
def rackline(application: FastAPI) -> Iterator[Rackline]:
    """Return a client that waits."""
    with Rackline(LOCALHOST, transport=Bridge(application)) as client:
        yield client


@pytest.fixture
def asynchronous(application: FastAPI) -> AsyncRackline:
    """Return a client whose answers are awaited."""
    return AsyncRackline(LOCALHOST, transport=httpx.ASGITransport(application))
