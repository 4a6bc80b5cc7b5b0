"""Transformers as operators: layers of blocks, embeddings and output head.

Layers that predict further tokens after DeepSeek-AI 2024. The activations kept for the backward pass are
those of Korthikanti et al. 2022, section 4.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from app.engine.operators.blocks import (
    attention_operators,
    feed_forward_operators,
    latent_attention_operators,
)
from app.engine.operators.layers import norm_layer, pointwise_layer
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section, Split
from app.engine.records import Tokens


class Stack(StrEnum):
    """How attention sees the sequence."""

    DECODER = "decoder"
    ENCODER = "encoder"
    ENCODER_DECODER = "encoder-decoder"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerShape:
    layers: int
    hidden: int
    heads: int
    key_heads: int
    head_dimension: int
    feed_forward: int
    vocabulary: int
    stack: Stack
    gated: bool = False
    rotary: bool = False
    biases: bool = True
    tied: bool = True
    positions: int = 0
    """Learned position embeddings. [-]"""
    segments: int = 0
    """Learned segment embeddings. [-]"""
    experts: int = 1
    experts_per_token: int = 1
    expert_every: int = 1
    """Each that many-th layer has experts, the others one feed-forward block. [-]"""
    dense_layers: int = 0
    """First layers that have one feed-forward block in place of experts. [-]"""
    dense_feed_forward: int = 0
    """Width of the feed-forward block of layers without experts; 0 is that of an expert. [-]"""
    shared_feed_forward: int = 0
    """Width of the block that every token visits beside its experts; 0 where there is none. [-]"""
    query_rank: int = 0
    """Width that queries are squeezed into before they are spread over heads; 0 where they are not. [-]"""
    key_rank: int = 0
    """Width that keys and values of all heads share in latent attention; 0 for ordinary attention. [-]"""
    rotary_dimension: int = 0
    """Part of the head dimension that latent attention turns by position, with one key for all heads. [-]"""
    value_dimension: int = 0
    """Width of one head's values in latent attention. [-]"""
    head_norms: bool = False
    """True where queries and keys of every head are normed. [-]"""
    prediction_layers: int = 0
    """Further layers that each predict the token after the next (DeepSeek-V3, section 2.2). [-]"""
    decoder_layers: int = 0
    """Decoder layers of an encoder-decoder; ``layers`` are then the encoder's. [-]"""
    target_tokens: float = 0.0
    """Tokens per sample on the decoder side of an encoder-decoder. [-]"""
    head_transform: bool = False
    """True where a hidden × hidden layer precedes the output layer (BERT). [-]"""
    pooler: bool = False
    """True where a hidden × hidden pooler is trained beside it (BERT). [-]"""
    embedding_norm: bool = False
    final_norm: bool = True
    rms_norm: bool = False
    window: int = 0
    """Longest distance attention reaches back; 0 is unlimited. [-]"""
    full_every: int = 0
    """Each that many-th layer attends without the window; 0 where all have it. [-]"""
    patch_inputs: int = 0
    """Input elements of one patch where an image replaces the vocabulary (ViT). [-]"""
    classes: int = 0
    """Outputs of a classification head; replaces the vocabulary head. [-]"""


def _norm(
    shape: TransformerShape, name: str, tokens: float, section: Section, count: float = 1.0
) -> Operator:
    """Return a layer norm over tokens; a root-mean-square norm has a scale but no shift."""
    return norm_layer(
        name,
        shape.hidden,
        tokens,
        count=count,
        split=Split.SEQUENCE,
        saved_split=Split.SEQUENCE,
        section=section,
        weights=shape.hidden * (1 if shape.rms_norm else 2),
    )


