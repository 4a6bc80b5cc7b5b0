"""Create, follow, cancel, read and compute sweeps."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from sqlmodel import col

from app.errors import BadInput, Conflict
from app.estimating.names import STORED
from app.estimating.schema import filled
from app.features.studies.service import get_study
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.points import Sweep, UploadSet
from app.features.sweeps.rows import Job, Status, SweepAnswer, SweepRow, SweepState
from app.features.sweeps.run import WorkerPool, run_sweep
from app.platform.deleting import delete
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.job_running import JobClaim
from app.platform.listing import Page, read_cursor, write_cursor
from app.platform.references import existing, hold_named
from app.platform.store.document_queries import Label, Order, RowPlace, RowSelection
from app.platform.store.queries import EVERYTHING, ListFilter, new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import JobRecord, SweepRecord, SweepRowRecord
from app.platform.worker_processes import installed_context
from app.platform.workspace import Workspace, found

RowOrder: TypeAlias = Order
"""Fields by which rows are sorted."""

RowLabel: TypeAlias = Label
"""Fields by which rows are filtered."""

MOST_POSITION = 2**31

BATCH = 500
"""Rows read at once when all are read."""

COLUMNS = ("position", "key", "model", "system", "price", "scenario", "time_to_train", "cost")
"""Fields of a row with their own database column, by which rows are found and sorted."""


def create_sweep(workspace: Workspace, request: SweepRequest, key: str | None = None) -> SweepState:
    """Store a sweep and its job, and wake a worker."""

    def make() -> tuple[SweepState, Save]:
        sweep = Sweep.of(request)
        UploadSet.of(request, workspace.context())
        if request.study_id is not None:
            found(partial(get_study, workspace), "study_id", request.study_id)
        record = SweepRecord(
            id=new_id("swp"),
            workspace_id=workspace.id,
            title=title_of(request),
            request=request.model_dump(mode="json", exclude_unset=True),
        )
        job = JobRecord(
            id=record.id, workspace_id=workspace.id, kind="sweep", status="queued", total=sweep.total
        )

        def save(repository: Repository) -> None:
            hold_named(repository, record.request)
            repository.add(record, job)

        return state_of(record, job), save

    state = keep(workspace, IdempotentCall.of("sweeps", key, request), SweepState, make)
    workspace.installation.wake()
    return state


def title_of(request: SweepRequest) -> str:
    """Return the title of a sweep; by default its models and systems."""
    if request.title:
        return request.title
    models = [model.label or model.model.preset or model.model.profile_id for model in request.models]
    systems = dict.fromkeys(system.label or system.id for system in request.systems)
    parts = [", ".join(filter(None, models)), ", ".join(systems)]
    return " × ".join(filter(None, parts))[:200]


def state_of(record: SweepRecord, job: JobRecord) -> SweepState:
    return filled(SweepState, job, name=record.title, created_at=record.created_at)


def current(repository: Repository, identifier: str) -> SweepState:
    """Return the state of a sweep, or raise NotFound."""
    record = existing(repository, SweepRecord, identifier, "sweep")
    return state_of(record, existing(repository, JobRecord, identifier, "job"))


def list_sweeps(
    workspace: Workspace,
    limit: int,
    cursor: str | None,
    study: str | None = None,
    wanted: ListFilter = EVERYTHING,
) -> Page[SweepState]:
    """Return sweeps, newest first; with a study, only its sweeps."""
    conditions = [] if study is None else [col(SweepRecord.request)["study_id"].as_string() == study]
    with workspace.transaction() as repository:
        listing = repository.page(SweepRecord, limit, read_cursor(cursor), *conditions, wanted=wanted)
        jobs = repository.named(JobRecord, (row.id for row in listing.rows))
    return Page(items=[state_of(row, jobs[row.id]) for row in listing.rows], next=write_cursor(listing.next))


def get_request(workspace: Workspace, identifier: str) -> SweepRequest:
    with workspace.transaction() as repository:
        return SweepRequest.model_validate(existing(repository, SweepRecord, identifier, "sweep").request)


def get_state(workspace: Workspace, identifier: str) -> SweepState:
    with workspace.transaction() as repository:
        return current(repository, identifier)


def get_job(workspace: Workspace, identifier: str) -> Job:
    """Return the job that computes a sweep."""
    with workspace.transaction() as repository:
        job = existing(repository, JobRecord, identifier, "job")
        return filled(Job, job, result=f"/api/v1/sweeps/{identifier}")


def get_sweep(
    workspace: Workspace,
    identifier: str,
    *,
    limit: int,
    offset: int = 0,
    after: RowPlace | None = None,
    order: Order = "position",
    labels: Mapping[Label, str] | None = None,
) -> SweepAnswer:
    selection = RowSelection(labels or {}, order)
    with workspace.transaction() as repository:
        record = existing(repository, SweepRecord, identifier, "sweep")
        state = state_of(record, existing(repository, JobRecord, identifier, "job"))
        queries = repository.of_sweep(identifier)
        matching = queries.count(selection)
        documents = queries.rows(selection, limit + 1, offset, after)
        refused = queries.refused()
    sweep = Sweep.restore(SweepRequest.model_validate(record.request, context=STORED))
    rows = [SweepRow.model_validate(document) for document in documents[:limit]]
    return SweepAnswer(
        **dict(state),
        refused=refused,
        labels=sweep.labels(),
        sizes=sweep.sizes(),
        matching=matching,
        rows=rows,
        next=row_cursor(rows[-1], order) if len(documents) > limit else None,
        request=record.request,
    )


def row_cursor(row: SweepRow, order: Order) -> str:
    """Return the cursor of the rows after one."""
    value = None if order == "position" else getattr(row, order)
    text = f"{order} {'-' if value is None else repr(value)} {row.position}"
    return base64.urlsafe_b64encode(text.encode()).decode()


def read_row_cursor(cursor: str | None, order: Order) -> RowPlace | None:
    """Return the row after which a page starts, from a cursor for the same order."""
    if cursor is None:
        return None
    try:
        cursor_order, value, position = base64.urlsafe_b64decode(cursor.encode()).decode().split(" ")
        after = RowPlace(int(position), None if value == "-" else float(value))
    except (ValueError, binascii.Error):
        cursor_order, after = "", RowPlace(0)
    if (
        cursor_order != order
        or not 0 <= after.position < MOST_POSITION
        or not math.isfinite(after.value or 0)
    ):
        raise BadInput.at("cursor", "use the “next” value of an earlier response")
    return after


def best_rows(
    workspace: Workspace, identifier: str, limit: int, order: Order, labels: Mapping[Label, str]
) -> list[SweepRow]:
    """Return the first rows with a time to train, for a figure."""
    with workspace.transaction() as repository:
        current(repository, identifier)
        documents = repository.of_sweep(identifier).rows(RowSelection(labels, order, answered=True), limit)
    return [SweepRow.model_validate(document) for document in documents]


def cancel_sweep(workspace: Workspace, identifier: str) -> SweepState:
    """Cancel a sweep, keeping its rows; does nothing if it is cancelled already."""
    return _set_status(workspace, identifier, {"queued", "running"}, "cancelled")


def resume_sweep(workspace: Workspace, identifier: str) -> SweepState:
    """Queue a cancelled or failed sweep again; does nothing if it is queued or running."""
    state = _set_status(workspace, identifier, {"cancelled", "failed"}, "queued")
    workspace.installation.wake()
    return state


def _set_status(workspace: Workspace, identifier: str, before: set[str], status: Status) -> SweepState:
    with workspace.transaction() as repository:
        changed = repository.of_job(identifier).move(before, status, now())
        state = current(repository, identifier)
        if not changed and state.status != status and state.ended:
            raise Conflict.at(
                "id", "the sweep has already ended with the status “{status}”", status=state.status
            )
        return state


def every_row(workspace: Workspace, identifier: str) -> Iterator[SweepRow]:
    """Return all available rows in the order of the sweep, read in batches."""
    get_state(workspace, identifier)

    def rows() -> Iterator[SweepRow]:
        last, more = -1, True
        while more:
            # A transaction per batch, so that a slow reader does not hold one open.
            with workspace.transaction() as repository:
                documents = repository.of_sweep(identifier).rows_after(last, BATCH)
            for document in documents:
                row = SweepRow.model_validate(document)
                last = row.position
                yield row
            more = len(documents) == BATCH

    return rows()


def compute_sweep(claim: JobClaim, make_pool: Callable[[], WorkerPool]) -> None:
    """Compute the points of the claimed sweep that have no row yet."""
    workspace, identifier = claim.workspace, claim.job.id
    with workspace.transaction() as repository:
        record = existing(repository, SweepRecord, identifier, "sweep")
        request = SweepRequest.model_validate(record.request, context=STORED)
        positions = repository.of_sweep(identifier).positions()
    uploads = UploadSet.of(request, workspace.context())
    # Where version 0.1.0 changed labels, keys are others than those that rows have.
    remaining = (point for point in Sweep.restore(request).points() if point.position not in positions)
    for rows in run_sweep(
        remaining,
        installed_context,
        make_pool(),
        uploads=uploads,
        cancelled=claim.cancelled,
        charge=claim.charge,
    ):
        records = [
            SweepRowRecord(
                sweep_id=identifier,
                workspace_id=workspace.id,
                refused=row.problem is not None,
                document=row.model_dump(mode="json"),
                **{name: getattr(row, name) for name in COLUMNS},
            )
            for row in rows
        ]

        def keep(repository: Repository, records: list[SweepRowRecord] = records) -> None:
            repository.of_sweep(identifier).add(records)

        claim.advance(len(records), keep)


def delete_sweep(workspace: Workspace, identifier: str) -> None:
    delete(workspace, SweepRecord, identifier)
