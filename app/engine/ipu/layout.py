r"""The split over stages: as memory and time allow, as a configuration states it, or by unlike blocks.

The layers of an image network differ in time by an order of magnitude, so equal numbers of them
make unequal stages. They stay in order, and a stage takes a run of them: the cut is the one whose
slowest stage is fastest (Narayanan et al. 2019, section 3.1),

.. math:: \min_{\text{cuts}} \max_g \sum_{i \in g} t_i
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from app.engine.arrays import store
from app.engine.compiled import Matrix, Places, Vector, inner, kernel, record
from app.engine.ipu.case import IpuCase, recomputes
from app.engine.ipu.stage_memory import FITS_BELOW, Stage, plain_stage, stage_memory, total_memory
from app.engine.ipu.work import (
    BACKWARD_TIME,
    EMBEDDING_PLACE,
    FORWARD_TIME,
    HEAD_PLACE,
    LAYER_PLACE,
    PARTS,
    PLACE,
    RECOMPUTE_TIME,
    WEIGHTS,
    Loads,
)
from app.engine.plans import Plan

ROUNDING = 1e-9
"""Room for the rounding of sums: of a level that is whole layers plus a share of one, of a stage's time."""


class Placement(NamedTuple):
    """A model laid over the stages of plans."""

    case: IpuCase
    plans: Matrix
    """:class:`Plan` of each, a row each."""
    keys: Places
    """What each plan's micro-batch has in common with others', (N,)."""
    loads: Matrix
    """:class:`Loads` by key, a row each."""
    layouts: Places
    """Layout of each plan, (N,)."""
    stages: Matrix
    """:class:`Stage` of every stage by layout, side by side."""
    slowest: Matrix
    """:class:`~app.engine.ipu.step.SlowestStages` by layout."""


class LayerChain(NamedTuple):
    """A chain of unlike layers, (L,) each, over what one hands to the next in the mean."""

    counted: Vector
    """1 for those that count as a layer."""
    saved: Vector
    """What each keeps."""
    entering: Vector
    """What each is handed by the one before."""
    skipping: Vector
    """Skip connections that pass over a cut before each."""
    once: Vector
    """Receives the time of each alone. [s]"""
    repeated: Vector
    """Receives its time with recomputation. [s]"""


class ChainCases(NamedTuple):
    """What layouts of a chain differ in, (C,) each."""

    keys: Vector
    pipelines: Vector
    recomputes: Vector
    """1 where activations are computed again."""


class Stages(NamedTuple):
    """Layers on the first stage, on the fullest of those between, and on the last."""

    first: float
    middle: float
    last: float


@inner
def stage_layers(
    depth: float, pipeline: float, limit: float = math.inf, first_extra: float = 0.0, last_extra: float = 0.0
) -> Stages:
    """Return the layers on the first stage, on the fullest between, and on the last.

    ``limit`` is the layers that fit beside the embedding on the first stage, the extras are the times of
    what else is on the first and the last over that of one layer. Without a stage between, its entry repeats
    the last's; a pipeline of one stage has all layers on the first. The least level is an integer, or one
    plus an extra, at most two above that of layers that can be cut anywhere. Where no layer fits beside the
    embedding the plan is kept, and refused by its memory.

    >>> tuple(float(layers) for layers in stage_layers(24.0, 4.0, 5.0, 0.6, 0.0))
    (3.0, 7.0, 7.0)
    """
    if pipeline <= 1.0:
        return Stages(depth, 0.0, 0.0)
    limit = max(np.floor(limit), 0.0)
    between = max(pipeline - 2.0, 0.0)
    lowest = level_of_cut_layers(depth, between, limit, first_extra, last_extra)
    level = math.inf
    for extra in (0.0, first_extra, last_extra):
        whole = np.ceil(lowest - extra - ROUNDING)
        for more in (0.0, 1.0):
            tried = extra + (whole + more)
            if tried < level and resident_at(tried, between, limit, first_extra, last_extra) >= depth:
                level = tried
    if level == math.inf:
        level = depth + first_extra + last_extra
    first = min(limit, whole_layers(level - first_extra))
    last = whole_layers(level - last_extra)
    spare = resident_at(level, between, limit, first_extra, last_extra) - depth
    from_first = min(spare, first)
    last -= min(spare - from_first, last)
    first -= from_first
    middle = np.ceil(max(depth - first - last, 0.0) / max(between, 1.0))
    return Stages(first, middle if between > 0.0 else last, last)


