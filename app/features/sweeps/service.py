"""Make, follow, stop, read and compute sweeps."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from sqlmodel import col

from app.errors import BadInput, Conflict
from app.features.studies.service import get_study
from app.features.sweeps.model import SweepRequest
from app.features.sweeps.points import Sweep, UploadSet
from app.features.sweeps.rows import Job, Status, SweepAnswer, SweepRow, SweepState, csv_lines, parquet
from app.features.sweeps.run import WorkerPool, run_sweep
from app.platform.apart import installed_context
from app.platform.deleting import delete
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.job_running import JobClaim
from app.platform.listing import Page, filled, read_cursor, write_cursor
from app.platform.store.document_queries import Label, Order, RowPlace, RowSelection
from app.platform.store.queries import EVERYTHING, ListFilter, new_id, now
from app.platform.store.repository import Repository
from app.platform.store.tables import JobRecord, SweepRecord, SweepRowRecord
from app.platform.workbench import Workbench, existing, found, hold_uploads

RowOrder: TypeAlias = Order
"""What rows can be sorted by."""

RowLabel: TypeAlias = Label
"""What they can be narrowed by."""

MOST_POSITION = 2**31

BATCH = 500
"""Rows read at once where all are read."""


def create_sweep(
    bench: Workbench, workspace_id: str, request: SweepRequest, key: str | None = None
) -> SweepState:
    """Keep a sweep for whoever computes it."""

    def make() -> tuple[SweepState, Save]:
        sweep = Sweep.of(request)
        UploadSet.of(request, bench.context(workspace_id))
        if request.study_id is not None:
            found(partial(get_study, bench), workspace_id, "study_id", request.study_id)
        record = SweepRecord(
            id=new_id("swp"),
            workspace_id=workspace_id,
            title=title_of(request),
            request=request.model_dump(mode="json", exclude_unset=True),
        )
        job = JobRecord(
            id=record.id, workspace_id=workspace_id, kind="sweep", status="queued", total=sweep.total
        )

        def save(repository: Repository) -> None:
            hold_uploads(repository, record.request)
            repository.add(record, job)

        return state_of(record, job), save

    made = keep(bench, workspace_id, IdempotentCall.of("sweeps", key, request), SweepState, make)
    bench.ring(made.id)
    return made


def title_of(request: SweepRequest) -> str:
    """Return what a sweep is called: its title, or what it combines."""
    if request.title:
        return request.title
    names = [one.label or one.model.preset or one.model.profile_id or "" for one in request.models]
    systems = dict.fromkeys(one.label or one.id for one in request.systems)
    parts = [", ".join(filter(None, names)), ", ".join(systems)]
    return " × ".join(filter(None, parts))[:200]


def state_of(record: SweepRecord, job: JobRecord) -> SweepState:
    return filled(SweepState, job, title=record.title, created_at=record.created_at)


def current(repository: Repository, identifier: str) -> SweepState:
    """Return how far a sweep is, or say that there is none."""
    record = existing(repository, SweepRecord, identifier, "sweep")
    return state_of(record, existing(repository, JobRecord, identifier, "job"))


def list_sweeps(
    bench: Workbench,
    workspace_id: str,
    limit: int,
    cursor: str | None,
    study: str | None = None,
    wanted: ListFilter = EVERYTHING,
) -> Page[SweepState]:
    """Return sweeps, the newest first; with a study, those it has asked for alone."""
    asked = col(SweepRecord.request)["study_id"].as_string()
    narrowed = [] if study is None else [asked == study]
    with bench.store.transaction(workspace_id) as repository:
        listing = repository.page(SweepRecord, limit, read_cursor(cursor), *narrowed, wanted=wanted)
        jobs = repository.named(JobRecord, (row.id for row in listing.rows))
    return Page(items=[state_of(row, jobs[row.id]) for row in listing.rows], next=write_cursor(listing.next))


def get_request(bench: Workbench, workspace_id: str, identifier: str) -> SweepRequest:
    with bench.store.transaction(workspace_id) as repository:
        return SweepRequest.model_validate(existing(repository, SweepRecord, identifier, "sweep").request)


def get_state(bench: Workbench, workspace_id: str, identifier: str) -> SweepState:
    with bench.store.transaction(workspace_id) as repository:
        return current(repository, identifier)


def get_job(bench: Workbench, workspace_id: str, identifier: str) -> Job:
    """Return the job that computes a sweep."""
    with bench.store.transaction(workspace_id) as repository:
        found = existing(repository, JobRecord, identifier, "job")
        return filled(Job, found, result=f"/api/v1/sweeps/{identifier}")


def get_sweep(
    bench: Workbench,
    workspace_id: str,
    identifier: str,
    *,
    limit: int,
    offset: int = 0,
    after: RowPlace | None = None,
    order: Order = "position",
    labels: Mapping[Label, str] | None = None,
) -> SweepAnswer:
    narrowing = RowSelection(labels or {}, order)
    with bench.store.transaction(workspace_id) as repository:
        record, state = (
            existing(repository, SweepRecord, identifier, "sweep"),
            current(repository, identifier),
        )
        queries = repository.of_sweep(identifier)
        matching = queries.count(narrowing)
        found = queries.rows(narrowing, limit + 1, offset, after)
        refused = queries.refused()
    sweep = Sweep.of(SweepRequest.model_validate(record.request))
    rows = [SweepRow.model_validate(row) for row in found[:limit]]
    return SweepAnswer(
        **dict(state),
        refused=refused,
        labels=sweep.labels(),
        sizes=sweep.sizes(),
        matching=matching,
        rows=rows,
        next=write_place(rows[-1], order) if len(found) > limit else None,
        request=record.request,
    )


def write_place(row: SweepRow, order: Order) -> str:
    """Return the place behind a row as text."""
    value = None if order == "position" else getattr(row, order)
    text = f"{order} {'-' if value is None else repr(value)} {row.position}"
    return base64.urlsafe_b64encode(text.encode()).decode()


def read_place(cursor: str | None, order: Order) -> RowPlace | None:
    """Return the place that :func:`write_place` wrote for the same order."""
    if cursor is None:
        return None
    try:
        found, value, position = base64.urlsafe_b64decode(cursor.encode()).decode().split(" ")
        place = RowPlace(int(position), None if value == "-" else float(value))
    except (ValueError, binascii.Error):
        found, place = "", RowPlace(0)
    if found != order or not 0 <= place.position < MOST_POSITION or not math.isfinite(place.value or 0.0):
        raise BadInput.at("cursor", "use the “next” value of an earlier response")
    return place


def best_rows(
    bench: Workbench,
    workspace_id: str,
    identifier: str,
    limit: int,
    order: Order,
    labels: Mapping[Label, str],
) -> list[SweepRow]:
    """Return the first rows that have a time to train, for a picture."""
    with bench.store.transaction(workspace_id) as repository:
        current(repository, identifier)
        found = repository.of_sweep(identifier).rows(RowSelection(labels, order, answered=True), limit)
    return [SweepRow.model_validate(row) for row in found]


def cancel_sweep(bench: Workbench, workspace_id: str, identifier: str) -> SweepState:
    """Stop a sweep and keep the rows it has; one that is cancelled already stays so."""
    return _moved(bench, workspace_id, identifier, {"queued", "running"}, "cancelled")


def resume_sweep(bench: Workbench, workspace_id: str, identifier: str) -> SweepState:
    """Go on with a sweep that was cancelled or failed; one that goes on already does so."""
    found = _moved(bench, workspace_id, identifier, {"cancelled", "failed"}, "queued")
    bench.ring(found.id)
    return found


def _moved(
    bench: Workbench, workspace_id: str, identifier: str, before: set[str], status: Status
) -> SweepState:
    with bench.store.transaction(workspace_id) as repository:
        changed = repository.of_job(identifier).move(before, status, now())
        state = current(repository, identifier)
        if not changed and state.status != status and state.ended:
            raise Conflict.at(
                "id", "the sweep has already ended with the status “{status}”", status=state.status
            )
        return state


def sweep_csv(bench: Workbench, workspace_id: str, identifier: str) -> Iterator[str]:
    return csv_lines(_every_row(bench, workspace_id, identifier))


def sweep_parquet(bench: Workbench, workspace_id: str, identifier: str) -> bytes:
    return parquet(_every_row(bench, workspace_id, identifier))


def _every_row(bench: Workbench, workspace_id: str, identifier: str) -> Iterator[SweepRow]:
    get_state(bench, workspace_id, identifier)

    def rows() -> Iterator[SweepRow]:
        last, more = -1, True
        while more:
            # A transaction each: who reads slowly must not hold one open.
            with bench.store.transaction(workspace_id) as repository:
                found = repository.of_sweep(identifier).rows_after(last, BATCH)
            for document in found:
                row = SweepRow.model_validate(document)
                last = row.position
                yield row
            more = len(found) == BATCH

    return rows()


def compute_sweep(claim: JobClaim, make_crew: Callable[[], WorkerPool]) -> None:
    """Compute the points of the claimed sweep that have no row yet."""
    workspace, identifier = claim.job.workspace_id, claim.job.id
    with claim.bench.store.transaction(workspace) as repository:
        record = existing(repository, SweepRecord, identifier, "sweep")
        request = SweepRequest.model_validate(record.request)
        done = repository.of_sweep(identifier).keys()
    uploads = UploadSet.of(request, claim.bench.context(workspace))
    for rows in run_sweep(
        Sweep.of(request).points(),
        installed_context,
        make_crew(),
        uploads=uploads,
        done=done,
        cancelled=claim.cancelled,
        charge=claim.charge,
    ):
        records = [
            SweepRowRecord(
                sweep_id=identifier,
                workspace_id=workspace,
                refused=row.problem is not None,
                document=row.model_dump(mode="json"),
                **{name: getattr(row, name) for name in KEPT},
            )
            for row in rows
        ]

        def keep(repository: Repository, records: list[SweepRowRecord] = records) -> None:
            repository.of_sweep(identifier).keep(records)

        claim.advance(len(records), keep)


KEPT = ("position", "key", "model", "system", "price", "scenario", "time_to_train", "cost")
"""Columns by which rows are found and sorted."""


def delete_sweep(bench: Workbench, workspace_id: str, identifier: str) -> None:
    delete(bench, workspace_id, SweepRecord, identifier)
