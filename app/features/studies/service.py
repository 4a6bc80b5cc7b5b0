"""Studies: made, found, changed version by version, and answered in any of their states."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from app import __version__
from app.errors import AppError, Conflict, FieldError, Message, NotFound, Overtaken
from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest
from app.features.comparisons.model import PublishedFigure
from app.features.estimates.service import make_estimate
from app.features.studies.answering import Made, OptionRefusal, Requests
from app.features.studies.explaining import changes_between
from app.features.studies.knobs import check, field_of_knobs, labels_of, request_of, turn
from app.features.studies.model import (
    FORMAT,
    FORMAT_VERSION,
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
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, filled, read_cursor, write_cursor
from app.platform.store.document_queries import StudyFilter
from app.platform.store.queries import EVERYTHING, After, ListFilter, new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import StudyRecord, StudyVersionRecord
from app.platform.store.upload_queries import identifiers
from app.platform.workbench import Workbench, hold_uploads, no_such, remove_files


def estimates_of(
    bench: Workbench,
    workspace_id: str,
    content: StudyContent,
    knobs: Mapping[str, str],
    *,
    strict: bool = True,
) -> tuple[Requests, Made]:
    """Return what each option asks and what came of it, estimates that are kept from memory."""
    with _at_knobs(content, knobs):
        check(content, bench.sizing.catalog)
    requests: Requests = {}
    made: dict[str, Estimate | OptionRefusal | None] = {}
    for place, option in enumerate(content.options):
        asked = requests[option.key] = request_of(content, option)
        if isinstance(asked, PublishedFigure):
            made[option.key] = None
            continue
        try:
            with _at_knobs(content, knobs, f"options.{place}."):
                made[option.key] = estimate_option(bench, workspace_id, asked)
        except AppError as error:
            if strict:
                raise
            made[option.key] = OptionRefusal(error)
    return requests, made


def estimate_option(bench: Workbench, workspace_id: str, request: EstimateRequest) -> Estimate:
    """Return the estimate of an option, from memory where it was made before."""

    def make() -> Estimate:
        # Nothing is stored, so there is no identifier to give.
        return make_estimate(bench, workspace_id, request).model_copy(update={"id": ""})

    return bench.estimates.get(workspace_id, request, make)


@contextmanager
def _at_knobs(content: StudyContent, knobs: Mapping[str, str], prefix: str = "") -> Iterator[None]:
    """Name the option in the fields of what is wrong with it, or the knobs, where any were turned."""
    try:
        yield
    except AppError as error:
        found = [(f"{prefix}{one.field}", one.message) for one in error.errors]
        if knobs:
            keys = [option.key for option in content.options]
            found = [(field_of_knobs(field, keys, knobs), message) for field, message in found]
        error.errors = tuple(FieldError(field, message) for field, message in found)
        raise


MAX_VERSIONS = 1000

NAME_LENGTH = 200


def create_study(
    bench: Workbench,
    workspace_id: str,
    content: StudyContent,
    key: str | None = None,
    *,
    saved: bool = True,
) -> Study:
    """Keep a study whose options can all be answered; one that is not saved goes after a time."""

    def make() -> tuple[Study, Save]:
        estimates_of(bench, workspace_id, content, {})
        made, add = first_version(content, saved=saved)

        def save(repository: Repository) -> None:
            hold_uploads(repository, tree_of(content))
            add(repository)

        return made, save

    return keep(bench, workspace_id, IdempotentCall.of("studies", key, content), Study, make)


def unsaved_study(
    bench: Workbench, workspace_id: str, path: str, content: StudyContent, *, strict: bool = False
) -> Study:
    """Return the unsaved study that an address leads to; the same question leads to the same study.

    Unless it is strict, it need not be possible to estimate all of its options: its page says which cannot
    be, and why.
    """

    def make() -> tuple[Study, Save]:
        check(content, bench.sizing.catalog)
        if strict:
            estimates_of(bench, workspace_id, content, {})
        return first_version(content, saved=False)

    digest = hashlib.sha256(content.model_dump_json(exclude_unset=True).encode()).hexdigest()
    while True:
        once = IdempotentCall.of("studies", f"{path}:{digest[:32]}", content)
        study = keep(bench, workspace_id, once, Study, make)
        try:
            found = get_study(bench, workspace_id, study.id)
        except NotFound:  # It was deleted meanwhile.
            return keep(bench, workspace_id, None, Study, make)
        if found.latest == 1:
            return found
        # Somebody has changed it and kept it; the address asks what it asked.
        digest = hashlib.sha256(f"{digest} {found.id}".encode()).hexdigest()


def first_version(content: StudyContent, *, saved: bool = True) -> tuple[Study, Save]:
    """Return a study with its first version, and what keeps it."""
    moment = now()
    made = Study(
        id=new_id("stu"),
        saved=saved,
        version=1,
        latest=1,
        archived=False,
        created_at=moment,
        changed_at=moment,
        content=content,
    )

    def save(repository: Repository) -> None:
        record = StudyRecord(
            id=made.id,
            workspace_id="",
            name=content.name,
            sought="",
            options=len(content.options),
            version=1,
            archived=False,
            saved=saved,
            customer=content.customer,
            created_at=moment,
            updated_at=moment,
        )
        repository.studies.add(record, tree_of(content), [])

    return made, save


def get_study(bench: Workbench, workspace_id: str, identifier: str, version: int | None = None) -> Study:
    with bench.store.transaction(workspace_id) as repository:
        record = existing(repository, identifier)
        found = repository.studies.version(identifier, version or record.version)
        if found is None:
            template = "this study has no version {version}; the latest is {latest}"
            values = {"version": version, "latest": record.version}
            message = Message(template, values)
            raise NotFound(message, [FieldError("version", message)])
        return _study(record, found)


def _study(record: StudyRecord, found: StudyVersionRecord) -> Study:
    return filled(
        Study,
        record,
        version=found.version,
        latest=record.version,
        changed_at=found.created_at,
        content=StudyContent.model_validate(found.content),
    )


def list_studies(
    bench: Workbench,
    workspace_id: str,
    limit: int,
    cursor: str | None,
    sought: str = "",
    archived: bool = False,
    saved: bool = True,
    wanted: ListFilter = EVERYTHING,
) -> Page[StudySummary]:
    """Return studies, newest first: those at hand, those put away, or those nobody has saved."""
    after = read_cursor(cursor)
    place = None if after is None else (after.created_at, after.id)
    with bench.store.transaction(workspace_id) as repository:
        rows, following = repository.studies.listing(
            StudyFilter(sought, archived, saved), limit, place, wanted
        )
    items = [filled(StudySummary, row) for row in rows]
    return Page(items=items, next=write_cursor(None if following is None else After(*following)))


@dataclass(frozen=True, slots=True)
class Recent:
    """A study that was changed last."""

    id: str
    name: str
    labels: Sequence[str]
    """Names of its options."""
    model: str
    """Identifier of its preset or uploaded model; empty for one that is written out."""
    changed_at: datetime


def recent_studies(bench: Workbench, workspace_id: str, limit: int) -> list[Recent]:
    with bench.store.transaction(workspace_id) as repository:
        rows = [
            (record.id, record.name, record.updated_at, version.content)
            for record, version in repository.studies.latest(limit)
        ]
    found = []
    for identifier, name, changed_at, tree in rows:
        content = StudyContent.model_validate(tree)
        model = content.base.model.profile_id or content.base.model.preset or ""
        labels = list(labels_of(content, bench.sizing.catalog).values())
        found.append(Recent(identifier, name, labels, model, changed_at))
    return found


def list_versions(bench: Workbench, workspace_id: str, identifier: str) -> StudyVersions:
    with bench.store.transaction(workspace_id) as repository:
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
    bench: Workbench,
    workspace_id: str,
    identifier: str,
    patch: StudyPatch,
    expected: int | None = None,
    version: int | None = None,
) -> Study:
    """Keep a new version of a study; what is left out stays as in the version it starts from."""
    latest = get_study(bench, workspace_id, identifier)
    check_edit(bench, workspace_id, latest, expected)
    before = latest if version is None else get_study(bench, workspace_id, identifier, version)
    named = patch.model_fields_set - {"knobs"}
    stated = {name for name in named if getattr(patch, name) is not None}
    content = StudyContent.model_validate(
        {
            **tree_of(before.content),
            **patch.model_dump(mode="json", exclude_unset=True, include=stated),
        }
    )
    turned = turn(content, patch.knobs)
    changes = changes_between(latest.content, turned.content)
    if not changes:
        return latest
    estimates_of(bench, workspace_id, turned.content, turned.knobs)
    tree = tree_of(turned.content)
    if latest.version >= MAX_VERSIONS:
        raise Conflict.at(
            "version", "a study can have at most {most} versions; duplicate it to continue", most=MAX_VERSIONS
        )
    with bench.store.transaction(workspace_id) as repository:
        hold_uploads(repository, tree)
        kept = repository.studies.add_next(
            identifier,
            latest.version,
            turned.content.name,
            turned.content.customer,
            len(turned.content.options),
            tree,
            [change.model_dump(mode="json") for change in changes],
        )
    if not kept:
        newest = get_study(bench, workspace_id, identifier)
        check_edit(bench, workspace_id, newest, latest.version)
    return get_study(bench, workspace_id, identifier, latest.version + 1)


def check_edit(bench: Workbench, workspace_id: str, found: Study, expected: int | None) -> None:
    """Refuse an edit of what is put away, or of what another has changed; the other's change is told."""
    if found.archived:
        raise Conflict.at("archived", "the study is archived; restore it before changing it")
    if expected is None or expected == found.version:
        return
    message = changed_meanwhile(found.version, expected)
    changes = changes_since(bench, workspace_id, found.id, expected) if 0 < expected < found.version else []
    told = [
        FieldError(_path(change), Message(change.text.template, change.text.values)) for change in changes
    ]
    raise Overtaken(message, [FieldError("If-Match", message), *told])


