"""A model on a GPU system with a software stack, as named tuples of numbers for compiled loops."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.engine.collectives import IntraLinks, Network, node_bandwidth
from app.engine.compiled import Matrix, flat, inner, record
from app.engine.gpu.gemm import mixed_rate, narrowing_bytes
from app.engine.gpu.passes import EMBEDDING_PASSES, NORMS, STATISTICS_BYTES, halo_elements, pointwise_passes
from app.engine.operators.adapters import FIRST_OF_ADAPTER
from app.engine.operators.table import Kind, OperatorTable, Pointwise, Section, Split
from app.engine.plans import Plan
from app.engine.records import (
    Floats,
    GpuChip,
    GpuKernels,
    GpuSoftware,
    GpuSystem,
    Precision,
    ScaleOutFabric,
)

OPTIMIZER_TRAFFIC = {
    "adam": 34.0,
    "adamw": 34.0,
    "adam-bf16": 26.0,
    "adam-8bit": 22.0,
    "paged-adam": 34.0,
    "paged-adam-8bit": 22.0,
    "lion": 26.0,
    "muon": 26.0,
    "lamb": 60.0,
    "sgd": 14.0,
    "momentum": 30.0,
    "adafactor": 34.0,
    "distributed-shampoo": 60.0,
}
"""Bytes one update moves per parameter in mixed precision: gradients read, master weights and
moments read and written, half-precision weights written; LAMB passes twice for its norms."""

STATE_BYTES = {
    "adam": 8.0,
    "adamw": 8.0,
    "adam-bf16": 4.0,
    "adam-8bit": 2.0 + 2.0 * 4.0 / 256.0,
    "paged-adam": 8.0,
    "paged-adam-8bit": 2.0 + 2.0 * 4.0 / 256.0,
    "lion": 4.0,
    "muon": 4.0,
    "lamb": 8.0,
    "momentum": 4.0,
    "sgd": 0.0,
    "adafactor": 4.0,
    "distributed-shampoo": 16.0,
}
"""Single-precision optimizer state per parameter beside the master weights. Adam and LAMB keep two
moments, momentum one; Adafactor keeps rows and columns of the second moment, and a first moment;
Shampoo keeps a moment, a grafting moment and two preconditioners of about the weights' size. In 8 bit each
moment has a constant of 32 bit for a block of 256 (Dettmers et al. 2022, section 2); Lion (Chen et al. 2023)
and Muon (Jordan et al. 2024) keep one moment."""
PAGED = frozenset({"paged-adam", "paged-adam-8bit"})
"""Optimizers whose state lies in host memory and comes page by page."""

MASTER_BYTES = 4.0
"""Single-precision copy of a half-precision weight. Micikevicius et al. 2018."""
GRADIENT_BYTES = 4.0
"""Gradients are summed over micro-batches in single precision. Narayanan et al. 2021, appendix."""
LOSS_BYTES = 4.0
"""Bytes of a logit that the table of a model counts as kept: one copy in single precision (Korthikanti et
al. 2023, section 4.3)."""


@inner
def devices_of(plan: Plan) -> float:
    """Devices a plan occupies. [-]"""
    return plan.tensor * plan.pipeline * plan.data


class MicroBatch(NamedTuple):
    """The fields of a plan that the work of one micro-batch on one tensor rank depends on."""

    samples: float
    """A part of one where a sample is cut. [-]"""
    tensor: float
    recompute: float
    sequence_parallel: float
    expert: float
    context: float


@inner
def micro_batch_of(plan: Plan) -> MicroBatch:
    return MicroBatch(
        samples=plan.micro_batch,
        tensor=plan.tensor,
        recompute=plan.recompute,
        sequence_parallel=plan.sequence_parallel,
        expert=plan.expert,
        context=plan.context,
    )


class SoftwareStack(NamedTuple):
    """A software stack and the network as it reaches it, central or one sample."""

    software: GpuSoftware
    network: Network


class GpuOperator(NamedTuple):
    """One operator of a table, with the passes of memory-bound operators."""

    kind: float
    section: float
    repeats: float
    rows: float
    inner: float
    columns: float
    batch: float
    steps: float
    split: float
    kernel_area: float
    stride: float
    image: float
    """Elements of input and output together."""
    squared: float
    causal: float
    elements: float
    saved: float
    recomputable: float
    """Elements of these that norms or activation functions give. [-]"""
    masks: float
    saved_split: float
    input_gradient: float
    aligned: float
    active: float
    sparse: float
    trained: float
    forward_passes: float
    backward_passes: float
    special: float
    """:data:`LOSS`, :data:`UNPACKING`, else 0."""


LOSS, UNPACKING = 1.0, 2.0
"""A loss over logits; weights that are turned from 4 bit."""


ELEMENTS, STATISTICS, COUNTS = 0, 0, 1
"""Rows of messages and norms: elements of a message, bytes of statistics, and how many there are."""


class SectionSums(NamedTuple):
    """Weights of a section, without rows that are looked up in spread tables. [-]"""

    whole: float
    """Those that every tensor rank holds."""
    split: float
    """Those that tensor ranks share."""
    whole_experts: float
    split_experts: float


class WeightSums(NamedTuple):
    """Weights of a model by section and place. [-]"""

    embedding: SectionSums
    layers: SectionSums
    head: SectionSums
    split_experts: float
    """Those of experts that tensor ranks share, the embedding left out."""
    whole_experts: float


ALL, TRAINED, QUANTISED = range(3)
"""Rows of :class:`WeightSums`: of all operators, of trained ones, of those stored in 4 bit."""


class Case(NamedTuple):
    """A model on the chips, kernel libraries and machines of a GPU system, in a number format."""

    peak: float
    """Dense matrix rate held under load. [FLOP/s]"""
    bandwidth: float
    """Memory bandwidth reached by streaming. [B/s]"""
    attention_peak: float
    """Of the products inside fused attention. [FLOP/s]"""
    multiprocessors: float
    launch: float
    """Launch and drain of one kernel. [s]"""
    kernels: GpuKernels
    host_bandwidth: float
    """Of the link to the host, one direction, as achieved. [B/s]"""
    host_memory_bandwidth: float
    host_devices: float
    """Devices that one host feeds. [-]"""
    size: float
    """Bytes of one activation or weight in the products. [B]"""
    stored_size: float
    """Bytes of one weight between the products. [B]"""
    narrow_peak: float
    """Matrix rate of the layers' products in 8 or 4 bit; 0 where they are not. [FLOP/s]"""
    narrow_size: float
    """Bytes of one of their operands. [B]"""
    narrowing: float
    """Bytes that turning an element into such operands moves. [B]"""
    update_traffic: float
    """Bytes an update moves per parameter. [B]"""
    state_bytes: float
    """Optimizer state and master copy of a trained weight. [B]"""
    kept_gradient_bytes: float
    """Gradient of a trained weight, as it is summed. [B]"""
    sent_gradient_bytes: float
    """The same as it travels. [B]"""
    paged_bytes: float
    """Optimizer state of a trained weight that lies in host memory until it is needed. [B]"""
    quantised_size: float
    """Bytes of a frozen weight that is stored in fewer bits. [B]"""
    frozen_models: float
    """Models of the same size that run forward beside the trained one. [-]"""
    trained_models: float
    flat_copy_bytes: float
    """Copy of a weight in the one array that gradients are sharded by. [B]"""
    allocator_reserve: float
    """Memory that the allocator reserves over what is live. [-]"""
    fused_attention: float
    balanced_head: float
    blocking_pipeline: float
    scattered_pipeline: float
    depth: float
    hidden: float
    tokens: float
    looked_up: float
    """Elements of rows that are looked up in spread tables, per sample. [-]"""
    spread: float
    """Parameters of these tables. [-]"""
    layers_launched: float
    """Transformer layers whose kernels are launched. [-]"""
    convolutions_launched: float
    own_kernels: float
    tensors: float
    """Tensors that an update takes. [-]"""
    unpacked: float
    """Weights of the largest product that are stored in 4 bit. [-]"""
    expert_elements: float
    """Elements of routed tokens, over all layers with experts. [-]"""
    expert_layers: float
    experts_visited: float
    """Experts that a token visits. [-]"""
    expert_imbalance: float
    """Tokens of the busiest rank over the mean, where experts are spread over ranks. [-]"""
    keys_values: float
    """Elements of keys and values of one sample, over all layers. [-]"""
    attentions: float
    """Layers with attention. [-]"""
    cut_convolutions: float
    """Convolutions that need neighbours where a sample is cut. [-]"""
    halo: float
    """Elements of their halos. [-]"""
    links: IntraLinks
    messages: Matrix
    """What the tensor ranks reduce of a sample: rows :data:`ELEMENTS` and :data:`COUNTS`, (2, M)."""
    norms: Matrix
    """Norms over positions: rows :data:`STATISTICS`, in bytes, and :data:`COUNTS`, (2, K)."""
    weights: Matrix
    """:class:`WeightSums` of all, of trained and of 4-bit operators: rows :data:`ALL`, :data:`TRAINED` and
    :data:`QUANTISED`."""
    operators: Matrix
    """:class:`GpuOperator` in every row, (O, 27)."""