@inner
def whole_layers(level: float) -> float:
    """Return the whole layers within a stage's time."""
    return max(float(np.floor(level + ROUNDING)), 0.0)


@inner
def resident_at(level: float, between: float, limit: float, first_extra: float, last_extra: float) -> float:
    """Return the layers that all stages take together at a level."""
    ends = min(limit, whole_layers(level - first_extra)) + whole_layers(level - last_extra)
    return between * float(np.floor(level + ROUNDING)) + ends


@inner
def quotient(layers: float, stages: float) -> float:
    return layers / stages if stages > 0.0 else math.inf


@inner
def level_of_cut_layers(
    depth: float, between: float, limit: float, first_extra: float, last_extra: float
) -> float:
    """Return the slowest stage's time, in layers, if layers could be cut anywhere.

    With the stages that take part the level is (depth + extras) / stages; a stage whose extra
    alone exceeds the level takes no layer, which the smallest of these quotients respects.
    """
    free = min(
        quotient(depth, between),
        quotient(depth + first_extra, between + 1.0),
        quotient(depth + last_extra, between + 1.0),
        quotient(depth + first_extra + last_extra, between + 2.0),
    )
    remaining = max(depth - limit, 0.0)
    return max(free, min(quotient(remaining, between), quotient(remaining + last_extra, between + 1.0)))


def stage_list(counts: Sequence[float], depth: int, pipeline: int) -> tuple[float, ...]:
    """Return the layers of every stage of one plan, which add up to the depth, for display.

    The counts are those of the three kinds of stages or of every stage.

    >>> stage_list((3.0, 7.0, 7.0), 24, 4)
    (3.0, 7.0, 7.0, 7.0)
    """
    layers_by_stage = tuple(float(layers) for layers in np.ravel(counts))
    if pipeline <= 1:
        return (float(depth),)
    if sum(layers_by_stage[:pipeline]) == depth and len(layers_by_stage) >= pipeline:
        return layers_by_stage[:pipeline]
    first, last = layers_by_stage[0], layers_by_stage[-1]
    between = pipeline - 2
    if between == 0:
        return (first, depth - first)
    # Later stages stash fewer micro-batches, so they take the layers that do not divide evenly.
    full, extra = divmod(int(depth - first - last), between)
    return (first, *(float(full + (1 if stage >= between - extra else 0)) for stage in range(between)), last)


STAGE = len(Stage._fields)
"""Columns of one stage."""
KINDS = 3
FIRST, MIDDLE, LAST = range(KINDS)
"""Kinds of stages that like layers need: the first, the fullest between, the last."""
HALVINGS = 40
"""Halvings of the interval in which the slowest stage's time lies: exact to rounding."""
TIMELESS = 1e6
"""Layers that embedding or head take at most where layers take no time. A model without layers has one
stage; the ratio then decides nothing but stays finite."""
TINY = float(np.finfo(float).tiny)


@inner
def stage_of(stages: Matrix, c: int, g: int) -> Stage:
    return record(Stage, stages, c, g * STAGE)


@inner
def put_stage(stages: Matrix, c: int, g: int, stage: Stage) -> None:
    store(stages, c, g * STAGE, stage)


@inner
def end_layers(times: Matrix, k: int, section: int, recompute: bool) -> float:
    """Return how many layers' time embedding or head take forward and backward.

    The head recomputes nothing, since its backward pass follows at once.
    """
    layer = whole_time(times, k, LAYER_PLACE, recompute)
    return min(
        whole_time(times, k, section, recompute and section != HEAD_PLACE) / max(layer, TINY), TIMELESS
    )


