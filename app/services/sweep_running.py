"""Compute the sweeps that wait: claim one, keep its rows as they come, let go of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from app.errors import AppError, Message, Unavailable
from app.services.sweeps import existing
from app.services.workbench import Workbench
from app.sizing.document import Text
from app.sizing.sweep.chunks import installed_context
from app.sizing.sweep.points import Sweep
from app.sizing.sweep.request import SweepRequest
from app.sizing.sweep.rows import SweepRow
from app.sizing.sweep.run import Crew, run_sweep
from app.sizing.sweep.uploads import Uploads
from app.store.sweep_queries import ClaimedSweep
from app.store.tables import SweepRowRecord
from app.store.types import now

logger = logging.getLogger("rackline.sweep")

BEAT_SECONDS = 1.0
"""Time between two signs of life. [s]"""

SILENT_SECONDS = 5.0
"""How long a runner may be silent before its sweep is taken over. [s]"""


@dataclass
class Claim:
    """A sweep that this runner has taken on."""

    bench: Workbench
    runner: str
    sweep: ClaimedSweep
    stopping: Callable[[], bool]
    """Whether the server ends."""
    lost: bool = False
    """Whether somebody has cancelled it or taken it over."""
    beaten: float = field(default_factory=time.monotonic)

    @classmethod
    def next(cls, bench: Workbench, runner: str, stopping: Callable[[], bool]) -> Claim | None:
        """Take on the oldest sweep that nobody computes; None where there is none."""
        moment = now()
        found = bench.store.claim_sweep(runner, moment, moment - timedelta(seconds=SILENT_SECONDS))
        return cls(bench, runner, found, stopping) if found else None

    def cancelled(self) -> bool:
        """Tell whether to stop; shows that this runner lives."""
        if not self.lost and time.monotonic() - self.beaten >= BEAT_SECONDS:
            self.beaten = time.monotonic()
            with self.bench.store.transaction(self.sweep.workspace_id) as repository:
                self.lost = not repository.of_sweep(self.sweep.id).beat(self.runner, now())
        return self.lost or self.stopping()

    def compute(self, make_crew: Callable[[], Crew]) -> None:
        """Compute the points that have no row yet, and say how it ended."""
        try:
            self._compute(make_crew)
        except Unavailable:
            # No fault of the sweep: whoever claims it once the store can be used again goes on with it.
            raise
        except AppError as error:
            self._end("failed", Text.of(error.message))
        except Exception:
            logger.exception("sweep %s failed", self.sweep.id)
            self._end("failed", Text.of(Message("something went wrong here; it is in the server's log")))
        else:
            self._end("queued" if self.stopping() else "done")

    def _compute(self, make_crew: Callable[[], Crew]) -> None:
        workspace = self.sweep.workspace_id
        with self.bench.store.transaction(workspace) as repository:
            request = SweepRequest.model_validate(existing(repository, self.sweep.id).request)
            done = repository.of_sweep(self.sweep.id).keys()
        uploads = Uploads.of(request, self.bench.context(workspace))
        for rows in run_sweep(
            Sweep.of(request).points(),
            installed_context,
            make_crew(),
            uploads=uploads,
            done=done,
            cancelled=self.cancelled,
        ):
            self._keep(rows)

    def _keep(self, rows: list[SweepRow]) -> None:
        with self.bench.store.transaction(self.sweep.workspace_id) as repository:
            records = [self._record(row) for row in rows]
            self.lost = not repository.of_sweep(self.sweep.id).keep(self.runner, now(), records)
        self.beaten = time.monotonic()

    def _end(self, status: str, message: Text | None = None) -> None:
        # Where the sweep has been cancelled or taken over, its status is no longer this runner's affair.
        with self.bench.store.transaction(self.sweep.workspace_id) as repository:
            document = message.model_dump(mode="json") if message else None
            repository.of_sweep(self.sweep.id).end(self.runner, now(), status, document)

    def _record(self, row: SweepRow) -> SweepRowRecord:
        return SweepRowRecord(
            sweep_id=self.sweep.id,
            workspace_id=self.sweep.workspace_id,
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
