"""One application for all tests of the API, asked through ASGI without a network."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.main import create_app
from app.settings import Settings
from tests.loops import run

Ask = Callable[..., httpx.Response]


@pytest.fixture(scope="session")
def application(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return create_app(
        Settings.at(tmp_path_factory.mktemp("api"), max_body_bytes=200_000, max_upload_bytes=400_000)
    )


@pytest.fixture(scope="session")
def ask(application: FastAPI) -> Ask:
    """Return a function that sends one request and waits for its answer."""

    async def send(method: str, path: str, **values: Any) -> httpx.Response:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **values)

    return lambda method, path, **values: run(send(method, path, **values))
