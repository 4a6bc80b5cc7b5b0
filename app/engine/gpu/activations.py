"""Activations that wait on a GPU for their backward pass."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from app.engine.operators import Kind, OperatorTable, Section, Split
from app.engine.plans import Plans, Recompute
from app.engine.records import Floats, GpuKernels, Indices


@dataclass(frozen=True, slots=True)
class Activations:
    """What one micro-batch leaves for its backward pass on one tensor rank, over the whole model.

    It depends on few of a plan's coordinates (:data:`~app.engine.gpu.work.WORK_KEYS`).
    """

    layers: Floats
    """Of all layers, with what is recomputed left out. [B]"""
    outside: Floats
    """Of embedding and head. [B]"""
    head: Floats
    """Of the head alone. [B]"""
    again: Floats
    """Largest part that recomputation brings back for a while. [B]"""

    def gather(self, index: Indices) -> Activations:
        """Return the activations of every plan from those of distinct keys."""
        return Activations(*(getattr(self, entry.name)[..., index] for entry in fields(self)))


def micro_batch_activations(table: OperatorTable, plans: Plans, *, fused: bool, size: float) -> Activations:
    r"""Activations that one micro-batch leaves for its backward pass, over the whole model.

    Full recomputation keeps the input of each layer and the inside of one; selective recomputation keeps one
    attention matrix at a time, fused attention none.

    Parameters
    ----------
    table : OperatorTable
        The model. [-]
    plans : Plans
        Tensor degree, micro-batch, recomputation, sequence parallelism. [-]
    fused : bool
        True where attention never writes its matrix. [-]
    size : float
        Bytes of one activation. [B]

    Returns
    -------
    activations : Activations
        Before the model is cut into stages. [B]

    References
    ----------
    .. [1] V. Korthikanti et al., "Reducing activation recomputation in large transformer models,"
       MLSys, 2023, equations 2 to 5.

    Examples
    --------
    ``tests/engine/gpu/test_memory.py`` reproduces the paper's figure 1.

    >>> int(Recompute.FULL)
    2
    """
    fields_used = (plans.tensor, plans.micro_batch, plans.recompute, plans.sequence_parallel)
    shape = (-1,) + (1,) * np.broadcast(*fields_used).ndim
    column = {
        name: np.asarray(getattr(table, name)).reshape(shape)
        for name in ("saved", "masks", "saved_split", "count", "section", "kind", "batch", "squared")
    }
    attention = column["kind"] == Kind.ATTENTION
    matrix = column["batch"] * column["squared"]
    dropped = attention & (fused | (plans.recompute == Recompute.SELECTIVE))
    saved = size * (column["saved"] - np.where(dropped, 2.0 * matrix, 0.0))
    saved = saved + np.where(dropped, 0.0, column["masks"])
    split = column["saved_split"]
    by_tensor = np.isin(split, (Split.COLUMNS, Split.INNER, Split.BATCH))
    by_tokens = (split == Split.SEQUENCE) & (plans.sequence_parallel > 0)
    saved = saved * plans.micro_batch / np.where(by_tensor | by_tokens, plans.tensor, 1.0)
    layer = column["section"] == Section.LAYER
    layers = np.sum(np.where(layer, saved * column["count"], 0.0), axis=0)
    outside = np.sum(np.where(layer, 0.0, saved * column["count"]), axis=0)
    last = np.sum(np.where(column["section"] == Section.HEAD, saved * column["count"], 0.0), axis=0)
    inputs = size * table.hidden * table.tokens * table.depth * plans.micro_batch
    inputs = inputs / np.where(plans.sequence_parallel > 0, plans.tensor, 1.0)
    full = plans.recompute == Recompute.FULL
    matrices = (2.0 * size + 1.0) * matrix * plans.micro_batch / np.where(by_tensor, plans.tensor, 1.0)
    recomputed = np.max(np.where(attention, matrices, 0.0), axis=0, initial=0.0)
    again = np.where((plans.recompute == Recompute.SELECTIVE) & (not fused), recomputed, 0.0)
    again = np.where(full, layers / table.depth, again)
    return Activations(np.where(full, np.minimum(inputs, layers), layers), outside, last, again)


def activation_bytes(
    plans: Plans, share: Floats, activations: Activations, kernels: GpuKernels
) -> tuple[Floats, Floats]:
    r"""Activations kept for the backward pass on the fullest pipeline stage.

    With 1F1B the first of :math:`p` stages holds :math:`p` micro-batches of :math:`L/p` layers: as
    much as the whole model of one; in :math:`v > 1` chunks :math:`1 + (p-1)/(p v)` times that; never
    more micro-batches than a step has. Stages that layers do not divide over are counted at the
    fullest.

    Parameters
    ----------
    plans : Plans
        Pipeline degree, interleave, micro-batches of a step. [-]
    share : array
        Share of the layers on the fullest stage. [-]
    activations : Activations
        Of one micro-batch over the whole model. [B]
    kernels : GpuKernels
        Fragmentation of the allocator. [-]

    Returns
    -------
    stored : tuple of arrays
        Bytes kept in flight, and bytes of the largest transient (recomputed layer, loss). [B]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 2.2.
    .. [2] V. Korthikanti et al., "Reducing activation recomputation in large transformer models,"
       MLSys, 2023, section 4.2.3.

    Examples
    --------
    ``tests/engine/gpu/test_memory.py`` reproduces the figures of the second reference.

    >>> [entry.name for entry in fields(Activations)][0]
    'layers'
    """
    filling = (plans.pipeline - 1.0) / (plans.pipeline * plans.interleave)
    # A stage never holds more micro-batches than the step has.
    waiting = plans.pipeline * (1.0 + np.where(plans.interleave > 1, filling, 0.0))
    in_flight = np.minimum(waiting, plans.accumulation) * share
    one = activations.layers
    kept = one * in_flight
    # The last stage holds one micro-batch of its layers and of the head.
    at_the_end = np.maximum(one * share + activations.head - kept, 0.0)
    transient = activations.again + np.where(plans.pipeline > 1, at_the_end, activations.outside)
    return np.asarray(kept * kernels.fragmentation), np.asarray(transient * kernels.fragmentation)
