"""Wiring: settings, catalogue, store, routes."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

from app import __version__
from app.errors import BadInput
from app.executors import check_dask, crew
from app.jobs import Jobs, default_queue
from app.profiles.presets import models_directory
from app.services.admission import LocalAdmission
from app.services.workbench import Workbench
from app.settings import Settings
from app.sizing.context import load_context
from app.store.database import Store
from app.telemetry import count_connections
from app.web import api, pages, problems
from app.web.api import health, operation
from app.web.api.openapi import describe
from app.web.folders import Assets, folder
from app.web.observing import Observer
from app.web.security import Guard

SMALL = 1024
"""Answers below this are sent as they are. [B]"""

FAST = 5
"""Level of compression: a page of 800 kB takes half the time of the highest and comes out 5 % larger. [-]"""


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application; settings come from the environment unless given."""
    settings = settings or Settings.from_environment()
    bench = make_bench(settings)
    jobs = make_jobs(bench, settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if settings.jobs == "here":
            jobs.start()
        yield
        await asyncio.to_thread(jobs.stop)
        bench.store.close()

    app = FastAPI(
        title="Rackline",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        generate_unique_id_function=lambda route: route.name,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.workbench = bench
    app.state.admission = LocalAdmission()
    app.state.jobs = jobs
    app.state.stopping = threading.Event()
    app.state.metrics_token = settings.metrics_token.get_secret_value()
    app.add_middleware(GZipMiddleware, minimum_size=SMALL, compresslevel=FAST)
    app.add_middleware(
        Guard, hosts=settings.hosts, max_body=settings.max_body_bytes, max_upload=settings.max_upload_bytes
    )
    app.add_middleware(Observer)
    problems.install(app, pages.problem_page)
    app.include_router(health.router)
    app.include_router(operation.router)
    app.include_router(api.router)
    app.include_router(pages.router)
    app.mount("/static", Assets(directory=folder("static")), name="static")
    describe(app, bench)
    return app


def make_bench(settings: Settings) -> Workbench:
    """Return catalogue and store, with the tables brought up to date."""
    make_data_directory(settings.data_dir)
    store = Store(settings.database_url)
    count_connections(store.engine)
    bench = Workbench(load_context(models_directory().parent), store)
    bench.prepare()
    return bench


def make_jobs(bench: Workbench, settings: Settings, threads: int = 1) -> Jobs:
    """Return what rings for the jobs of a workbench, and does them once it is started."""
    if settings.dask:
        check_dask()
    queue = settings.queue_url or default_queue(settings.database_url, settings.data_dir)
    jobs = Jobs(bench, partial(crew, settings.dask), queue, settings.data_dir / "jobs.lock", threads)
    bench.ring = jobs.ring
    return jobs


def make_data_directory(path: Path) -> None:
    """Make the directory of the data, for its owner alone."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "it cannot be written")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise BadInput.at(
            "RACKLINE_DATA_DIR", "{path} cannot be used: {reason}", path=str(path), reason=reason
        ) from None
