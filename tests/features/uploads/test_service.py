"""Uploaded files, their end, and what is kept for a time only, on SQLite and PostgreSQL."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlmodel import SQLModel

from app.errors import BadInput, Conflict, NotFound, Unavailable
from app.estimating.context import load_context
from app.estimating.request import EstimateRequest
from app.features.comparisons.model import ComparisonRequest
from app.features.comparisons.service import create_comparison
from app.features.estimates.service import create_estimate, get_estimate
from app.features.operation.chores import purge, purge_files
from app.features.operation.store_check import check_store
from app.features.studies import service as deletions
from app.features.studies.model import Study
from app.features.studies.service import archive_study, create_study, get_study
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.service import create_sweep
from app.features.uploads import service as uploads
from app.platform.retention import Retention
from app.platform.store.database import Store
from app.platform.store.queries import now
from app.platform.store.repository import Repository
from app.platform.store.tables import StudyRecord
from app.platform.store.upload_files import FileDirectory, UploadFiles, name_of
from app.platform.web.examples import FLEET_PLAN, RESNET
from app.platform.workspace import Installation, Workspace
from app.profiles.presets import data_directory
from tests.support.buckets import Bucket, bucket_server
from tests.support.objects import LAYERS, moved_clock, study_of

SECRET = "unmistakable words of the customer's data"

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(scope="module")
def sizing() -> object:
    return load_context(data_directory())


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with bucket_server() as found:
        yield found


@pytest.fixture
def installation(store: Store, sizing, tmp_path: Path, request: pytest.FixtureRequest) -> Installation:  # type: ignore[no-untyped-def]
    """A server: its files in a directory on SQLite, in a bucket on PostgreSQL."""
    shared = None
    if store.engine.dialect.name == "postgresql":
        shared = request.getfixturevalue("bucket").storage(prefix=f"of/{tmp_path.name}")
    return Installation(sizing, store, UploadFiles(tmp_path / "data" / "uploads", shared))


@pytest.fixture
def workspace(installation: Installation) -> Workspace:
    return installation.workspace("ws_one")


def on_another_machine(installation: Installation, name: str) -> Installation:
    """Return another server of the same database, with a directory of its own where files are elsewhere."""
    assert installation.files is not None
    if isinstance(installation.files.storage, FileDirectory):
        return Installation(installation.sizing, installation.store, installation.files)
    directory = installation.files.directory.parent.parent / name / "uploads"
    return Installation(
        installation.sizing, installation.store, UploadFiles(directory, installation.files.storage)
    )


def kept(installation: Installation) -> list[str]:
    """Return workspace and address of every file."""
    assert installation.files is not None
    return [f"{one.workspace_id}/{one.sha256[:6]}" for one in installation.files.each()]


CONFIG = {
    "model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 2, "n_positions": 256, "vocab_size": 512,
}  # fmt: skip

WORK = {"samples": 1e6, "global_batch": 256}


def upload(installation: Installation, workspace: str = "ws_one", content: bytes = LAYERS) -> str:
    """Upload a layer table."""
    return uploads.upload_profile(installation.workspace(workspace), "layers.csv", content).id


def test_the_same_content_is_kept_once_in_a_workspace_and_never_across(
    installation: Installation, workspace: Workspace
) -> None:
    first, second, foreign = (upload(installation), upload(installation), upload(installation, "ws_two"))
    assert len(kept(installation)) == 2
    assert uploads.original_file(workspace, second) == ("layers.csv", LAYERS)
    with pytest.raises(NotFound):
        uploads.original_file(workspace, foreign)
    uploads.delete_profile(workspace, first)
    assert uploads.original_file(workspace, second)[1] == LAYERS
    uploads.delete_profile(workspace, second)
    assert [one.split("/")[0] for one in kept(installation)] == ["ws_two"]
    uploads.delete_profile(installation.workspace("ws_two"), foreign)
    assert kept(installation) == []
    assert installation.files is not None and not [
        one for one in installation.files.directory.iterdir() if one.is_dir()
    ]


def test_files_are_their_owner_s_alone(installation: Installation) -> None:
    upload(installation)
    assert installation.files is not None
    for path in installation.files.directory.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_deleted_upload_is_gone_everywhere(workspace: Workspace) -> None:
    made = uploads.upload_profile(workspace, "layers.csv", LAYERS, key="once")
    request = EstimateRequest.model_validate({**RESNET, "model": {"profile_id": made.id}, "workload": WORK})
    estimate = create_estimate(workspace, request)
    uploads.delete_profile(workspace, made.id)
    for ask in (uploads.get_profile, uploads.original_file, uploads.delete_profile):
        with pytest.raises(NotFound):
            ask(workspace, made.id)
    with pytest.raises(NotFound):
        create_estimate(workspace, request)
    assert get_estimate(workspace, estimate.id).id == estimate.id
    again = uploads.upload_profile(workspace, "layers.csv", LAYERS, key="once")
    assert again.id != made.id


def test_another_server_of_the_same_database_notices(
    installation: Installation, workspace: Workspace
) -> None:
    other = on_another_machine(installation, "other")
    profile = upload(installation)
    assert uploads.original_file(other.workspace("ws_one"), profile) == ("layers.csv", LAYERS)
    sample = uploads.upload_workload(workspace, "s.csv", b"length\n7\n").id
    assert other.workspace("ws_one").profile(profile) and other.workspace("ws_one").workload_sample(sample)
    uploads.delete_profile(workspace, profile)
    uploads.delete_workload(workspace, sample)
    for ask in (
        lambda: other.workspace("ws_one").profile(profile),
        lambda: other.workspace("ws_one").workload_sample(sample),
    ):
        with pytest.raises(NotFound):
            ask()


def test_what_a_study_or_an_open_sweep_asks_for_stays(
    installation: Installation, workspace: Workspace
) -> None:
    profile = upload(installation)
    study = create_study(workspace, study_of(profile))
    with pytest.raises(Conflict, match="BERT-Large for Seoul"):
        uploads.delete_profile(workspace, profile)
    archive_study(workspace, study.id, True)
    deletions.delete_study(workspace, study.id)
    profile = upload(installation)
    asked = {**FLEET_PLAN, "models": [{**FLEET_PLAN["models"][0], "model": {"profile_id": profile}}]}
    asked["models"][0]["workload"] = {"samples": 1e6, "global_batch": 256}
    create_sweep(workspace, SweepRequest.model_validate(asked))
    with pytest.raises(Conflict, match="sweep"):
        uploads.delete_profile(workspace, profile)


def test_a_study_goes_with_what_only_it_used(installation: Installation, workspace: Workspace) -> None:
    mine = uploads.upload_profile(workspace, "config.json", json.dumps(CONFIG).encode()).id
    shared = upload(installation, content=LAYERS + b"more,gemm,1,128,64,64\n")
    sample = uploads.upload_workload(workspace, "s.csv", b"length\n128\n256\n").id
    first = create_study(workspace, study_of(mine, workload_id=sample))
    second = create_study(workspace, study_of(shared))
    rows = [{**RESNET, "label": "kept", "model": {"profile_id": shared}, "workload": WORK}]
    create_comparison(workspace, ComparisonRequest.model_validate({"rows": rows}))
    for study in (first, second):
        with pytest.raises(Conflict, match="archive"):
            deletions.delete_study(workspace, study.id)
        archive_study(workspace, study.id, True)
        with pytest.raises(NotFound):
            deletions.delete_study(installation.workspace("ws_two"), study.id)
    for study in (first, second):
        deletions.delete_study(workspace, study.id)
    with pytest.raises(NotFound):
        get_study(workspace, first.id)
    with pytest.raises(NotFound):
        uploads.get_profile(workspace, mine)
    with pytest.raises(NotFound):
        uploads.get_workload(workspace, sample)
    assert uploads.get_profile(workspace, shared).id == shared
    assert len(kept(installation)) == 1
    assert list(check_store(installation)) == []


def test_a_study_that_is_brought_back_meanwhile_is_not_deleted_too(
    installation: Installation, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = create_study(workspace, study_of(upload(installation)))
    archive_study(workspace, study.id, True)
    brought_back: list[Future[Study]] = []
    existing = deletions.existing

    def looked_at(repository: Repository, identifier: str) -> StudyRecord:
        found = existing(repository, identifier)
        brought_back.append(others.submit(archive_study, workspace, identifier, False))
        wait(brought_back, 0.5)
        return found

    monkeypatch.setattr(deletions, "existing", looked_at)
    with ThreadPoolExecutor(1) as others:
        deletions.delete_study(workspace, study.id)
    assert isinstance(brought_back[0].exception(), NotFound)


def test_nothing_of_a_sample_but_its_lengths_is_kept(
    installation: Installation, workspace: Workspace, tmp_path: Path
) -> None:
    lines = "\n".join(f'{{"text": "{SECRET} {number}"}}' for number in range(500)).encode()
    made = uploads.upload_workload(workspace, "sample.jsonl", lines, key="once")
    assert made.samples == 500
    installation.store.close()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in written
    with installation.store.engine.connect() as connection:
        for table in SQLModel.metadata.sorted_tables:
            assert "unmistakable" not in repr(connection.execute(sa.select(table)).all())
    assert kept(installation) == []


def test_a_file_that_cannot_be_written_leaves_nothing(
    installation: Installation, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, bucket: Bucket
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.platform.store.upload_files.os.fsync", full)
    bucket.away = True
    with pytest.raises(Unavailable, match=r"no space left|store of uploaded files cannot be reached"):
        upload(installation)
    monkeypatch.undo()
    bucket.away = False
    assert (
        kept(installation) == []
        and installation.files is not None
        and list(installation.files.strays()) == []
    )
    assert uploads.list_profiles(workspace, 10, None).items == []
    upload(installation)


def test_files_that_go_while_they_are_listed_are_passed_over(tmp_path: Path) -> None:
    files = UploadFiles(tmp_path)
    addresses = {files.put("ws_one", content): content for content in (b"one", b"two")}
    listed = files.each()
    first = next(listed).sha256
    files.remove("ws_one", next(address for address in addresses if address != first))
    assert list(listed) == []


def test_uploads_and_deletions_at_once_lose_no_file(installation: Installation, workspace: Workspace) -> None:
    stop = threading.Event()
    wrong: list[BaseException] = []

    def come_and_go(server: Installation) -> None:
        try:
            while not stop.is_set():
                uploads.delete_profile(server.workspace("ws_one"), upload(server))
                purge_files(server, dry_run=False)
        except BaseException as error:
            wrong.append(error)

    servers = [installation, *(on_another_machine(installation, name) for name in ("second", "third"))]
    crowd = [threading.Thread(target=come_and_go, args=(server,)) for server in servers]
    for one in crowd:
        one.start()
    for _ in range(15):
        mine = upload(installation)
        assert uploads.original_file(workspace, mine)[1] == LAYERS
        uploads.delete_profile(workspace, mine)
    stay = upload(installation)
    stop.set()
    for one in crowd:
        one.join()
    assert wrong == []
    assert uploads.original_file(workspace, stay)[1] == LAYERS
    purge(installation, now(), at_once=True)
    assert len(kept(installation)) == 1 and list(check_store(installation)) == []


def old(installation: Installation, table: str, days: int) -> None:
    """Make all rows of a table older."""
    with installation.store.engine.begin() as connection:
        metadata = sa.MetaData()
        metadata.reflect(connection, only=[table])
        found = metadata.tables[table]
        for row in connection.execute(sa.select(found)).mappings().all():
            values = {
                name: row[name] - timedelta(days=days)
                for name in ("created_at", "updated_at", "expires_at")
                if name in row
            }
            keys = [column == row[column.name] for column in found.primary_key.columns]
            connection.execute(sa.update(found).where(*keys).values(**values))


def test_what_has_had_its_time_goes(installation: Installation, workspace: Workspace) -> None:
    free = create_estimate(workspace, EstimateRequest.model_validate(RESNET), key="a")
    used = create_comparison(
        workspace, ComparisonRequest.model_validate({"rows": [{**RESNET, "label": "used"}]})
    )
    sweep = create_sweep(workspace, SweepRequest.model_validate(FLEET_PLAN))
    old(installation, "estimate", 100)
    old(installation, "sweep", 100)
    installation.retention = Retention(estimates=90, sweeps=90)
    counted = purge(installation, now(), dry_run=True)
    assert counted.counts == {
        "estimates": 1,
        "sweeps": 0,
        "idempotency": 0,
        "shares": 0,
        "unsaved": 0,
        "files": 0,
    }
    assert get_estimate(workspace, free.id)
    with workspace.transaction() as repository:
        repository.of_job(sweep.id).move({"queued"}, "cancelled", now() - timedelta(days=100))
    assert purge(installation, now(), at_once=True).counts == {**counted.counts, "sweeps": 1}
    with pytest.raises(NotFound):
        get_estimate(workspace, free.id)
    row = used.rows[0].estimate
    assert row is not None and get_estimate(workspace, row.id)
    # The key tells of an estimate that is gone, and so makes a new one.
    again = create_estimate(workspace, EstimateRequest.model_validate(RESNET), key="a")
    assert again.id != free.id
    assert sum(purge(installation, now(), at_once=True).counts.values()) == 0


def test_keys_end_after_a_day_and_estimates_stay_unless_told(
    installation: Installation, workspace: Workspace
) -> None:
    first = create_estimate(workspace, EstimateRequest.model_validate(RESNET), key="a")
    old(installation, "estimate", 4000)
    assert purge(installation, now(), at_once=True).counts["idempotency"] == 0
    old(installation, "idempotency_key", 2)
    assert purge(installation, now(), at_once=True).counts["idempotency"] == 1
    assert get_estimate(workspace, first.id)


def test_a_clock_that_leaps_deletes_nothing(installation: Installation, workspace: Workspace) -> None:
    installation.retention = Retention(estimates=90)
    made = create_estimate(workspace, EstimateRequest.model_validate(RESNET))
    with moved_clock() as clock:
        for _ in range(30):
            assert sum(purge(installation, now()).counts.values()) == 0
            clock.by += timedelta(hours=1)
        assert purge(installation, now()).waiting == 0
        clock.by += timedelta(days=3650)
        for _ in range(20):
            assert purge(installation, now()).waiting == 2
            clock.by += timedelta(hours=1)
        clock.by -= timedelta(days=3650)
        assert purge(installation, now()).waiting == 2
        assert get_estimate(workspace, made.id)
        clock.by += timedelta(days=100)
        for _ in range(26):
            purge(installation, now())
            clock.by += timedelta(hours=1)
        with pytest.raises(NotFound):
            get_estimate(workspace, made.id)


def test_the_check_finds_what_is_wrong(installation: Installation) -> None:
    upload(installation)
    assert installation.files is not None
    assert list(check_store(installation)) == []
    whole = next(iter(installation.files.each()))
    name = name_of(whole.workspace_id, whole.sha256)
    installation.files.storage.put(name, b"something else")
    with pytest.raises(Unavailable, match="damaged"):
        installation.files.read(whole.workspace_id, whole.sha256)
    stray = installation.files.put("ws_one", b"what nobody names")
    assert {(fault.kind, fault.harmless) for fault in check_store(installation)} == {
        ("file", False),
        ("stray", True),
    }
    installation.files.storage.delete(name)
    assert any("missing" in str(fault.message) for fault in check_store(installation))
    parts = 0
    if isinstance(installation.files.storage, FileDirectory):
        # What an upload that was broken off has left; a bucket has nothing of it.
        (installation.files.directory / "ws_one" / ".part-left").write_bytes(b"")
        parts = 1
    other = on_another_machine(installation, "other")
    assert purge(other, now(), at_once=True).counts["files"] == 1 + parts
    assert installation.files.read("ws_one", stray) is None and list(installation.files.strays()) == []


def test_terms_of_retention_are_read_and_refused() -> None:
    assert Retention.read("") == Retention()
    assert Retention.read("estimates=90, sweeps=never idempotency=2") == replace(
        Retention(), estimates=90, sweeps=None, idempotency=2
    )
    for wrong in ("estimates", "studies=3", "estimates=0", "estimates=-1", "estimates=1e3", "shares=99999"):
        with pytest.raises(BadInput) as caught:
            Retention.read(wrong)
        assert caught.value.errors[0].field == "RACKLINE_RETENTION_DAYS"
