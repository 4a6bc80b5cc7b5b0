"""A model on a GPU system with a software stack, as plain numbers for compiled loops.

Records of chips, machines and software become flat arrays here and nowhere else; compiled code reads them
back into the named tuples below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from app.compiled import Matrix, Vector, inner
from app.engine.collectives import Links, Network, node_bandwidth
from app.engine.gpu.passes import EMBEDDING_PASSES, NORMS, STATISTICS_BYTES, halo_elements, pointwise_passes
from app.engine.operators.table import Kind, OperatorTable, Pointwise, Section, Split
from app.engine.records import Fabric, Floats, GpuSoftware, GpuSystem, Precision

OPTIMIZER_TRAFFIC = {
    "adam": 34.0,
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
    "lamb": 8.0,
    "momentum": 4.0,
    "sgd": 0.0,
    "adafactor": 4.0,
    "distributed-shampoo": 16.0,
}
"""Single-precision optimizer state per parameter beside the master weights. Adam and LAMB keep two
moments, momentum one; Adafactor keeps rows and columns of the second moment, and a first moment;
Shampoo keeps a moment, a grafting moment and two preconditioners of about the weights' size."""

MASTER_BYTES = 4.0
"""Single-precision copy of a half-precision weight. Micikevicius et al. 2018."""

GRADIENT_BYTES = 4.0
"""Gradients are summed over micro-batches in single precision. Narayanan et al. 2021, appendix."""


class Plan(NamedTuple):
    """One plan; fields as those of :class:`~app.engine.plans.Plans`."""

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
    expert: float


@inner
def plan_at(plans: Matrix, place: int) -> Plan:
    """Return one of the rows of ``Plans``."""
    return Plan(
        plans[place, 0],
        plans[place, 1],
        plans[place, 2],
        plans[place, 3],
        plans[place, 4],
        plans[place, 5],
        plans[place, 6],
        plans[place, 7],
        plans[place, 8],
        plans[place, 9],
        plans[place, 10],
        plans[place, 14],
    )


@inner
def devices_of(plan: Plan) -> float:
    """Devices a plan occupies. [-]"""
    return plan.tensor * plan.pipeline * plan.data


class Software(NamedTuple):
    """A software stack on a network: figures of ``GpuSoftware``, of which samples may be drawn."""

    matrix_efficiency: float
    attention_efficiency: float
    elementwise_factor: float
    overlap: float
    step_overhead: float
    dispatch_interval: float
    micro_batch_overhead: float
    multi_device_overhead: float
    broadcast_latency: float
    host_time_per_sample: float
    input_time_per_sample: float
    kernels_per_layer: float
    kernels_per_convolution: float
    optimizer_kernels: float
    row_exchange: float
    layout_passes: float
    """Those of the number format. [-]"""
    network: Network


SOFTWARE_FIELDS = 21


@inner
def software_of(row: Vector) -> Software:
    """Return a software stack from its numbers."""
    return Software(
        row[0],
        row[1],
        row[2],
        row[3],
        row[4],
        row[5],
        row[6],
        row[7],
        row[8],
        row[9],
        row[10],
        row[11],
        row[12],
        row[13],
        row[14],
        row[15],
        Network(row[16], row[17], row[18], row[19], row[20]),
    )


class Columns(NamedTuple):
    """Rows of a matrix of operators: columns of a table, with the passes of memory-bound operators."""

    kind: int
    section: int
    repeats: int
    rows: int
    inner: int
    columns: int
    batch: int
    steps: int
    split: int
    kernel_area: int
    stride: int
    image: int
    """Elements of input and output together."""
    squared: int
    causal: int
    elements: int
    saved: int
    masks: int
    saved_split: int
    input_gradient: int
    aligned: int
    active: int
    sparse: int
    trained: int
    forward_passes: int
    backward_passes: int
    special: int
    """:data:`LOSS`, :data:`UNPACKING`, else 0."""


AT = Columns(*range(len(Columns._fields)))

LOSS, UNPACKING = 1.0, 2.0
"""A loss over logits; weights that are turned from 4 bit."""


