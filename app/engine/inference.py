"""Generation of text by a decoder: its cache, its operators for a prompt and for one token, and its rates."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from app.engine.operators.table import Kind, OperatorTable
from app.engine.operators.transformer import TransformerShape, layer_kinds, transformer_operators
from app.engine.records import FloatLike, Floats, Tokens
from app.engine.units import HOUR


def cached_elements_per_token(shape: TransformerShape, tensor: int = 1) -> float:
    """Return the elements one token adds to the key-value cache of one layer on one device. [elements]

    Keys and values of every key head (Ainslie et al. 2023), which tensor ranks divide until each has one; in
    latent attention the compressed vector and the rotated key, which every rank holds (DeepSeek-AI 2024,
    "DeepSeek-V2," section 2.1).

    Eight key heads of 128 on one device, and on sixteen:

    >>> from app.engine.operators.transformer import Stack
    >>> shape = TransformerShape(layers=80, hidden=8192, heads=64, key_heads=8, head_dimension=128,
    ...     feed_forward=28672, vocabulary=32000, stack=Stack.DECODER)
    >>> cached_elements_per_token(shape), cached_elements_per_token(shape, 16)
    (2048.0, 256.0)
    """
    if shape.key_rank:
        return float(shape.key_rank + shape.rotary_dimension)
    return 2.0 * max(shape.key_heads / tensor, 1.0) * shape.head_dimension


def seen_tokens(shape: TransformerShape, tokens: float) -> dict[float, int]:
    """Return the number of layers by the tokens they attend to: all, or those in their window.

    >>> from app.engine.operators.transformer import Stack
    >>> shape = TransformerShape(layers=36, hidden=2880, heads=64, key_heads=8, head_dimension=64,
    ...     feed_forward=2880, vocabulary=201088, stack=Stack.DECODER, window=128, full_every=2)
    >>> seen_tokens(shape, 4096.0)
    {128.0: 18, 4096.0: 18}
    """
    layers_by_tokens: dict[float, int] = {}
    for (windowed, _), layers in layer_kinds(shape, tokens).items():
        tokens_seen = float(shape.window) if windowed else tokens
        layers_by_tokens[tokens_seen] = layers_by_tokens.get(tokens_seen, 0) + layers
    return layers_by_tokens


def cached_elements(shape: TransformerShape, tokens: float, tensor: int = 1) -> float:
    r"""Return the key-value cache of one sequence on one device.

    .. math:: C = c \sum_l \min(n, w_l)

    Parameters
    ----------
    shape : TransformerShape
        A decoder, whose layers :math:`l` see :math:`w_l` tokens at most. [-]
    tokens : float
        Tokens of the sequence, prompt and output, :math:`n`. [-]
    tensor : int
        Tensor ranks, which divide key heads. [-]

    Returns
    -------
    elements : float
        Keys and values of all layers, :math:`c` for a token and layer (:func:`cached_elements_per_token`).
        [elements]

    References
    ----------
    .. [1] R. Pope et al., "Efficiently scaling transformer inference," MLSys, 2023, section 3.3.

    Examples
    --------
    Llama 2 70B with 4,096 tokens in 16 bit:

    >>> from app.engine.operators.transformer import Stack
    >>> shape = TransformerShape(layers=80, hidden=8192, heads=64, key_heads=8, head_dimension=128,
    ...     feed_forward=28672, vocabulary=32000, stack=Stack.DECODER)
    >>> 2 * cached_elements(shape, 4096.0) == 2 * 80 * 8 * 128 * 2 * 4096
    True
    """
    tokens_seen = sum(count * layers for count, layers in seen_tokens(shape, tokens).items())
    return tokens_seen * cached_elements_per_token(shape, tensor)


class TokenAttention(NamedTuple):
    """Attention of one new token to those before it, in some layers."""

    layers: float
    flop: float
    """Of one layer on one device. [FLOP]"""
    elements: float
    """Read of the cache of one layer on one device. [elements]"""


def token_attention(shape: TransformerShape, tokens: float, tensor: int) -> list[TokenAttention]:
    r"""Return the attention of one new token to those before it.

    .. math:: F = 2 \frac{a}{t} n (d_k + d_v)

    Parameters
    ----------
    shape : TransformerShape
        A decoder of :math:`a` heads, with keys and values of width :math:`d_k` and :math:`d_v`. [-]
    tokens : float
        Tokens before it, of which a layer sees :math:`n`. [-]
    tensor : int
        Tensor ranks, :math:`t`. [-]

    Returns
    -------
    attention : list of TokenAttention
        One entry for all layers that see as many tokens. [-]

    Notes
    -----
    In latent attention heads attend to the squeezed vectors themselves, :math:`d_k = r_k + d_r` and
    :math:`d_v = r_k`: the products that spread keys and values are absorbed into query and output.

    References
    ----------
    .. [1] R. Pope et al., "Efficiently scaling transformer inference," MLSys, 2023, section 2.1.
    .. [2] DeepSeek-AI, "DeepSeek-V2," arXiv:2405.04434, 2024, section 2.1.2.

    Examples
    --------
    A layer of Llama 2 70B spends 134 MFLOP on 8.4 million elements behind 4,096 tokens:

    >>> from app.engine.operators.transformer import Stack
    >>> shape = TransformerShape(layers=80, hidden=8192, heads=64, key_heads=8, head_dimension=128,
    ...     feed_forward=28672, vocabulary=32000, stack=Stack.DECODER)
    >>> token_attention(shape, 4096.0, 1)
    [TokenAttention(layers=80.0, flop=134217728.0, elements=8388608.0)]
    """
    width = 2.0 * shape.head_dimension
    if shape.key_rank:
        width = 2.0 * shape.key_rank + shape.rotary_dimension
    cached = cached_elements_per_token(shape, tensor)
    return [
        TokenAttention(float(layers), 2.0 * shape.heads / tensor * count * width, count * cached)
        for count, layers in seen_tokens(shape, tokens).items()
    ]


def distinct_experts(experts: FloatLike, visited: FloatLike, tokens: FloatLike) -> Floats:
    r"""Return the experts of a layer that at least one of so many tokens visits, in expectation.

    .. math:: D = E \left(1 - \left(1 - \frac{k}{E}\right)^n\right)

    Parameters
    ----------
    experts : FloatLike
        Experts of a layer, :math:`E`. [-]
    visited : FloatLike
        Experts that one token visits, :math:`k`. [-]
    tokens : FloatLike
        Tokens of a step, :math:`n`. [-]

    Returns
    -------
    distinct : Floats
        From :math:`k` for one token up to :math:`E`. [-]

    Notes
    -----
    All experts are equally likely and tokens independent of one another. Skewed routing reads fewer.

    References
    ----------
    .. [1] W. Feller, "An introduction to probability theory and its applications," vol. 1, 3rd ed., 1968,
       section IV.2 (occupancy).

    Examples
    --------
    One token visits eight of 256, thirty-two tokens 163:

    >>> [round(float(distinct_experts(256, 8, tokens)), 1) for tokens in (1, 32)]
    [8.0, 163.3]
    """
    return np.asarray(experts * (1.0 - (1.0 - np.asarray(visited) / experts) ** tokens))


def visited_by(table: OperatorTable, tokens: float) -> OperatorTable:
    """Return a table that reads only the experts visited by the tokens of a batch.

    Visits are assumed to be spread evenly.
    """
    routed = table.active < 1.0
    if not np.any(routed):
        return table
    experts = np.where(routed, table.batch, 1.0)
    reached = np.where(routed, distinct_experts(experts, experts * table.active, tokens), table.batch)
    rows = table.rows * np.where(routed, table.batch, 1.0) / np.where(routed, reached, 1.0)
    return replace(table, batch=reached, rows=rows)


def generating(shape: TransformerShape) -> TransformerShape:
    """Return a decoder without the layers that predict further tokens during training."""
    return replace(shape, prediction_layers=0)


def prompt_operators(shape: TransformerShape, tokens: float) -> OperatorTable:
    """Return the operators of one prompt, of which only the last token is scored.

    Llama 2 7B multiplies 2 × 6.6 billion weights a token beside attention:

    >>> from app.engine.operators.transformer import Stack
    >>> shape = TransformerShape(layers=32, hidden=4096, heads=32, key_heads=32, head_dimension=128,
    ...     feed_forward=11008, vocabulary=32000, stack=Stack.DECODER, gated=True, biases=False, tied=False)
    >>> table = prompt_operators(shape, 2048.0)
    >>> products = np.sum(table.forward_flop[table.kind == Kind.MATMUL])
    >>> round(float(products) / 2048 / 2e9, 2)
    6.48
    """
    prompt = Tokens(rows=tokens, mean=tokens, squared=tokens * tokens, scored=1.0)
    return _frozen(transformer_operators(generating(shape), prompt))


def _frozen(table: OperatorTable) -> OperatorTable:
    """Return the operators without their training."""
    return replace(table, trained=np.zeros_like(table.trained))


def token_operators(shape: TransformerShape) -> OperatorTable:
    """Return the operators of one new token without its attention; see :func:`token_attention`."""
    token = Tokens(rows=1.0, mean=1.0, squared=1.0, scored=1.0)
    table = _frozen(transformer_operators(generating(shape), token))
    return replace(table, batch=np.where(table.kind == Kind.ATTENTION, 0.0, table.batch))


def time_per_output_token(
    batch: FloatLike, output_tokens: float, prompt_time: FloatLike, token_time: FloatLike
) -> Floats:
    r"""Return the mean time from one token of a sequence to its next. [s]

    A replica that always works on :math:`b` sequences takes in a new prompt for each that ends, one in
    :math:`o` steps of each sequence, and processes it between two steps:

    .. math:: t = t_d + \frac{b}{o} t_p

    Parameters
    ----------
    batch : FloatLike
        Sequences of a replica, :math:`b`. [-]
    output_tokens : float
        Tokens that each generates, :math:`o`. [-]
    prompt_time : FloatLike
        Time of one prompt, :math:`t_p`. [s]
    token_time : FloatLike
        Time of one step, in which every sequence gets a token, :math:`t_d`. [s]

    Returns
    -------
    seconds : Floats
        Output tokens per second of the replica are :math:`b / t`. [s]

    References
    ----------
    .. [1] G.-I. Yu et al., "Orca: a distributed serving system for transformer-based generative models,"
       OSDI, 2022 (batches that sequences join and leave between two steps).

    Examples
    --------
    Thirty-two sequences at 20 ms a step, with a prompt of 80 ms for every 256 tokens:

    >>> round(float(time_per_output_token(32, 256.0, 0.08, 0.02)), 3)
    0.03
    """
    return np.asarray(token_time + np.asarray(batch) / output_tokens * prompt_time)


def cost_of_tokens(hourly: FloatLike, tokens_per_second: FloatLike, tokens: float = 1e6) -> Floats:
    """Return the cost of tokens on a system that generates them all the time it is paid for. [currency]

    At 98 an hour and 27,000 tokens a second a million costs 1:

    >>> round(float(cost_of_tokens(98.0, 27_000.0)), 2)
    1.01
    """
    return np.asarray(hourly * tokens / (HOUR * np.asarray(tokens_per_second)))
