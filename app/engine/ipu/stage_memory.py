"""Memory of one pipeline stage, by part."""

from __future__ import annotations

import numpy as np

from app.engine.ipu.activations import repeats_layers
from app.engine.ipu.loads import Loads
from app.engine.ipu.products import element_bytes
from app.engine.operators import OperatorTable
from app.engine.plans import Plans
from app.engine.records import Floats, IpuChip, Precision

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
    kept: Floats | None = None,
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
    kept : ndarray, optional
        Share of all checkpoints that the stage keeps; that of its layers if left out. [-]

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
    activations = loads.activations
    waiting = np.maximum(2.0 * (plans.pipeline - position) - 1.0, 1.0)
    in_flight = np.where(plans.phases > 1, 1.0, np.minimum(waiting, plans.accumulation))
    share = layers / table.depth if kept is None else kept
    # Phases shorter than a layer keep the live activations of a part of it.
    live = activations.live / np.maximum(plans.phases / np.maximum(share * table.depth, 1.0), 1.0)
    # One layer's activations are alive at a time, or those of what precedes the layers.
    live = np.maximum(live, embedding * activations.embedding)
    saved = activations.checkpoints * share / plans.phases + live
    if repeats_layers(table):
        saved = saved + in_flight * activations.boundary
    else:
        saved = saved + np.where(plans.pipeline > 1, in_flight * activations.boundary, 0.0)
    everything = in_flight * activations.layer * share * table.depth / plans.phases
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
