"""Memory of the fullest GPU of a plan."""

from __future__ import annotations

from typing import NamedTuple

from app.engine.compiled import inner, record
from app.engine.gpu.case import GRADIENT_BYTES, Case, GpuOperator, MicroBatch, devices_of
from app.engine.gpu.collectives import Weights
from app.engine.gpu.operators import ATTENTION, BATCH, COLUMNS, INNER, busiest_share
from app.engine.gpu.work import FULL, HEAD, LAYER, SELECTIVE, SEQUENCE, full_share
from app.engine.plans import MODULES, Offload, Plan, Sharding

OPTIMIZER, GRADIENTS, PARAMETERS = (
    float(Sharding.OPTIMIZER),
    float(Sharding.GRADIENTS),
    float(Sharding.PARAMETERS),
)
OFFLOADED_OPTIMIZER, OFFLOADED_PARAMETERS, OFFLOADED_ACTIVATIONS = map(int, Offload)
LAYERS_ON_DEVICE = 2.0
"""Layers on a device of what lies on its host or is gathered: one that is used, and the next that comes."""


@inner
def offloads(plan: Plan, kind: int) -> bool:
    """Return whether a plan keeps something in host memory."""
    return (int(plan.offload) & kind) > 0


class Activations(NamedTuple):
    """Activations of one micro-batch, kept for its backward pass on one tensor rank, over the whole model."""

    layers: float
    """Of all layers, with what is recomputed left out. [B]"""
    outside: float
    """Of embedding and head. [B]"""
    head: float
    """Of the head alone. [B]"""
    recomputed: float
    """Largest part that recomputation brings back for a while. [B]"""


@inner
def micro_batch_activations(case: Case, micro: MicroBatch) -> Activations:
    """Return the activations kept for the backward pass of one micro-batch, over the whole model.

    Full recomputation keeps the input of each layer and the inside of one; selective recomputation keeps one
    attention matrix at a time, fused attention none (Korthikanti et al. 2023, equations 2 to 5).
    """
    size = case.size
    fused = case.fused_attention > 0.0
    selective = SELECTIVE <= micro.recompute < FULL
    layers, outside, head, largest = 0.0, 0.0, 0.0, 0.0
    for index in range(case.operators.shape[0]):
        row = record(GpuOperator, case.operators, index)
        by_tensor = row.saved_split in (COLUMNS, INNER, BATCH)
        divided = by_tensor or (row.saved_split == SEQUENCE and micro.sequence_parallel > 0.0)
        ranks = micro.tensor if divided else 1.0
        saved, masks = size * row.saved, row.masks
        if micro.recompute == MODULES:
            saved -= size * row.recomputable
        if row.kind == ATTENTION:
            matrix = row.batch * row.squared
            if fused or selective:
                saved, masks = saved - size * 2.0 * matrix, 0.0
            live = (2.0 * size + 1.0) * matrix * micro.samples / (micro.tensor if by_tensor else 1.0)
            largest = max(largest, live)
        stored = (saved + masks) * micro.samples / ranks * row.repeats
        stored *= busiest_share(case, row, micro.expert)
        if row.section == LAYER:
            layers += stored
        else:
            outside += stored
            if row.section == HEAD:
                head += stored
    recomputed = largest if selective and not fused else 0.0
    share = full_share(micro.recompute)
    if share > 0.0:
        recomputed = layers / case.depth
        inputs = size * case.hidden * case.tokens * case.depth * micro.samples
        inputs = min(inputs / (micro.tensor if micro.sequence_parallel > 0.0 else 1.0), layers)
        layers = share * inputs + (1.0 - share) * layers
    return Activations(layers=layers, outside=outside, head=head, recomputed=recomputed)


@inner
def activation_bytes(case: Case, plan: Plan, share: float, activations: Activations) -> tuple[float, float]:
    r"""Activations kept for the backward pass on the fullest pipeline stage.

    With 1F1B the first of :math:`p` stages holds :math:`p` micro-batches of :math:`L/p` layers: as
    much as the whole model of one; in :math:`v > 1` chunks :math:`1 + (p-1)/(p v)` times that; never
    more micro-batches than a step has. Stages that layers do not divide over are counted at the
    fullest. Returned are the bytes kept in flight, and those of the largest transient (a layer, the loss).
    Narayanan et al. 2021, section 2.2; Korthikanti et al. 2023, section 4.2.3.
    """
    waiting = plan.pipeline
    if plan.interleave > 1.0:
        waiting *= 1.0 + (plan.pipeline - 1.0) / (plan.pipeline * plan.interleave)
    # A stage never holds more micro-batches than the step has.
    in_flight = activations.layers * (min(waiting, plan.accumulation) * share)
    # The last stage holds one micro-batch of its layers and of the head.
    transient = activations.outside
    if plan.pipeline > 1.0:
        transient = max(activations.layers * share + activations.head - in_flight, 0.0)
    return in_flight, activations.recomputed + transient


class DeviceMemory(NamedTuple):
    """Memory of the fullest device by part, and of its host. [B]"""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    buffers: float
    framework: float
    elsewhere: float


@inner
def device_memory(case: Case, plan: Plan, weights: Weights, activations: Activations) -> DeviceMemory:
    """Return the memory of the fullest GPU (Rajbhandari et al. 2020, section 3; Micikevicius et al. 2018)."""
    size = case.size
    in_flight, transient = activation_bytes(case, plan, weights.share, activations)
    stream, away = plan.sharding >= PARAMETERS, offloads(plan, OFFLOADED_PARAMETERS)
    packed = weights.quantised_sharded if stream else weights.quantised
    on_device = weights.sharded if stream else weights.layers + weights.outside
    stored = (on_device - packed) * case.stored_size + packed * case.quantised_size
    stored *= case.frozen_models + case.trained_models
    buffers = transient + case.unpacked * size / plan.tensor
    if stream or away:
        # Some layers at a time are there whole, with what lies outside the layers.
        layers = (weights.layers - weights.quantised) * size + weights.quantised * case.quantised_size
        layer = layers / (max(case.depth, 1.0) * weights.share)
        buffers += LAYERS_ON_DEVICE * (layer + weights.outside * size)
    elif plan.sharding >= GRADIENTS:
        buffers += weights.trained * case.flat_copy_bytes
    trained = weights.trained * case.trained_models
    sharded = weights.trained_sharded * case.trained_models
    elsewhere = 0.0
    if away:
        elsewhere, stored = stored, 0.0
    stored += case.spread / devices_of(plan) * size
    updated = sharded if plan.sharding >= OPTIMIZER else trained
    gradients = (sharded if plan.sharding >= GRADIENTS else trained) * case.kept_gradient_bytes
    optimizer = updated * case.state_bytes
    elsewhere += updated * case.paged_bytes
    if offloads(plan, OFFLOADED_OPTIMIZER):
        # The host keeps the gradients it updates with beside the state (Ren et al. 2021, section 4).
        elsewhere += optimizer + updated * GRADIENT_BYTES
        optimizer = 0.0
        if plan.sharding >= GRADIENTS or away:
            gradients = 0.0
    if offloads(plan, OFFLOADED_ACTIVATIONS):
        elsewhere += in_flight
        in_flight = min(in_flight, LAYERS_ON_DEVICE * activations.layers / max(case.depth, 1.0))
    live = stored + gradients + optimizer + in_flight + buffers
    return DeviceMemory(
        weights=stored,
        gradients=gradients,
        optimizer=optimizer,
        activations=in_flight,
        buffers=buffers,
        framework=case.kernels.framework_memory + (case.allocator_reserve - 1.0) * live,
        elsewhere=elsewhere,
    )
