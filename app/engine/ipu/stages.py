r"""How layers are laid over the stages of a pipeline.

All stages wait for the slowest, so the rule first makes the fullest stage as small as it can be,
then uses what room is left to relieve the stages that hold more than layers:

1. the embedding lives on the first stage, the head on the last; a head that shares the weights of
   the embedding has to live with it, on the first;
2. the first stage takes at most the layers that fit its memory beside the embedding (its limit);
3. the fullest stage has the fewest layers L that this allows:
   :math:`(p - 1) L + \min(L, \text{limit}) \ge \text{depth}`;
4. places that L leaves over are taken from the stage with the head, then from the stage with the
   embedding, then from the others.

BERT-Large on four IPUs becomes 3, 7, 7, 7 because six layers and the embedding do not fit together;
on eight it is 3 throughout. Graphcore's published configurations have the same.
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
    depth: int, pipeline: FloatLike, first_limit: FloatLike = np.inf, head_first: bool = False
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
    head_first : bool
        True where the head lives with the embedding. [-]

    Returns
    -------
    stages : Stages
        Layers by kind of stage; without a stage between, its entry repeats the last's, and a
        pipeline of one stage has all layers on the first. [-]

    Notes
    -----
    The rule is that of the module's description. Where even no layer fits beside the embedding the
    plan is kept and the memory verdict refuses it.

    References
    ----------
    .. [1] Graphcore, examples repository, BERT configurations (layers per IPU).
    .. [2] Y. Huang et al., "GPipe," NeurIPS, 2019, section 2.2.

    Examples
    --------
    >>> four = stage_layers(24, np.array([4.0]), first_limit=5.0, head_first=True)
    >>> float(four.first[0]), float(four.middle[0]), float(four.last[0])
    (3.0, 7.0, 7.0)
    """
    stages = np.asarray(pipeline, dtype=float)
    limit = np.maximum(np.floor(np.asarray(first_limit, dtype=float)), 0.0)
    others = np.maximum(stages - 1.0, 1.0)
    even = np.ceil(depth / stages)
    fullest = np.maximum(even, np.ceil(np.maximum(depth - limit, 0.0) / others))
    first = np.minimum(fullest, limit)
    spare = others * fullest + first - depth
    from_last = np.zeros_like(spare) if head_first else np.minimum(spare, fullest)
    from_first = np.minimum(spare - from_last, first)
    single = stages <= 1.0
    first = np.where(single, depth, first - from_first)
    rest = depth - first
    last = np.where(single, 0.0, np.ceil(rest / others) if head_first else fullest - from_last)
    middle = np.ceil(np.maximum(rest - last, 0.0) / np.maximum(stages - 2.0, 1.0))
    return Stages(first=first, middle=np.where(stages > 2.0, middle, last), last=last)


def stage_list(stages: Stages, depth: int, pipeline: int) -> tuple[int, ...]:
    """Return the layers of every stage of one plan, for display.

    Parameters
    ----------
    stages : Stages
        Layers by kind of stage, of one plan. [-]
    depth : int
        Layers of the model. [-]
    pipeline : int
        Stages. [-]

    Returns
    -------
    layers : tuple of int
        Layers of each stage, in order; they add up to the depth. [-]

    References
    ----------
    .. [1] Graphcore, examples repository, BERT configurations (layers per IPU).

    Examples
    --------
    >>> stage_list(stage_layers(24, 4.0, 5.0, head_first=True), 24, 4)
    (3, 7, 7, 7)
    """
    first = int(np.ravel(stages.first)[0])
    if pipeline == 1:
        return (first,)
    last = int(np.ravel(stages.last)[0])
    between = pipeline - 2
    if between == 0:
        return (first, depth - first)
    rest = depth - first - last
    # Later stages stash fewer micro-batches, so they take the layers that do not divide evenly.
    full, extra = divmod(rest, between)
    return (first, *(full + (1 if stage >= between - extra else 0) for stage in range(between)), last)
