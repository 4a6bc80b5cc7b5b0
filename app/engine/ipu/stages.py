r"""How layers are laid over the stages of a pipeline.

All stages wait for the slowest, so the rule makes the slowest stage as fast as whole layers allow:

1. the embedding lives on the first stage, the head on the last; a head that shares the weights of
   the embedding has to live with it, on the first;
2. the first stage takes at most the layers that fit its memory beside the embedding (its limit);
3. with one layer as the unit of time, embedding and head taking x and y, the slowest stage takes
   the least :math:`\lambda` with
   :math:`(p - 2) \lfloor\lambda\rfloor + \min(\text{limit}, \lfloor\lambda - x\rfloor)
   + \lfloor\lambda - y\rfloor \ge \text{depth}`;
4. places left over are taken from the first stage, which stashes most, then from the last, then
   from the others.

BERT-Large on four IPUs becomes 3, 7, 7, 7 because six layers and the embedding do not fit together,
as in Graphcore's published configurations; on eight it is 3 throughout, where the MLPerf
submissions leave the first stage emptier and load others with 3½ or 4. A last stage recomputes
nothing, yet the rule counts its layers as long as the others'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from app.compiled import inner

ROUNDING = 1e-9
"""Room for the rounding of sums: of a level that is whole layers plus a share of one, of a stage's time."""


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

    The limit is the layers that fit beside the embedding on the first stage, the extras are the time of
    what else is on the first and on the last over that of one layer. Without a stage between, its entry
    repeats the last's, and a pipeline of one stage has all layers on the first. The least level is an
    integer, or one plus an extra, at most two above the level that layers cut at will would reach. Where
    even no layer fits beside the embedding the plan is kept and the memory verdict refuses it.

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
            if tried < level and held_at(tried, between, limit, first_extra, last_extra) >= depth:
                level = tried
    if level == math.inf:
        level = depth + first_extra + last_extra
    first = min(limit, whole_layers(level - first_extra))
    last = whole_layers(level - last_extra)
    spare = held_at(level, between, limit, first_extra, last_extra) - depth
    from_first = min(spare, first)
    last -= min(spare - from_first, last)
    first -= from_first
    middle = np.ceil(max(depth - first - last, 0.0) / max(between, 1.0))
    return Stages(first, middle if between > 0.0 else last, last)


@inner
def whole_layers(level: float) -> float:
    """Return the layers that fit a stage's time."""
    return max(float(np.floor(level + ROUNDING)), 0.0)


@inner
def held_at(level: float, between: float, limit: float, first_extra: float, last_extra: float) -> float:
    """Return the layers that all stages take together up to a level."""
    ends = min(limit, whole_layers(level - first_extra)) + whole_layers(level - last_extra)
    return between * float(np.floor(level + ROUNDING)) + ends


@inner
def quotient(layers: float, stages: float) -> float:
    """Return layers over stages, infinite without any."""
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
    left = max(depth - limit, 0.0)
    return max(free, min(quotient(left, between), quotient(left + last_extra, between + 1.0)))


def stage_list(counts: Sequence[float], depth: int, pipeline: int) -> tuple[float, ...]:
    """Return the layers of every stage of one plan, which add up to the depth, for display.

    The counts are those of the three kinds of stages or of every stage.

    >>> stage_list((3.0, 7.0, 7.0), 24, 4)
    (3.0, 7.0, 7.0, 7.0)
    """
    each = tuple(float(layers) for layers in np.ravel(counts))
    if pipeline <= 1:
        return (float(depth),)
    if sum(each[:pipeline]) == depth and len(each) >= pipeline:
        return each[:pipeline]
    first, last = each[0], each[-1]
    between = pipeline - 2
    if between == 0:
        return (first, depth - first)
    # Later stages stash fewer micro-batches, so they take the layers that do not divide evenly.
    full, extra = divmod(int(depth - first - last), between)
    return (first, *(float(full + (1 if stage >= between - extra else 0)) for stage in range(between)), last)