class Case(NamedTuple):
    """A model on the chips, kernel libraries and machines of a GPU system, in a number format."""

    peak: float
    """Dense matrix rate held under load. [FLOP/s]"""
    bandwidth: float
    """Memory bandwidth reached by streaming. [B/s]"""
    multiprocessors: float
    launch: float
    """Launch and drain of one kernel. [s]"""
    tile_prologue: float
    split_bandwidth: float
    misaligned_8: float
    batched_efficiency: float
    batched_misaligned_8: float
    fused_head_penalty: float
    depthwise_traffic: float
    depthwise_area: float
    grouped_factor: float
    grouped_traffic: float
    overlap_window: float
    bucket_bytes: float
    most_buckets: float
    recompute_kernels: float
    cross_entropy_bytes: float
    cross_entropy_ceiling: float
    sequence_parallel_volume: float
    framework_memory: float
    fragmentation: float
    host_bandwidth: float
    dequantise_factor: float
    host_memory_bandwidth: float
    size: float
    """Bytes of one activation or weight in the products. [B]"""
    update_traffic: float
    """Bytes an update moves per parameter. [B]"""
    state_bytes: float
    """Optimizer state and master copy of a trained weight. [B]"""
    kept_gradient_bytes: float
    """Gradient of a trained weight, as it is summed. [B]"""
    sent_gradient_bytes: float
    """The same as it travels. [B]"""
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
    cut_convolutions: float
    """Convolutions that need neighbours where a sample is cut. [-]"""
    halo: float
    """Elements of their halos. [-]"""
    links: Links
    tiles: Matrix
    """Rows, columns and efficiency of output tiles, (3, T)."""
    messages: Matrix
    """Elements and number of what the tensor ranks reduce, (2, M)."""
    norms: Matrix
    """Bytes of statistics and number of norms over positions, (2, K)."""
    weights: Matrix
    """Weights of all, trained and 4-bit operators, (3, 14); see :func:`weight_sums`."""
    operators: Matrix
    """Operators, with rows as :data:`AT` names them, (26, O)."""


@inner
def case_of(
    numbers: Vector,
    sweep: Matrix,
    tiles: Matrix,
    messages: Matrix,
    norms: Matrix,
    weights: Matrix,
    columns: Matrix,
) -> Case:
    """Return a case from its arrays."""
    n = numbers
    # fmt: off
    return Case(
        n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12], n[13], n[14],
        n[15], n[16], n[17], n[18], n[19], n[20], n[21], n[22], n[23], n[24], n[25], n[26], n[27], n[28],
        n[29], n[30], n[31], n[32], n[33], n[34], n[35], n[36], n[37], n[38], n[39], n[40], n[41], n[42],
        n[43], n[44], n[45], n[46], n[47], n[48],
        Links(n[49], n[50], n[51], sweep),
        tiles, messages, norms, weights,
        columns,
    )


    # fmt: on


def element_bytes(precision: Precision) -> float:
    """Bytes of one activation or weight in the products."""
    return 4.0 if precision in (Precision.TF32, Precision.FP32) else 2.0


def trained_bytes(optimizer: str, size: float, master_weights: float = 1.0) -> tuple[float, float]:
    """Bytes that a device keeps for a weight because it is trained: optimizer state and gradient.

    Half-precision weights have a master copy and a gradient in single precision unless they are adapters,
    which are kept in one format (Micikevicius et al. 2018; Dettmers et al. 2023, equation 5).

    >>> trained_bytes("adam", 2.0), trained_bytes("adam", 2.0, master_weights=0.0)
    ((12.0, 4.0), (8.0, 2.0))
    """
    master = MASTER_BYTES * master_weights if size < MASTER_BYTES else 0.0
    return STATE_BYTES[optimizer] + master, GRADIENT_BYTES * master_weights + size * (1.0 - master_weights)


@dataclass(frozen=True, slots=True)
class Model:
    """What compiled loops read of an operator table."""

    scalars: tuple[float, ...]
    """From depth to halo, as in :class:`Case`."""
    messages: Matrix
    norms: Matrix
    weights: Matrix
    columns: Matrix


