"""Blocks of transformers as operators: attention, latent attention, feed-forward and experts.

Grouped key heads after Ainslie et al. 2023; latent attention and shared experts after DeepSeek-AI 2024. The
activations kept for the backward pass are those of Korthikanti et al. 2022, section 4.
"""

from __future__ import annotations

from app.engine.operators.layers import norm_layer, pointwise_layer
from app.engine.operators.table import Kind, Operator, Pointwise, Split

CAUSAL_TILE = 128
"""Tokens of one side of the square that fused causal attention computes or skips whole."""


def attention_operators(
    prefix: str,
    hidden: int,
    heads: int,
    queries: float,
    *,
    count: float = 1.0,
    key_heads: int | None = None,
    head_dimension: int | None = None,
    keys: float | None = None,
    squared: float | None = None,
    causal: bool = False,
    rotary: bool = False,
    biases: bool = True,
    head_norms: bool = False,
) -> list[Operator]:
    """Return the operators of ``count`` attention blocks without norm and residual.

    Queries attend to themselves unless the tokens of other keys are given; ``squared`` is the mean product
    of query and key lengths.

    One block of GPT-3 keeps 10 s h bytes and 5 a s² bytes a sample. The eleventh s h of Korthikanti et al. is
    the mask of the dropout behind the block, which the residual carries:

    >>> block = attention_operators("", 12288, 96, 2048, causal=True)
    >>> kept = sum(2 * operator.saved + operator.masks for operator in block)
    >>> kept == 10 * 2048 * 12288 + 5 * 96 * 2048**2
    True
    """
    key_heads, head_dimension = key_heads or heads, head_dimension or hidden // heads
    keys = queries if keys is None else keys
    squared = queries * keys if squared is None else squared
    inner_width, key_width = heads * head_dimension, key_heads * head_dimension
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
    core = _attention_core(
        prefix,
        hidden,
        heads,
        queries,
        keys,
        squared,
        count=count,
        key_dimension=head_dimension,
        value_dimension=head_dimension,
        key_heads=key_heads,
        causal=causal,
        rotary=rotary,
        biases=biases,
    )
    return [
        *projections,
        *(_head_norms(prefix, heads, key_heads, head_dimension, queries, keys, count) if head_norms else []),
        *core,
    ]


def _head_norms(
    prefix: str, heads: int, key_heads: int, head_dimension: int, queries: float, keys: float, count: float
) -> list[Operator]:
    """Return the norm of every head's queries and keys, which has one scale for all heads of either."""
    vectors = heads * queries + key_heads * keys
    return [
        norm_layer(
            f"{prefix}head_norms",
            head_dimension,
            vectors,
            count=count,
            split=Split.COLUMNS,
            saved_split=Split.BATCH,
        )
    ]


def _attention_core(
    prefix: str,
    hidden: int,
    heads: int,
    queries: float,
    keys: float,
    squared: float,
    *,
    count: float,
    key_dimension: int,
    value_dimension: int,
    key_heads: int,
    causal: bool,
    rotary: bool,
    biases: bool,
) -> list[Operator]:
    """Return what attention is between its projections, and the product behind it."""
    width = heads * value_dimension
    saved = queries * heads * key_dimension + keys * key_heads * (key_dimension + value_dimension)
    attention = Operator(
        name=f"{prefix}attention",
        kind=Kind.ATTENTION,
        count=count,
        rows=queries,
        inner=(key_dimension + value_dimension) / 2,
        columns=keys,
        batch=heads,
        squared=squared,
        causal=0.5 * (1.0 + min(1.0, CAUSAL_TILE / keys)) if causal else 1.0,
        split=Split.BATCH,
        saved=saved + 2 * heads * squared,
        masks=heads * squared,
        keys_values=keys * key_heads * (key_dimension + value_dimension),
        saved_split=Split.BATCH,
    )
    out = Operator(
        name=f"{prefix}attention_out",
        kind=Kind.MATMUL,
        count=count,
        rows=queries,
        inner=width,
        columns=hidden,
        split=Split.INNER,
        weights=width * hidden + (hidden if biases else 0),
        saved=queries * width,
        saved_split=Split.INNER,
    )

    def moved(name: str, kind: Pointwise) -> Operator:
        return pointwise_layer(f"{prefix}{name}", kind, queries * hidden, count=count, split=Split.COLUMNS)

    turned = [moved("rotary", Pointwise.ROTARY)] if rotary else []
    return [moved("heads", Pointwise.HEADS), attention, out, *turned]


