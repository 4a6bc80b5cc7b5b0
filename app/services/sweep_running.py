"""Compute a sweep: the points that have no row yet, row by row as they come."""

from __future__ import annotations

from collections.abc import Callable

from app.services.job_running import JobClaim
from app.services.sweeps import existing
from app.sizing.sweep.chunks import installed_context
from app.sizing.sweep.points import Sweep
from app.sizing.sweep.request import SweepRequest
from app.sizing.sweep.rows import SweepRow
from app.sizing.sweep.run import WorkerPool, run_sweep
from app.sizing.sweep.uploads import UploadSet
from app.store.repository import Repository
from app.store.tables import SweepRowRecord


def compute_sweep(claim: JobClaim, make_crew: Callable[[], WorkerPool]) -> None:
    """Compute the points of the claimed sweep that have no row yet."""
    workspace, identifier = claim.job.workspace_id, claim.job.id
    with claim.bench.store.transaction(workspace) as repository:
        request = SweepRequest.model_validate(existing(repository, identifier).request)
        done = repository.of_sweep(identifier).keys()
    uploads = UploadSet.of(request, claim.bench.context(workspace))
    for rows in run_sweep(
        Sweep.of(request).points(),
        installed_context,
        make_crew(),
        uploads=uploads,
        done=done,
        cancelled=claim.cancelled,
    ):
        records = [record_of(claim, row) for row in rows]

        def keep(repository: Repository, records: list[SweepRowRecord] = records) -> None:
            repository.of_sweep(identifier).keep(records)

        claim.advance(len(records), keep)


def record_of(claim: JobClaim, row: SweepRow) -> SweepRowRecord:
    """Return a row as it is stored."""
    return SweepRowRecord(
        sweep_id=claim.job.id,
        workspace_id=claim.job.workspace_id,
        position=row.position,
        key=row.key,
        model=row.model,
        system=row.system,
        price=row.price,
        scenario=row.scenario,
        refused=row.problem is not None,
        time_to_train=row.time_to_train,
        cost=row.cost,
        document=row.model_dump(mode="json"),
    )
