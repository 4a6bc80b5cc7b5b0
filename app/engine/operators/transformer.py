"""Transformers: shape, embeddings, norms, output head and layers as operators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from app.engine.operators.attention import attention_operators
from app.engine.operators.feed_forward import feed_forward_operators
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section, Split
from app.engine.records import Tokens


class Stack(StrEnum):
    """How attention sees the sequence."""

    DECODER = "decoder"
    ENCODER = "encoder"
    ENCODER_DECODER = "encoder-decoder"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerShape:
    """The dimensions of a transformer."""

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


def norm_operator(
    prefix: str, name: str, count: float, hidden: int, tokens: float, rms: bool, section: Section
) -> Operator:
    """Return a layer norm over tokens.

    Parameters
    ----------
    prefix : str
        Start of the operator's name. [-]
    name : str
        Rest of its name. [-]
    count : float
        Repeats in the model. [-]
    hidden : int
        Width of a token. [-]
    tokens : float
        Tokens per sample. [-]
    rms : bool
        True where it has a scale but no shift. [-]
    section : Section
        Where in a pipeline it runs. [-]

    Returns
    -------
    operator : Operator
        The norm; it keeps its input. [-]

    References
    ----------
    .. [1] J. Ba, J. Kiros, G. Hinton, "Layer normalization," arXiv:1607.06450, 2016.
    .. [2] B. Zhang and R. Sennrich, "Root mean square layer normalization," NeurIPS, 2019.

    Examples
    --------
    >>> norm_operator("", "norm", 1, 1024, 512.0, False, Section.LAYER).weights
    2048
    """
    return Operator(
        name=f"{prefix}{name}",
        kind=Kind.POINTWISE,
        pointwise=Pointwise.LAYER_NORM,
        count=count,
        elements=tokens * hidden,
        split=Split.SEQUENCE,
        weights=hidden * (1 if rms else 2),
        saved=tokens * hidden,
        saved_split=Split.SEQUENCE,
        section=section,
    )


def output_head(shape: TransformerShape, *, scored: float) -> list[Operator]:
    """Return the operators after the last layer: transform, logits and loss.

    Parameters
    ----------
    shape : TransformerShape
        Dimensions of the model. [-]
    scored : float
        Tokens per sample that the output layer scores. [-]

    Returns
    -------
    operators : list of Operator
        Empty for a model with neither vocabulary nor classes. [-]

    References
    ----------
    .. [1] J. Devlin et al., "BERT," NAACL, 2019, section 3.1 (masked language model head).

    Examples
    --------
    Tied embeddings add no parameters at the head:

    >>> from app.engine.operators.transformer import Stack
    >>> shape = TransformerShape(layers=12, hidden=768, heads=12, key_heads=12, head_dimension=64,
    ...     feed_forward=3072, vocabulary=50257, stack=Stack.DECODER, tied=True, final_norm=False)
    >>> [(operator.name, operator.weights) for operator in output_head(shape, scored=1024)]
    [('logits', 0.0), ('cross_entropy', 0.0)]
    """
    outputs = shape.classes or shape.vocabulary
    if not outputs:
        return []
    head: list[Operator] = []
    if shape.final_norm:
        head.append(norm_operator("", "final_norm", 1, shape.hidden, scored, shape.rms_norm, Section.HEAD))
    if shape.head_transform:
        head.append(
            Operator(
                name="head_transform",
                kind=Kind.MATMUL,
                section=Section.HEAD,
                rows=scored,
                inner=shape.hidden,
                columns=shape.hidden,
                weights=shape.hidden * shape.hidden + 3 * shape.hidden,
                saved=scored * shape.hidden,
            )
        )
    if shape.pooler:
        head.append(
            Operator(
                name="pooler",
                kind=Kind.MATMUL,
                section=Section.HEAD,
                rows=1,
                inner=shape.hidden,
                columns=shape.hidden,
                weights=shape.hidden * shape.hidden + 3 * shape.hidden + 2,
                saved=shape.hidden,
            )
        )
    own = 0.0 if shape.tied and not shape.classes else float(shape.hidden * outputs)
    bias = float(outputs) if shape.head_transform or shape.classes else 0.0
    head.append(
        Operator(
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
    )
    head.append(
        Operator(
            name="cross_entropy",
            kind=Kind.POINTWISE,
            pointwise=Pointwise.CROSS_ENTROPY,
            section=Section.HEAD,
            elements=scored * outputs,
            split=Split.COLUMNS,
            saved=2.0 * scored * outputs,
            saved_split=Split.COLUMNS,
        )
    )
    return head


def input_embedding(shape: TransformerShape, *, tokens: float) -> list[Operator]:
    """Return the operators before the first layer: embedding look-up or patch projection.

    Parameters
    ----------
    shape : TransformerShape
        Dimensions of the model. [-]
    tokens : float
        Tokens per sample. [-]

    Returns
    -------
    operators : list of Operator
        Embedding and, where the model has one, the norm after it. [-]

    References
    ----------
    .. [1] A. Dosovitskiy et al., "An image is worth 16x16 words," ICLR, 2021 (patch projection).

    Examples
    --------
    BERT-Large looks up 30,522 words, 512 positions and 2 segments:

    >>> from app.engine.operators.transformer import Stack
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
    if not shape.embedding_norm:
        return [first]
    return [
        first,
        norm_operator("", "embedding_norm", 1, shape.hidden, tokens, shape.rms_norm, Section.EMBEDDING),
    ]


