r"""What an IPU holds: weights, gradients, optimizer state, activations, temporaries and code.

All of it lies in the SRAM of the tiles; only what a plan moves to streaming memory does not. The
part that no formula of the plan gives, program and vertex state, is a share of the SRAM.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from app.engine.compiled import inner
from app.engine.ipu.case import IpuCase, recomputes
from app.engine.ipu.work import Loads
from app.engine.plans import Plan

FITS_BELOW = 0.95
"""Filled share up to which a plan is said to fit."""
REFUSED_ABOVE = 1.05
"""Filled share above which a plan is said not to fit. The band between is as wide as the spread of
the code share over published configurations (Graphcore examples repository)."""


class Stage(NamedTuple):
    """One stage of a plan: what it holds."""

    layers: float
    """Layers; of unlike layers those of mean weight that weigh as much. [-]"""
    checkpoints: float
    """Share of all checkpoints. [-]"""
    embedding: float
    head: float
    position: float
    """Place in the pipeline, from 0. [-]"""
    present: float
    """1 where the plan has such a stage. [-]"""
    number: float
    """Layers by number. [-]"""
    received: float
    """What the stages before hand to it, skip connections that end in it included, over what one layer hands
    to the next. [-]"""
    passing: float
    """Skip connections that begin before it and end behind it, over the same. [-]"""
    begun: float
    """Skip connections that are kept at most of those that begin in it, over the same. [-]"""


@inner
def plain_stage(layers: float, checkpoints: float, embedding: float, head: float) -> Stage:
    """Return a first stage without skip connections, which receives what one layer hands to the next."""
    return Stage(
        layers=layers,
        checkpoints=checkpoints,
        embedding=embedding,
        head=head,
        position=0.0,
        present=1.0,
        number=layers,
        received=1.0,
        passing=0.0,
        begun=0.0,
    )


class StageMemory(NamedTuple):
    """Memory of one stage by part. [B]"""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    buffers: float
    framework: float


@inner
def stage_weights(loads: Loads, layers: float, embedding: float, head: float) -> float:
    """Return the parameters of a stage. [-]"""
    return layers * loads.layer_weights + embedding * loads.embedding_weights + head * loads.head_weights


@inner
def stage_memory(case: IpuCase, loads: Loads, plan: Plan, stage: Stage) -> StageMemory:
    r"""Return the memory of one stage, by part.

    .. math::

        M = \frac{2 P}{rts} + 2 P [\text{accumulation} > 1] + \frac{o P}{rts_o}
            + (2 (p - i) - 1) \, r \, b s h \cdot 2 + (k + 2 u) \, b s h \cdot 2
            + n \, b s h \cdot 2 + \text{live} + \text{temporaries} + c S

    Parameters
    ----------
    case : IpuCase
        Size of an element, optimizer state :math:`o`, code share :math:`c` of the SRAM :math:`S`. [-]
    loads : Loads
        What a layer, the embedding and the head bring. [B]
    plan : Plan
        How the model is laid over devices. [-]
    stage : Stage
        Its layers :math:`n`, place :math:`i`, embedding and head, what it receives :math:`r`, and skip
        connections that begin in it :math:`k` or pass it :math:`u`. [-]

    Returns
    -------
    memory : StageMemory
        weights, gradients, optimizer, activations, buffers, framework. [B]

    Notes
    -----
    A stage holds the inputs of the micro-batches in flight, twice as many as stages follow it
    because forward and backward passes alternate. In phases only one phase is resident, and its
    inputs come from streaming memory. Sharded weights are gathered layer by layer. A skip connection is kept
    from where it begins until the way up takes it, recomputed or not; a stage that it passes holds what has
    come and, on the way back, its gradient.

    References
    ----------
    .. [1] Graphcore, "Model parallelism on the IPU with TensorFlow," section on pipelining.
    .. [2] Graphcore, PopART tensor_locations.rst (replicated tensor sharding).
    .. [3] Code share: closure over the configurations of Graphcore's examples repository.
    .. [4] V. Korthikanti et al., "Reducing activation recomputation in large transformer models,"
       MLSys, 2023, equation 2.

    Examples
    --------
    >>> from app.engine.ipu.examples import case
    >>> brought = Loads(*[0.0] * len(Loads._fields))._replace(layer_weights=1e6)
    >>> one_layer = plain_stage(1.0, 1.0, embedding=0.0, head=0.0)
    >>> parts = stage_memory(case(), brought, Plan(*[1.0] * len(Plan._fields)), one_layer)
    >>> parts.weights, round(parts.framework / 1e6)
    (2000000.0, 207)
    """
    phased = plan.phases > 1.0
    resident = stage_weights(loads, stage.layers, stage.embedding, stage.head) / plan.phases
    waiting = max(2.0 * (plan.pipeline - stage.position) - 1.0, 1.0)
    in_flight = 1.0 if phased else min(waiting, plan.accumulation)
    layers = stage.checkpoints * case.depth
    if recomputes(plan):
        # Phases shorter than a layer keep the live activations of a part of it.
        live = loads.live / max(plan.phases / max(layers, 1.0), 1.0)
        # One layer's activations are alive at a time, or those of what precedes the layers.
        activations = loads.checkpoints * stage.checkpoints / plan.phases + max(
            live, stage.embedding * loads.embedding
        )
        if case.repeats > 0.0 or plan.pipeline > 1.0:
            activations += in_flight * loads.boundary * stage.received
        activations += loads.boundary * stage.begun
    else:
        activations = in_flight * loads.layer * stage.checkpoints * case.depth / plan.phases
    activations += 2.0 * loads.boundary * stage.passing
    buffers = max(
        loads.layer_buffers, stage.embedding * loads.embedding_buffers, stage.head * loads.head_buffers
    )
    if plan.rts > 1.0 and not phased:
        buffers += case.size * loads.layer_weights
    return StageMemory(
        # A phase gathers all of its weights; between phases they lie sharded in streaming memory.
        weights=resident * case.size / (1.0 if phased else plan.rts),
        gradients=resident * case.size if plan.accumulation > 1.0 else 0.0,
        optimizer=0.0 if plan.offload > 0.0 else resident * (case.state / plan.rts_optimizer),
        activations=activations,
        buffers=buffers,
        framework=case.chip.code_share * case.chip.tiles * case.chip.sram_per_tile,
    )


@inner
def total_memory(memory: StageMemory) -> float:
    """Return the bytes of all parts."""
    state = memory.weights + memory.gradients + memory.optimizer
    return state + memory.activations + memory.buffers + memory.framework


@inner
def stored_between_phases(case: IpuCase, plan: Plan, weights: float) -> float:
    """Return the bytes the heaviest stage keeps in streaming memory whatever the micro-batches of a step."""
    stored = 0.0
    if plan.offload > 0.0 or plan.phases > 1.0:
        stored = case.state * weights / plan.rts_optimizer
    if plan.phases > 1.0:
        stored += 2.0 * case.size * weights / plan.rts
    return stored


@inner
def phase_rounds(case: IpuCase, loads: Loads, plan: Plan, weights: float) -> float:
    """Return how often a step runs through its phases: once while streaming memory holds what waits.

    Between phases wait the activations of the micro-batches of a round. Where those of the whole step are
    too many they come in several rounds.

    >>> from app.engine.ipu.examples import case
    >>> loads = Loads(*[0.0] * len(Loads._fields))._replace(layer_weights=1e6, boundary=1e6)
    >>> def plan(accumulation: float) -> Plan:
    ...     return Plan(*[1.0] * len(Plan._fields))._replace(phases=10.0, accumulation=accumulation)
    >>> [phase_rounds(case(), loads, plan(count), 1e6) for count in (1000.0, 4096.0)]
    [1.0, 2.0]
    """
    if plan.phases <= 1.0 or case.chip.streaming_capacity == 0.0:
        return 1.0
    per_micro_batch = plan.phases * loads.boundary / plan.tensor
    room = case.chip.streaming_capacity - stored_between_phases(case, plan, weights)
    if per_micro_batch <= 0.0 or room < per_micro_batch:
        # Nothing waits, or not even one micro-batch has room: the plan does not fit.
        return 1.0
    return float(math.ceil(plan.accumulation / math.floor(room / per_micro_batch)))


@inner
def streamed_memory(case: IpuCase, loads: Loads, plan: Plan, weights: float) -> float:
    """Return the bytes the heaviest stage keeps in streaming memory."""
    stored = stored_between_phases(case, plan, weights)
    if plan.phases > 1.0:
        waiting = math.ceil(plan.accumulation / phase_rounds(case, loads, plan, weights))
        stored += waiting * plan.phases * loads.boundary / plan.tensor
    return stored
