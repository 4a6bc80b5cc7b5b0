"""Uploaded files in a bucket: what is asked of it, what is said of it, and how it is set."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.errors import BadInput, Conflict, Unavailable
from app.main import create_app, file_storage_of
from app.platform.store.archives.backup import make_backup
from app.platform.store.archives.restore import restore_backup
from app.platform.store.database import Store
from app.platform.store.tables import Profile
from app.platform.store.upload_files import UploadFiles
from app.settings import Settings
from tests.buckets import AT_ONCE, Bucket, bucket_server
from tests.store.conftest import migrated_file as migrated_file


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with bucket_server() as found:
        yield found


@pytest.fixture
def files(bucket: Bucket, tmp_path: Path) -> UploadFiles:
    return UploadFiles(tmp_path / "uploads", bucket.storage())


@pytest.fixture
def store(migrated_file: Path, tmp_path: Path) -> Iterator[Store]:
    made = Store(f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'store.sqlite3')}")
    with made.transaction("ws_one") as repository:
        repository.ensure_workspace("One")
    yield made
    made.close()


def test_what_is_put_is_listed_read_and_taken_away(files: UploadFiles, bucket: Bucket) -> None:
    contents = [f"file {number}".encode() for number in range(2 * AT_ONCE + 1)]
    addresses = [files.put("ws_one", content) for content in contents]
    assert sorted(one.sha256 for one in files.each()) == sorted(addresses)
    assert [files.read("ws_one", address) for address in addresses] == contents
    assert files.read("ws_two", addresses[0]) is None
    put = bucket.asked.count(("PUT", "200"))
    assert files.put("ws_one", contents[0]) == addresses[0]
    assert bucket.asked.count(("PUT", "200")) == put, "the same content is sent once"
    for address in addresses:
        files.remove("ws_one", address)
        files.remove("ws_one", address)
    assert bucket.objects == {}


def test_what_others_keep_in_the_bucket_is_not_ours(files: UploadFiles, bucket: Bucket) -> None:
    bucket.objects |= {"elsewhere/letter.txt": b"a", "kept/notes.txt": b"b"}
    files.put("ws_one", b"ours")
    assert len(list(files.each())) == 1 and list(files.strays()) == []


def test_a_bucket_that_is_away_or_refuses_says_nothing_of_its_key(
    bucket: Bucket, files: UploadFiles, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "this-secret-is-the-wrong-one"
    for other, away in ((bucket.storage(secret=wrong), False), (bucket.storage(), True)):
        bucket.away = away
        for ask in (
            other.check,
            lambda used=other: used.put("ws/ab/c", b""),
            lambda used=other: list(used.names()),
        ):
            with pytest.raises(Unavailable) as caught:
                ask()
            assert bucket.endpoint not in str(caught.value)
    settings = Settings.at(tmp_path, **bucket.settings)
    said = "".join([caplog.text, repr(settings), repr(files.storage.__dict__), *map(repr, caplog.records)])
    assert wrong not in said and bucket.secret not in said and bucket.key not in said
    assert "the store of uploaded files cannot be used" in said


def test_a_backup_goes_from_a_bucket_into_a_bucket_that_has_nothing(
    bucket: Bucket, files: UploadFiles, store: Store, tmp_path: Path
) -> None:
    with store.transaction("ws_one") as repository:
        repository.add(Profile(id="prf_one", name="one", kind="layers", document={}))
        repository.uploads.add_file("prf_one", files.put("ws_one", b"{}"), "one.json", 2)
    archive, url = tmp_path / "all.tar.gz", f"sqlite:///{tmp_path / 'again.sqlite3'}"
    assert make_backup(store, files, archive).files == 1
    with pytest.raises(Conflict, match=f"s3://{bucket.name}/kept/"):
        restore_backup(archive, url, tmp_path / "again", bucket.storage())
    restored = bucket.storage(prefix="again")
    assert restore_backup(archive, url, tmp_path / "again", restored).files == 1
    address = next(UploadFiles(tmp_path, restored).each()).sha256
    assert UploadFiles(tmp_path, restored).read("ws_one", address) == b"{}"
    # The database is not empty now, so the next one fails, and leaves nothing of its files.
    with pytest.raises(Conflict, match="empty database"):
        restore_backup(archive, url, tmp_path / "again", bucket.storage(prefix="third"))
    assert not any(name.startswith("third/") for name in bucket.objects)


def test_settings_name_a_bucket_or_a_directory(bucket: Bucket, tmp_path: Path) -> None:
    app = create_app(Settings.at(tmp_path, **bucket.settings))
    kept = app.state.workbench.files
    kept.put("ws_local", b"content")
    assert len(bucket.objects) == 1 and next(iter(bucket.objects)).startswith("kept/ws_local/")
    assert file_storage_of(Settings.at(tmp_path)) is None
    shared = file_storage_of(Settings.at(tmp_path, uploads=str(tmp_path / "shared")))
    assert shared is not None and shared.place("x") == str(tmp_path / "shared" / "x")
    for wrong in ("ftp://bucket", "s3://", "s3://Bucket", "relative/directory"):
        with pytest.raises(BadInput, match="RACKLINE_UPLOADS"):
            Settings.from_environment({"RACKLINE_DATA_DIR": str(tmp_path), "RACKLINE_UPLOADS": wrong})
    with pytest.raises(BadInput, match="both halves"):
        file_storage_of(Settings.at(tmp_path, uploads="s3://files", s3_access_key_id="half"))