def output_head(shape: TransformerShape, *, scored: float) -> list[Operator]:
    """Return the operators after the last layer: transform, logits and loss of so many scored tokens.

    Empty for a model with neither vocabulary nor classes. Tied embeddings add no parameters at the head:

    >>> shape = TransformerShape(layers=12, hidden=768, heads=12, key_heads=12, head_dimension=64,
    ...     feed_forward=3072, vocabulary=50257, stack=Stack.DECODER, tied=True, final_norm=False)
    >>> [(operator.name, operator.weights) for operator in output_head(shape, scored=1024)]
    [('logits', 0.0), ('cross_entropy', 0.0)]
    """
    outputs = shape.classes or shape.vocabulary
    if not outputs:
        return []

    def square(name: str, rows: float, more: int = 0) -> Operator:
        return Operator(
            name=name,
            kind=Kind.MATMUL,
            section=Section.HEAD,
            rows=rows,
            inner=shape.hidden,
            columns=shape.hidden,
            weights=shape.hidden * shape.hidden + 3 * shape.hidden + more,
            saved=rows * shape.hidden,
        )

    head: list[Operator] = []
    if shape.final_norm:
        head.append(_norm(shape, "final_norm", scored, Section.HEAD))
    if shape.head_transform:
        head.append(square("head_transform", scored))
    if shape.pooler:
        head.append(square("pooler", 1, more=2))
    own = 0.0 if shape.tied and not shape.classes else float(shape.hidden * outputs)
    bias = float(outputs) if shape.head_transform or shape.classes else 0.0
    return [*head, *_logits("", shape.hidden, outputs, scored, weights=own + bias)]


def input_embedding(shape: TransformerShape, *, tokens: float) -> list[Operator]:
    """Return the operators before the first layer: embedding look-up or patch projection, perhaps a norm.

    BERT-Large looks up 30,522 words, 512 positions and 2 segments:

    >>> shape = TransformerShape(layers=24, hidden=1024, heads=16, key_heads=16, head_dimension=64,
    ...     feed_forward=4096, vocabulary=30522, stack=Stack.ENCODER, positions=512, segments=2)
    >>> input_embedding(shape, tokens=512)[0].weights == (30522 + 512 + 2) * 1024
    True
    """
    extra = shape.positions + shape.segments
    if shape.patch_inputs:
        first = Operator(
            name="patches",
            kind=Kind.MATMUL,
            section=Section.EMBEDDING,
            rows=tokens,
            inner=shape.patch_inputs,
            columns=shape.hidden,
            input_gradient=False,
            weights=(shape.patch_inputs + 1 + extra) * shape.hidden,
            saved=tokens * shape.patch_inputs,
        )
    else:
        first = Operator(
            name="embedding",
            kind=Kind.EMBEDDING,
            section=Section.EMBEDDING,
            rows=tokens,
            columns=shape.hidden,
            elements=tokens * shape.hidden,
            split=Split.SEQUENCE,
            weights=(shape.vocabulary + extra) * shape.hidden,
            input_gradient=False,
            masks=_masks(shape, tokens),
            saved_split=Split.SEQUENCE,
        )
    norm = [_norm(shape, "embedding_norm", tokens, Section.EMBEDDING)] if shape.embedding_norm else []
    return [first, *norm]


def _masks(shape: TransformerShape, tokens: float) -> float:
    """Return the bytes of a dropout's mask over hidden states.

    Models with RMS norms are trained without dropout (Shazeer 2020; Touvron et al. 2023).
    """
    return 0.0 if shape.rms_norm else tokens * shape.hidden