@inner
def whole_time(times: Matrix, k: int, section: int, recompute: bool) -> float:
    """Return the seconds of a section, or unit, forward, forward again and backward."""
    forward, backward = 0.0, 0.0
    for part in range(section * PLACE, section * PLACE + PARTS):
        forward += times[k, FORWARD_TIME + part]
        backward += times[k, BACKWARD_TIME + part]
    return (2.0 if recompute else 1.0) * forward + backward


@inner
def balanced_layers(case: IpuCase, loads: Loads, plan: Plan, times: Matrix, k: int) -> Stages:
    """Return the layers of each kind of stage as memory and time allow.

    The limit of the first stage follows from its memory without layers and with one. A stage that
    runs in phases has no limit: what does not fit waits in streaming memory.
    """
    limit = math.inf
    if plan.phases <= 1.0:
        without = plain_stage(0.0, 0.0, 1.0, case.tied)
        single = plain_stage(1.0, 1.0 / case.depth, 1.0, case.tied)
        occupied = total_memory(stage_memory(case, loads, plan, without))
        per_layer = total_memory(stage_memory(case, loads, plan, single)) - occupied
        limit = (FITS_BELOW * (case.usable * case.chip.sram_per_tile) - occupied) / max(per_layer, 1.0)
    recompute = recomputes(plan)
    embedding = end_layers(times, k, EMBEDDING_PLACE, recompute)
    head = end_layers(times, k, HEAD_PLACE, recompute)
    if case.tied > 0.0:
        return stage_layers(case.depth, plan.pipeline, limit, embedding + head, 0.0)
    return stage_layers(case.depth, plan.pipeline, limit, embedding, head)


@inner
def like_stage(case: IpuCase, plan: Plan, layers: Stages, kind: int) -> Stage:
    """Return a stage of like layers: first, fullest between, or last."""
    head = 1.0 if case.tied > 0.0 or plan.pipeline <= 1.0 else 0.0
    if kind == FIRST:
        return plain_stage(layers.first, layers.first / case.depth, 1.0, head)
    if kind == MIDDLE:
        present = 1.0 if plan.pipeline > 2.0 else 0.0
        return _later_stage(case, layers.middle, 0.0, 1.0, present)
    present = 1.0 if plan.pipeline > 1.0 else 0.0
    return _later_stage(case, layers.last, 1.0 - head, plan.pipeline - 1.0, present)


@inner
def _later_stage(case: IpuCase, layers: float, head: float, position: float, present: float) -> Stage:
    """Return a stage of like layers behind the first."""
    return Stage(
        layers=layers,
        checkpoints=layers / case.depth,
        embedding=0.0,
        head=head,
        position=position,
        present=present,
        number=layers,
        received=1.0,
        passing=0.0,
        begun=0.0,
    )


@inner
def stated_stage(case: IpuCase, split: Vector, stage: int) -> Stage:
    last = 0 if case.tied > 0.0 else split.shape[0] - 1
    layers = split[stage]
    return Stage(
        layers=layers,
        checkpoints=layers / case.depth,
        embedding=1.0 if stage == 0 else 0.0,
        head=1.0 if stage == last else 0.0,
        position=1.0 * stage,
        present=1.0,
        number=layers,
        received=1.0,
        passing=0.0,
        begun=0.0,
    )


