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

from dataclasses import dataclass

import numpy as np

from app.engine.operators import Kind, OperatorTable, Section
from app.engine.records import FloatLike, Floats


@dataclass(frozen=True, slots=True)
class Stages:
    """Layers on the first stage, on the fullest of those between, and on the last."""

    first: Floats
    middle: Floats
    last: Floats

    @property
    def stacked(self) -> Floats:
        """Layers of the three kinds of stages, (3, …). [-]"""
        return np.stack(np.broadcast_arrays(self.first, self.middle, self.last))


def head_shares_embedding(table: OperatorTable) -> bool:
    """Return whether an output layer uses the weights of the embedding.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]

    Returns
    -------
    shared : bool
        True where a product of the head has fewer weights than its matrix. [-]

    References
    ----------
    .. [1] O. Press, L. Wolf, "Using the output embedding to improve language models," EACL, 2017.

    Examples
    --------
    >>> from app.engine.operators import dense_layer
    >>> head = dense_layer(name="classes", inputs=8, outputs=4, section=Section.HEAD)
    >>> head_shares_embedding(OperatorTable.of([head], depth=1, hidden=8, tokens=1))
    False
    """
    products = (table.section == Section.HEAD) & (table.kind == Kind.MATMUL)
    return bool(np.any(products & (table.weights < table.inner * table.columns * table.batch)))


def stage_layers(
    depth: int,
    pipeline: FloatLike,
    first_limit: FloatLike = np.inf,
    first_extra: FloatLike = 0.0,
    last_extra: FloatLike = 0.0,
) -> Stages:
    r"""Return the layers on the first stage, on the fullest between, and on the last.

    Parameters
    ----------
    depth : int
        Layers of the model. [-]
    pipeline : float
        Stages, :math:`p`. [-]
    first_limit : float
        Layers that fit beside the embedding on the first stage. [-]
    first_extra : float
        Time of what else is on the first stage over that of one layer, :math:`x`. [-]
    last_extra : float
        The same for the last stage, :math:`y`. [-]

    Returns
    -------
    stages : Stages
        Layers by kind of stage; without a stage between, its entry repeats the last's, and a
        pipeline of one stage has all layers on the first. [-]

    Notes
    -----
    The rule is that of the module's description. The least :math:`\lambda` is an integer, or one
    plus x or y, at most two above the level that layers cut at will would reach. Where even no
    layer fits beside the embedding the plan is kept and the memory verdict refuses it.

    References
    ----------
    .. [1] Graphcore, examples repository, BERT configurations (layers per IPU).
    .. [2] D. Narayanan et al., "PipeDream," SOSP, 2019, section 3.1 (stages of equal time).

    Examples
    --------
    >>> four = stage_layers(24, np.array([4.0]), first_limit=5.0, first_extra=0.6)
    >>> float(four.first[0]), float(four.middle[0]), float(four.last[0])
    (3.0, 7.0, 7.0)
    """
    arrays = (pipeline, np.maximum(np.floor(first_limit), 0.0), first_extra, last_extra)
    stages, limit, first_more, last_more = (
        np.asarray(array, dtype=float) for array in np.broadcast_arrays(*arrays)
    )
    single = stages <= 1.0
    between = np.maximum(stages - 2.0, 0.0)

    def places(level: Floats) -> tuple[Floats, Floats]:
        first = np.minimum(limit, np.maximum(np.floor(level - first_more + _ROUNDING), 0.0))
        return first, np.maximum(np.floor(level - last_more + _ROUNDING), 0.0)

    lowest = _level_of_cut_layers(depth, between, limit, first_more, last_more)
    offsets = np.stack([np.zeros_like(first_more), first_more, last_more])
    whole = np.ceil(lowest - offsets - _ROUNDING)
    candidates = np.concatenate([offsets + whole, offsets + whole + 1.0])
    first, last = places(candidates)
    enough = between * np.floor(candidates + _ROUNDING) + first + last >= depth
    level = np.min(np.where(enough, candidates, np.inf), axis=0)
    level = np.where(np.isfinite(level), level, depth + first_more + last_more)

    first, last = places(level)
    spare = between * np.floor(level + _ROUNDING) + first + last - depth
    from_first = np.minimum(spare, first)
    from_last = np.minimum(spare - from_first, last)
    first, last = first - from_first, last - from_last
    middle = np.ceil(np.maximum(depth - first - last, 0.0) / np.maximum(between, 1.0))
    return Stages(
        first=np.where(single, depth, first),
        middle=np.where(single, 0.0, np.where(between > 0, middle, last)),
        last=np.where(single, 0.0, last),
    )


