"""What every use case works with: the installation of a server, and in it one workspace."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar

from pydantic import BaseModel

from app.catalog.books import BookRow, PriceBook
from app.catalog.own import OwnAccelerator
from app.catalog.software import SoftwareProfile
from app.errors import NotFound, Unavailable, fields_at
from app.estimating.calibrated import profile_from_json
from app.estimating.context import SizingContext
from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest
from app.platform.caches import LruCache, request_key
from app.platform.catalogue import Catalogue
from app.platform.identity import SessionTimes
from app.platform.outgoing import HttpSender
from app.platform.references import existing, no_such
from app.platform.retention import Retention
from app.platform.sealing import SECRET_BYTES, Sealer
from app.platform.store.database import Store
from app.platform.store.repository import Repository
from app.platform.store.tables import (
    AcceleratorRecord,
    AcceleratorVersion,
    CalibrationRow,
    PriceBookRecord,
    Profile,
)
from app.platform.store.tables import WorkloadSample as SampleRow
from app.platform.store.upload_files import UploadFiles
from app.platform.worker_processes import WorkerProcesses
from app.profiles.model import ModelProfile
from app.profiles.samples import LengthSample

LOCAL_WORKSPACE = "ws_local"
"""The one workspace of a server without accounts."""

Answer = TypeVar("Answer")

Upload = TypeVar("Upload")

OFFERED = 50
"""Latest calibrations among which close names are looked for."""

KEPT_UPLOADS = 128
"""Uploads, calibrations and versions of price books, each, kept in memory; they never change."""

KEPT_ESTIMATES = 512
"""Estimates kept in memory; one takes some 300 kB, ten times what it takes as a document."""

KEPT_DECISIONS = 384
"""Plans, and times of plans, kept in memory; one takes some 100 kB."""

KEPT_ANSWERS = 64
"""Answers of one kind kept in memory; the largest take some 100 kB."""

KEPT_SIZINGS = 4
"""Sizings kept in memory with the samples of their options; the largest takes 10 MB."""

KEPT_PAGES = 24
"""Contents of pages, and the text they make; the largest takes 2 MB."""

KEPT_CATALOGUES = 16
"""Catalogues with accelerators of a workspace kept in memory; one takes some 10 MB once it was looked at."""

State = tuple[tuple[str, int, bool], ...]
"""Identifier and version of a workspace's accelerators, and whether they were deleted."""


def found(load: Callable[[str], Upload], field: str, identifier: str) -> Upload:
    """Return an upload that a field of a request names, or say so at that field."""
    with fields_at(lambda _: field):
        return load(identifier)


class LoadedCatalogue:
    """The catalogue that estimates are made with, and the same as documents."""

    def __init__(self, sizing: SizingContext, published: LoadedCatalogue | None = None) -> None:
        self.sizing = sizing
        self._published = published

    @cached_property
    def catalogue(self) -> Catalogue:
        return Catalogue(self.sizing, None if self._published is None else self._published.catalogue)


def accelerator(record: AcceleratorRecord, version: AcceleratorVersion) -> OwnAccelerator:
    """Return an accelerator of a workspace as the catalogue takes it."""
    return OwnAccelerator.of(
        version.document,
        id=record.id,
        version=version.version,
        as_of=version.created_at.date().isoformat(),
        stated_by=version.stated_by,
        withdrawn=record.deleted_at is not None,
    )


def _nobody() -> None:
    """Hear that there is work, where nobody does any."""


