r"""How unlike layers are cut into the stages of a pipeline.

The layers of an image network differ in time by an order of magnitude, so equal numbers of them
make unequal stages. They stay in order, and a stage takes a run of them: the cut is the one whose
slowest stage is fastest,

.. math:: \min_{\text{cuts}} \max_g \sum_{i \in g} t_i
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.engine.ipu.keys import Keys
from app.engine.ipu.sections import SectionTimes
from app.engine.ipu.shares import by_operator, weight_ways
from app.engine.ipu.stages import slowest_stage
from app.engine.operators import OperatorTable, Section
from app.engine.plans import Plans
from app.engine.records import Floats

HALVINGS = 40
"""Halvings of the interval in which the slowest stage's time lies: exact to rounding."""


@dataclass(frozen=True, slots=True)
class Units:
    """Runs of layers that are not cut, in order, (U,): blocks, and what lies between them."""

    members: Floats
    """Times each operator occurs in one repeat of each unit, (U, O). [-]"""
    repeats: NDArray[np.intp]
    """Times each unit follows itself. [-]"""
    layers: NDArray[np.bool_]
    """True for a block that counts as a layer, not for what lies between blocks."""


@dataclass(frozen=True, slots=True)
class BlockStages:
    """Stages of networks with unlike layers, for each distinct combination of what they depend on.

    Arrays have a column per combination, (…, C); :attr:`index` says which a plan has.
    """

    forward: Floats
    """Slowest stage forward by part, (6, C). [s]"""
    backward: Floats
    """Slowest stage backward by part, with recomputation, (6, C). [s]"""
    weights: Floats
    """Parameters of each stage without the head, (G, C). [-]"""
    kept: Floats
    """Share of all activations that each stage keeps, (G, C). [-]"""
    layers: Floats
    """Blocks of each stage, (G, C). [-]"""
    index: NDArray[np.intp]

    def gather(self, values: Floats) -> Floats:
        """Return values (…, C) for every plan."""
        return np.asarray(values[..., self.index])


def has_unlike_layers(table: OperatorTable) -> bool:
    """Return whether a pipeline is cut between blocks that differ.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]

    Returns
    -------
    unlike : bool
        True where operators belong to more than one block. [-]

    References
    ----------
    .. [1] K. He et al., "Deep residual learning for image recognition," CVPR, 2016, table 1.

    Examples
    --------
    >>> from app.engine.operators import dense_layer
    >>> has_unlike_layers(OperatorTable.of([dense_layer(name="a", inputs=1, outputs=1)], depth=1, hidden=1,
    ...     tokens=1))
    False
    """
    return len(np.unique(table.block[table.block >= 0])) > 1


def model_units(table: OperatorTable) -> Units:
    """Return the blocks of a model and what lies between them, in order.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample, those of one block together. [-]

    Returns
    -------
    units : Units
        Operators before, between and after blocks form units of their own. [-]

    References
    ----------
    .. [1] Graphcore, examples repository, vision/cnns: pipelines are cut at named blocks.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from app.engine.operators import dense_layer
    >>> one = dense_layer(name="a", inputs=1, outputs=1)
    >>> rows = [one, replace(one, block=0, block_repeats=3.0, count=3.0), replace(one, block=1)]
    >>> units = model_units(OperatorTable.of(rows, depth=4, hidden=1, tokens=1))
    >>> units.repeats.tolist(), units.members.sum(axis=1).tolist()
    ([1, 3, 1], [1.0, 1.0, 1.0])
    """
    starts = np.flatnonzero(np.diff(table.block, prepend=np.nan) != 0)
    unit = np.zeros(len(table), dtype=int)
    unit[starts[1:]] = 1
    unit = np.cumsum(unit)
    members = (unit == np.arange(len(starts))[:, None]) * (table.count / table.block_repeats)
    repeats = np.rint(table.block_repeats[starts]).astype(np.intp)
    return Units(members, repeats, table.block[starts] >= 0)


def balanced_cut(times: Floats, last: Floats, stages: Floats) -> NDArray[np.intp]:
    r"""Return the stage of each of a chain of layers so that the slowest stage is fastest.

    Parameters
    ----------
    times : ndarray
        Time of each layer, (n, C). [s]
    last : ndarray
        Time of each layer on the last stage, which recomputes nothing; no longer than ``times``. [s]
    stages : ndarray
        Stages at most, (C,). [-]

    Returns
    -------
    stage : ndarray
        Stage of each layer, from 0 and never falling, (n, C). [-]

    Notes
    -----
    Filling stages one after the other, from the last, up to a level uses the fewest stages for
    that level; the least level that needs no more stages than there are is found by halving.

    References
    ----------
    .. [1] D. Narayanan et al., "PipeDream," SOSP, 2019, section 3.1 (stages of equal time).
    .. [2] S. Bokhari, "Partitioning problems in parallel, pipelined, and distributed computing,"
       IEEE Trans. Computers 37(1), 1988 (chains on chains).

    Examples
    --------
    >>> chain = np.array([[4.0], [1.0], [1.0], [2.0], [3.0]])
    >>> balanced_cut(chain, chain, np.array([3.0])).ravel().tolist()
    [0, 1, 1, 1, 2]
    """
    low, high = np.zeros_like(stages), times.sum(axis=0)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        before, held = _before_last(times, last, middle)
        enough = (before.max(axis=0) < stages) & held
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
    before, _ = _before_last(times, last, high)
    return np.asarray(before.max(axis=0) - before)


