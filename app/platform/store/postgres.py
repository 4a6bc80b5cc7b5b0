"""Errors of PostgreSQL, which are there where its driver is not: nothing raises them then."""

from __future__ import annotations

try:
    from psycopg import Error as PostgresError
    from psycopg import InterfaceError as PostgresInterfaceError
    from psycopg import OperationalError as PostgresOperationalError
except ModuleNotFoundError:

    class PostgresError(Exception):  # type: ignore[no-redef]
        """Any error of the driver."""

        sqlstate: str | None = None

    class PostgresInterfaceError(PostgresError):  # type: ignore[no-redef]
        """The driver was used in a way it cannot be."""

    class PostgresOperationalError(PostgresError):  # type: ignore[no-redef]
        """The server cannot do what it should."""


__all__ = ["PostgresError", "PostgresInterfaceError", "PostgresOperationalError"]
