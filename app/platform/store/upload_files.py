"""Uploaded files, each at the address of its content: ``WORKSPACE/ab/abcdef…``, in a directory or a bucket.

The same content is kept once within a workspace, never across: who uploads must not be able to tell what
another workspace has. A file appears whole or not at all, before the row that names it; it goes after the
last row that named it. Whoever writes a file and its row holds the lock shared, whoever takes a file away
holds it alone, so that no file goes while a row that names it is about to be written: within a machine by a
file that is locked, across machines by the database (:meth:`UploadQueries.hold_files`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from app.errors import Unavailable

ADDRESS = re.compile(r"[0-9a-f]{64}")

WORKSPACE = re.compile(r"[A-Za-z0-9_-]{1,40}")

NAME = re.compile(
    r"(?P<workspace>[A-Za-z0-9_-]{1,40})/(?P<folder>[0-9a-f]{2})/(?P<sha256>(?P=folder)[0-9a-f]{62})"
)
"""What a file is called in its directory or bucket."""

PART = ".part-"

LOCK = ".lock"

CHUNK = 1 << 20

LOCK_PATIENCE = 1.0
"""How long a removal waits for uploads that are under way; what then stays is taken away by the next purge.
[s]"""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that is kept."""

    workspace_id: str
    sha256: str


class FileStorage(Protocol):
    """What keeps files under names. What cannot be reached raises :class:`Unavailable`."""

    def put(self, name: str, content: bytes) -> None:
        """Keep a file: whole or not at all, and for good once this returns."""

    def size(self, name: str) -> int | None:
        """Return how large a file is; None where it is not there. [B]"""

    def open(self, name: str) -> BinaryIO | None:
        """Open a file; None where it is not there."""

    def delete(self, name: str) -> None:
        """Take a file away, if it is there."""

    def names(self) -> Iterator[str]:
        """Return the name of everything that is kept, or was left by what broke off."""

    def place(self, name: str) -> str:
        """Return where an operator finds a file."""

    def check(self) -> None:
        """Raise unless files can be kept now."""


class FileDirectory:
    """Files on a disk of this machine, or on one that machines share."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def put(self, name: str, content: bytes) -> None:
        path = self.directory / name
        part = path.with_name(f"{PART}{secrets.token_hex(8)}")
        try:
            for folder in (path.parent.parent, path.parent):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(part, "xb", opener=private) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
            forced(path.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise not_written(error) from None

    def size(self, name: str) -> int | None:
        path = self.directory / name
        return path.stat().st_size if path.is_file() else None

    def open(self, name: str) -> BinaryIO | None:
        try:
            return (self.directory / name).open("rb")
        except FileNotFoundError:
            return None

    def delete(self, name: str) -> None:
        path = self.directory / name
        path.unlink(missing_ok=True)
        for folder in path.relative_to(self.directory).parents[:-1]:
            with contextlib.suppress(OSError):
                (self.directory / folder).rmdir()

    def names(self) -> Iterator[str]:
        # Unlike Path.rglob, this passes over a folder that another server removes meanwhile.
        for folder, _, names in os.walk(self.directory):
            for path in (Path(folder, name) for name in sorted(names)):
                if path != self.directory / LOCK:
                    yield path.relative_to(self.directory).as_posix()

    def place(self, name: str) -> str:
        return str(self.directory / name)

    def check(self) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not os.access(self.directory, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, "it cannot be written")
        except OSError as error:
            raise not_written(error) from None


class UploadFiles:
    """The uploaded files of all workspaces."""

    def __init__(self, directory: Path, storage: FileStorage | None = None) -> None:
        self.directory = directory
        """Of the lock of this machine, and of the files unless they are kept elsewhere."""
        self.storage = storage or FileDirectory(directory)

    def put(self, workspace_id: str, content: bytes) -> str:
        """Keep a file and return its address; the caller locks until the row that names it is kept."""
        sha256 = hashlib.sha256(content).hexdigest()
        name = name_of(workspace_id, sha256)
        if self.storage.size(name) != len(content):
            self.storage.put(name, content)
        return sha256

    def read(self, workspace_id: str, sha256: str) -> bytes | None:
        """Return a file; None where it is not there. What is not as it was uploaded is not given out."""
        stream = self.storage.open(name_of(workspace_id, sha256))
        if stream is None:
            return None
        with stream:
            content = stream.read()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise Unavailable("the stored file is damaged; restore it from a backup")
        return content

    def is_whole(self, workspace_id: str, sha256: str) -> bool | None:
        """Tell whether the content of a file is that of its address; None where it is not there."""
        stream = self.storage.open(name_of(workspace_id, sha256))
        if stream is None:
            return None
        digest = hashlib.sha256()
        with stream:
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
        return digest.hexdigest() == sha256

    def remove(self, workspace_id: str, sha256: str) -> None:
        """Take a file away; the caller holds the lock alone and knows that no row names it."""
        self.storage.delete(name_of(workspace_id, sha256))

    def each(self) -> Iterator[StoredFile]:
        """Return every file that stands at an address."""
        for name in self.storage.names():
            if (match := NAME.fullmatch(name)) is not None:
                yield StoredFile(match["workspace"], match["sha256"])

    def strays(self) -> Iterator[str]:
        """Return what lies among the files and is none: parts of uploads that were broken off, and others."""
        return (name for name in self.storage.names() if NAME.fullmatch(name) is None)

    def place(self, workspace_id: str, sha256: str) -> str:
        return self.storage.place(name_of(workspace_id, sha256))

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock of this machine beside other uploads."""
        with self._lock_file() as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Hold the lock of this machine alone; False where uploads under way did not leave it in time."""
        with self._lock_file() as descriptor:
            until = time.monotonic() + LOCK_PATIENCE
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if time.monotonic() >= until:
                        yield False
                        return
                    time.sleep(0.02)
                else:
                    break
            yield True

    @contextlib.contextmanager
    def _lock_file(self) -> Iterator[int]:
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self.directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise not_written(error) from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def name_of(workspace_id: str, sha256: str) -> str:
    if not WORKSPACE.fullmatch(workspace_id) or not ADDRESS.fullmatch(sha256):
        raise ValueError("no address of an upload")
    return f"{workspace_id}/{sha256[:2]}/{sha256}"


def private(path: str, flags: int) -> int:
    """Open a file that only its owner may read."""
    return os.open(path, flags, 0o600)


def forced(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def not_written(error: OSError) -> Unavailable:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return Unavailable("there is no space left for the file; nothing was saved, try again once there is")
    return Unavailable("the file cannot be written here; nothing was saved, try again once it can")
