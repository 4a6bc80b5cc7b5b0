"""Layouts of devices and micro-batches that plans may have, shared by all hardware with nodes of one size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from app.engine.records import Floats
from app.engine.search import LARGEST_MICRO_BATCH, divisors


@dataclass(frozen=True, slots=True, eq=False)
class Layouts:
    """Tensor and pipeline degrees with micro-batches, one entry per layout."""

    tensor: Floats
    pipeline: Floats
    micro_batch: Floats
    accumulation: Floats
    interleave: Floats
    """Most model chunks per stage that the layers and the micro-batches allow. [-]"""


@lru_cache(maxsize=4096)
def layouts(
    devices: int, batch: int, tensor_degrees: tuple[int, ...], deepest: int, powers_of_two: bool
) -> Layouts:
    """Return every layout of a global batch over devices that a legal plan may have.

    Parameters
    ----------
    devices : int
        Accelerators. [-]
    batch : int
        Samples per step. [samples]
    tensor_degrees : tuple of int
        Tensor degrees to consider. [-]
    deepest : int
        Layers a pipeline can be cut between; 1 where there is none. [-]
    powers_of_two : bool
        Whether stages are a power of two, as on IPUs. [-]
    """
    found: list[Floats] = []
    for tensor in tensor_degrees:
        if devices % tensor:
            continue
        for stages in divisors(devices // tensor):
            if stages > deepest or (powers_of_two and stages & (stages - 1)):
                continue
            replicas = devices // (tensor * stages)
            if batch % replicas:
                continue
            ours = batch // replicas
            micro = _micro_batches(ours)
            rounds = ours / micro
            chunks = np.where(rounds % stages == 0, _chunks(deepest, stages), 1.0)
            ones = np.ones(micro.size)
            found.append(np.stack([tensor * ones, stages * ones, micro, rounds, chunks]))
    return Layouts(*(np.concatenate(found, axis=1) if found else np.empty((5, 0))))


@lru_cache(maxsize=4096)
def _micro_batches(ours: int) -> Floats:
    return np.array([value for value in divisors(ours) if value <= LARGEST_MICRO_BATCH], dtype=float)


@lru_cache(maxsize=4096)
def _chunks(depth: int, stages: int) -> int:
    """Return the most chunks of a stage that divide its layers."""
    return depth // stages if stages > 1 and depth % stages == 0 else 1
