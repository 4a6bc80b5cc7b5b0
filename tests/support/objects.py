"""Objects kept in a store, its clock, and what goes wrong with it, for tests below the web."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from alembic import command
from sqlalchemy import Connection, event

from app.errors import AppError
from app.features.comparisons import service as comparisons
from app.features.comparisons.model import ComparisonRequest
from app.features.proposals import service as proposals
from app.features.proposals.model import ProposalRequest
from app.features.studies.model import StudyContent
from app.platform.store import migrate
from app.platform.store.database import Store
from app.platform.store.migrate import configuration
from app.platform.store.queries import CLOCK
from app.platform.web.examples import HEAD_TO_HEAD, STUDY
from app.platform.workspace import Workspace


def damage(file: Path, table: str) -> None:
    """Overwrite the first page of a table."""
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    query = "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_master WHERE name = ?"
    page, size = connection.execute(query, (table,)).fetchone()
    connection.close()
    with file.open("r+b") as content:
        content.seek((page - 1) * size)
        content.write(b"\xff" * size)


class ShiftedClock:
    """The machine's clock with something added."""

    def __init__(self) -> None:
        self.by = timedelta(0)

    def read(self) -> datetime:
        return datetime.now(UTC) + self.by


@contextlib.contextmanager
def moved_clock() -> Iterator[ShiftedClock]:
    """Give a clock whose ``by`` can be set; the machine's own stands again afterwards."""
    clock, own = ShiftedClock(), CLOCK.read
    CLOCK.read = clock.read
    try:
        yield clock
    finally:
        CLOCK.read = own


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


ONE = "ws_one"


def at_once(asked: Callable[[int], object], times: int) -> list[AppError]:
    """Ask so many times at the same time; return what was refused."""
    together = threading.Barrier(times)

    def ask(number: int) -> AppError | None:
        together.wait(30)
        try:
            asked(number)
        except AppError as error:
            return error
        return None

    with ThreadPoolExecutor(times) as threads:
        return [found for found in threads.map(ask, range(times)) if found is not None]


def comparison_of(workspace: Workspace) -> str:
    request = ComparisonRequest.model_validate(HEAD_TO_HEAD)
    return comparisons.create_comparison(workspace, request).id


def proposal_of(workspace: Workspace, comparison: str, **named: str) -> str:
    asked = {"comparison_id": comparison, "customer": "A", "locale": "en", **named}
    return proposals.create_proposal(workspace, ProposalRequest.model_validate(asked)).id


LAYERS = b"name,kind,count,rows,inner,columns\nproject,gemm,12,128,1024,1024\n"


def study_of(profile: str, **workload: object) -> StudyContent:
    """Return a study that asks for an uploaded model."""
    base = {**STUDY["base"], "model": {"profile_id": profile}}
    base["workload"] = {"samples": 1e6, "global_batch": 256, **workload}
    return StudyContent.model_validate({**STUDY, "base": base, "options": [STUDY["options"][0]]})


def step(store: Store, revision: str) -> None:
    """Bring the tables up to a revision."""
    with store.engine.begin() as connection:
        migrate.shut_others_out(connection)
        config = configuration()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
