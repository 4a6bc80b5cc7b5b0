"""The stages of a pipeline: what lies on each, and how long the slowest takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.ipu.blocks import block_stages, has_unlike_layers, model_units
from app.engine.ipu.keys import distinct_keys
from app.engine.ipu.layout import Layout, block_layout, plan_layout, stated_layout
from app.engine.ipu.loads import Loads, stage_loads
from app.engine.ipu.sections import end_layers, section_times
from app.engine.ipu.stages import head_shares_embedding, slowest_stage
from app.engine.operators import OperatorTable
from app.engine.plans import Plans
from app.engine.records import Floats, IpuChip, IpuSoftware, Precision


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A model laid over the stages of every plan."""

    loads: Loads
    layout: Layout
    forward: Floats
    """Slowest stage forward by part, (6, …). [s]"""
    backward: Floats
    """Slowest stage backward by part, recomputation included, (6, …). [s]"""


def stage_contents(layout: Layout) -> Floats:
    """Return how often each stage runs embedding, layer and head.

    Parameters
    ----------
    layout : Layout
        Stages of every plan. [-]

    Returns
    -------
    contents : ndarray
        (G, S, …): stage, section; all zero where a plan has no such stage. [-]

    References
    ----------
    .. [1] Y. Huang et al., "GPipe," NeurIPS, 2019.

    Examples
    --------
    ``tests/engine/ipu/test_step.py`` compares stages with a plain sum over them.

    >>> Layout.__slots__[0]
    'layers'
    """
    members = np.broadcast_arrays(layout.embedding, layout.layers, layout.head)
    return np.stack([layout.present * member for member in members], axis=1)


def recomputed_share(table: OperatorTable, plans: Plans, layout: Layout) -> Floats:
    """Return what of each stage of a pipeline is computed again for its backward pass.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        How the model is laid over devices. [-]
    layout : Layout
        Stages of every plan. [-]

    Returns
    -------
    share : ndarray
        1 or 0, (G, S, …). The last stage is not, because its backward pass follows at once. A head
        that shares the embedding's weights is a last stage of its own on the device of the first. [-]

    References
    ----------
    .. [1] Graphcore, TensorFlow for the IPU, pipeline_recomputation.cc (all forward stages but the
       last).
    .. [2] Graphcore, PopART, willow/src/transforms/pipeline.cpp (no stash on the last stage).

    Examples
    --------
    ``tests/engine/ipu/test_step.py`` compares a last stage with one that recomputes.

    >>> Layout.__slots__[0]
    'layers'
    """
    last = (layout.position == plans.pipeline - 1) & (not head_shares_embedding(table))
    layers = 1.0 - last
    one = np.ones_like(layers)
    return np.stack(np.broadcast_arrays(one, layers, 0.0 * one), axis=1)


def pipeline_stages(
    table: OperatorTable,
    plans: Plans,
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision,
    optimizer: str,
    split: Sequence[float] = (),
) -> Pipeline:
    """Return a model laid over the stages of every plan.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        How the model is laid over devices. [-]
    chip : IpuChip
        The IPU. [-]
    software : IpuSoftware
        The software stack; its factors are applied by the caller. [-]
    precision : Precision
        Number format. [-]
    optimizer : str
        A key of :data:`~app.engine.ipu.stage_memory.STATE_BYTES`. [-]
    split : sequence of float
        Layers of each stage as a configuration states them; it holds for models of as many layers
        on as many stages, and all others are balanced by time. [-]

    Returns
    -------
    pipeline : Pipeline
        Contents of the stages, and the slowest forward and backward. [-]

    References
    ----------
    .. [1] D. Narayanan et al., "PipeDream," SOSP, 2019, section 3.1 (stages of equal time).

    Examples
    --------
    >>> from app.engine.ipu.examples import BOW, POPART
    >>> from app.engine.operators import dense_layer
    >>> table = OperatorTable.of([dense_layer(name="a", inputs=1024, outputs=1024)], depth=1, hidden=1024,
    ...     tokens=1)
    >>> found = pipeline_stages(table, Plans.of(micro_batch=64), BOW, POPART,
    ...     precision=Precision.FP16_16, optimizer="lamb")
    >>> found.layout.layers.tolist()
    [1.0, 0.0, 0.0]
    """
    loads = stage_loads(table, plans, chip, software, precision)
    keys = distinct_keys(plans)
    holds = sum(split) == table.depth and np.all(plans.pipeline == len(split))
    stated = split if holds else ()
    if has_unlike_layers(table):
        units = model_units(table)
        times = section_times(table, keys, chip, software, precision, units.members)
        stages = block_stages(table, plans, keys, units, times, stated)
        layout = block_layout(plans, loads, stages)
        return Pipeline(loads, layout, stages.gather(stages.forward), stages.gather(stages.backward))
    times = section_times(table, keys, chip, software, precision)
    if len(stated):
        layout = stated_layout(table, plans, stated)
    else:
        ends = end_layers(times, keys, plans)
        layout = plan_layout(
            table, plans, loads, ends, chip, software, precision=precision, optimizer=optimizer
        )
    contents = stage_contents(layout)
    forward = _on_stages(keys.gather(times.forward), contents)
    backward = _on_stages(keys.gather(times.backward), contents)
    repeated = np.where(
        plans.pipeline > 1,
        _on_stages(keys.gather(times.forward), contents * recomputed_share(table, plans, layout)),
        _on_stages(keys.gather(times.again), contents),
    )
    backward = backward + np.where((plans.recompute > 0) | (plans.phases > 1), repeated, 0.0)
    return Pipeline(loads, layout, slowest_stage(forward), slowest_stage(backward))


def _on_stages(seconds: Floats, contents: Floats) -> Floats:
    """Return the time of each stage by part, (6, G, …)."""
    return np.asarray(np.einsum("ps...,gs...->pg...", seconds, contents))
