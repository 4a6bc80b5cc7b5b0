"""The database: migrations on an empty file, settings of SQLite, moments in UTC."""

import sqlite3
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import inspect, text
from sqlmodel import SQLModel

from app.errors import BadInput
from app.platform.store.database import Store, make_engine
from app.platform.store.migrate import WORDS, upgrade
from app.platform.store.queries import UtcDateTime, new_id, now
from app.platform.store.tables import EstimateRow
from tests.platform.store.conftest import compare_with_declaration


def test_migrations_make_every_table_on_an_empty_file(store: Store) -> None:
    made = {name for name in inspect(store.engine).get_table_names() if not name.startswith(WORDS)}
    assert made == {*SQLModel.metadata.tables, "alembic_version"}


def test_no_migration_is_missing(store: Store) -> None:
    compare_with_declaration(store.engine)


def test_migrating_twice_changes_nothing(store: Store) -> None:
    upgrade(store.engine)
    compare_with_declaration(store.engine)


OF_NO_WORKSPACE = {
    "workspace", "account", "recovery_code", "password_link", "login_attempt", "external_identity", "chore",
}  # fmt: skip
"""People may be members of several workspaces, and whoever tries to sign in is of none yet; the turns of
the server's own chores are no one's."""


def test_every_row_belongs_to_a_workspace() -> None:
    for name, table in SQLModel.metadata.tables.items():
        assert name in OF_NO_WORKSPACE or not table.columns["workspace_id"].nullable


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_sqlite_is_set_up_for_several_writers(store: Store) -> None:
    # A transaction of counts, which does not wait for the disk, leaves its connection as it was.
    with pytest.raises(BadInput), store.counting("ws_one") as repository:
        repository.rates.add("rate/ws_one/key_a", 1, 1, now())
        raise BadInput("counted no more")
    with store.engine.connect() as connection:
        found = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "foreign_keys", "busy_timeout", "synchronous")
        }
    assert found == {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 20_000, "synchronous": 2}


def test_moments_come_back_in_utc(store: Store) -> None:
    seoul = datetime(2026, 11, 21, 9, 0, tzinfo=timezone(timedelta(hours=9)))
    column, dialect = UtcDateTime(), store.engine.dialect
    bound = column.process_bind_param(seoul, dialect)
    assert bound == datetime(2026, 11, 21, 0, 0, tzinfo=UTC)
    assert column.process_result_value(datetime(2026, 11, 21), dialect) == datetime(2026, 11, 21, tzinfo=UTC)
    assert column.process_bind_param(None, dialect) is None
    assert column.process_result_value(None, dialect) is None
    with pytest.raises(ValueError, match="time zone"):
        column.process_bind_param(datetime(2026, 11, 21), dialect)


def test_a_failure_takes_back_the_whole_transaction(store: Store) -> None:
    with pytest.raises(RuntimeError), store.transaction("ws_one") as repository:
        repository.add(EstimateRow(id="est_a", label="a", request={}, document={}))
        raise RuntimeError
    with store.transaction("ws_one") as repository:
        assert repository.get(EstimateRow, "est_a") is None


@pytest.mark.parametrize("url", ["", "nonsense", "nosuch://localhost/x", "postgresql+nosuch://localhost/x"])
def test_an_unusable_address_is_an_error_that_names_the_variable(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        make_engine(url)
    assert caught.value.errors[0].field == "RACKLINE_DATABASE_URL"


def test_identifiers_are_readable_and_differ() -> None:
    made = {new_id("est") for _ in range(1000)}
    assert len(made) == 1000
    assert all(name.startswith("est_") and len(name) == 20 and name.islower() for name in made)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_the_file_is_an_ordinary_sqlite_database(store: Store, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "store.sqlite3")
    try:
        assert connection.execute("SELECT count(*) FROM workspace").fetchone() == (2,)
    finally:
        connection.close()


def test_text_that_postgresql_refuses_is_marked(store: Store) -> None:
    with store.transaction("ws_one") as repository:
        repository.add(
            EstimateRow(
                id="est_n", label="a\0b", request={"name": "c\0d", "literal": "\\u0000"}, document={"e\0": 1}
            )
        )
    with store.transaction("ws_one") as repository:
        row = repository.get(EstimateRow, "est_n")
        assert row is not None
        assert row.label == "a\ufffdb"
        assert row.request == {"name": "c\ufffdd", "literal": "\\u0000"}
        assert row.document == {"e\ufffd": 1}