@lru_cache(maxsize=256)
def model_of(table: OperatorTable) -> Model:
    """Return a table as numbers."""
    inner_split = table.split == Split.INNER
    reduced = inner_split & (table.section == Section.LAYER)
    elements, which = np.unique((table.rows * table.batch * table.columns)[reduced], return_inverse=True)
    counts = np.bincount(which.ravel(), weights=table.count[reduced], minlength=elements.size)
    routed = inner_split & (table.active < 1.0)
    halo = halo_elements(table)
    wide = halo > 0
    norms = np.isin(table.pointwise, NORMS)
    updated = (table.weights > 0) & (table.sparse == 0) & (table.trained > 0)
    sparse = table.sparse > 0
    scalars = (
        float(table.depth),
        table.hidden,
        table.tokens,
        np.sum(np.where(sparse, table.elements * table.count, 0.0)),
        np.sum(np.where(sparse, table.weights * table.count, 0.0)),
        np.sum(table.layer_launches * table.count),
        np.sum(table.convolution_launches * table.count),
        np.sum(table.kernels * table.count),
        np.sum(np.where(updated, table.tensors * table.count, 0.0)),
        np.max(table.weights * table.quantised, initial=0.0),
        np.sum(np.where(routed, table.count * table.rows * table.batch * table.columns, 0.0)),
        np.sum(np.where(routed, table.count, 0.0)),
        np.sum(table.count[wide]),
        np.sum(table.count[wide] * halo[wide]),
    )
    return Model(
        scalars=tuple(float(value) for value in scalars),
        messages=np.stack([elements, counts]),
        norms=np.stack([STATISTICS_BYTES * table.weights[norms] / 2.0, table.count[norms]]),
        weights=weight_sums(table),
        columns=_columns(table),
    )


def _columns(table: OperatorTable) -> Matrix:
    passes = pointwise_passes(table.pointwise, table.trained)
    lookup = table.kind == Kind.EMBEDDING
    gathered = np.stack([np.full(len(table), EMBEDDING_PASSES[0]), EMBEDDING_PASSES[1] * table.trained])
    forward, backward = np.where(lookup, gathered, passes)
    loss, packed = (table.pointwise == kind for kind in (Pointwise.CROSS_ENTROPY, Pointwise.DEQUANTISE))
    special = np.where(loss, LOSS, np.where(packed, UNPACKING, 0.0))
    # fmt: off
    return np.stack([
        table.kind, table.section, table.count, table.rows, table.inner, table.columns, table.batch,
        table.steps, table.split, table.kernel_area, table.stride,
        table.input_elements + table.output_elements, table.squared, table.causal, table.elements,
        table.saved, table.masks, table.saved_split,
        table.input_gradient, table.aligned, table.active, table.sparse, table.trained,
        forward, backward, special,
    ]).astype(float)


    # fmt: on


def weight_sums(table: OperatorTable) -> Matrix:
    """Return the weights of all, of trained and of 4-bit operators, (3, 14).

    Twelve of each by section (embedding, layers, head), by whether they are experts' and by whether tensor
    ranks share them; then the experts' weights that tensor ranks share, and those that they do not.
    """
    divided = np.isin(table.split, (Split.COLUMNS, Split.INNER, Split.BATCH))
    shared = divided | (table.kind == Kind.EMBEDDING)
    routed = table.active < 1.0
    dense = np.where(table.sparse > 0, 0.0, table.weights * table.count)
    found = np.empty((3, 14))
    for row, counted in enumerate((np.ones(len(table)), table.trained, table.quantised)):
        place = 0
        for section in Section:
            for of_experts in (False, True):
                for by_tensor in (False, True):
                    chosen = (table.section == section) & (routed == of_experts) & (shared == by_tensor)
                    found[row, place] = np.sum(dense[chosen] * counted[chosen])
                    place += 1
        experts = np.where(routed, table.weights * table.count, 0.0) * counted
        found[row, 12:] = experts[divided].sum(), experts[~divided].sum()
    return found


