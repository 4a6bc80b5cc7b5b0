"""Migrations from version 0.1.0 on, with rows in every table; what other versions made is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.errors import Conflict
from app.platform.store import migrate
from app.platform.store.database import Store
from app.platform.store.migrate import database_problems, revision_of
from app.platform.store.queries import DOCUMENT
from tests.platform.store.conftest import (
    compare_with_declaration,
    contents,
    release,
    shared,
)
from tests.support.postgres import PostgresCluster


@pytest.fixture(params=["sqlite", "postgresql"])
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A database of version 0.1.0, on each database."""
    if request.param == "sqlite":
        store = Store(f"sqlite:///{tmp_path / 'released.sqlite3'}")
    else:
        server: PostgresCluster = request.getfixturevalue("postgres")
        store = Store(server.make())
    release(store)
    yield store
    store.close()
    if request.param == "postgresql":
        server.drop(store.engine.url.render_as_string(hide_password=False))


def test_tables_of_the_first_version_are_brought_up_with_their_rows(released: Store) -> None:
    assert not released.is_ready()
    with released.engine.connect() as connection:
        before = contents(connection)
    released.migrate()
    assert released.is_ready() and list(database_problems(released.engine)) == []
    compare_with_declaration(released.engine)
    with released.engine.connect() as connection:
        after = contents(connection)
        assert list(connection.execute(sa.text("SELECT * FROM alembic_version")).mappings()) == [
            {"version_num": migrate.REVISIONS[-1]}
        ]
    assert [row["events"] for row in after.pop("webhook")] == [["sweep.done"]] * len(before.pop("webhook"))
    before.pop("rackline_queue_task", None)
    assert set(before) == set(after) and all(len(rows) >= 2 for rows in before.values())
    assert shared(after, before) == shared(before, after)


def test_limits_beside_the_first_option_become_those_of_the_comparison(released: Store) -> None:
    limits = {"deadline_s": 86_400.0, "probability": 0.9}
    option = sa.table("comparison_option", sa.column("position"), sa.column("request", DOCUMENT))
    with released.engine.begin() as connection:
        before = connection.execute(sa.select(option.c.request).where(option.c.position == 0)).scalars().all()
        held = sa.update(option).where(option.c.position == 0)
        connection.execute(held.values(request=before[0] | {"limits": limits}))
    released.migrate()
    comparison = sa.table("comparison", sa.column("limits", DOCUMENT))
    with released.engine.connect() as connection:
        found = connection.execute(sa.select(comparison.c.limits)).scalars().all()
        requests = connection.execute(sa.select(option.c.request)).scalars().all()
    assert before and limits in found
    assert not any("limits" in request for request in requests)


@pytest.mark.parametrize("change", ["UPDATE audit_event SET action = 'x'", "DELETE FROM audit_event"])
def test_the_audit_log_only_grows(released: Store, change: str) -> None:
    released.migrate()
    opening = "SELECT 1" if released.engine.dialect.name == "sqlite" else "SET LOCAL rackline.erasing = on"
    with pytest.raises(sa.exc.DBAPIError, match="only grows"), released.engine.begin() as connection:
        connection.exec_driver_sql(opening)
        connection.exec_driver_sql(change)


@pytest.mark.parametrize(
    ("revision", "advice"),
    [("0013", r"start version 0\.1\.0 on it once"), ("9001", "start the newer version")],
)
def test_tables_of_another_version_are_left_alone_and_it_is_said_which_can_go_on(
    store: Store, revision: str, advice: str
) -> None:
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :it").bindparams(it=revision))
    assert not store.is_ready()
    with pytest.raises(Conflict, match=advice):
        store.migrate()
    with store.engine.connect() as connection:
        assert revision_of(connection) == revision
    assert [template for template, _ in database_problems(store.engine)] != []
