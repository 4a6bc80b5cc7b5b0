"""Migrations step by step, forward and back, with rows in every table."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from app.errors import Conflict
from app.platform.store import migrate
from app.platform.store.database import Store
from app.platform.store.migrate import configuration, database_faults, revision_of
from app.platform.store.tables import JobRecord, StudyRecord, SweepRecord
from tests.store.declared import compare_with_declaration
from tests.store.rows import contents, fill, shared

REVISIONS = [script.revision for script in ScriptDirectory.from_config(configuration()).walk_revisions()][
    ::-1
]


def sweep(identifier: str) -> SweepRecord:
    return SweepRecord(id=identifier, workspace_id="", title="t", request={})


def job(identifier: str, status: str, done: int) -> JobRecord:
    return JobRecord(id=identifier, workspace_id="", kind="sweep", status=status, total=9, done=done)


def step(store: Store, revision: str) -> None:
    """Go to a revision from wherever the tables are."""
    with store.engine.begin() as connection:
        there = revision_of(connection)
        config = configuration()
        config.attributes["connection"] = connection
        order = ["base", *REVISIONS, "head"]
        back = order.index(there or "base") > order.index(revision)
        (command.downgrade if back else command.upgrade)(config, revision)


def test_each_step_forward_and_back_keeps_the_rows(store: Store) -> None:
    step(store, "base")
    assert sa.inspect(store.engine).get_table_names() == ["alembic_version"]
    for before, revision in zip(["base", *REVISIONS], REVISIONS, strict=False):
        step(store, revision)
        with store.engine.begin() as connection:
            fill(connection)
            there = contents(connection)
        assert all(len(rows) >= 2 for rows in there.values())
        if before != "base":
            # Back and forward again: tables of this step are empty then, all others as they were.
            step(store, before)
            with store.engine.connect() as connection:
                kept = contents(connection)
            assert set(kept) <= set(there) and shared(kept, there) == shared(there, kept)
            step(store, revision)
            with store.engine.connect() as connection:
                again = contents(connection)
            assert set(kept) <= set(again) and shared(again, kept) == shared(kept, again)
    compare_with_declaration(store.engine)
    for revision in ["base", *REVISIONS][-2::-1]:
        step(store, revision)
    assert sa.inspect(store.engine).get_table_names() == ["alembic_version"]
    step(store, "head")
    compare_with_declaration(store.engine)


def test_what_a_sweep_said_of_its_progress_goes_to_its_job_and_back(store: Store) -> None:
    with store.transaction("ws_one") as repository:
        repository.add(sweep("swp_a"), job("swp_a", status="running", done=7))
        repository.add(sweep("swp_b"), job("swp_b", status="done", done=9))
    said = "SELECT id, status, total, done FROM {} ORDER BY id"
    step(store, "0012")
    with store.engine.connect() as connection:
        # Who ran it is gone with the version it ran under: it waits, with what is done of it.
        assert connection.execute(sa.text(said.format("sweep"))).all() == [
            ("swp_a", "queued", 9, 7), ("swp_b", "done", 9, 9),
        ]  # fmt: skip
    step(store, "0013")
    with store.engine.connect() as connection:
        assert connection.execute(sa.text(said.format("job"))).all() == [
            ("swp_a", "queued", 9, 7), ("swp_b", "done", 9, 9),
        ]  # fmt: skip


RELEASED = REVISIONS[-1]

EXPANDING = """
import sqlalchemy as sa
from alembic import op

revision = "9001"
down_revision = "{before}"


def upgrade():
    op.add_column("study", sa.Column("colour", sa.String(20), nullable=False, server_default=""))
    op.create_table("palette", sa.Column("id", sa.String(40), primary_key=True))


def downgrade():
    op.drop_table("palette")
    op.drop_column("study", "colour")
"""

CONTRACTING = """
import sqlalchemy as sa
from alembic import op

revision = "9002"
down_revision = "9001"
works_from = "9001"


def upgrade():
    op.drop_column("retention_clock", "seen_at")


def downgrade():
    op.add_column("retention_clock", sa.Column("seen_at", sa.DateTime(), nullable=True))
