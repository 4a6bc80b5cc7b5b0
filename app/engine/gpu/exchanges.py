"""What the copies of a device's weights exchange: gradients, and weights that are not held by all.

It depends on few of a plan's coordinates (:data:`~app.engine.gpu.weights.WEIGHT_KEYS`), and neither on its
micro-batch nor on its recomputation; a search computes it once for each combination and gathers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from app.engine.collectives import collective_time
from app.engine.gpu.operators import QUANTISED_BYTES, element_bytes
from app.engine.gpu.weights import DeviceWeights, device_weights
from app.engine.operators import OperatorTable
from app.engine.plans import Plans
from app.engine.records import FloatLike, Floats, GpuSoftware, GpuSystem, Indices, Precision


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Collectives over the data-parallel group of the fullest device, nothing hidden."""

    reduced: Floats
    """All-reduce of all gradients, in buckets. [s]"""
    scattered: Floats
    """Reduce-scatter of all gradients; an all-reduce where several groups each hold a copy. [s]"""
    scattered_once: Floats
    """Reduce-scatter of the gradients of one micro-batch inside a group. [s]"""
    gathered: Floats
    """All-gather of the weights. [s]"""
    streamed: Floats
    """Weights gathered layer by layer twice, gradients scattered, for one micro-batch. [s]"""
    between: Floats
    """All-reduce between groups that each hold a copy of what they share. [s]"""

    def gather(self, index: Indices) -> Exchanges:
        """Return the exchanges of every plan from those of distinct keys; ``index`` says which is whose."""
        return Exchanges(*(getattr(self, entry.name)[..., index] for entry in fields(self)))


@dataclass(frozen=True, slots=True)
class MessageGroup:
    """Weights that are copied over the same ranks, and what these exchange of them."""

    gradients: Floats
    """Gradients of one device. [B]"""
    copied: Floats
    """Trained weights of one device, as they are gathered after an update. [B]"""
    stored: Floats
    """All weights of one device, as they are gathered where each rank holds its share of them. [B]"""
    buckets: Floats
    """Messages into which an all-reduce of the gradients is cut. [-]"""
    ranks: Floats
    """Ranks that hold a copy. [-]"""
    shards: Floats
    """Ranks that share one copy where it is sharded. [-]"""
    inside: Floats
    """Ranks of the group in one machine. [-]"""


def message_groups(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    precision: Precision,
    weights: DeviceWeights,
) -> list[MessageGroup]:
    """Sizes of what the copies of a device's weights exchange, before any network is asked.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Fields of :data:`~app.engine.gpu.weights.WEIGHT_KEYS`. [-]
    system : GpuSystem
        Chip, kernels, machine and fabric. [-]
    software : GpuSoftware
        Says in how many bytes gradients travel. [-]
    precision : Precision
        Number format of the products. [-]
    weights : DeviceWeights
        Weights of the device of every plan. [-]

    Returns
    -------
    groups : list of MessageGroup
        One for the weights that every rank copies, one more where experts are spread over ranks. [-]

    References
    ----------
    .. [1] S. Li et al., "PyTorch distributed: experiences on accelerating data parallel training,"
       VLDB 13(12), 2020 (buckets).
    .. [2] S. Rajbhandari et al., "DeepSpeed-MoE," ICML, 2022, section 5 (expert and data parallelism).

    Examples
    --------
    ``tests/engine/gpu/test_exchanges.py`` holds worked values.

    >>> [entry.name for entry in fields(MessageGroup)][:3]
    ['gradients', 'copied', 'stored']
    """
    size = element_bytes(precision)
    held = np.stack([weights.total, weights.trained, weights.quantised])
    of_experts = np.stack([weights.experts, weights.trained_experts, weights.quantised_experts])
    routed = np.where(plans.expert > 1, of_experts, 0.0)
    local = np.maximum(np.floor(system.machine.devices / plans.tensor), 1.0)
    groups = [(held - routed, plans.data, plans.sharding_ranks, local)]
    if np.any(routed > 0):
        copies = plans.data / plans.expert
        near = np.maximum(np.floor(local / plans.expert), 1.0)
        groups.append((routed, copies, np.minimum(plans.sharding_ranks, copies), near))
    found = []
    for (whole, trained, quantised), ranks, shards, inside in groups:
        gradients = np.asarray(trained * max(size, software.gradient_bytes))
        buckets = np.clip(np.ceil(gradients / system.kernels.bucket_bytes), 1.0, system.kernels.most_buckets)
        stored = np.asarray((whole - quantised) * size + quantised * QUANTISED_BYTES)
        copied = np.asarray(trained * size)
        found.append(MessageGroup(gradients, copied, stored, buckets, ranks, shards, inside))
    return found


