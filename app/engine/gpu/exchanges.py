"""What the copies of a device's weights exchange: gradients, and weights that are not held by all.

It depends on few of a plan's coordinates (:data:`~app.engine.gpu.weights.WEIGHT_KEYS`), and neither on its
micro-batch nor on its recomputation; a search computes it once for each combination and gathers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from app.engine.collectives import collective_time
from app.engine.gpu.operators import element_bytes
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
    """Reduce-scatter of the gradients of one micro-batch. [s]"""
    gathered: Floats
    """All-gather of the weights. [s]"""
    streamed: Floats
    """Weights gathered layer by layer twice, gradients scattered, for one micro-batch. [s]"""
    between: Floats
    """All-reduce between groups that each hold a copy of what they share. [s]"""

    def gather(self, index: Indices) -> Exchanges:
        """Return the exchanges of every plan from those of distinct keys; ``index`` says which is whose."""
        return Exchanges(*(getattr(self, entry.name)[..., index] for entry in fields(self)))


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
    size = element_bytes(precision)
    if weights is None:
        weights = device_weights(table, plans)
    routed = np.where(plans.expert > 1, weights.experts, 0.0)
    local = np.maximum(np.floor(system.machine.devices / plans.tensor), 1.0)
    groups = [(weights.total - routed, plans.data, plans.sharding_ranks, local)]
    if np.any(routed > 0):
        copies = plans.data / plans.expert
        near = np.maximum(np.floor(local / plans.expert), 1.0)
        groups.append((routed, copies, np.minimum(plans.sharding_ranks, copies), near))
    depth = max(table.depth, 1)

    def collective(message: FloatLike, ranks: FloatLike, near: FloatLike, passes: float) -> Floats:
        return collective_time(
            message, ranks, near, system.machine, system.fabric, software.network_efficiency, passes
        )

    found: list[list[Floats]] = []
    for held, data, shards, near in groups:
        gradients = held * max(size, software.gradient_bytes)
        buckets = np.clip(np.ceil(gradients / system.kernels.bucket_bytes), 1.0, system.kernels.most_buckets)
        once = collective(gradients, data, near, 1.0)
        one_layer = 2.0 * collective(held * size / depth, shards, near, 1.0)
        one_layer = one_layer + collective(gradients / depth, shards, near, 1.0)
        found.append(
            [
                buckets * collective(gradients / buckets, data, near, 2.0),
                np.where(shards < data, collective(gradients, data, near, 2.0), once),
                once,
                collective(held * size, shards, near, 1.0),
                depth * one_layer,
                collective(gradients / shards, data / shards, 1.0, 2.0),
            ]
        )
    return Exchanges(*(np.asarray(sum(times)) for times in zip(*found, strict=True)))
