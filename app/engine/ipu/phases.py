"""Phased execution: how many phases a stage needs so that each fits the SRAM that is really free."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.engine.ipu.keys import plan_shape
from app.engine.ipu.loads import ipu_capacity
from app.engine.ipu.pipeline import pipeline_stages
from app.engine.ipu.products import element_bytes
from app.engine.ipu.stage_memory import STATE_BYTES, stage_parts
from app.engine.operators import OperatorTable
from app.engine.plans import Plans
from app.engine.records import FloatLike, Floats, IpuChip, IpuSoftware, Precision


def phases_of_layers(layers: FloatLike, layer_bytes: FloatLike, free: FloatLike) -> Floats:
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
    phases : ndarray
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

    >>> phases_of_layers(96, np.array([113.2e6, 169.8e6]), 528e6).tolist()
    [24.0, 32.0]
    """
    room = np.maximum(np.asarray(free, dtype=float), 0.0)
    size = np.asarray(layer_bytes, dtype=float)
    each = np.floor(room / np.maximum(size, 1.0))
    some = np.maximum(room, 1.0)
    cut = np.where(room > 0, np.ceil(layers * size / some), np.inf)
    return np.asarray(np.maximum(np.where(each >= 1, np.ceil(layers / np.maximum(each, 1.0)), cut), 1.0))


def phases_needed(
    table: OperatorTable,
    plans: Plans,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision = Precision.FP16_16,
    optimizer: str = "lamb",
) -> Floats:
    """Return the phases a stage needs over the SRAM that is really free.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        How the model is laid over devices; their own phases are not looked at. [-]
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack. [-]
    precision : Precision
        Number format. [-]
    optimizer : str
        A key of :data:`~app.engine.ipu.stage_memory.STATE_BYTES`. [-]

    Returns
    -------
    phases : ndarray
        1 where the whole stage fits as the plan has it; else the phases of its layers with
        weights, gradient accumulator and optimizer shard, and those of embedding and head. [-]

    References
    ----------
    .. [1] Graphcore, PopART documentation on phased execution and batch serialisation.

    Examples
    --------
    >>> from app.engine.ipu.examples import BOW, POPART
    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="a", inputs=1024, outputs=1024)], depth=1, hidden=1024,
    ...     tokens=1)
    >>> phases_needed(table, Plans.of(micro_batch=[64, 128]), BOW, POPART).tolist()
    [1.0, 1.0]
    """
    capacity = ipu_capacity(chip, software)
    resident = replace(plans, phases=np.ones(plan_shape(plans)))
    stages = pipeline_stages(table, resident, chip, software, precision=precision, optimizer=optimizer)
    loads, layout = stages.loads, stages.layout
    whole = sum(
        layout.memory(table, resident, loads, chip, precision=precision, optimizer=optimizer).values()
    )
    fullest = np.max(np.where(layout.present > 0, whole, -np.inf), axis=0)
    # One layer at a time, nothing stashed: the least that a phase has beside its weights.
    beside = stage_parts(
        table,
        replace(plans, phases=np.full((), 2.0)),
        loads,
        np.ones(()),
        np.zeros(()),
        np.ones(()),
        np.ones(()),
        chip,
        precision=precision,
        optimizer=optimizer,
    )
    free = capacity - beside["activations"] - beside["buffers"] - beside["framework"]
    size = element_bytes(precision)
    accumulator = np.where(plans.accumulation > 1, size, 0.0)
    per_weight = size + accumulator + STATE_BYTES[optimizer] / plans.rts_optimizer
    layers = np.max(layout.present * layout.layers, axis=0)
    layer_bytes = per_weight * np.maximum(loads.layer_weights, 1.0)
    # A layer that does not fit beside its own activations is cut, and they with it.
    room = capacity - beside["buffers"] - beside["framework"]
    cut = phases_of_layers(layers, np.maximum(layer_bytes + beside["activations"], room + 1.0), room)
    of_layers = np.where(free >= layer_bytes, phases_of_layers(layers, layer_bytes, free), cut)
    ends = np.max(layout.present * loads.weights(0.0 * layout.layers, layout.embedding, layout.head), axis=0)
    of_ends = np.ceil(per_weight * ends / np.maximum(free, 1.0))
    return np.asarray(np.where(fullest <= capacity, 1.0, of_layers + of_ends))