"""


@contextmanager
def version(folder: Path, **more: str) -> Iterator[None]:
    """Be a later version of the program, which has more migrations."""
    scripts = shutil.copytree(migrate.SCRIPTS, folder / "_".join(["of", *more]))
    for name, text in more.items():
        (scripts / "versions" / f"{name}_later.py").write_text(text.format(before=RELEASED), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "SCRIPTS", scripts)
        patch.setattr(migrate, "REVISIONS", [*REVISIONS, *more])
        yield


def test_versions_run_side_by_side_until_one_takes_away_what_the_older_needs(
    store: Store, tmp_path: Path
) -> None:
    study = {
        "id": "stu_old",
        "workspace_id": "",
        "name": "n",
        "sought": "n",
        "options": 1,
        "version": 1,
        "archived": False,
    }
    expanded = {"9001": EXPANDING}
    contracted = {**expanded, "9002": CONTRACTING}
    store.migrate()
    with version(tmp_path, **expanded):
        assert not store.is_ready()
        store.migrate()
        assert store.is_ready()
    # The version of before goes on, and may be started again: what was added is filled in for it.
    assert store.is_ready() and list(database_faults(store.engine)) == []
    store.migrate()
    with store.transaction("ws_one") as repository:
        repository.add(sweep("swp_old"), job("swp_old", "queued", 0))
        repository.add(StudyRecord(**study))
    with store.engine.connect() as connection:
        assert migrate.stated_of(connection) == ("9001", migrate.FIRST)
        assert connection.scalar(sa.text("SELECT colour FROM study")) == ""
    with version(tmp_path, **contracted):
        store.migrate()
        assert store.is_ready()
    with version(tmp_path / "again", **expanded):
        assert store.is_ready(), "the version before works with what it no longer uses taken away"
        store.migrate()
    assert not store.is_ready()
    with pytest.raises(Conflict, match=r"newer version of Rackline to tables \(9002\)"):
        store.migrate()
    assert [template for template, _ in database_faults(store.engine)] != []


@pytest.mark.parametrize(
    "revisions", [("0001", "0013"), pytest.param(REVISIONS, marks=pytest.mark.endurance)], ids=["some", "all"]
)
def test_released_schemas_are_brought_up_with_their_rows(revisions: Sequence[str], tmp_path: Path) -> None:
    source = Store(f"sqlite:///{tmp_path / 'released.sqlite3'}")
    for revision in revisions:
        step(source, revision)
        with source.engine.begin() as connection:
            fill(connection)
            there = contents(connection)
        source.close()
        made = Store(
            f"sqlite:///{shutil.copy(tmp_path / 'released.sqlite3', tmp_path / f'{revision}.sqlite3')}"
        )
        assert made.is_ready() == (revision == RELEASED)
        made.migrate()
        assert made.is_ready()
        with made.engine.connect() as connection:
            kept = contents(connection)
        # Tables that were split or renamed meanwhile are held by the test of each step.
        for table, rows in there.items():
            assert table not in kept or len(kept[table]) >= len(rows), (revision, table)
        made.close()


def test_a_migration_that_takes_something_away_says_for_whom_it_does() -> None:
    for script in ScriptDirectory.from_config(configuration()).walk_revisions():
        if script.revision <= migrate.FIRST:
            continue
        works_from = getattr(script.module, "works_from", None)
        source = ast.parse(Path(script.module.__file__ or "").read_text(encoding="utf-8"))
        forward = next(node for node in source.body if getattr(node, "name", "") == "upgrade")
        calls = [
            (node.func.attr, node)
            for node in ast.walk(forward)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        ]
        if works_from is not None:
            assert works_from in REVISIONS and works_from < script.revision
            continue
        taking = {"drop_column", "drop_table", "alter_column", "rename_table", "execute"}
        assert not taking & {name for name, _ in calls}, f"{script.revision}: name whom it works from"
        for column in (call.args[1] for name, call in calls if name == "add_column"):
            given = {word.arg: word.value for word in column.keywords}
            required = isinstance(given.get("nullable"), ast.Constant) and given["nullable"].value is False
            assert not required or "server_default" in given, (
                f"{script.revision}: older programs leave it out"
            )