_ROUNDING = 1e-9
"""Share by which a stage may exceed its level because sums are rounded."""


def _before_last(times: Floats, last: Floats, level: Floats) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return how many stages before the last each layer lies, and whether every layer fits the level."""
    held = np.ones(level.shape, dtype=bool)
    stage = np.zeros(times.shape, dtype=np.intp)
    place, filled = np.zeros(level.shape, dtype=np.intp), np.zeros(level.shape)
    for layer in range(len(times) - 1, -1, -1):
        added = filled + np.where(place == 0, last[layer], times[layer])
        full = (added > level * (1.0 + _ROUNDING)) & (filled > 0)
        place = place + full
        filled = np.where(full, times[layer], added)
        held &= filled <= level * (1.0 + _ROUNDING)
        stage[layer] = place
    return stage, held


def stated_cut(units: Units, split: Sequence[float]) -> NDArray[np.intp]:
    """Return the stage of each layer from the numbers of layers a configuration states.

    Parameters
    ----------
    units : Units
        Blocks of the model. [-]
    split : sequence of float
        Layers of each stage. [-]

    Returns
    -------
    stage : ndarray
        Stage of each repeat of each unit, (n,); what precedes the first block is on the first
        stage, what lies between or behind blocks on that of the block before. [-]

    References
    ----------
    .. [1] Graphcore, examples repository, vision/cnns/tensorflow1/training/configs.yml
       (``pipeline_splits``).

    Examples
    --------
    >>> units = Units(np.ones((3, 1)), np.array([1, 4, 1]), np.array([False, True, False]))
    >>> stated_cut(units, (3, 1)).tolist()
    [0, 0, 0, 0, 1, 1]
    """
    counted = np.repeat(units.layers, units.repeats)
    ends = np.cumsum(split)
    layer = np.maximum(np.cumsum(counted) - 1, 0)
    return np.asarray(np.minimum(np.searchsorted(ends, layer, side="right"), len(ends) - 1))


def block_stages(
    table: OperatorTable,
    plans: Plans,
    keys: Keys,
    units: Units,
    times: SectionTimes,
    split: Sequence[float] = (),
) -> BlockStages:
    """Return the stages of a network with unlike layers.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        How the model is laid over devices. [-]
    keys : Keys
        Distinct micro-batches and tensor degrees. [-]
    units : Units
        Blocks of the model. [-]
    times : SectionTimes
        Time of one repeat of each unit. [s]
    split : sequence of float
        Layers of each stage where a configuration states them; balanced if empty. [-]

    Returns
    -------
    stages : BlockStages
        Slowest stages, weights and activations. [-]

    References
    ----------
    .. [1] D. Narayanan et al., "PipeDream," SOSP, 2019, section 3.1 (stages of equal time).

    Examples
    --------
    ``tests/engine/ipu/test_blocks.py`` cuts ResNet and EfficientNet.

    >>> HALVINGS
    40
    """
    again = (plans.recompute > 0) | (plans.phases > 1)
    pipelines, pipeline_index = np.unique(plans.pipeline, return_inverse=True)
    code = (
        keys.index * len(pipelines) + pipeline_index.reshape(np.shape(plans.pipeline))
    ) * 2 + again.astype(np.intp)
    code = np.broadcast_to(code, np.broadcast_shapes(code.shape, keys.index.shape))
    distinct, index = np.unique(code, return_inverse=True)
    key, stages = distinct // 2 // len(pipelines), pipelines[distinct // 2 % len(pipelines)]
    recomputed = (distinct % 2).astype(float)

    def each(values: Floats) -> Floats:
        """Return values by unit and key, (…, U, K), by layer and combination, (…, n, C)."""
        return np.repeat(values, units.repeats, axis=-2)[..., key]

    ahead, back = each(times.forward), each(times.backward)
    again = recomputed * ahead
    once = (ahead + back).sum(axis=0)
    if split:
        stage = np.broadcast_to(stated_cut(units, split)[:, None], once.shape)
    else:
        stage = balanced_cut(once + again.sum(axis=0), once, stages)
    holds = stage == np.arange(max(int(stages.max()), 1))[:, None, None]
    # The last stage of several recomputes nothing; one stage alone nothing behind its last checkpoint.
    back = back + np.where(stages > 1, (stage < stage.max(axis=0)) * again, recomputed * each(times.again))

    inside = table.section != Section.HEAD
    ways = weight_ways(table, keys.tensor)
    weights = np.einsum("uo,ok->uk", units.members, by_operator(table.weights * inside, keys.tensor) / ways)
    kept = np.einsum("uo,o->u", units.members, table.saved)[:, None] + 0.0 * keys.tensor
    by_stage = np.einsum("gnc,nc->gc", holds, each(kept))
    return BlockStages(
        forward=slowest_stage(np.einsum("gnc,pnc->pgc", holds, ahead)),
        backward=slowest_stage(np.einsum("gnc,pnc->pgc", holds, back)),
        weights=np.einsum("gnc,nc->gc", holds, each(weights)),
        kept=by_stage / np.maximum(by_stage.sum(axis=0), 1.0),
        layers=np.einsum("gnc,n->gc", holds, np.repeat(units.layers, units.repeats).astype(float)),
        index=np.asarray(index.reshape(code.shape), dtype=np.intp),
    )
