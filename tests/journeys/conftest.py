"""The whole application, asked through its API."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from app.main import create_app
from app.settings import Settings
from tests.support.application import asking
from tests.support.windows import Seat

Ask = Callable[..., httpx.Response]


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def ask(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Return a function that sends one request, without a network, and waits for its answer."""
    values = {}
    if request.param == "postgresql":
        values["database_url"] = request.getfixturevalue("postgres").make()
    application = create_app(Settings.at(tmp_path_factory.mktemp("journeys"), **values))
    yield asking(application)
    application.state.installation.store.close()


@pytest.fixture(scope="session")
def post(ask: Ask) -> Callable[..., Any]:
    """Return a function that stores something and gives back what was answered."""

    def store(path: str, document: Any = None, **values: Any) -> Any:
        answered = ask("POST", f"/api/v1{path}", json=document, **values)
        assert answered.status_code in (200, 201), answered.text
        return answered.json()

    return store


@pytest.fixture(scope="session")
def get(ask: Ask) -> Callable[..., Any]:
    """Return a function that reads something by its path under the API."""

    def read(path: str, **values: Any) -> Any:
        answered = ask("GET", f"/api/v1{path}", **values)
        assert answered.status_code == 200, answered.text
        return answered.json()

    return read


TEAMS = [{"team": f"team {at}", "devices": size} for at, size in enumerate((16, 16, 8, 4, 16), 1)]


POD = {"system": "bow-pod64", "isolation": "strict", "orchestrator": "backend.ai", "requests": TEAMS}


@pytest.fixture(params=["window", "korean_window"])
def seat(request: pytest.FixtureRequest) -> Seat:
    found: Seat = request.getfixturevalue(request.param)
    return found
