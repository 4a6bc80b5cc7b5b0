"""Of a damaged SQLite file nothing else is held up, and a file that was taken away is noticed."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.errors import Unavailable
from app.features.operation.readiness import ReadinessCheck
from app.features.operation.store_check import check_store
from app.platform.store.database import Store
from app.platform.store.migrate import RESTORE
from app.platform.store.tables import EstimateRow
from app.platform.workspace import Installation
from tests.conftest import sizing_context
from tests.support.objects import damage


@pytest.fixture
def file(migrated_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(migrated_file, tmp_path / "store.sqlite3"))


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    made = Store(f"sqlite:///{file}")
    with made.transaction("ws_one") as repository:
        repository.ensure_workspace("One")
    with made.transaction("ws_one") as repository:
        for number in range(50):
            request = {"text": "x" * 2_000}
            repository.add(EstimateRow(id=f"est_{number:02}", label="a", request=request, document={}))
    yield made
    made.close()


def readiness(store: Store) -> str | None:
    """Return what readiness says of the database."""
    check = ReadinessCheck(Installation(sizing_context(), store), threading.Event())
    found = check.look()
    assert found.serves == (found.parts["database"] is None)
    return None if found.parts["database"] is None else str(found.parts["database"])


def write(store: Store, workspace: str) -> None:
    with store.transaction(workspace) as repository:
        repository.ensure_workspace(workspace)


def test_a_damaged_page_does_not_hold_up_who_writes_elsewhere(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.platform.store.database.BUSY_MILLISECONDS", 200)
    store.close()
    damage(file, "estimate")
    assert readiness(store) is None, "nobody has met it yet"
    refused = []
    for number in range(3):
        with pytest.raises(Unavailable, match="damaged") as caught, store.transaction("ws_one") as repository:
            # Whoever has written before holds the lock of all who write.
            repository.hold()
            repository.add(EstimateRow(id=f"est_new_{number}", label="", request={}, document={}))
        # As a server that logs it does.
        refused.append(caught)
        write(store, f"ws_{number}")
    assert "damaged" in (readiness(store) or "")


@pytest.mark.parametrize("spoil", ["page", "beginning", "whole"])
def test_a_damaged_file_is_a_finding(store: Store, file: Path, spoil: str) -> None:
    store.close()
    if spoil == "page":
        damage(file, "estimate")
    else:
        content = file.read_bytes()
        length = 100 if spoil == "beginning" else len(content)
        file.write_bytes(b"\xff" * length + content[length:])
    found = [fault.message for fault in check_store(Installation(sizing_context(), store))]
    assert [message.template for message in found].count(RESTORE) == 1, found


def removed(file: Path) -> None:
    file.unlink()


def replaced(file: Path) -> None:
    shutil.copy(file, file.with_name("other"))
    file.with_name("other").replace(file)


def cut_short(file: Path) -> None:
    with file.open("r+b") as content:
        content.truncate(8192)


@pytest.mark.parametrize("change", [removed, replaced, cut_short])
def test_a_file_that_is_another_is_neither_read_nor_written(
    store: Store, file: Path, change: Callable[[Path], None]
) -> None:
    with store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    assert readiness(store) is None
    kept = file.with_name("kept")
    kept.hardlink_to(file) if change is not cut_short else shutil.copy(file, kept)
    change(file)
    there = file.read_bytes() if file.exists() else None
    for _ in range(2):
        with pytest.raises(Unavailable):
            write(store, "ws_two")
    assert "Put it back" in (readiness(store) or "")
    assert (file.read_bytes() if file.exists() else None) == there, "what was put there is left alone"
    if change is not cut_short:
        kept.replace(file) if change is replaced else kept.rename(file)
        write(store, "ws_two")
        assert readiness(store) is None
        with store.engine.connect() as connection:
            assert connection.scalar(sa.text("SELECT count(*) FROM estimate")) == 50


def test_the_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'new.sqlite3'}")
    store.migrate()
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("new.sqlite3*")}
    assert modes == dict.fromkeys(("new.sqlite3", "new.sqlite3-wal", "new.sqlite3-shm"), 0o600)
    store.close()
