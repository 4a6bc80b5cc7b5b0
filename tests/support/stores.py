"""Stores with every table, on each database.

What they need is imported when a test asks for them: most tests do without.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import sizing_context
from tests.support.postgres import PostgresCluster

if TYPE_CHECKING:
    from app.platform.store.database import Store
    from app.platform.workspace import Workspace


def store_at(url: str) -> Store:
    from app.platform.store.database import Store

    return Store(url)


@pytest.fixture(scope="session")
def migrated(postgres: PostgresCluster) -> str:
    """Name of a database with every table, to be copied."""
    url = postgres.make()
    made = store_at(url)
    made.migrate()
    name = made.engine.url.database
    made.close()
    assert name is not None
    return name


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SQLite's file of a database with every table, to be copied."""
    file = tmp_path_factory.mktemp("migrated") / "store.sqlite3"
    made = store_at(f"sqlite:///{file}")
    made.migrate()
    made.close()
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with two workspaces, on each database."""
    if request.param == "sqlite":
        file = shutil.copy(request.getfixturevalue("migrated_file"), tmp_path / "store.sqlite3")
        made = store_at(f"sqlite:///{file}")
    else:
        server: PostgresCluster = request.getfixturevalue("postgres")
        made = store_at(server.make(request.getfixturevalue("migrated")))
    for workspace in ("ws_one", "ws_two"):
        with made.transaction(workspace) as repository:
            repository.ensure_workspace(workspace)
    yield made
    made.close()
    if request.param == "postgresql":
        server.drop(made.engine.url.render_as_string(hide_password=False))


@pytest.fixture
def workspace(store: Store) -> Workspace:
    from app.platform.workspace import LOCAL_WORKSPACE, Installation

    with store.transaction(LOCAL_WORKSPACE) as repository:
        repository.ensure_workspace("Local")
    return Installation(sizing_context(), store).workspace("ws_one")
