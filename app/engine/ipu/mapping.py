"""Arithmetic of laying a model over IPUs, from parameters and degrees alone."""

from __future__ import annotations

import numpy as np

from app.engine.ipu.case import ipu_capacity
from app.engine.ipu.phases import phases_of_layers
from app.engine.records import IpuChip, IpuSoftware

HALF = 2.0
"""Bytes of an fp16 weight, and of its gradient accumulator. [B]"""


def weight_fraction(tensor: float, pipeline: float) -> float:
    """Return the share of the weights that one IPU works on."""
    return 1.0 / (tensor * pipeline)


def resident_weight_fraction(tensor: float, pipeline: float, sharding: float) -> float:
    """Return the share of the weights that one IPU stores where replicas share one copy."""
    return weight_fraction(tensor, pipeline) / sharding


def layers_per_stage(layers: float, pipeline: float) -> float:
    """Return the mean layers of one stage."""
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
    taken = (software.available_memory + chip.code_share) * (chip.tiles * chip.sram_per_tile)
    weights = parameters * weight_fraction(tensor, pipeline)
    stage_layers = max(layers_per_stage(layers, pipeline), 1.0)
    each = weights * (2.0 * HALF + state_bytes / sharding) / stage_layers
    return phases_of_layers(float(np.ceil(stage_layers)), each, ipu_capacity(chip, software) - taken)
