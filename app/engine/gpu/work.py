"""What one micro-batch costs on one tensor rank, over the whole model.

It depends on few of a plan's coordinates (:data:`WORK_KEYS`). A search over a million plans has a few
hundred combinations of them, so it is computed once for each and gathered.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from app.engine.collectives import (
    all_to_all_time,
    collective_time,
    intra_node_allreduce_time,
)
from app.engine.gpu.dispatch import kernel_count
from app.engine.gpu.operators import element_bytes, gpu_operator_times, recomputed_share
from app.engine.gpu.spatial import split_sample_time
from app.engine.operators import Kind, OperatorTable, Section, Split
from app.engine.plans import OperatorTimes, Plans, Recompute
from app.engine.records import FloatLike, Floats, GpuSoftware, GpuSystem, Indices, Precision

WORK_KEYS = ("tensor", "micro_batch", "recompute", "sequence_parallel", "expert")
"""Fields of a plan that the work of a micro-batch depends on."""

WORK_PARTS = ("gemm", "attention", "memory_bound")
"""Parts of the computation, in the order of the first axis of :class:`MicroBatchWork`."""

EXCHANGES_OF_EXPERTS = 2.0
"""Tokens travel to their experts and back."""


@dataclass(frozen=True, slots=True)
class MicroBatchWork:
    """Forward and backward of one micro-batch on one tensor rank, repeated forward passes included."""

    layers: Floats
    """All layers, by :data:`WORK_PARTS`, (3, …). [s]"""
    embedding: Floats
    """The same of what precedes the layers. [s]"""
    head: Floats
    """The same of what follows them. [s]"""
    kernels: Floats
    """Kernels that are launched. [-]"""
    layer_comm: Floats
    """What tensor ranks and experts exchange in all layers. [s]"""
    sample_comm: Floats
    """What the parts of a sample exchange. [s]"""

    def gather(self, index: Indices) -> MicroBatchWork:
        """Return the work of every plan from that of distinct keys; ``index`` says which is whose."""
        return MicroBatchWork(*(getattr(self, entry.name)[..., index] for entry in fields(self)))


def micro_batch_work(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    precision: Precision,
    times: OperatorTimes | None = None,
) -> MicroBatchWork:
    """Work of one micro-batch over the whole model.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Fields of :data:`WORK_KEYS`. [-]
    system : GpuSystem
        Chip, kernels, machine and fabric. [-]
    software : GpuSoftware
        Efficiencies of the software stack, single or samples. [-]
    precision : Precision
        Number format of the products. [-]
    times : OperatorTimes or None
        Operator times, if they were computed before; else they are computed here. [s]

    Returns
    -------
    work : MicroBatchWork
        Computation by part and section, kernels, communication inside layers. [s]

    References
    ----------
    .. [1] M. Shoeybi et al., "Megatron-LM," arXiv:1909.08053, 2019, section 3.

    Examples
    --------
    ``tests/engine/gpu/test_work.py`` holds worked values.

    >>> WORK_PARTS
    ('gemm', 'attention', 'memory_bound')
    """
    if times is None:
        times = gpu_operator_times(table, plans, system.chip, system.kernels, software, precision)
    size = element_bytes(precision)
    again = recomputed_share(table, plans, software.fused_attention)
    again = again.reshape(again.shape + (1,) * (times.forward.ndim - again.ndim))
    seconds = times.forward * (1.0 + again) + times.backward
    shape = (-1,) + (1,) * (seconds.ndim - 1)
    divided = np.where(plans.sequence_parallel > 0, plans.tensor, 1.0)
    by_tokens = (table.split == Split.SEQUENCE).reshape(shape)
    seconds = seconds / np.where(by_tokens, divided, 1.0)
    in_memory = np.isin(table.kind, (Kind.POINTWISE, Kind.EMBEDDING))
    part = np.where(in_memory, 2, np.where(table.kind == Kind.ATTENTION, 1, 0))

    def summed(section: Section) -> Floats:
        chosen = table.section == section
        return np.stack([seconds[chosen & (part == number)].sum(axis=0) for number in range(len(WORK_PARTS))])

    return MicroBatchWork(
        layers=summed(Section.LAYER),
        embedding=summed(Section.EMBEDDING),
        head=summed(Section.HEAD),
        kernels=kernel_count(table, plans, system.kernels, software),
        layer_comm=layer_exchange_time(table, plans, system, software, precision),
        sample_comm=split_sample_time(table, plans, system.machine, size, system.chip.kernel_overhead),
    )


def layer_exchange_time(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, precision: Precision
) -> Floats:
    """Time that tensor ranks and experts exchange in all layers for one micro-batch, in both directions.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Fields of :data:`WORK_KEYS`. [-]
    system : GpuSystem
        Chip, kernels, machine and fabric. [-]
    software : GpuSoftware
        Efficiencies of the software stack, single or samples. [-]
    precision : Precision
        Number format of the products. [-]

    Returns
    -------
    seconds : array
        None of it is hidden; 0 without tensor or expert parallelism. [s]

    References
    ----------
    .. [1] M. Shoeybi et al., "Megatron-LM," arXiv:1909.08053, 2019, section 3.
    .. [2] S. Rajbhandari et al., "DeepSpeed-MoE," ICML, 2022, section 5.

    Examples
    --------
    ``tests/engine/gpu/test_work.py`` holds worked values.

    >>> EXCHANGES_OF_EXPERTS
    2.0
    """
    size = element_bytes(precision)
    tensor = _tensor_parallel_time(table, plans, system, software, size)
    return np.asarray(tensor + _expert_exchange_time(table, plans, system, software, size))


def tensor_messages(table: OperatorTable, size: float) -> tuple[Floats, Floats]:
    """Activations that the tensor ranks of a layer reduce, over the whole model.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    size : float
        Bytes of one activation. [B]

    Returns
    -------
    messages, counts : tuple of arrays
        Bytes of each distinct message for one sample, and how many of them one pass over the model has. [B]

    References
    ----------
    .. [1] M. Shoeybi et al., "Megatron-LM," arXiv:1909.08053, 2019, section 3.

    Examples
    --------
    A feed-forward block is reduced once, after its second product:

    >>> from app.engine.operators import feed_forward_operators
    >>> block = feed_forward_operators(prefix="", count=2, hidden=8, feed_forward=16, tokens=4, gated=False,
    ...     biases=False, experts=1, experts_per_token=1)
    >>> messages, counts = tensor_messages(OperatorTable.of(block, depth=2, hidden=8, tokens=4), 2.0)
    >>> messages.tolist(), counts.tolist()
    ([64.0], [2.0])
    """
    inner = (table.split == Split.INNER) & (table.section == Section.LAYER)
    elements, which = np.unique((table.rows * table.batch * table.columns)[inner], return_inverse=True)
    counts = np.bincount(which.ravel(), weights=table.count[inner])
    return np.asarray(size * elements), np.asarray(counts, dtype=float)


def _tensor_parallel_time(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, size: float
) -> Floats:
    """Two all-reduces a layer forward and two backward, none of it hidden."""
    if np.all(plans.tensor == 1.0):
        return np.zeros(np.shape(plans.tensor))
    messages, counts = tensor_messages(table, size)
    total: FloatLike = 0.0
    again = np.where(plans.recompute == Recompute.FULL, 2.0, 1.0)
    local = np.minimum(plans.tensor, system.machine.devices)
    wide = plans.tensor > system.machine.devices
    for message, count in zip(messages, counts, strict=True):
        one = intra_node_allreduce_time(plans.micro_batch * message, plans.tensor, system.machine)
        if np.any(wide):
            across = collective_time(
                plans.micro_batch * message, plans.tensor, local,
                system.machine, system.fabric, software.network_efficiency, 2.0,
            )  # fmt: skip
            one = np.where(wide, across, one)
        total = total + one * count * (again + 1.0)
    volume = np.where(plans.sequence_parallel > 0, system.kernels.sequence_parallel_volume, 1.0)
    return np.asarray(total * volume)


def _expert_exchange_time(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, size: float
) -> Floats:
    """All-to-all of tokens to their experts and back, forward and backward, none of it hidden."""
    routed = np.flatnonzero((table.active < 1.0) & (table.split == Split.INNER))
    if not routed.size or np.all(plans.expert == 1.0):
        return np.zeros(np.shape(plans.expert))
    tokens = float(np.sum(table.count[routed] * (table.rows * table.batch * table.columns)[routed]))
    layers = float(np.sum(table.count[routed]))
    # Tensor ranks of a token each send their share of it.
    message = size * plans.micro_batch * tokens / layers / plans.tensor
    local = np.maximum(np.floor(system.machine.devices / plans.tensor), 1.0)
    once = all_to_all_time(
        message, plans.expert, local, system.machine, system.fabric, software.network_efficiency
    )
    passes = np.where(plans.recompute == Recompute.FULL, 3.0, 2.0)
    return np.asarray(layers * EXCHANGES_OF_EXPERTS * passes * once)
