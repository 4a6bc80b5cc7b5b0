"""Backups: whole, made while others write, taken in by either database, refused when damaged."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from app.errors import AppError, BadInput, Conflict, Unavailable
from app.platform.store.archives import backup, restore
from app.platform.store.archives.backup import make_backup
from app.platform.store.archives.form import FORMAT, MANIFEST, ArchiveSummary, kind_of, reflected
from app.platform.store.archives.restore import check_archive, restore_backup
from app.platform.store.database import Store, make_engine
from app.platform.store.migrate import database_faults, newest_revision, revision_of, upgrade_to
from app.platform.store.tables import EstimateRow, Profile
from app.platform.store.upload_files import UploadFiles
from tests.postgres import Cluster
from tests.store.rows import contents, fill

ROOM = 10**12


@pytest.fixture
def files(tmp_path: Path) -> UploadFiles:
    return UploadFiles(tmp_path / "data" / "uploads")


@pytest.fixture
def empty(tmp_path: Path, postgres: Cluster) -> Iterator[Callable[[str], str]]:
    """Return a function that makes an empty database of a kind and gives its address."""
    made = []

    def make(kind: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path / 'restored' / 'store.sqlite3'}"
        made.append(postgres.make())
        return made[-1]

    yield make
    for url in made:
        postgres.drop(url)


def keep_file(store: Store, files: UploadFiles, content: bytes) -> str:
    """Keep a model with its file."""
    with files.shared(), store.transaction("ws_one") as repository:
        repository.add(Profile(id="prf_kept", name="model", kind="config", document={}))
        sha256 = files.put("ws_one", content)
        repository.uploads.add_file("prf_kept", sha256, "config.json", len(content))
    return sha256


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_every_row_and_file_comes_back_in_either_database(
    store: Store, files: UploadFiles, tmp_path: Path, empty: Callable[[str], str], kind: str
) -> None:
    sha256 = keep_file(store, files, b"{}")
    with store.engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM retention_clock"))
        counts = fill(connection)
        connection.execute(sa.text("DELETE FROM upload_file WHERE profile_id <> 'prf_kept'"))
        before = contents(connection)
    archive = tmp_path / "backup.tar.gz"
    made = make_backup(store, files, archive)
    assert min(counts.values()) >= 2 and made.files == 1
    assert archive.stat().st_mode & 0o777 == 0o600
    url = empty(kind)
    done = restore_backup(archive, url, tmp_path / "restored")
    assert done.rows == made.rows == sum(len(rows) for rows in before.values())
    restored = Store(url)
    with restored.engine.connect() as connection:
        assert contents(connection) == before
    assert list(database_faults(restored.engine)) == []
    restored.close()
    assert UploadFiles(tmp_path / "restored" / "uploads").read("ws_one", sha256) == b"{}"


def test_rows_of_many_parts_come_back(
    store: Store, files: UploadFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.platform.store.archives.backup.PART_BYTES", 2_000)
    for number in range(40):
        with store.transaction("ws_one") as repository:
            repository.add(
                EstimateRow(id=f"est_{number:02}", label="label", request={}, document={"text": "x" * 200})
            )
    archive = tmp_path / "backup.tar.gz"
    make_backup(store, files, archive)
    manifest = check_archive(archive, ROOM)
    assert len([name for name in manifest.parts if name.startswith("tables/estimate/")]) > 3
    url = f"sqlite:///{tmp_path / 'again' / 'store.sqlite3'}"
    restore_backup(archive, url, tmp_path / "again")
    again = Store(url)
    with again.transaction("ws_one") as repository:
        assert len(repository.page(EstimateRow, 100, None).rows) == 40
    again.close()


def test_a_backup_during_a_stream_of_writes_is_one_moment(
    store: Store, files: UploadFiles, tmp_path: Path
) -> None:
    """Each transaction writes a pair; a moment that cuts one apart would show an odd one."""
    stop, written = threading.Event(), [0]

    def write() -> None:
        while not stop.is_set():
            number = written[0]
            with store.transaction("ws_one") as repository:
                repository.add(
                    EstimateRow(id=f"est_{number}_a", label="pair", request={}, document={"pad": "x" * 2000})
                )
            with store.transaction("ws_two") as repository:
                repository.add(
                    EstimateRow(id=f"est_{number}_b", label="pair", request={}, document={"pad": "x" * 2000})
                )
                repository.add(
                    Profile(id=f"prf_{number}", name="model", kind="config", document={"of": number})
                )
            written[0] += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(3):
            at = written[0]
            while written[0] < at + 5:
                pass
            acknowledged = written[0]
            archive = tmp_path / f"backup-{number}.tar.gz"
            make_backup(store, files, archive)
            url = f"sqlite:///{tmp_path / str(number) / 'store.sqlite3'}"
            restore_backup(archive, url, tmp_path / str(number))
            restored = Store(url)
            with restored.engine.connect() as connection:
                names = set(connection.scalars(sa.select(EstimateRow.id)))
                profiles = connection.scalar(sa.text("SELECT count(*) FROM profile"))
            assert list(database_faults(restored.engine)) == []
            restored.close()
            firsts = {name[:-2] for name in names if name.endswith("_a")}
            seconds = {name[:-2] for name in names if name.endswith("_b")}
            assert seconds <= firsts and len(firsts - seconds) <= 1 and profiles == len(seconds)
            assert {f"est_{one}" for one in range(acknowledged)} <= seconds
    finally:
        stop.set()
        writer.join()


@pytest.fixture
def archive(tmp_path: Path, files: UploadFiles) -> Path:
    """A small backup."""
    made = Store(f"sqlite:///{tmp_path / 'small.sqlite3'}")
    made.migrate()
    with made.transaction("ws_one") as repository:
        repository.ensure_workspace("one")
    keep_file(made, files, b"what was uploaded")
    make_backup(made, files, tmp_path / "small.tar.gz")
    made.close()
    return tmp_path / "small.tar.gz"


def refused(archive: Path, tmp_path: Path) -> AppError:
    """Restore an archive that must be refused, and return the error; nothing may be left behind."""
    target = tmp_path / "refused"
    with pytest.raises(AppError) as caught:
        restore_backup(archive, f"sqlite:///{target / 'store.sqlite3'}", target)
    assert [path for path in target.rglob("*") if path.is_file()] == []
    return caught.value


def test_a_backup_never_overwrites(archive: Path, tmp_path: Path, files: UploadFiles) -> None:
    store = Store(f"sqlite:///{tmp_path / 'small.sqlite3'}")
    before = archive.read_bytes()
    with pytest.raises(BadInput, match="already"):
        make_backup(store, files, archive)
    with pytest.raises(BadInput, match="cannot be written"):
        make_backup(store, files, tmp_path / "no" / "such" / "folder.tar.gz")
    store.close()
    assert archive.read_bytes() == before
    assert not list(tmp_path.glob(".*part"))


def test_of_two_backups_to_one_name_the_first_to_end_is_whole(
    archive: Path, tmp_path: Path, files: UploadFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, target = Store(f"sqlite:///{tmp_path / 'small.sqlite3'}"), tmp_path / "both.tar.gz"
    write = backup.write_archive

    def overtaken(*values: Any) -> ArchiveSummary:
        monkeypatch.undo()
        make_backup(store, files, target)
        return write(*values)

    monkeypatch.setattr(backup, "write_archive", overtaken)
    with pytest.raises(BadInput, match="already"):
        make_backup(store, files, target)
    store.close()
    assert check_archive(target, ROOM).parts
    assert not list(tmp_path.glob(".*part"))


def test_damaged_archives_are_refused(archive: Path, tmp_path: Path) -> None:
    content = archive.read_bytes()
    wrong = tmp_path / "wrong.tar.gz"
    cases = [b"", b"no archive", content[: len(content) // 2], content[:-4], gzip.compress(b"")]
    for place in range(20, len(content) - 8, max(1, len(content) // 25)):
        changed = bytearray(content)
        changed[place] ^= 0xFF
        cases.append(bytes(changed))
    for case in cases:
        wrong.write_bytes(case)
        assert "damaged" in str(refused(wrong, tmp_path))
    assert "does not exist" in str(refused(tmp_path / "nothing.tar.gz", tmp_path))


def rewritten(archive: Path, target: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """Write an archive anew with other parts, its manifest in agreement with them."""
    parts: dict[str, bytes] = {}
    with tarfile.open(archive) as tar:
        for info in tar:
            file = tar.extractfile(info)
            assert file is not None
            parts[info.name] = file.read()
    manifest = json.loads(parts.pop(MANIFEST))
    change(parts)
    manifest["parts"] = {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in parts.items()
    }
    with tarfile.open(target, "w:gz", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in [*parts.items(), (MANIFEST, json.dumps(manifest).encode())]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return target


def test_a_commit_that_fails_leaves_neither_rows_nor_files(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(url: str) -> sa.Engine:
        engine = make_engine(url)

        @sa.event.listens_for(engine, "commit")
        def full(_: sa.Connection) -> None:
            raise Unavailable("there is no room left on the disk")

        return engine

    with monkeypatch.context() as patched:
        patched.setattr(restore, "make_engine", failing)
        assert "no room" in str(refused(archive, tmp_path))
    target = tmp_path / "refused"
    assert restore_backup(archive, f"sqlite:///{target / 'store.sqlite3'}", target).files == 1


@pytest.mark.parametrize(
    "name", ["uploads/../../escaped", "/etc/escaped", "uploads/ws_one/../escaped", "tables/../x", "escaped"]
)
def test_no_part_leads_out_of_its_place(archive: Path, tmp_path: Path, name: str) -> None:
    wrong = rewritten(archive, tmp_path / "wrong.tar.gz", lambda parts: parts.update({name: b"x"}))
    assert "damaged" in str(refused(wrong, tmp_path))
    assert not list(tmp_path.rglob("escaped"))


def test_parts_that_agree_with_the_manifest_but_not_with_themselves(archive: Path, tmp_path: Path) -> None:
    def swapped(parts: dict[str, bytes]) -> None:
        name = next(one for one in parts if one.startswith("uploads/"))
        parts[name] = b"other content"

    def fewer(parts: dict[str, bytes]) -> None:
        del parts["tables/profile/0001.jsonl"]

    def mistyped(parts: dict[str, bytes]) -> None:
        parts["tables/workspace/0001.jsonl"] = b'[1,2,"x"]\n'

    def twice(parts: dict[str, bytes]) -> None:
        parts["tables/workspace/0001.jsonl"] *= 2

    for change in (swapped, fewer, mistyped, twice):
        wrong = rewritten(archive, tmp_path / "wrong.tar.gz", change)
        assert "damaged" in str(refused(wrong, tmp_path)), change.__name__


def test_links_and_devices_are_refused(archive: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.tar.gz"
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE, tarfile.XHDTYPE):
        with tarfile.open(wrong, "w:gz", format=tarfile.USTAR_FORMAT) as tar:
            info = tarfile.TarInfo("uploads/ws_one")
            info.type, info.linkname = kind, "/etc"
            tar.addfile(info)
        assert "damaged" in str(refused(wrong, tmp_path))


def test_what_unpacks_to_more_than_there_is_room_for_is_refused(archive: Path) -> None:
    with pytest.raises(BadInput, match="not enough disk space"):
        check_archive(archive, 100)


def test_an_archive_of_a_later_version_is_refused(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "knows", lambda revision: False)
    assert "newer version" in str(refused(archive, tmp_path))


def test_only_an_empty_database_takes_a_backup_in(
    archive: Path, tmp_path: Path, store: Store, files: UploadFiles
) -> None:
    url = store.engine.url.render_as_string(hide_password=False)
    with pytest.raises(Conflict, match="empty database"):
        restore_backup(archive, url, tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere" / "uploads").exists()
    with pytest.raises(Conflict, match="already contains files"):
        restore_backup(archive, f"sqlite:///{tmp_path / 'new.sqlite3'}", files.directory.parent)


def test_an_archive_of_an_earlier_revision_is_brought_up_to_date(
    archive: Path, tmp_path: Path, files: UploadFiles
) -> None:
    old = Store(f"sqlite:///{tmp_path / 'old.sqlite3'}")
    with old.engine.begin() as connection:
        upgrade_to(connection, "0004")
        fill(connection)
    made = make_backup(old, files, tmp_path / "old.tar.gz")
    old.close()
    assert made.schema_revision == "0004"
    url = f"sqlite:///{tmp_path / 'up' / 'store.sqlite3'}"
    restore_backup(tmp_path / "old.tar.gz", url, tmp_path / "up")
    up = Store(url)
    with up.engine.connect() as connection:
        assert revision_of(connection) == newest_revision()
        assert connection.scalar(sa.text("SELECT count(*) FROM sizing")) == 2
    up.close()


def test_every_column_of_every_table_has_a_kind(store: Store) -> None:
    with store.engine.connect() as connection:
        tables = reflected(connection)
    assert {kind_of(column) for table in tables for column in table.columns} == {
        "text", "integer", "number", "boolean", "moment", "document", "bytes"
    }  # fmt: skip
    assert FORMAT == "rackline-backup"