_ROUNDING = 1e-9
"""Room for the rounding of a level that is a whole number plus a share of a layer."""


def _level_of_cut_layers(
    depth: int, between: Floats, limit: Floats, first_more: Floats, last_more: Floats
) -> Floats:
    """Return the slowest stage's time, in layers, if layers could be cut anywhere.

    With the stages that take part the level is (depth + extras) / stages; a stage whose extra
    alone exceeds the level takes no layer, which the smallest of these quotients respects.
    """

    def quotient(layers: Floats, stages: Floats) -> Floats:
        return np.where(stages > 0, layers / np.maximum(stages, 1.0), np.inf)

    free = np.minimum.reduce(
        [
            quotient(np.full_like(between, depth), between),
            quotient(depth + first_more, between + 1.0),
            quotient(depth + last_more, between + 1.0),
            quotient(depth + first_more + last_more, between + 2.0),
        ]
    )
    left = np.maximum(depth - limit, 0.0)
    limited = np.minimum(quotient(left, between), quotient(left + last_more, between + 1.0))
    return np.maximum(free, limited)


def stage_list(counts: Floats, depth: int, pipeline: int) -> tuple[float, ...]:
    """Return the layers of every stage of one plan, for display.

    Parameters
    ----------
    counts : ndarray
        Layers of the three kinds of stages, or of every stage, of one plan. [-]
    depth : int
        Layers of the model. [-]
    pipeline : int
        Stages. [-]

    Returns
    -------
    layers : tuple of float
        Layers of each stage, in order; they add up to the depth. [-]

    References
    ----------
    .. [1] Graphcore, examples repository, BERT configurations (layers per IPU).

    Examples
    --------
    >>> stage_list(stage_layers(24, 4.0, 5.0, 0.6).stacked, 24, 4)
    (3.0, 7.0, 7.0, 7.0)
    """
    each = np.ravel(counts)
    if pipeline <= 1:
        return (float(depth),)
    if sum(each[:pipeline]) == depth and len(each) >= pipeline:
        return tuple(float(layers) for layers in each[:pipeline])
    first, last = float(each[0]), float(each[-1])
    between = pipeline - 2
    if between == 0:
        return (first, depth - first)
    # Later stages stash fewer micro-batches, so they take the layers that do not divide evenly.
    full, extra = divmod(int(depth - first - last), between)
    return (
        first,
        *(float(full + (1 if stage >= between - extra else 0)) for stage in range(between)),
        last,
    )


def slowest_stage(seconds: Floats) -> Floats:
    """Return the parts of the slowest stage.

    Parameters
    ----------
    seconds : ndarray
        Time by part and stage, (P, G, …). [s]

    Returns
    -------
    slowest : ndarray
        Parts of the stage whose sum is largest, (P, …). [s]

    References
    ----------
    .. [1] Y. Huang et al., "GPipe," NeurIPS, 2019.

    Examples
    --------
    >>> slowest_stage(np.array([[1.0, 2.0], [5.0, 1.0]])).tolist()
    [1.0, 5.0]
    """
    stage = np.argmax(seconds.sum(axis=0), axis=0)
    return np.take_along_axis(seconds, stage[None, None], axis=1)[:, 0]
