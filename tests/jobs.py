"""Do the jobs that wait, here and now instead of in the background."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.features.sweeps.run import WorkerPool
from app.features.sweeps.service import compute_sweep
from app.platform.job_running import JobClaim


def never() -> bool:
    return False


def do_next(bench: Workbench, crew: Callable[[], WorkerPool], stopping: Callable[[], bool] = never) -> bool:
    """Do the oldest job that waits; tell whether there was one."""
    for job in bench.store.watched_jobs():
        claim = JobClaim.take(bench, job.id, stopping)
        if claim is not None:
            claim.perform({"sweep": partial(compute_sweep, make_pool=crew)})
            return True
    return False


def do_all(bench: Workbench, crew: Callable[[], WorkerPool]) -> None:
    """Do every job that waits."""
    while do_next(bench, crew):
        pass
