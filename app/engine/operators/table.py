"""A model as a table of operators, one row each, in numbers per sample.

Every architecture, preset and upload becomes such a table; the GPU and the IPU evaluators read
nothing else of a model. Dimensions are per sample, so that a micro-batch multiplies ``rows``
(or, for attention, ``batch``), and ``split`` says which dimension tensor parallelism divides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cached_property

import numpy as np

from app.engine.records import Floats


class Kind(IntEnum):
    """What an operator does, as far as its time is concerned."""

    MATMUL = 0
    CONVOLUTION = 1
    DEPTHWISE = 2
    ATTENTION = 3
    POINTWISE = 4
    EMBEDDING = 5
    RECURRENT = 6


class Pointwise(IntEnum):
    """Memory-bound operators, which differ in passes over their elements."""

    NONE = 0
    LAYER_NORM = 1
    BATCH_NORM = 2
    GROUP_NORM = 3
    RELU = 4
    SWISH = 5
    GELU = 6
    GATED = 7
    RESIDUAL = 8
    ADD = 9
    MAX_POOL = 10
    AVERAGE_POOL = 11
    SQUEEZE_EXCITE = 12
    ROTARY = 13
    BIAS = 14
    HEADS = 15
    CROSS_ENTROPY = 16
    ELEMENTWISE = 17
    CTC_LOSS = 18
    BIASED_RELU = 19
    COPY = 20
    SHIFT = 21
    ADAPTER_SUM = 22
    DEQUANTISE = 23


class Section(IntEnum):
    """Where in a pipeline an operator runs: first stage, every stage, last stage."""

    EMBEDDING = 0
    LAYER = 1
    HEAD = 2


class Split(IntEnum):
    """What tensor parallelism divides: nothing, one dimension, or tokens (sequence parallel)."""

    REPLICATED = 0
    COLUMNS = 1
    INNER = 2
    BATCH = 3
    SEQUENCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator of a model, per sample and per repeat.

    A matrix product has ``batch`` products of ``rows`` × ``inner`` by ``inner`` × ``columns``;
    for a convolution ``rows`` are output positions, ``inner`` is input channels per group times
    the kernel area, ``columns`` output channels per group and ``batch`` the groups; for attention
    ``batch`` are query heads, ``inner`` the head dimension and ``squared`` the mean product of
    query and key lengths that is really computed. A recurrent operator runs its product once per
    ``steps``.
    """

    name: str
    kind: Kind
    pointwise: Pointwise = Pointwise.NONE
    section: Section = Section.LAYER
    count: float = 1.0
    """Times the operator occurs in the model."""
    rows: float = 0.0
    inner: float = 0.0
    columns: float = 0.0
    batch: float = 1.0
    steps: float = 1.0
    split: Split = Split.REPLICATED
    kernel_area: float = 1.0
    kernel_width: float = 1.0
    stride: float = 1.0
    input_elements: float = 0.0
    output_elements: float = 0.0
    squared: float = 0.0
    causal: float = 1.0
    """Share of the attention matrix that a kernel which skips the masked half computes."""
    elements: float = 0.0
    weights: float = 0.0
    """Parameters of one repeat."""
    saved: float = 0.0
    """Elements kept for the backward pass."""
    masks: float = 0.0
    """Bytes of masks kept for the backward pass."""
    keys_values: float = 0.0
    """Elements of the keys and values that queries of one sample read."""
    saved_split: Split = Split.REPLICATED
    input_gradient: bool = True
    """False for the first layer, whose input needs no gradient."""
    aligned: bool = True
    """True where the kernel library suffers when inner or columns are not multiples of 8 or 32."""
    layer_launches: float = 0.0
    """Share of the kernel launches of one transformer layer."""
    convolution_launches: float = 0.0
    """Share of the kernel launches of one convolution with its norm and activation."""
    kernels: float = 0.0
    """Kernels of its own, forward and backward, beside those shares: steps of a loop in time."""
    tensors: float = 2.0
    """Tensors of the parameters of one repeat: weight and bias, or scale and shift."""
    active: float = 1.0
    """Share of the weights that one token uses (experts)."""
    sparse: bool = False
    """True for tables that are spread over all devices and updated row by row."""
    trained: bool = True
    """False where the weights are frozen: no gradients and no optimizer state for them."""
    quantised: bool = False
    """True where frozen weights are stored in 4 bit."""
    block: int = -1
    """Block of unlike layers the operator belongs to; −1 outside of any. A pipeline is cut between them."""
    block_repeats: float = 1.0
    """Times that block follows itself."""
    skip: float = 0.0
    """Elements that it keeps for a later block; negative where it takes those that one before has kept."""


