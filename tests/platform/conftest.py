from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from app.platform.rates import WINDOW, divmod_window
from app.platform.store.repository import Repository
from app.platform.workspace import Workspace
from tests.conftest import run


@contextmanager
def moment_before_saving(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]
) -> Iterator[None]:
    """Let something happen once, between what an object is computed from and its transaction."""
    hold, done = Repository.hold, list[bool]()

    def begun(repository: Repository) -> None:
        if not done:
            done.append(True)
            do()
        hold(repository)

    monkeypatch.setattr(Repository, "hold", begun)
    yield
    assert done


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock at the beginning of a window; its one entry is what it shows."""
    shown = [(divmod_window(time.time(), WINDOW)[0] + 2.0) * WINDOW]
    monkeypatch.setattr(time, "time", lambda: shown[0])
    return shown


@pytest.fixture(autouse=True)
def loops_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Services that run a loop of their own, beside browser tests that keep one alive in the main thread."""
    monkeypatch.setattr("app.platform.outgoing.asyncio.run", run)
