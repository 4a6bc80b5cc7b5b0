"""One training step on GPUs: operators, pipeline, collectives, optimizer and fixed costs."""

from __future__ import annotations

from typing import NamedTuple

from app.engine.collectives import exposed_time
from app.engine.compiled import formula, inner
from app.engine.gpu.case import GRADIENT_BYTES, Case, SoftwareStack, devices_of
from app.engine.gpu.collectives import GradientCollectives, Weights, stage_share
from app.engine.gpu.gemm import narrowing_time
from app.engine.gpu.memory import (
    GRADIENTS,
    OFFLOADED_ACTIVATIONS,
    OFFLOADED_OPTIMIZER,
    OFFLOADED_PARAMETERS,
    OPTIMIZER,
    PARAMETERS,
    offloads,
)
from app.engine.gpu.work import Work, passes_of
from app.engine.host import host_wait_time, input_sharers
from app.engine.pipeline import bubble_slots, even_chunks, stage_transfer_time
from app.engine.plans import Plan


class GpuStep(NamedTuple):
    """Time of one step, by part. [s]"""

    gemm: float
    attention: float
    memory_bound: float
    fixed: float
    tensor_comm: float
    expert_comm: float
    pipeline_comm: float
    pipeline_bubble: float
    data_comm: float
    host_comm: float
    """What travels between a device and its host for every micro-batch, and computation does not hide."""
    optimizer: float
    input: float


class SlotParts(NamedTuple):
    """Time of one micro-batch on the fullest stage, without what its host makes it wait, by part. [s]"""

    gemm: float
    attention: float
    memory: float
    fixed: float
    tensor: float
    experts: float
    transfer: float


@inner
def slot_total(slot: SlotParts) -> float:
    """Time of one micro-batch on the fullest stage. [s]"""
    return slot.gemm + slot.attention + slot.memory + slot.fixed + slot.tensor + slot.experts + slot.transfer


@inner
def slot_parts(
    case: Case, plan: Plan, stack: SoftwareStack, work: Work, share: float, summed: float
) -> SlotParts:
    """Return the time of one micro-batch on a stage with a share of the layers, which sums some gradients."""
    deep = plan.pipeline > 1.0
    # A pipeline spreads embedding and head over its stages. Else its first stage has the embedding, which is
    # small, and its last the head, by which it takes longer: see :func:`step_time`.
    ends_share = 1.0
    if deep:
        ends_share = 1.0 / plan.pipeline if case.balanced_head > 0.0 else 0.0
    gemm = work.layers_gemm * share + (work.embedding_gemm + work.head_gemm) * ends_share
    attention = work.layers_attention * share + (work.embedding_attention + work.head_attention) * ends_share
    memory = work.layers_memory * share + (work.embedding_memory + work.head_memory) * ends_share
    if plan.accumulation > 1.0:
        memory += gradient_accumulation_time(summed, case.size, case.bandwidth)
    launched = work.kernels * share
    launches = launched * case.launch
    busy = gemm + attention + memory + launches
    fixed = launches + exposed_dispatch_time(launched, stack.software.dispatch_interval, busy)
    fixed += case.expert_layers * share * stack.software.expert_overhead
    stage_transfer = 0.0
    if deep:
        fixed += stack.software.micro_batch_overhead
        stage_transfer = between_stages_time(case, plan, stack)
    computed = (work.layers_gemm + work.layers_attention + work.layers_memory) * share
    exchanged = (work.tensor_comm + work.expert_comm) * share
    exposed_share = share
    if exchanged > 0.0 and stack.software.layer_overlap > 0.0:
        exposed_share *= exposed_time(exchanged, stack.software.layer_overlap, computed) / exchanged
    tensor = work.tensor_comm * exposed_share + work.context_comm * share + work.sample_comm
    experts = work.expert_comm * exposed_share
    return SlotParts(
        gemm=gemm,
        attention=attention,
        memory=memory,
        fixed=fixed,
        tensor=tensor,
        experts=experts,
        transfer=stage_transfer,
    )


@inner
def least_slot_time(case: Case, plan: Plan, stack: SoftwareStack, work: Work) -> float:
    """Time below which no slot of a plan gets, wherever gradients and state lie: none are summed. [s]"""
    return slot_total(slot_parts(case, plan, stack, work, stage_share(case.depth, plan.pipeline), 0.0))


