"""Candidates that no search can bring to the front: beaten even at the least time and money they can take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.engine.plans import Plans, Recompute, Sharding
from app.engine.records import Floats
from app.engine.search.evaluate import GpuEvaluator
from app.estimating.context import SizingContext
from app.estimating.deciding import ResolvedRequest, usual_run
from app.estimating.decision import Alternative
from app.estimating.hardware import Hardware
from app.estimating.plan_search import contexts_of, memory_of
from app.estimating.scenario import offload_sums
from app.estimating.workload import largest_batch

SIZES = tuple(sorted(float(base << power) for base in (1, 3) for power in range(11)))
"""Micro-batches of which the fastest bounds a time."""
TENSOR = tuple(float(1 << power) for power in range(7))
BULK = 0.95
"""Share of the price and power of one system that each of many costs and draws at least."""
LINEAR, RELIEVED = 1.05, 1.6
"""Factors by which more machines may be faster than in proportion: with room for larger micro-batches, and
where they also need not compute activations again or keep the optimizer on the host."""
MONOTONE = 0.99
"""Share of a time that fewer machines take at least: a choice on more is slower by little at most."""
LITTLE = 0.01
"""Share of its time by which an option that costs more must be faster to be searched."""
CROWDED = 1.1
"""Share of the memory beyond which a plan that fills at least so much does not fit."""

Flags = NDArray[np.bool_]


def least_times(
    question: ResolvedRequest, hardware: Hardware, devices: Sequence[int], context: SizingContext
) -> Floats:
    """Return the time to train below which no plan on numbers of devices gets. [s]

    The computation of one micro-batch a step, the fastest of several, whether it fits into the memory or not:
    no exchange but that of tensor ranks, no bubble, no update, nothing computed twice.
    """
    scenario, training = question.scenario.of_stated_plan, question.training
    table = scenario.table
    if scenario.is_ipu:
        ranks, size = np.ones(len(SIZES)), np.array(SIZES)
        once = size * table.training_flop / scenario.peak * scenario.time_factor()
    else:
        heads = int(table.attention_heads)
        degrees = [degree for degree in TENSOR if degree == 1.0 or (heads and heads % degree == 0)]
        shares = [1.0 / ranks for ranks in contexts_of(scenario, {}) if ranks > 1]
        axes = degrees, [*shares, *SIZES], [0.0, 1.0], [1.0, 2.0]
        tensor, size, split, rounds = (values.ravel() for values in np.meshgrid(*axes, indexing="ij"))
        sharers = 1.0 / np.minimum(size, 1.0)
        plans = Plans.of(
            tensor=tensor, data=sharers, micro_batch=size, accumulation=rounds, context=sharers,
            sequence_parallel=split,
        )  # fmt: skip
        parts = scenario.step(plans).parts
        once = np.sum(
            [parts[name][::2] for name in ("gemm", "attention", "memory_bound", "tensor_comm")], axis=0
        )
        # What is fixed of each micro-batch, without what is fixed of a step.
        once = once + parts["fixed"][1::2] - parts["fixed"][::2]
        tensor, size, sharers = tensor[::2], size[::2], sharers[::2]
        ranks, size = tensor * sharers, size * sharers
    most = float(training.global_batch or largest_batch(training, context))
    copies = np.minimum(np.array(devices, dtype=float)[:, np.newaxis] / ranks, most / size)
    spread = [np.broadcast_to(values, copies.shape).ravel() for values in (copies, size, once)]
    plans = Plans.of(data=spread[0], micro_batch=spread[1])
    totals = usual_run(scenario, training, hardware, context).totals(plans, np.ascontiguousarray(spread[2]))
    return np.asarray(MONOTONE * totals.reshape(copies.shape).min(axis=1))


def least_memory(question: ResolvedRequest, devices: Sequence[int]) -> Floats:
    """Return the share of the memory of a device that plans on numbers of GPUs fill at least. [-]

    Everything is sharded as far as it goes, what the host has room for is there, and the activations of one
    sample computed again.
    """
    scenario = question.scenario
    table, contexts = scenario.table, contexts_of(scenario, {})
    powers = [float(1 << power) for power in range(max(devices).bit_length())]
    heads = [degree for degree in powers if degree <= max(table.attention_heads, 1.0)]
    layers = [degree for degree in powers if degree <= table.depth] if table.attention_heads else [1.0]
    axes = np.meshgrid(devices, heads, layers, offload_sums(scenario), indexing="ij")
    count, tensor, pipeline, offload = (np.asarray(axis, dtype=float).ravel() for axis in axes)
    legal = tensor * pipeline <= count
    count, tensor, pipeline, offload = (each[legal] for each in (count, tensor, pipeline, offload))
    data = np.floor(count / (tensor * pipeline))
    context = np.minimum(data, float(max(contexts)))
    plans = Plans.of(
        tensor=tensor, pipeline=pipeline, data=data, micro_batch=1.0 / context, context=context,
        recompute=float(Recompute.FULL), sequence_parallel=np.where(tensor > 1.0, 1.0, 0.0), offload=offload,
        sharding=np.where(pipeline > 1.0, float(Sharding.OPTIMIZER), float(max(Sharding))),
        expert=np.minimum(data, float(table.experts)),
    )  # fmt: skip
    evaluator = GpuEvaluator(scenario.gpu_case())
    evaluated = evaluator(plans, evaluator.limits(0.0))
    fits = evaluated.elsewhere <= (scenario.memory_elsewhere or np.inf)
    memory = np.where(fits, evaluated.memory / memory_of(scenario.chip), np.inf)
    return np.array([memory[count == number].min() for number in devices])


class Rival(NamedTuple):
    """What an option has, or a candidate has at least."""

    kind: float
    """Rented, own GPUs or own IPUs: what a filter of systems tells apart."""
    seconds: float
    money: float
    """Purchase, or cost of the run, or an hour of a commitment; infinite where unknown. [currency]"""
    power: float
    accelerators: float
    for_sale: float
    """Whether it may be recommended."""


KIND, SECONDS, MONEY, POWER, ACCELERATORS, FOR_SALE = range(len(Rival._fields))


def rival_of(alternative: Alternative, accelerators: int, *, ipu: bool) -> Rival:
    """Return an option as one that may beat others."""
    outlay, owned = alternative.outlay, alternative.owned
    amount = alternative.purchase if owned else alternative.run
    if outlay is not None and outlay.commitment:
        amount = outlay.committed
    return Rival(
        kind=float((2 if ipu else 1) if owned else 0),
        seconds=np.inf if alternative.time is None else alternative.time[0],
        money=np.inf if amount is None or outlay is None else amount[0],
        power=0.0 if alternative.power is None else alternative.power[0],
        accelerators=float(accelerators),
        for_sale=float(alternative.on_sale and outlay is not None),
    )


def beaten(candidates: Floats, rivals: Floats) -> Flags:
    """Return which candidates some rival outdoes in nothing but a little time, as rows of :class:`Rival`.

    What has no price is beaten by anything for sale that is faster with no more accelerators.
    """
    mine, theirs = candidates[:, np.newaxis].copy(), rivals[np.newaxis]
    measures = SECONDS, MONEY, POWER, ACCELERATORS
    better = np.logical_or.reduce([theirs[..., column] < mine[..., column] for column in measures])
    mine[..., SECONDS] *= 1.0 + LITTLE
    as_good = [theirs[..., column] <= mine[..., column] for column in measures]
    alike = (theirs[..., KIND] == mine[..., KIND]) & (theirs[..., FOR_SALE] >= mine[..., FOR_SALE])
    instead = np.isinf(mine[..., MONEY]) & (theirs[..., FOR_SALE] > 0)
    instead &= as_good[measures.index(SECONDS)] & as_good[measures.index(ACCELERATORS)]
    return np.asarray(((alike & better & np.logical_and.reduce(as_good)) | instead).any(axis=1))
