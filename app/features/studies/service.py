"""Stored studies: created, listed, changed version by version, exported and deleted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from app.errors import AppError, Conflict, FieldError, Message, NotFound, VersionConflict
from app.estimating.documents import Estimate
from app.estimating.names import STORED
from app.estimating.request import EstimateRequest
from app.estimating.schema import Document, filled
from app.estimating.version import engine_version
from app.features.estimates.service import make_estimate
from app.features.studies.answering import Outcomes, Requests
from app.features.studies.explaining import changes_between
from app.features.studies.knobs import apply_knobs, check, check_labels, field_of_knobs, labels_of, request_of
from app.features.studies.model import (
    Study,
    StudyChange,
    StudyContent,
    StudyFile,
    StudyPatch,
    StudySummary,
    StudyVersion,
    StudyVersions,
    tree_of,
)
from app.features.studies.options import PublishedFigure
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, read_cursor, write_cursor
from app.platform.references import hold_named, no_such
from app.platform.store.document_queries import StudyFilter
from app.platform.store.queries import EVERYTHING, ListFilter, new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import StudyRecord
from app.platform.store.upload_queries import identifiers
from app.platform.workspace import Workspace


def estimates_of(
    workspace: Workspace, content: StudyContent, knobs: Mapping[str, str], *, strict: bool = True
) -> tuple[Requests, Outcomes]:
    """Return the request of each option and its outcome; a ``strict`` call raises refusals instead."""
    with _at_knobs(content, knobs):
        check(content, workspace.sizing.catalog)
        if any(knob.startswith("label.") for knob in knobs):
            check_labels(content)
    requests: Requests = {}
    outcomes: dict[str, Estimate | AppError | None] = {}
    for index, option in enumerate(content.options):
        request = requests[option.key] = request_of(content, option)
        if isinstance(request, PublishedFigure):
            outcomes[option.key] = None
            continue
        try:
            with _at_knobs(content, knobs, f"options.{index}."):
                outcomes[option.key] = estimate_option(workspace, request)
        except AppError as error:
            if strict:
                raise
            outcomes[option.key] = error
    return requests, outcomes


def estimate_option(workspace: Workspace, request: EstimateRequest) -> Estimate:
    """Return the estimate of an option, which is cached but not stored."""

    def make() -> Estimate:
        return make_estimate(workspace, request).model_copy(update={"id": ""})

    return workspace.estimate(request, make)


@contextmanager
def _at_knobs(content: StudyContent, knobs: Mapping[str, str], prefix: str = "") -> Iterator[None]:
    """Prefix the fields of errors with the option, or replace them by knobs if there are any."""
    try:
        yield
    except AppError as refusal:
        fields = [f"{prefix}{error.field}" for error in refusal.errors]
        if knobs:
            keys = [option.key for option in content.options]
            fields = [field_of_knobs(field, keys, knobs) for field in fields]
        messages = (error.message for error in refusal.errors)
        refusal.errors = tuple(map(FieldError, fields, messages))
        raise


MAX_VERSIONS = 1000

NAME_LENGTH = 200


def create_study(
    workspace: Workspace, content: StudyContent, key: str | None = None, *, saved: bool = True
) -> Study:
    """Store a study, all of whose options can be estimated; an unsaved one is deleted after some time."""
    return keep_study(workspace, content, IdempotentCall.of("studies", key, content), saved=saved)


def keep_study(
    workspace: Workspace, content: StudyContent, once: IdempotentCall | None, *, saved: bool
) -> Study:
    def make() -> tuple[Study, Save]:
        check_labels(content)
        estimates_of(workspace, content, {})
        study, add = first_version(content, saved=saved)

        def save(repository: Repository) -> None:
            hold_named(repository, tree_of(content))
            add(repository)

        return study, save

    return keep(workspace, once, Study, make)


def unsaved_study(workspace: Workspace, path: str, content: StudyContent, *, strict: bool = False) -> str:
    """Return the unsaved study to which an address leads; the same question leads to the same study.

    A ``strict`` study is refused if an option cannot be estimated; otherwise its page says why.
    """
    digest = hashlib.sha256(content.model_dump_json(exclude_unset=True).encode()).hexdigest()
    return unsaved_under(workspace, f"{path}:{digest[:32]}", lambda: content, strict=strict)


class StudyReference(Document):
    """What an address leads to."""

    id: str


def unsaved_under(
    workspace: Workspace, name: str, asked: Callable[[], StudyContent], *, strict: bool = False
) -> str:
    """Return the unsaved study kept under a name; only the first who asks for it writes its question."""

    def make() -> tuple[StudyReference, Save]:
        content = asked()
        check(content, workspace.sizing.catalog)
        check_labels(content)
        if strict:
            estimates_of(workspace, content, {})
        study, save = first_version(content, saved=False)
        return StudyReference(id=study.id), save

    while True:
        # Under a name that no caller's key has: theirs must not stand in the way of a page.
        call = IdempotentCall.of("studies/kept", name, name.encode())
        identifier = keep(workspace, call, StudyReference, make).id
        with workspace.transaction() as repository:
            record = repository.studies.find(identifier)
        if record is None:  # It has been deleted since.
            return keep(workspace, None, StudyReference, make).id
        if record.version == 1:
            return identifier
        # It has been changed since, so it no longer asks this question.
        digest = hashlib.sha256(f"{name} {identifier}".encode()).hexdigest()
        name = f"{name.partition(':')[0]}:{digest[:32]}"


def first_version(content: StudyContent, *, saved: bool = True) -> tuple[Study, Save]:
    """Return a new study and the function that stores it."""
    moment = now()
    study = Study(
        id=new_id("stu"),
        saved=saved,
        version=1,
        latest=1,
        archived=False,
        created_at=moment,
        updated_at=moment,
        content=content,
    )

    def save(repository: Repository) -> None:
        repository.studies.add(study.id, moment, tree_of(content), saved=saved)

    return study, save


def get_study(workspace: Workspace, identifier: str, version: int | None = None) -> Study:
    with workspace.transaction() as repository:
        record = existing(repository, identifier)
        row = repository.studies.version(identifier, version or record.version)
        if row is None:
            template = "this study has no version {version}; the latest is {latest}"
            values = {"version": version, "latest": record.version}
            message = Message(template, values)
            raise NotFound(message, [FieldError("version", message)])
        return filled(
            Study,
            record,
            version=row.version,
            latest=record.version,
            updated_at=row.created_at,
            content=StudyContent.model_validate(row.content, context=STORED),
        )


def list_studies(
    workspace: Workspace,
    limit: int,
    cursor: str | None,
    search: str = "",
    archived: bool = False,
    saved: bool = True,
    wanted: ListFilter = EVERYTHING,
) -> Page[StudySummary]:
    """Return the studies of a list, newest first: active, archived or unsaved ones."""
    chosen = StudyFilter(search, archived, saved)
    with workspace.transaction() as repository:
        rows, following = repository.studies.listing(chosen, limit, read_cursor(cursor), wanted)
    return Page(items=[filled(StudySummary, row) for row in rows], next=write_cursor(following))


@dataclass(frozen=True, slots=True)
class Recent:
    id: str
    name: str
    labels: Sequence[str]
    model: str
    """Identifier of its preset or uploaded model; empty for any other."""
    customer: str
    changed_at: datetime


def recent_studies(workspace: Workspace, limit: int) -> list[Recent]:
    with workspace.transaction() as repository:
        rows = [
            (record.id, record.name, record.updated_at, version.content)
            for record, version in repository.studies.latest(limit)
        ]
    studies = []
    for identifier, name, changed_at, tree in rows:
        content = StudyContent.model_validate(tree)
        model = content.base.model.profile_id or content.base.model.preset or ""
        labels = list(labels_of(content, workspace.sizing.catalog).values())
        studies.append(Recent(identifier, name, labels, model, content.customer, changed_at))
    return studies


def list_versions(workspace: Workspace, identifier: str) -> StudyVersions:
    with workspace.transaction() as repository:
        existing(repository, identifier)
        rows = repository.studies.versions(identifier)
    items = [
        StudyVersion(
            version=row.version,
            created_at=row.created_at,
            changes=[StudyChange.model_validate(change) for change in row.changes],
        )
        for row in rows
    ]
    return StudyVersions(id=identifier, items=items)


def change_study(
    workspace: Workspace,
    identifier: str,
    patch: StudyPatch,
    expected: int | None = None,
    version: int | None = None,
) -> Study:
    """Store a new version of a study; omitted fields stay as in ``version``, by default the newest."""
    latest = get_study(workspace, identifier)
    check_edit(workspace, latest, expected)
    before = latest if version is None else get_study(workspace, identifier, version)
    names = {name for name in patch.model_fields_set - {"knobs"} if getattr(patch, name) is not None}
    changed = patch.model_dump(mode="json", exclude_unset=True, include=names)
    content = StudyContent.model_validate({**tree_of(before.content), **changed})
    variant = apply_knobs(content, patch.knobs)
    changes = changes_between(latest.content, variant.content)
    if not changes:
        return latest
    if variant.content.options != before.content.options:
        check_labels(variant.content)
    estimates_of(workspace, variant.content, variant.knobs)
    tree = tree_of(variant.content)
    if latest.version >= MAX_VERSIONS:
        raise Conflict.at(
            "version", "a study can have at most {most} versions; duplicate it to continue", most=MAX_VERSIONS
        )
    with workspace.transaction() as repository:
        hold_named(repository, tree)
        stored = repository.studies.add_next(
            identifier, latest.version, tree, [change.model_dump(mode="json") for change in changes]
        )
    if not stored:
        newest = get_study(workspace, identifier)
        check_edit(workspace, newest, latest.version)
    return get_study(workspace, identifier, latest.version + 1)


def check_edit(workspace: Workspace, study: Study, expected: int | None) -> None:
    """Refuse to edit a study that is archived, or that has changed since, with those changes."""
    if study.archived:
        raise Conflict.at("archived", "the study is archived; restore it before changing it")
    if expected is None or expected == study.version:
        return
    changes = changes_since(workspace, study.id, expected) if 0 < expected < study.version else []
    raise _changed_meanwhile(study.version, expected, changes)


def _changed_meanwhile(current: int, expected: int, changes: Sequence[StudyChange] = ()) -> VersionConflict:
    conflict = VersionConflict.since(expected, current)
    texts = ((_path(change), change.text) for change in changes)
    errors = [FieldError(path, Message(text.template, text.values)) for path, text in texts]
    return VersionConflict(conflict.message, [*conflict.errors, *errors])


def _path(change: StudyChange) -> str:
    whole = change.option is None or change.field == f"options.{change.option}"
    return change.field if whole else f"options.{change.option}.{change.field}"


def changes_since(workspace: Workspace, identifier: str, version: int) -> list[StudyChange]:
    """Return the differences of the newest version from an earlier one."""
    before = get_study(workspace, identifier, version)
    return changes_between(before.content, get_study(workspace, identifier).content)


def archive_study(workspace: Workspace, identifier: str, archived: bool) -> Study:
    with workspace.transaction() as repository:
        existing(repository, identifier)
        repository.studies.put_away(identifier, archived)
    return get_study(workspace, identifier)


def save_study(workspace: Workspace, identifier: str) -> Study:
    """Mark an unsaved study as saved."""
    with workspace.transaction() as repository:
        existing(repository, identifier)
        repository.studies.save(identifier)
    return get_study(workspace, identifier)


def export_study(workspace: Workspace, identifier: str, version: int | None = None) -> StudyFile:
    study = get_study(workspace, identifier, version)
    return StudyFile(
        format="rackline-study",
        format_version=1,
        engine_version=engine_version(workspace.sizing.catalog.version),
        catalog_version=workspace.sizing.catalog.version,
        study=study.content,
    )


def import_study(workspace: Workspace, file: StudyFile, key: str | None = None) -> Study:
    once = IdempotentCall.of("studies/import", key, file)
    return keep_study(workspace, file.study, once, saved=True)


def existing(repository: Repository, identifier: str) -> StudyRecord:
    record = repository.studies.find(identifier)
    if record is None:
        raise no_such("study", identifier)
    return record


def delete_study(workspace: Workspace, identifier: str, expected: int | None = None) -> None:
    """Delete an archived study, its versions, and uploads to which nothing else refers.

    Comparisons and proposals made from it are kept. ``expected`` is the version that must be the newest.
    """
    addresses: list[str | None] = []
    with workspace.transaction() as repository:
        # Nobody may keep what names its uploads meanwhile.
        repository.hold()
        # The lock keeps the study from being restored between the checks and the deletion.
        repository.studies.hold(identifier)
        record = existing(repository, identifier)
        if expected is not None and expected != record.version:
            raise _changed_meanwhile(record.version, expected)
        if not record.archived:
            raise Conflict.at("archived", "only an archived study can be deleted: archive it first")
        uploads = repository.uploads
        contents = [json.dumps(content) for content in uploads.delete_study(identifier)]
        addresses += [
            uploads.delete_profile(profile)
            for profile in sorted(identifiers(contents, "prf"))
            if uploads.has_profile(profile) and not uploads.named_anywhere(profile)
        ]
        for sample in sorted(identifiers(contents, "wkl")):
            if uploads.has_sample(sample) and not uploads.named_anywhere(sample):
                uploads.delete_sample(sample)
    workspace.installation.forget_uploads()
    workspace.remove_files(addresses)


def drop_unsaved(workspace: Workspace, identifier: str) -> None:
    """Delete a study unless it has been saved; its uploads are kept."""
    with workspace.transaction() as repository:
        repository.studies.hold(identifier)
        record = repository.studies.find(identifier)
        if record is not None and not record.saved:
            repository.uploads.delete_study(identifier)
