from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.database import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(f"sqlite:///{tmp_path / 'store.sqlite3'}")
    made.migrate()
    for workspace in ("ws_one", "ws_two"):
        with made.transaction(workspace) as repository:
            repository.ensure_workspace(workspace)
    yield made
    made.close()
