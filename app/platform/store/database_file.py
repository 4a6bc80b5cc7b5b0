"""The file of a SQLite database: for its owner alone, and where it was as long as a server works on it.

What is written to a file that was taken away is lost, and what is written to one put in its place mixes with
what the old one left in its write-ahead log.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from app.errors import Message
from app.platform.store.failures import Outage

MOVED = Message(
    "the database file was removed, replaced or cut short while the server ran; nothing was saved. Put it "
    "back, or stop every server, remove the files ending in -wal and -shm beside the new one, and start again"
)


class DatabaseFile:
    """The file as this process has found it first."""

    def __init__(self, path: Path, outage: Outage) -> None:
        self._path = path
        self._outage = outage
        self._identity: tuple[int, int] | None = None
        self._size = 0

    def guard(self, engine: Engine) -> None:
        """Look at the file before every connection and every use of one."""
        event.listen(engine, "do_connect", self._before_connecting)
        event.listen(engine, "checkout", lambda *_: self.check())
        event.listen(engine, "invalidate", let_go)

    def check(self) -> None:
        """Raise unless the file is the one that was found first, and no shorter than it was."""
        # Read before: others may see the file grow meanwhile.
        least = self._size
        try:
            found = self._path.stat()
        except OSError:
            if self._identity is None:
                # SQLite says what is wrong.
                return
            raise self._outage.refused(MOVED) from None
        identity = found.st_dev, found.st_ino
        if identity != (self._identity or identity) or found.st_size < least:
            raise self._outage.refused(MOVED)
        self._identity, self._size = identity, found.st_size

    def _before_connecting(self, *_: Any) -> None:
        if self._identity is None:
            # SQLite gives the files beside it the rights of this one. Never one that is there: to close it
            # would let go of the locks that other connections of this process hold.
            with contextlib.suppress(OSError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self.check()


def let_go(connection: sqlite3.Connection, *_: Any) -> None:
    """End the transaction of a connection that is given up: closed alone, it would keep its lock."""
    with contextlib.suppress(sqlite3.Error):
        connection.rollback()
