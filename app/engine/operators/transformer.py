"""Transformer layers as operators.

Shapes follow Vaswani et al. 2017 for the encoder and decoder, Brown et al. 2020 for the decoder
alone, Shazeer 2020 for gated feed-forward layers and Ainslie et al. 2023 for grouped key heads.
The activations kept for the backward pass are those of Korthikanti et al. 2022, section 4:
``34 s b h`` bytes and ``5 a s² b`` bytes a layer without parallelism.
"""

from __future__ import annotations

from dataclasses import replace

from app.engine.operators.attention import attention_operators
from app.engine.operators.ends import input_embedding, output_head
from app.engine.operators.feed_forward import feed_forward_operators
from app.engine.operators.norms import norm_operator
from app.engine.operators.shape import Stack, TransformerShape
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section, Split
from app.engine.records import Tokens


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