@dataclass(frozen=True, slots=True)
class GpuCase:
    """A case as arrays, with the software it runs, ready for compiled loops."""

    arrays: tuple[Vector, Matrix, Matrix, Matrix, Matrix, Matrix, Matrix]
    """Arguments of :func:`case_of`."""
    software: Matrix
    """A row for every sample of software and network, (S, 21)."""
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
    ) -> GpuCase:
        """Return a model on a system with a software stack."""
        model = model_of(table)
        numbers = np.array(
            [*_hardware(system, precision), *_stack(table, software, precision, optimizer), *model.scalars]
        )
        links = Links.of(system.machine)
        rows, shape = software_rows(software, system.fabric, precision)
        kernels = system.kernels
        tiles = np.stack([kernels.tile_rows, kernels.tile_columns, kernels.tile_efficiency]).astype(float)
        return cls(
            arrays=(
                np.append(numbers, [links.devices, links.bus_bandwidth, links.latency]),
                links.sweep,
                tiles,
                model.messages,
                model.norms,
                model.weights,
                model.columns,
            ),
            software=rows,
            shape=shape,
            host_memory=system.host_memory,
            capacity=system.chip.memory_capacity,
        )

    @property
    def operators(self) -> int:
        """Operators of the model."""
        return self.arrays[6].shape[1]

    def case(self) -> Case:
        """Return the named tuple that compiled code reads."""
        return case_of(*self.arrays)

    def stack(self, sample: int = 0) -> Software:
        """Return the named tuple of a sample of the software."""
        return software_of(self.software[sample])


def _hardware(system: GpuSystem, precision: Precision) -> Sequence[float]:
    chip, kernels = system.chip, system.kernels
    peak = chip.matrix_peak[precision]
    if not chip.matrix_units:
        # Mixed precision sums in single precision, which the vector units do at their plain rate.
        peak = min(peak, chip.matrix_peak[Precision.FP32])
    return (
        peak * chip.sustained_clock,
        chip.memory_bandwidth * chip.achieved_bandwidth,
        chip.multiprocessors,
        chip.kernel_overhead,
        kernels.tile_prologue,
        kernels.split_bandwidth,
        kernels.misaligned_8,
        kernels.batched_efficiency,
        kernels.batched_misaligned_8,
        kernels.fused_head_penalty,
        kernels.depthwise_traffic,
        kernels.depthwise_area,
        kernels.grouped_factor,
        kernels.grouped_traffic,
        kernels.overlap_window,
        kernels.bucket_bytes,
        kernels.most_buckets,
        kernels.recompute_kernels,
        kernels.cross_entropy_bytes,
        kernels.cross_entropy_ceiling,
        kernels.sequence_parallel_volume,
        kernels.framework_memory,
        kernels.fragmentation,
        kernels.host_bandwidth,
        kernels.dequantise_factor,
        system.host_memory_bandwidth,
    )


def _stack(
    table: OperatorTable, software: GpuSoftware, precision: Precision, optimizer: str
) -> Sequence[float]:
    size = element_bytes(precision)
    traffic = OPTIMIZER_TRAFFIC[optimizer] if software.optimizer_bytes is None else software.optimizer_bytes
    state, gradient = trained_bytes(optimizer, size, table.master_weights)
    return (
        size,
        traffic,
        state,
        gradient,
        software.gradient_bytes,
        software.fused_attention,
        software.balanced_head,
        software.blocking_pipeline,
        software.scattered_pipeline,
    )


def software_rows(
    software: GpuSoftware, fabric: Fabric, precision: Precision
) -> tuple[Matrix, tuple[int, ...]]:
    """Return software and network as numbers, a row for every sample, and the shape of the samples."""
    passes: Floats | float = software.layout_passes
    if precision is Precision.TF32:
        passes = software.layout_passes_tf32
    elif precision is Precision.FP32:
        passes = 0.0
    columns = (
        software.matrix_efficiency,
        software.attention_efficiency,
        software.elementwise_factor,
        software.overlap,
        software.step_overhead,
        software.dispatch_interval,
        software.micro_batch_overhead,
        software.multi_device_overhead,
        software.broadcast_latency,
        software.host_time_per_sample,
        software.input_time_per_sample,
        software.kernels_per_layer,
        software.kernels_per_convolution,
        software.optimizer_kernels,
        software.row_exchange,
        passes,
        node_bandwidth(fabric, software.network_efficiency),
        fabric.hop_latency,
        fabric.tree_latency,
        fabric.message_latency,
        fabric.tree_share,
    )
    shape = np.broadcast_shapes(*(np.shape(column) for column in columns))
    rows = np.empty((max(int(np.prod(shape)), 1), SOFTWARE_FIELDS))
    for place, column in enumerate(columns):
        rows[:, place] = np.broadcast_to(column, shape).ravel()
    return rows, shape
