"""Migrations step by step, forward and back, with rows in every table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from app.store.database import Store
from app.store.migrate import check, configuration, revision_of
from tests.store.rows import contents, fill

REVISIONS = [script.revision for script in ScriptDirectory.from_config(configuration()).walk_revisions()][
    ::-1
]


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
            assert kept == {name: rows for name, rows in there.items() if name in kept}
            step(store, revision)
            with store.engine.connect() as connection:
                again = contents(connection)
            assert {name: again[name] for name in kept} == kept
    check(store.engine)
    for revision in ["base", *REVISIONS][-2::-1]:
        step(store, revision)
    assert sa.inspect(store.engine).get_table_names() == ["alembic_version"]
    step(store, "head")
    check(store.engine)
