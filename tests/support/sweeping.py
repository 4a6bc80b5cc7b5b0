"""Sweeps as tests ask for them, and workers that run in this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from app.features.sweeps.model import MOST_ENTRIES, SweepRequest
from app.features.sweeps.points import Sweep
from app.features.sweeps.rows import SweepRow
from app.features.sweeps.run import WorkerPool, run_sweep
from tests.conftest import sizing_context

BERT = {"model": {"preset": "bert-large"}, "workload": {"samples": 1e6, "global_batch": 1024, "seq_len": 128}}

BASE: dict[str, Any] = {"models": [BERT], "systems": [{"id": "dgx-a100-640gb"}]}


def sweep(**lists: Any) -> Sweep:
    """Return a sweep of one point with some of its lists replaced."""
    return Sweep.of(SweepRequest.model_validate(BASE | lists))


def wide(points: int) -> Sweep:
    """Return a sweep of this many quick points that all have an estimate."""
    scenarios = [{"label": f"scenario {place}"} for place in range(-(-points // MOST_ENTRIES))]
    tariffs = [
        {"label": f"tariff {place}", "electricity_per_kwh": 0.05 + place / 1000}
        for place in range(points // len(scenarios))
    ]
    return sweep(prices=tariffs, scenarios=scenarios)


@dataclass
class Threads:
    """Workers that are threads of this process; some chunks may be said to be lost with their worker."""

    workers: int = 2
    kills: Callable[[Sequence[int]], bool] = lambda positions: False
    """Tells of the positions of a chunk whether its worker dies."""
    pools: list[Executor] = field(default_factory=list)
    renewed: int = 0
    closed: bool = False

    lost = (BrokenExecutor,)

    def executor(self) -> Executor:
        if not self.pools:
            self.pools.append(Mortal(self.workers, self.kills))
        return self.pools[-1]

    def size(self) -> int:
        return self.workers

    def renew(self) -> None:
        self.renewed += 1
        self.pools.append(Mortal(self.workers, self.kills))

    def close(self) -> None:
        self.closed = True
        for pool in self.pools:
            pool.shutdown()


class Mortal(ThreadPoolExecutor):
    """Threads that break down as a pool of processes does when one of them dies."""

    def __init__(self, workers: int, kills: Callable[[Sequence[int]], bool]) -> None:
        super().__init__(workers)
        self.kills = kills
        self.lock = threading.Lock()
        self.broken = False

    def submit(self, fn: Any, /, *given: Any, **named: Any) -> Future[Any]:
        if self.broken:
            raise BrokenExecutor

        def work() -> Any:
            with self.lock:
                self.broken = self.broken or self.kills([point.position for point in given[0].points])
                if self.broken:
                    raise BrokenExecutor
            return fn(*given, **named)

        return super().submit(work)


def computed(asked: Sweep, crew: WorkerPool, done: Collection[str] = ()) -> list[SweepRow]:
    """Return the rows of a sweep as they came."""
    return [row for rows in run_sweep(asked.points(), sizing_context, crew, done=done) for row in rows]


def process_is_alive(identifier: int) -> bool:
    """Tell whether there is a process of this number that has not ended."""
    try:
        os.kill(identifier, 0)
    except ProcessLookupError:
        return False
    return True
