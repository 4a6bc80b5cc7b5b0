"""Conformer: convolution-augmented transformer for speech.

References
----------
.. [1] A. Gulati et al., "Conformer: convolution-augmented transformer for speech recognition,"
   Interspeech, 2020, table 1.
.. [2] B. Zhang et al., "WeNet," arXiv:2102.01547, 2021: attention decoder and connectionist
   temporal classification share one encoder.
.. [3] Graphcore, "Conformer for PyTorch," graphcore/examples, speech/conformer/pytorch, 2022
   (configs/train.yaml, src/layers/attention.py, src/layers/convolution.py).
.. [4] Z. Dai et al., "Transformer-XL," ACL, 2019, section 3.3 (relative positions).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from app.engine.operators.blocks import attention_operators, feed_forward_operators
from app.engine.operators.layers import (
    convolution_1d,
    convolution_layer,
    dense_layer,
    norm_layer,
    pointwise_layer,
)
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section, Split
from app.engine.operators.transformer import Stack, TransformerShape, output_head, transformer_layer
from app.engine.records import Tokens
from app.profiles.architectures.common import LAUNCH_SHARE, embedding, head_loss, need_tokens


def conformer_block(
    *, count: int, hidden: int, heads: int, feed_forward: int, kernel: int, frames: float, biases: bool = True
) -> list[Operator]:
    """Return the operators of ``count`` equal encoder blocks.

    Half a feed-forward layer, attention with relative positions, a convolution module and the
    other half of the feed-forward layer (Gulati et al. 2020, figure 1). As in the reference
    program queries, keys and values are three products, a layer norm follows the depthwise
    convolution, and the module turns its tensors to convolve along time.
    """
    norm = partial(norm_layer, channels=hidden, positions=frames, count=count)
    one_pass = partial(pointwise_layer, count=count)
    dense = partial(dense_layer, rows=frames, bias=False, count=count, convolution_launches=0.0)
    elements = frames * hidden

    def half(prefix: str) -> list[Operator]:
        layers = feed_forward_operators(prefix, hidden, feed_forward, frames, count=count, biases=biases)
        swish = [
            replace(layer, pointwise=Pointwise.SWISH) if layer.kind is Kind.POINTWISE else layer
            for layer in layers
        ]
        return [
            norm(f"{prefix}norm"),
            *swish,
            one_pass(f"{prefix}dropout", Pointwise.ADD, frames * feed_forward),
            one_pass(f"{prefix}half", Pointwise.ADD, elements),
            one_pass(f"{prefix}add", Pointwise.RESIDUAL, elements),
        ]

    block = [
        *half("first_"),
        norm("attention_norm"),
        *relative_attention(count=count, hidden=hidden, heads=heads, frames=frames, biases=biases),
        one_pass("attention_add", Pointwise.RESIDUAL, elements),
        norm("convolution_norm"),
        dense("pointwise_in", hidden, 2 * hidden),
        one_pass("gate", Pointwise.GATED, elements),
        convolution_1d("depthwise", hidden, hidden, kernel, frames, count, bias=False, depthwise=True),
        norm("depthwise_norm"),
        one_pass("depthwise_activation", Pointwise.SWISH, elements),
        dense("pointwise_out", hidden, hidden),
        # To channels before frames and back, around the module and around its norm.
        one_pass("convolution_layout", Pointwise.HEADS, elements),
        one_pass("convolution_add", Pointwise.RESIDUAL, elements),
        *half("second_"),
        norm("final_norm"),
        # A block ends as it starts, by spreading its tensor over the tiles anew.
        one_pass("spread", Pointwise.ADD, 2.0 * elements),
    ]
    return [replace(operator, layer_launches=LAUNCH_SHARE) for operator in block]


def relative_attention(
    *, count: int, hidden: int, heads: int, frames: float, biases: bool = True
) -> list[Operator]:
    """Return attention whose scores add a product of queries with positions to that with keys.

    Scores are (q + u) · k + (q + v) · p, with learned vectors u and v and projected positions p
    (Dai et al. 2019, section 3.3; Gulati et al. 2020).
    """
    width = hidden // heads
    merged, *common = attention_operators("", hidden, heads, frames, count=count, biases=biases)
    # One matrix makes keys and values, in two products.
    third = merged.weights / 3.0
    projections = [
        replace(merged, name=name, columns=float(hidden), weights=weights)
        for name, weights in (("query", third), ("key", third), ("value", 0.0))
    ]
    # No bias, but u and v, of one head's width for every head.
    vectors = float(hidden * hidden + 2 * heads * width)
    position_scores = Operator(
        name="position_scores",
        kind=Kind.MATMUL,
        count=count,
        rows=frames,
        inner=float(width),
        columns=frames,
        batch=float(heads),
        saved=frames * hidden,
        saved_split=Split.COLUMNS,
        split=Split.BATCH,
    )
    elements, scores = frames * hidden, heads * frames * frames
    return [
        *projections,
        *common,
        dense_layer(
            "positions", hidden, hidden, frames, count=count, weights=vectors, convolution_launches=0.0
        ),
        position_scores,
        pointwise_layer("position_heads", Pointwise.HEADS, elements, count=count),
        pointwise_layer("position_vectors", Pointwise.ADD, elements, count=2.0 * count),
        # The sum of both scores, and the mask applied before and after the softmax.
        pointwise_layer("score_sum", Pointwise.ADD, scores, count=3.0 * count),
    ]


def subsampling(hidden: int, frames: float, features: int) -> tuple[list[Operator], float]:
    """Return two strided convolutions without padding and the projection after them."""
    operators: list[Operator] = []
    channels, time, bands = 1, int(frames), features
    for number in (1, 2):
        operators += convolution_layer(
            f"subsampling{number}",
            channels,
            hidden,
            (max(time - 2, 1), bands - 2),
            stride=2,
            norm=Pointwise.NONE,
            bias=True,
            first=number == 1,
        )
        channels, time, bands = hidden, max((time - 1) // 2, 1), (bands - 1) // 2
    operators.append(dense_layer("subsampling_out", hidden * bands, hidden, float(time)))
    return [replace(operator, section=Section.EMBEDDING) for operator in operators], float(time)


def build_conformer(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    layers: int = 12,
    hidden: int = 256,
    heads: int = 4,
    feed_forward: int = 2048,
    kernel: int = 15,
    features: int = 80,
    vocabulary: int = 4233,
    decoder_layers: int = 6,
    target_tokens: int = 48,
    default_frames: int = 1220,
) -> OperatorTable:
    """Return the operators of a Conformer over ``tokens`` frames of audio.

    An attention decoder and the temporal classification loss follow the encoder, as in WeNet.
    Targets are as many for each frame as in the reference's longest utterance.

    The encoder keeps 304 of the 1,220 frames of the longest utterance:

    >>> build_conformer(Tokens(rows=1220, mean=1220, squared=1220.0**2, scored=1220), None).tokens
    304.0
    """
    lengths = need_tokens(tokens)
    operators, frames = subsampling(hidden, lengths.mean, features)
    targets = target_tokens * lengths.mean / default_frames
    shape = TransformerShape(
        layers=decoder_layers,
        hidden=hidden,
        heads=heads,
        key_heads=heads,
        head_dimension=hidden // heads,
        feed_forward=feed_forward,
        vocabulary=vocabulary,
        stack=Stack.DECODER,
        tied=False,
    )
    operators += conformer_block(
        count=layers, hidden=hidden, heads=heads, feed_forward=feed_forward, kernel=kernel, frames=frames
    )
    operators += _attention_decoder(shape, frames, targets)
    # The decoder is shallow and hangs on the encoder's end: a pipeline is cut between encoder layers.
    return OperatorTable.of(operators, depth=layers, hidden=float(hidden), tokens=frames, heads=float(heads))


def _attention_decoder(shape: TransformerShape, frames: float, targets: float) -> list[Operator]:
    """Return the decoder and the losses behind the encoder's last block."""
    decoder = [
        embedding("decoder_embedding", shape.vocabulary, shape.hidden, targets),
        *transformer_layer(
            shape,
            count=shape.layers,
            tokens=targets,
            squared=targets * targets,
            causal=True,
            cross_tokens=frames,
            prefix="decoder_",
        ),
        *output_head(shape, scored=targets),
        dense_layer("temporal_logits", shape.hidden, shape.vocabulary, frames),
        head_loss(frames * shape.vocabulary, "temporal_softmax"),
        pointwise_layer("temporal_loss", Pointwise.CTC_LOSS, frames * shape.vocabulary),
    ]
    return [replace(operator, section=Section.HEAD) for operator in decoder]