@inner
def put_slowest(
    case: IpuCase, plan: Plan, stages: Matrix, c: int, times: Matrix, k: int, parts: Vector, slowest: Matrix
) -> None:
    """Write the parts of the slowest stage forward and of the slowest backward, of like layers.

    All forward stages of a pipeline but the last are computed again for their backward pass
    (Graphcore, pipeline_recomputation.cc; PopART, pipeline.cpp). A head that shares the embedding's weights
    is a last stage of its own on the device of the first. One device alone computes again what lies before
    its last checkpoint. ``parts`` takes those of one stage.
    """
    recompute = 1.0 if recomputes(plan) else 0.0
    for g in range(stages.shape[1] // STAGE):
        stage = stage_of(stages, c, g)
        embedding, head = stage.present * stage.embedding, stage.present * stage.head
        layers = stage.present * stage.layers
        source, repeated, repeated_head = RECOMPUTE_TIME, recompute * layers, recompute * head
        if plan.pipeline > 1.0:
            last = stage.position == plan.pipeline - 1.0 and case.tied <= 0.0
            source, repeated, repeated_head = FORWARD_TIME, 0.0 if last else recompute * layers, 0.0
        for part in range(PARTS):
            parts[part] = on_stage(times, k, FORWARD_TIME + part, embedding, layers, head)
            back = on_stage(times, k, BACKWARD_TIME + part, embedding, layers, head)
            more = on_stage(times, k, source + part, recompute * embedding, repeated, repeated_head)
            parts[PARTS + part] = back + more
        keep_slowest(parts, slowest, c, g)


@inner
def keep_slowest(parts: Vector, slowest: Matrix, c: int, g: int) -> None:
    """Keep the parts of a stage where it is slower than those before it, forward and backward."""
    for start in range(0, 2 * PARTS, PARTS):
        total, longest = 0.0, 0.0
        for part in range(start, start + PARTS):
            total += parts[part]
            longest += slowest[c, part]
        if g == 0 or total > longest:
            for part in range(start, start + PARTS):
                slowest[c, part] = parts[part]


@inner
def on_stage(times: Matrix, k: int, column: int, embedding: float, layers: float, head: float) -> float:
    """Return the seconds of a stage that holds so much of each section."""
    of_embedding = embedding * times[k, EMBEDDING_PLACE * PLACE + column]
    of_ends = of_embedding + head * times[k, HEAD_PLACE * PLACE + column]
    return float(of_ends + layers * times[k, LAYER_PLACE * PLACE + column])


@inner
def lay_like(
    case: IpuCase,
    plan: Plan,
    loads: Loads,
    times: Matrix,
    k: int,
    split: Vector,
    parts: Vector,
    stages: Matrix,
    c: int,
    slowest: Matrix,
) -> None:
    """Write the stages of a plan of like layers, balanced or as stated, and the slowest."""
    if split.shape[0] > 0:
        for g in range(split.shape[0]):
            put_stage(stages, c, g, stated_stage(case, split, g))
    else:
        layers = balanced_layers(case, loads, plan, times, k)
        for g in range(KINDS):
            put_stage(stages, c, g, like_stage(case, plan, layers, g))
    put_slowest(case, plan, stages, c, times, k, parts, slowest)


@kernel
def lay_like_layers(
    case: IpuCase,
    plans: Matrix,
    keys: Places,
    times: Matrix,
    loads: Matrix,
    split: Vector,
    parts: Vector,
    stages: Matrix,
    slowest: Matrix,
) -> None:
    """Write the stages of every plan of like layers, balanced or as stated, and the slowest."""
    for i in range(plans.shape[0]):
        plan, k = record(Plan, plans, i), keys[i]
        lay_like(case, plan, record(Loads, loads, k), times, k, split, parts, stages, i, slowest)


@inner
def fill_stages(times: Vector, last: Vector, level: float, most: float, cut: Places) -> bool:
    """Fill stages from the last up to a level; return whether every layer fits one of so many.

    ``cut`` is how many stages before the last each layer lies.
    """
    limit = level * (1.0 + ROUNDING)
    stage, filled = 0, 0.0
    for layer in range(times.shape[0] - 1, -1, -1):
        added = filled + (last[layer] if stage == 0 else times[layer])
        if added > limit and filled > 0.0:
            stage += 1
            added = times[layer]
        if added > limit or stage >= most:
            return False
        filled = added
        cut[layer] = stage
    return True


@inner
def balance(times: Vector, last: Vector, most: float, cut: Places) -> None:
    """Write the stage of each of a chain of layers so that the slowest of so many stages is fastest.

    ``last`` are the times on the last stage, which recomputes nothing; no longer than ``times``. Filling
    stages one after the other, from the last, up to a level uses the fewest stages for that level; the least
    level that needs no more stages than there are is found by halving (Bokhari 1988, chains on chains).

    >>> chain, cut = np.array([4.0, 1.0, 1.0, 2.0, 3.0]), np.zeros(5, dtype=np.int64)
    >>> balance(chain, chain, 3.0, cut)
    >>> cut.tolist()
    [0, 1, 1, 1, 2]
    """
    low, high = 0.0, 0.0
    for layer in range(times.shape[0]):
        high += times[layer]
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if fill_stages(times, last, middle, most, cut):
            high = middle
        else:
            low = middle
    fill_stages(times, last, high, most, cut)
    before = cut[0]
    for layer in range(times.shape[0]):
        cut[layer] = before - cut[layer]


@kernel
def lay_unlike_layers(
    cases: ChainCases,
    times: Matrix,
    loads: Matrix,
    chain: Places,
    layers: LayerChain,
    cut: Places,
    stated: int,
    parts: Vector,
    stages: Matrix,
    slowest: Matrix,
) -> None:
    """Write the stages of networks with unlike layers, for every combination of what they depend on.

    The cut is found unless it is stated. Of skip connections those kept last are taken first, as in a U-Net.
    """
    counted, saved, entering, skipping, once, repeated = layers
    for c in range(cases.keys.size):
        k, pipeline, recompute = int(cases.keys[c]), cases.pipelines[c], cases.recomputes[c]
        total_saved = 0.0
        for layer in range(chain.shape[0]):
            once[layer] = whole_time(times, k, chain[layer], False)
            repeated[layer] = whole_time(times, k, chain[layer], recompute > 0.0)
            total_saved += saved[layer]
        if not stated:
            balance(repeated, once, pipeline, cut)
        for g in range(stages.shape[1] // STAGE):
            for part in range(2 * PARTS):
                parts[part] = 0.0
            weights, share, number = 0.0, 0.0, 0.0
            received, come, passing, most = 0.0, -1.0, 0.0, 0.0
            # The last stage of several recomputes nothing; one stage alone nothing behind its checkpoint.
            source = FORWARD_TIME if pipeline > 1.0 else RECOMPUTE_TIME
            more = 0.0 if pipeline > 1.0 and g == cut[chain.shape[0] - 1] else recompute
            for layer in range(chain.shape[0]):
                if cut[layer] == g:
                    start = chain[layer] * PLACE
                    if come < 0.0:
                        received, come = entering[layer], skipping[layer]
                        passing, most = come, come
                    behind = skipping[layer + 1] if layer + 1 < chain.shape[0] else 0.0
                    passing, most = min(passing, behind), max(most, behind)
                    weights += times[k, start + WEIGHTS]
                    share += saved[layer] / max(total_saved, 1.0)
                    number += counted[layer]
                    for part in range(PARTS):
                        parts[part] += times[k, start + FORWARD_TIME + part]
                        back = times[k, start + BACKWARD_TIME + part]
                        parts[PARTS + part] += back + more * times[k, start + source + part]
            keep_slowest(parts, slowest, c, g)
            come = max(come, 0.0)
            stage = Stage(
                layers=weights / max(record(Loads, loads, k).layer_weights, 1.0),
                checkpoints=share,
                embedding=1.0 if g == 0 else 0.0,
                head=1.0 if g == pipeline - 1.0 else 0.0,
                position=1.0 * g,
                present=1.0 if g < pipeline else 0.0,
                number=number,
                received=received + (come - passing),
                passing=passing,
                begun=most - come,
            )
            put_stage(stages, c, g, stage)
