"""What of a pipeline schedule is drawn: where micro-batches are many, the first and the last of them.

Between filling and draining every round of passes repeats the one before, so that rounds can be left out
and what follows stands exactly where it would have, only that much later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.records import Floats
from app.engine.schedule import Schedule, Whole, lockstep, one_forward_one_backward
from app.sizing.document import PipelineSchedule

FEWEST = 8
"""Micro-batches that are drawn where there are as many."""
SPARE = 2
"""Micro-batches drawn beyond the number of stages, so that one whole round repeats."""
NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where rounds are left out."""

    at: float
    """Time of it on the excerpt's own clock. [s]"""
    seconds: float
    """What is left out. [s]"""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The passes that are drawn, on a clock that does not know of what is left out."""

    passes: Schedule
    number: Whole
    """Micro-batch of each pass as the whole step counts it, the first is 1."""
    cuts: tuple[Cut, ...]
    left_out: int
    """Micro-batches that are not drawn."""

    def true_time(self, clock: Floats) -> Floats:
        """Return times of the step from times on the excerpt's clock. [s]"""
        at = np.asarray(clock, dtype=float)
        return np.asarray(
            at + sum(cut.seconds * (at >= cut.at - NEAR * self.passes.length) for cut in self.cuts)
        )


def excerpt(schedule: PipelineSchedule) -> Excerpt:
    """Return the passes of a schedule that are worth drawing."""
    stages, chunks = schedule.stages, schedule.chunks
    shown = max(FEWEST, stages + SPARE)
    if chunks > 1:
        shown = stages * max(2, -(-FEWEST // stages))
    if schedule.kind == "lockstep":
        return _supersteps(schedule, min(shown, schedule.micro_batches))
    return _rounds(schedule, min(shown, schedule.micro_batches))


def _rounds(schedule: PipelineSchedule, shown: int) -> Excerpt:
    stages, chunks = schedule.stages, schedule.chunks
    passes = one_forward_one_backward(stages, shown, schedule.forward, schedule.backward, chunks)
    left_out = schedule.micro_batches - shown
    if not left_out:
        return Excerpt(passes, passes.micro_batch + 1, (), 0)
    # The first stage is the last to repeat itself: after as many forward passes as it runs ahead.
    if chunks == 1:
        ahead = stages + (shown - stages - SPARE) // 2
    else:
        ahead = 2 * (stages - 1) + (chunks - 1) * stages + stages - 1
    at = float(np.sort(passes.start[(passes.stage == 0) & ~passes.backward])[ahead])
    cut = Cut(at, left_out * (schedule.forward + schedule.backward))
    later = passes.start >= at - NEAR * passes.length
    return Excerpt(passes, passes.micro_batch + 1 + left_out * later, (cut,), left_out)


def _supersteps(schedule: PipelineSchedule, shown: int) -> Excerpt:
    stages, forward, backward = schedule.stages, schedule.forward, schedule.backward
    passes = lockstep(stages, shown, forward, backward)
    left_out = schedule.micro_batches - shown
    if not left_out:
        return Excerpt(passes, passes.micro_batch + 1, (), 0)
    middle = stages + (shown - stages - SPARE) // 2
    turn = (shown + stages - 1) * forward
    cuts = (
        Cut(middle * forward, left_out * forward),
        Cut(turn + middle * backward, left_out * backward),
    )
    own = np.where(passes.backward, cuts[1].at, cuts[0].at)
    later = passes.start >= own - NEAR * passes.length
    return Excerpt(passes, passes.micro_batch + 1 + left_out * later, cuts, left_out)