@inner
def step_time(
    case: Case,
    plan: Plan,
    stack: SoftwareStack,
    weights: Weights,
    work: Work,
    collectives: GradientCollectives,
    kept: float,
) -> GpuStep:
    r"""Time of one training step, by part.

    .. math:: T = \left(M + \frac{p-1}{v}\right)(t_m + t_{p2p} + t_{host}) + M t_{head}
        + M t_{in} + t_{opt} + t_{dp} + t_0

    On the fullest stage a micro-batch computes and exchanges for :math:`t_m`, waits :math:`t_{p2p}` for its
    neighbours and :math:`t_{host}` for its host: one slot of the pipeline. By :math:`t_{head}` the last stage
    takes longer where the head is not spread; only the micro-batches pass it, so the bubble does not grow.
    Input that is late costs :math:`t_{in}`; :math:`t_{opt}`, :math:`t_{dp}` and :math:`t_0` are the update,
    what is exposed of the collectives of gradients, and fixed costs of a step.

    Parameters
    ----------
    case : Case
        The model on its system. [-]
    plan : Plan
        Stages :math:`p`, chunks :math:`v`, micro-batches of a step :math:`M`. [-]
    stack : SoftwareStack
        Software, and the network as it reaches it. [-]
    weights : Weights
        Of the fullest device. [-]
    work : Work
        Of one micro-batch. [s]
    collectives : GradientCollectives
        Collectives of gradients. [s]
    kept : float
        Activations that all layers keep of a micro-batch, where these are offloaded. [B]

    Returns
    -------
    step : GpuStep
        Parts that add up to the step. [s]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021.
    .. [2] S. Rajbhandari et al., "ZeRO," SC, 2020, section 7 (communication).

    Examples
    --------
    ``tests/engine/gpu/test_step.py`` holds worked values.
    """
    deep, accumulation = plan.pipeline > 1.0, plan.accumulation
    summed = weights.trained_sharded if plan.sharding >= GRADIENTS else weights.trained
    slot = slot_parts(case, plan, stack, work, weights.share, summed)
    gemm, attention, memory, fixed, tensor, experts, stage_transfer = slot
    stage_time = slot_total(slot)
    host_transfer = 0.0
    if plan.offload > OFFLOADED_OPTIMIZER:
        host_transfer = host_transfer_time(case, plan, weights, kept)
        host_transfer = exposed_time(host_transfer, stack.software.overlap, stage_time)
        stage_time += host_transfer
    head_share, head = 0.0, work.head_gemm + work.head_attention + work.head_memory
    if deep and case.balanced_head == 0.0:
        head_share = 1.0
        if weights.relieved > 0.0 and head > 0.0:
            # The last stage is slower by its head, less the layers it lacks where these do not divide.
            fewer = weights.relieved * stage_time / weights.stage_layers
            head_share = max(head - fewer, 0.0) / head
    after = head_share * head
    data = exposed_collective_time(case, plan, stack, collectives, stage_time, after)
    update = update_time(case, plan, stack, weights)
    if case.narrow_peak > 0.0:
        update += narrowing_time(weights.layers, case.narrowing, case.bandwidth)
    updates = update_kernels(case, plan, stack)
    dispatch_wait = exposed_dispatch_time(updates, stack.software.dispatch_interval, update)
    chunks = plan.interleave
    if chunks > 1.0:
        chunks = even_chunks(weights.stage_layers, chunks)
    several = stack.software.multi_device_overhead if devices_of(plan) > 1.0 else 0.0
    sharers = input_sharers(plan.tensor, plan.pipeline, plan.data, case.host_devices)
    per_sample = max(stack.software.host_time_per_sample, stack.software.input_time_per_sample * sharers)
    return GpuStep(
        gemm=(gemm + head_share * work.head_gemm) * accumulation,
        attention=(attention + head_share * work.head_attention) * accumulation,
        memory_bound=(memory + head_share * work.head_memory) * accumulation,
        fixed=fixed * accumulation + dispatch_wait + stack.software.step_overhead + several,
        tensor_comm=tensor * accumulation,
        expert_comm=experts * accumulation,
        pipeline_comm=stage_transfer * accumulation,
        pipeline_bubble=bubble_slots(plan.pipeline, chunks) * stage_time,
        data_comm=data + row_exchange_time(case, plan, stack),
        host_comm=host_transfer * accumulation,
        optimizer=update,
        input=accumulation * host_wait_time(plan.micro_batch, per_sample, stage_time),
    )


@inner
def step_total(step: GpuStep) -> float:
    """Time of one step. [s]"""
    device = step.gemm + step.attention + step.memory_bound + step.fixed + step.tensor_comm
    device += step.expert_comm + step.host_comm
    return device + step.pipeline_comm + step.pipeline_bubble + step.data_comm + step.optimizer + step.input


