"""Blocks of a pod: aligned, apart, and none refused that could be placed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.partition import (
    Block,
    BuddyPool,
    NodePool,
    fragmentation,
    is_partition_size,
    nearest_partition_sizes,
    pods_needed,
    session_parts,
)

POD = 64

SIZES = st.sampled_from([1, 2, 4, 8, 16, 32, 64])


def devices_of(blocks: tuple[Block, ...]) -> set[tuple[int, int]]:
    return {(pod, first + at) for pod, first, size in blocks for at in range(size)}


@given(st.lists(SIZES, max_size=60), st.integers(1, 4))
def test_largest_first_places_whatever_the_sum_allows(sizes: list[int], pods: int) -> None:
    """Divisible sizes leave no gap: all are placed if and only if their sum fits."""
    pool, taken = BuddyPool(pods, POD), set()
    for size in sorted(sizes, reverse=True):
        blocks = pool.place_parts(size, 1)
        if blocks is None:
            assert sum(sizes) > pods * POD
            return
        ((pod, first, devices),) = blocks
        assert first % devices == 0 and first + devices <= POD and 0 <= pod < pods
        assert not taken & devices_of(blocks)
        taken |= devices_of(blocks)
    assert sum(sizes) <= pods * POD
    assert pool.free == pods * POD - len(taken)
    assert pods_needed(np.array(sizes, dtype=float), POD) <= pods


@given(st.lists(st.tuples(SIZES, st.booleans()), max_size=80))
def test_what_is_given_back_joins_again(steps: list[tuple[int, bool]]) -> None:
    pool, held = BuddyPool(2, POD), []
    for size, leaves in steps:
        if leaves and held:
            pool.give_back(held.pop(0))
            continue
        blocks = pool.place(size)
        if blocks is None:
            assert pool.largest_free < size
        else:
            held.append(blocks)
        assert pool.free == 2 * POD - sum(devices for blocks in held for _, _, devices in blocks)
        assert sum(devices for _, _, devices in pool.free_blocks()) == pool.free
    for blocks in held:
        pool.give_back(blocks)
    assert pool.free_blocks() == [(0, 0, POD), (1, 0, POD)]


def test_a_block_can_be_taken_at_its_address_only_once() -> None:
    pool = BuddyPool(1, POD)
    assert pool.reserve(0, 48, 8)
    assert not pool.reserve(0, 32, 32)
    assert pool.reserve(0, 56, 8)
    assert pool.free_blocks() == [(0, 0, 32), (0, 32, 16)]


def test_a_session_lies_on_pods_of_its_own() -> None:
    pool = BuddyPool(3, POD)
    assert pool.place(128) == ((0, 0, 64), (1, 0, 64))
    assert pool.place(128) is None
    assert BuddyPool(3, POD).place(96) == ((0, 0, 32), (1, 0, 32), (2, 0, 32))


@pytest.mark.parametrize(
    ("devices", "pods", "parts"),
    [(64, 1, 1), (128, 2, 2), (96, 2, None), (96, 3, 3), (12, 2, None), (256, 4, 4)],
)
def test_a_session_is_of_equal_powers_of_two(devices: int, pods: int, parts: int | None) -> None:
    assert session_parts(devices, POD, pods) == parts


@given(st.integers(1, 64))
def test_the_nearest_sizes_enclose_what_was_asked(size: int) -> None:
    below, above = (int(one) for one in nearest_partition_sizes(size, 64))
    assert below <= size <= above
    assert is_partition_size(np.array([below, above])).all()
    assert bool(is_partition_size(size)) == (below == above)


def test_no_size_beyond_a_pod_is_offered() -> None:
    assert [int(one) for one in nearest_partition_sizes(100, 64)] == [64, 64]


@given(st.integers(0, 64), st.integers(0, 64))
def test_fragmentation_is_a_share(largest: int, free: int) -> None:
    found = float(fragmentation(min(largest, free), free))
    assert 0.0 <= found <= 1.0
    assert float(fragmentation(free, free)) == 0.0


@given(st.lists(st.tuples(st.integers(1, 30), st.booleans()), max_size=60))
def test_nodes_keep_count(steps: list[tuple[int, bool]]) -> None:
    pool, held = NodePool(4, 8), []
    for size, leaves in steps:
        if leaves and held:
            pool.give_back(held.pop(0))
            continue
        blocks = pool.place(size)
        if blocks is None:
            assert pool.largest_free < size or size > 8
            continue
        held.append(blocks)
        taken = sum(devices for _, _, devices in blocks)
        assert taken == (size if size <= 8 else -(-size // 8) * 8)
        assert len({node for node, _, _ in blocks}) == len(blocks)
        assert pool.free == 32 - sum(devices for blocks in held for _, _, devices in blocks) >= 0
    for blocks in held:
        pool.give_back(blocks)
    assert pool.free == 32 and pool.place(32) is not None


def test_a_copy_is_another_pool() -> None:
    for pool in (BuddyPool(2, 8), NodePool(2, 8)):
        other = pool.copy()
        assert other.place(8) is not None
        assert (pool.free, other.free) == (16, 8)
