"""What stands before and after the layers of a transformer: embedding, output layer, loss."""

from __future__ import annotations

from app.engine.operators.norms import norm_operator
from app.engine.operators.shape import TransformerShape
from app.engine.operators.table import Kind, Operator, Pointwise, Section, Split


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

    >>> from app.engine.operators.shape import Stack
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

    >>> from app.engine.operators.shape import Stack
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
