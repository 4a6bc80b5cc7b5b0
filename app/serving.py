"""Serve by one process or several, do jobs by a process of its own, and end in good order.

Several processes share one listening socket. Their parent starts one anew that has died and ends them
all when it ends itself, however it ends: what is killed leaves nobody behind that holds the port.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType

import uvicorn
from prometheus_client.multiprocess import mark_process_dead

from app.main import create_app, make_installation, make_jobs
from app.platform.web.security import BOUNDS
from app.platform.worker_processes import leave_with_parent
from app.settings import Settings
from app.telemetry import set_up_logs

logger = logging.getLogger("rackline.server")

HURRIED = 5.0
"""A process that dies sooner than this is started again only after a pause. [s]"""


class Server(uvicorn.Server):
    """Tells the application at once that it ends, so that streams let go and balancers look elsewhere."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the end: accept nothing more, finish what is under way."""
        stopping: threading.Event = self.config.app.state.stopping  # type: ignore[union-attr]
        stopping.set()
        super().handle_exit(sig, frame)


SELDOM = (20_000, 10, 10)
"""New objects after which garbage is looked for, and how often it is among older ones too."""


def settle() -> None:
    """Take what is loaded for lasting, and look for garbage seldom: each look through all that is kept stops
    every answer for a tenth of a second, and stopped every thirteenth page.
    """
    gc.freeze()
    gc.set_threshold(*SELDOM)


SWITCH_SECONDS = 0.0005
"""How long a thread that computes keeps the interpreter from one that answers. [s]"""

M_ARENA_MAX, M_MMAP_THRESHOLD = -8, -3
"""Options of ``mallopt``, as ``malloc.h`` numbers them."""


def limit_arenas() -> None:
    """Have threads share two arenas of glibc's allocator, and give freed blocks of 1 MiB back at once.

    By default it makes up to eight arenas for each processor, and what is freed in one is of no use to a
    thread of another.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 2)
        mallopt(M_MMAP_THRESHOLD, 1 << 20)


def serve_here(listener: socket.socket, settings: Settings) -> None:
    """Serve by this process until it is told to end."""
    limit_arenas()
    sys.setswitchinterval(SWITCH_SECONDS)
    app = create_app(settings)
    settle()
    config = uvicorn.Config(
        app,
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=settings.stop_seconds,
        **BOUNDS,
    )
    Server(config).run(sockets=[listener])


def serve_by_several(listener: socket.socket, settings: Settings, workers: int) -> None:
    """Serve by several processes until this one is told to end."""
    with gathered_metrics(settings.data_dir, listener.getsockname()[1]), told_to_end() as ending:
        crew = {_start(listener, settings): time.monotonic() for _ in range(workers)}
        while not ending.is_set():
            wait([process.sentinel for process in crew], timeout=0.5)
            for process, since in list(crew.items()):
                if process.is_alive() or ending.is_set():
                    continue
                logger.warning("a process of the server has ended", extra={"code": process.exitcode})
                mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
                if time.monotonic() - since < HURRIED and ending.wait(HURRIED):
                    break
                del crew[process]
                crew[_start(listener, settings)] = time.monotonic()
        for process in crew:
            process.terminate()
        deadline = time.monotonic() + settings.stop_seconds + HURRIED
        for process in crew:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()


def work(settings: Settings, threads: int) -> None:
    """Do jobs by this process until it is told to end."""
    installation = make_installation(settings)
    jobs = make_jobs(installation, settings, threads)
    with told_to_end() as ending:
        jobs.start()
        logger.info("doing jobs", extra={"threads": threads})
        ending.wait()
        jobs.stop()
    installation.store.close()


@contextlib.contextmanager
def gathered_metrics(data_dir: Path, port: int) -> Iterator[None]:
    """Let the processes to come write their figures where each can read those of all."""
    folder = data_dir / f"metrics-{port}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    try:
        yield
    finally:
        del os.environ["PROMETHEUS_MULTIPROC_DIR"]
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def told_to_end() -> Iterator[threading.Event]:
    ending = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: ending.set()) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(listener: socket.socket, settings: Settings) -> SpawnProcess:
    process = multiprocessing.get_context("spawn").Process(target=_serve_with, args=(listener, settings))
    process.start()
    return process


def _serve_with(listener: socket.socket, settings: Settings) -> None:
    """Serve as one of several processes."""
    leave_with_parent()
    set_up_logs(settings.log, settings.log_level)
    # Ctrl-C reaches the whole group; the parent tells when it is time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve_here(listener, settings)
