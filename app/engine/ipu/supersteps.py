"""Supersteps of a pipeline on IPUs: what all stages wait for, forward and backward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.ipu.pipeline import Pipeline
from app.engine.plans import Plans
from app.engine.records import Floats, IpuChip, IpuSoftware


@dataclass(frozen=True, slots=True)
class Supersteps:
    """One micro-batch on the slowest stages."""

    forward: Floats
    """Forward by part, as :data:`~app.engine.ipu.sections.SLOT_PARTS`, (6, …). [s]"""
    backward: Floats
    """Backward by part, recomputation included, (6, …). [s]"""
    moved: Floats
    """Transfers between stages and phases, half of them forward. [s]"""

    @property
    def slot(self) -> Floats:
        """Forward and backward superstep together. [s]"""
        return np.asarray(self.forward.sum(axis=0) + self.backward.sum(axis=0) + self.moved)

    @property
    def forward_share(self) -> Floats:
        """Share of both that the forward superstep takes. [-]"""
        return np.asarray((self.forward.sum(axis=0) + self.moved / 2.0) / self.slot)


def supersteps(stages: Pipeline, plans: Plans, chip: IpuChip, software: IpuSoftware) -> Supersteps:
    """Return the forward and the backward superstep of every plan.

    Parameters
    ----------
    stages : Pipeline
        The model laid over the stages. [-]
    plans : Plans
        How the model is laid over devices. [-]
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack; its factors may be arrays of samples. [-]

    Returns
    -------
    turns : Supersteps
        Of the slowest stage forward and the slowest backward, which need not be the same. [s]

    Notes
    -----
    Activations go on forward and their gradients come back, one boundary each, so half of the transfers
    belong to either direction. A pipeline longer than a rack has a hop over GW-Links, for which every
    slot waits.

    References
    ----------
    .. [1] L. Valiant, "A bridging model for parallel computation," CACM 33(8), 1990.

    Examples
    --------
    ``tests/engine/ipu/test_step.py`` holds steps that are made of them.

    >>> Supersteps.__slots__
    ('forward', 'backward', 'moved')
    """
    speed = np.asarray(software.sdk_factor * software.framework_factor)
    handed_on = 2.0 * stages.loads.activations.boundary
    between_phases = plans.phases * handed_on / plans.tensor / chip.streaming_bandwidth
    beyond = plans.tensor * plans.pipeline > chip.pod_size
    link = np.where(beyond, chip.gateway_bandwidth, chip.link_bandwidth)
    moved = np.where(plans.pipeline > 1, handed_on / link, 0.0) + np.where(
        plans.phases > 1, 2.0 * between_phases, 0.0
    )
    return Supersteps(_scaled(stages.forward, speed), _scaled(stages.backward, speed), np.asarray(moved))


def _scaled(seconds: Floats, factor: Floats) -> Floats:
    """Return the parts with what runs on the chip times the software's factor, links as they are."""
    missing = max(factor.ndim - (seconds.ndim - 1), 0)
    seconds = seconds.reshape(len(seconds), *(1,) * missing, *seconds.shape[1:])
    on_chip = seconds[:-1] * factor
    links = np.broadcast_to(seconds[-1:], (1, *on_chip.shape[1:]))
    return np.concatenate([on_chip, links])
