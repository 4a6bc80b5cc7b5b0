"""The split over stages: as memory and time allow, as a configuration states it, or by unlike blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.ipu.blocks import BlockStages
from app.engine.ipu.keys import plan_shape
from app.engine.ipu.loads import Loads, ipu_capacity
from app.engine.ipu.stage_memory import FITS_BELOW, stage_parts
from app.engine.ipu.stages import head_shares_embedding, stage_layers
from app.engine.operators import OperatorTable
from app.engine.plans import Plans
from app.engine.records import Floats, IpuChip, IpuSoftware, Precision


@dataclass(frozen=True, slots=True)
class Layout:
    """Stages of every plan, (G, …): what each holds. Like layers need three kinds of stages."""

    layers: Floats
    """Layers; of unlike layers those of mean weight that weigh as much. [-]"""
    kept: Floats
    """Share of all checkpoints. [-]"""
    embedding: Floats
    head: Floats
    position: Floats
    present: Floats
    """1 where a plan has such a stage. [-]"""
    counts: Floats
    """Layers by number. [-]"""

    def weights(self, loads: Loads) -> Floats:
        """Return the parameters of the heaviest stage. [-]"""
        held = loads.weights(self.layers, self.embedding, self.head)
        return np.asarray(np.max(self.present * held, axis=0))

    def memory(
        self,
        table: OperatorTable,
        plans: Plans,
        loads: Loads,
        chip: IpuChip,
        *,
        precision: Precision,
        optimizer: str,
    ) -> dict[str, Floats]:
        """Return the memory of every stage by part, (G, …). [B]"""
        return stage_parts(
            table,
            plans,
            loads,
            self.layers,
            self.position,
            self.embedding,
            self.head,
            chip,
            precision=precision,
            optimizer=optimizer,
            kept=self.kept,
        )


def plan_layout(
    table: OperatorTable,
    plans: Plans,
    loads: Loads,
    ends: tuple[Floats, Floats],
    chip: IpuChip,
    software: IpuSoftware,
    *,
    precision: Precision,
    optimizer: str,
) -> Layout:
    """Return which layers, embedding and head each kind of stage holds: first, fullest between, last.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        How the model is laid over devices. [-]
    loads : Loads
        What a layer, the embedding and the head bring. [B]
    ends : tuple of ndarray
        Time of embedding and head over that of one layer. [-]
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
    layout : Layout
        First stage, fullest between, last. [-]

    Notes
    -----
    The limit of the first stage follows from its memory without layers and with one. A stage that
    runs in phases has no limit: what does not fit waits in streaming memory.

    References
    ----------
    .. [1] Graphcore, examples repository, BERT configurations (layers per IPU).

    Examples
    --------
    ``tests/engine/ipu/test_stages.py`` holds BERT-Large on four and on eight IPUs.

    >>> FITS_BELOW
    0.95
    """
    tied = head_shares_embedding(table)
    zero, one = np.zeros(()), np.ones(())
    bare, single = (
        np.asarray(
            sum(
                stage_parts(
                    table,
                    plans,
                    loads,
                    layers,
                    zero,
                    one,
                    one if tied else zero,
                    chip,
                    precision=precision,
                    optimizer=optimizer,
                ).values()
            )
        )
        for layers in (zero, one)
    )
    room = FITS_BELOW * ipu_capacity(chip, software) - bare
    limit = np.where(plans.phases > 1, np.inf, room / np.maximum(single - bare, 1.0))
    embedding, head = ends
    with_embedding, with_last = (embedding + head, 0.0 * head) if tied else (embedding, head)
    layers = stage_layers(table.depth, plans.pipeline, limit, with_embedding, with_last).stacked
    pipeline = np.broadcast_to(plans.pipeline, layers.shape[1:])
    alone = pipeline <= 1
    head_on_first = np.ones_like(alone) if tied else alone
    here = np.ones_like(alone)
    return Layout(
        layers=layers,
        kept=layers / table.depth,
        embedding=np.stack([here, ~here, ~here]).astype(float),
        head=np.stack([head_on_first, ~here, ~head_on_first]).astype(float),
        position=np.stack([0.0 * pipeline, 1.0 + 0.0 * pipeline, pipeline - 1.0]),
        present=np.stack([here, pipeline > 2, pipeline > 1]).astype(float),
        counts=layers,
    )


def stated_layout(table: OperatorTable, plans: Plans, split: Sequence[float]) -> Layout:
    """Return the layout that a configuration states by the layers of each stage.

    Parameters
    ----------
    table : OperatorTable
        Operators per sample. [-]
    plans : Plans
        Plans with as many stages as the configuration. [-]
    split : sequence of float
        Layers of each stage; halves where attention and feed-forward block of a layer lie on
        different stages. [-]

    Returns
    -------
    layout : Layout
        Every stage; the embedding on the first, the head with it where they share weights. [-]

    References
    ----------
    .. [1] Graphcore, MLPerf Training v1.1 and v2.0 submissions, BERT (``att_ffn_placement``).

    Examples
    --------
    >>> from app.engine.operators import dense_layer
    >>> one = OperatorTable.of([dense_layer(name="a", inputs=1, outputs=1)], depth=24, hidden=1, tokens=1)
    >>> stated_layout(one, Plans.of(pipeline=4), (3, 7, 7, 7)).layers.tolist()
    [3.0, 7.0, 7.0, 7.0]
    """
    shape = plan_shape(plans)
    column = np.asarray(split, dtype=float).reshape(-1, *(1,) * len(shape))
    layers = np.broadcast_to(column, (len(split), *shape))
    place = np.arange(len(split), dtype=float).reshape(column.shape) + 0.0 * layers
    last = 0.0 if head_shares_embedding(table) else float(len(split) - 1)
    return Layout(
        layers=layers,
        kept=layers / table.depth,
        embedding=(place == 0.0).astype(float),
        head=(place == last).astype(float),
        position=place,
        present=np.ones_like(layers),
        counts=layers,
    )


def block_layout(plans: Plans, loads: Loads, stages: BlockStages) -> Layout:
    """Return the layout of a network with unlike layers.

    Parameters
    ----------
    plans : Plans
        How the model is laid over devices. [-]
    loads : Loads
        What a layer of mean weight brings. [B]
    stages : BlockStages
        Stages as they were cut. [-]

    Returns
    -------
    layout : Layout
        Every stage. [-]

    References
    ----------
    .. [1] Graphcore, examples repository, vision/cnns (``pipeline_splits``).

    Examples
    --------
    ``tests/engine/ipu/test_blocks.py`` cuts ResNet and EfficientNet.

    >>> Layout.__slots__[0]
    'layers'
    """
    counts = stages.gather(stages.layers)
    pipeline = np.broadcast_to(plans.pipeline, counts.shape[1:])
    place = np.arange(counts.shape[0], dtype=float).reshape(-1, *(1,) * pipeline.ndim) + 0.0 * pipeline
    return Layout(
        layers=stages.gather(stages.weights) / np.maximum(loads.layer_weights, 1.0),
        kept=stages.gather(stages.kept),
        embedding=(place == 0).astype(float),
        head=(place == pipeline - 1).astype(float),
        position=place,
        present=(place < pipeline).astype(float),
        counts=counts,
    )
