"""Transformers whose attention reads compressed keys and picks among them: DeepSeek-V4.

References
----------
.. [1] DeepSeek-AI, DeepSeek-V4-Flash: config.json, shapes of the released weights and reference code,
   https://huggingface.co/deepseek-ai/DeepSeek-V4-Flash, 2026.
.. [2] DeepSeek-AI, "DeepSeek-V3.2," 2025 (the indexer that picks keys).
.. [3] Z. Xie et al., "mHC: manifold-constrained hyper-connections," arXiv:2512.24880, 2025.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from app.engine.operators.blocks import feed_forward_operators
from app.engine.operators.layers import dense_layer, norm_layer, pointwise_layer
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Split
from app.engine.operators.transformer import (
    Stack,
    TransformerShape,
    further_predictions,
    input_embedding,
    output_head,
)
from app.engine.records import Tokens
from app.profiles.architectures.common import need_tokens

OVERLAPPING = 4
"""Compression at which neighbouring keys overlap, so that twice the width is projected, and are picked."""


def compressed_keys(length: float, ratio: int, picked: int) -> float:
    """Return the compressed keys that a token of a causal sample reads in the mean.

    Up to ``picked`` of those before it where keys are picked, all of them where they are not:

    >>> compressed_keys(4096, 128, 512), compressed_keys(4096, 4, 512), compressed_keys(4096, 0, 512)
    (16.0, 384.0, 0.0)
    """
    if not ratio:
        return 0.0
    most = length / ratio
    if ratio != OVERLAPPING or most <= picked:
        return most / 2.0
    return picked * (1.0 - picked / (2.0 * most))


def build_deepseek_v4(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    ratios: str,
    hidden: int = 4096,
    heads: int = 64,
    head_dimension: int = 512,
    query_rank: int = 1024,
    output_rank: int = 1024,
    output_groups: int = 8,
    window: int = 128,
    picked: int = 512,
    index_heads: int = 64,
    index_dimension: int = 128,
    experts: int = 256,
    experts_per_token: int = 6,
    feed_forward: int = 2048,
    streams: int = 4,
    vocabulary: int = 129_280,
    predictions: int = 1,
) -> OperatorTable:
    """Return the operators of DeepSeek-V4, with the compression of each layer's keys in ``ratios``.

    Every layer reads a window, and the compressed keys before it: all of them, or those that an indexer picks
    where neighbours overlap. The layers that predict further tokens read the window alone. Residuals run in
    several streams, which a small product joins before and spreads behind each part.

    >>> flash = "0-0" + "-4-128" * 20 + "-4"
    >>> lengths = Tokens(rows=4096, mean=4096, squared=4096.0**2, scored=4096)
    >>> table = build_deepseek_v4(lengths, None, ratios=flash, predictions=0)
    >>> round(table.parameters / 1e9), round(table.active_parameters / 1e9)
    (284, 14)
    """
    lengths = need_tokens(tokens)
    length = lengths.mean
    dense = partial(dense_layer, bias=False, aligned=True, tensors=1.0, convolution_launches=0.0)

    def compressor(name: str, ratio: int, width: int) -> list[Operator]:
        wide = width * (2 if ratio == OVERLAPPING else 1)
        return [
            dense(f"{name}compressor", hidden, 2 * wide, length, saved=0.0),
            pointwise_layer(f"{name}compressed", Pointwise.GATED, length * wide, weights=float(ratio * wide)),
        ]

    def attention(name: str, ratio: int) -> list[Operator]:
        """Return one attention block; keys are values as well and all heads share them."""
        key_count = compressed_keys(length, ratio, picked)
        squared = length * (min(window, length) + key_count)
        width = heads * head_dimension
        rows = [
            dense(f"{name}query_down", hidden, query_rank, length),
            norm_layer(f"{name}query_norm", query_rank, length, weights=query_rank, tensors=1.0),
            dense(f"{name}query_up", query_rank, width, length, split=Split.COLUMNS),
            dense(f"{name}key", hidden, head_dimension, length, saved=0.0),
            norm_layer(f"{name}key_norm", head_dimension, length, weights=head_dimension, tensors=1.0),
        ]
        if ratio:
            rows += compressor(name, ratio, head_dimension)
        if ratio == OVERLAPPING:
            rows += [
                dense(f"{name}index_query", query_rank, index_heads * index_dimension, length, saved=0.0),
                dense(f"{name}index_weights", hidden, index_heads, length, saved=0.0),
                *compressor(f"{name}index_", ratio, index_dimension),
                Operator(
                    name=f"{name}index_scores",
                    kind=Kind.MATMUL,
                    rows=length,
                    inner=index_dimension,
                    columns=length / ratio / 2.0,
                    batch=float(index_heads),
                    saved=length * index_heads * index_dimension,
                ),
                pointwise_layer(
                    f"{name}index_picks", Pointwise.ELEMENTWISE, length * length / ratio / 2.0, weights=0.0
                ),
            ]
        return [
            *rows,
            Operator(
                name=f"{name}attention",
                kind=Kind.ATTENTION,
                rows=length,
                inner=float(head_dimension),
                columns=length,
                batch=float(heads),
                squared=squared,
                weights=float(heads),
                split=Split.BATCH,
                saved=length * (width + head_dimension) + 2.0 * heads * squared,
                saved_split=Split.BATCH,
            ),
            pointwise_layer(f"{name}rotary", Pointwise.ROTARY, length * width, split=Split.COLUMNS),
            Operator(
                name=f"{name}attention_groups",
                kind=Kind.MATMUL,
                rows=length,
                inner=width / output_groups,
                columns=float(output_rank),
                batch=float(output_groups),
                split=Split.BATCH,
                weights=float(width * output_rank),
                tensors=1.0,
                saved=length * width,
                saved_split=Split.BATCH,
            ),
            dense(f"{name}attention_out", output_groups * output_rank, hidden, length, split=Split.INNER),
        ]

    def streamed(name: str, part: list[Operator]) -> list[Operator]:
        """Return a part between joining the streams of residuals and spreading what it gives."""
        mixed = streams * streams + 2 * streams
        return [
            dense(
                f"{name}streams",
                streams * hidden,
                mixed,
                length,
                aligned=False,
                saved=streams * length * hidden,
            ),
            pointwise_layer(f"{name}joined", Pointwise.ELEMENTWISE, (streams + 1) / 2.0 * length * hidden),
            norm_layer(f"{name}norm", hidden, length, weights=hidden, tensors=1.0),
            *part,
            pointwise_layer(
                f"{name}spread", Pointwise.ELEMENTWISE, (2 * streams + 1) / 2.0 * length * hidden
            ),
        ]

    def layer(name: str, ratio: int, count: int) -> list[Operator]:
        block = [
            *streamed(f"{name}attention_", attention(name, ratio)),
            *streamed(
                f"{name}ffn_",
                feed_forward_operators(
                    name,
                    hidden,
                    feed_forward,
                    length,
                    gated=True,
                    biases=False,
                    experts=experts,
                    experts_per_token=experts_per_token,
                    shared_feed_forward=feed_forward,
                ),
            ),
        ]
        return [replace(operator, count=float(count), layer_launches=1.0 / len(block)) for operator in block]

    kinds = Counter(map(int, ratios.split("-")))
    shape = TransformerShape(
        layers=sum(kinds.values()),
        hidden=hidden,
        heads=heads,
        key_heads=1,
        head_dimension=head_dimension,
        feed_forward=feed_forward,
        vocabulary=vocabulary,
        stack=Stack.DECODER,
        biases=False,
        tied=False,
        rms_norm=True,
    )
    operators = input_embedding(shape, tokens=length)
    for ratio, count in kinds.items():
        operators += layer(f"ratio{ratio}_" if ratio else "", ratio, count)
    if predictions:
        operators += layer("prediction_", 0, predictions)
        operators += further_predictions(hidden, vocabulary, length, lengths.scored, count=predictions)
    operators += output_head(shape, scored=lengths.scored)
    return OperatorTable.of(
        operators,
        depth=shape.layers + predictions,
        hidden=float(streams * hidden),
        tokens=length,
        heads=float(heads),
    )