def latent_attention_operators(
    prefix: str,
    hidden: int,
    heads: int,
    tokens: float,
    *,
    query_rank: int,
    key_rank: int,
    head_dimension: int,
    rotary_dimension: int,
    value_dimension: int,
    count: float = 1.0,
    squared: float | None = None,
    causal: bool = False,
) -> list[Operator]:
    r"""Return the operators of ``count`` blocks of multi-head latent attention without norm and residual.

    Tokens are squeezed into one vector for keys and values and one for queries; every head's keys, values
    and queries are spread from these, so that a block has

    .. math:: r_q (h + a d_k) + h (r_k + d_r) + r_k a (d_k - d_r + d_v) + a d_v h

    weights beside the norms of both vectors.

    Parameters
    ----------
    prefix : str
        Begin of the operators' names. [-]
    hidden : int
        Width of a token, :math:`h`. [-]
    heads : int
        Heads, :math:`a`. [-]
    tokens : float
        Tokens of a sample. [-]
    query_rank, key_rank : int
        Width of the vectors, :math:`r_q` (0 where queries are not squeezed) and :math:`r_k`. [-]
    head_dimension, rotary_dimension, value_dimension : int
        Width of a head's queries and keys, :math:`d_k`, of the part that is turned, :math:`d_r`, whose keys
        all heads share, and of its values, :math:`d_v`. [-]
    count : float
        Blocks. [-]
    squared : float, optional
        Mean product of query and key lengths; by default the square of the tokens. [-]
    causal : bool
        True where a token attends to the former ones only. [-]

    Returns
    -------
    operators : list of Operator
        Products, norms and attention, whose head dimension is the mean of both widths. [-]

    Notes
    -----
    This is the form of training. For generation the second product of the keys is absorbed into the queries.

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V2," arXiv:2405.04434, 2024, section 2.1.
    .. [2] DeepSeek-AI, "DeepSeek-V3 technical report," arXiv:2412.19437, 2024, section 4.2.

    Examples
    --------
    A block of DeepSeek-V3 has 187 million weights:

    >>> block = latent_attention_operators("", 7168, 128, 4096, query_rank=1536, key_rank=512,
    ...     head_dimension=192, rotary_dimension=64, value_dimension=128)
    >>> round(sum(operator.weights for operator in block) / 1e6)
    187
    """
    squared = tokens * tokens if squared is None else squared

    def product(name: str, inner: int, columns: int, split: Split = Split.REPLICATED) -> Operator:
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
            saved_split=Split.SEQUENCE if inner == hidden else Split.REPLICATED,
        )

    def squeezed(name: str, rank: int, more: int = 0) -> list[Operator]:
        norm = norm_layer(f"{prefix}{name}_norm", rank, tokens, count=count, weights=rank, tensors=1.0)
        return [product(f"{name}_down", hidden, rank + more), norm]

    queries = [*squeezed("query", query_rank)] if query_rank else []
    queries.append(product("query_up", query_rank or hidden, heads * head_dimension, Split.COLUMNS))
    spread = heads * (head_dimension - rotary_dimension + value_dimension)
    keys = [
        *squeezed("latent", key_rank, rotary_dimension),
        product("latent_up", key_rank, spread, Split.COLUMNS),
    ]
    core = _attention_core(
        prefix,
        hidden,
        heads,
        tokens,
        tokens,
        squared,
        count=count,
        key_dimension=head_dimension,
        value_dimension=value_dimension,
        key_heads=heads,
        causal=causal,
        rotary=True,
        biases=False,
    )
    return [*queries, *keys, *core]


