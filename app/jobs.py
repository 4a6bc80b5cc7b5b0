"""Jobs and recurring chores in the background: the only module that knows the queue.

The queue only notifies: jobs and their progress are in the store, and a message carries an identifier. A lost
message is sent again by the process that watches jobs, and a repeated one finds its job claimed. The queue
may therefore be deleted at any time.
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
from app.platform.store.postgres import PostgresError, PostgresOperationalError
from app.platform.workbench import Workbench

if TYPE_CHECKING:
    import psycopg

logger = logging.getLogger("rackline.jobs")

LOGGERS = ("rackline.jobs", "huey.consumer", "huey.consumer.Scheduler", "huey.consumer.Worker")
"""Loggers of errors about a queue that cannot be reached."""

WATCH_SECONDS = 1.0
"""Interval between checks of the jobs that have not ended. [s]"""

CHORE_SECONDS = 10.0
"""Interval between checks for due chores. [s]"""

STOP_SECONDS = 5.0
"""Longest wait for jobs to stop when the server ends. [s]"""

REDIS = {"socket_connect_timeout": 5.0, "socket_timeout": 5.0}
"""Timeouts after which a silent Redis counts as gone; each wait for a message takes 1 s. [s]"""

POLL_SECONDS = 0.2
"""Interval between reads of a queue in a file; the other queues block instead. [s]"""

CREATED_MEANWHILE = {"23505", "42710"}
"""PostgreSQL errors if another process creates the same table: unique_violation, duplicate_object."""


class Jobs:
    """Notifies of jobs, and performs them in one process of each machine."""

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
        self._watcher = threading.Thread(target=self._watch, name="jobs", daemon=True)

    def ring(self, identifier: str) -> None:
        """Notify of a waiting job; errors of the queue are logged, since the job is taken up anyway."""
        try:
            with self._opening:
                task = self._tasks["perform"]
            task(identifier)
            disconnect(self._long)
        except Exception:
            logger.exception("the queue cannot be used; the job is taken up later", extra={"job": identifier})

    def run_chore(self, name: str) -> None:
        """Request a chore now; errors of the queue are logged, since the chore becomes due anyway."""
        try:
            with self._opening:
                task = self._tasks["hurry"]
            task(name)
            disconnect(self._short)
        except Exception:
            logger.exception("the queue cannot be used; the chore waits for its turn", extra={"chore": name})

    def waiting(self) -> int | None:
        """Return the number of waiting messages; None if the queue cannot be used."""
        try:
            messages = self._waiting()
            disconnect(self._long)
        except Exception:
            logger.exception("the queue cannot be used; how much waits in it is not known")
            return None
        return messages

    def start(self) -> None:
        """Start to work as soon as no other process of this machine does."""
        self._watcher.start()

    def stop(self) -> None:
        """Stop working; other processes go on with the jobs."""
        for consumer in self._consumers:
            consumer.stop_flag.set()
        self._stop.set()
        if self._watcher.is_alive():
            self._watcher.join(STOP_SECONDS)
        for consumer in self._consumers:
            consumer.stop(graceful=True)
            consumer.huey.storage.close()

    def _watch(self) -> None:
        """Wait for the lock of this machine, then watch over jobs and consumers."""
        lock = self._wait_for_lock()
        if lock is None:
            return
        with lock:
            watch, checked_at = Watch(self._bench), 0.0
            while not self._stop.is_set():
                try:
                    if not self._consumers:
                        self._consume()
                    if time.monotonic() - checked_at >= CHORE_SECONDS:
                        checked_at = time.monotonic()
                        for consumer in self._consumers:
                            consumer.check_worker_health()
                    watch.look(idle=self._waiting() == 0)
                except Unavailable:
                    # Logged by the store.
                    pass
                except Exception:
                    logger.exception("jobs cannot be looked after; trying again")
                self._stop.wait(WATCH_SECONDS)

    def _waiting(self) -> int:
        with self._opening:
            queue = self._long
        return int(queue.storage.queue_size())

    def _wait_for_lock(self) -> IO[bytes] | None:
        if self._lock is None:
            return Path(os.devnull).open("rb")
        file = self._lock.open("ab")
        while not self._stop.is_set():
            if try_lock(file):
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
            # Logged by the store; the job is resumed later.
            pass

    def _due(self, chore: Chore, moment: object) -> bool:
        try:
            return chore.due(self._bench)
        except Unavailable:
            return False

    @cached_property
    def _long(self) -> Huey:
        """The queue of jobs, which take minutes."""
        return open_queue("jobs", self._queue)

    @cached_property
    def _short(self) -> Huey:
        """The queue of chores, so that they do not wait for jobs."""
        return open_queue("chores", self._queue)

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
    """Checks for due chores more often than every minute."""

    periodic_task_seconds = CHORE_SECONDS


class _Consumer(Consumer):  # type: ignore[misc]
    """Leaves signals to the server."""

    scheduler_class = _Scheduler

    def _set_signal_handlers(self) -> None:
        pass


class JsonSerializer(Serializer):  # type: ignore[misc]
    """Messages as JSON instead of pickles, so that reading one cannot run code."""

    def _serialize(self, data: Any) -> bytes:
        if not isinstance(data, Message):
            return json.dumps(data).encode()
        return json.dumps({"id": data.id, "name": data.name, "args": list(data.args or ())}).encode()

    def _deserialize(self, data: bytes) -> Any:
        message = json.loads(bytes(data))
        if not isinstance(message, dict):
            return message
        arguments = message.get("args")
        if not isinstance(arguments, list) or not all(isinstance(value, str) for value in arguments):
            raise ValueError("a message carries identifiers only")
        return Message(
            id=str(message.get("id")),
            name=str(message.get("name")),
            retries=0,
            retry_delay=0,
            args=arguments,
            kwargs={},
        )


class _PostgresStorage(PostgresStorage):  # type: ignore[misc]
    """Closes the connections of all threads, not only that of the calling thread."""

    _conn: psycopg.Connection[Any] | None

    def __init__(self, *arguments: Any, **values: Any) -> None:
        self._connections: list[psycopg.Connection[Any]] = []
        self._lock = threading.Lock()
        super().__init__(*arguments, **values)

    def _connect(self) -> psycopg.Connection[Any]:
        connection: psycopg.Connection[Any] = super()._connect()
        with self._lock:
            self._connections = [other for other in self._connections if not other.closed] + [connection]
        return connection

    _create_connection = _connect

    def disconnect(self) -> None:
        """Close the connection that threads notify with until it is used again."""
        # Under the lock even the question whether there is one: another thread may be closing it.
        with self.lock:
            if self._conn is not None:
                self._close_quiet(self._conn)
                self._conn = None

    def close(self) -> bool:
        with self._lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            self._close_quiet(connection)
        self.disconnect()
        return True


def disconnect(queue: Huey) -> None:
    """Close the connection of a queue, since a server rarely notifies."""
    if isinstance(queue.storage, _PostgresStorage):
        queue.storage.disconnect()


def default_queue(database_url: str, data_dir: Path) -> str:
    """Return the address of the default queue: the PostgreSQL database, else a file."""
    if make_url(database_url).get_backend_name() == "postgresql":
        return database_url
    return f"sqlite:///{data_dir / 'queue.sqlite3'}"


def open_queue(name: str, address: str) -> Huey:
    """Open a queue: ``sqlite:///FILE``, ``postgresql://…`` or ``redis://…``."""
    common = {"name": name, "results": False, "serializer": JsonSerializer()}
    scheme = address.partition(":")[0].partition("+")[0]
    if scheme == "sqlite":
        return _open_file(Path(address.removeprefix("sqlite:///")), common)
    if scheme == "postgresql":
        dsn = make_url(address).set(drivername="postgresql").render_as_string(hide_password=False)
        options = {
            "storage_class": _PostgresStorage,
            "dsn": dsn,
            "table_prefix": "rackline_queue",
            **POSTGRES,
        }
        return _open_postgres(partial(Huey, **options, **common))
    if scheme in {"redis", "rediss"}:
        if importlib.util.find_spec("redis") is None:
            raise BadInput.at(
                "RACKLINE_QUEUE_URL", "a Redis queue requires the package “redis”, which is not installed"
            )
        pool = ConnectionPool.from_url(address, **REDIS)
        return Huey(storage_class=RedisStorage, connection_pool=pool, **common)
    raise BadInput.at("RACKLINE_QUEUE_URL", "use sqlite:///FILE, postgresql://… or redis://…")


