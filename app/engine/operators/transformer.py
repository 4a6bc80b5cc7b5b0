"""Transformers as operators: attention, feed-forward blocks, layers, embeddings and output head.

Grouped key heads after Ainslie et al. 2023. The activations kept for the backward pass are those of
Korthikanti et al. 2022, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from app.engine.operators.layers import norm_layer, pointwise_layer
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section, Split
from app.engine.records import Tokens

CAUSAL_TILE = 128
"""Tokens of one side of the square that fused causal attention computes or skips whole."""


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
    patch_inputs: int = 0
    """Input elements of one patch where an image replaces the vocabulary (ViT). [-]"""
    classes: int = 0
    """Outputs of a classification head; replaces the vocabulary head. [-]"""


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
    attention = Operator(
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
    )
    out = Operator(
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
    )

    def moved(name: str, kind: Pointwise) -> Operator:
        return pointwise_layer(f"{prefix}{name}", kind, queries * hidden, count=count, split=Split.COLUMNS)

    turned = [moved("rotary", Pointwise.ROTARY)] if rotary else []
    return [*projections, moved("heads", Pointwise.HEADS), attention, out, *turned]


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
) -> list[Operator]:
    """Return the operators of ``count`` feed-forward blocks without norm and residual.

    Gated blocks have two products in, one of which gates the other (Shazeer 2020); of experts side by side a
    token visits some (Fedus et al. 2022).

    A gated block of 4096 × 11008 has three matrices:

    >>> block = feed_forward_operators("", 4096, 11008, 1, gated=True, biases=False)
    >>> sum(operator.weights for operator in block) == 3 * 4096 * 11008
    True
    """
    visited = experts_per_token if experts > 1 else 1
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
    if experts == 1:
        return [product_in, activation, product_out]
    router = Operator(
        name=f"{prefix}router",
        kind=Kind.MATMUL,
        count=count,
        rows=tokens,
        inner=hidden,
        columns=experts,
        weights=hidden * experts,
        aligned=False,
    )
    return [router, product_in, activation, product_out]


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
    logits = Operator(
        name="logits",
        kind=Kind.MATMUL,
        section=Section.HEAD,
        rows=scored,
        inner=shape.hidden,
        columns=outputs,
        split=Split.COLUMNS,
        weights=own + bias,
        saved=scored * shape.hidden,
        saved_split=Split.SEQUENCE,
        aligned=False,
    )
    loss = pointwise_layer(
        "cross_entropy",
        Pointwise.CROSS_ENTROPY,
        scored * outputs,
        section=Section.HEAD,
        split=Split.COLUMNS,
        saved=2.0 * scored * outputs,
        saved_split=Split.COLUMNS,
    )
    return [*head, logits, loss]


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
            masks=tokens * shape.hidden,
            saved_split=Split.SEQUENCE,
        )
    norm = [_norm(shape, "embedding_norm", tokens, Section.EMBEDDING)] if shape.embedding_norm else []
    return [first, *norm]


def transformer_layer(
    shape: TransformerShape,
    *,
    count: float,
    tokens: float,
    squared: float,
    causal: bool,
    cross_tokens: float = 0.0,
    prefix: str = "",
) -> list[Operator]:
    """Return the operators of ``count`` equal transformer layers.

    A decoder layer also attends to the tokens of an encoder. A GPT-3 layer holds 12 h² + 13 h parameters and
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
    if 0 < shape.window < tokens:
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
            masks=elements,
            saved_split=Split.SEQUENCE,
        )
        return [norm, *operators, residual]

    block = wrapped("attention", attention(prefix, squared=squared, causal=causal, rotary=shape.rotary))
    if cross_tokens:
        block += wrapped("cross", attention(f"{prefix}cross_", keys=cross_tokens))
    block += wrapped(
        "ffn",
        feed_forward_operators(
            prefix,
            shape.hidden,
            shape.feed_forward,
            tokens,
            count=count,
            gated=shape.gated,
            biases=shape.biases,
            experts=shape.experts,
            experts_per_token=shape.experts_per_token,
        ),
    )
    return [replace(operator, layer_launches=1.0 / len(block)) for operator in block]


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
        *transformer_layer(
            shape,
            count=shape.layers,
            tokens=tokens.mean,
            squared=tokens.squared,
            causal=shape.stack is Stack.DECODER,
            prefix="encoder_" if both else "",
        ),
    ]
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
        depth=shape.layers + (shape.decoder_layers if both else 0),
        hidden=float(shape.hidden),
        tokens=tokens.mean,
        heads=float(shape.heads),
    )