PERMUTATIONS = 4.0
"""Copies of a token for each expert that it visits: sorted before it travels and after, and both undone
(Shoeybi et al., Megatron-Core token dispatcher; Gale et al. 2023, MegaBlocks, section 5.3)."""


def feed_forward_operators(
    prefix: str,
    hidden: int,
    feed_forward: int,
    tokens: float,
    *,
    count: float = 1.0,
    gated: bool = False,
    biases: bool = True,
    experts: int = 1,
    experts_per_token: int = 1,
    shared_feed_forward: int = 0,
    latent: int = 0,
) -> list[Operator]:
    """Return the operators of ``count`` feed-forward blocks without norm and residual.

    Gated blocks have two products in, one of which gates the other (Shazeer 2020); of experts side by side a
    token visits some (Fedus et al. 2022), and perhaps one that all tokens share (DeepSeek-AI 2024). Latent
    experts work on tokens that are squeezed into a narrower width and spread again (NVIDIA 2025).

    A gated block of 4096 × 11008 has three matrices:

    >>> block = feed_forward_operators("", 4096, 11008, 1, gated=True, biases=False)
    >>> sum(operator.weights for operator in block) == 3 * 4096 * 11008
    True
    """
    if experts > 1:
        parts = _expert_operators(prefix, hidden, experts, tokens, latent or hidden, count)
        routed = _feed_forward(
            prefix,
            latent or hidden,
            feed_forward,
            tokens,
            count=count,
            gated=gated,
            biases=biases,
            experts=experts,
            visited=experts_per_token,
        )
        # Tokens are sorted by expert and back, on the rank that sends them and on that of the expert.
        sorted_tokens = pointwise_layer(
            f"{prefix}permutation",
            Pointwise.COPY,
            tokens * experts_per_token * (latent or hidden),
            count=PERMUTATIONS * count,
            split=Split.SEQUENCE,
        )
        operators = [*parts[:2], *routed, sorted_tokens, *parts[2:]]
        if not shared_feed_forward:
            return operators
        prefix, feed_forward = f"{prefix}shared_", shared_feed_forward
    else:
        operators = []
    shared = _feed_forward(prefix, hidden, feed_forward, tokens, count=count, gated=gated, biases=biases)
    return [*operators, *shared]


def _expert_operators(
    prefix: str, hidden: int, experts: int, tokens: float, width: int, count: float
) -> list[Operator]:
    """Return what experts need beside their products: router, and the way into a narrower width and back."""

    def product(name: str, inner: int, columns: int, aligned: bool = True, saved: float = 0.0) -> Operator:
        return Operator(
            name=f"{prefix}{name}",
            kind=Kind.MATMUL,
            count=count,
            rows=tokens,
            inner=inner,
            columns=columns,
            weights=inner * columns,
            aligned=aligned,
            saved=saved,
        )

    router = product("router", hidden, experts, aligned=False)
    if width == hidden:
        return [router]
    return [
        router,
        product("latent_in", hidden, width, saved=tokens * hidden),
        product("latent_out", width, hidden, saved=tokens * width),
    ]


def _feed_forward(
    prefix: str,
    hidden: int,
    feed_forward: int,
    tokens: float,
    *,
    count: float,
    gated: bool,
    biases: bool,
    experts: int = 1,
    visited: int = 1,
) -> list[Operator]:
    """Return the products of feed-forward blocks, of which a token visits some, and what is between them."""
    rows = tokens * visited / experts
    width_in = feed_forward * (2 if gated else 1)
    active = visited / experts
    product_in = Operator(
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
    )
    activation = pointwise_layer(
        f"{prefix}activation",
        Pointwise.GATED if gated else Pointwise.GELU,
        tokens * visited * feed_forward,
        count=count,
        split=Split.COLUMNS,
        saved=tokens * visited * width_in,
        saved_split=Split.COLUMNS,
    )
    product_out = Operator(
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
    )
    return [product_in, activation, product_out]
