"""Add, change and delete accelerators of a workspace; every version is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from app.catalog.catalog import Catalog
from app.catalog.own import HALF, PEAKS, PREFIX, doubts
from app.errors import BadInput, Conflict, FieldError, Message, NotFound, Unprocessable, VersionConflict
from app.estimating.hardware import MOST_PORTS, known_id
from app.estimating.schema import filled
from app.features.accelerators.model import (
    Accelerator,
    AcceleratorChange,
    AcceleratorPatch,
    AcceleratorRequest,
    AcceleratorSummary,
    AcceleratorUse,
    AcceleratorVersionSummary,
    DataSheet,
)
from app.platform.catalogue import figure
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.json_bodies import as_app_error
from app.platform.listing import Page, page_of
from app.platform.references import existing
from app.platform.store.document_queries import DuplicateVersion
from app.platform.store.queries import new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import AcceleratorRecord, AcceleratorVersion
from app.platform.store.trail import acting_name
from app.platform.workspace import Workspace, accelerator

MOST = 100
"""Most accelerators of one workspace, including deleted ones still in use."""

MOST_VERSIONS = 200

MOST_USES = 20
"""Most uses of one kind that are listed."""

LIMITS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(PEAKS, (0.1, 1e6)),
    "memory_gb": (1.0, 1e5),
    "memory_gb_per_s": (1.0, 1e6),
    "power_w": (1.0, 1e5),
    "link_gb_per_s": (0.1, 1e5),
    "devices": (1, 256),
    "linked_devices": (1, 16_384),
    "ports": (1, MOST_PORTS),
    "machine_price": (1.0, 1e12),
    "hourly_rent": (0.001, 1e9),
}
"""Field → smallest and largest value, in its unit."""


def create_accelerator(
    workspace: Workspace, request: AcceleratorRequest, key: str | None = None
) -> Accelerator:
    check(request, workspace.installation.sizing.catalog)

    def make() -> tuple[Accelerator, Save]:
        identifier, moment = new_id("own").replace("own_", PREFIX), now()
        record = AcceleratorRecord(
            id=identifier, workspace_id=workspace.id, name=request.name, version=1, created_at=moment,
            updated_at=moment,
        )  # fmt: skip
        version = _version(identifier, 1, request)

        def save(repository: Repository) -> None:
            repository.hold()
            if repository.count_rows(AcceleratorRecord) >= MOST:
                message = "a workspace can have at most {most} accelerators; delete unused ones"
                raise Conflict.at("id", message, most=MOST)
            repository.accelerators.add(record, version)

        return _document(workspace, record, [version], version, []), save

    return keep(workspace, IdempotentCall.of("accelerators", key, request), Accelerator, make)


def get_accelerator(workspace: Workspace, identifier: str, version: int | None = None) -> Accelerator:
    with workspace.transaction() as repository:
        record = existing(repository, AcceleratorRecord, identifier, "accelerator")
        versions = repository.accelerators.versions(identifier)
        uses = repository.accelerators.users(identifier, MOST_USES)
        by_number = {row.version: row for row in versions}
        selected = by_number.get(version or record.version)
        if selected is None:
            raise NotFound.named("version", str(version), map(str, by_number), "version")
        return _document(workspace, record, versions, selected, uses)


def list_accelerators(workspace: Workspace, limit: int, cursor: str | None) -> Page[AcceleratorSummary]:
    with workspace.transaction() as repository:
        return page_of(
            repository,
            AcceleratorRecord,
            lambda row: filled(AcceleratorSummary, row),
            limit,
            cursor,
            *repository.accelerators.in_use(),
        )


def change_accelerator(
    workspace: Workspace, identifier: str, patch: AcceleratorPatch, expected: int | None
) -> Accelerator:
    """Store a new version, if the newest one is still the expected one."""
    current = 0
    try:
        with workspace.transaction() as repository:
            record = existing(repository, AcceleratorRecord, identifier, "accelerator", lock=True)
            current = record.version
            if record.deleted_at is not None:
                raise Conflict.at("id", "{name} was deleted; add it anew", name=record.name)
            if expected is not None and expected != current:
                raise VersionConflict.since(expected, current)
            if current >= MOST_VERSIONS:
                message = "an accelerator can have at most {most} versions; add a new one"
                raise Conflict.at("version", message, most=MOST_VERSIONS)
            before = repository.accelerators.find(identifier, current)
            assert before is not None, "an accelerator has its newest version"
            request = patched(before.document, patch)
            check(request, workspace.installation.sizing.catalog)
            repository.accelerators.add_version(
                record, request.name, _version(identifier, current + 1, request)
            )
    except DuplicateVersion:
        raise VersionConflict.since(current, current + 1) from None
    return get_accelerator(workspace, identifier)


def delete_accelerator(workspace: Workspace, identifier: str) -> None:
    """Delete an accelerator; its figures are kept for what was made with it."""
    with workspace.transaction() as repository:
        # Whoever keeps what is made with it holds the workspace.
        repository.hold()
        existing(repository, AcceleratorRecord, identifier, "accelerator", lock=True)
        repository.deletions.forget_answers(identifier)
        if repository.uploads.named_anywhere(identifier):
            repository.accelerators.withdraw(identifier)
        else:
            repository.accelerators.remove(identifier)


def patched(document: Mapping[str, Any], patch: AcceleratorPatch) -> AcceleratorRequest:
    """Return the request after a change; null omits a field."""
    merged = {**document, **patch.model_dump(exclude_unset=True)}
    try:
        return AcceleratorRequest.model_validate(
            {name: value for name, value in merged.items() if value is not None}
        )
    except ValidationError as error:
        raise as_app_error(error) from None


def check(request: AcceleratorRequest, catalog: Catalog) -> None:
    """Refuse figures out of range, and peaks that look sparse unless ``sparsity`` is stated."""
    if all(getattr(request, name) is None for name in HALF):
        raise Unprocessable.at(
            HALF[0], "enter the peak in bf16 or in fp16; every accelerator has one of them"
        )
    errors = []
    for name, (least, most) in LIMITS.items():
        value = getattr(request, name)
        if value is not None and not least <= value <= most:
            values = {"value": value, "least": least, "most": most}
            errors.append(
                FieldError(name, Message("must be between {least} and {most}, not {value}", values))
            )
    if errors:
        raise BadInput(
            errors[0].message if len(errors) == 1 else Message("some figures are out of range"), errors
        )
    known_id(catalog, "fabric", request.fabric, "fabric")
    if request.fabric == "ipu-fabric":
        raise BadInput.at("fabric", "{fabric} connects IPUs only", fabric=request.fabric)
    if request.linked_devices is not None and request.linked_devices % request.devices:
        raise BadInput.at(
            "linked_devices",
            "must be a whole number of machines of {devices} devices, not {value}",
            devices=request.devices,
            value=request.linked_devices,
        )
    if request.machine_price is not None and request.hourly_rent is not None:
        raise BadInput.at("hourly_rent", "enter the price of a machine or the rent of a device, not both")
    if request.sparsity is None:
        peaks = {name: value for name in PEAKS if (value := getattr(request, name)) is not None}
        if doubtful := doubts(catalog, peaks, request.memory_gb_per_s):
            raise BadInput(doubtful[0], [FieldError("sparsity", one) for one in doubtful])


def _version(identifier: str, version: int, request: AcceleratorRequest) -> AcceleratorVersion:
    return AcceleratorVersion(
        accelerator_id=identifier,
        version=version,
        workspace_id="",
        stated_by=acting_name()[:200],
        document=request.model_dump(mode="json"),
        created_at=now(),
    )


def _document(
    workspace: Workspace,
    record: AcceleratorRecord,
    versions: Sequence[AcceleratorVersion],
    selected: AcceleratorVersion,
    uses: Sequence[tuple[Any, str, str]],
) -> Accelerator:
    """Return an accelerator at a version, with the figures that estimates use; versions newest first."""
    catalog = workspace.installation.sizing.catalog.with_own([accelerator(record, selected)])
    own = catalog.system(record.id)
    entries = (own.machine.chip, own.machine, own)
    facts = {(fact.parameter, fact.condition): fact for entry in entries for fact in entry.figures}
    figures = (figure(catalog, fact) for fact in facts.values())
    documents = {row.version: row.document for row in versions}
    return filled(
        Accelerator,
        record,
        **DataSheet.model_validate(selected.document).model_dump(),
        version=selected.version,
        newest=record.version,
        stated_by=selected.stated_by,
        figures=[document for document in figures if document is not None],
        used_by=[AcceleratorUse(kind=kind, id=identifier, name=name) for kind, identifier, name in uses],
        versions=[
            filled(
                AcceleratorVersionSummary, row, changes=changes(documents.get(row.version - 1), row.document)
            )
            for row in versions
        ],
    )


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> list[AcceleratorChange]:
    """Return the fields in which two versions differ; none of the first."""
    if before is None:
        return []
    return [
        AcceleratorChange(field=name, before=before.get(name), after=value)
        for name, value in after.items()
        if before.get(name) != value
    ]
