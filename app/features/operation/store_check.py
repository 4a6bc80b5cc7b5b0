"""Whether what is kept is whole: the database, frozen proposals, uploaded files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError
from sqlmodel import col

from app.errors import Message
from app.features.proposals.lines import content_hash
from app.features.proposals.model import ProposalContent
from app.platform.store.migrate import database_faults
from app.platform.store.tables import ProposalRecord
from app.platform.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it should be."""

    kind: str
    """database, proposal, file or stray."""
    message: Message

    @property
    def harmless(self) -> bool:
        """Whether nothing is lost by it: what lies about goes with the next purge."""
        return self.kind == "stray"


def check_store(bench: Workbench) -> Iterator[Fault]:
    """Return what is wrong; nothing is changed."""
    for template, values in database_faults(bench.store.engine):
        yield Fault("database", Message(template, values))
    if not bench.store.is_ready():
        # It has been named; tables of another version cannot be asked for the rest.
        return
    for workspace in bench.store.workspaces():
        yield from check_proposals(bench, workspace)
        yield from check_files(bench, workspace)
    yield from check_strays(bench)


def check_proposals(bench: Workbench, workspace: str) -> Iterator[Fault]:
    """Hold frozen proposals and their documents against the hashes they were frozen with."""
    with bench.store.transaction(workspace) as repository:
        frozen = repository.values(
            ProposalRecord, ProposalRecord.id, col(ProposalRecord.frozen_at).is_not(None)
        )
    for identifier in frozen:
        # One at a time: each may hold a megabyte.
        with bench.store.transaction(workspace) as repository:
            record = repository.get(ProposalRecord, identifier)
            artifacts = repository.of_proposal(identifier).artifacts()
        if record is None:
            continue
        values = {"id": identifier}
        try:
            sha256 = content_hash(ProposalContent.model_validate(record.content))
        except ValidationError:
            yield Fault("proposal", Message("the frozen proposal {id} cannot be read", values))
            continue
        if sha256 != record.sha256:
            template = "the frozen proposal {id} no longer matches the SHA-256 it was frozen with"
            yield Fault("proposal", Message(template, values))
        for artifact in artifacts:
            if hashlib.sha256(artifact.data).hexdigest() != artifact.sha256:
                template = "the {kind} of the proposal {id} differs from the stored one"
                yield Fault("proposal", Message(template, {**values, "kind": artifact.kind}))
        if not artifacts:
            yield Fault("proposal", Message("the frozen proposal {id} has no document", values))


def check_files(bench: Workbench, workspace: str) -> Iterator[Fault]:
    if bench.files is None:
        return
    with bench.store.transaction(workspace) as repository:
        named = repository.uploads.addresses()
    for sha256 in sorted(named):
        values = {"path": bench.files.place(workspace, sha256)}
        whole = bench.files.is_whole(workspace, sha256)
        if whole is None:
            yield Fault("file", Message("an uploaded file is missing: {path}", values))
        elif not whole:
            template = "the content of an uploaded file does not match its address: {path}"
            yield Fault("file", Message(template, values))


def check_strays(bench: Workbench) -> Iterator[Fault]:
    files = bench.files
    if files is None:
        return
    named = {}
    for workspace in bench.store.workspaces():
        with bench.store.transaction(workspace) as repository:
            named[workspace] = repository.uploads.addresses()
    unnamed = [one for one in files.each() if one.sha256 not in named.get(one.workspace_id, set())]
    places = [files.place(one.workspace_id, one.sha256) for one in unnamed]
    for path in [*places, *map(files.storage.place, files.strays())]:
        template = "no upload refers to the file {path}; the next purge deletes it"
        yield Fault("stray", Message(template, {"path": path}))
