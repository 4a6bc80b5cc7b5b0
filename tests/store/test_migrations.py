"""Migrations step by step, forward and back, with rows in every table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from app.platform.store.database import Store
from app.platform.store.migrate import configuration, revision_of
from app.platform.store.tables import JobRecord, SweepRecord
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
