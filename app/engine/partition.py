"""Devices shared out: aligned powers of two on pods, whole accelerators on nodes, instances of one GPU.

A pod hands out blocks as a buddy allocator does: a block of 2^k devices begins at a multiple of 2^k
and is half of a block of 2^(k+1). Nodes hand out any number of theirs; a job larger than a node takes
whole ones. Both pools give the smallest place that holds a job, the lowest address first. Instances of one
GPU (MIG) take compute slices, and memory slices that begin where their profile, which is data, allows.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from app.engine.records import FloatLike, Floats


def is_partition_size(sizes: FloatLike) -> npt.NDArray[np.bool_]:
    """Return which numbers of IPUs a partition may have: powers of two ("V-IPU user guide," section 5.1)."""
    values = np.asarray(sizes, dtype=float)
    whole = (values >= 1) & (values == np.floor(values))
    safe = np.where(whole, values, 1.0)
    return np.asarray(whole & (np.exp2(np.round(np.log2(safe))) == safe))


def nearest_partition_sizes(size: FloatLike, largest: FloatLike) -> tuple[Floats, Floats]:
    """Return the sizes of partition next to a number of IPUs: not above it and not below it.

    Neither is above ``largest``, the IPUs of the pod.
    """
    exponent = np.log2(np.maximum(np.asarray(size, dtype=float), 1.0))
    most = np.asarray(largest, dtype=float)
    return np.minimum(np.exp2(np.floor(exponent)), most), np.minimum(np.exp2(np.ceil(exponent)), most)


def fragmentation(largest_free: FloatLike, free: FloatLike) -> Floats:
    """Share of the free devices left over by the largest request that fits; 0 if none is free."""
    devices = np.asarray(free, dtype=float)
    return np.where(
        devices > 0, 1.0 - np.asarray(largest_free, dtype=float) / np.where(devices > 0, devices, 1.0), 0.0
    )


def pods_needed(sizes: FloatLike, pod: int) -> int:
    r"""Fewest pods that hold partitions of these sizes, each inside one pod.

    .. math:: n = \left\lceil \sum_i s_i / P \right\rceil

    Sizes that are powers of two not above a pod, itself one, fill pods without a gap when the largest
    are placed first, so that the sum decides.

    Parameters
    ----------
    sizes : FloatLike
        Sizes of the partitions, powers of two, :math:`s_i`. [-]
    pod : int
        IPUs of a pod, a power of two, :math:`P`. [-]

    Returns
    -------
    pods : int
        Pods, 0 for no partition. [-]

    References
    ----------
    .. [1] E. G. Coffman, M. R. Garey and D. S. Johnson, "Bin packing with divisible item sizes," Journal of
       Complexity, vol. 3, no. 4, pp. 406-428, 1987: first fit decreasing is optimal where sizes divide.

    Examples
    --------
    >>> pods_needed(np.array([16, 16, 8, 4, 16]), 64), pods_needed(np.array([64, 32, 32, 1]), 64)
    (1, 3)
    """
    return int(np.ceil(np.sum(np.asarray(sizes, dtype=float)) / pod))


def session_parts(devices: int, pod: int, pods: int) -> int | None:
    """Return the fewest equal partitions, one to a pod, that make up a session over several pods.

    Each is a power of two; None where no such split exists.
    """
    for parts in range(1, pods + 1):
        size, remainder = divmod(devices, parts)
        if not remainder and 0 < size <= pod and size & (size - 1) == 0:
            return parts
    return None


Block: TypeAlias = tuple[int, int, int]
"""Pod or node, first device in it, devices."""


class Pool(Protocol):
    """Devices that jobs are placed on and give back."""

    free: int

    def place(self, devices: int) -> tuple[Block, ...] | None:
        """Allocate devices for a job; None where there is no room now."""

    def give_back(self, blocks: tuple[Block, ...]) -> None:
        """Free allocated devices."""

    def copy(self) -> Pool:
        """Return a pool in the same state, for trials."""


class BuddyPool:
    """Pods of a power of two devices each, handed out in aligned powers of two.

    References: K. C. Knowlton, "A fast storage allocator," Communications of the ACM, vol. 8, no. 10, 1965.
    """

    def __init__(self, pods: int, size: int) -> None:
        self.pods, self.size = pods, size
        self.free = pods * size
        self._orders = size.bit_length()
        self._blocks: list[list[int]] = [[] for _ in range(self._orders)]
        """By order, addresses of free blocks over all pods, rising."""
        self._blocks[-1] = list(range(0, pods * size, size))

    @property
    def largest_free(self) -> int:
        return max((1 << order for order, blocks in enumerate(self._blocks) if blocks), default=0)

    def free_blocks(self) -> list[Block]:
        addresses = [(start, 1 << order) for order, blocks in enumerate(self._blocks) for start in blocks]
        return [(start // self.size, start % self.size, devices) for start, devices in sorted(addresses)]

    def place(self, devices: int) -> tuple[Block, ...] | None:
        """Take an aligned block; a job larger than a pod takes equal blocks on pods of their own."""
        parts = session_parts(devices, self.size, self.pods)
        return None if parts is None else self.place_parts(devices // parts, parts)

    def place_parts(self, size: int, parts: int) -> tuple[Block, ...] | None:
        """Take ``parts`` blocks of one size, each on another pod, in the smallest free blocks."""
        chosen: dict[int, int] = {}
        for order in range(size.bit_length() - 1, self._orders):
            for start in self._blocks[order]:
                chosen.setdefault(start // self.size, start)
                if len(chosen) == parts:
                    for first in chosen.values():
                        self._take(first, size)
                    return tuple((pod, first % self.size, size) for pod, first in sorted(chosen.items()))
        return None

    def reserve(self, pod: int, first: int, devices: int) -> bool:
        """Take the block at an address; False where any of it is taken."""
        return self._take(pod * self.size + first, devices)

    def give_back(self, blocks: tuple[Block, ...]) -> None:
        for pod, first, devices in blocks:
            start, order = pod * self.size + first, devices.bit_length() - 1
            self.free += devices
            while order < self._orders - 1:
                buddy = start ^ (1 << order)
                if not self._drop(order, buddy):
                    break
                start, order = min(start, buddy), order + 1
            insort(self._blocks[order], start)

    def copy(self) -> BuddyPool:
        pool = BuddyPool(0, self.size)
        pool.pods, pool.free = self.pods, self.free
        pool._blocks = [list(blocks) for blocks in self._blocks]
        return pool

    def _take(self, start: int, devices: int) -> bool:
        order_needed = devices.bit_length() - 1
        for order in range(order_needed, self._orders):
            whole = start >> order << order
            if not self._drop(order, whole):
                continue
            while order > order_needed:
                order -= 1
                half = whole + (1 << order)
                other, whole = (whole, half) if start >= half else (half, whole)
                insort(self._blocks[order], other)
            self.free -= devices
            return True
        return False

    def _drop(self, order: int, start: int) -> bool:
        blocks = self._blocks[order]
        position = bisect_left(blocks, start)
        if position == len(blocks) or blocks[position] != start:
            return False
        del blocks[position]
        return True


class NodePool:
    """Nodes of several accelerators each; larger jobs take whole nodes.

    Only the number of free accelerators in a node is kept, as they are interchangeable.
    """

    def __init__(self, nodes: int, size: int) -> None:
        self.nodes, self.size = nodes, size
        self.free = nodes * size
        self._by_free: list[list[int]] = [[] for _ in range(size + 1)]
        """Nodes by the number of accelerators they have free, rising."""
        self._by_free[size] = list(range(nodes))
        self._left = [size] * nodes

    @property
    def largest_free(self) -> int:
        empty = len(self._by_free[self.size])
        return empty * self.size or max(self._left, default=0)

    def place(self, devices: int) -> tuple[Block, ...] | None:
        """Take the fullest node that holds a job, or as many empty ones as it needs."""
        if devices > self.size:
            needed = -(-devices // self.size)
            empty = self._by_free[self.size][:needed]
            if len(empty) < needed:
                return None
            return tuple(self._take(node, self.size) for node in empty)
        for free in range(devices, self.size + 1):
            if self._by_free[free]:
                return (self._take(self._by_free[free][0], devices),)
        return None

    def give_back(self, blocks: tuple[Block, ...]) -> None:
        for node, _, devices in blocks:
            self._move(node, self._left[node] + devices)

    def copy(self) -> NodePool:
        pool = NodePool(0, self.size)
        pool.nodes, pool.free, pool._left = self.nodes, self.free, list(self._left)
        pool._by_free = [list(nodes) for nodes in self._by_free]
        return pool

    def _take(self, node: int, devices: int) -> Block:
        first = self.size - self._left[node]
        self._move(node, self._left[node] - devices)
        return node, first, devices

    def _move(self, node: int, free: int) -> None:
        before = self._by_free[self._left[node]]
        del before[bisect_left(before, node)]
        insort(self._by_free[free], node)
        self.free += free - self._left[node]
        self._left[node] = free


@dataclass(frozen=True, slots=True, order=True)
class SliceProfile:
    memory: int
    """Memory slices it takes. [-]"""
    compute: int
    """Compute slices it takes. [-]"""
    starts: tuple[int, ...]
    """Memory slices at which it may begin. [-]"""
    name: str


@dataclass(frozen=True, slots=True)
class SlicedGpu:
    compute: int
    """Compute slices of the whole GPU. [-]"""
    memory: int
    """Memory slices of the whole GPU. [-]"""


@lru_cache(maxsize=65_536)
def arrangement(profiles: tuple[SliceProfile, ...], gpu: SlicedGpu) -> tuple[int, ...] | None:
    """Return the first memory slice of each instance on one GPU; None where they do not fit together.

    Every way to place them is tried. :class:`SliceProfile` says where each may begin.
    """
    if (
        sum(part.compute for part in profiles) > gpu.compute
        or sum(part.memory for part in profiles) > gpu.memory
    ):
        return None
    order = sorted(
        range(len(profiles)), key=lambda index: (-profiles[index].memory, len(profiles[index].starts))
    )
    starts = [0] * len(profiles)

    def put(position: int, occupied: int) -> bool:
        if position == len(order):
            return True
        index = order[position]
        profile = profiles[index]
        for start in profile.starts:
            mask = ((1 << profile.memory) - 1) << start
            if start + profile.memory <= gpu.memory and not occupied & mask:
                starts[index] = start
                if put(position + 1, occupied | mask):
                    return True
        return False

    return tuple(starts) if put(0, 0) else None


def gpus_for_slices(instances: Sequence[SliceProfile], gpu: SlicedGpu) -> list[list[int]]:
    """Return for each GPU in use the positions of its instances: largest first, each where least is left.

    Each GPU is arranged anew for every instance that joins it, so that only the choice of the GPU is
    a heuristic (best fit decreasing; D. S. Johnson, "Fast algorithms for bin packing," 1974).
    """
    shares: list[list[int]] = []
    order = sorted(
        range(len(instances)), key=lambda index: (-instances[index].memory, -instances[index].compute)
    )
    for index in order:
        fullest: list[int] | None = None
        least = gpu.memory + 1
        for share in shares:
            remaining = gpu.memory - sum(instances[member].memory for member in share)
            if not instances[index].memory <= remaining < least:
                continue
            together = tuple(sorted(instances[member] for member in (*share, index)))
            if arrangement(together, gpu) is not None:
                least, fullest = remaining, share
        if fullest is None:
            shares.append([index])
        else:
            fullest.append(index)
    return shares
