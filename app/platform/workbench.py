"""What every use case works with: catalogue, store and the uploads of a workspace."""

from __future__ import annotations

import copy
import hashlib
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, JsonValue

from app.catalog.books import BookRow, PriceBook
from app.catalog.own import PREFIX, OwnAccelerator
from app.catalog.software import SoftwareProfile
from app.errors import Message, NotFound, Unavailable, fields_at
from app.estimating.calibrated import profile_from_json
from app.estimating.context import SizingContext
from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest
from app.platform.apart import Apart
from app.platform.catalogue import Catalogue
from app.platform.identity import SessionTimes
from app.platform.outgoing import Sender
from app.platform.retention import Retention
from app.platform.sealing import SECRET_BYTES, Sealer
from app.platform.store.database import Store
from app.platform.store.repository import Listed, Repository
from app.platform.store.tables import (
    AcceleratorRecord,
    AcceleratorVersion,
    CalibrationRow,
    PriceBookRecord,
    Profile,
)
from app.platform.store.tables import WorkloadSample as SampleRow
from app.platform.store.upload_files import UploadFiles
from app.profiles.model import ModelProfile
from app.profiles.samples import LengthSample

Kept = TypeVar("Kept")


class LruCache(Generic[Kept]):
    """So many of what was made last by a key; the same key always stands for the same thing.

    What is given out is shared by all who ask and must not be changed. Two who ask for something new at the
    same moment make it twice: neither waits for the other.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._found: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        made = make()
        with self._lock:
            self._found[key] = made
            while len(self._found) > self._size:
                self._found.popitem(last=False)
        return made

    def clear(self) -> None:
        with self._lock:
            self._found.clear()

    def __len__(self) -> int:
        return len(self._found)


class Scoped(LruCache[Kept]):
    """A cache as those see it who work with another catalogue: theirs are kept beside the others."""

    def __init__(self, shared: LruCache[Kept], scope: Callable[[], Hashable]) -> None:
        self._shared, self._scope = shared, scope

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        scope = self._scope()
        return self._shared.get((scope, key) if scope else key, make)

    def clear(self) -> None:
        self._shared.clear()

    def __len__(self) -> int:
        return len(self._shared)


KEPT = 512
"""Estimates kept; one takes some 300 kB of memory, ten times what it takes as a document."""


def key_of(workspace_id: str, request: BaseModel) -> str:
    """Return what a request of a workspace is kept under; fields that were left out do not count."""
    body = f"{workspace_id}\n{request.model_dump_json(exclude_unset=True)}"
    return hashlib.sha256(body.encode()).hexdigest()


class EstimateCache:
    """The latest estimates by workspace and request; the same request always has the same answer.

    Uploads and calibrations stay as they are under their identifier. Price books change: what is priced by
    one is made anew.
    """

    def __init__(self, latest: LruCache[Estimate] | None = None) -> None:
        self.latest: LruCache[Estimate] = LruCache(KEPT) if latest is None else latest

    def get(self, workspace_id: str, request: EstimateRequest, make: Callable[[], Estimate]) -> Estimate:
        if request.assumptions.price_book_id is not None:
            return make()
        return self.latest.get(key_of(workspace_id, request), make)

    def clear(self) -> None:
        self.latest.clear()

    def __len__(self) -> int:
        return len(self.latest)


LOCAL_WORKSPACE = "ws_local"
"""The one workspace of a server without accounts."""

Upload = TypeVar("Upload")

OFFERED = 50
"""Latest calibrations among which close names are looked for."""

KEPT_UPLOADS = 128
"""Uploads, calibrations and versions of price books, each, kept in memory; they never change."""

KEPT_DECISIONS = 512
"""Plans, and times of plans, kept in memory; one takes some 100 kB."""

KEPT_ANSWERS = 64
"""Answers of one kind kept in memory; the largest take some 100 kB."""

KEPT_SIZINGS = 4
"""Sizings kept in memory with the samples of their options; the largest takes 10 MB."""

KEPT_PAGES = 24
"""Contents of pages, and the text they make; the largest takes 2 MB."""


def no_such(kind: str, identifier: str) -> NotFound:
    """Return the error for an identifier of ours; random ones have no close relatives to offer."""
    return NotFound(Message("there is no {kind} “{name}”", {"kind": Message(kind), "name": identifier[:80]}))


def existing(
    repository: Repository,
    table: type[Listed],
    identifier: str,
    kind: str,
    *,
    whole: bool = False,
    held: bool = False,
) -> Listed:
    """Return a row of the workspace, or say that there is none of this kind."""
    row = repository.get(table, identifier, whole=whole, held=held)
    if row is None:
        raise no_such(kind, identifier)
    return row


def found(load: Callable[[str, str], Upload], workspace_id: str, field: str, identifier: str) -> Upload:
    """Return an upload that a field of a request names, or say so at that field."""
    with fields_at(lambda _: field):
        return load(workspace_id, identifier)


KEPT_CATALOGUES = 16
"""Catalogues with accelerators of a workspace kept in memory; one takes some 10 MB once it was looked at."""

State = tuple[tuple[str, int, bool], ...]
"""Identifier and version of a workspace's accelerators, and whether they were deleted."""


