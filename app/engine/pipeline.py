"""Pipeline parallelism: bubble and transfers between stages, and schedules pass by pass.

Step times use the closed forms; schedules, which add up to them, are there to be drawn and checked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.engine.compiled import formula
from app.engine.errors import Contradiction, OutOfRange
from app.engine.records import Floats


@formula
def bubble_slots(stages: float, chunks: float) -> float:
    """Slots of one micro-batch that every stage idles while the pipeline fills and drains.

    Chunks of the model shorten them (Narayanan et al. 2021, section 2.2).
    """
    return (stages - 1.0) / chunks


@formula
def fullest_stage(layers: float, stages: float) -> float:
    """Layers of the fullest pipeline stage.

    Layers need not divide over stages: the others hold as many or one fewer.

    >>> fullest_stage(96, 8), fullest_stage(126, 16)
    (12.0, 8.0)
    """
    return float(math.ceil(layers / stages))


@formula
def even_chunks(layers: float, chunks: float) -> float:
    """Chunks of a stage counted in its longest one, for which the others wait.

    Three chunks of eight layers hold 3, 3 and 2:

    >>> even_chunks(8, 4), round(even_chunks(8, 3), 3)
    (4.0, 2.667)
    """
    return layers / math.ceil(layers / chunks)


@formula
def relieved_layers(layers: float, stages: float) -> float:
    """Layers that the last stage holds fewer than the fullest, in place of the output layer and the loss.

    Half of the layers that are missing for equal stages, the odd one included; the first stage, with the
    embedding, lacks the others. Llama 3 405B has 126 layers on 16 stages, and the first and the last stage
    hold seven of them (Dubey et al. 2024, section 3.3.2).

    >>> relieved_layers(126, 16), relieved_layers(96, 8), relieved_layers(61, 16)
    (1.0, 0.0, 2.0)
    """
    missing = stages * math.ceil(layers / stages) - layers
    return float(min(math.ceil(missing / 2.0), math.ceil(layers / stages)))


@formula
def stage_transfer_time(
    size: float, bandwidth: float, latency: float, chunks: float, directions: float
) -> float:
    r"""Time one micro-batch spends between stages that computation does not hide.

    .. math:: t = v \left( d \frac{S}{B} + \alpha \right)

    Parameters
    ----------
    size : float
        Activations of one micro-batch that one rank sends, :math:`S`. [B]
    bandwidth : float
        Bandwidth of one rank, :math:`B`. [B/s]
    latency : float
        Start-up of one message, :math:`\\alpha`. [s]
    chunks : float
        Model chunks per stage, :math:`v`. [-]
    directions : float
        2 where sending and receiving wait for each other, else 1, :math:`d`. [-]

    Returns
    -------
    seconds : float
        Time added to every slot. [s]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 4.1 (scatter and gather).

    Examples
    --------
    >>> round(float(stage_transfer_time(50e6, 24e9, 30e-6, 1, 2.0)) * 1e3, 3)
    4.197
    """
    return chunks * (directions * size / bandwidth + latency)


@formula
def peak_bound_step_time(flop: float, peak: float, devices: float, stages: float, passes: float) -> float:
    r"""Time of one step whose products run at the peak of all devices and wait for the pipeline alone.

    .. math:: T^\star = \frac{F}{P N} \left(1 + \frac{p - 1}{M}\right)

    Parameters
    ----------
    flop : float
        Products of one step, :math:`F`. [FLOP]
    peak : float
        Peak of one device, :math:`P`. [FLOP/s]
    devices : float
        Devices, :math:`N`. [-]
    stages : float
        Pipeline stages, :math:`p`. [-]
    passes : float
        Micro-batches of a step times the chunks of a stage, :math:`M`. [-]

    Returns
    -------
    seconds : Floats
        Least time of the step. [s]

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 2.2.

    Examples
    --------
    1 PFLOP on 4 devices of 250 TFLOP/s, of which the fill and drain of four stages take three slots of 12:

    >>> float(peak_bound_step_time(1e15, 250e12, 4, 4, 12))
    1.25
    """
    return flop / (peak * devices) * (1.0 + bubble_slots(stages, 1.0) / passes)


Whole = NDArray[np.int64]
MOST_PASSES = 100_000
"""Passes of a schedule that are worth laying out one by one. [-]"""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Passes of one step; arrays of one length, in no particular order."""

    stage: Whole
    """Stage that works. [-]"""
    micro_batch: Whole
    """What it works on. [-]"""
    chunk: Whole
    """Which of its chunks of the model. [-]"""
    backward: NDArray[np.bool_]
    """Whether the pass goes backward."""
    start: Floats
    """When it begins, from the start of the step. [s]"""
    seconds: Floats
    """How long it takes. [s]"""

    @property
    def length(self) -> float:
        """When the last pass ends. [s]"""
        return float(np.max(self.start + self.seconds))