def changed_meanwhile(found: int, expected: int) -> Message:
    return Message(
        "the study has changed in the meantime (version {found}, not {expected}); reload it",
        {"found": found, "expected": expected},
    )


def _path(change: StudyChange) -> str:
    whole = change.option is None or change.field == f"options.{change.option}"
    return change.field if whole else f"options.{change.option}.{change.field}"


def changes_since(bench: Workbench, workspace_id: str, identifier: str, version: int) -> list[StudyChange]:
    """Return what the newest version has that an earlier one has not."""
    before = get_study(bench, workspace_id, identifier, version)
    return changes_between(before.content, get_study(bench, workspace_id, identifier).content)


def archive_study(bench: Workbench, workspace_id: str, identifier: str, archived: bool) -> Study:
    """Put a study away, or bring it back; its versions stay."""
    with bench.store.transaction(workspace_id) as repository:
        existing(repository, identifier)
        repository.studies.put_away(identifier, archived)
    return get_study(bench, workspace_id, identifier)


def save_study(bench: Workbench, workspace_id: str, identifier: str) -> Study:
    """Keep a study that was only looked at until now."""
    with bench.store.transaction(workspace_id) as repository:
        existing(repository, identifier)
        repository.studies.save(identifier)
    return get_study(bench, workspace_id, identifier)


