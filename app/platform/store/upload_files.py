"""Uploaded files on disk, each at the address of its content: ``WORKSPACE/ab/abcdef…``.

The same content is kept once within a workspace, never across: who uploads must not be able to tell what
another workspace has. A file appears whole or not at all (written beside its place, forced to the disk,
renamed), before the row that names it; it goes after the last row that named it. Whoever writes a file and
its row holds the lock shared, whoever takes a file away holds it alone, so that no file goes while a row that
names it is about to be written, by any process of this machine.
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

from app.errors import Unavailable

ADDRESS = re.compile(r"[0-9a-f]{64}")

WORKSPACE = re.compile(r"[A-Za-z0-9_-]{1,40}")

PART = ".part-"

LOCK = ".lock"

CHUNK = 1 << 20

LOCK_PATIENCE = 1.0
"""How long a removal waits for uploads that are under way; what then stays is taken away by the next purge.
[s]"""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that is kept."""

    workspace_id: str
    sha256: str
    path: Path


class UploadFiles:
    """The directory of uploaded files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, workspace_id: str, sha256: str) -> Path:
        if not WORKSPACE.fullmatch(workspace_id) or not ADDRESS.fullmatch(sha256):
            raise ValueError("no address of an upload")
        return self.directory / workspace_id / sha256[:2] / sha256

    def put(self, workspace_id: str, content: bytes) -> str:
        """Keep a file and return its address; the caller locks until the row that names it is kept."""
        sha256 = hashlib.sha256(content).hexdigest()
        place = self.path(workspace_id, sha256)
        if place.is_file() and place.stat().st_size == len(content):
            return sha256
        part = place.with_name(f"{PART}{secrets.token_hex(8)}")
        try:
            for folder in (place.parent.parent, place.parent):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(part, "xb", opener=private) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(place)
            forced(place.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise not_written(error) from None
        return sha256

    def read(self, workspace_id: str, sha256: str) -> bytes | None:
        """Return a file; None where it is not there."""
        try:
            return self.path(workspace_id, sha256).read_bytes()
        except FileNotFoundError:
            return None

    def remove(self, workspace_id: str, sha256: str) -> None:
        """Take a file away; the caller holds the lock alone and knows that no row names it."""
        place = self.path(workspace_id, sha256)
        with contextlib.suppress(FileNotFoundError):
            place.unlink()
        for folder in (place.parent, place.parent.parent):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def each(self) -> Iterator[KeptFile]:
        """Return every file that stands at an address."""
        for path in sorted(self.directory.glob("*/??/*")):
            workspace = path.parent.parent.name
            if ADDRESS.fullmatch(path.name) and path.name.startswith(path.parent.name) and path.is_file():
                yield KeptFile(workspace, path.name, path)

    def strays(self) -> Iterator[Path]:
        """Return what lies among the files and is none: parts of uploads that were broken off, and others."""
        addresses = {file.path for file in self.each()}
        for path in sorted(self.directory.rglob("*")):
            if path.is_file() and path not in addresses and path != self.directory / LOCK:
                yield path

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock beside other uploads."""
        with self._lock_file() as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Hold the lock alone; False where uploads under way did not leave it in time."""
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


def content_sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


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