OF_SOFTWARE = (
    *("flat_copy_bytes", "allocator_reserve", "fused_attention"),
    *("balanced_head", "blocking_pipeline", "scattered_pipeline"),
)
"""Fields of a case that are fields of software."""


NARROW_BYTES = {
    Precision.FP8: 1.0,
    Precision.INT8: 1.0,
    Precision.MXFP8: 1.0 + 1.0 / 32.0,
    Precision.MXFP4: 0.5 + 1.0 / 32.0,
    Precision.NVFP4: 0.5 + 1.0 / 16.0,
}
"""Bytes of an operand in 8 or 4 bit with its scale: one for a tensor, one of 8 bit for each 32 elements, or
for each 16 (Rouhani et al. 2023; NVIDIA 2025, "Pretraining large language models with NVFP4")."""
WIDE_SHARE = {Precision.NVFP4: 0.15, Precision.MXFP4: 0.15}
"""Share of the layers whose products stay in 16 bit while a model is trained, because training diverges where
all of them have 4 bit (NVIDIA 2025, arXiv:2509.25149, section 4: about 15 %, most at the end)."""
NARROWING_READINGS = {Precision.NVFP4: 2.0}
"""Times that a tensor is read to be turned: its second scale is that of the whole tensor, whose largest
element must be known first (arXiv:2509.25149, section 2)."""


