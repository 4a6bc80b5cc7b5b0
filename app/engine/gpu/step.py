"""One training step on GPUs: operators, pipeline, collectives, optimizer and fixed costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.collectives import collective_time, exposed_time, intra_node_allreduce_time, node_bandwidth
from app.engine.gpu.dispatch import exposed_dispatch_time, kernel_count, update_kernels
from app.engine.gpu.host import host_wait_time, input_sharers
from app.engine.gpu.memory import GRADIENT_BYTES, rank_weights, stage_share
from app.engine.gpu.operators import element_bytes, gpu_operator_times, recomputed_share
from app.engine.gpu.spatial import split_sample_time
from app.engine.operators import Kind, OperatorTable, Section, Split
from app.engine.pipeline import bubble_slots, stage_transfer_time
from app.engine.plans import OperatorTimes, Plans, Recompute, Sharding, StepTime
from app.engine.records import (
    Fabric,
    FloatLike,
    Floats,
    GpuChip,
    GpuKernels,
    GpuSoftware,
    Machine,
    Precision,
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSystem:
    """Where a step runs: chip, kernel libraries, machine and fabric."""

    chip: GpuChip
    kernels: GpuKernels
    machine: Machine
    fabric: Fabric


@dataclass(frozen=True, slots=True)
class _MicroBatch:
    """One micro-batch on the slowest stage, by part; and the head where it has a stage to itself."""

    stage: dict[str, Floats]
    head: dict[str, Floats]

    @property
    def total(self) -> Floats:
        return np.asarray(sum(self.stage.values()))


def gpu_step(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    precision: Precision,
    optimizer: str,
    times: OperatorTimes | None = None,
) -> StepTime:
    r"""Time of one training step, by part.

    .. math:: T = \left(M + \frac{p-1}{v}\right)(t_m + t_{p2p} + t_{host}) + M t_{head}
        + M t_{wait} + t_{opt} + t_{dp} + t_0

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        The plans. [-]
    system : GpuSystem
        Chip, kernels, machine and fabric. [-]
    software : GpuSoftware
        Efficiencies of the software stack, single or samples. [-]
    precision : Precision
        Number format of the products. [-]
    optimizer : str
        A key of :data:`OPTIMIZER_TRAFFIC`. [-]
    times : OperatorTimes or None
        Operator times, if they were computed before; else they are computed here. [s]

    Returns
    -------
    step : StepTime
        Parts that add up to the step. [s]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021.
    .. [2] S. Rajbhandari et al., "ZeRO," SC, 2020, section 7 (communication).

    Examples
    --------
    ``tests/engine/gpu/test_step.py`` holds worked values.

    >>> sorted(OPTIMIZER_TRAFFIC)[0]
    'adafactor'
    """
    if times is None:
        times = gpu_operator_times(table, plans, system.chip, system.kernels, software, precision)
    size = element_bytes(precision)
    weights = np.asarray(sum(rank_weights(table, plans)))
    micro = _micro_batch(table, plans, system, software, times, size, weights)
    accumulation = plans.accumulation
    bubble = bubble_slots(plans.pipeline, plans.interleave) * micro.total
    parts = {name: seconds * accumulation for name, seconds in micro.stage.items()}
    for name, seconds in micro.head.items():
        parts[name] = parts[name] + seconds * accumulation
    parts["pipeline_bubble"] = bubble
    parts["data_comm"] = _data_parallel_time(
        table, plans, system, software, micro, weights, max(size, software.gradient_bytes), size
    )
    parts["data_comm"] = parts["data_comm"] + _row_exchange_time(table, plans, system, software, size)
    shards = np.where(plans.sharding >= Sharding.OPTIMIZER, plans.sharding_ranks, 1.0)
    traffic = OPTIMIZER_TRAFFIC[optimizer] if software.optimizer_bytes is None else software.optimizer_bytes
    bandwidth = system.chip.memory_bandwidth * system.chip.achieved_bandwidth
    on_device = weights / shards * traffic / bandwidth
    # An optimizer on the host takes gradients down and brings new weights back over PCIe.
    moved = weights / shards * (software.gradient_bytes + size) / system.kernels.host_bandwidth
    parts["optimizer"] = np.where(plans.offload > 0, moved, on_device)
    updates = update_kernels(table, plans, software)
    waiting = exposed_dispatch_time(updates, software.dispatch_interval, parts["optimizer"])
    several = np.where(plans.devices > 1, 1.0, 0.0)
    shared = np.asarray(software.input_time_per_sample) * input_sharers(plans, system.machine)
    per_sample = np.maximum(np.asarray(software.host_time_per_sample), shared)
    parts["input"] = accumulation * host_wait_time(plans.micro_batch, per_sample, micro.total)
    parts["fixed"] = (
        parts["fixed"] + waiting + software.step_overhead + several * software.multi_device_overhead
    )
    return StepTime({name: np.asarray(seconds) for name, seconds in parts.items()})


def _micro_batch(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    times: OperatorTimes,
    size: float,
    weights: Floats,
) -> _MicroBatch:
    share = stage_share(table.depth, plans)
    again = recomputed_share(table, plans, software.fused_attention)
    again = again.reshape(again.shape + (1,) * (times.forward.ndim - again.ndim))
    seconds = times.forward * (1.0 + again) + times.backward
    shape = (-1,) + (1,) * (seconds.ndim - 1)
    part = np.where(
        np.isin(table.kind, (Kind.POINTWISE, Kind.EMBEDDING)), 2, np.where(table.kind == Kind.ATTENTION, 1, 0)
    ).reshape(shape)
    section = table.section.reshape(shape)
    divided = np.where(plans.sequence_parallel > 0, plans.tensor, 1.0)
    by_tokens = (table.split == Split.SEQUENCE).reshape(shape)
    seconds = seconds / np.where(by_tokens, divided, 1.0)
    launched = kernel_count(table, plans, system.kernels, software)
    deep = plans.pipeline > 1
    spread = np.where(deep, 1.0 / plans.pipeline if software.balanced_head else 0.0, 1.0)
    stage: dict[str, Floats] = {}
    head: dict[str, Floats] = {}
    alone = np.where(deep, 0.0 if software.balanced_head else 1.0, 0.0)
    for number, name in enumerate(("gemm", "attention", "memory_bound")):
        chosen = np.where(part == number, seconds, 0.0)
        inside = np.sum(np.where(section == Section.LAYER, chosen, 0.0), axis=0)
        last = np.sum(np.where(section == Section.HEAD, chosen, 0.0), axis=0)
        first = np.sum(np.where(section == Section.EMBEDDING, chosen, 0.0), axis=0)
        stage[name] = inside * share + (first + last) * spread
        head[name] = last * alone
    held = weights / np.where(plans.sharding >= Sharding.GRADIENTS, plans.sharding_ranks, 1.0)
    summing = gradient_accumulation_time(
        held, size, system.chip.memory_bandwidth * system.chip.achieved_bandwidth
    )
    stage["memory_bound"] = stage["memory_bound"] + np.where(plans.accumulation > 1, summing, 0.0)
    launched = launched * share
    launches = launched * system.chip.kernel_overhead
    busy = np.asarray(sum(stage.values())) + launches
    waiting = exposed_dispatch_time(launched, software.dispatch_interval, busy)
    stage["fixed"] = launches + waiting + np.where(deep, 1.0, 0.0) * software.micro_batch_overhead
    stage["tensor_comm"] = _tensor_parallel_time(table, plans, system, software, size) * share
    stage["tensor_comm"] = stage["tensor_comm"] + split_sample_time(
        table, plans, system.machine, size, system.chip.kernel_overhead
    )
    stage["pipeline_comm"] = np.where(deep, _between_stages(table, plans, system, software, size), 0.0)
    return _MicroBatch(stage, head)


def gradient_accumulation_time(weights: FloatLike, size: float, bandwidth: float) -> Floats:
    r"""Time to add the gradients of one micro-batch to the sum of those before it.

    .. math:: t = \frac{W (e + 2 e_s)}{B}

    Parameters
    ----------
    weights : float or array
        Weights whose gradients a device sums, :math:`W`. [-]
    size : float
        Bytes of a fresh gradient, :math:`e`. [B]
    bandwidth : float
        Bandwidth reached by streaming, :math:`B`. [B/s]

    Returns
    -------
    seconds : array
        Read the fresh gradient, read and write the sum of :math:`e_s` = 4 bytes. [s]

    Notes
    -----
    Only where a step has more than one micro-batch. It does not shrink with the micro-batch, so that many
    small micro-batches of a model with many weights per device pay for it.

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, appendix (gradients are accumulated in single precision).

    Examples
    --------
    Eleven billion weights on one A100, as with two pipeline stages of 180 billion:

    >>> round(float(gradient_accumulation_time(11.25e9, 2.0, 1.63e12)), 4)
    0.069
    """
    return np.asarray(np.asarray(weights) * (size + 2.0 * GRADIENT_BYTES) / bandwidth)


def _tensor_parallel_time(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, size: float
) -> Floats:
    """Two all-reduces a layer forward and two backward, none of it hidden."""
    if np.all(plans.tensor == 1.0):
        return np.zeros(np.shape(plans.tensor))
    inner = np.flatnonzero((table.split == Split.INNER) & (table.section == Section.LAYER))
    total: FloatLike = 0.0
    again = np.where(plans.recompute == Recompute.FULL, 2.0, 1.0)
    local = np.minimum(plans.tensor, system.machine.devices)
    for number in inner:
        message = (
            size * plans.micro_batch * float(table.rows[number] * table.batch[number] * table.columns[number])
        )
        within = intra_node_allreduce_time(message, plans.tensor, system.machine)
        across = collective_time(
            message, plans.tensor, local, system.machine, system.fabric, software.network_efficiency, 2.0
        )
        one = np.where(plans.tensor > system.machine.devices, across, within)
        total = total + one * float(table.count[number]) * (again + 1.0)
    volume = np.where(plans.sequence_parallel > 0, system.kernels.sequence_parallel_volume, 1.0)
    return np.asarray(total * volume)


def _between_stages(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, size: float
) -> Floats:
    message = size * plans.micro_batch * table.tokens * table.hidden
    if software.scattered_pipeline:
        message = message / plans.tensor
    inside = plans.devices <= system.machine.devices
    port = node_bandwidth(system.fabric, software.network_efficiency) / system.machine.devices
    bandwidth = np.where(inside, system.machine.bus_bandwidth, port)
    latency = np.where(inside, system.machine.latency, system.fabric.message_latency)
    directions = 2.0 if software.blocking_pipeline else 1.0
    return stage_transfer_time(message, bandwidth, latency, plans.interleave, directions)


def _row_exchange_time(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, size: float
) -> Floats:
    """All-to-all of looked-up rows forward and of their gradients backward, none of it hidden."""
    share = software.row_exchange
    rows = float(np.sum(np.where(table.sparse > 0, table.elements * table.count, 0.0)))
    if rows == 0.0:
        return np.zeros(np.shape(plans.devices))
    elsewhere = (plans.devices - 1.0) / plans.devices
    message = 2.0 * size * rows * share * plans.micro_batch * plans.accumulation * elsewhere
    inside = plans.devices <= system.machine.devices
    port = node_bandwidth(system.fabric, software.network_efficiency) / system.machine.devices
    bandwidth = np.where(inside, system.machine.bus_bandwidth, np.minimum(port, system.machine.bus_bandwidth))
    latency = np.where(inside, system.machine.latency, system.fabric.message_latency)
    starts = 2.0 * plans.accumulation * np.where(plans.devices > 1, latency, 0.0)
    return np.asarray(message / bandwidth + starts)


def _data_parallel_time(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    micro: _MicroBatch,
    weights: Floats,
    gradient_bytes: float,
    size: float,
) -> Floats:
    """Gradient reduction and parameter gathering that computation does not hide."""
    local = np.maximum(np.floor(system.machine.devices / plans.tensor), 1.0)

    def collective(message: FloatLike, ranks: FloatLike, passes: float) -> Floats:
        return collective_time(
            message, ranks, local, system.machine, system.fabric, software.network_efficiency, passes
        )

    gradients = weights * gradient_bytes
    buckets = np.clip(np.ceil(gradients / system.kernels.bucket_bytes), 1.0, system.kernels.most_buckets)
    window = system.kernels.overlap_window * np.asarray(micro.total + sum(micro.head.values()))
    reduced = buckets * collective(gradients / buckets, plans.data, 2.0)
    plain = exposed_time(reduced, software.overlap, window)

    shared = plans.sharding_ranks < plans.data
    scattered = np.where(
        shared, collective(gradients, plans.data, 2.0), collective(gradients, plans.data, 1.0)
    )
    gathered = collective(weights * size, plans.sharding_ranks, 1.0)
    sharded = exposed_time(scattered, software.overlap, window) + gathered * (
        1.0 - np.asarray(software.overlap)
    )
    sharded = sharded + np.where(plans.data > 1, plans.sharding_ranks, 0.0) * software.broadcast_latency

    # Gradients that stay sharded are reduced after every micro-batch.
    every = plans.accumulation * collective(gradients, plans.data, 1.0)
    scattering = exposed_time(every, software.overlap, plans.accumulation * window)
    scattering = scattering + gathered * (1.0 - np.asarray(software.overlap))

    layers = max(table.depth, 1)
    one_layer = 2.0 * collective(weights * size / layers, plans.sharding_ranks, 1.0)
    one_layer = one_layer + collective(gradients / layers, plans.sharding_ranks, 1.0)
    streamed = plans.accumulation * layers * one_layer
    fully = exposed_time(streamed, software.overlap, plans.accumulation * micro.total)
    # Groups that each hold a copy sum their shares of the gradients once a step.
    groups = plans.data / plans.sharding_ranks
    between = collective_time(
        gradients / plans.sharding_ranks,
        groups,
        1.0,
        system.machine,
        system.fabric,
        software.network_efficiency,
        2.0,
    )
    fully = fully + np.where(groups > 1, exposed_time(between, software.overlap, window), 0.0)

    sharding = plans.sharding
    chosen = np.where(sharding >= Sharding.OPTIMIZER, sharded, plain)
    chosen = np.where(sharding >= Sharding.GRADIENTS, scattering, chosen)
    return np.asarray(np.where(sharding >= Sharding.PARAMETERS, fully, chosen))
