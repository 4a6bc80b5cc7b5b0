"""Long work and recurring chores in the background: the only module that knows the queue.

The queue is a doorbell. What is to be done, how far it is and whose it is stands in the store; a message
carries an identifier and nothing else. A message that is lost is rung again by whoever looks after jobs,
one that comes twice finds its job claimed. The queue may therefore be thrown away at any moment.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from huey import Huey
from huey.consumer import Consumer, Scheduler
from huey.registry import Message
from huey.serializer import Serializer
from huey.storage import ConnectionPool, PostgresStorage, RedisStorage, SqliteStorage
from sqlalchemy.engine import make_url

from app.errors import BadInput, Unavailable
from app.features.operation.chores import HOUSEKEEPING, Chore, run_chore
from app.features.sweeps.run import WorkerPool
from app.features.sweeps.service import compute_sweep
from app.platform.job_running import JobClaim, Turns, Watch, Work
from app.platform.store.database import POSTGRES
from app.platform.store.migrate import QUEUE_TABLES
from app.platform.store.postgres import PostgresError, PostgresOperationalError
from app.platform.workbench import Workbench

if TYPE_CHECKING:
    import psycopg

logger = logging.getLogger("rackline.jobs")

HEARD = ("rackline.jobs", "huey.consumer", "huey.consumer.Scheduler", "huey.consumer.Worker")
"""Loggers that say so when the queue cannot be reached."""

WATCH_SECONDS = 1.0
"""Time between two looks at the jobs that have not ended. [s]"""

CHORE_SECONDS = 10.0
"""Time between two looks at the chores that are due. [s]"""

STOP_SECONDS = 5.0
"""How long the end of the server waits for jobs to be put down. [s]"""

REDIS = {"socket_connect_timeout": 5.0, "socket_timeout": 5.0}
"""How soon a Redis that went away without a word is noticed; a message is waited for 1 s at a time. [s]"""

POLL_SECONDS = 0.2
"""How often a file is asked for messages; the other queues tell by themselves. [s]"""

MADE_BY_ANOTHER = {"23505", "42710"}
"""Errors of PostgreSQL where another process makes the same table: unique_violation, duplicate_object."""


class Jobs:
    """Rings for jobs, and does them where this process is the one of its machine that does."""

    def __init__(
        self,
        bench: Workbench,
        make_pool: Callable[[], WorkerPool],
        queue: str,
        lock: Path | None = None,
        threads: int = 1,
    ) -> None:
        self._bench = bench
        self._queue = queue
        self._lock = lock
        self._threads = threads
        self._stop = threading.Event()
        self._work: Mapping[str, Work] = {"sweep": partial(compute_sweep, make_pool=make_pool)}
        self._turns = Turns(bench.store)
        self._consumers: list[Consumer] = []
        self._opening = threading.Lock()
        self._keeper = threading.Thread(target=self._keep_watch, name="jobs", daemon=True)

    def ring(self, identifier: str) -> None:
        """Say that a job waits; a queue that cannot be used is for the log, not for who asked."""
        try:
            with self._opening:
                task = self._tasks["perform"]
            task(identifier)
            let_go(self._long)
        except Exception:
            logger.exception("the queue cannot be used; the job is taken up later", extra={"job": identifier})

    def run_chore(self, name: str) -> None:
        """Ask for a chore now; where the queue cannot be used, its turn comes all the same."""
        try:
            with self._opening:
                task = self._tasks["hurry"]
            task(name)
            let_go(self._short)
        except Exception:
            logger.exception("the queue cannot be used; the chore waits for its turn", extra={"chore": name})

    def waiting(self) -> int | None:
        """Return how many messages wait; None where the queue cannot be used."""
        try:
            identifiers = self._waiting()
            let_go(self._long)
        except Exception:
            logger.exception("the queue cannot be used; how much waits in it is not known")
            return None
        return identifiers

    def start(self) -> None:
        """Begin to work as soon as no other process of this machine does."""
        self._keeper.start()

    def stop(self) -> None:
        """Put the work down for whoever comes next."""
        for consumer in self._consumers:
            consumer.stop_flag.set()
        self._stop.set()
        if self._keeper.is_alive():
            self._keeper.join(STOP_SECONDS)
        for consumer in self._consumers:
            consumer.stop(graceful=True)
            consumer.huey.storage.close()

    def _keep_watch(self) -> None:
        """Wait for the turn of this process, then look after jobs and whoever does them."""
        held = self._wait_for_turn()
        if held is None:
            return
        with held:
            watch, looked = Watch(self._bench), 0.0
            while not self._stop.is_set():
                try:
                    if not self._consumers:
                        self._consume()
                    if time.monotonic() - looked >= CHORE_SECONDS:
                        looked = time.monotonic()
                        for consumer in self._consumers:
                            consumer.check_worker_health()
                    watch.look(idle=self._waiting() == 0)
                except Unavailable:
                    # The store has said so in the log.
                    pass
                except Exception:
                    logger.exception("jobs cannot be looked after; trying again")
                self._stop.wait(WATCH_SECONDS)

    def _waiting(self) -> int:
        with self._opening:
            queue = self._long
        return int(queue.storage.queue_size())

    def _wait_for_turn(self) -> IO[bytes] | None:
        if self._lock is None:
            return Path(os.devnull).open("rb")
        file = self._lock.open("ab")
        while not self._stop.is_set():
            if locked(file):
                return file
            self._stop.wait(WATCH_SECONDS)
        file.close()
        return None

    def _consume(self) -> None:
        with self._opening:
            assert self._tasks
            delay = POLL_SECONDS if not self._long.storage.blocking else STOP_SECONDS
            self._consumers = [
                _Consumer(
                    queue,
                    workers=workers,
                    periodic=queue is self._short,
                    max_delay=delay,
                    shutdown_timeout=STOP_SECONDS,
                )
                for queue, workers in ((self._long, self._threads), (self._short, 1))
            ]
        for consumer in self._consumers:
            consumer.start()

    def _perform(self, identifier: str) -> None:
        try:
            turn = self._turns.next(identifier)
            if turn.id != identifier:
                self.ring(identifier)
            claim = JobClaim.take(
                self._bench, turn.id, lambda: self._stop.is_set() or turn.over(), turn.charge
            )
            if claim is not None:
                claim.perform(self._work)
        except Unavailable:
            # The store has said so in the log; the job goes on where it was put down.
            pass

    def _due(self, chore: Chore, moment: object) -> bool:
        try:
            return chore.due(self._bench)
        except Unavailable:
            return False

    @cached_property
    def _long(self) -> Huey:
        """The queue of jobs, which take minutes."""
        return opened("jobs", self._queue)

    @cached_property
    def _short(self) -> Huey:
        """The queue of chores, so that none waits for a job."""
        return opened("chores", self._queue)

    @cached_property
    def _tasks(self) -> dict[str, Callable[[str], Any]]:
        for chore in HOUSEKEEPING:
            decorate = self._short.periodic_task(partial(self._due, chore), name=chore.name)
            decorate(partial(run_chore, self._bench, chore.name))
        return {
            "perform": self._long.task(name="perform")(self._perform),
            "hurry": self._short.task(name="hurry")(partial(run_chore, self._bench)),
        }


class _Scheduler(Scheduler):  # type: ignore[misc]
    """Looks at chores more often than every minute."""

    periodic_task_seconds = CHORE_SECONDS


class _Consumer(Consumer):  # type: ignore[misc]
    """Leaves signals to the server it lives in."""

    scheduler_class = _Scheduler

    def _set_signal_handlers(self) -> None:
        pass


class Plain(Serializer):  # type: ignore[misc]
    """Messages as JSON: a name and identifiers. Nothing that is read can run anything."""

    def _serialize(self, data: Any) -> bytes:
        if not isinstance(data, Message):
            return json.dumps(data).encode()
        return json.dumps({"id": data.id, "name": data.name, "args": list(data.args or ())}).encode()

    def _deserialize(self, data: bytes) -> Any:
        read = json.loads(bytes(data))
        if not isinstance(read, dict):
            return read
        arguments = read.get("args")
        if not isinstance(arguments, list) or not all(isinstance(value, str) for value in arguments):
            raise ValueError("a message carries identifiers only")
        return Message(
            id=str(read.get("id")),
            name=str(read.get("name")),
            retries=0,
            retry_delay=0,
            args=arguments,
            kwargs={},
        )


class _Closing(PostgresStorage):  # type: ignore[misc]
    """Closes the connections of all threads, not those of the thread that closes alone."""

    def __init__(self, *arguments: Any, **values: Any) -> None:
        self._made: list[psycopg.Connection[Any]] = []
        self._noting = threading.Lock()
        super().__init__(*arguments, **values)

    def _connect(self) -> psycopg.Connection[Any]:
        connection: psycopg.Connection[Any] = super()._connect()
        with self._noting:
            self._made = [other for other in self._made if not other.closed] + [connection]
        return connection

    _create_connection = _connect

    def let_go(self) -> None:
        """Close the connection of this thread; one is made again where it is needed."""
        super().close()

    def close(self) -> bool:
        with self._noting:
            connections, self._made = self._made, []
        for connection in connections:
            self._close_quiet(connection)
        return bool(super().close())


def let_go(queue: Huey) -> None:
    """Keep no connection for a thread that rings now and then: a server has dozens of them."""
    if isinstance(queue.storage, _Closing):
        queue.storage.let_go()


def default_queue(database_url: str, data_dir: Path) -> str:
    """Return the queue where none is set: beside the tables on PostgreSQL, else a file."""
    if make_url(database_url).get_backend_name() == "postgresql":
        return database_url
    return f"sqlite:///{data_dir / 'queue.sqlite3'}"


def opened(name: str, address: str) -> Huey:
    """Open a queue: ``sqlite:///FILE``, ``postgresql://…`` or ``redis://…``."""
    common = {"name": name, "results": False, "serializer": Plain()}
    scheme = address.partition(":")[0].partition("+")[0]
    if scheme == "sqlite":
        return _opened_file(Path(address.removeprefix("sqlite:///")), common)
    if scheme == "postgresql":
        dsn = make_url(address).set(drivername="postgresql").render_as_string(hide_password=False)
        placed = {"storage_class": _Closing, "dsn": dsn, "table_prefix": QUEUE_TABLES, **POSTGRES}
        return _patiently(partial(Huey, **placed, **common))
    if scheme in {"redis", "rediss"}:
        if importlib.util.find_spec("redis") is None:
            raise BadInput.at(
                "RACKLINE_QUEUE_URL", "a Redis queue requires the package “redis”, which is not installed"
            )
        pool = ConnectionPool.from_url(address, **REDIS)
        return Huey(storage_class=RedisStorage, connection_pool=pool, **common)
    raise BadInput.at("RACKLINE_QUEUE_URL", "use sqlite:///FILE, postgresql://… or redis://…")