def element_bytes(precision: Precision) -> float:
    """Return the bytes of an activation; around products in 8 or 4 bit they have 16 bit."""
    return 4.0 if precision in (Precision.TF32, Precision.FP32) else 2.0


def trained_bytes(
    optimizer: str, size: float, master_weights: float = 1.0, gradient: float = GRADIENT_BYTES
) -> tuple[float, float]:
    """Optimizer state and gradient that a device keeps per trained weight. [B]

    Half-precision weights have a master copy, and a gradient of as many bytes as the stack keeps, unless they
    are adapters, which are kept in one format (Micikevicius et al. 2018; Dettmers et al. 2023, equation 5).

    >>> trained_bytes("adam", 2.0), trained_bytes("adam", 2.0, master_weights=0.0)
    ((12.0, 4.0), (8.0, 2.0))
    """
    master = MASTER_BYTES * master_weights if size < MASTER_BYTES else 0.0
    state = 0.0 if optimizer in PAGED else STATE_BYTES[optimizer]
    kept = max(gradient, size) * master_weights + size * (1.0 - master_weights)
    return state + master, kept


@lru_cache(maxsize=256)
def model_figures(table: OperatorTable) -> dict[str, Any]:
    """Return the fields of :class:`Case` that come from a table."""
    inner_split = table.split == Split.INNER
    reduced = inner_split & (table.section == Section.LAYER)
    elements, message = np.unique((table.rows * table.batch * table.columns)[reduced], return_inverse=True)
    counts = np.bincount(message.ravel(), weights=table.count[reduced], minlength=elements.size)
    routed = inner_split & (table.active < 1.0)
    halo = halo_elements(table)
    wide = halo > 0
    norms = np.isin(table.pointwise, NORMS)
    updated = (table.weights > 0) & (table.sparse == 0) & (table.trained > 0)
    sparse = table.sparse > 0
    scalars = {
        "depth": table.depth,
        "hidden": table.hidden,
        "tokens": table.tokens,
        "looked_up": np.sum(np.where(sparse, table.elements * table.count, 0.0)),
        "spread": np.sum(np.where(sparse, table.weights * table.count, 0.0)),
        "layers_launched": np.sum(table.layer_launches * table.count),
        "convolutions_launched": np.sum(table.convolution_launches * table.count),
        "own_kernels": np.sum(table.kernels * table.count),
        "tensors": np.sum(np.where(updated, table.tensors * table.count, 0.0)),
        "unpacked": np.max(table.weights * table.quantised, initial=0.0),
        "expert_elements": np.sum(
            np.where(routed, table.count * table.rows * table.batch * table.columns, 0.0)
        ),
        "expert_layers": np.sum(np.where(routed, table.count, 0.0)),
        "experts_visited": np.max(np.where(routed, table.batch * table.active, 1.0), initial=1.0),
        "keys_values": np.sum(table.count * table.keys_values),
        "attentions": np.sum(table.count[table.keys_values > 0]),
        "cut_convolutions": np.sum(table.count[wide]),
        "halo": np.sum(table.count[wide] * halo[wide]),
    }
    return {
        **{name: float(value) for name, value in scalars.items()},
        "messages": np.stack([elements, counts]),
        "norms": np.stack([STATISTICS_BYTES * table.weights[norms] / 2.0, table.count[norms]]),
        "weights": weight_sums(table),
        "operators": _operators(table),
    }


