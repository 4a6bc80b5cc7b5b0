"""A database that can be read only, for as long as a test needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, event

from app.platform.store.database import Store

READ_ONLY = {"sqlite": "PRAGMA query_only=ON", "postgresql": "SET TRANSACTION READ ONLY"}


@contextmanager
def only_read(store: Store) -> Iterator[None]:
    """Let a database refuse whatever writes, as on a disk that was mounted anew after an error."""

    def hinder(connection: Connection) -> None:
        connection.exec_driver_sql(READ_ONLY[connection.dialect.name])

    event.listen(store.engine, "begin", hinder)
    try:
        yield
    finally:
        event.remove(store.engine, "begin", hinder)
        # SQLite keeps to it as long as the connection lasts.
        store.engine.dispose()
