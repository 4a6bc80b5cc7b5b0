"""Services that run a loop of their own, beside browser tests that keep one alive in the main thread."""

import pytest

from tests.conftest import run


@pytest.fixture(autouse=True)
def loops_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.platform.outgoing.asyncio.run", run)