def transformer_layer(
    shape: TransformerShape,
    *,
    count: float,
    tokens: float,
    squared: float,
    causal: bool,
    cross_tokens: float = 0.0,
    prefix: str = "",
    windowed: bool = True,
    routed: bool = True,
) -> list[Operator]:
    """Return the operators of ``count`` equal transformer layers.

    A decoder layer also attends to the tokens of an encoder. Window and experts of the shape hold for layers
    that are ``windowed`` and ``routed``. A GPT-3 layer holds 12 h² + 13 h parameters and
    keeps 34 s h + 5 a s² bytes a sample:

    >>> shape = TransformerShape(layers=96, hidden=12288, heads=96, key_heads=96, head_dimension=128,
    ...     feed_forward=49152, vocabulary=51200, stack=Stack.DECODER)
    >>> layer = transformer_layer(shape, count=1, tokens=2048, squared=2048.0**2, causal=True)
    >>> sum(operator.weights for operator in layer) == 12 * 12288**2 + 13 * 12288
    True
    >>> sum(2 * operator.saved + operator.masks for operator in layer) == (
    ...     34 * 2048 * 12288 + 5 * 96 * 2048**2)
    True
    """
    if windowed and 0 < shape.window < tokens:
        # Each token sees at most the window; the first ones see less.
        squared = tokens * shape.window - 0.5 * shape.window**2
        causal = False

    attention = partial(
        attention_operators,
        hidden=shape.hidden,
        heads=shape.heads,
        queries=tokens,
        count=count,
        key_heads=shape.key_heads,
        head_dimension=shape.head_dimension,
        biases=shape.biases,
        head_norms=shape.head_norms,
    )

    def own_attention() -> list[Operator]:
        if not shape.key_rank:
            return attention(prefix, squared=squared, causal=causal, rotary=shape.rotary)
        return latent_attention_operators(
            prefix,
            shape.hidden,
            shape.heads,
            tokens,
            query_rank=shape.query_rank,
            key_rank=shape.key_rank,
            head_dimension=shape.head_dimension,
            rotary_dimension=shape.rotary_dimension,
            value_dimension=shape.value_dimension,
            count=count,
            squared=squared,
            causal=causal,
        )

    def wrapped(part: str, operators: list[Operator]) -> list[Operator]:
        """Return operators between a norm and a residual connection."""
        norm = _norm(shape, f"{prefix}norm_{part}", tokens, Section.LAYER, count)
        elements = tokens * shape.hidden
        residual = pointwise_layer(
            f"{prefix}residual_{part}",
            Pointwise.RESIDUAL,
            elements,
            count=count,
            split=Split.SEQUENCE,
            masks=_masks(shape, tokens),
            saved_split=Split.SEQUENCE,
        )
        return [norm, *operators, residual]

    block = wrapped("attention", own_attention())
    if cross_tokens:
        block += wrapped("cross", attention(f"{prefix}cross_", keys=cross_tokens))
    block += wrapped(
        "ffn",
        feed_forward_operators(
            prefix,
            shape.hidden,
            shape.feed_forward if routed else shape.dense_feed_forward or shape.feed_forward,
            tokens,
            count=count,
            gated=shape.gated,
            biases=shape.biases,
            experts=shape.experts if routed else 1,
            experts_per_token=shape.experts_per_token,
            shared_feed_forward=shape.shared_feed_forward,
        ),
    )
    return [replace(operator, layer_launches=1.0 / len(block)) for operator in block]


def layer_kinds(shape: TransformerShape, tokens: float) -> dict[tuple[bool, bool], int]:
    """Return how many layers are windowed or not, and have experts or not, in order of appearance.

    A window that no sample exceeds is none. Of the 61 layers of DeepSeek-V3 the first three have no experts;
    every other layer of gpt-oss has a window of 128 tokens:

    >>> shape = TransformerShape(layers=61, hidden=7168, heads=128, key_heads=128, head_dimension=192,
    ...     feed_forward=2048, vocabulary=129280, stack=Stack.DECODER, experts=256, dense_layers=3)
    >>> layer_kinds(shape, 4096)
    {(False, False): 3, (False, True): 58}
    >>> layer_kinds(replace(shape, dense_layers=0, window=128, full_every=2), 4096)
    {(True, True): 31, (False, True): 30}
    """
    kinds: Counter[tuple[bool, bool]] = Counter()
    for number in range(1, shape.layers + 1):
        windowed = 0 < shape.window < tokens and not (shape.full_every and number % shape.full_every == 0)
        routed = shape.experts > 1 and number > shape.dense_layers and number % shape.expert_every == 0
        kinds[windowed, routed] += 1
    return dict(kinds)


def unlike_layers(
    shape: TransformerShape, *, tokens: float, squared: float, causal: bool, prefix: str = ""
) -> list[Operator]:
    """Return the operators of all layers of a stack, kind by kind (see :func:`layer_kinds`)."""
    kinds = layer_kinds(shape, tokens)
    operators: list[Operator] = []
    for (windowed, routed), count in kinds.items():
        windowed_apart = windowed and len({some for some, _ in kinds}) > 1
        dense_apart = not routed and len({some for _, some in kinds}) > 1
        name = f"{prefix}{'window_' if windowed_apart else ''}{'dense_' if dense_apart else ''}"
        operators += transformer_layer(
            shape,
            count=count,
            tokens=tokens,
            squared=squared,
            causal=causal,
            prefix=name,
            windowed=windowed,
            routed=routed,
        )
    return operators