@inner
def update_time(case: Case, plan: Plan, stack: SoftwareStack, weights: Weights) -> float:
    """Time of the optimizer, on the device or on its host. [s]"""
    updated = weights.trained_sharded if plan.sharding >= OPTIMIZER else weights.trained
    away = offloads(plan, OFFLOADED_PARAMETERS)
    if not offloads(plan, OFFLOADED_OPTIMIZER):
        # Weights on the host take their new values down.
        down = case.size / case.host_bandwidth if away else 0.0
        return updated * (case.update_traffic / case.bandwidth + down)
    # An optimizer on the host takes gradients down, updates there, and brings new weights back over PCIe;
    # where the weights stay there too, both travel with the micro-batches.
    moved = 0.0 if away else (case.sent_gradient_bytes + case.size) / case.host_bandwidth
    return updated * (moved + case.update_traffic / case.host_memory_bandwidth)


@inner
def host_transfer_time(case: Case, plan: Plan, weights: Weights, kept: float) -> float:
    r"""Time in which parameters and activations on the host travel for one micro-batch.

    .. math:: t = \frac{(f + r) e W + g W_t + 2 A}{B}

    Parameters
    ----------
    case : Case
        Bytes of a weight, :math:`e`, and of a gradient, :math:`g`; bandwidth of the link, :math:`B`. [-]
    plan : Plan
        What lies on the host; passes through a layer, :math:`r`: two, or three where it is recomputed. [-]
    weights : Weights
        That a device holds, :math:`W`, and trains, :math:`W_t`: its share where these are sharded. [-]
    kept : float
        Activations that all layers keep of a micro-batch, whose share :math:`A` a stage has. [B]

    Returns
    -------
    seconds : float
        Weights come for every pass, and for the forward pass of each frozen copy, :math:`f`; gradients leave
        for an optimizer on the host; activations leave and come back. [s]

    References
    ----------
    .. [1] S. Rajbhandari et al., "ZeRO-Infinity," SC, 2021, section 4.1: with recomputation three times the
       weights and once the gradients, and twice the activations.

    Examples
    --------
    ``tests/engine/gpu/test_offload.py`` holds worked values: 6.7 billion weights over eight links of 24 GB/s,
    with recomputation and the optimizer on the host, take 0.28 s.
    """
    travelling = 0.0
    if offloads(plan, OFFLOADED_PARAMETERS):
        stream = plan.sharding >= PARAMETERS
        held = weights.sharded if stream else weights.layers + weights.outside
        packed = weights.quantised_sharded if stream else weights.quantised
        stored = (held - packed) * case.stored_size + packed * case.quantised_size
        travelling += stored * (passes_of(plan.recompute) * case.trained_models + case.frozen_models)
        if offloads(plan, OFFLOADED_OPTIMIZER):
            trained = weights.trained_sharded if plan.sharding >= GRADIENTS else weights.trained
            travelling += trained * case.trained_models * case.sent_gradient_bytes
    if offloads(plan, OFFLOADED_ACTIVATIONS):
        travelling += 2.0 * kept * weights.share
    return travelling / case.host_bandwidth