def export_study(
    bench: Workbench, workspace_id: str, identifier: str, version: int | None = None
) -> StudyFile:
    """Return a study as one file; the same version always gives the same file."""
    study = get_study(bench, workspace_id, identifier, version)
    return StudyFile(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        engine_version=__version__,
        catalog_version=bench.sizing.catalog.version,
        study=study.content,
    )


def import_study(bench: Workbench, workspace_id: str, file: StudyFile, key: str | None = None) -> Study:
    """Keep the study of a file under a new identifier; what it names must be known here."""

    def make() -> tuple[Study, Save]:
        estimates_of(bench, workspace_id, file.study, {})
        return first_version(file.study)

    return keep(bench, workspace_id, IdempotentCall.of("studies/import", key, file), Study, make)


def existing(repository: Repository, identifier: str) -> StudyRecord:
    record = repository.studies.find(identifier)
    if record is None:
        raise no_such("study", identifier)
    return record


def delete_study(bench: Workbench, workspace_id: str, identifier: str, expected: int | None = None) -> None:
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
        for profile in sorted(identifiers(stated, "prf")):
            known = repository.uploads.has_profile(profile)
            if known and not repository.uploads.named_anywhere(profile):
                addresses.append(repository.uploads.delete_profile(profile))
        for sample in sorted(identifiers(stated, "wkl")):
            known = repository.uploads.has_sample(sample)
            if known and not repository.uploads.named_anywhere(sample):
                repository.uploads.delete_sample(sample)
    bench.forget_uploads()
    remove_files(bench, workspace_id, addresses)


def drop_unsaved(bench: Workbench, workspace_id: str, identifier: str) -> None:
    """Delete a study that nobody has saved, unless somebody just did; uploads stay."""
    with bench.store.transaction(workspace_id) as repository:
        repository.studies.hold(identifier)
        record = repository.studies.find(identifier)
        if record is not None and not record.saved:
            repository.uploads.delete_study(identifier)
