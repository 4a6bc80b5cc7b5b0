"""Feed-forward blocks as operators: plain, gated, and mixtures of experts."""

from __future__ import annotations

from app.engine.operators.table import Kind, Operator, Pointwise, Split


def feed_forward_operators(
    *,
    prefix: str,
    count: float,
    hidden: int,
    feed_forward: int,
    tokens: float,
    gated: bool,
    biases: bool,
    experts: int,
    experts_per_token: int,
) -> list[Operator]:
    """Return the operators of ``count`` feed-forward blocks without norm and residual.

    Parameters
    ----------
    prefix : str
        Start of every operator's name. [-]
    count : float
        Repeats of the block in the model. [-]
    hidden, feed_forward : int
        Width outside and inside the block. [-]
    tokens : float
        Tokens per sample. [-]
    gated : bool
        True for two products in, one of which gates the other. [-]
    biases : bool
        True where the products carry biases. [-]
    experts, experts_per_token : int
        Blocks that stand side by side, and how many of them a token visits. [-]

    Returns
    -------
    operators : list of Operator
        Router, product in, activation, product out. [-]

    References
    ----------
    .. [1] N. Shazeer, "GLU variants improve transformer," arXiv:2002.05202, 2020.
    .. [2] W. Fedus, B. Zoph, N. Shazeer, "Switch transformers," JMLR 23, 2022.

    Examples
    --------
    A gated block of 4096 × 11008 has three matrices:

    >>> block = feed_forward_operators(
    ...     prefix="", count=1, hidden=4096, feed_forward=11008, tokens=1, gated=True, biases=False,
    ...     experts=1, experts_per_token=1)
    >>> sum(operator.weights for operator in block) == 3 * 4096 * 11008
    True
    """
    visited = experts_per_token if experts > 1 else 1
    rows = tokens * visited / experts
    width_in = feed_forward * (2 if gated else 1)
    active = visited / experts
    operators = [
        Operator(
            name=f"{prefix}ffn_in",
            kind=Kind.MATMUL,
            count=count,
            rows=rows,
            inner=hidden,
            columns=width_in,
            batch=experts,
            split=Split.COLUMNS,
            active=active,
            weights=experts * (hidden * width_in + (width_in if biases else 0)),
            saved=tokens * visited * hidden,
            saved_split=Split.SEQUENCE,
        ),
        Operator(
            name=f"{prefix}activation",
            kind=Kind.POINTWISE,
            pointwise=Pointwise.GATED if gated else Pointwise.GELU,
            count=count,
            elements=tokens * visited * feed_forward,
            split=Split.COLUMNS,
            saved=tokens * visited * width_in,
            saved_split=Split.COLUMNS,
        ),
        Operator(
            name=f"{prefix}ffn_out",
            kind=Kind.MATMUL,
            count=count,
            rows=rows,
            inner=feed_forward,
            columns=hidden,
            batch=experts,
            split=Split.INNER,
            active=active,
            weights=experts * (feed_forward * hidden + (hidden if biases else 0)),
            saved=tokens * visited * feed_forward,
            saved_split=Split.INNER,
        ),
    ]
    if experts > 1:
        operators.insert(
            0,
            Operator(
                name=f"{prefix}router",
                kind=Kind.MATMUL,
                count=count,
                rows=tokens,
                inner=hidden,
                columns=experts,
                weights=hidden * experts,
                aligned=False,
            ),
        )
    return operators