def one_forward_one_backward(
    stages: int, micro_batches: int, forward: float, backward: float, chunks: int = 1
) -> Schedule:
    r"""Lay out one step of a one-forward-one-backward pipeline, interleaved where stages have several chunks.

    Each stage first runs as many forward passes as it takes until the first gradient can be back,
    then a forward and a backward pass in turn, then the backward passes that are left. The step takes

    .. math:: T = \left( m + \frac{p - 1}{v} \right) \left( t_f + t_b \right)

    Parameters
    ----------
    stages : int
        Pipeline stages, :math:`p`, 1 or more. [-]
    micro_batches : int
        Micro-batches of the step, :math:`m`; a multiple of the stages where chunks are interleaved. [-]
    forward : float
        Forward pass of one micro-batch over all chunks of one stage, :math:`t_f`. [s]
    backward : float
        Its backward pass, :math:`t_b`. [s]
    chunks : int
        Chunks of the model per stage, :math:`v`. [-]

    Returns
    -------
    schedule : Schedule
        2 p m v passes; transfers between stages take no time. [-]

    Raises
    ------
    OutOfRange, Contradiction
        Where a count is below one, an interleaved pipeline has a part of a round of micro-batches, or there
        are more than :data:`MOST_PASSES` passes.

    References
    ----------
    .. [1] D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
       Megatron-LM," SC, 2021, section 2.2 and figure 4.

    Examples
    --------
    >>> one_forward_one_backward(4, 8, 1.0, 2.0).length, one_forward_one_backward(4, 8, 1.0, 2.0, 2).length
    (33.0, 28.5)
    """
    _check(stages, micro_batches, chunks)
    if chunks > 1 and micro_batches % stages:
        raise Contradiction(
            "{m} micro-batches do not form whole rounds of {p} stages, as interleaving requires",
            m=micro_batches,
            p=stages,
        )
    passes = micro_batches * chunks
    queues = [_order(stage, stages, passes, chunks) for stage in range(stages)]
    done: dict[tuple[bool, int, int], float] = {}
    clock, positions = [0.0] * stages, [0] * stages
    rows: list[tuple[int, int, int, bool, float, float]] = []
    lasts = {False: forward / chunks, True: backward / chunks}
    deepest = stages * chunks - 1
    while len(rows) < 2 * stages * passes:
        for stage, queue in enumerate(queues):
            while positions[stage] < len(queue):
                back, chunk, micro = queue[positions[stage]]
                depth = chunk * stages + stage
                # Forward needs the part of the model before it, backward the one after it or the loss.
                needed = (back, depth + 1 if back else depth - 1, micro)
                if back and depth == deepest:
                    needed = (False, deepest, micro)
                ready = 0.0 if not back and depth == 0 else done.get(needed)
                if ready is None:
                    break
                start = max(clock[stage], ready)
                clock[stage] = done[back, depth, micro] = start + lasts[back]
                rows.append((stage, micro, chunk, back, start, lasts[back]))
                positions[stage] += 1
    return _schedule(rows)


def lockstep(stages: int, micro_batches: int, forward: float, backward: float) -> Schedule:
    r"""Lay out one step of a pipeline of supersteps: all stages work, then all wait for the slowest.

    Forward passes of all micro-batches go through the stages, then their backward passes come back:

    .. math:: T = (m + p - 1) \left( t_f + t_b \right)

    Parameters
    ----------
    stages : int
        Pipeline stages, :math:`p`, 1 or more. [-]
    micro_batches : int
        Micro-batches of the step, :math:`m`. [-]
    forward : float
        Forward superstep of the slowest stage, exchange and synchronisation included, :math:`t_f`. [s]
    backward : float
        Backward superstep, :math:`t_b`. [s]

    Returns
    -------
    schedule : Schedule
        2 p m passes. [-]

    Raises
    ------
    OutOfRange
        Where a count is below one or there are more than :data:`MOST_PASSES` passes.

    References
    ----------
    .. [1] Y. Huang et al., "GPipe," NeurIPS, 2019, figure 2.
    .. [2] L. Valiant, "A bridging model for parallel computation," CACM 33(8), 1990.

    Examples
    --------
    >>> lockstep(4, 8, 1.0, 2.0).length
    33.0
    """
    _check(stages, micro_batches, 1)
    stage, micro = (grid.ravel() for grid in np.meshgrid(np.arange(stages), np.arange(micro_batches)))
    supersteps = micro_batches + stages - 1
    ahead = (stage + micro) * forward
    back = supersteps * forward + (stages - 1 - stage + micro) * backward
    half = np.zeros(stage.shape, dtype=bool)
    return Schedule(
        stage=np.concatenate([stage, stage]),
        micro_batch=np.concatenate([micro, micro]),
        chunk=np.zeros(2 * stage.size, dtype=np.int64),
        backward=np.concatenate([half, ~half]),
        start=np.concatenate([ahead, back]),
        seconds=np.repeat([forward, backward], stage.size),
    )


def _order(stage: int, stages: int, passes: int, chunks: int) -> list[tuple[bool, int, int]]:
    """Return the passes of one stage in their order: backward or not, chunk, micro-batch."""
    ahead = stages - stage - 1 if chunks == 1 else 2 * (stages - stage - 1) + (chunks - 1) * stages
    ahead = min(ahead, passes)

    def one(count: int, back: bool) -> tuple[bool, int, int]:
        round_, within = divmod(count, stages * chunks)
        chunk = within // stages
        micro = round_ * stages + within % stages if chunks > 1 else count
        return back, (chunks - 1 - chunk if back else chunk) if chunks > 1 else 0, micro

    order = [one(count, False) for count in range(ahead)]
    for count in range(passes - ahead):
        order += [one(ahead + count, False), one(count, True)]
    return order + [one(count, True) for count in range(passes - ahead, passes)]


def _check(stages: int, micro_batches: int, chunks: int) -> None:
    for name, count in (("stages", stages), ("micro-batches", micro_batches), ("chunks", chunks)):
        if count < 1:
            raise OutOfRange("{count} {name}: at least 1 is required", count=count, name=name)
    if 2 * stages * micro_batches * chunks > MOST_PASSES:
        raise OutOfRange("more than {most} passes; use fewer micro-batches", most=MOST_PASSES)


def _schedule(rows: list[tuple[int, int, int, bool, float, float]]) -> Schedule:
    stage, micro, chunk, back, start, seconds = (np.array(column) for column in zip(*rows, strict=True))
    return Schedule(stage, micro, chunk, back, start, seconds)
