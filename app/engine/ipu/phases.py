"""Phases of a stage whose weights do not fit into the processor."""

from __future__ import annotations

import math

import numpy as np

from app.engine.compiled import Vector, formula, kernel, record
from app.engine.ipu.case import ipu_capacity
from app.engine.ipu.layout import STAGE, Placement, stage_of
from app.engine.ipu.stage_memory import plain_stage, stage_memory, stage_weights, total_memory
from app.engine.ipu.work import Loads
from app.engine.plans import PLAN_FIELDS, Plan
from app.engine.records import IpuChip, IpuSoftware

PHASES = PLAN_FIELDS.index("phases")


@formula
def phases_of_layers(layers: float, layer_bytes: float, free: float) -> float:
    r"""Return the phases that a number of layers take when each phase holds whole layers.

    .. math:: \left\lceil \frac{n}{\lfloor \text{free} / \text{layer} \rfloor} \right\rceil

    Parameters
    ----------
    layers : float
        Layers of the stage, n. [-]
    layer_bytes : float
        What one layer keeps resident. [B]
    free : float
        SRAM left beside activations, temporaries and program. [B]

    Returns
    -------
    phases : float
        At least one; layers larger than the free SRAM are cut inside; infinite where none is
        free. [-]

    References
    ----------
    .. [1] Graphcore, PopART documentation on phased execution; GPT-3 configuration of the examples
       repository (one phase per layer).

    Examples
    --------
    GPT-3 over 64 IPUs: weights and accumulators of a layer take 113 MB of 528 MB, with an
    optimizer shard 170 MB:

    >>> phases_of_layers(96.0, np.array([113.2e6, 169.8e6]), 528e6).tolist()
    [24.0, 32.0]
    """
    if free <= 0.0:
        return math.inf
    per_phase = np.floor(free / max(layer_bytes, 1.0))
    if per_phase >= 1.0:
        return max(float(np.ceil(layers / per_phase)), 1.0)
    return max(float(np.ceil(layers * layer_bytes / max(free, 1.0))), 1.0)


@kernel
def count_phases(laid: Placement, phases: Vector) -> None:
    """Write the phases that each plan needs; plans are given, and laid over their stages, in one.

    1 where the whole stage fits; else the phases of its layers with weights, gradient accumulator and
    optimizer shard, and those of embedding and head.
    """
    case, stages = laid.case, laid.stages
    capacity = case.usable * case.chip.sram_per_tile
    for i in range(laid.plans.shape[0]):
        plan, loads, c = (
            record(Plan, laid.plans, i),
            record(Loads, laid.loads, laid.keys[i]),
            laid.layouts[i],
        )
        fullest, layers, ends = -math.inf, 0.0, 0.0
        for g in range(stages.shape[1] // STAGE):
            stage = stage_of(stages, c, g)
            if stage.present > 0.0:
                fullest = max(fullest, total_memory(stage_memory(case, loads, plan, stage)))
                layers = max(layers, stage.layers)
                ends = max(ends, stage_weights(loads, 0.0, stage.embedding, stage.head))
        if fullest <= capacity:
            phases[i] = 1.0
            continue
        # One layer at a time, nothing stashed: the least that a phase has beside its weights.
        laid.plans[i, PHASES] = 2.0
        one_layer = plain_stage(1.0, 1.0 / case.depth, 1.0, 1.0)
        beside = stage_memory(case, loads, record(Plan, laid.plans, i), one_layer)
        # A layer that does not fit beside its own activations is cut, and they with it.
        room = capacity - beside.buffers - beside.framework
        free = room - beside.activations
        accumulator = case.size if plan.accumulation > 1.0 else 0.0
        per_weight = case.size + accumulator + case.state / plan.rts_optimizer
        layer = per_weight * max(loads.layer_weights, 1.0)
        if free >= layer:
            of_layers = phases_of_layers(layers, layer, free)
        else:
            of_layers = phases_of_layers(layers, max(layer + beside.activations, room + 1.0), room)
        phases[i] = of_layers + np.ceil(per_weight * ends / max(free, 1.0))


HALF = 2.0
"""Bytes of an fp16 weight, and of its gradient accumulator. [B]"""


def weight_fraction(tensor: float, pipeline: float) -> float:
    """Return the share of the weights that one IPU works on."""
    return 1.0 / (tensor * pipeline)


def resident_weight_fraction(tensor: float, pipeline: float, sharding: float) -> float:
    """Return the share of the weights that one IPU stores where replicas share one copy."""
    return weight_fraction(tensor, pipeline) / sharding


def layers_per_stage(layers: float, pipeline: float) -> float:
    return layers / pipeline


def weights_per_device(parameters: float, tensor: float, pipeline: float) -> float:
    """Return the fp16 weights that one IPU works on. [B]

    >>> round(weights_per_device(175e9, 8, 8) / 1e9, 2)
    5.47
    """
    return HALF * parameters * weight_fraction(tensor, pipeline)


def minimum_phases(parameters: float, tensor: float, pipeline: float, nominal_memory: float) -> float:
    """Return the fewest phases that weights alone need, whatever else an IPU has to hold.

    Sharding over replicas does not lower it, since a phase gathers its whole share.

    >>> float(minimum_phases(175e9, 8, 8, 900e6))
    7.0
    """
    return max(float(np.ceil(weights_per_device(parameters, tensor, pipeline) / nominal_memory)), 1.0)


def planned_phases(
    parameters: float,
    layers: float,
    tensor: float,
    pipeline: float,
    sharding: float,
    chip: IpuChip,
    software: IpuSoftware,
    state_bytes: float = 8.0,
) -> float:
    """Return the phases training needs over the SRAM that temporaries and program leave.

    Weights, gradient accumulator and optimizer shard of whole layers; activations are not known here and not
    counted. The weights of GPT-3 alone would need 7:

    >>> from app.engine.ipu.examples import BOW, POPART
    >>> float(planned_phases(175e9, 96, 8, 8, 4, BOW, POPART))
    31.0
    """
    occupied = (software.available_memory + chip.code_share) * (chip.tiles * chip.sram_per_tile)
    weights = parameters * weight_fraction(tensor, pipeline)
    stage_layers = max(layers_per_stage(layers, pipeline), 1.0)
    layer_bytes = weights * (2.0 * HALF + state_bytes / sharding) / stage_layers
    return phases_of_layers(
        float(np.ceil(stage_layers)), layer_bytes, ipu_capacity(chip, software) - occupied
    )
