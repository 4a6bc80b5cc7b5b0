"""Uploaded files in a bucket: what is asked of it, what is said of it, and how it is set."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.errors import BadInput, Unavailable
from app.features.operation.chores import HOUSEKEEPING
from app.main import create_app, file_storage_of, make_installation
from app.platform.store.database import Store
from app.platform.store.database_copy import copy_database
from app.platform.store.tables import Profile
from app.platform.store.upload_files import UploadFiles
from app.settings import Settings
from tests.support.application import asking
from tests.support.buckets import AT_ONCE, Bucket, bucket_server
from tests.support.jobs import do_all
from tests.support.objects import LAYERS
from tests.support.postgres import PostgresCluster
from tests.support.sweeping import Threads


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
    assert caplog.records


def test_a_copy_goes_from_a_bucket_into_a_folder(
    bucket: Bucket, files: UploadFiles, store: Store, tmp_path: Path
) -> None:
    with store.transaction("ws_one") as repository:
        repository.add(Profile(id="prf_one", name="one", kind="layers", document={}))
        repository.uploads.add_file("prf_one", files.put("ws_one", b"{}"), "one.json", 2)
    urls = [f"sqlite:///{tmp_path / name}" for name in ("store.sqlite3", "again/again.sqlite3")]
    # The file is looked for in each place that is named.
    nowhere, again = UploadFiles(tmp_path / "none"), UploadFiles(tmp_path / "again")
    assert copy_database(urls[0], urls[1], [nowhere, files], again)[1] == 1
    assert again.read("ws_one", next(again.each()).sha256) == b"{}"


def test_two_servers_and_a_worker_share_database_and_bucket(
    bucket: Bucket, migrated: str, postgres: PostgresCluster, tmp_path: Path
) -> None:
    shared = {"database_url": postgres.make(migrated), "jobs": "elsewhere", **bucket.settings}
    first, second = (create_app(Settings.at(tmp_path / name, **shared)) for name in ("one", "two"))
    worker = make_installation(Settings.at(tmp_path / "three", **shared))
    ask, other = asking(first), asking(second)
    profile = ask("POST", "/api/v1/profiles", files={"file": ("layers.csv", LAYERS)}).json()["id"]
    assert other("GET", f"/api/v1/profiles/{profile}/file").content == LAYERS
    models = [{"model": {"profile_id": profile}, "workload": {"samples": 1e6, "global_batch": 256}}]
    systems = [{"id": "dgx-a100-640gb", "counts": [1, 2]}]
    body = {"models": models, "systems": systems, "scenarios": [{"label": "usual"}]}
    sweep = other("POST", "/api/v1/sweeps", json=body).json()["id"]
    assert ask("DELETE", f"/api/v1/profiles/{profile}").status_code == 409
    do_all(worker, Threads)
    assert ask("GET", f"/api/v1/sweeps/{sweep}").json()["status"] == "done"
    # A chore that is due has its turn once, whichever of them looks first.
    turns = [
        chore.due(installation)
        for chore in HOUSEKEEPING
        for installation in (worker, first.state.installation)
    ]
    assert turns == [True, False] * len(HOUSEKEEPING)
    assert other("DELETE", f"/api/v1/profiles/{profile}").status_code == 204 and bucket.objects == {}
    assert ask("GET", f"/api/v1/profiles/{profile}/file").status_code == 404
    for installation in (worker, first.state.installation, second.state.installation):
        installation.store.close()
    postgres.drop(shared["database_url"])


def test_settings_name_a_bucket_or_a_directory(bucket: Bucket, tmp_path: Path) -> None:
    app = create_app(Settings.at(tmp_path, **bucket.settings))
    kept = app.state.installation.files
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
