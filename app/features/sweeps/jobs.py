"""Compute a sweep: the points that have no row yet, row by row as they come."""

from __future__ import annotations

from collections.abc import Callable

from app.features.sweeps.model import SweepRequest
from app.features.sweeps.points import Sweep, UploadSet
from app.features.sweeps.rows import SweepRow
from app.features.sweeps.run import WorkerPool, installed_context, run_sweep
from app.features.sweeps.service import existing
from app.platform.job_running import JobClaim
from app.platform.store.repository import Repository
from app.platform.store.tables import SweepRowRecord


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
