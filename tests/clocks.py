"""A clock that tests put forward and back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from app.platform.store.queries import CLOCK


class Moved:
    """The machine's clock with something added."""

    def __init__(self) -> None:
        self.by = timedelta(0)

    def read(self) -> datetime:
        return datetime.now(UTC) + self.by


@contextlib.contextmanager
def moved_clock() -> Iterator[Moved]:
    """Give a clock whose ``by`` can be set; the machine's own stands again afterwards."""
    clock, own = Moved(), CLOCK.read
    CLOCK.read = clock.read
    try:
        yield clock
    finally:
        CLOCK.read = own
