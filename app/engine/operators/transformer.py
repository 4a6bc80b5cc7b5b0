"""Transformer layers as operators.

Shapes follow Vaswani et al. 2017 for the encoder and decoder, Brown et al. 2020 for the decoder
alone, Shazeer 2020 for gated feed-forward layers and Ainslie et al. 2023 for grouped key heads.
The activations kept for the backward pass are those of Korthikanti et al. 2022, section 4:
``34 s b h`` bytes and ``5 a s² b`` bytes a layer without parallelism.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

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
    One block of GPT-3 keeps 11 s h bytes and 5 a s² bytes a sample besides its norm:

    >>> block = attention_operators(
    ...     prefix="", count=1, hidden=12288, heads=96, key_heads=96, head_dimension=128,
    ...     queries=2048, keys=2048, squared=2048.0**2, causal=True, rotary=False, biases=True)
    >>> kept = sum(2 * operator.saved + operator.masks for operator in block)
    >>> kept == 10 * 2048 * 12288 + 5 * 96 * 2048**2
    True
    """
    inner_width = heads * head_dimension
    key_width = key_heads * head_dimension
    joint = queries == keys
    projections: list[Operator] = []
    if joint:
        columns = inner_width + 2 * key_width
        projections.append(
            Operator(
                name=f"{prefix}qkv",
                kind=Kind.MATMUL,
                count=count,
                rows=queries,
                inner=hidden,
                columns=columns,
                split=Split.COLUMNS,
                weights=hidden * columns + (columns if biases else 0),
                saved=queries * hidden,
                saved_split=Split.SEQUENCE,
            )
        )
    else:
        projections.append(
            Operator(
                name=f"{prefix}query",
                kind=Kind.MATMUL,
                count=count,
                rows=queries,
                inner=hidden,
                columns=inner_width,
                split=Split.COLUMNS,
                weights=hidden * inner_width + (inner_width if biases else 0),
                saved=queries * hidden,
                saved_split=Split.SEQUENCE,
            )
        )
        projections.append(
            Operator(
                name=f"{prefix}key_value",
                kind=Kind.MATMUL,
                count=count,
                rows=keys,
                inner=hidden,
                columns=2 * key_width,
                split=Split.COLUMNS,
                weights=2 * hidden * key_width + (2 * key_width if biases else 0),
            )
        )
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
            saved=tokens * hidden,
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


def _norm(
    prefix: str, name: str, count: float, hidden: int, tokens: float, rms: bool, section: Section
) -> Operator:
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
    if shape.window:
        squared = min(squared, tokens * shape.window)
    block = [
        _norm(prefix, "norm_attention", count, shape.hidden, tokens, shape.rms_norm, Section.LAYER),
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
            _norm(prefix, "norm_cross", count, shape.hidden, tokens, shape.rms_norm, Section.LAYER),
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
        _norm(prefix, "norm_ffn", count, shape.hidden, tokens, shape.rms_norm, Section.LAYER),
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
        head.append(_norm("", "final_norm", 1, shape.hidden, scored, shape.rms_norm, Section.HEAD))
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
        _norm("", "embedding_norm", 1, shape.hidden, tokens, shape.rms_norm, Section.EMBEDDING),
    ]


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
        operators, depth=depth, hidden=float(shape.hidden), tokens=tokens.mean, heads=float(shape.key_heads)
    )
