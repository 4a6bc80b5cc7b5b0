"""Readiness of a server and of each of its parts."""

from __future__ import annotations

import functools
import logging
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from app.engine.compiled import state
from app.errors import AppError, Message
from app.estimating.golden import disagreement
from app.platform.workspace import Installation
from app.profiles.presets import data_directory

logger = logging.getLogger("rackline.readiness")

LEAST_SPACE = 256_000_000
"""Free space of the data directory below which writing may fail soon: the largest upload. [B]"""

KEPT_SECONDS = 5.0
"""How long the check of a bucket, which is a paid request, is cached. [s]"""

NEEDED = frozenset({"server", "database", "schema"})
"""Parts without which no request can be answered."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Fault of each part; None if there is none."""

    parts: dict[str, Message | None]

    @property
    def away(self) -> dict[str, Message]:
        return {name: message for name, message in self.parts.items() if message is not None}

    @property
    def serves(self) -> bool:
        return not NEEDED & self.away.keys()


class ReadinessCheck:
    """Checks the parts of one server. Its messages name no address and no secret."""

    def __init__(self, installation: Installation, stopping: threading.Event) -> None:
        self._installation = installation
        self._stopping = stopping
        self._uploads_seen: tuple[float, Message | None] | None = None

    def look(self) -> Readiness:
        database = error_of(self._database)
        # Of a database that is away, to ask for its schema too would only wait once more.
        parts = {"database": database, "schema": database or error_of(self._schema)}
        parts |= {name: error_of(check) for name, check in self._checks().items()}
        ending = Message("the server is shutting down; use another one, or this one once it is back")
        return Readiness({"server": ending if self._stopping.is_set() else None, **parts})

    def _checks(self) -> dict[str, Callable[[], Message | None]]:
        return {
            "uploads": self._uploads,
            "disk": self._disk,
            "engine": self._engine,
        }

    def _database(self) -> None:
        self._installation.store.check()

    def _schema(self) -> Message | None:
        if self._installation.store.is_ready():
            return None
        return Message("the database schema belongs to another version of Rackline")

    def _uploads(self) -> Message | None:
        if self._installation.files is None:
            return None
        seen = self._uploads_seen
        if seen is None or time.monotonic() - seen[0] >= KEPT_SECONDS:
            seen = time.monotonic(), error_of(self._installation.files.storage.check)
            self._uploads_seen = seen
        return seen[1]

    def _disk(self) -> Message | None:
        if self._installation.files is None:
            return None
        directory = self._installation.files.directory
        while not directory.exists():
            directory = directory.parent
        free = shutil.disk_usage(directory).free
        if free >= LEAST_SPACE:
            return None
        return Message("only {megabytes} MB are free in the data directory", {"megabytes": free // 1_000_000})

    def _engine(self) -> Message | None:
        if state():
            return Message("formulas are not compiled and run some hundred times slower")
        return self._disagreement

    @functools.cached_property
    def _disagreement(self) -> Message | None:
        return disagreement(self._installation.known.sizing, data_directory())


def error_of(check: Callable[[], Message | None]) -> Message | None:
    """Return the fault of a part; a check that fails is a fault."""
    try:
        return check()
    except AppError as error:
        return error.message
    except Exception:
        logger.exception("a part of the server cannot be looked at")
        return Message("it cannot be looked at; the log says why")