def _opened_file(path: Path, common: Mapping[str, Any]) -> Huey:
    make = partial(Huey, storage_class=SqliteStorage, filename=str(path), **common)
    try:
        return make()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        # Not a database any more. Nothing is in it that is not in the store.
        logger.warning("the queue cannot be read and is made anew", extra={"file": str(path)})
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        return make()


def _patiently(make: Callable[[], Huey]) -> Huey:
    """Open a queue on PostgreSQL; of servers that make its tables at once all but one fail at first."""
    for _ in range(4):
        try:
            return make()
        except PostgresError as error:
            if error.sqlstate not in MADE_BY_ANOTHER:
                raise
            time.sleep(POLL_SECONDS)
    return make()


def is_away(error: BaseException | None) -> bool:
    """Tell whether the server or file of a queue cannot be used now, which mends itself."""
    away = PostgresOperationalError | sqlite3.OperationalError | ConnectionError
    return isinstance(error, away) or type(error).__module__ == "redis.exceptions"


def said_shortly(record: logging.LogRecord) -> bool:
    """Make what is logged of a queue that is away a warning: where in the code it was noticed is no news."""
    if record.exc_info and is_away(record.exc_info[1]):
        record.msg = f"{record.getMessage()} ({type(record.exc_info[1]).__name__})"
        record.args = record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True


for heard in HEARD:
    logging.getLogger(heard).addFilter(said_shortly)


def locked(file: IO[bytes]) -> bool:
    """Lock a file for this process until it ends, however it ends; false where another holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
