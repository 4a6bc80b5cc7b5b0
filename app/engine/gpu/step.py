"""One training step on GPUs: operators, pipeline, collectives, optimizer and fixed costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from app.engine.collectives import exposed_time, node_bandwidth
from app.engine.gpu.dispatch import exposed_dispatch_time, update_kernels
from app.engine.gpu.exchanges import Exchanges, gradient_exchanges
from app.engine.gpu.host import host_wait_time, input_sharers
from app.engine.gpu.memory import GRADIENT_BYTES
from app.engine.gpu.operators import element_bytes
from app.engine.gpu.weights import DeviceWeights, device_weights
from app.engine.gpu.work import WORK_PARTS, MicroBatchWork, micro_batch_work
from app.engine.operators import OperatorTable
from app.engine.pipeline import bubble_slots, stage_transfer_time
from app.engine.plans import Plans, Sharding, StepTime
from app.engine.records import FloatLike, Floats, GpuSoftware, GpuSystem, Precision

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

PERFECT: Mapping[str, float] = {
    "matrix_efficiency": 1.0,
    "attention_efficiency": 1.0,
    "elementwise_factor": 1.0,
    "overlap": 1.0,
    "network_efficiency": 1.0,
    "step_overhead": 0.0,
    "dispatch_interval": 0.0,
    "micro_batch_overhead": 0.0,
    "multi_device_overhead": 0.0,
    "broadcast_latency": 0.0,
    "host_time_per_sample": 0.0,
    "input_time_per_sample": 0.0,
    "layout_passes": 0.0,
    "layout_passes_tf32": 0.0,
    "kernels_per_layer": 0.0,
    "kernels_per_convolution": 0.0,
    "optimizer_kernels": 0.0,
}
"""Figures of software that loses nothing."""


def gpu_step(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    precision: Precision,
    optimizer: str,
    weights: DeviceWeights | None = None,
    work: MicroBatchWork | None = None,
    exchanges: Exchanges | None = None,
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
    weights : DeviceWeights or None
        Weights of the device of every plan, if they were computed before; else they are computed here. [-]
    work : MicroBatchWork or None
        Work of a micro-batch of every plan, likewise. [s]
    exchanges : Exchanges or None
        Collectives of every plan, likewise. [s]

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
    if weights is None:
        weights = device_weights(table, plans)
    if work is None:
        work = micro_batch_work(table, plans, system, software, precision)
    if exchanges is None:
        exchanges = gradient_exchanges(table, plans, system, software, precision, weights)
    size = element_bytes(precision)
    accumulation = plans.accumulation
    bandwidth = system.chip.memory_bandwidth * system.chip.achieved_bandwidth
    stage, head = _slowest_stage(table, plans, system, software, work, weights, size, bandwidth)
    slot = np.asarray(sum(stage.values()))
    parts = {name: seconds * accumulation for name, seconds in stage.items()}
    after = np.zeros(())
    if head is not None:
        for number, name in enumerate(WORK_PARTS):
            parts[name] = parts[name] + head[number] * accumulation
        after = np.asarray(head.sum(axis=0))
    parts["pipeline_bubble"] = bubble_slots(plans.pipeline, plans.interleave) * slot
    exposed = _data_parallel_time(plans, system, software, exchanges, slot, after)
    parts["data_comm"] = exposed + row_exchange_time(table, plans, system, software, size)
    traffic = OPTIMIZER_TRAFFIC[optimizer] if software.optimizer_bytes is None else software.optimizer_bytes
    updated = np.where(plans.sharding >= Sharding.OPTIMIZER, weights.trained_sharded, weights.trained)
    # An optimizer on the host takes gradients down, updates there, and brings new weights back over PCIe.
    moved = (software.gradient_bytes + size) / system.kernels.host_bandwidth
    moved = moved + traffic / system.host_memory_bandwidth
    parts["optimizer"] = updated * np.where(plans.offload > 0, moved, traffic / bandwidth)
    updates = update_kernels(table, plans, software)
    waiting = exposed_dispatch_time(updates, software.dispatch_interval, parts["optimizer"])
    several = np.where(plans.devices > 1, 1.0, 0.0)
    shared = np.asarray(software.input_time_per_sample) * input_sharers(plans, system.machine)
    per_sample = np.maximum(np.asarray(software.host_time_per_sample), shared)
    parts["input"] = accumulation * host_wait_time(plans.micro_batch, per_sample, slot)
    parts["fixed"] = (
        parts["fixed"] + waiting + software.step_overhead + several * software.multi_device_overhead
    )
    return StepTime({name: np.asarray(seconds) for name, seconds in parts.items()})


def perfect_gpu_step(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    precision: Precision,
    optimizer: str,
) -> Floats:
    r"""Time of one step if its software were perfect: no software can be faster on the same plan.

    .. math:: T^\star = T(\eta = 1, \omega = 1, t_0 = 0)

    with every share that software reaches of a peak or a bandwidth, :math:`\eta`, and the hidden share of
    communication, :math:`\omega`, at one, no traffic beyond that of fused kernels and no fixed times. What
    the plan itself costs stays: the pipeline bubble, recomputation, tiles, collectives that cannot be hidden.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        The plans. [-]
    system : GpuSystem
        Chip, kernels, machine and fabric. [-]
    software : GpuSoftware
        The stack, whose switches stay as they are. [-]
    precision : Precision
        Number format of the products. [-]
    optimizer : str
        A key of :data:`OPTIMIZER_TRAFFIC`. [-]

    Returns
    -------
    seconds : Floats
        Least time of the step of each plan. [s]

    References
    ----------
    .. [1] S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
       multicore architectures," Commun. ACM, vol. 52, no. 4, pp. 65-76, 2009.

    Examples
    --------
    ``tests/engine/gpu/test_step.py`` holds it to be a bound.

    >>> sorted(PERFECT)[0]
    'attention_efficiency'
    """
    perfect = replace(software, **PERFECT)  # type: ignore[arg-type]
    return np.asarray(gpu_step(table, plans, system, perfect, precision, optimizer).total)


def _slowest_stage(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    work: MicroBatchWork,
    weights: DeviceWeights,
    size: float,
    bandwidth: float,
) -> tuple[dict[str, Floats], Floats | None]:
    """One micro-batch on the slowest stage, by part; and the head where it has a stage to itself."""
    share, deep = weights.share, plans.pipeline > 1
    spread = np.where(deep, 1.0 / plans.pipeline if software.balanced_head else 0.0, 1.0)
    inside = work.layers * share + (work.embedding + work.head) * spread
    stage = {name: inside[number] for number, name in enumerate(WORK_PARTS)}
    head = None if software.balanced_head else work.head * deep
    held = np.where(plans.sharding >= Sharding.GRADIENTS, weights.trained_sharded, weights.trained)
    summing = gradient_accumulation_time(held, size, bandwidth)
    stage["memory_bound"] = stage["memory_bound"] + np.where(plans.accumulation > 1, summing, 0.0)
    launched = work.kernels * share
    launches = launched * system.chip.kernel_overhead
    busy = stage["gemm"] + stage["attention"] + stage["memory_bound"] + launches
    waiting = exposed_dispatch_time(launched, software.dispatch_interval, busy)
    stage["fixed"] = launches + waiting + deep * software.micro_batch_overhead
    stage["tensor_comm"] = work.layer_comm * share + work.sample_comm
    stage["pipeline_comm"] = np.where(deep, _between_stages(table, plans, system, software, size), 0.0)
    return stage, head


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


def stage_message_size(table: OperatorTable, plans: Plans, software: GpuSoftware, size: float) -> Floats:
    """Activations that one rank sends to the next pipeline stage for one micro-batch.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Micro-batch and tensor degree. [-]
    software : GpuSoftware
        Says whether tensor ranks each send their share. [-]
    size : float
        Bytes of one activation. [B]

    Returns
    -------
    message : array
        Bytes of one message; gradients travel back in one of the same size. [B]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 4.1 (scatter/gather).

    Examples
    --------
    >>> table = OperatorTable.of([], depth=1, hidden=1024, tokens=512)
    >>> from types import SimpleNamespace
    >>> stack = SimpleNamespace(scattered_pipeline=False)
    >>> float(stage_message_size(table, Plans.of(micro_batch=4), stack, 2.0))
    4194304.0
    """
    message = size * plans.micro_batch * table.tokens * table.hidden
    return np.asarray(message / plans.tensor if software.scattered_pipeline else message)


def _between_stages(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, size: float
) -> Floats:
    message = stage_message_size(table, plans, software, size)
    inside = plans.devices <= system.machine.devices
    port = node_bandwidth(system.fabric, software.network_efficiency) / system.machine.devices
    bandwidth = np.where(inside, system.machine.bus_bandwidth, port)
    latency = np.where(inside, system.machine.latency, system.fabric.message_latency)
    directions = 2.0 if software.blocking_pipeline else 1.0
    return stage_transfer_time(message, bandwidth, latency, plans.interleave, directions)


def row_exchange_time(
    table: OperatorTable, plans: Plans, system: GpuSystem, software: GpuSoftware, size: float
) -> Floats:
    r"""Time of the all-to-all of looked-up rows forward and of their gradients backward, none of it hidden.

    .. math:: t = \frac{n-1}{n} \frac{2 e R x M b}{B} + 2 M \alpha

    Parameters
    ----------
    table : OperatorTable
        The model; only tables that are looked up row by row count, :math:`R` elements a sample. [-]
    plans : Plans
        Devices :math:`n`, micro-batch :math:`b` and accumulation :math:`M`. [-]
    system : GpuSystem
        Machine and fabric. [-]
    software : GpuSoftware
        Share of the rows that come from another device, :math:`x`. [-]
    size : float
        Bytes of one element, :math:`e`. [B]

    Returns
    -------
    seconds : array
        Of one step; nothing where a model looks up no rows. [s]

    References
    ----------
    .. [1] D. Mudigere et al., "Software-hardware co-design for fast and scalable training of deep learning
       recommendation models," ISCA, 2022, section 3.

    Examples
    --------
    ``tests/engine/gpu/test_step.py`` holds worked values.

    >>> row_exchange_time.__name__
    'row_exchange_time'
    """
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
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    exchanges: Exchanges,
    slot: Floats,
    after: Floats,
) -> Floats:
    """Gradient reduction and parameter gathering that computation does not hide."""
    overlap = np.asarray(software.overlap)
    window = system.kernels.overlap_window * (slot + after)
    chosen = exposed_time(exchanges.reduced, overlap, window)
    if np.any(plans.sharding >= Sharding.OPTIMIZER):
        gathered = exchanges.gathered * (1.0 - overlap)
        sharded = exposed_time(exchanges.scattered, overlap, window) + gathered
        each = np.where(plans.data > 1, plans.sharding_ranks, 0.0) * software.broadcast_latency
        chosen = np.where(plans.sharding >= Sharding.OPTIMIZER, sharded + each, chosen)
    if np.any(plans.sharding >= Sharding.GRADIENTS):
        # Groups that each hold a copy sum their shares of the gradients once a step.
        between = exposed_time(exchanges.between, overlap, window)
        between = np.where(plans.data > plans.sharding_ranks, between, 0.0)
        # Gradients that stay sharded are reduced after every micro-batch.
        every = plans.accumulation * exchanges.scattered_once
        scattering = exposed_time(every, overlap, plans.accumulation * window) + gathered + between
        chosen = np.where(plans.sharding >= Sharding.GRADIENTS, scattering, chosen)
        streamed = plans.accumulation * exchanges.streamed
        fully = exposed_time(streamed, overlap, plans.accumulation * slot) + between
        chosen = np.where(plans.sharding >= Sharding.PARAMETERS, fully, chosen)
    return np.asarray(chosen)
