"""Disk and database fail while the server runs: a clear answer, recovery without restart, nothing lost."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.errors import BadInput, Unavailable
from app.main import create_app
from app.platform.store import failures
from app.platform.store.database import Store
from app.platform.store.tables import EstimateRow
from app.platform.web.examples import GPT3, STUDY
from app.settings import Settings
from tests.conftest import run
from tests.support.objects import only_read
from tests.support.postgres import DURABLE, OwnCluster, own_cluster
from tests.support.serving import serving, spoken

ESTIMATES = "/api/v1/estimates"

LAYERS = b"name,kind,count,rows,inner,columns\nproject,gemm,12,128,1024,1024\n"


def is_problem(response: httpx.Response) -> bool:
    """Tell whether an answer says, as it should, that something cannot be used now."""
    return (
        response.status_code == 503
        and response.headers["content-type"] == "application/problem+json"
        and int(response.headers["retry-after"]) > 0
        and response.json()["type"] == "/problems/not-available-now"
    )


@pytest.fixture(scope="module")
def server() -> Iterator[OwnCluster]:
    with own_cluster(DURABLE) as found:
        yield found


def test_postgresql_stops_and_comes_back(
    server: OwnCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = server.make().replace("postgres@", "postgres:unmistakable@")
    app = create_app(Settings.at(tmp_path, database_url=url))
    transport = httpx.ASGITransport(app)

    async def walk() -> None:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            kept = (await client.post(ESTIMATES, json=GPT3)).json()["id"]
            assert (await client.get("/readyz")).status_code == 200
            server.stop()
            refused = [await client.post(ESTIMATES, json=GPT3) for _ in range(3)]
            refused += [await client.get(f"{ESTIMATES}/{kept}"), await client.get("/readyz")]
            assert all(is_problem(one) for one in refused), [one.text for one in refused]
            assert (await client.get("/healthz")).status_code == 200
            page = await client.get("/studies", headers={"accept": "text/html", "accept-language": "ko"})
            assert page.status_code == 503 and "데이터베이스" in page.text and page.headers["retry-after"]
            assert "unmistakable" not in page.text + refused[0].text
            server.start()
            assert (await client.get("/readyz")).status_code == 200
            assert (await client.get(f"{ESTIMATES}/{kept}")).json()["id"] == kept
            assert (await client.post(ESTIMATES, json=GPT3)).status_code == 201

    try:
        with caplog.at_level(logging.INFO):
            run(walk())
    finally:
        app.state.installation.store.close()
    said = [record for record in caplog.records if record.name == "rackline.store"]
    # On a slow machine its end has been said as well.
    assert [record.levelname for record in said] in (["ERROR"], ["ERROR", "WARNING"])
    assert not any(record.exc_info for record in caplog.records if record.name.startswith("rackline"))
    assert "unmistakable" not in caplog.text


def test_a_server_that_cannot_be_reached_is_said_without_its_password(tmp_path: Path) -> None:
    url = "postgresql+psycopg://user:unmistakable@127.0.0.1:1/rackline"
    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        create_app(Settings.at(tmp_path, database_url=url))
    assert "unmistakable" not in str(caught.value)


def kept_by(client: httpx.Client, identifiers: list[str]) -> bool:
    """Tell whether everything that was acknowledged is there."""
    return all(client.get(f"{ESTIMATES}/{one}").status_code == 200 for one in identifiers)


def intact(file: Path) -> bool:
    """Tell whether SQLite finds nothing wrong with a database."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def fill(client: httpx.Client, most: int) -> tuple[list[str], httpx.Response]:
    """Make estimates until one is refused; return those that were acknowledged, and the refusal."""
    made: list[str] = []
    for _ in range(most):
        response = client.post(ESTIMATES, json=GPT3)
        if response.status_code != 201:
            return made, response
        made.append(response.json()["id"])
    raise AssertionError("nothing was refused")


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, client):
        kept = [client.post(ESTIMATES, json=GPT3).json()["id"]]
        free = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        largest = max(file.stat().st_size for file in tmp_path.iterdir())
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest, free[1]))
        more, refused = fill(client, 100)
        assert is_problem(refused), refused.text
        assert kept_by(client, kept + more)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, free)
        assert client.post(ESTIMATES, json=GPT3).status_code == 201
        assert kept_by(client, kept + more)
        assert "Traceback" not in "".join(spoken(process))
    assert intact(tmp_path / "rackline.sqlite3")


