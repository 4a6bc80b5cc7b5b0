"""Pipelines: the bubble as published, and its limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.pipeline import bubble_slots, stage_transfer_time

stages = st.integers(1, 128)
chunks = st.integers(1, 8)
micro_batches = st.integers(1, 4096)


@given(p=stages, v=chunks, m=micro_batches)
def test_the_bubble_is_the_published_fraction(p: int, v: int, m: int) -> None:
    """Narayanan et al. 2021, section 2.2: (p - 1)/m of the ideal time, 1/v of it in v chunks."""
    assert float(bubble_slots(p, v)) / m == pytest.approx((p - 1) / (v * m))


@given(v=chunks)
def test_one_stage_has_no_bubble(v: int) -> None:
    assert bubble_slots(1, v) == 0


@given(p=stages, v=chunks)
def test_more_stages_wait_longer_and_more_chunks_less(p: int, v: int) -> None:
    assert bubble_slots(p + 1, v) > bubble_slots(p, v)
    assert bubble_slots(p, v + 1) <= bubble_slots(p, v)


@given(size=st.floats(0, 1e10), v=chunks, bandwidth=st.floats(1e9, 1e12))
def test_each_chunk_sends_its_activations(size: float, v: int, bandwidth: float) -> None:
    once = stage_transfer_time(size, bandwidth, 30e-6, 1, 1.0)
    assert stage_transfer_time(size, bandwidth, 30e-6, v, 1.0) == pytest.approx(v * once)
    assert stage_transfer_time(size, bandwidth, 0.0, v, 2.0) == pytest.approx(
        2 * stage_transfer_time(size, bandwidth, 0.0, v, 1.0)
    )
    assert stage_transfer_time(size, 2 * bandwidth, 30e-6, v, 1.0) <= v * once


def test_arrays_of_plans() -> None:
    p, v = np.array([1.0, 8.0, 8.0]), np.array([1.0, 1.0, 4.0])
    assert bubble_slots(p, v).tolist() == [0.0, 7.0, 1.75]
