"""Do the jobs that wait, here and now instead of in the background."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.features.sweeps.run import WorkerPool
from app.features.sweeps.service import compute_sweep
from app.platform.job_running import JobClaim
from app.platform.workspace import Installation


def never() -> bool:
    return False


def do_next(
    installation: Installation, crew: Callable[[], WorkerPool], stopping: Callable[[], bool] = never
) -> bool:
    """Do the oldest job that waits; tell whether there was one."""
    for job in installation.store.watched_jobs():
        claim = JobClaim.take(installation, job.id, stopping)
        if claim is not None:
            claim.perform({"sweep": partial(compute_sweep, make_pool=crew)})
            return True
    return False


def do_all(installation: Installation, crew: Callable[[], WorkerPool]) -> None:
    """Do every job that waits."""
    while do_next(installation, crew):
        pass
