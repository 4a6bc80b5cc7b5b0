"""Uploads: model profiles, and the lengths of data samples."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from pydantic import Field

from app.errors import Conflict, Message, NotFound, Unprocessable
from app.estimating.documents import CheckWarning
from app.estimating.request import ModelInput
from app.estimating.schema import Document, Quantity, filled
from app.estimating.workload import resolve_model
from app.features.uploads.model import (
    Bin,
    ImportDocument,
    ImportFields,
    ProfileDocument,
    ProfileFields,
    ProfileRequest,
    UploadPatch,
    UploadSummary,
    WorkloadDocument,
)
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, page_of, read_cursor, write_cursor
from app.platform.references import existing, no_such
from app.platform.store.queries import EVERYTHING, ListFilter, new_id
from app.platform.store.repository import Repository
from app.platform.store.tables import Profile
from app.platform.store.tables import WorkloadSample as SampleRow
from app.platform.worker_processes import never, run_in_worker
from app.platform.workspace import Workspace
from app.profiles.documents import printable
from app.profiles.model import ModelProfile
from app.profiles.readers.models import read_profile
from app.profiles.readers.recognition import read_import
from app.profiles.samples import LengthSample, read_sample

MAX_NAME = 200


class Uploads(Document):
    """What was uploaded to a workspace."""

    models: Page[UploadSummary] = Field(description="Models, newest first.")
    samples: Page[UploadSummary] = Field(description="Samples of the data, newest first.")


def upload_profile(
    workspace: Workspace,
    name: str,
    content: bytes,
    key: str | None = None,
    fields: ProfileFields | None = None,
) -> ProfileDocument:
    fields = fields or ProfileFields()
    seq_len, image_size = fields.seq_len, fields.image_size
    once = IdempotentCall.of("profiles", key, f"{name}\n{seq_len}\n{image_size}\n".encode() + content)
    fields.check_sizes()

    def read() -> ModelProfile:
        return read_profile(name, content, seq_len, image_size)

    return keep_profile(workspace, once, read, (name, content))


MOST_HEADINGS = 200
"""Headings of tables whose chosen columns a workspace keeps, the newest ones."""


def recognise(
    workspace: Workspace, name: str, content: bytes, fields: ImportFields | None = None
) -> ImportDocument:
    """Return what a file is and says; nothing of it is kept but which columns hold prices."""
    fields = fields or ImportFields()
    with workspace.transaction() as repository:
        kept = repository.price_columns()
    found = read_import(name, content, fields.asked(kept))
    if (chosen := fields.chosen()) and found.prices is not None:
        with workspace.transaction() as repository:
            repository.hold()
            kept = repository.price_columns() | {found.prices.heading: chosen}
            repository.keep_price_columns(dict(list(kept.items())[-MOST_HEADINGS:]))
    return ImportDocument.of(found)


def describe_profile(
    workspace: Workspace, request: ProfileRequest, key: str | None = None
) -> ProfileDocument:
    sources = request.model_dump(exclude={"name", "seq_len"}, exclude_none=True)
    if len(sources) != 1:
        raise Unprocessable.at("model", "exactly one of config, transformer and layers is required")
    source = ModelInput(**sources)

    def read() -> ModelProfile:
        profile = resolve_model(source, workspace.sizing).of_length(request.seq_len)
        return replace(profile, name=request.name) if request.name else profile

    return keep_profile(workspace, IdempotentCall.of("profiles", key, request), read)


def keep_profile(
    workspace: Workspace,
    once: IdempotentCall | None,
    read: Callable[[], ModelProfile],
    file: tuple[str, bytes] | None = None,
) -> ProfileDocument:
    """Store a model under a new identifier, with name and content of its file."""
    files = workspace.installation.files

    def make() -> tuple[ProfileDocument, Save]:
        profile = replace(read(), id=new_id("prf"))
        document = profile.to_json()

        def save(repository: Repository) -> None:
            row = Profile(id=profile.id, name=profile.name[:MAX_NAME], kind=profile.origin, document=document)
            if files is None or file is None:
                repository.add(row)
                return
            name, content = file
            repository.uploads.hold_files()
            # Before the first row is written, so that other writers do not wait for the file.
            sha256 = files.put(workspace.id, content)
            repository.add(row)
            repository.uploads.add_file(profile.id, sha256, printable(name, MAX_NAME) or "file", len(content))

        return ProfileDocument.of(profile), save

    # The lock is held until the row that refers to the file is committed.
    with files.shared() if files is not None and file is not None else nullcontext():
        return keep(workspace, once, ProfileDocument, make)


def original_file(workspace: Workspace, identifier: str) -> tuple[str, bytes]:
    with workspace.transaction() as repository:
        if not repository.uploads.has_profile(identifier):
            raise no_such("uploaded profile", identifier)
        row = repository.uploads.file(identifier)
    content = (
        None
        if row is None or workspace.installation.files is None
        else workspace.installation.files.read(workspace.id, row.sha256)
    )
    if row is None or content is None:
        raise NotFound(Message("no file is stored for this model"))
    return row.name, content


def get_profile(workspace: Workspace, identifier: str) -> ProfileDocument:
    profile = workspace.profile(identifier)
    with workspace.transaction() as repository:
        row = existing(repository, Profile, identifier, "uploaded profile")
        return ProfileDocument.of(profile, row.name, row.customer)


def change_upload(workspace: Workspace, identifier: str, patch: UploadPatch) -> None:
    table = SampleRow if identifier.startswith("wkl_") else Profile
    kind = "uploaded sample" if table is SampleRow else "uploaded profile"
    stated = patch.model_dump(exclude_none=True)
    with workspace.transaction() as repository:
        row = existing(repository, table, identifier, kind, lock=True)
        for name, value in stated.items():
            setattr(row, name, value)
        if isinstance(row, Profile) and "name" in stated:
            row.document = {**row.document, "name": stated["name"]}
    if stated:
        workspace.installation.forget_uploads()


def change_profile(workspace: Workspace, identifier: str, patch: UploadPatch) -> ProfileDocument:
    change_upload(workspace, identifier, patch)
    return get_profile(workspace, identifier)


def change_workload(workspace: Workspace, identifier: str, patch: UploadPatch) -> WorkloadDocument:
    change_upload(workspace, identifier, patch)
    return get_workload(workspace, identifier)


def list_profiles(
    workspace: Workspace, limit: int, cursor: str | None, wanted: ListFilter = EVERYTHING
) -> Page[UploadSummary]:
    with workspace.transaction() as repository:
        rows, following = repository.uploads.models(limit, read_cursor(cursor), wanted)
    return Page(items=[filled(UploadSummary, row) for row in rows], next=write_cursor(following))


LONG_BYTES = 2_000_000
"""Size from which a sample is read in its own process: a third of a second of work. [B]"""


def upload_workload(
    workspace: Workspace,
    name: str,
    content: bytes,
    seq_len: int | None = None,
    key: str | None = None,
    gone: Callable[[], bool] = never,
) -> WorkloadDocument:
    """Count the lengths in a data sample and store the counts, not the text."""
    if len(content) >= LONG_BYTES:
        return run_in_worker(workspace, keep_workload, name, content, seq_len, key, gone=gone)
    return keep_workload(workspace, name, content, seq_len, key)


def keep_workload(
    workspace: Workspace, name: str, content: bytes, seq_len: int | None, key: str | None
) -> WorkloadDocument:
    # Names are shown in lists and messages, and PostgreSQL cannot store U+0000.
    title = printable(name, MAX_NAME) or "file"

    def make() -> tuple[WorkloadDocument, Save]:
        identifier, sample = new_id("wkl"), read_sample(title, content, seq_len=seq_len)
        document = sample.to_json()
        return workload_document(identifier, title, sample), lambda repository: repository.add(
            SampleRow(id=identifier, name=title, document=document)
        )

    once = IdempotentCall.of("workloads", key, f"{name}\n{seq_len}\n".encode() + content)
    return keep(workspace, once, WorkloadDocument, make)


def get_workload(workspace: Workspace, identifier: str) -> WorkloadDocument:
    sample = workspace.workload_sample(identifier)
    with workspace.transaction() as repository:
        row = existing(repository, SampleRow, identifier, "uploaded sample")
        return workload_document(identifier, row.name, sample, row.customer)


def list_workloads(
    workspace: Workspace, limit: int, cursor: str | None, wanted: ListFilter = EVERYTHING
) -> Page[UploadSummary]:
    with workspace.transaction() as repository:
        return page_of(repository, SampleRow, partial(filled, UploadSummary), limit, cursor, wanted=wanted)


def workload_document(
    identifier: str, name: str, sample: LengthSample, customer: str = ""
) -> WorkloadDocument:
    return filled(
        WorkloadDocument,
        sample,
        id=identifier,
        name=name,
        customer=customer,
        mean_tokens=Quantity(value=sample.mean_tokens, low=sample.mean_low, high=sample.mean_high, unit="1"),
        histogram=[Bin(low=low, high=high, samples=count) for low, high, count in sample.histogram],
        warnings=[CheckWarning.of("assumed", "info", message) for message in sample.assumptions],
    )


def delete_profile(workspace: Workspace, identifier: str) -> None:
    """Delete an uploaded model and its file, unless a study or an open sweep uses it."""
    with workspace.transaction() as repository:
        repository.hold()
        existing(repository, Profile, identifier, "uploaded profile", lock=True)
        check_unused(repository, identifier)
        sha256 = repository.uploads.delete_profile(identifier)
    workspace.installation.forget_uploads()
    workspace.remove_files([sha256])


def delete_workload(workspace: Workspace, identifier: str) -> None:
    """Delete the counts of a sample, unless a study or an open sweep uses it."""
    with workspace.transaction() as repository:
        repository.hold()
        existing(repository, SampleRow, identifier, "uploaded sample", lock=True)
        check_unused(repository, identifier)
        repository.uploads.delete_sample(identifier)
    workspace.installation.forget_uploads()


def check_unused(repository: Repository, identifier: str) -> None:
    """Refuse to delete an upload that a study or an open sweep uses."""
    studies, sweeps = repository.uploads.in_use(identifier)
    if studies:
        message = "used by a study: {names}; delete the study, or change its model or workload first"
        raise Conflict.at("id", message, names=listed(studies))
    if sweeps:
        message = "a sweep is being computed from it: {names}; wait until it ends or cancel it first"
        raise Conflict.at("id", message, names=listed(sweeps))


def listed(names: list[str]) -> str:
    return ", ".join(f"“{name[:80]}”" for name in names[:3]) + (" …" if len(names) > 3 else "")
