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

from app.engine.operators.attention import attention_operators
from app.engine.operators.convolution import convolution_layer, dense_layer, pointwise_layer
from app.engine.operators.feed_forward import feed_forward_operators
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section, Split
from app.engine.operators.transformer import Stack, TransformerShape, output_head, transformer_layer
from app.engine.records import Tokens
from app.profiles.architectures.common import LAUNCH_SHARE, depthwise_1d, need_tokens, norm_layer


def conformer_block(
    *, count: int, hidden: int, heads: int, feed_forward: int, kernel: int, frames: float, biases: bool = True
) -> list[Operator]:
    """Return the operators of ``count`` equal encoder blocks.

    Half a feed-forward layer, attention with relative positions, a convolution module and the
    other half of the feed-forward layer (Gulati et al. 2020, figure 1). As in the reference
    program queries, keys and values are three products, a layer norm follows the depthwise
    convolution, and the module turns its tensors to convolve along time.
    """

    def half(prefix: str) -> list[Operator]:
        layers = feed_forward_operators(
            prefix=prefix,
            count=count,
            hidden=hidden,
            feed_forward=feed_forward,
            tokens=frames,
            gated=False,
            biases=biases,
            experts=1,
            experts_per_token=1,
        )
        swish = [
            replace(layer, pointwise=Pointwise.SWISH) if layer.kind is Kind.POINTWISE else layer
            for layer in layers
        ]
        return [
            norm_layer(f"{prefix}norm", hidden, frames, count),
            *swish,
            _pass(f"{prefix}dropout", Pointwise.ADD, frames * feed_forward),
            _pass(f"{prefix}half", Pointwise.ADD, frames * hidden),
            _pass(f"{prefix}add", Pointwise.RESIDUAL, frames * hidden),
        ]

    def _pass(name: str, pointwise: Pointwise, elements: float) -> Operator:
        return pointwise_layer(name=name, pointwise=pointwise, elements=elements, count=float(count))

    module: list[Operator] = [
        norm_layer("convolution_norm", hidden, frames, count),
        replace(
            dense_layer(
                name="pointwise_in", inputs=hidden, outputs=2 * hidden, rows=frames, count=float(count)
            ),
            weights=2.0 * hidden * hidden,
            convolution_launches=0.0,
        ),
        _pass("gate", Pointwise.GATED, frames * hidden),
        replace(depthwise_1d("depthwise", hidden, kernel, frames, count), weights=float(hidden * kernel)),
        norm_layer("depthwise_norm", hidden, frames, count),
        _pass("depthwise_activation", Pointwise.SWISH, frames * hidden),
        replace(
            dense_layer(name="pointwise_out", inputs=hidden, outputs=hidden, rows=frames, count=float(count)),
            weights=float(hidden * hidden),
            convolution_launches=0.0,
        ),
        # To channels before frames and back, around the module and around its norm.
        _pass("convolution_layout", Pointwise.HEADS, frames * hidden),
        _pass("convolution_add", Pointwise.RESIDUAL, frames * hidden),
    ]
    block = [
        *half("first_"),
        norm_layer("attention_norm", hidden, frames, count),
        *relative_attention(count=count, hidden=hidden, heads=heads, frames=frames, biases=biases),
        _pass("attention_add", Pointwise.RESIDUAL, frames * hidden),
        *module,
        *half("second_"),
        norm_layer("final_norm", hidden, frames, count),
        # A block ends as it starts, by spreading its tensor over the tiles anew.
        _pass("spread", Pointwise.ADD, 2.0 * frames * hidden),
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
    repeats = float(count)
    common = attention_operators(
        prefix="",
        count=count,
        hidden=hidden,
        heads=heads,
        key_heads=heads,
        head_dimension=width,
        queries=frames,
        keys=frames,
        squared=frames * frames,
        causal=False,
        rotary=False,
        biases=biases,
    )
    merged = common[0]
    # One matrix makes keys and values, in two products.
    projections = [
        replace(merged, name=name, columns=float(hidden), weights=weights)
        for name, weights in (
            ("query", merged.weights / 3.0),
            ("key", merged.weights / 3.0),
            ("value", 0.0),
        )
    ]
    positions = replace(
        dense_layer(name="positions", inputs=hidden, outputs=hidden, rows=frames, count=repeats),
        # No bias, but u and v, of one head's width for every head.
        weights=float(hidden * hidden + 2 * heads * width),
        convolution_launches=0.0,
    )
    position_scores = Operator(
        name="position_scores",
        kind=Kind.MATMUL,
        count=repeats,
        rows=frames,
        inner=float(width),
        columns=frames,
        batch=float(heads),
        saved=frames * hidden,
        saved_split=Split.COLUMNS,
        split=Split.BATCH,
    )
    scores = heads * frames * frames
    return [
        *projections,
        *common[1:],
        positions,
        position_scores,
        pointwise_layer(
            name="position_heads", pointwise=Pointwise.HEADS, elements=frames * hidden, count=repeats
        ),
        pointwise_layer(
            name="position_vectors", pointwise=Pointwise.ADD, elements=frames * hidden, count=2.0 * repeats
        ),
        # The sum of both scores, and the mask applied before and after the softmax.
        pointwise_layer(name="score_sum", pointwise=Pointwise.ADD, elements=scores, count=3.0 * repeats),
    ]


def subsampling(hidden: int, frames: float, features: int) -> tuple[list[Operator], float]:
    """Return two strided convolutions without padding and the projection after them."""
    operators: list[Operator] = []
    channels, time, bands = 1, int(frames), features
    for number in (1, 2):
        operators += convolution_layer(
            name=f"subsampling{number}",
            channels_in=channels,
            channels_out=hidden,
            height=max(time - 2, 1),
            width=bands - 2,
            stride=2,
            norm=Pointwise.NONE,
            bias=True,
            first=number == 1,
        )
        channels, time, bands = hidden, max((time - 1) // 2, 1), (bands - 1) // 2
    operators.append(
        dense_layer(name="subsampling_out", inputs=hidden * bands, outputs=hidden, rows=float(time))
    )
    return [replace(operator, section=Section.EMBEDDING) for operator in operators], float(time)


def build(
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

    >>> build(Tokens(rows=1220, mean=1220, squared=1220.0**2, scored=1220), None).tokens
    304.0
    """
    lengths = need_tokens(tokens)
    operators, frames = subsampling(hidden, lengths.mean, features)
    targets = target_tokens * lengths.mean / default_frames
    operators += conformer_block(
        count=layers, hidden=hidden, heads=heads, feed_forward=feed_forward, kernel=kernel, frames=frames
    )
    operators += _attention_decoder(decoder_layers, hidden, heads, feed_forward, vocabulary, frames, targets)
    # The decoder is shallow and hangs on the encoder's end: a pipeline is cut between encoder layers.
    return OperatorTable.of(operators, depth=layers, hidden=float(hidden), tokens=frames, heads=float(heads))


def _attention_decoder(
    layers: int, hidden: int, heads: int, feed_forward: int, vocabulary: int, frames: float, targets: float
) -> list[Operator]:
    shape = TransformerShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        key_heads=heads,
        head_dimension=hidden // heads,
        feed_forward=feed_forward,
        vocabulary=vocabulary,
        stack=Stack.DECODER,
        tied=False,
    )
    embedding = Operator(
        name="decoder_embedding",
        kind=Kind.EMBEDDING,
        rows=targets,
        columns=float(hidden),
        elements=targets * hidden,
        weights=float(vocabulary * hidden),
        input_gradient=False,
    )
    temporal = dense_layer(
        name="temporal_logits", inputs=hidden, outputs=vocabulary, rows=frames, section=Section.HEAD
    )
    softmax = pointwise_layer(
        name="temporal_softmax", pointwise=Pointwise.CROSS_ENTROPY, elements=frames * vocabulary
    )
    loss = pointwise_layer(name="temporal_loss", pointwise=Pointwise.CTC_LOSS, elements=frames * vocabulary)
    decoder = [
        embedding,
        *transformer_layer(
            shape,
            count=layers,
            tokens=targets,
            squared=targets * targets,
            causal=True,
            cross_tokens=frames,
            prefix="decoder_",
        ),
        *output_head(shape, scored=targets),
        temporal,
        softmax,
        loss,
    ]
    return [replace(operator, section=Section.HEAD) for operator in decoder]