@formula
def gradient_accumulation_time(weights: float, size: float, bandwidth: float) -> float:
    r"""Time to add the gradients of one micro-batch to the sum of those before it.

    .. math:: t = \frac{W (e + 2 e_s)}{B}

    Parameters
    ----------
    weights : float
        Weights whose gradients a device sums, :math:`W`. [-]
    size : float
        Bytes of a fresh gradient, :math:`e`. [B]
    bandwidth : float
        Bandwidth reached by streaming, :math:`B`. [B/s]

    Returns
    -------
    seconds : float
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
    return weights * (size + 2.0 * GRADIENT_BYTES) / bandwidth


@inner
def stage_message_size(case: Case, plan: Plan) -> float:
    """Activations that one rank sends to the next pipeline stage for one micro-batch. [B]"""
    message = case.size * plan.micro_batch * case.tokens * case.hidden
    return message / plan.tensor if case.scattered_pipeline > 0.0 else message


@inner
def between_stages_time(case: Case, plan: Plan, stack: SoftwareStack) -> float:
    """Time that a stage waits for transfers between stages. [s]"""
    directions = 2.0 if case.blocking_pipeline > 0.0 else 1.0
    links, network = case.links, stack.network
    size = stage_message_size(case, plan)
    if devices_of(plan) <= links.devices:
        return stage_transfer_time(size, links.bus_bandwidth, links.latency, plan.interleave, directions)
    port = network.bandwidth / links.devices
    return stage_transfer_time(size, port, network.message_latency, plan.interleave, directions)


@inner
def row_exchange_time(case: Case, plan: Plan, stack: SoftwareStack) -> float:
    r"""Time of the all-to-all of looked-up rows forward and of their gradients backward, none of it hidden.

    .. math:: t = \frac{n-1}{n} \frac{2 e R x M b}{B} + 2 M \alpha

    Parameters
    ----------
    case : Case
        Rows that are looked up, :math:`R` elements a sample of :math:`e` bytes, and links. [-]
    plan : Plan
        Devices :math:`n`, micro-batch :math:`b` and accumulation :math:`M`. [-]
    stack : SoftwareStack
        Software, and the network as it reaches it. [-]

    Returns
    -------
    seconds : float
        Of one step; nothing where a model looks up no rows. [s]

    References
    ----------
    .. [1] D. Mudigere et al., "Software-hardware co-design for fast and scalable training of deep learning
       recommendation models," ISCA, 2022, section 3.

    Examples
    --------
    ``tests/engine/gpu/test_step.py`` holds worked values.
    """
    devices, links, network = devices_of(plan), case.links, stack.network
    if case.looked_up == 0.0 or devices == 1.0:
        return 0.0
    elsewhere = (devices - 1.0) / devices
    rows = case.looked_up * stack.software.row_exchange * plan.micro_batch * plan.accumulation
    message = 2.0 * case.size * rows * elsewhere
    if devices <= links.devices:
        return message / links.bus_bandwidth + 2.0 * plan.accumulation * links.latency
    port = min(network.bandwidth / links.devices, links.bus_bandwidth)
    return message / port + 2.0 * plan.accumulation * network.message_latency


@inner
def exposed_collective_time(
    case: Case,
    plan: Plan,
    stack: SoftwareStack,
    collectives: GradientCollectives,
    stage_time: float,
    after: float,
) -> float:
    """Time of gradient reduction and parameter gathering not hidden by computation. [s]"""
    overlap, accumulation = stack.software.overlap, plan.accumulation
    window = case.kernels.overlap_window * (stage_time + after)
    if plan.sharding < OPTIMIZER:
        return exposed_time(collectives.reduced, overlap, window)
    gathered = collectives.gathered * (1.0 - overlap)
    if plan.sharding < GRADIENTS:
        per_broadcast = plan.sharding_ranks * stack.software.broadcast_latency if plan.data > 1.0 else 0.0
        return exposed_time(collectives.scattered, overlap, window) + gathered + per_broadcast
    # Groups that each hold a copy sum their shares of the gradients once a step.
    between = 0.0
    if plan.data > plan.sharding_ranks:
        between = exposed_time(collectives.between, overlap, window)
    if plan.sharding < PARAMETERS:
        # Gradients that stay sharded are reduced after every micro-batch.
        every = accumulation * collectives.scattered_once
        return exposed_time(every, overlap, accumulation * window) + gathered + between
    return exposed_time(accumulation * collectives.streamed, overlap, accumulation * stage_time) + between


@formula
def exposed_dispatch_time(kernels: float, interval: float, busy: float) -> float:
    r"""Time a GPU waits for a host that launches kernels one after the other.

    The host runs ahead of the GPU while kernels last longer than their launch. Where they do not,
    the host sets the pace, and the GPU idles for the rest:

    .. math:: t = \max(0, n \tau - t_{GPU})

    Parameters
    ----------
    kernels : float
        Kernels, :math:`n`. [-]
    interval : float
        Time the host takes from one launch to the next, :math:`\tau`; 0 where a recorded graph of
        kernels is launched as a whole. [s]
    busy : float
        Time the GPU needs for the same kernels, :math:`t_{GPU}`. [s]

    Returns
    -------
    seconds : float
        Idle time of the GPU. [s]

    References
    ----------
    .. [1] A. Paszke et al., "PyTorch: an imperative style, high-performance deep learning library,"
       NeurIPS, 2019, section 6.1 (asynchronous dataflow).

    Examples
    --------
    A thousand kernels at 6 us keep the host busy for 6 ms:

    >>> [round(float(exposed_dispatch_time(1000, 6e-6, busy)), 6) for busy in (2e-3, 6e-3, 9e-3)]
    [0.004, 0.0, 0.0]
    """
    return max(kernels * interval - busy, 0.0)


BUCKET_COPIES = 2.0
"""Copies of a tensor's gradient into the bucket that travels, and back."""


@inner
def update_kernels(case: Case, plan: Plan, stack: SoftwareStack) -> float:
    """Kernels of one weight update of an optimizer that takes the tensors of a stage one by one."""
    if offloads(plan, OFFLOADED_OPTIMIZER) or stack.software.optimizer_kernels == 0.0:
        return 0.0
    copies = BUCKET_COPIES if plan.data > 1.0 else 0.0
    return case.tensors / plan.pipeline * (stack.software.optimizer_kernels + copies)
