"""What it means when the database cannot be used: one error for readers, one line for the log.

A database that is locked, full, read-only, stopped or out of reach is no fault of who asks and none of
ours: the answer says so and when to ask again, nothing is kept of the request, and the next one tries anew.
"""

from __future__ import annotations

import logging
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm.exc import StaleDataError
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from app.errors import Message, Unavailable

logger = logging.getLogger("rackline.store")

UNREACHABLE = Message("the database cannot be reached; nothing was saved, try again in a moment")

BUSY = Message("the database is busy; nothing was saved, try again in a moment")

FULL = Message("the database has run out of space; nothing was saved, try again once there is space")

READ_ONLY = Message(
    "the database is read-only at the moment; nothing was saved, try again once it is writable"
)

BROKEN = Message("the database reports a disk error; nothing was saved, try again in a moment")

DAMAGED = Message(
    "the database is damaged; nothing was saved. “rackline check-store” says where; stop every server and "
    "restore the newest backup"
)

TOO_LONG = Message("the database timed out; nothing was saved, try again in a moment")

OF_SQLITE = {
    sqlite3.SQLITE_PERM: READ_ONLY,
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_NOMEM: BUSY,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_INTERRUPT: TOO_LONG,
    sqlite3.SQLITE_IOERR: BROKEN,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_CANTOPEN: UNREACHABLE,
    sqlite3.SQLITE_PROTOCOL: BUSY,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
}
"""Primary result codes (sqlite.org/rescode.html) that tell of the file and the disk, not of a statement."""

OF_POSTGRES = {
    "08": UNREACHABLE,
    "25006": READ_ONLY,
    "40001": BUSY,
    "40P01": BUSY,
    "53": BUSY,
    "53100": FULL,
    "55P03": BUSY,
    "57": UNREACHABLE,
    "57014": TOO_LONG,
    "58": BROKEN,
    "XX001": DAMAGED,
    "XX002": DAMAGED,
}
"""SQLSTATE codes, or their classes of two characters (PostgreSQL, appendix A)."""

SAID_EVERY = 30.0
"""Longest silence of the log while the database cannot be used. [s]"""

CALM = 5.0
"""So long nothing must have been refused before the database counts as usable again: while a disk is full,
what only reads succeeds. [s]"""


def reason_of(error: BaseException) -> Message | None:
    """Return why the database cannot be used; None for any other error."""
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        return None if code is None else OF_SQLITE.get(code & 0xFF)
    # Whoever has an error of the driver has loaded it.
    driver: Any = sys.modules.get("psycopg")
    if driver is not None and isinstance(error, driver.InterfaceError):
        return UNREACHABLE
    if driver is not None and isinstance(error, driver.Error):
        state: str | None = getattr(error, "sqlstate", None)
        if state is None:
            return UNREACHABLE if isinstance(error, driver.OperationalError) else None
        return OF_POSTGRES.get(state) or OF_POSTGRES.get(state[:2])
    return None


GONE = Message("it was changed or deleted at the same moment; load it again")


def is_overtaken(error: BaseException) -> bool:
    """Tell whether rows that a transaction changed or referred to went away meanwhile."""
    if isinstance(error, StaleDataError):
        return True
    original = error.orig if isinstance(error, IntegrityError) else None
    if isinstance(original, sqlite3.Error):
        return original.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
    return getattr(original, "sqlstate", None) == FOREIGN_KEY


FOREIGN_KEY = "23503"
"""SQLSTATE of a row that refers to none, or that is still referred to."""


class Outage:
    """Says once in the log why the database cannot be used, from time to time while it lasts, and its end.

    What a driver says may hold the address and the name of the user; only our own words are written.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.damaged = False
        """Whether the database has turned out to be damaged; it stays so."""
        self._clock = clock
        self._lock = threading.Lock()
        self._said: dict[str, float] = {}
        """Reason → when it was last said."""
        self._last = float("-inf")
        self._refused = 0

    def refused(self, reason: Message) -> Unavailable:
        """Count a request that could not be answered, and return its error."""
        with self._lock:
            self.damaged |= reason is DAMAGED
            self._refused += 1
            self._last = self._clock()
            if self._last - self._said.get(str(reason), float("-inf")) >= SAID_EVERY:
                self._said[str(reason)] = self._last
                logger.error("%s (%d refused so far)", reason, self._refused)
        return Unavailable(reason)

    def over(self) -> None:
        if not self._refused or self._clock() - self._last < CALM:
            return
        with self._lock:
            if self._refused:
                logger.warning("the database can be used again; %d refused meanwhile", self._refused)
            self._refused = 0
            self._said.clear()


class PatientPool(QueuePool):
    """A pool whose emptiness is the same error as that of a database out of reach."""

    def connect(self) -> PoolProxiedConnection:
        """Return a connection; waits for one as long as the pool is set to."""
        try:
            return super().connect()
        except PoolTimeout:
            raise Unavailable(BUSY) from None


def watch(engine: Engine, outage: Outage) -> None:
    """Turn the failures of an engine's database into errors of ours."""

    def translated(context: ExceptionContext) -> BaseException | None:
        original = context.original_exception
        reason = reason_of(original) if original is not None else None
        if reason is None or context.is_pre_ping:
            # A connection that has died while it lay in the pool is replaced; nobody has been refused yet.
            return None
        if reason in (READ_ONLY, BROKEN, DAMAGED):
            # What this connection holds of the file may be what is wrong.
            context.is_disconnect = True
        return outage.refused(reason)

    event.listen(engine, "handle_error", translated, retval=True)
    event.listen(engine, "commit", lambda _: outage.over())
