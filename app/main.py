"""Wiring: settings, catalogue, store, routes."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

from app import __version__, routes
from app.errors import BadInput
from app.estimating.context import load_context
from app.features.accounts.mailing import CommandMailer
from app.features.accounts.oidc import SingleSignOn
from app.features.integrations.keys import KeyAdmission
from app.features.operation import api as operation
from app.features.operation.api import describe
from app.features.operation.readiness import ReadinessCheck
from app.features.sweeps.executors import check_dask, crew, processors
from app.jobs import Jobs
from app.platform.admission import LocalAdmission
from app.platform.identity import Identity, SessionTimes
from app.platform.outgoing import HttpSender
from app.platform.rates import ClientKind, CostClass, Rates
from app.platform.retention import Retention
from app.platform.sealing import Sealer, stored_secret
from app.platform.sessions import AccountsAdmission
from app.platform.store.database import Store
from app.platform.store.upload_files import FileDirectory, FileStorage, UploadFiles
from app.platform.web import documents as pages
from app.platform.web import problems
from app.platform.web.bodies import BodyPlaces
from app.platform.web.event_stream import Streams
from app.platform.web.observing import Observer
from app.platform.web.rendering import Assets
from app.platform.web.requirements import RateHeaders
from app.platform.web.security import HEADERS_OF_FAULTS, CurrentAccess, Guard, ServerAccess
from app.platform.worker_processes import WorkerProcesses
from app.platform.workspace import Installation
from app.profiles.presets import beside, data_directory
from app.settings import LOOPBACK, Settings
from app.telemetry import count_connections

SMALL = 1024
"""Answers below this are sent as they are. [B]"""

FAST = 5
"""Level of compression: a page of 800 kB takes half the time of the highest and comes out 5 % larger."""


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application; settings come from the environment unless given."""
    settings = settings or Settings.from_environment()
    installation = make_installation(settings)
    jobs = make_jobs(installation, settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if settings.jobs == "here":
            jobs.start()
        places = 1 + max(2, processors())
        installation.workers = WorkerProcesses(
            settings.database_url, places, app.state.rates.charge, niceness=settings.niceness
        )
        threading.Thread(target=installation.workers.start, daemon=True).start()
        # The first chart of a process need not wait for what draws it.
        threading.Thread(target=import_module, args=("plotly.graph_objects",), daemon=True).start()
        yield
        await asyncio.to_thread(jobs.stop)
        installation.store.close()

    app = FastAPI(
        title="Rackline",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.installation = installation
    identity = identity_of(settings, installation.store)
    app.state.identity = identity
    app.state.access = access_of(settings, identity)
    people = LocalAdmission(app.state.access.look, AccountsAdmission(identity))
    app.state.admission = KeyAdmission(installation.store, people)
    app.state.rates = Rates(
        quotas_of(settings), installation.store if settings.shared_limits else None, settings.rate_processor
    )
    app.state.streams = Streams()
    app.state.body_places = BodyPlaces()
    app.state.stopping = threading.Event()
    app.state.readiness = ReadinessCheck(installation, app.state.stopping)
    app.state.metrics_token = settings.metrics_token.get_secret_value()
    app.state.single_sign_on = single_sign_on_of(settings)
    app.add_middleware(RateHeaders)
    # Safe beside secrets: forms carry no token, and a key or link is shown once, in the answer to a POST that
    # other sites cannot ask for. Streams of events are left as they are.
    app.add_middleware(GZipMiddleware, minimum_size=SMALL, compresslevel=FAST)
    app.add_middleware(
        Guard,
        access=app.state.access,
        max_body=settings.max_body_bytes,
        max_upload=settings.max_upload_bytes,
    )
    app.add_middleware(Observer)
    problems.install(app, pages.problem_page, HEADERS_OF_FAULTS)
    app.router.routes += operation.router.routes
    app.router.routes += [*routes.OPEN_ROUTES, *routes.API_ROUTES, *routes.PAGE_ROUTES]
    app.state.paths = frozenset(getattr(route, "path", "") for route in app.router.routes)
    app.mount("/static", Assets(directory=beside("static")), name="static")
    describe(app)
    return app


def make_installation(settings: Settings) -> Installation:
    """Return catalogue and store, with the tables brought up to date."""
    make_data_directory(settings.data_dir)
    store = Store(settings.database_url)
    count_connections(store.engine)
    installation = Installation(load_context(data_directory()), store, upload_files_of(settings))
    installation.sender = HttpSender.of(settings.webhook_hosts, http=settings.webhook_http)
    installation.session_times = session_times_of(settings)
    installation.retention = Retention.read(settings.retention_days)
    installation.sealer = sealer_of(settings)
    installation.prepare()
    return installation


def upload_files_of(settings: Settings) -> UploadFiles:
    """Return where uploaded files are; the lock between processes of this machine is beside its data."""
    return UploadFiles(settings.data_dir / "uploads", file_storage_of(settings))


def file_storage_of(settings: Settings) -> FileStorage | None:
    """Return what keeps uploaded files instead of the data directory; None where nothing else is set."""
    if not settings.uploads.startswith("s3://"):
        return FileDirectory(Path(settings.uploads)) if settings.uploads else None
    # Few servers have one, and its client takes a while to load.
    from app.platform.store.upload_bucket import BucketAddress, FileBucket

    key = settings.s3_access_key_id, settings.s3_secret_access_key
    return FileBucket(BucketAddress.read(settings.uploads, settings.s3_endpoint, settings.s3_region, *key))


def make_jobs(installation: Installation, settings: Settings, threads: int = 1) -> Jobs:
    """Return what does the jobs of an installation once it is started."""
    if settings.dask:
        check_dask()
    jobs = Jobs(installation, partial(crew, settings.dask), settings.data_dir / "jobs.lock", threads)
    installation.wake = jobs.wake
    return jobs


def quotas_of(settings: Settings) -> dict[ClientKind, dict[CostClass, int]]:
    """Return how often a key, a person and the readers of a link may ask in a minute."""
    of_a_key = {
        CostClass.READ: settings.rate_read,
        CostClass.ESTIMATE: settings.rate_estimate,
        CostClass.SEARCH: settings.rate_search,
    }
    of_a_person = {effort: settings.rate_person * quota for effort, quota in of_a_key.items()}
    return {ClientKind.KEY: of_a_key, ClientKind.PERSON: of_a_person, ClientKind.LINK: of_a_key}


def sealer_of(settings: Settings) -> Sealer:
    """Return what seals secrets in the database, the same in every process of these settings."""
    secret = settings.secret.encode()
    fallbacks = [fallback.encode() for fallback in settings.secret_fallbacks]
    return Sealer(lambda: secret or stored_secret(settings.data_dir), fallbacks)


def identity_of(settings: Settings, store: Store) -> Identity:
    return Identity(
        store=store,
        sealer=sealer_of(settings),
        times=session_times_of(settings),
        mail=CommandMailer(settings.mail_command, settings.mail_from) if settings.mail_command else None,
        public_url=settings.public_url,
    )


def session_times_of(settings: Settings) -> SessionTimes:
    return SessionTimes(
        idle=timedelta(minutes=settings.session_idle_minutes),
        absolute=timedelta(days=settings.session_days),
    )


def reach_now(settings: Settings) -> ServerAccess:
    """Return how a server started now is reached; brings the tables up to date."""
    make_data_directory(settings.data_dir)
    store = Store(settings.database_url)
    store.migrate()
    access = access_of(settings, identity_of(settings, store))
    store.close()
    return access.now


def single_sign_on_of(settings: Settings) -> SingleSignOn | None:
    """Return the provider that people may sign in through; None where none is set."""
    if not settings.oidc_issuer:
        return None
    if not settings.oidc_client_id:
        raise BadInput.at("RACKLINE_OIDC_CLIENT_ID", "is required when RACKLINE_OIDC_ISSUER is set")
    # Few servers have one, and what it takes is slow to load.
    from app.features.accounts.oidc_provider import Provider

    provider = Provider(settings.oidc_issuer, settings.oidc_client_id, settings.oidc_client_secret)
    return SingleSignOn(provider, frozenset(settings.oidc_domains))


def access_of(settings: Settings, identity: Identity) -> CurrentAccess:
    """Return how the server is reached; without accounts by this machine alone, whatever is set."""
    access = CurrentAccess(ServerAccess(LOOPBACK), public_access(settings), identity.store.any_account)
    access.look()
    return access


def public_access(settings: Settings) -> ServerAccess:
    """Return how a server with accounts is reached."""
    hosts = LOOPBACK | ({settings.public_host} if settings.public_host else set())
    return ServerAccess(hosts, alone=False, public_url=settings.public_url, proxies=settings.proxies)


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
