"""Instances of one GPU (MIG): which fit together, and how many GPUs they take.

An instance takes compute slices, and memory slices that begin where its profile allows. Which
profiles there are and where they may begin is data; here is only how they are packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True, order=True)
class SliceProfile:
    """A kind of instance."""

    memory: int
    """Memory slices it takes. [-]"""
    compute: int
    """Compute slices it takes. [-]"""
    starts: tuple[int, ...]
    """Memory slices at which it may begin. [-]"""
    name: str


@dataclass(frozen=True, slots=True)
class SlicedGpu:
    """A GPU that can be cut into instances."""

    compute: int
    """Compute slices of the whole GPU. [-]"""
    memory: int
    """Memory slices of the whole GPU. [-]"""


@lru_cache(maxsize=65_536)
def arrangement(profiles: tuple[SliceProfile, ...], gpu: SlicedGpu) -> tuple[int, ...] | None:
    """Return the first memory slice of each instance on one GPU; None where they do not fit together.

    Every way to place them is tried. :class:`SliceProfile` says where each may begin.
    """
    if sum(one.compute for one in profiles) > gpu.compute or sum(one.memory for one in profiles) > gpu.memory:
        return None
    order = sorted(
        range(len(profiles)), key=lambda index: (-profiles[index].memory, len(profiles[index].starts))
    )
    starts = [0] * len(profiles)

    def put(place: int, taken: int) -> bool:
        if place == len(order):
            return True
        index = order[place]
        profile = profiles[index]
        for start in profile.starts:
            mask = ((1 << profile.memory) - 1) << start
            if start + profile.memory <= gpu.memory and not taken & mask:
                starts[index] = start
                if put(place + 1, taken | mask):
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
        best: tuple[int, list[int]] | None = None
        for share in shares:
            left = gpu.memory - sum(instances[one].memory for one in share)
            if left < instances[index].memory or (best is not None and left >= best[0]):
                continue
            together = tuple(sorted(instances[one] for one in (*share, index)))
            if arrangement(together, gpu) is not None:
                best = left, share
        if best is None:
            shares.append([index])
        else:
            best[1].append(index)
    return shares