def _operators(table: OperatorTable) -> Matrix:
    passes = pointwise_passes(table.pointwise, table.trained)
    lookup = table.kind == Kind.EMBEDDING
    forward = np.where(lookup, EMBEDDING_PASSES.forward, passes.forward)
    backward = np.where(lookup, EMBEDDING_PASSES.backward * table.trained, passes.backward)
    loss, packed = (table.pointwise == kind for kind in (Pointwise.CROSS_ENTROPY, Pointwise.DEQUANTISE))
    outputs = np.array([name.endswith("attention_out") for name in table.names])
    after = (table.kind == Kind.MATMUL) & (table.section == Section.LAYER) & ~outputs
    own = {
        "recomputable": np.where(after, table.saved, 0.0),
        "repeats": table.count,
        "image": table.input_elements + table.output_elements,
        "forward_passes": forward,
        "backward_passes": backward,
        "special": np.where(loss, LOSS, np.where(packed, UNPACKING, 0.0)),
    }
    columns = [own[name] if name in own else getattr(table, name) for name in GpuOperator._fields]
    return np.stack(columns, axis=1).astype(float)


def weight_sums(table: OperatorTable) -> Matrix:
    """Return :class:`WeightSums` of all, of trained and of 4-bit operators as rows."""
    divided = np.isin(table.split, (Split.COLUMNS, Split.INNER, Split.BATCH))
    shared = divided | (table.kind == Kind.EMBEDDING)
    routed = table.active < 1.0
    dense = np.where(table.sparse > 0, 0.0, table.weights * table.count)

    def section_sums(section: Section, counted: Floats) -> SectionSums:
        inside = table.section == section

        def total(chosen: NDArray[np.bool_]) -> float:
            return float(np.sum(dense[inside & chosen] * counted[inside & chosen]))

        return SectionSums(
            whole=total(~routed & ~shared),
            split=total(~routed & shared),
            whole_experts=total(routed & ~shared),
            split_experts=total(routed & shared),
        )

    def sums(counted: Floats) -> WeightSums:
        experts = np.where(routed, table.weights * table.count, 0.0) * counted
        return WeightSums(
            embedding=section_sums(Section.EMBEDDING, counted),
            layers=section_sums(Section.LAYER, counted),
            head=section_sums(Section.HEAD, counted),
            split_experts=float(experts[divided].sum()),
            whole_experts=float(experts[~divided].sum()),
        )

    everything = np.ones(len(table))
    return np.array([flat(sums(counted)) for counted in (everything, table.trained, table.quantised)])


