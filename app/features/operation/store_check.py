"""Integrity of the store: database, frozen proposals, uploaded files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from sqlmodel import col

from app.errors import Message, Unavailable
from app.features.operation.chores import unreferenced_files
from app.features.proposals.lines import content_hash
from app.platform.store.failures import DAMAGED
from app.platform.store.migrate import RESTORE, database_problems
from app.platform.store.tables import ProposalRecord
from app.platform.workspace import Installation, Workspace


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """A fault of the store."""

    kind: str
    """database, proposal, file or stray."""
    message: Message

    @property
    def harmless(self) -> bool:
        """Whether no data is lost: the next purge deletes strays."""
        return self.kind == "stray"


def check_store(installation: Installation) -> Iterator[StoreProblem]:
    """Yield the faults; nothing is changed."""
    faults = [
        StoreProblem("database", Message(*fault)) for fault in database_problems(installation.store.engine)
    ]
    yield from faults
    try:
        if not installation.store.is_ready():
            # Already reported; tables of another version cannot be read.
            return
        for workspace in installation.workspaces():
            yield from check_proposals(workspace)
            yield from check_files(workspace)
        yield from check_strays(installation)
    except Unavailable as error:
        if error.message is not DAMAGED:
            raise
        if not faults:
            yield StoreProblem("database", Message(RESTORE))


def check_proposals(workspace: Workspace) -> Iterator[StoreProblem]:
    """Compare frozen proposals and their documents with their hashes."""
    with workspace.transaction() as repository:
        frozen = repository.values(
            ProposalRecord, ProposalRecord.id, col(ProposalRecord.frozen_at).is_not(None)
        )
    for identifier in frozen:
        # One at a time: each may hold a megabyte.
        with workspace.transaction() as repository:
            record = repository.get(ProposalRecord, identifier)
            artifacts = repository.of_proposal(identifier).artifacts()
        if record is None:
            continue
        values = {"id": identifier}
        if content_hash(record.content) != record.sha256:
            template = "the frozen proposal {id} no longer matches the SHA-256 it was frozen with"
            yield StoreProblem("proposal", Message(template, values))
        for artifact in artifacts:
            if hashlib.sha256(artifact.data).hexdigest() != artifact.sha256:
                template = "the {kind} of the proposal {id} differs from the stored one"
                yield StoreProblem("proposal", Message(template, {**values, "kind": artifact.kind}))
        if not artifacts:
            yield StoreProblem("proposal", Message("the frozen proposal {id} has no document", values))


def check_files(workspace: Workspace) -> Iterator[StoreProblem]:
    files = workspace.installation.files
    if files is None:
        return
    with workspace.transaction() as repository:
        addresses = repository.uploads.addresses()
    for sha256 in sorted(addresses):
        values = {"path": files.place(workspace.id, sha256)}
        whole = files.is_whole(workspace.id, sha256)
        if whole is None:
            yield StoreProblem("file", Message("an uploaded file is missing: {path}", values))
        elif not whole:
            template = "the content of an uploaded file does not match its address: {path}"
            yield StoreProblem("file", Message(template, values))


def check_strays(installation: Installation) -> Iterator[StoreProblem]:
    files = installation.files
    if files is None:
        return
    paths = [files.place(file.workspace_id, file.sha256) for file in unreferenced_files(installation, files)]
    for path in [*paths, *map(files.storage.place, files.strays())]:
        template = "no upload refers to the file {path}; the next purge deletes it"
        yield StoreProblem("stray", Message(template, {"path": path}))