class Installation:
    """Catalogue, store and memory of one server, loaded once."""

    def __init__(self, sizing: SizingContext, store: Store, files: UploadFiles | None = None) -> None:
        self.known = LoadedCatalogue(sizing)
        self.store = store
        self.files = files
        """Uploaded files; without a directory for them only what was read is kept."""
        self.wake: Callable[[], None] = _nobody
        """Says that a job waits. A call that nobody hears loses nothing: who does jobs looks soon."""
        self.retention = Retention()
        """For how long what is kept for a time only is kept."""
        self.session_times = SessionTimes()
        """How long a session of a browser works."""
        self.sealer = Sealer(lambda: secrets.token_bytes(SECRET_BYTES))
        """Seals what must be read again; without a secret of the server, for this process alone."""
        self.workers: WorkerProcesses | None = None
        """Computes what takes long in processes of their own; nowhere but here without it."""
        self.sender = HttpSender()
        """Sends messages to webhooks."""
        self.estimates: LruCache[Estimate] = LruCache(KEPT_ESTIMATES)
        """Estimates of the options of studies, and of the points of scaling curves."""
        self.decisions: LruCache[Any] = LruCache(KEPT_DECISIONS)
        """Plans that estimates have decided on, and how long they take."""
        self.searches: LruCache[Any] = LruCache(KEPT_ANSWERS)
        """Searches of the page of plans."""
        self.choices: LruCache[Any] = LruCache(KEPT_ANSWERS)
        """Choices of networks."""
        self.queues: LruCache[Any] = LruCache(KEPT_ANSWERS)
        """Simulated waiting lines."""
        self.answers: LruCache[Any] = LruCache(KEPT_PAGES)
        """Answers of states of studies, with their estimates."""
        self.sizings: LruCache[Any] = LruCache(KEPT_SIZINGS)
        """Sizings by their question, which never change."""
        self.pages: LruCache[Any] = LruCache(KEPT_PAGES)
        """What pages show that depends on the catalogue alone, and parts of them as they are written."""
        self.catalogues: LruCache[LoadedCatalogue] = LruCache(KEPT_CATALOGUES)
        self.profiles: LruCache[ModelProfile] = LruCache(KEPT_UPLOADS)
        self.samples: LruCache[LengthSample] = LruCache(KEPT_UPLOADS)
        self.calibrations: LruCache[SoftwareProfile] = LruCache(KEPT_UPLOADS)
        self.book_versions: LruCache[PriceBook] = LruCache(KEPT_UPLOADS)

    @property
    def sizing(self) -> SizingContext:
        """Catalogue and look-ups without the accelerators of any workspace."""
        return self.known.sizing

    @sizing.setter
    def sizing(self, sizing: SizingContext) -> None:
        self.known = LoadedCatalogue(sizing)

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue as documents, without the accelerators of any workspace."""
        return self.known.catalogue

    def workspace(self, identifier: str) -> Workspace:
        return Workspace(self, identifier)

    def workspaces(self) -> Iterator[Workspace]:
        return map(self.workspace, self.store.workspaces())

    def prepare(self) -> None:
        """Bring the tables up to date and make the local workspace."""
        self.store.migrate()
        with self.store.transaction(LOCAL_WORKSPACE) as repository:
            repository.ensure_workspace("Local")

    def forget_uploads(self) -> None:
        """Let go of what is in memory of uploads, since some were deleted."""
        answers = self.answers, self.searches, self.choices, self.queues
        for cache in (self.profiles, self.samples, self.estimates, self.decisions, *answers):
            cache.clear()


class Workspace:
    """One workspace of an installation, with its accelerators as they are now.

    They are looked up when they are first needed, and are the same for as long as it is held.
    """

    def __init__(self, installation: Installation, identifier: str) -> None:
        self.installation = installation
        self.id = identifier

    def transaction(self) -> AbstractContextManager[Repository]:
        """Open the queries of the workspace; commit at the end, roll back on an exception."""
        return self.installation.store.transaction(self.id)

    @property
    def sizing(self) -> SizingContext:
        """Catalogue and look-ups, with the accelerators of the workspace."""
        return self._own[1].sizing

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue as documents, with the accelerators of the workspace."""
        return self._own[1].catalogue

    @property
    def own_state(self) -> State:
        """Accelerators of the workspace as it knows them; what depends on them is kept under it."""
        return self._own[0]

    @cached_property
    def _own(self) -> tuple[State, LoadedCatalogue]:
        state = self.installation.store.accelerators(self.id)
        published = self.installation.known
        if not state:
            return state, published
        return state, self.installation.catalogues.get((self.id, state, published), self._load_own)

    def _load_own(self) -> LoadedCatalogue:
        with self.transaction() as repository:
            own = [accelerator(record, version) for record, version in repository.accelerators.newest()]
        published = self.installation.known
        catalog = published.sizing.catalog.with_own(own)
        return LoadedCatalogue(replace(published.sizing, catalog=catalog), published)

    def context(self) -> SizingContext:
        """Return the sizing context that finds what the workspace has uploaded, calibrated and priced."""
        return replace(
            self.sizing,
            find_profile=partial(found, self.profile, "model.profile_id"),
            find_workload=partial(found, self.workload_sample, "workload.workload_id"),
            find_calibration=self._calibration_or_none,
            calibrations=self._calibrations,
            find_book=self._book,
            remember=self._remember,
        )

    def _remember(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what was decided before in the workspace: of its uploads nobody else may learn."""
        return self.installation.decisions.get((self.id, self.own_state, key), make)

    def cached(self, cache: LruCache[Any], request: BaseModel, make: Callable[[], Answer]) -> Answer:
        """Return the answer to a request, which is the same for as long as the accelerators are.

        Uploads and calibrations stay as they are under their identifier.
        """
        answer: Answer = cache.get((self.id, self.own_state, request_key(request)), make)
        return answer

    def estimate(self, request: EstimateRequest, make: Callable[[], Estimate]) -> Estimate:
        """Return an estimate, made anew where it is priced by a price book: they change."""
        if request.assumptions.price_book_id is not None:
            return make()
        return self.cached(self.installation.estimates, request, make)

    def _book(self, name: str) -> PriceBook:
        """Return a price book in its newest version, or in the one named behind an @."""
        identifier, _, version = name.partition("@")
        with self.transaction() as repository:
            record = repository.get(PriceBookRecord, identifier)
            if record is None or (version and not version.isdecimal()):
                raise no_such("price book", name)
            newest = record.version
        return self.book_version(identifier, int(version[:9]) if version else newest)

    def book_version(self, identifier: str, version: int) -> PriceBook:
        load = partial(self._load_book_version, identifier, version)
        return self.installation.book_versions.get((self.id, identifier, version), load)

    def _load_book_version(self, identifier: str, version: int) -> PriceBook:
        with self.transaction() as repository:
            row = repository.book_versions.find(identifier, version)
            if row is None:
                raise no_such("price book", f"{identifier}@{version}")
            rows = tuple(BookRow(**entry) for entry in row.rows)
            return PriceBook(identifier, row.name, version, row.created_at.date().isoformat(), rows)

    def profile(self, identifier: str) -> ModelProfile:
        """Return an uploaded model; one that was deleted, by whichever server, is not there any more."""
        with self.transaction() as repository:
            if not repository.uploads.has_profile(identifier):
                raise no_such("uploaded profile", identifier)
        return self.installation.profiles.get((self.id, identifier), partial(self._load_profile, identifier))

    def _load_profile(self, identifier: str) -> ModelProfile:
        with self.transaction() as repository:
            return ModelProfile.from_json(
                existing(repository, Profile, identifier, "uploaded profile").document
            )

    def workload_sample(self, identifier: str) -> LengthSample:
        """Return what was counted in an uploaded sample of the data, unless it was deleted."""
        with self.transaction() as repository:
            if not repository.uploads.has_sample(identifier):
                raise no_such("uploaded sample", identifier)
        return self.installation.samples.get((self.id, identifier), partial(self._load_sample, identifier))

    def _load_sample(self, identifier: str) -> LengthSample:
        with self.transaction() as repository:
            return LengthSample.from_json(
                existing(repository, SampleRow, identifier, "uploaded sample").document
            )

    def _calibration_or_none(self, identifier: str) -> SoftwareProfile | None:
        load = partial(self._load_calibration, identifier)
        try:
            return self.installation.calibrations.get((self.id, identifier), load)
        except NotFound:
            return None

    def _load_calibration(self, identifier: str) -> SoftwareProfile:
        with self.transaction() as repository:
            row = repository.get(CalibrationRow, identifier)
            if row is None or row.profile is None:
                raise no_such("calibration", identifier)
            return profile_from_json(identifier, row.profile, self.sizing.software)

    def _calibrations(self) -> list[str]:
        with self.transaction() as repository:
            rows = repository.page(CalibrationRow, OFFERED, None).rows
            return [row.id for row in rows if row.profile is not None]

    def remove_files(self, addresses: Sequence[str | None]) -> int:
        """Take files away that no row names any more, and return how many.

        What cannot go now, because of uploads under way or a store that is away, goes with the next purge.
        """
        files, gone = self.installation.files, 0
        for address in addresses:
            if files is None or address is None:
                continue
            with suppress(Unavailable), self.without_uploads() as (alone, repository):
                if alone and not repository.uploads.is_named(address):
                    files.remove(self.id, address)
                    gone += 1
        return gone

    @contextmanager
    def without_uploads(self) -> Iterator[tuple[bool, Repository]]:
        """Hold the locks of files alone, here and among machines; False where uploads are under way."""
        files = self.installation.files
        assert files is not None
        with files.alone() as alone, self.transaction() as repository:
            yield alone and repository.uploads.take_files(), repository
