"""Five hundred requests drawn from the description, each with one fault, in English and in Korean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from app.main import create_app
from app.settings import Settings
from tests.conftest import run
from tests.support.described import resolved
from tests.support.faulty import Description, draw

pytestmark = pytest.mark.endurance

DRAWN = 500


def test_every_fault_is_named_by_path_and_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = create_app(Settings.at(tmp_path))

    async def send(method: str, path: str, **values: Any) -> httpx.Response:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost"
        ) as client:
            return await client.request(method, path, **values)

    description = Description(resolved(run(send("GET", "/api/v1/openapi.json")).json()))
    drawn = draw(lambda method, path, **values: run(send(method, path, **values)), description, DRAWN)
    with capsys.disabled():
        print(f"\n{drawn.table()}")
    assert not drawn.wrong, drawn.wrong[:10]
