"""Work that is killed at each of its steps: what is found afterwards is whole, and it can be done again.

A step is a statement that changes the database, a commit, a change of a file, or one of :data:`MARKED`. The
work runs in a process forked for it, which tells each step before it does it, and kills itself at the one
that it is given.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sa
from sqlalchemy.engine import make_url

from app.engine import compiled
from app.errors import Conflict
from app.features.comparisons.model import ComparisonRequest
from app.features.comparisons.service import create_comparison
from app.features.operation.chores import purge, tidy_integration
from app.features.operation.store_check import check_store
from app.features.proposals import service as proposals
from app.features.proposals.model import Proposal, ProposalRequest
from app.features.uploads import service as uploads
from app.platform.store.database import Store
from app.platform.store.database_copy import copy_database
from app.platform.store.migrate import REVISIONS, database_problems, revision_of
from app.platform.store.queries import now
from app.platform.store.upload_bucket import FileBucket
from app.platform.store.upload_files import NAME, FileStorage, UploadFiles
from app.platform.workspace import LOCAL_WORKSPACE, Installation
from tests.conftest import sizing_context
from tests.platform.store.conftest import Row, contents, release
from tests.support.buckets import Bucket
from tests.support.postgres import PostgresCluster

LAYERS = b"name,kind,count,rows,inner,columns\nproject,gemm,12,128,1024,1024\n"

CUSTOMER = "Customer A"

OURS = "kept/"
"""Prefix of our objects in the bucket."""

CHANGES = ("INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "BEGIN")

FILES = ("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "open")
"""Events of the interpreter (PEP 578) that change files; ``open`` where it is for writing."""

MARKED: Sequence[tuple[Any, str]] = (
    (FileBucket, "put"),
    (proposals, "proposal_pdf"),
)
"""What else is a step when it is called."""

END = "end"
"""Last step: everything is done, and nobody has been told."""


def document(proposal: Proposal) -> bytes:
    """Stand for the PDF, whose renderer has threads that no forked process has."""
    return f"%PDF {proposal.content.customer} {proposal.sha256}".encode()


def run_until(work: Callable[[], object], folder: Path, at: int | str | None) -> tuple[int, list[str]]:
    """Do work that is killed at a step, given by place or by name; return how it ended, and the steps."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            step = WorkSteps(write, folder, at)
            step.watch()
            work()
            step(END)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as told:
        steps = told.read().split()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), steps


