"""Deleting what customers brought: uploads with their files, archived studies with what only they used."""

from __future__ import annotations

import json
from dataclasses import dataclass

from app.errors import Conflict, FieldError, Message, Overtaken
from app.services.studies import changed_meanwhile, existing
from app.services.workbench import Workbench, no_such
from app.store.repository import Repository
from app.store.upload_queries import identifiers


@dataclass(frozen=True, slots=True)
class Deleted:
    """What went with something that was deleted."""

    profiles: tuple[str, ...] = ()
    """Uploaded models."""
    workloads: tuple[str, ...] = ()
    """Uploaded samples of the data."""


def delete_profile(bench: Workbench, workspace_id: str, identifier: str) -> None:
    """Delete an uploaded model and its file; refused while a study or an open sweep asks for it."""
    with bench.store.transaction(workspace_id) as repository:
        if not repository.uploads.has_profile(identifier):
            raise no_such("uploaded profile", identifier)
        check_unused(repository, identifier)
        sha256 = repository.uploads.delete_profile(identifier)
    bench.forget_uploads()
    remove_files(bench, workspace_id, [sha256])


def delete_workload(bench: Workbench, workspace_id: str, identifier: str) -> None:
    """Delete what was counted in a sample; refused while a study or an open sweep asks for it."""
    with bench.store.transaction(workspace_id) as repository:
        if not repository.uploads.has_sample(identifier):
            raise no_such("uploaded sample", identifier)
        check_unused(repository, identifier)
        repository.uploads.delete_sample(identifier)
    bench.forget_uploads()


def check_unused(repository: Repository, identifier: str) -> None:
    """Refuse to delete what could not be answered without."""
    studies, sweeps = repository.uploads.in_use(identifier)
    if studies:
        message = "a study asks for it: {names}; delete the study, or change its model or workload first"
        raise Conflict(Message(message, {"names": listed(studies)}))
    if sweeps:
        message = "a sweep is being computed from it: {names}; wait for its end or cancel it first"
        raise Conflict(Message(message, {"names": listed(sweeps)}))


def listed(names: list[str]) -> str:
    """Return some names in a row."""
    return ", ".join(f"“{name[:80]}”" for name in names[:3]) + (" …" if len(names) > 3 else "")


def delete_study(
    bench: Workbench, workspace_id: str, identifier: str, expected: int | None = None
) -> Deleted:
    """Delete an archived study, its versions, and uploads that nothing else names.

    Comparisons and proposals made of it stand on their own and stay. With a version, only where that is the
    newest.
    """
    addresses: list[str | None] = []
    with bench.store.transaction(workspace_id) as repository:
        # What is found below must still be so when the study goes: it may be brought back at any moment.
        repository.studies.hold(identifier)
        record = existing(repository, identifier)
        if expected is not None and expected != record.version:
            message = changed_meanwhile(record.version, expected)
            raise Overtaken(message, [FieldError("If-Match", message)])
        if not record.archived:
            raise Conflict("only an archived study can be deleted: archive it first")
        stated = [json.dumps(content) for content in repository.uploads.delete_study(identifier)]
        profiles, workloads = [], []
        for profile in sorted(identifiers(stated, "prf")):
            known = repository.uploads.has_profile(profile)
            if known and not repository.uploads.named_anywhere(profile):
                addresses.append(repository.uploads.delete_profile(profile))
                profiles.append(profile)
        for sample in sorted(identifiers(stated, "wkl")):
            known = repository.uploads.has_sample(sample)
            if known and not repository.uploads.named_anywhere(sample):
                repository.uploads.delete_sample(sample)
                workloads.append(sample)
    bench.forget_uploads()
    remove_files(bench, workspace_id, addresses)
    return Deleted(tuple(profiles), tuple(workloads))


def remove_files(bench: Workbench, workspace_id: str, addresses: list[str | None]) -> None:
    """Take files away that no row names any more; what cannot go now goes with the next purge."""
    known = [address for address in addresses if address is not None]
    if bench.files is None or not known:
        return
    with bench.files.alone() as alone:
        if not alone:
            return
        for address in known:
            with bench.store.transaction(workspace_id) as repository:
                named = repository.uploads.is_named(address)
            if not named:
                bench.files.remove(workspace_id, address)
