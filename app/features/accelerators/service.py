"""Add, change, keep and delete accelerators of a workspace; every version stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from app.catalog.catalog import Catalog
from app.catalog.own import PEAKS, PREFIX, doubts
from app.errors import BadInput, Conflict, FieldError, Message, NotFound, Overtaken
from app.estimating.hardware import MOST_PORTS, known_id
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
from app.platform.listing import Page, filled, page_of
from app.platform.store.document_queries import VersionTaken
from app.platform.store.queries import new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import AcceleratorRecord, AcceleratorVersion
from app.platform.store.trail import acting_name
from app.platform.workbench import Workbench, accelerator, existing

MOST = 100
"""Accelerators of one workspace, deleted ones that something was made with included."""

MOST_VERSIONS = 200

MOST_USES = 20
"""Objects of one kind that are named as made with an accelerator."""

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
"""Values that make sense, in the unit of the field."""


def create_accelerator(
    bench: Workbench, workspace_id: str, request: AcceleratorRequest, key: str | None = None
) -> Accelerator:
    check(request, bench.published.catalog)

    def make() -> tuple[Accelerator, Save]:
        identifier, moment = new_id("own").replace("own_", PREFIX), now()
        record = AcceleratorRecord(
            id=identifier, workspace_id=workspace_id, name=request.name, version=1, created_at=moment,
            updated_at=moment,
        )  # fmt: skip
        version = _version(identifier, 1, request)

        def save(repository: Repository) -> None:
            repository.hold()
            if len(repository.accelerators.state()) >= MOST:
                message = "a workspace can have at most {most} accelerators; delete unused ones"
                raise Conflict(Message(message, {"most": MOST}))
            repository.accelerators.add(record, version)

        return _document(bench, record, [version], version, []), save

    return keep(bench, workspace_id, IdempotentCall.of("accelerators", key, request), Accelerator, make)


def get_accelerator(
    bench: Workbench, workspace_id: str, identifier: str, version: int | None = None
) -> Accelerator:
    with bench.store.transaction(workspace_id) as repository:
        record = existing(repository, AcceleratorRecord, identifier, "accelerator")
        versions = repository.accelerators.versions(identifier)
        uses = repository.accelerators.users(identifier, MOST_USES)
        shown = next((one for one in versions if one.version == (version or record.version)), None)
        if shown is None:
            raise NotFound.named("version", str(version), [str(one.version) for one in versions], "version")
        return _document(bench, record, versions, shown, uses)


def list_accelerators(
    bench: Workbench, workspace_id: str, limit: int, cursor: str | None
) -> Page[AcceleratorSummary]:
    with bench.store.transaction(workspace_id) as repository:
        return page_of(
            repository,
            AcceleratorRecord,
            lambda row: filled(AcceleratorSummary, row),
            limit,
            cursor,
            *repository.accelerators.in_use(),
        )


def change_accelerator(
    bench: Workbench, workspace_id: str, identifier: str, patch: AcceleratorPatch, expected: int | None
) -> Accelerator:
    """Keep a new version; with an expected version, only if nobody else has changed it since."""
    read = 0
    try:
        with bench.store.transaction(workspace_id) as repository:
            record = existing(repository, AcceleratorRecord, identifier, "accelerator")
            read = record.version
            if record.deleted_at is not None:
                raise Conflict(Message("{name} was deleted; add it anew", {"name": record.name}))
            if expected is not None and expected != read:
                raise _changed_meanwhile(read, expected)
            if read >= MOST_VERSIONS:
                message = "an accelerator can have at most {most} versions; add a new one"
                raise Conflict.at("version", message, most=MOST_VERSIONS)
            before = repository.accelerators.find(identifier, read)
            assert before is not None, "an accelerator has its newest version"
            request = patched(before.document, patch)
            check(request, bench.published.catalog)
            repository.accelerators.add_version(record, request.name, _version(identifier, read + 1, request))
    except VersionTaken:
        raise _changed_meanwhile(read + 1, read) from None
    return get_accelerator(bench, workspace_id, identifier)


def delete_accelerator(bench: Workbench, workspace_id: str, identifier: str) -> None:
    """Delete an accelerator; where something was made with it, its figures stay for that alone."""
    with bench.store.transaction(workspace_id) as repository:
        existing(repository, AcceleratorRecord, identifier, "accelerator")
        if repository.uploads.named_anywhere(identifier):
            repository.accelerators.withdraw(identifier)
        else:
            repository.accelerators.remove(identifier)


def patched(document: Mapping[str, Any], patch: AcceleratorPatch) -> AcceleratorRequest:
    """Return what is stated after a change; a field that is emptied is one that was omitted."""
    merged = {**document, **patch.model_dump(exclude_unset=True)}
    try:
        return AcceleratorRequest.model_validate(
            {name: one for name, one in merged.items() if one is not None}
        )
    except ValidationError as error:
        raise as_app_error(error) from None


def check(request: AcceleratorRequest, catalog: Catalog) -> None:
    """Refuse figures that make no sense, and peaks that look like ones with sparsity until it is said."""
    wrong = []
    for name, (least, most) in LIMITS.items():
        value = getattr(request, name)
        if value is not None and not least <= value <= most:
            values = {"value": value, "least": least, "most": most}
            wrong.append(FieldError(name, Message("must be between {least} and {most}, not {value}", values)))
    if wrong:
        raise BadInput(
            wrong[0].message if len(wrong) == 1 else Message("some figures are out of range"), wrong
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
        raise BadInput.at(
            "hourly_rent",
            "enter the price of a machine or the rent of a device, not both",
        )
    if request.sparsity is None:
        peaks = {name: value for name in PEAKS if (value := getattr(request, name)) is not None}
        if doubtful := doubts(catalog, peaks, request.memory_gb_per_s):
            raise BadInput(doubtful[0], [FieldError("sparsity", one) for one in doubtful])


def _changed_meanwhile(found: int, expected: int) -> Overtaken:
    return Overtaken.at(
        "If-Match",
        "the accelerator has changed in the meantime (version {found}, not {expected}); reload it",
        found=found,
        expected=expected,
    )


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
    bench: Workbench,
    record: AcceleratorRecord,
    versions: Sequence[AcceleratorVersion],
    shown: AcceleratorVersion,
    uses: Sequence[tuple[Any, str, str]],
) -> Accelerator:
    """Return an accelerator as of a version, with the figures that follow from it; versions newest first."""
    catalog = bench.published.catalog.with_own([accelerator(record, shown)])
    entries = (catalog.chip(record.id), catalog.machine_entry(record.id), catalog.system(record.id))
    facts = {(one.parameter, one.condition): one for entry in entries for one in entry.figures}
    found = (figure(catalog, fact) for fact in facts.values())
    documents = {one.version: one.document for one in versions}
    return filled(
        Accelerator,
        record,
        **DataSheet.model_validate(shown.document).model_dump(),
        version=shown.version,
        newest=record.version,
        stated_by=shown.stated_by,
        figures=[one for one in found if one is not None],
        used_by=[AcceleratorUse(kind=kind, id=identifier, name=name) for kind, identifier, name in uses],
        versions=[
            filled(
                AcceleratorVersionSummary,
                one,
                changes=changes(documents.get(one.version - 1), one.document),
            )
            for one in versions
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
