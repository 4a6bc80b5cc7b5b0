"""Memory of one pipeline stage, and the split over stages that it allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.engine.ipu.activations import repeats_layers
from app.engine.ipu.loads import Loads, ipu_capacity
from app.engine.ipu.products import element_bytes
from app.engine.ipu.stages import Stages, head_shares_embedding, stage_layers
from app.engine.operators import OperatorTable
from app.engine.plans import Plans
from app.engine.records import Floats, IpuChip, IpuSoftware, Precision

STATE_BYTES = {
    "sgd": 0.0,
    "momentum": 2.0,
    "adam": 8.0,
    "lamb": 8.0,
    "adafactor": 4.0,
    "distributed-shampoo": 16.0,
}
"""Optimizer state per parameter beside fp16 weights: momentum in fp16; two moments in fp32 (Kingma
and Ba 2015; You et al. 2020); one fp32 copy with factored moments (Shazeer and Stern 2018); four
matrices of about the weights' size (Anil et al. 2020). [B]"""

FITS_BELOW = 0.95
"""Filled share up to which a plan is said to fit."""


def stage_parts(
    table: OperatorTable,
    plans: Plans,
    loads: Loads,
    layers: Floats,
    position: Floats,
    embedding: Floats,
    head: Floats,
    chip: IpuChip,
    *,
    precision: Precision,
    optimizer: str,
) -> dict[str, Floats]:
    r"""Return the memory of one stage, by part.

    .. math::

        M = \frac{2 P}{rts} + 2 P [\text{accumulation} > 1] + \frac{o P}{rts_o}
            + (2 (p - i) - 1) \, b s h \cdot 2 + n \, b s h \cdot 2 + \text{live} + \text{temporaries} + c S

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        How the model is laid over devices. [-]
    loads : Loads
        What a layer, the embedding and the head bring. [B]
    layers : ndarray
        Layers of the stage, :math:`n`. [-]
    position : ndarray
        Place of the stage in the pipeline, :math:`i`, from 0. [-]
    embedding : ndarray
        1 where the stage has the embedding. [-]
    head : ndarray
        1 where the stage has the head. [-]
    chip : IpuChip
        The IPU. [-]
    precision : Precision
        Number format. [-]
    optimizer : str
        A key of :data:`STATE_BYTES`. [-]

    Returns
    -------
    parts : dict of str to ndarray
        weights, gradients, optimizer, activations, buffers, framework. [B]

    Notes
    -----
    A stage holds the inputs of the micro-batches in flight, twice as many as stages follow it
    because forward and backward passes alternate. In phases only one phase is resident, and its
    inputs come from streaming memory. Sharded weights are gathered layer by layer.

    References
    ----------
    .. [1] Graphcore, "Model parallelism on the IPU with TensorFlow," section on pipelining.
    .. [2] Graphcore, PopART tensor_locations.rst (replicated tensor sharding).
    .. [3] Code share: closure over the configurations of Graphcore's examples repository.

    Examples
    --------
    >>> from app.engine.ipu.examples import BOW, POPART
    >>> from app.engine.ipu.loads import stage_loads
    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="a", inputs=1024, outputs=1024)], depth=1, hidden=1024,
    ...     tokens=1)
    >>> plans = Plans.of(micro_batch=64)
    >>> loads = stage_loads(table, plans, BOW, POPART, Precision.FP16_16)
    >>> one, zero = np.ones(()), np.zeros(())
    >>> parts = stage_parts(table, plans, loads, one, zero, zero, zero, BOW, precision=Precision.FP16_16,
    ...     optimizer="lamb")
    >>> float(parts["weights"]) == 2 * 1024 * 1025
    True
    """
    size = element_bytes(precision)
    resident = loads.weights(layers, embedding, head) / plans.phases
    kept = loads.activations
    waiting = np.maximum(2.0 * (plans.pipeline - position) - 1.0, 1.0)
    in_flight = np.where(plans.phases > 1, 1.0, np.minimum(waiting, plans.accumulation))
    share = layers / table.depth
    # Phases shorter than a layer keep the live activations of a part of it.
    live = kept.live / np.maximum(plans.phases / np.maximum(layers, 1.0), 1.0)
    saved = kept.checkpoints * share / plans.phases + live
    if repeats_layers(table):
        saved = saved + in_flight * kept.boundary
    else:
        saved = saved + np.where(plans.pipeline > 1, in_flight * kept.boundary, 0.0)
    everything = in_flight * kept.layer * layers / plans.phases
    largest = np.maximum(
        loads.layer_buffers,
        np.maximum(embedding * loads.embedding_buffers, head * loads.head_buffers),
    )
    gathered = np.where(plans.rts > 1, size * loads.layer_weights, 0.0)
    on_chip = np.where(plans.offload > 0, 0.0, STATE_BYTES[optimizer] / plans.rts_optimizer)
    # A phase gathers all of its weights; between phases they lie sharded in streaming memory.
    shards = np.where(plans.phases > 1, 1.0, plans.rts)
    return {
        "weights": resident * size / shards,
        "gradients": np.where(plans.accumulation > 1, resident * size, 0.0),
        "optimizer": resident * on_chip,
        "activations": np.where((plans.recompute > 0) | (plans.phases > 1), saved, everything),
        "buffers": largest + np.where(plans.phases > 1, 0.0, gathered),
        "framework": np.asarray(chip.code_share * chip.tiles * chip.sram_per_tile),
    }