SCOPED = ("decisions", "searches", "choices", "queues")
"""Caches of answers that depend on accelerators and names of a workspace."""


class Known:
    """The catalogue that estimates are made with, and the same as documents."""

    def __init__(self, sizing: SizingContext, published: Known | None = None) -> None:
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


class Workbench:
    """Catalogue and store of one server, loaded once."""

    def __init__(self, sizing: SizingContext, store: Store, files: UploadFiles | None = None) -> None:
        self._known = Known(sizing)
        self._workspace = ""
        """Whose accelerators it knows besides the catalogue; those of nobody where empty."""
        self.store = store
        self.wake: Callable[[], None] = _nobody
        """Says that a job waits. A call that nobody hears loses nothing: who does jobs looks soon."""
        self.files = files
        """Uploaded files; without a directory for them only what was read is kept."""
        self.retention = Retention()
        """For how long what is kept for a time only is kept."""
        self.session_times = SessionTimes()
        """How long a session of a browser works."""
        self.sealer = Sealer(lambda: secrets.token_bytes(SECRET_BYTES))
        """Seals what must be read again; without a secret of the server, for this process alone."""
        self.apart: Apart | None = None
        """Computes what takes long in processes of their own; nowhere but here without it."""
        self.sender = Sender()
        """Sends messages to webhooks."""
        self.estimates = EstimateCache()
        """Estimates of the options of studies, and of the points of scaling curves."""
        self.decisions: LruCache[Any] = LruCache(KEPT_DECISIONS)
        """Plans that estimates have decided on, and how long they take."""
        self.searches: LruCache[Any] = LruCache(KEPT_ANSWERS)
        """Searches of the page of plans."""
        self.choices: LruCache[Any] = LruCache(KEPT_ANSWERS)
        """Choices of networks."""
        self.queues: LruCache[Any] = LruCache(KEPT_ANSWERS)
        """Simulated waiting lines."""
        self._catalogues: LruCache[Known] = LruCache(KEPT_CATALOGUES)
        self._own: tuple[State, Known] | None = None
        self.sizings: LruCache[Any] = LruCache(KEPT_SIZINGS)
        """Sizings by their question, which never change."""
        self.pages: LruCache[Any] = LruCache(KEPT_PAGES)
        """What pages show that depends on the catalogue alone, and parts of them as they are written."""
        self._profiles: LruCache[ModelProfile] = LruCache(KEPT_UPLOADS)
        self._samples: LruCache[LengthSample] = LruCache(KEPT_UPLOADS)
        self._calibrations_kept: LruCache[SoftwareProfile] = LruCache(KEPT_UPLOADS)
        self._book_versions: LruCache[PriceBook] = LruCache(KEPT_UPLOADS)

    def of(self, workspace_id: str) -> Workbench:
        """Return the workbench of a workspace, which knows its accelerators as they are now.

        They are looked up when they are first needed, and are the same for as long as it is held.
        """
        if self._workspace == workspace_id:
            return self
        bench = copy.copy(self)
        bench._workspace, bench._own = workspace_id, None
        bench.estimates = EstimateCache(Scoped(self.estimates.latest, bench._scope))
        for name in SCOPED:
            setattr(bench, name, Scoped(getattr(self, name), bench._scope))
        return bench

    @property
    def sizing(self) -> SizingContext:
        """Catalogue and look-ups; of a workspace, with its accelerators."""
        return self._own_known()[1].sizing

    @sizing.setter
    def sizing(self, sizing: SizingContext) -> None:
        self._known = Known(sizing)

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue as documents; of a workspace, with its accelerators."""
        return self._own_known()[1].catalogue

    @property
    def published(self) -> SizingContext:
        """Catalogue and look-ups without the accelerators of any workspace."""
        return self._known.sizing

    def own_state(self) -> State:
        """Return which accelerators of the workspace it knows; what depends on them is kept under it."""
        return self._own_known()[0]

    def _scope(self) -> Hashable:
        state, _ = self._own_known()
        return (self._workspace, state) if state else None

    def _own_known(self) -> tuple[State, Known]:
        if not self._workspace:
            return (), self._known
        if self._own is None:
            with self.store.transaction(self._workspace) as repository:
                state = repository.accelerators.state()
            key = (self._workspace, state, self._known)
            self._own = state, self._catalogues.get(key, self._load_own) if state else self._known
        return self._own

    def _load_own(self) -> Known:
        with self.store.transaction(self._workspace) as repository:
            own = [accelerator(record, version) for record, version in repository.accelerators.newest()]
        sizing = self._known.sizing
        return Known(replace(sizing, catalog=sizing.catalog.with_own(own)), self._known)

    def prepare(self) -> None:
        """Bring the tables up to date and make the local workspace."""
        self.store.migrate()
        with self.store.transaction(LOCAL_WORKSPACE) as repository:
            repository.ensure_workspace("Local")

    def context(self, workspace_id: str) -> SizingContext:
        """Return the sizing context that finds the uploads of one workspace."""
        bench = self.of(workspace_id)
        return replace(
            bench.sizing,
            find_profile=partial(found, bench.profile, workspace_id, "model.profile_id"),
            find_workload=partial(found, bench.workload_sample, workspace_id, "workload.workload_id"),
            find_calibration=partial(bench._calibration_or_none, workspace_id),
            calibrations=partial(bench._calibrations, workspace_id),
            find_book=partial(bench._book, workspace_id),
            remember=partial(bench._remember, workspace_id),
        )

    def _remember(self, workspace_id: str, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what was decided before in a workspace: of its uploads nobody else may learn."""
        return self.decisions.get((workspace_id, key), make)

    def _book(self, workspace_id: str, name: str) -> PriceBook:
        """Return a price book in its newest version, or in the one named behind an @."""
        identifier, _, version = name.partition("@")
        with self.store.transaction(workspace_id) as repository:
            record = repository.get(PriceBookRecord, identifier)
            if record is None or (version and not version.isdecimal()):
                raise no_such("price book", name)
            newest = record.version
        return self.book_version(workspace_id, identifier, int(version[:9]) if version else newest)

    def book_version(self, workspace_id: str, identifier: str, version: int) -> PriceBook:
        key = (workspace_id, identifier, version)
        load = partial(self._load_book_version, workspace_id, identifier, version)
        return self._book_versions.get(key, load)

    def _load_book_version(self, workspace_id: str, identifier: str, version: int) -> PriceBook:
        with self.store.transaction(workspace_id) as repository:
            row = repository.book_versions.find(identifier, version)
            if row is None:
                raise no_such("price book", f"{identifier}@{version}")
            rows = tuple(BookRow(**entry) for entry in row.rows)
            return PriceBook(identifier, row.name, version, row.created_at.date().isoformat(), rows)

    def profile(self, workspace_id: str, identifier: str) -> ModelProfile:
        """Return an uploaded model; one that was deleted, by whichever server, is not there any more."""
        with self.store.transaction(workspace_id) as repository:
            if not repository.uploads.has_profile(identifier):
                raise no_such("uploaded profile", identifier)
        key = (workspace_id, identifier)
        return self._profiles.get(key, partial(self._load_profile, workspace_id, identifier))

    def workload_sample(self, workspace_id: str, identifier: str) -> LengthSample:
        """Return what was counted in an uploaded sample of the data, unless it was deleted."""
        with self.store.transaction(workspace_id) as repository:
            if not repository.uploads.has_sample(identifier):
                raise no_such("uploaded sample", identifier)
        key = (workspace_id, identifier)
        return self._samples.get(key, partial(self._load_workload_sample, workspace_id, identifier))

    def forget_uploads(self) -> None:
        """Let go of what is in memory of uploads, since some were deleted."""
        self._profiles.clear()
        self._samples.clear()
        self.estimates.clear()
        for name in SCOPED:
            getattr(self, name).clear()

    def _load_profile(self, workspace_id: str, identifier: str) -> ModelProfile:
        with self.store.transaction(workspace_id) as repository:
            return ModelProfile.from_json(
                existing(repository, Profile, identifier, "uploaded profile").document
            )

    def _load_workload_sample(self, workspace_id: str, identifier: str) -> LengthSample:
        with self.store.transaction(workspace_id) as repository:
            return LengthSample.from_json(
                existing(repository, SampleRow, identifier, "uploaded sample").document
            )

    def _calibration_or_none(self, workspace_id: str, identifier: str) -> SoftwareProfile | None:
        key = (workspace_id, identifier)
        try:
            return self._calibrations_kept.get(key, partial(self._load_calibration, workspace_id, identifier))
        except NotFound:
            return None

    def _load_calibration(self, workspace_id: str, identifier: str) -> SoftwareProfile:
        with self.store.transaction(workspace_id) as repository:
            row = repository.get(CalibrationRow, identifier)
            if row is None or row.profile is None:
                raise no_such("calibration", identifier)
            return profile_from_json(identifier, row.profile, self.sizing.software)

    def _calibrations(self, workspace_id: str) -> list[str]:
        with self.store.transaction(workspace_id) as repository:
            rows = repository.page(CalibrationRow, OFFERED, None).rows
            return [row.id for row in rows if row.profile is not None]