@dataclass(frozen=True, slots=True)
class GpuCase:
    """A case with its software, ready for compiled loops."""

    case: Case
    stacks: Matrix
    """:class:`SoftwareStack` in a row for every sample of software and network."""
    shape: tuple[int, ...]
    """Shape of the samples; empty for a single one."""
    host_memory: float
    capacity: float

    @classmethod
    def of(
        cls,
        table: OperatorTable,
        system: GpuSystem,
        software: GpuSoftware,
        precision: Precision,
        optimizer: str,
        expert_imbalance: float = 1.0,
    ) -> GpuCase:
        """Return a model on a system with a software stack."""
        stacks, shape = software_rows(software, system.fabric, precision)
        case = _case(table, system, software, precision, optimizer, expert_imbalance)
        return cls(case, stacks, shape, system.host_memory, system.chip.memory_capacity)

    def running(self, software: GpuSoftware, fabric: ScaleOutFabric, precision: Precision) -> GpuCase:
        """Return the same case with other figures of its software and network, central or as samples.

        What the model keeps in memory, which no sample moves, must be the same.
        """
        stacks, shape = software_rows(software, fabric, precision)
        return replace(self, stacks=stacks, shape=shape)

    @property
    def stack(self) -> SoftwareStack:
        """Software and network; the first of several samples."""
        return record(SoftwareStack, self.stacks, 0)


def _case(
    table: OperatorTable,
    system: GpuSystem,
    software: GpuSoftware,
    precision: Precision,
    optimizer: str,
    expert_imbalance: float,
) -> Case:
    chip = system.chip
    narrow = NARROW_BYTES.get(precision, 0.0)
    peak = chip.matrix_peak[Precision.BF16 if narrow else precision]
    if not chip.matrix_units:
        # Mixed precision sums in single precision, which the vector units do at their plain rate.
        peak = min(peak, chip.matrix_peak[Precision.FP32])
    size = element_bytes(precision)
    traffic = software.optimizer_bytes or OPTIMIZER_TRAFFIC[optimizer]
    state, gradient = trained_bytes(optimizer, size, table.master_weights, software.kept_gradient_bytes)
    if not table.master_weights and np.all(table.trained > 0):
        # Without single-precision weights the state has the format of the weights.
        state *= size / MASTER_BYTES
    of_software: dict[str, Any] = {name: float(getattr(software, name)) for name in OF_SOFTWARE}
    narrowed = _narrow_figures(chip, precision, size, bool(np.any(table.trained > 0)))
    stored = size
    if narrow and np.any(table.trained == 0):
        # Frozen weights need no wider format than that of the products.
        stored = narrowed["narrow_size"]
    elif narrow and software.narrow_weights:
        # Before Blackwell the products of the backward pass read a transposed copy (Transformer Engine).
        copies = 1.0 if Precision.NVFP4 in chip.matrix_peak else 2.0
        stored = min(size, copies * narrowed["narrow_size"])
    # A new record: the figures of a table are kept for the next case.
    figures = model_figures(table)
    kept = _as_kept(table, figures["operators"], software, size, narrowed["narrow_size"])
    of_model = {**figures, "operators": kept}
    return Case(
        **of_software,
        **of_model,
        peak=peak * chip.sustained_clock,
        bandwidth=chip.memory_bandwidth * chip.achieved_bandwidth,
        attention_peak=peak
        * chip.sustained_clock
        * (1.0 if software.native_attention else chip.older_kernels_share),
        multiprocessors=float(chip.multiprocessors),
        launch=chip.kernel_overhead,
        host_bandwidth=system.host_bandwidth,
        host_memory_bandwidth=system.host_memory_bandwidth,
        host_devices=system.host_devices,
        size=size,
        stored_size=stored,
        **narrowed,
        update_traffic=traffic,
        state_bytes=state,
        kept_gradient_bytes=gradient,
        paged_bytes=STATE_BYTES[optimizer] if optimizer in PAGED else 0.0,
        quantised_size=table.quantised_bytes,
        frozen_models=table.frozen_models,
        trained_models=table.trained_models,
        sent_gradient_bytes=software.gradient_bytes,
        expert_imbalance=expert_imbalance,
        kernels=system.kernels,
        links=IntraLinks.of(system.machine),
    )