def _residual(prefix: str, name: str, count: float, hidden: int, tokens: float) -> Operator:
    return Operator(
        name=f"{prefix}{name}",
        kind=Kind.POINTWISE,
        pointwise=Pointwise.RESIDUAL,
        count=count,
        elements=tokens * hidden,
        split=Split.SEQUENCE,
        masks=tokens * hidden,
        saved_split=Split.SEQUENCE,
    )


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

    Parameters
    ----------
    shape : TransformerShape
        Dimensions of the model. [-]
    count : float
        Layers. [-]
    tokens : float
        Tokens per sample in the dense products. [-]
    squared : float
        Mean square of the length in attention. [-]
    causal : bool
        True where a token sees only those before it. [-]
    cross_tokens : float
        Encoder tokens a decoder layer attends to; 0 for none. [-]
    prefix : str
        Start of every operator's name. [-]

    Returns
    -------
    operators : list of Operator
        One row per operator, ``count`` repeats each. [-]

    References
    ----------
    .. [1] V. Korthikanti et al., "Reducing activation recomputation in large transformer models,"
       MLSys, 2023, section 4.

    Examples
    --------
    A GPT-3 layer holds 12 h² + 13 h parameters and keeps 34 s h + 5 a s² bytes a sample:

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
    block = [
        norm_operator(prefix, "norm_attention", count, shape.hidden, tokens, shape.rms_norm, Section.LAYER),
        *attention_operators(
            prefix=prefix,
            count=count,
            hidden=shape.hidden,
            heads=shape.heads,
            key_heads=shape.key_heads,
            head_dimension=shape.head_dimension,
            queries=tokens,
            keys=tokens,
            squared=squared,
            causal=causal,
            rotary=shape.rotary,
            biases=shape.biases,
        ),
        _residual(prefix, "residual_attention", count, shape.hidden, tokens),
    ]
    if cross_tokens:
        block += [
            norm_operator(prefix, "norm_cross", count, shape.hidden, tokens, shape.rms_norm, Section.LAYER),
            *attention_operators(
                prefix=f"{prefix}cross_",
                count=count,
                hidden=shape.hidden,
                heads=shape.heads,
                key_heads=shape.key_heads,
                head_dimension=shape.head_dimension,
                queries=tokens,
                keys=cross_tokens,
                squared=tokens * cross_tokens,
                causal=False,
                rotary=False,
                biases=shape.biases,
            ),
            _residual(prefix, "residual_cross", count, shape.hidden, tokens),
        ]
    block += [
        norm_operator(prefix, "norm_ffn", count, shape.hidden, tokens, shape.rms_norm, Section.LAYER),
        *feed_forward_operators(
            prefix=prefix,
            count=count,
            hidden=shape.hidden,
            feed_forward=shape.feed_forward,
            tokens=tokens,
            gated=shape.gated,
            biases=shape.biases,
            experts=shape.experts,
            experts_per_token=shape.experts_per_token,
        ),
        _residual(prefix, "residual_ffn", count, shape.hidden, tokens),
    ]
    share = 1.0 / len(block)
    return [replace(operator, layer_launches=share) for operator in block]


def transformer_operators(shape: TransformerShape, tokens: Tokens) -> OperatorTable:
    """Return the operator table of a whole transformer.

    Parameters
    ----------
    shape : TransformerShape
        Dimensions of the model. [-]
    tokens : Tokens
        Lengths as the kernels see them. [-]

    Returns
    -------
    table : OperatorTable
        Embedding, layers and head. [-]

    References
    ----------
    .. [1] T. Brown et al., "Language models are few-shot learners," NeurIPS, 2020, table 2.1.

    Examples
    --------
    GPT-3 has 174.6 billion parameters in its paper's table, with a vocabulary of 50,257:

    >>> shape = TransformerShape(layers=96, hidden=12288, heads=96, key_heads=96, head_dimension=128,
    ...     feed_forward=49152, vocabulary=50257, stack=Stack.DECODER, positions=2048)
    >>> table = transformer_operators(shape, Tokens(rows=2048, mean=2048, squared=2048.0**2, scored=2048))
    >>> round(table.parameters / 1e9, 1)
    174.6
    """
    causal = shape.stack is Stack.DECODER
    operators = input_embedding(shape, tokens=tokens.mean)
    depth = shape.layers
    if shape.stack is Stack.ENCODER_DECODER:
        target = shape.target_tokens
        operators += transformer_layer(
            shape,
            count=shape.layers,
            tokens=tokens.mean,
            squared=tokens.squared,
            causal=False,
            prefix="encoder_",
        )
        operators += transformer_layer(
            shape,
            count=shape.decoder_layers,
            tokens=target,
            squared=target * target,
            causal=True,
            cross_tokens=tokens.mean,
            prefix="decoder_",
        )
        operators += output_head(shape, scored=target)
        depth += shape.decoder_layers
    else:
        operators += transformer_layer(
            shape, count=shape.layers, tokens=tokens.mean, squared=tokens.squared, causal=causal
        )
        operators += output_head(shape, scored=tokens.scored)
    return OperatorTable.of(
        operators, depth=depth, hidden=float(shape.hidden), tokens=tokens.mean, heads=float(shape.heads)
    )