QUANTISED_BYTES = (4.0 + 8.0 / 64.0 + 32.0 / (64.0 * 256.0)) / 8.0
"""Bytes of a weight stored in 4 bit with doubly quantised constants: one of 8 bit for 64 weights, one of
32 bit for 256 of those. Dettmers et al. 2023, section 3."""

OPERATOR_COLUMNS = tuple(entry.name for entry in fields(Operator) if entry.name != "name")
"""Fields of an operator that are numbers."""


@dataclass(frozen=True, eq=False)
class OperatorTable:
    """Operators as arrays of shape (O,), with the number of places a pipeline may be cut."""

    names: tuple[str, ...]
    kind: Floats
    pointwise: Floats
    section: Floats
    count: Floats
    rows: Floats
    inner: Floats
    columns: Floats
    batch: Floats
    steps: Floats
    split: Floats
    kernel_area: Floats
    kernel_width: Floats
    stride: Floats
    input_elements: Floats
    output_elements: Floats
    squared: Floats
    causal: Floats
    elements: Floats
    weights: Floats
    saved: Floats
    masks: Floats
    keys_values: Floats
    saved_split: Floats
    input_gradient: Floats
    aligned: Floats
    layer_launches: Floats
    convolution_launches: Floats
    kernels: Floats
    tensors: Floats
    active: Floats
    sparse: Floats
    trained: Floats
    quantised: Floats
    block: Floats
    block_repeats: Floats
    skip: Floats
    depth: int
    """Layers that a pipeline can be cut between; 1 where nothing repeats."""
    hidden: float
    """Elements per token (or per sample) handed from one layer to the next."""
    tokens: float
    """Rows per sample handed from one layer to the next."""
    attention_heads: float
    """Heads that tensor parallelism divides; 0 where it does not apply."""
    master_weights: float = 1.0
    """1 where trained half-precision weights have a single-precision copy and gradients, else 0."""
    quantised_bytes: float = QUANTISED_BYTES
    """Bytes of a frozen weight that is stored in fewer bits. [B]"""
    frozen_models: float = 0.0
    """Models of the same size that run forward beside the trained one, as the reference of DPO. [-]"""
    trained_models: float = 1.0
    """Models of the same size that are trained, as policy and critic of PPO. [-]"""

    @classmethod
    def of(
        cls,
        operators: Iterable[Operator],
        *,
        depth: int,
        hidden: float,
        tokens: float,
        heads: float = 0.0,
        master_weights: float = 1.0,
        quantised_bytes: float = QUANTISED_BYTES,
    ) -> OperatorTable:
        rows = tuple(operators)
        columns = {name: np.array([float(getattr(row, name)) for row in rows]) for name in OPERATOR_COLUMNS}
        return cls(
            names=tuple(row.name for row in rows),
            depth=depth,
            hidden=hidden,
            tokens=tokens,
            attention_heads=heads,
            master_weights=master_weights,
            quantised_bytes=quantised_bytes,
            frozen_models=0.0,
            trained_models=1.0,
            **columns,
        )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def parameters(self) -> float:
        """Parameters of the whole model. [-]"""
        return float(np.sum(self.weights * self.count))

    @cached_property
    def trained_parameters(self) -> float:
        """Parameters that training changes; all but for adapters on a frozen model. [-]"""
        return float(np.sum(self.weights * self.count * self.trained))

    @property
    def active_parameters(self) -> float:
        """Parameters one token uses; less than all in a mixture of experts. [-]"""
        return float(np.sum(self.weights * self.count * self.active))

    @property
    def experts(self) -> int:
        """Experts of a layer that can be spread over devices; 1 where there are none. [-]"""
        routed = self.batch[self.active < 1.0]
        return int(routed.min()) if routed.size else 1

    @cached_property
    def forward_flop(self) -> Floats:
        """Model FLOP of the forward pass of one sample, by operator. [FLOP]

        A multiplication and an addition count as two; attention counts its whole square whether
        or not a kernel skips the masked half, as the published utilisation figures do.
        """
        product = 2.0 * self.rows * self.inner * self.columns * self.batch * self.steps
        attention = 4.0 * self.batch * self.squared * self.inner
        matrix = self.kind != Kind.ATTENTION
        dense = matrix & (self.kind != Kind.POINTWISE) & (self.kind != Kind.EMBEDDING)
        return self.count * np.where(dense, product, np.where(matrix, 0.0, attention))

    @cached_property
    def training_flop(self) -> float:
        """Model FLOP of a training step for one sample. [FLOP]

        Three times those of the forward pass; twice where weights are frozen, which have no gradients; once
        for a frozen model.
        """
        forward = self.forward_flop
        both = (self.trained > 0) | (self.kind == Kind.ATTENTION)
        passes = 2.0 + self.frozen_models
        return passes * float(np.sum(forward)) + float(np.sum(np.where(both, forward, 0.0)))
