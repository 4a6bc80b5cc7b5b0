from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.database import Store
from tests.postgres import Cluster


@pytest.fixture(scope="session")
def migrated(postgres: Cluster) -> str:
    """Name of a database with every table, to be copied."""
    url = postgres.make()
    made = Store(url)
    made.migrate()
    name = made.engine.url.database
    made.close()
    assert name is not None
    return name


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with two workspaces, on each database."""
    if request.param == "sqlite":
        made = Store(f"sqlite:///{tmp_path / 'store.sqlite3'}")
        made.migrate()
    else:
        server: Cluster = request.getfixturevalue("postgres")
        made = Store(server.make(request.getfixturevalue("migrated")))
    for workspace in ("ws_one", "ws_two"):
        with made.transaction(workspace) as repository:
            repository.ensure_workspace(workspace)
    yield made
    made.close()
    if request.param == "postgresql":
        server.drop(made.engine.url.render_as_string(hide_password=False))
