"""A copy of an installation has every row and file, on either database, or does not come to be."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from typer.testing import CliRunner, Result

from app.__main__ import command_line
from app.errors import AppError, BadInput, Conflict, Unavailable
from app.main import create_app
from app.platform.store.database import Store
from app.platform.store.database_copy import copy_database
from app.platform.store.migrate import WORDS, database_problems
from app.platform.store.tables import EstimateRow, Profile
from app.platform.store.upload_files import UploadFiles
from app.platform.web.examples import GPT3
from app.settings import Settings
from tests.conftest import run
from tests.platform.store.conftest import contents, fill
from tests.support.objects import damage
from tests.support.postgres import PostgresCluster

LAYERS = b"name,kind,count,rows,inner,columns\nproject,gemm,12,128,1024,1024\n"


@pytest.fixture
def empty(tmp_path: Path, postgres: PostgresCluster) -> Iterator[Callable[[str], str]]:
    """Return a function that makes an empty database of a kind and gives its address."""
    made = []

    def make(kind: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path / 'copy' / 'store.sqlite3'}"
        made.append(postgres.make())
        return made[-1]

    yield make
    for url in made:
        postgres.drop(url)


def address(store: Store) -> str:
    return store.engine.url.render_as_string(hide_password=False)


def keep_file(store: Store, files: UploadFiles) -> str:
    with store.transaction("ws_one") as repository:
        repository.add(Profile(id="prf_kept", name="model", kind="config", document={}))
        sha256 = files.put("ws_one", b"{}")
        repository.uploads.add_file("prf_kept", sha256, "config.json", 2)
    return sha256


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_every_row_and_file_is_in_the_copy(
    store: Store, tmp_path: Path, empty: Callable[[str], str], kind: str
) -> None:
    files, again, url = UploadFiles(tmp_path / "uploads"), UploadFiles(tmp_path / "again"), empty(kind)
    sha256 = keep_file(store, files)
    with store.engine.begin() as connection:
        counts = fill(connection)
        connection.execute(sa.text("DELETE FROM upload_file WHERE profile_id <> 'prf_kept'"))
        number = '{"large": 1e3, "small": -0.0, "whole": 2.0, "b": 1, "a": "값"}'
        connection.execute(sa.text("UPDATE estimate SET document = '" + number.replace(":", r"\:") + "'"))
        # An empty column is not a document that is null.
        connection.execute(sa.text("UPDATE job SET message = NULL WHERE id = (SELECT min(id) FROM job)"))
        connection.execute(sa.text("UPDATE job SET message = 'null' WHERE id = (SELECT max(id) FROM job)"))
        before = contents(connection)
    tables, copied = copy_database(address(store), url, [files], again)
    assert min(counts.values()) >= 2 and copied == 1
    assert {table.name: table.rows for table in tables} == {name: len(rows) for name, rows in before.items()}
    copy = Store(url)
    with copy.engine.connect() as connection:
        assert contents(connection) == before
        for empty_column, documents in (("IS NULL", 1), ("IS NOT NULL", 1)):
            counted = f"SELECT count(*) FROM job WHERE message {empty_column}"
            assert connection.scalar(sa.text(counted)) == documents
        if kind == "postgresql":
            assert connection.scalar(sa.text("SELECT count(*) FROM pg_sequences")) == 0, "none to be set"
        else:
            found = f"SELECT count(*) FROM {WORDS} WHERE {WORDS} MATCH '{b'la'.hex()}'"
            assert connection.scalar(sa.text(found)) == counts["estimate"]
    assert list(database_problems(copy.engine)) == []
    copy.close()
    assert again.read("ws_one", sha256) == b"{}"


def test_what_cannot_be_copied_is_said_and_leaves_the_target_empty(
    store: Store, tmp_path: Path, empty: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, again, url = (
        UploadFiles(tmp_path / "uploads"),
        UploadFiles(tmp_path / "again"),
        empty("postgresql"),
    )
    with pytest.raises(Conflict, match="has rows"):
        copy_database(url_of_a_copy(tmp_path), address(store), [files], again)
    with pytest.raises(BadInput, match="does not exist"):
        copy_database(f"sqlite:///{tmp_path / 'none.sqlite3'}", url, [files], again)
    assert not (tmp_path / "none.sqlite3").exists()
    sha256 = keep_file(store, files)
    files.remove("ws_one", sha256)
    with pytest.raises(Conflict, match=f"missing: .*{sha256}"):
        copy_database(address(store), url, [files], again)
    files.put("ws_one", b"{}")
    with monkeypatch.context() as patch:
        patch.setattr("app.platform.store.database_copy.rows_of", forgetful())
        with pytest.raises(Conflict, match="differs from what was read"):
            copy_database(address(store), url, [files], again)
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0023'"))
    with pytest.raises(Conflict, match="start the server once"):
        copy_database(address(store), url, [files], again)
    target = Store(url)
    assert sa.inspect(target.engine).get_table_names() == []
    target.close()


def url_of_a_copy(folder: Path) -> str:
    made = Store(f"sqlite:///{folder / 'other.sqlite3'}")
    made.migrate()
    made.close()
    return f"sqlite:///{folder / 'other.sqlite3'}"


def forgetful() -> Callable[..., Iterator[dict[str, Any]]]:
    """Return what reads the rows of a workspace under another name each time."""
    from app.platform.store.database_copy import rows_of

    read = []

    def rows(connection: sa.Connection, table: sa.Table) -> Iterator[dict[str, Any]]:
        for row in rows_of(connection, table):
            read.append(row)
            yield {**row, "name": str(len(read))} if table.name == "workspace" else row

    return rows


def test_a_row_that_the_target_refuses_is_said(tmp_path: Path, empty: Callable[[str], str]) -> None:
    # SQLite keeps a text of any length.
    store = Store(url_of_a_copy(tmp_path))
    with store.transaction("ws_one") as repository:
        repository.ensure_workspace("x" * 500)
    store.close()
    nowhere = UploadFiles(tmp_path / "uploads")
    with pytest.raises(Conflict, match="workspace"):
        copy_database(address(store), empty("postgresql"), [nowhere], nowhere)


def test_a_damaged_source_is_said(tmp_path: Path, empty: Callable[[str], str]) -> None:
    store = Store(url_of_a_copy(tmp_path))
    with store.transaction("ws_one") as repository:
        repository.ensure_workspace("One")
    with store.transaction("ws_one") as repository:
        repository.add(EstimateRow(id="est_a", label="a", request={}, document={}))
    store.close()
    damage(tmp_path / "other.sqlite3", "estimate")
    nowhere = UploadFiles(tmp_path / "uploads")
    with pytest.raises(Unavailable, match=r"damaged.*check-store.*restore"):
        copy_database(address(store), empty("postgresql"), [nowhere], nowhere)


def rackline(environment: dict[str, str], *arguments: str) -> Result:
    done = CliRunner().invoke(command_line(arguments[0]), [*arguments], env=environment)
    if isinstance(done.exception, AppError):
        raise done.exception
    return done


def answers(app: FastAPI, paths: list[str]) -> list[object]:
    """Return what is answered: files to the byte, JSON whatever the order of its fields."""

    async def ask() -> list[object]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            found = [await client.get(path) for path in paths]
        assert {response.status_code for response in found} == {200}, [one.text for one in found]
        return [
            response.json() if response.headers["content-type"] == "application/json" else response.content
            for response in found
        ]

    try:
        return run(ask())
    finally:
        app.state.installation.store.close()


def installation(folder: Path) -> list[str]:
    """Make an estimate, an upload and a frozen proposal; return where they are answered."""
    app = create_app(Settings.at(folder))

    async def make() -> list[str]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api/v1") as client:

            async def made(path: str, **values: Any) -> str:
                response = await client.post(path, **values)
                assert response.status_code < 300, response.text
                return str(response.json()["id"])

            estimate = await made("/estimates", json=GPT3)
            profile = await made("/profiles", files={"file": ("layers.csv", LAYERS)})
            comparison = await made("/comparisons", json={"title": "c", "rows": [GPT3]})
            terms = {"comparison_id": comparison, "customer": "A", "locale": "en", "currency": "USD"}
            proposal = await made("/proposals", json={**terms, "reason": "It is fast"})
            await made(f"/proposals/{proposal}/freeze")
        kept = [f"estimates/{estimate}", f"profiles/{profile}", f"profiles/{profile}/file"]
        kept += [f"proposals/{proposal}{form}" for form in ("", ".pdf", ".xlsx", ".csv", ".json", "/events")]
        return [f"/api/v1/{path}" for path in kept]

    try:
        return run(make())
    finally:
        app.state.installation.store.close()


def test_a_copied_installation_answers_the_same(tmp_path: Path, empty: Callable[[str], str]) -> None:
    data, moved, url = tmp_path / "data", tmp_path / "moved", empty("postgresql")
    paths = installation(data)
    before = answers(create_app(Settings.at(data)), paths)
    moved.mkdir(mode=0o700)
    done = rackline({"RACKLINE_DATA_DIR": str(moved)}, "copy-database", str(data / "rackline.sqlite3"), url)
    assert done.exit_code == 0, done.output
    assert "1 files are in" in done.stdout and str(moved / "uploads") in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()[1:-1]]
    assert {line[-1] for line in lines} == {"equal"} and ["proposal", "1"] in [line[:2] for line in lines]
    assert answers(create_app(Settings.at(moved, database_url=url)), paths) == before
    environment = {"RACKLINE_DATA_DIR": str(moved), "RACKLINE_DATABASE_URL": url}
    assert rackline(environment, "check-store").exit_code == 0
    # And back, with the folder of uploads beside the file.
    shutil.rmtree(data)
    assert rackline(environment, "copy-database", url, str(data / "rackline.sqlite3")).exit_code == 0
    assert answers(create_app(Settings.at(data)), paths) == before