def further_predictions(
    hidden: int, vocabulary: int, tokens: float, scored: float, *, count: float, rms_norm: bool = True
) -> list[Operator]:
    """Return what joins tokens to the layers that predict further ones, and their outputs and losses.

    Each prediction norms the state and the next token's vector, joins both by a product of 2 h × h, passes a
    layer of its own, which is not among these, a norm and the output layer of the model (DeepSeek-V3, section
    2.2). The first of DeepSeek-V3 has 103 million weights beside its layer:

    >>> parts = further_predictions(7168, 129280, 4096, 4096, count=1)
    >>> round(sum(operator.weights for operator in parts) / 1e6)
    103
    """
    scales = hidden * (1 if rms_norm else 2)
    norms = norm_layer(
        "prediction_norms", hidden, 2.0 * tokens, count=count, weights=2.0 * scales, split=Split.SEQUENCE
    )
    join = Operator(
        name="prediction_join",
        kind=Kind.MATMUL,
        count=count,
        rows=tokens,
        inner=2 * hidden,
        columns=hidden,
        split=Split.COLUMNS,
        weights=2 * hidden * hidden,
        tensors=1.0,
        saved=2 * tokens * hidden,
        saved_split=Split.SEQUENCE,
    )
    final = norm_layer(
        "prediction_final_norm",
        hidden,
        scored,
        count=count,
        weights=scales,
        split=Split.SEQUENCE,
        section=Section.HEAD,
    )
    outputs = _logits("prediction_", hidden, vocabulary, scored, weights=0.0, count=count)
    return [norms, join, final, *outputs]


def _logits(
    prefix: str, hidden: int, outputs: int, scored: float, *, weights: float, count: float = 1.0
) -> list[Operator]:
    """Return the output layer and the loss over so many scored tokens."""
    logits = Operator(
        name=f"{prefix}logits",
        kind=Kind.MATMUL,
        section=Section.HEAD,
        count=count,
        rows=scored,
        inner=hidden,
        columns=outputs,
        split=Split.COLUMNS,
        weights=weights,
        saved=scored * hidden,
        saved_split=Split.SEQUENCE,
        aligned=False,
    )
    loss = pointwise_layer(
        f"{prefix}cross_entropy",
        Pointwise.CROSS_ENTROPY,
        scored * outputs,
        section=Section.HEAD,
        count=count,
        split=Split.COLUMNS,
        saved=2.0 * scored * outputs,
        saved_split=Split.COLUMNS,
    )
    return [logits, loss]


def transformer_operators(shape: TransformerShape, tokens: Tokens) -> OperatorTable:
    """Return the operator table of a whole transformer.

    GPT-3 has 174.6 billion parameters in its paper's table, with a vocabulary of 50,257 (Brown et al. 2020):

    >>> shape = TransformerShape(layers=96, hidden=12288, heads=96, key_heads=96, head_dimension=128,
    ...     feed_forward=49152, vocabulary=50257, stack=Stack.DECODER, positions=2048)
    >>> table = transformer_operators(shape, Tokens(rows=2048, mean=2048, squared=2048.0**2, scored=2048))
    >>> round(table.parameters / 1e9, 1)
    174.6
    """
    both = shape.stack is Stack.ENCODER_DECODER
    operators = [
        *input_embedding(shape, tokens=tokens.mean),
        *unlike_layers(
            shape,
            tokens=tokens.mean,
            squared=tokens.squared,
            causal=shape.stack is Stack.DECODER,
            prefix="encoder_" if both else "",
        ),
    ]
    if shape.prediction_layers:
        operators += transformer_layer(
            shape,
            count=shape.prediction_layers,
            tokens=tokens.mean,
            squared=tokens.squared,
            causal=shape.stack is Stack.DECODER,
            prefix="prediction_",
        )
        operators += further_predictions(
            shape.hidden,
            shape.vocabulary,
            tokens.mean,
            tokens.scored,
            count=shape.prediction_layers,
            rms_norm=shape.rms_norm,
        )
    if both:
        target = shape.target_tokens
        operators += transformer_layer(
            shape,
            count=shape.decoder_layers,
            tokens=target,
            squared=target * target,
            causal=True,
            cross_tokens=tokens.mean,
            prefix="decoder_",
        )
    operators += output_head(shape, scored=shape.target_tokens if both else tokens.scored)
    return OperatorTable.of(
        operators,
        depth=shape.layers + shape.prediction_layers + (shape.decoder_layers if both else 0),
        hidden=float(shape.hidden),
        tokens=tokens.mean,
        heads=float(shape.heads),
    )