SAVED, RECOMPUTABLE, MASKS = (GpuOperator._fields.index(name) for name in ("saved", "recomputable", "masks"))


def _as_kept(
    table: OperatorTable, operators: Matrix, software: GpuSoftware, size: float, narrow_size: float
) -> Matrix:
    """Return operators with what a stack keeps for the backward pass beside, or in place of, the usual.

    Copies of logits; of the inputs of adapters, in their own format; the inputs of products in 8 or 4 bit in
    that format, but for those that attention keeps as its output (NVIDIA, Transformer Engine); inputs of
    activation functions in 8 bit; and none of those that follow a norm in one kernel, which keeps its own.
    """
    operators = operators.copy()
    if software.fused_norms:
        operators[table.pointwise == Pointwise.SWISH, SAVED] = 0.0
    if software.activation_input_bytes:
        operators[table.pointwise == Pointwise.GATED, SAVED] *= software.activation_input_bytes / size
    logits = table.pointwise == Pointwise.CROSS_ENTROPY
    operators[logits, MASKS] += (software.logit_bytes - LOSS_BYTES) * table.elements[logits]
    adapters = np.array([name.endswith(FIRST_OF_ADAPTER) for name in table.names])
    inputs = table.rows * table.batch * table.inner
    operators[adapters, MASKS] += software.adapter_input_bytes * inputs[adapters]
    if narrow_size:
        outputs = np.array([name.endswith("attention_out") for name in table.names])
        narrow = (table.kind == Kind.MATMUL) & (table.section == Section.LAYER) & ~outputs
        operators[np.ix_(narrow, [SAVED, RECOMPUTABLE])] *= narrow_size / size
    return operators


def _narrow_figures(chip: GpuChip, precision: Precision, size: float, training: bool) -> dict[str, Any]:
    """Return the fields of :class:`Case` of products in 8 or 4 bit."""
    if precision not in NARROW_BYTES:
        return {"narrow_peak": 0.0, "narrow_size": 0.0, "narrowing": 0.0}
    share = WIDE_SHARE.get(precision, 0.0) if training else 0.0
    narrow, wide = NARROW_BYTES[precision], chip.matrix_peak[Precision.BF16] * chip.sustained_clock
    moved = narrowing_bytes(size, narrow, NARROWING_READINGS.get(precision, 1.0))
    return {
        "narrow_peak": float(mixed_rate(chip.matrix_peak[precision] * chip.narrow_clock, wide, share)),
        "narrow_size": (1.0 - share) * narrow + share * size,
        "narrowing": (1.0 - share) * float(moved),
    }


def software_rows(
    software: GpuSoftware, fabric: ScaleOutFabric, precision: Precision
) -> tuple[Matrix, tuple[int, ...]]:
    """Return software and network as numbers, a row for every sample, and the shape of the samples."""
    if precision is Precision.TF32:
        software = software._replace(layout_passes=software.layout_passes_tf32)
    elif precision is Precision.FP32:
        software = software._replace(layout_passes=0.0)
    bandwidth = node_bandwidth(fabric, software.network_efficiency)
    columns = [
        *software,
        *(bandwidth if name == "bandwidth" else getattr(fabric, name) for name in Network._fields),
    ]
    # Most are one number: to broadcast each of them takes longer than all else.
    shape = np.broadcast_shapes(*(column.shape for column in columns if isinstance(column, np.ndarray)))
    rows = np.empty((math.prod(shape), len(columns)))
    rows[:] = [0.0 if isinstance(column, np.ndarray) else column for column in columns]
    for index, column in enumerate(columns):
        if isinstance(column, np.ndarray):
            rows[:, index] = np.broadcast_to(column, shape).ravel()
    return rows, shape
