"""Plans as arrays, and what evaluating them gives.

A plan says how a model is laid over devices. All fields of :class:`Plans` are arrays of one shape
(N,), or of shapes that broadcast; a single plan is an array of length one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import NamedTuple

import numpy as np

from app.engine.records import Floats, Indices


class Recompute(IntEnum):
    """Which activations the backward pass recomputes."""

    NONE = 0
    SELECTIVE = 1
    FULL = 2


MODULES = 0.5
"""Between none and selective: the backward pass recomputes norms and activation functions, whose results the
products after them then do not keep (Megatron-Core, ``recompute_modules``)."""


class Sharding(IntEnum):
    """What data-parallel ranks shard instead of each holding a copy (ZeRO stages 0 to 3)."""

    NONE = 0
    OPTIMIZER = 1
    GRADIENTS = 2
    PARAMETERS = 3


class Offload(IntFlag):
    """What a device keeps in host or streaming memory; kinds add up."""

    OPTIMIZER = 1
    """State of the optimizer, which the host of a GPU updates (Ren et al. 2021)."""
    PARAMETERS = 2
    """Weights, which come layer by layer (Rajbhandari et al. 2021, "ZeRO-Infinity"); GPU only."""
    ACTIVATIONS = 4
    """What the forward pass of layers keeps for the backward pass; GPU only."""


class _RowCache:
    """Caches the matrix of rows that fields are columns of; it is not copied when fields are replaced."""

    __slots__ = ("_rows",)
    _rows: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans(_RowCache):
    """How a model is laid over devices, one entry per plan."""

    tensor: Floats
    pipeline: Floats
    data: Floats
    micro_batch: Floats
    """Samples of one micro-batch. [-]"""
    accumulation: Floats
    """Micro-batches per step and data-parallel rank. [-]"""
    interleave: Floats
    """Model chunks per pipeline stage. [-]"""
    recompute: Floats
    """:class:`Recompute` or :data:`MODULES`; between selective and full, full for that share of the layers.
    [-]"""
    sequence_parallel: Floats
    """1 where tensor ranks also split tokens between tensor-parallel blocks. [-]"""
    sharding: Floats
    """:class:`Sharding`; GPU only. [-]"""
    sharding_ranks: Floats
    """Data-parallel ranks that share one copy; equal to ``data`` unless kept inside a node. [-]"""
    offload: Floats
    """Sum of :class:`Offload`. [-]"""
    rts: Floats
    """Replicas over which IPU weights are sharded (replicated tensor sharding). [-]"""
    rts_optimizer: Floats
    """Replicas over which IPU optimizer state is sharded. [-]"""
    phases: Floats
    """Phases of one pipeline stage on an IPU; 1 keeps the whole stage resident. [-]"""
    expert: Floats
    """Data-parallel ranks over which the experts of a layer are spread; GPU only. [-]"""
    context: Floats
    """Ranks of ``data`` that share the tokens of each sample, so that a micro-batch is a part of it. [-]"""

    @classmethod
    def of(cls, **values: object) -> Plans:
        """Return plans from scalars or arrays; omitted fields take their neutral values."""
        neutral: dict[str, object] = dict.fromkeys(cls.__slots__, 1.0)
        neutral |= dict.fromkeys(("recompute", "sequence_parallel", "sharding", "offload"), 0.0)
        neutral["sharding_ranks"] = values.get("data", 1.0)
        unknown = set(values) - set(neutral)
        if unknown:
            raise TypeError(f"unknown plan fields: {sorted(unknown)}")
        arrays = {
            name: np.asarray(values.get(name, default), dtype=float) for name, default in neutral.items()
        }
        return cls(**arrays)

    @classmethod
    def of_rows(cls, rows: Floats) -> Plans:
        """Return the plans of a matrix, (N, 16), with fields in their order."""
        rows = np.ascontiguousarray(rows)
        plans = cls(**dict(zip(PLAN_FIELDS, rows.T, strict=True)))
        object.__setattr__(plans, "_rows", rows)
        return plans

    @classmethod
    def joined(cls, parts: Sequence[Plans]) -> Plans:
        return cls.of_rows(np.concatenate([part.rows for part in parts]))

    def take(self, index: Indices) -> Plans:
        """Return some of the plans, whose fields all have the same shape."""
        return Plans.of_rows(self.rows[index])

    @property
    def rows(self) -> Floats:
        """Plans as the rows of a matrix, (N, 16), whatever shape their fields broadcast to."""
        try:
            return self._rows
        except AttributeError:
            values = [getattr(self, name) for name in PLAN_FIELDS]
        shape = np.broadcast_shapes(*(np.shape(value) for value in values))
        rows = np.empty((*shape, len(values)))
        for column, value in enumerate(values):
            rows[..., column] = value
        rows = rows.reshape(-1, len(values))
        object.__setattr__(self, "_rows", rows)
        return rows

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*(np.shape(getattr(self, name)) for name in PLAN_FIELDS))

    @property
    def devices(self) -> Floats:
        """Devices a plan occupies. [-]"""
        return self.tensor * self.pipeline * self.data

    @property
    def global_batch(self) -> Floats:
        """Samples per step over all devices. [-]"""
        return self.data * self.micro_batch * self.accumulation


PLAN_FIELDS = Plans.__slots__


class Plan(NamedTuple):
    """A row of :class:`Plans`, as compiled loops read it."""

    tensor: float
    pipeline: float
    data: float
    micro_batch: float
    accumulation: float
    interleave: float
    recompute: float
    sequence_parallel: float
    sharding: float
    sharding_ranks: float
    offload: float
    rts: float
    rts_optimizer: float
    phases: float
    expert: float
    context: float


@dataclass(frozen=True, slots=True)
class StepTime:
    """Time of one step, by part; the parts add up to the step."""

    parts: Mapping[str, Floats]
    """Seconds of each part that applies. [s]"""

    @property
    def total(self) -> Floats:
        """Time of one step. [s]"""
        return np.asarray(sum(self.parts.values()))


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory of the fullest device, by part."""

    parts: Mapping[str, Floats]
    """Bytes by part: weights, gradients, optimizer, activations, buffers, framework. [B]"""
    capacity: float
    """Memory of one device that a plan may fill. [B]"""
    streaming: Floats
    """Bytes one device keeps in host or streaming memory. [B]"""
    streaming_capacity: float
    """Host or streaming memory of one device; 0 where there is none. [B]"""

    @property
    def total(self) -> Floats:
        """Bytes on the fullest device. [B]"""
        return np.asarray(sum(self.parts.values()))


@dataclass(frozen=True, slots=True)
class OperatorTimes:
    """Time of each operator of one micro-batch on one device, forward and backward.

    Arrays have the operator axis first: (O, …). Values are for all repeats on one device when the
    pipeline has one stage.
    """

    forward: Floats
    """[s]"""
    backward: Floats
    """[s]"""
    flop: Floats
    """Executed in both directions. [FLOP]"""
    traffic: Floats
    """Off-chip memory (GPU) or exchanged (IPU) bytes in both directions. [B]"""
    bound: Floats
    """:class:`Bound`. [-]"""


class Bound(IntEnum):
    """What limits an operator."""

    COMPUTE = 0
    MEMORY = 1
    EXCHANGE = 2
    LATENCY = 3