class WorkSteps:
    """Tells each step, and kills its process at one of them."""

    def __init__(self, told: int, folder: Path, at: int | str | None) -> None:
        self._told, self._folder, self._at, self._count = told, str(folder), at, 0

    def __call__(self, name: str) -> None:
        os.write(self._told, f"{name}\n".encode())
        if self._at in {self._count, name}:
            os.kill(os.getpid(), signal.SIGKILL)
        self._count += 1

    def watch(self) -> None:
        sa.event.listen(sa.Engine, "before_cursor_execute", self._statement)
        sa.event.listen(sa.Engine, "commit", lambda _: self("commit"))
        for where, name in MARKED:
            setattr(where, name, self._marked(name, getattr(where, name)))
        sys.addaudithook(self._heard)

    def _statement(self, _: object, __: object, statement: str, *___: object) -> None:
        word = statement.split(None, 1)[0].upper()
        if word in CHANGES:
            self(word)

    def _marked(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def marked(*values: Any, **named: Any) -> Any:
            self(name)
            return call(*values, **named)

        return marked

    def _heard(self, event: str, values: tuple[Any, ...]) -> None:
        if event not in FILES:
            return
        if event == "open" and not (isinstance(values[2], int) and values[2] & (os.O_WRONLY | os.O_RDWR)):
            return
        # What is removed with its folder is named from there.
        relative = event in {"os.remove", "os.rmdir"} and values[-1] not in {-1, None}
        if relative or str(values[0]).startswith(self._folder):
            self(event)


@dataclass
class Objects:
    """The bucket as this process sees it: its client has threads, too."""

    bucket: Bucket

    def put(self, name: str, content: bytes) -> None:
        self.bucket.objects[OURS + name] = content

    def size(self, name: str) -> int | None:
        content = self.bucket.objects.get(OURS + name)
        return None if content is None else len(content)

    def open(self, name: str) -> BinaryIO | None:
        content = self.bucket.objects.get(OURS + name)
        return None if content is None else io.BytesIO(content)

    def delete(self, name: str) -> None:
        self.bucket.objects.pop(OURS + name, None)

    def names(self) -> Iterator[str]:
        yield from [name.removeprefix(OURS) for name in self.bucket.objects]

    def place(self, name: str) -> str:
        return name

    def check(self) -> None:
        pass


@dataclass
class WorkPlace:
    """A folder, a database, perhaps a bucket, and what stands in them."""

    folder: Path
    url: str
    server: PostgresCluster | None = None
    """Has its database; without one a file has it."""
    bucket: Bucket | None = None
    known: dict[str, Any] = field(default_factory=dict)

    def empty(self, data: str) -> str:
        """Return a database that is empty, of its own or in a folder of data."""
        if self.server is not None:
            return self.server.make()
        return f"sqlite:///{self.folder / data / 'rackline.sqlite3'}"

    def copy(self, folder: Path) -> WorkPlace:
        """Return the same installation once more."""
        shutil.copytree(self.folder, folder)
        if self.bucket is not None:
            self.bucket.objects.clear()
            self.bucket.objects.update(self.known["objects"])
        url = self.url.replace(str(self.folder), str(folder))
        if self.server is not None:
            url = self.server.make(make_url(self.url).database or "")
        made = WorkPlace(folder, url, self.server, self.bucket, dict(self.known))
        if "copy" in self.known:
            made.known["copy"] = made.empty("copied")
        return made

    def drop(self) -> None:
        shutil.rmtree(self.folder)
        if self.server is not None:
            for url in (self.url, self.known.get("copy", self.url)):
                self.server.drop(url)

    def files(self, *, here: bool, folder: Path | None = None) -> UploadFiles:
        storage: FileStorage | None = None
        if self.bucket is not None:
            storage = Objects(self.bucket) if here else self.bucket.storage()
        return UploadFiles((folder or self.folder / "data") / "uploads", storage)

    def installation(self, *, here: bool = False) -> Installation:
        return Installation(sizing_context(), Store(self.url), self.files(here=here))

    def fill(self) -> None:
        """Keep a model with its file, a frozen proposal and a draft."""
        installation = self.installation(here=True)
        installation.prepare()
        uploads.upload_profile(installation.workspace(LOCAL_WORKSPACE), "layers.csv", LAYERS)
        rows = [{"label": f"{CUSTOMER} {place}", "hours": place, "kind": "measured"} for place in (1, 2)]
        asked = ComparisonRequest.model_validate({"title": f"For {CUSTOMER}", "rows": rows})
        made = create_comparison(installation.workspace(LOCAL_WORKSPACE), asked)
        terms = {"comparison_id": made.id, "customer": CUSTOMER, "locale": "en", "currency": "USD"}
        request = ProposalRequest.model_validate({**terms, "title": "Offer", "reason": "Fast"})
        frozen, draft = (
            proposals.create_proposal(installation.workspace(LOCAL_WORKSPACE), request).id for _ in range(2)
        )
        proposals.freeze_proposal(installation.workspace(LOCAL_WORKSPACE), frozen)
        self.known = {"frozen": frozen, "draft": draft}
        installation.store.close()

    def rows(self, url: str = "") -> dict[str, list[Row]]:
        engine = sa.create_engine(url or self.url)
        with engine.connect() as connection:
            found = contents(connection)
        engine.dispose()
        return found

    def started_again(self) -> Installation:
        """Start, do what a server does from time to time, and find everything whole."""
        installation = self.installation(here=True)
        installation.prepare()
        tidy_integration(installation)
        purge(installation, now())
        assert [fault.message for fault in check_store(installation)] == []
        return installation


class InterruptedWork:
    """Something that may be killed."""

    decisive: str
    """Name of the step that the small test is killed at, when it comes for the first time."""

    def begin(self, place: WorkPlace) -> None:
        """See to what the work needs beside what every installation has."""

    def run(self, place: WorkPlace) -> object:
        """Do it, in the process that is killed."""
        raise NotImplementedError

    def check(self, place: WorkPlace) -> None:
        """Hold what is there against what may be, and do it to the end."""
        raise NotImplementedError


class Freeze(InterruptedWork):
    decisive = "INSERT"

    def run(self, place: WorkPlace) -> object:
        return proposals.freeze_proposal(
            place.installation().workspace(LOCAL_WORKSPACE), place.known["draft"]
        )

    def check(self, place: WorkPlace) -> None:
        installation, draft = place.started_again(), place.known["draft"]
        assert proposals.get_proposal(installation.workspace(LOCAL_WORKSPACE), draft).status in {
            "draft",
            "frozen",
        }
        frozen = proposals.freeze_proposal(installation.workspace(LOCAL_WORKSPACE), draft)
        proposal = proposals.get_proposal(installation.workspace(LOCAL_WORKSPACE), draft)
        assert (proposal.status, proposal.sha256) == ("frozen", frozen.sha256)
        assert proposals.pdf_of(installation.workspace(LOCAL_WORKSPACE), proposal) == document(proposal)
        events = [
            event.kind
            for event in proposals.list_events(installation.workspace(LOCAL_WORKSPACE), draft).items
        ]
        assert events.count("frozen") == 1
        installation.store.close()


class Copy(InterruptedWork):
    decisive = "commit"

    def begin(self, place: WorkPlace) -> None:
        place.known["copy"] = place.empty("copied")

    def copy_to(self, place: WorkPlace, *, here: bool) -> object:
        (place.folder / "copied").mkdir(exist_ok=True)
        target = UploadFiles(place.folder / "copied" / "uploads")
        return copy_database(place.url, place.known["copy"], [place.files(here=here)], target)

    def run(self, place: WorkPlace) -> object:
        return self.copy_to(place, here=False)

    def check(self, place: WorkPlace) -> None:
        try:
            self.copy_to(place, here=True)
        except Conflict as conflict:
            # It was done before: then everything is there.
            assert "has rows" in str(conflict)
        files = UploadFiles(place.folder / "copied" / "uploads")
        installation = Installation(sizing_context(), Store(place.known["copy"]), files)
        assert place.rows(place.known["copy"]) == place.rows()
        purge(installation, now())
        assert list(check_store(installation)) == [] and len(list(files.each())) == 1
        installation.store.close()


class UploadWork(InterruptedWork):
    decisive = "INSERT"

    content = LAYERS.replace(b"128", b"256")

    def run(self, place: WorkPlace) -> object:
        return self.upload(place.installation())

    def upload(self, installation: Installation) -> str:
        return uploads.upload_profile(
            installation.workspace(LOCAL_WORKSPACE), "wide.csv", self.content, "a key"
        ).id

    def check(self, place: WorkPlace) -> None:
        installation = place.started_again()
        assert self.upload(installation) == self.upload(installation)
        models = uploads.list_profiles(installation.workspace(LOCAL_WORKSPACE), 10, None).items
        files = [
            uploads.original_file(installation.workspace(LOCAL_WORKSPACE), model.id)[1] for model in models
        ]
        assert sorted(files) == sorted([LAYERS, self.content])
        assert installation.files is not None
        assert len([name for name in installation.files.storage.names() if NAME.fullmatch(name)]) == 2
        installation.store.close()
        place.started_again().store.close()


NEW = "f" * 16
"""Name of the compilation that is made."""


class Compile(InterruptedWork):
    """What compiles is left out: what it makes is copied from what this environment has."""

    decisive = "os.rename"

    def begin(self, place: WorkPlace) -> None:
        for number in range(compiled.KEPT + 1):
            old = place.folder / "engine" / f"{number:016x}"
            old.mkdir(parents=True)
            for name in ("a.o", "b.o"):
                (old / name).touch()
            compiled.seal(old)
            os.utime(old / compiled.SEAL, (number, number))

    def run(self, place: WorkPlace) -> object:
        from app.engine import compiling

        made = compiled.library().folder
        assert made is not None

        def objects(folder: Path, names: list[str]) -> Iterator[int]:
            yield len(names)

        def linked(folder: Path) -> bool:
            (folder / compiled.LIBRARY).write_bytes((made / compiled.LIBRARY).read_bytes())
            return True

        compiling._objects = objects
        compiling._linked = linked
        compiling.build(place.folder / "engine" / NEW)
        return None

    def check(self, place: WorkPlace) -> None:
        engine = place.folder / "engine"
        for folder in engine.iterdir():
            if (folder / compiled.SEAL).exists():
                # Nothing is taken for whole that is not.
                assert compiled.is_whole(folder), folder
            elif folder.name != NEW:
                os.utime(folder, (1, time.time() - compiled.TIMEOUT - 1))
        assert run_until(lambda: self.run(place), place.folder, None)[0] == 0
        assert compiled.is_whole(engine / NEW)
        left = {folder.name: len(list(folder.iterdir())) for folder in engine.iterdir()}
        assert left.pop(NEW) == 2 and len(left) == compiled.KEPT - 1 and set(left.values()) == {3}


class Migrate(InterruptedWork):
    """The tables of version 0.1.0, with rows, are brought up."""

    decisive = "ALTER"

    def begin(self, place: WorkPlace) -> None:
        place.url = place.empty("released")
        (place.folder / "released").mkdir()
        store = Store(place.url)
        release(store)
        store.close()
        place.known["rows"] = place.rows()

    def run(self, place: WorkPlace) -> object:
        return Store(place.url).migrate()

    def check(self, place: WorkPlace) -> None:
        store = Store(place.url)
        with store.engine.connect() as connection:
            there = revision_of(connection)
        assert there in {REVISIONS[0], REVISIONS[-1]}
        if there == REVISIONS[0]:
            assert place.rows() == place.known["rows"]
        store.migrate()
        assert store.is_ready() and list(database_problems(store.engine)) == []
        kept, before = place.rows(), place.known["rows"]
        # A comparison is a study with one version.
        moved = {"study": len(before["comparison"]), "study_version": len(before["comparison"])}
        assert {name: len(rows) for name, rows in kept.items()} == {
            name: len(rows) + moved.get(name, 0) for name, rows in before.items() if name in kept
        }
        store.close()


WORKS: dict[str, InterruptedWork] = {
    "freeze": Freeze(),
    "copy": Copy(),
    "upload": UploadWork(),
    "compile": Compile(),
    "migrate": Migrate(),
}


def installed(folder: Path, server: PostgresCluster | None = None, bucket: Bucket | None = None) -> WorkPlace:
    """Return an installation with something of everything that is needed."""
    made = WorkPlace(folder, "", server, bucket)
    for name in ("data", "backups"):
        (folder / name).mkdir(parents=True)
    made.url = made.empty("data")
    made.fill()
    return made


def interrupt(work: InterruptedWork, first: WorkPlace, at: int | str | None) -> list[str]:
    """Kill work at a step, or let it end, and hold what is there against what may be; return the steps."""
    place = first.copy(first.folder.with_name(f"{first.folder.name} {at}"))
    try:
        ended, steps = run_until(lambda: work.run(place), place.folder, at)
        assert ended == (0 if at is None else -signal.SIGKILL)
        work.check(place)
    except BaseException as error:
        error.add_note(f"{type(work).__name__} killed at {at}")
        raise
    place.drop()
    return steps


def interrupt_each(work: InterruptedWork, first: WorkPlace, most: int) -> str:
    """Kill work at each of its steps, or at so many of them, and say at how many."""
    work.begin(first)
    objects = dict(first.bucket.objects) if first.bucket is not None else {}
    first.known["objects"] = objects
    steps = interrupt(work, first, None)
    chosen = sorted({*range(0, len(steps), -(-len(steps) // most)), len(steps) - 1})
    for at in chosen:
        interrupt(work, first, at)
    first.drop()
    return f"{type(work).__name__}: killed at {len(chosen)} of {len(steps)} steps"
