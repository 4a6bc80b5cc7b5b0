"""Arithmetic of laying a model over IPUs, from parameters and degrees alone."""

from __future__ import annotations

import numpy as np

from app.engine.ipu.phases import phases_of_layers
from app.engine.ipu.products import usable_tiles
from app.engine.records import FloatLike, Floats, IpuChip, IpuSoftware

HALF = 2.0
"""Bytes of an fp16 weight, and of its gradient accumulator. [B]"""


def devices(tensor: FloatLike, pipeline: FloatLike, replicas: FloatLike) -> Floats:
    """Return the IPUs a mapping occupies.

    Parameters
    ----------
    tensor : float
        Devices that share each layer. [-]
    pipeline : float
        Stages. [-]
    replicas : float
        Copies of the model. [-]

    Returns
    -------
    devices : ndarray
        Their product. [-]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 3.

    Examples
    --------
    >>> float(devices(8, 8, 4))
    256.0
    """
    return np.asarray(tensor, dtype=float) * pipeline * replicas


def weight_fraction(tensor: FloatLike, pipeline: FloatLike) -> Floats:
    """Return the share of the weights that one IPU works on.

    Parameters
    ----------
    tensor : float
        Devices that share each layer. [-]
    pipeline : float
        Stages. [-]

    Returns
    -------
    fraction : ndarray
        1 over their product. [-]

    References
    ----------
    .. [1] Graphcore, "Model parallelism on the IPU" (pipelining and tensor parallelism).

    Examples
    --------
    >>> float(weight_fraction(8, 8)) == 1 / 64
    True
    """
    return 1.0 / (np.asarray(tensor, dtype=float) * pipeline)


def resident_weight_fraction(tensor: FloatLike, pipeline: FloatLike, sharding: FloatLike) -> Floats:
    """Return the share of the weights that one IPU stores under replicated tensor sharding.

    Parameters
    ----------
    tensor : float
        Devices that share each layer. [-]
    pipeline : float
        Stages. [-]
    sharding : float
        Replicas that share one copy. [-]

    Returns
    -------
    fraction : ndarray
        The share it works on over the replicas. [-]

    References
    ----------
    .. [1] Graphcore, PopART tensor_locations.rst (replicated tensor sharding).

    Examples
    --------
    >>> float(resident_weight_fraction(8, 8, 4)) == 1 / 256
    True
    """
    return np.asarray(weight_fraction(tensor, pipeline) / sharding)


def layers_per_stage(layers: FloatLike, pipeline: FloatLike) -> Floats:
    """Return the layers of one stage.

    Parameters
    ----------
    layers : float
        Layers of the model. [-]
    pipeline : float
        Stages. [-]

    Returns
    -------
    layers : ndarray
        Mean; a fraction where they do not divide evenly. [-]

    References
    ----------
    .. [1] Y. Huang et al., "GPipe," NeurIPS, 2019.

    Examples
    --------
    >>> float(layers_per_stage(96, 8))
    12.0
    """
    return np.asarray(layers, dtype=float) / pipeline


def weights_per_device(parameters: FloatLike, tensor: FloatLike, pipeline: FloatLike) -> Floats:
    """Return the fp16 weights that one IPU works on.

    Parameters
    ----------
    parameters : float
        Parameters of the model. [-]
    tensor : float
        Devices that share each layer. [-]
    pipeline : float
        Stages. [-]

    Returns
    -------
    weights : ndarray
        Two bytes a parameter times the share of one IPU. [B]

    References
    ----------
    .. [1] Graphcore, "IPU-M2000 datasheet" (fp16 arithmetic).

    Examples
    --------
    >>> round(float(weights_per_device(175e9, 8, 8)) / 1e9, 2)
    5.47
    """
    return np.asarray(HALF * np.asarray(parameters) * weight_fraction(tensor, pipeline))


def minimum_phases(
    parameters: FloatLike, tensor: FloatLike, pipeline: FloatLike, nominal_memory: float
) -> Floats:
    """Return the fewest phases that weights alone need, whatever else an IPU has to hold.

    Parameters
    ----------
    parameters : float
        Parameters of the model. [-]
    tensor : float
        Devices that share each layer. [-]
    pipeline : float
        Stages. [-]
    nominal_memory : float
        In-processor memory as the data sheet gives it. [B]

    Returns
    -------
    phases : ndarray
        A lower bound; sharding over replicas does not lower it, since a phase gathers its whole
        share. [-]

    References
    ----------
    .. [1] Graphcore, PopART documentation on phased execution.

    Examples
    --------
    >>> float(minimum_phases(175e9, 8, 8, 900e6))
    7.0
    """
    return np.maximum(np.ceil(weights_per_device(parameters, tensor, pipeline) / nominal_memory), 1.0)


def planned_phases(
    parameters: FloatLike,
    layers: FloatLike,
    tensor: FloatLike,
    pipeline: FloatLike,
    sharding: FloatLike,
    chip: IpuChip,
    software: IpuSoftware,
    state_bytes: float = 8.0,
) -> Floats:
    """Return the phases training needs over the SRAM that temporaries and program leave.

    Parameters
    ----------
    parameters : float
        Parameters of the model. [-]
    layers : float
        Layers of the model. [-]
    tensor : float
        Devices that share each layer. [-]
    pipeline : float
        Stages. [-]
    sharding : float
        Replicas that share weights and optimizer state. [-]
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack: limit on temporaries, tiles set aside. [-]
    state_bytes : float
        Optimizer state per parameter. [B]

    Returns
    -------
    phases : ndarray
        Weights, gradient accumulator and optimizer shard of whole layers; activations are not
        known here and not counted. [-]

    References
    ----------
    .. [1] Graphcore, GPT-3 configuration of the examples repository.

    Examples
    --------
    The weights of GPT-3 alone would need 7:

    >>> from app.engine.ipu.examples import BOW, POPART
    >>> float(planned_phases(175e9, 96, 8, 8, 4, BOW, POPART))
    31.0
    """
    full = chip.tiles * chip.sram_per_tile
    taken = (software.available_memory + chip.code_share) * full
    free = usable_tiles(chip, software) * chip.sram_per_tile - taken
    weights = np.asarray(parameters) * weight_fraction(tensor, pipeline)
    stage_layers = np.maximum(layers_per_stage(layers, pipeline), 1.0)
    per_weight = 2.0 * HALF + state_bytes / np.asarray(sharding, dtype=float)
    return phases_of_layers(np.ceil(stage_layers), weights * per_weight / stage_layers, free)