STOOD_ON: Mapping[str, str] = {
    "profile_id": "uploaded profile",
    "workload_id": "uploaded sample",
    "price_book_id": "price book",
    "comparison_id": "comparison",
    "estimate_id": "estimate",
    "study_id": "study",
}
"""Field of a request → what it names, which must still be there when what is made from it is kept."""

OWN = re.compile(PREFIX + "[a-z2-7]{16}")
"""An accelerator of a workspace, which many fields may name."""


def hold_named(repository: Repository, document: JsonValue) -> None:
    """Keep what a document names where it is until the document is kept too, or say what is gone.

    Whoever deletes holds the workspace as well before they look at what stands on it.
    """
    named = sorted(set(named_in(document)))
    if named:
        repository.hold()
    for kind, name in named:
        # A price book may be named with its version.
        if repository.holds(name.partition("@")[0]) is False:
            raise no_such(kind, name)


def named_in(document: JsonValue) -> Iterator[tuple[str, str]]:
    """Return kind and identifier of what a document names."""
    if isinstance(document, str):
        if OWN.fullmatch(document):
            yield "accelerator", document
    elif isinstance(document, list):
        for part in document:
            yield from named_in(part)
    elif isinstance(document, dict):
        for field, part in document.items():
            if field in STOOD_ON and isinstance(part, str):
                yield STOOD_ON[field], part
            else:
                yield from named_in(part)


def remove_files(bench: Workbench, workspace_id: str, addresses: Sequence[str | None]) -> int:
    """Take files away that no row names any more, and return how many.

    What cannot go now, because of uploads under way or a store that is away, goes with the next purge.
    """
    gone = 0
    for address in addresses:
        if bench.files is None or address is None:
            continue
        with suppress(Unavailable), nobody_uploads(bench, workspace_id) as (alone, repository):
            if alone and not repository.uploads.is_named(address):
                bench.files.remove(workspace_id, address)
                gone += 1
    return gone


@contextmanager
def nobody_uploads(bench: Workbench, workspace_id: str) -> Iterator[tuple[bool, Repository]]:
    """Hold the locks of files alone, here and among machines; False where uploads are under way."""
    assert bench.files is not None
    with bench.files.alone() as alone, bench.store.transaction(workspace_id) as repository:
        yield alone and repository.uploads.take_files(), repository
