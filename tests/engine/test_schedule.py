"""Schedules: nothing overlaps, nothing runs before what it needs, and the length is the closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.errors import EngineError
from app.engine.pipeline import Schedule, bubble_slots, lockstep, one_forward_one_backward

SECONDS = st.floats(0.1, 10.0)


def sound(schedule: Schedule, stages: int, chunks: int) -> None:
    ends = schedule.start + schedule.seconds
    for stage in range(stages):
        own = np.flatnonzero(schedule.stage == stage)
        order = own[np.argsort(schedule.start[own], kind="stable")]
        assert np.all(schedule.start[order][1:] >= ends[order][:-1] - 1e-9)
    depth = schedule.chunk * stages + schedule.stage
    done = {
        (bool(back), int(place), int(micro)): end
        for back, place, micro, end in zip(schedule.backward, depth, schedule.micro_batch, ends, strict=True)
    }
    assert len(done) == len(ends)
    for back, place, micro, start in zip(
        schedule.backward, depth, schedule.micro_batch, schedule.start, strict=True
    ):
        if not back and place > 0:
            assert start >= done[False, place - 1, micro] - 1e-9
        if back:
            last = place == stages * chunks - 1
            assert start >= done[(False, place, micro) if last else (True, place + 1, micro)] - 1e-9


@given(
    stages=st.integers(1, 8),
    rounds=st.integers(1, 4),
    chunks=st.integers(1, 4),
    forward=SECONDS,
    backward=SECONDS,
)
def test_an_interleaved_step_takes_the_slots_of_the_closed_form(
    stages: int, rounds: int, chunks: int, forward: float, backward: float
) -> None:
    micro_batches = rounds * stages
    schedule = one_forward_one_backward(stages, micro_batches, forward, backward, chunks)
    sound(schedule, stages, chunks)
    slots = micro_batches + float(bubble_slots(stages, chunks))
    assert schedule.length == pytest.approx(slots * (forward + backward))


@given(stages=st.integers(1, 9), micro_batches=st.integers(1, 20), forward=SECONDS, backward=SECONDS)
def test_a_plain_step_does_for_any_number_of_micro_batches(
    stages: int, micro_batches: int, forward: float, backward: float
) -> None:
    slots = micro_batches + stages - 1
    for schedule in (
        one_forward_one_backward(stages, micro_batches, forward, backward),
        lockstep(stages, micro_batches, forward, backward),
    ):
        sound(schedule, stages, 1)
        assert schedule.length == pytest.approx(slots * (forward + backward))


def test_one_forward_one_backward_keeps_few_activations() -> None:
    """Its point: at most p micro-batches are under way on the first stage, however many there are."""
    schedule = one_forward_one_backward(4, 32, 1.0, 2.0)
    first = schedule.stage == 0
    events = [(time, 1) for time in schedule.start[first & ~schedule.backward]]
    events += [(time, -1) for time in (schedule.start + schedule.seconds)[first & schedule.backward]]
    assert max(np.cumsum([step for _, step in sorted(events)])) == 4


@pytest.mark.parametrize("counts", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (3, 4, 2), (100, 10_000, 1)])
def test_what_cannot_be_laid_out_is_refused(counts: tuple[int, int, int]) -> None:
    stages, micro_batches, chunks = counts
    with pytest.raises(EngineError):
        one_forward_one_backward(stages, micro_batches, 1.0, 2.0, chunks)