def gradient_exchanges(
    table: OperatorTable,
    plans: Plans,
    system: GpuSystem,
    software: GpuSoftware,
    precision: Precision,
    weights: DeviceWeights | None = None,
) -> Exchanges:
    """Time of the collectives that keep the copies of a device's weights alike.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Fields of :data:`~app.engine.gpu.weights.WEIGHT_KEYS`. [-]
    system : GpuSystem
        Chip, kernels, machine and fabric. [-]
    software : GpuSoftware
        Efficiencies of the software stack, single or samples. [-]
    precision : Precision
        Number format of the products. [-]
    weights : DeviceWeights or None
        Weights of the device of every plan, if they were computed before. [-]

    Returns
    -------
    exchanges : Exchanges
        Times, each as if nothing hid it. [s]

    Notes
    -----
    Experts spread over :math:`e` ranks have :math:`e` times fewer copies, whose gradients are exchanged apart
    from those of the other weights; experts that every rank holds travel with the others.

    References
    ----------
    .. [1] S. Rajbhandari et al., "ZeRO," SC, 2020, section 7 (communication).
    .. [2] S. Rajbhandari et al., "DeepSpeed-MoE," ICML, 2022, section 5 (expert and data parallelism).

    Examples
    --------
    ``tests/engine/gpu/test_exchanges.py`` holds worked values.

    >>> [entry.name for entry in fields(Exchanges)][0]
    'reduced'
    """
    if weights is None:
        weights = device_weights(table, plans)
    groups = message_groups(table, plans, system, software, precision, weights)
    layers = max(table.depth, 1) * weights.share

    def collectives(passes: float, *asked: tuple[FloatLike, FloatLike, FloatLike]) -> Floats:
        """Return the times of several messages over their ranks, of which some are in one machine."""
        efficiency = software.network_efficiency
        shapes = (np.shape(part) for one in asked for part in one)
        shape = np.broadcast_shapes(np.shape(efficiency), system.fabric.shape, *shapes)
        size, ranks, inside = (
            np.stack([np.broadcast_to(one[place], shape) for one in asked]) for place in range(3)
        )
        return collective_time(size, ranks, inside, system.machine, system.fabric, efficiency, passes)

    found: list[tuple[Floats, ...]] = []
    for group in groups:
        data, shards, near = group.ranks, group.shards, group.inside
        gradients, copied, buckets = group.gradients, group.copied, group.buckets
        changed = gradients > 0.0
        bucket, reduced, between = collectives(
            2.0,
            (gradients / buckets, data, near),
            (gradients, data, near),
            (gradients / shards, data / shards, 1.0),
        )
        once, gathered, of_layer, layer_gradients = collectives(
            1.0,
            *((gradients, shards, near), (copied, shards, near)),
            *((group.stored / layers, shards, near), (gradients / layers, shards, near)),
        )
        found.append(
            (
                np.where(changed, buckets * bucket, 0.0),
                np.where(changed, np.where(shards < data, reduced, once), 0.0),
                np.where(changed, once, 0.0),
                np.where(changed, gathered, 0.0),
                layers * (2.0 * of_layer + np.where(changed, layer_gradients, 0.0)),
                np.where(changed, between, 0.0),
            )
        )
    return Exchanges(*(np.asarray(sum(times)) for times in zip(*found, strict=True)))