@contextlib.contextmanager
def small_disk(path: Path, size: str) -> Iterator[bool]:
    """Put a file system of its own on a directory; False where this may not be done."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(path)], check=True)


def test_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "8m") as mounted:
        if not mounted:
            return  # What the limit above shows stands for it.
        ballast = disk / "ballast"
        with serving(disk) as (process, client):
            kept = [client.post(ESTIMATES, json=GPT3).json()["id"]]
            with contextlib.suppress(OSError):
                ballast.write_bytes(bytes(8_000_000))
            more, refused = fill(client, 100)
            assert is_problem(refused) and "space" in refused.json()["detail"]
            assert all(is_problem(client.post(ESTIMATES, json=GPT3)) for _ in range(5))
            upload = client.post("/api/v1/profiles", files={"file": ("layers.csv", LAYERS)})
            assert is_problem(upload) and "space" in upload.json()["detail"]
            assert kept_by(client, kept + more)
            ballast.unlink()
            assert client.post(ESTIMATES, json=GPT3).status_code == 201
            again = client.post("/api/v1/profiles", files={"file": ("layers.csv", LAYERS)})
            assert again.status_code == 201
            assert kept_by(client, kept + more)
            said = "".join(spoken(process))
            # Said again only after a while, which a slow machine may need for all of this.
            assert 1 <= said.count("out of space") < 5 and "Traceback" not in said
        assert intact(disk / "rackline.sqlite3")


def test_a_directory_that_may_only_be_read_is_said_at_the_start(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "8m") as mounted:
        if mounted:
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        else:
            disk.chmod(0o500)
        # Without a file system of its own nothing keeps root from writing.
        if mounted or os.geteuid() != 0:
            assert_refused(disk)
        if not mounted:
            disk.chmod(0o700)


def assert_refused(directory: Path) -> None:
    """Make a server on a directory that it cannot write."""
    with pytest.raises(BadInput, match="cannot be written") as caught:
        create_app(Settings.at(directory))
    assert caught.value.errors[0].field == "RACKLINE_DATA_DIR"


def test_a_database_that_may_only_be_read_still_answers(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite3"
    writable = Store(f"sqlite:///{file}")
    writable.migrate()
    with writable.transaction("ws") as repository:
        repository.ensure_workspace("ws")
    with writable.transaction("ws") as repository:
        repository.add(EstimateRow(id="est_a", label="a", request={}, document={}))
    readable = Store(f"sqlite:///file:{file}?mode=ro&uri=true")
    with readable.transaction("ws") as repository:
        assert repository.get(EstimateRow, "est_a") is not None
    with pytest.raises(Unavailable, match="read-only"), readable.transaction("ws") as repository:
        repository.add(EstimateRow(id="est_b", label="b", request={}, document={}))
    with readable.transaction("ws") as repository:
        assert repository.get(EstimateRow, "est_b") is None
    readable.close()
    writable.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_database_that_turns_read_only_while_the_server_runs(
    kind: str, server: OwnCluster, tmp_path: Path
) -> None:
    app = create_app(Settings.at(tmp_path, **({} if kind == "sqlite" else {"database_url": server.make()})))
    store, html = app.state.installation.store, {"accept": "text/html"}

    async def walk() -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            kept = (await client.post(ESTIMATES, json=GPT3)).json()["id"]
            study = (await client.post("/api/v1/studies", json=STUDY)).json()["id"]
            with only_read(store):
                refused = [
                    await client.post(ESTIMATES, json=GPT3),
                    await client.patch(f"/api/v1/studies/{study}", json={"name": "other"}),
                    await client.post("/api/v1/profiles", files={"file": ("layers.csv", LAYERS)}),
                    await client.delete(f"{ESTIMATES}/{kept}"),
                ]
                assert all(is_problem(one) for one in refused), [one.text for one in refused]
                assert all("read-only" in one.json()["detail"] for one in refused)
                # What is kept can be read meanwhile, as a page too; a page may keep an address short.
                for path in (f"/estimates/{kept}", f"/studies/{study}", f"/studies/{study}?count.a=3", "/"):
                    page = await client.get(path, headers=html, follow_redirects=True)
                    assert page.status_code == 200, (path, page.text[:500])
                assert (await client.get(f"{ESTIMATES}/{kept}")).json()["id"] == kept
            assert (await client.post(ESTIMATES, json=GPT3)).status_code == 201

    run(walk())
    store.close()


def test_a_database_that_another_program_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.platform.store.database.BUSY_MILLISECONDS", 50)
    store = Store(f"sqlite:///{tmp_path / 'store.sqlite3'}")
    store.migrate()
    other = sqlite3.connect(tmp_path / "store.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="busy"), store.transaction("ws") as repository:
        repository.ensure_workspace("ws")
    other.execute("ROLLBACK")
    other.close()
    with store.transaction("ws") as repository:
        repository.ensure_workspace("ws")
    store.close()


def test_a_pool_that_is_empty_is_the_same_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small: dict[str, Any] = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 0.05}
    monkeypatch.setattr("app.platform.store.database.POOL", {"poolclass": failures.PatientPool, **small})
    store = Store(f"sqlite:///{tmp_path / 'store.sqlite3'}")
    with store.engine.connect(), pytest.raises(Unavailable, match="busy"):
        store.engine.connect()
    store.engine.connect().close()
    store.close()


def test_the_log_says_an_outage_once_and_its_end(caplog: pytest.LogCaptureFixture) -> None:
    passed = [0.0]
    outage = failures.Outage(lambda: passed[0])
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            outage.refused(failures.FULL)
            outage.over()
            passed[0] += 0.1
        assert len(caplog.records) == 1
        passed[0] += failures.SAID_EVERY
        outage.refused(failures.FULL)
        assert len(caplog.records) == 2
        for reason in (failures.BROKEN, failures.FULL, failures.BROKEN):
            outage.refused(reason)
        assert "disk error" in caplog.records.pop().getMessage(), "another reason is said, too"
        assert len(caplog.records) == 2
        passed[0] += failures.CALM
        outage.over()
        outage.over()
    assert len(caplog.records) == 3 and "again" in caplog.records[-1].getMessage()