@dataclass(frozen=True, slots=True)
class Layout:
    """Stages of every plan: layers, and which stage has embedding and head, (3, …)."""

    stages: Stages
    layers: Floats
    embedding: Floats
    head: Floats
    position: Floats
    present: Floats
    """1 where a plan has such a stage. [-]"""


def plan_layout(
    table: OperatorTable,
    plans: Plans,
    loads: Loads,
    ends: tuple[Floats, Floats],
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision,
    optimizer: str,
) -> Layout:
    """Return which layers, embedding and head each kind of stage holds.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        How the model is laid over devices. [-]
    loads : Loads
        What a layer, the embedding and the head bring. [B]
    ends : tuple of ndarray
        Time of embedding and head over that of one layer. [-]
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack. [-]
    precision : Precision
        Number format. [-]
    optimizer : str
        A key of :data:`STATE_BYTES`. [-]

    Returns
    -------
    layout : Layout
        First stage, fullest between, last. [-]

    Notes
    -----
    The limit of the first stage follows from its memory without layers and with one. A stage that
    runs in phases has no limit: what does not fit waits in streaming memory.

    References
    ----------
    .. [1] Graphcore, examples repository, BERT configurations (layers per IPU).

    Examples
    --------
    ``tests/engine/ipu/test_stages.py`` holds BERT-Large on four and on eight IPUs.

    >>> sorted(STATE_BYTES)[0]
    'adafactor'
    """
    tied = head_shares_embedding(table)
    zero, one = np.zeros(()), np.ones(())
    bare, single = (
        np.asarray(
            sum(
                stage_parts(
                    table,
                    plans,
                    loads,
                    layers,
                    zero,
                    one,
                    one if tied else zero,
                    chip,
                    precision=precision,
                    optimizer=optimizer,
                ).values()
            )
        )
        for layers in (zero, one)
    )
    room = FITS_BELOW * ipu_capacity(chip, software) - bare
    limit = np.where(plans.phases > 1, np.inf, room / np.maximum(single - bare, 1.0))
    embedding, head = ends
    with_embedding, with_last = (embedding + head, 0.0 * head) if tied else (embedding, head)
    stages = stage_layers(table.depth, plans.pipeline, limit, with_embedding, with_last)
    layers = stages.stacked
    pipeline = np.broadcast_to(plans.pipeline, layers.shape[1:])
    alone = pipeline <= 1
    head_on_first = np.ones_like(alone) if tied else alone
    here = np.ones_like(alone)
    return Layout(
        stages=stages,
        layers=layers,
        embedding=np.stack([here, ~here, ~here]).astype(float),
        head=np.stack([head_on_first, ~here, ~head_on_first]).astype(float),
        position=np.stack([0.0 * pipeline, 1.0 + 0.0 * pipeline, pipeline - 1.0]),
        present=np.stack([here, pipeline > 2, pipeline > 1]).astype(float),
    )