def _open_file(path: Path, common: Mapping[str, Any]) -> Huey:
    make = partial(Huey, storage_class=SqliteStorage, filename=str(path), **common)
    try:
        return make()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        # No longer a database; all that matters is in the store.
        logger.warning("the queue cannot be read and is made anew", extra={"file": str(path)})
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        return make()


def _open_postgres(make: Callable[[], Huey]) -> Huey:
    """Open a queue on PostgreSQL, again if another process creates its tables at the same time."""
    for _ in range(4):
        try:
            return make()
        except PostgresError as error:
            if error.sqlstate not in CREATED_MEANWHILE:
                raise
            time.sleep(POLL_SECONDS)
    return make()


def is_away(error: BaseException | None) -> bool:
    """Return whether an error means that the server or file of a queue is temporarily unavailable."""
    away = PostgresOperationalError | sqlite3.OperationalError | ConnectionError
    return isinstance(error, away) or type(error).__module__ == "redis.exceptions"


def shorten(record: logging.LogRecord) -> bool:
    """Log an unavailable queue as a warning without traceback."""
    if record.exc_info and is_away(record.exc_info[1]):
        record.msg = f"{record.getMessage()} ({type(record.exc_info[1]).__name__})"
        record.args = record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True


for logger_name in LOGGERS:
    logging.getLogger(logger_name).addFilter(shorten)


def try_lock(file: IO[bytes]) -> bool:
    """Lock a file until this process ends; return whether no other process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
