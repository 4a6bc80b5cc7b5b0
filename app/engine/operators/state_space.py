"""Selective state spaces as operators: the Mamba-2 layer by chunks of a sequence."""

from __future__ import annotations

from app.engine.operators.layers import pointwise_layer
from app.engine.operators.table import Kind, Operator, Pointwise, Split

SINGLE = 2.0
"""Half-precision elements that an element in single precision weighs, as the states of chunks do."""


def state_space_operators(
    prefix: str,
    hidden: int,
    tokens: float,
    *,
    heads: int,
    head_dimension: int,
    state: int,
    groups: int,
    chunk: int,
    kernel: int = 4,
    count: float = 1.0,
) -> list[Operator]:
    r"""Return the operators of ``count`` Mamba-2 blocks without norm and residual.

    With an inner width of :math:`d = a p` a block projects a token to :math:`2 d + 2 g n + a` elements,
    convolves :math:`d + 2 g n` of them over the last tokens, runs the recurrence of its states, gates and
    norms what comes out and projects it back. The recurrence is computed by chunks of :math:`q` tokens,
    whose four matrix products cost

    .. math:: 2 T (g q n + a q p + 2 a n p)

    FLOP a sample: scores of a group's inputs and outputs inside a chunk, their product with the values, the
    states that a chunk leaves, and what former states give to it.

    Parameters
    ----------
    prefix : str
        Begin of the operators' names. [-]
    hidden : int
        Width of a token. [-]
    tokens : float
        Tokens of a sample, :math:`T`. [-]
    heads, head_dimension : int
        Heads :math:`a` and their width :math:`p`. [-]
    state : int
        Elements of the state that each element of a head has, :math:`n`. [-]
    groups : int
        Groups of heads that share inputs and outputs of the state, :math:`g`. [-]
    chunk : int
        Tokens of a chunk, :math:`q`. [-]
    kernel : int
        Tokens the convolution reaches over. [-]
    count : float
        Blocks. [-]

    Returns
    -------
    operators : list of Operator
        Projections and products of chunks; memory passes of convolution, states and gate. [-]

    Notes
    -----
    Scores and decays of a chunk are computed again in the backward pass and not kept. The states between
    chunks are in single precision. Tensor parallelism divides heads and groups.

    References
    ----------
    .. [1] T. Dao, A. Gu, "Transformers are SSMs: generalized models and efficient algorithms through
       structured state space duality," ICML, 2024, sections 6 and 7.

    Examples
    --------
    A block of Nemotron-H 56B, :math:`d` = 16,384, has 438 million weights; its recurrence costs about six
    FLOP for each token and element of the state, where Megatron-LM counts seven:

    >>> block = state_space_operators("", 8192, 8192, heads=256, head_dimension=64, state=256, groups=8,
    ...     chunk=256)
    >>> round(sum(operator.weights for operator in block) / 1e6)
    438
    >>> chunks = [operator for operator in block if operator.name.startswith("chunk")]
    >>> flop = sum(2 * each.rows * each.inner * each.columns * each.batch for each in chunks)
    >>> round(flop / (8192 * 16384 * 256), 1)
    6.2
    """
    width, shared = heads * head_dimension, 2 * groups * state
    mixed, chunks = width + shared, tokens / chunk

    def projection(name: str, inner: int, columns: int, split: Split) -> Operator:
        return Operator(
            name=f"{prefix}{name}",
            kind=Kind.MATMUL,
            count=count,
            rows=tokens,
            inner=inner,
            columns=columns,
            split=split,
            weights=inner * columns,
            tensors=1.0,
            saved=tokens * inner,
            saved_split=Split.SEQUENCE if split is Split.COLUMNS else Split.INNER,
        )

    def product(name: str, batch: int, rows: int, inner: int, columns: int, saved: float = 0.0) -> Operator:
        return Operator(
            name=f"{prefix}chunk_{name}",
            kind=Kind.MATMUL,
            count=count,
            rows=float(rows),
            inner=float(inner),
            columns=float(columns),
            batch=batch * chunks,
            split=Split.BATCH,
            saved=saved,
            saved_split=Split.BATCH,
        )

    def passed(name: str, kind: Pointwise, elements: float, weights: float, saved: float) -> Operator:
        return pointwise_layer(
            f"{prefix}{name}",
            kind,
            elements,
            count=count,
            split=Split.COLUMNS,
            weights=weights,
            saved=saved,
            saved_split=Split.COLUMNS,
        )

    states = SINGLE * chunks * heads * state * head_dimension
    return [
        projection("state_in", hidden, 2 * width + shared + heads, Split.COLUMNS),
        passed("convolution", Pointwise.ELEMENTWISE, tokens * mixed, mixed * (kernel + 1.0), tokens * mixed),
        product("scores", groups, chunk, state, chunk, saved=tokens * mixed),
        product("inside", heads, chunk, chunk, head_dimension),
        product("states", heads, state, chunk, head_dimension),
        passed("states", Pointwise.ELEMENTWISE, states, 3.0 * heads, states),
        product("outside", heads, chunk, state, head_dimension),
        passed("gate", Pointwise.GATED, tokens * width, float(width), 2.0 * tokens * width),
        projection("state_out", width, hidden, Split.INNER),
    ]
