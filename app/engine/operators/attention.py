"""Attention blocks as operators.

Grouped key heads after Ainslie et al. 2023. The activations kept for the backward pass are those of
Korthikanti et al. 2022, section 4.
"""

from __future__ import annotations

from app.engine.operators.table import Kind, Operator, Pointwise, Split

CAUSAL_TILE = 128
"""Tokens of one side of the square that fused causal attention computes or skips whole."""


def attention_operators(
    *,
    prefix: str,
    count: float,
    hidden: int,
    heads: int,
    key_heads: int,
    head_dimension: int,
    queries: float,
    keys: float,
    squared: float,
    causal: bool,
    rotary: bool,
    biases: bool,
) -> list[Operator]:
    """Return the operators of ``count`` attention blocks without norm and residual.

    Parameters
    ----------
    prefix : str
        Start of every operator's name. [-]
    count : float
        Repeats of the block in the model. [-]
    hidden, heads, key_heads, head_dimension : int
        Width, query heads, key and value heads, and width of a head. [-]
    queries, keys : float
        Tokens per sample that ask and that are asked. [-]
    squared : float
        Mean product of query and key lengths. [-]
    causal : bool
        True where a token sees only those before it. [-]
    rotary : bool
        True where rotary position embedding turns queries and keys. [-]
    biases : bool
        True where the projections carry biases. [-]

    Returns
    -------
    operators : list of Operator
        Projection in, attention, projection out and what goes with them. [-]

    References
    ----------
    .. [1] A. Vaswani et al., "Attention is all you need," NeurIPS, 2017.
    .. [2] V. Korthikanti et al., "Reducing activation recomputation in large transformer models,"
       MLSys, 2023, section 4.

    Examples
    --------
    One block of GPT-3 keeps 10 s h bytes and 5 a s² bytes a sample. The eleventh s h of [2]_ is the mask
    of the dropout behind the block, which the residual carries:

    >>> block = attention_operators(
    ...     prefix="", count=1, hidden=12288, heads=96, key_heads=96, head_dimension=128,
    ...     queries=2048, keys=2048, squared=2048.0**2, causal=True, rotary=False, biases=True)
    >>> kept = sum(2 * operator.saved + operator.masks for operator in block)
    >>> kept == 10 * 2048 * 12288 + 5 * 96 * 2048**2
    True
    """
    inner_width = heads * head_dimension
    key_width = key_heads * head_dimension
    # Keys and values of another sequence read its output, which every block shares and none keeps for itself.
    products = (
        [("qkv", queries, inner_width + 2 * key_width, queries * hidden)]
        if queries == keys
        else [("query", queries, inner_width, queries * hidden), ("key_value", keys, 2 * key_width, 0.0)]
    )
    projections = [
        Operator(
            name=f"{prefix}{name}",
            kind=Kind.MATMUL,
            count=count,
            rows=rows,
            inner=hidden,
            columns=columns,
            split=Split.COLUMNS,
            weights=hidden * columns + (columns if biases else 0),
            saved=saved,
            saved_split=Split.SEQUENCE,
        )
        for name, rows, columns, saved in products
    ]
    operators = [
        *projections,
        Operator(
            name=f"{prefix}heads",
            kind=Kind.POINTWISE,
            pointwise=Pointwise.HEADS,
            count=count,
            elements=queries * hidden,
            split=Split.COLUMNS,
        ),
        Operator(
            name=f"{prefix}attention",
            kind=Kind.ATTENTION,
            count=count,
            rows=queries,
            inner=head_dimension,
            columns=keys,
            batch=heads,
            squared=squared,
            causal=0.5 * (1.0 + min(1.0, CAUSAL_TILE / keys)) if causal else 1.0,
            split=Split.BATCH,
            saved=queries * inner_width + 2 * keys * key_width + 2 * heads * squared,
            masks=heads * squared,
            saved_split=Split.BATCH,
        ),
        Operator(
            name=f"{prefix}attention_out",
            kind=Kind.MATMUL,
            count=count,
            rows=queries,
            inner=inner_width,
            columns=hidden,
            split=Split.INNER,
            weights=inner_width * hidden + (hidden if biases else 0),
            saved=queries * inner_width,
            saved_split=Split.INNER,
        ),
    ]
    if rotary:
        operators.append(
            Operator(
                name=f"{prefix}rotary",
                kind=Kind.POINTWISE,
                pointwise=Pointwise.ROTARY,
                count=count,
                elements=queries * hidden,
                split=Split.COLUMNS,
            )
        )
    return operators
