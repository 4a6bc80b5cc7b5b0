import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.platform.store.database import Store
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


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SQLite's file of a database with every table, to be copied."""
    file = tmp_path_factory.mktemp("migrated") / "store.sqlite3"
    made = Store(f"sqlite:///{file}")
    made.migrate()
    made.close()
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with two workspaces, on each database."""
    if request.param == "sqlite":
        file = shutil.copy(request.getfixturevalue("migrated_file"), tmp_path / "store.sqlite3")
        made = Store(f"sqlite:///{file}")
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


def damage(file: Path, table: str) -> None:
    """Overwrite the first page of a table."""
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    query = "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_master WHERE name = ?"
    page, size = connection.execute(query, (table,)).fetchone()
    connection.close()
    with file.open("r+b") as content:
        content.seek((page - 1) * size)
        content.write(b"\xff" * size)
