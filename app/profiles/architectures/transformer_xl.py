"""Transformer-XL: a decoder that also attends to the former segment.

References
----------
.. [1] Z. Dai et al., "Transformer-XL: attentive language models beyond a fixed-length context,"
   ACL, 2019; dimensions of NVIDIA DeepLearningExamples, PyTorch/LanguageModeling/Transformer-XL
   (wt103_base.yaml, wt103_large.yaml).
.. [2] E. Grave et al., "Efficient softmax approximation for GPUs," ICML, 2017.
"""

from __future__ import annotations

from dataclasses import replace

from app.engine.operators.convolution import pointwise_layer
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section, Split
from app.engine.operators.transformer import (
    Stack,
    TransformerShape,
    input_embedding,
    output_head,
    transformer_layer,
)
from app.engine.records import Tokens
from app.profiles.architectures.common import LAUNCH_SHARE, need_tokens

WORDS = 267_735
"""Words of WikiText-103."""

GROUPS = (19_997, 20_000, 160_000, 67_738)
"""Words of each group, from the most frequent to the rarest."""

FREQUENT = 20_000
"""Outputs every token is scored against: 19,997 words and three groups of rarer ones."""

FREQUENCY_EXPONENT = 1.275
"""Power by which the frequency of words falls with their rank: the one for which words of which the
rarest occurs three times, the least count of WikiText-103, sum to its 103 million tokens."""


def rare_shares() -> tuple[float, ...]:
    """Return the share of tokens whose word falls into each group of rarer words.

    Three of a hundred tokens are none of the frequent words:

    >>> round(sum(rare_shares()), 3)
    0.03
    """
    slope = 1.0 - FREQUENCY_EXPONENT
    total = 0.5 + (WORDS**slope - 1.0) / slope
    first, shares = GROUPS[0], []
    for words in GROUPS[1:]:
        shares.append(((first + words) ** slope - first**slope) / slope / total)
        first += words
    return tuple(shares)


def relative_positions(hidden: int, heads: int, length: float, layers: int) -> list[Operator]:
    """Return what relative positions and the memory add to each layer's attention.

    The scores of the positions are a second product, moved into place and added to those of the
    content; the memory is joined with the segment, and keys and values leave the joint projection
    of both.
    """
    reached = 2.0 * length
    scores = heads * length * reached
    operators = [
        pointwise_layer(name="memory", pointwise=Pointwise.COPY, elements=reached * hidden),
        pointwise_layer(name="keys_values", pointwise=Pointwise.COPY, elements=2.0 * reached * hidden),
        Operator(
            name="positions",
            kind=Kind.MATMUL,
            rows=length,
            inner=float(hidden // heads),
            columns=reached,
            batch=float(heads),
            split=Split.BATCH,
            saved=length * hidden,
            aligned=False,
        ),
        pointwise_layer(name="shift", pointwise=Pointwise.SHIFT, elements=scores),
    ]
    return [
        replace(operator, count=float(layers), layer_launches=LAUNCH_SHARE, split=Split.BATCH)
        for operator in operators
    ]


def rare_words(hidden: int, length: float, widths: list[int]) -> list[Operator]:
    """Return the logits and the loss of each group of rarer words, for the tokens that need them."""
    operators = []
    for rank, share in enumerate(rare_shares(), start=1):
        rows = length * share
        if widths[rank] < hidden:
            operators.append(
                Operator(
                    name=f"group{rank}_projection",
                    kind=Kind.MATMUL,
                    section=Section.HEAD,
                    rows=rows,
                    inner=float(hidden),
                    columns=float(widths[rank]),
                    aligned=False,
                )
            )
        logits = Operator(
            name=f"group{rank}_logits",
            kind=Kind.MATMUL,
            section=Section.HEAD,
            rows=rows,
            inner=float(widths[rank]),
            columns=float(GROUPS[rank]),
            aligned=False,
        )
        loss = pointwise_layer(
            name=f"group{rank}_loss", pointwise=Pointwise.CROSS_ENTROPY, elements=rows * GROUPS[rank]
        )
        operators += [logits, replace(loss, section=Section.HEAD)]
    return operators


def build(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    layers: int = 16,
    hidden: int = 512,
    heads: int = 8,
    feed_forward: int = 2048,
    divisor: int = 1,
) -> OperatorTable:
    """Return the operators of Transformer-XL with a memory as long as the segment.

    The vectors of each group of rarer words are ``divisor`` times narrower than those of the group
    before it.

    >>> table = build(Tokens(rows=192, mean=192, squared=192.0**2, scored=192), None)
    >>> round(table.parameters / 1e6)
    192
    """
    length = need_tokens(tokens).mean
    shape = TransformerShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        key_heads=heads,
        head_dimension=hidden // heads,
        feed_forward=feed_forward,
        vocabulary=WORDS,
        stack=Stack.DECODER,
        biases=False,
        final_norm=False,
    )
    block = transformer_layer(shape, count=layers, tokens=length, squared=length * 2 * length, causal=True)
    # Keys and values of the memory, and the projection of relative positions, come on top.
    block = [
        replace(operator, rows=2 * operator.rows, weights=operator.weights + hidden * hidden)
        if operator.name == "qkv"
        else operator
        for operator in block
    ]
    block += relative_positions(hidden, heads, length, layers)
    widths = [hidden // divisor**rank for rank in range(len(GROUPS))]
    head = output_head(replace(shape, vocabulary=FREQUENT), scored=length)
    # The scores against the frequent words are copied for the tokens of each group.
    copied = pointwise_layer(name="groups", pointwise=Pointwise.COPY, elements=length * FREQUENT)
    head += [replace(copied, section=Section.HEAD), *rare_words(hidden, length, widths)]
    vectors = sum(words * width for words, width in zip(GROUPS, widths, strict=True))
    projections = sum(width * hidden for width in widths) if divisor > 1 else 0
    words = [
        replace(operator, weights=float(vectors + projections))
        for operator in input_embedding(shape, tokens=length)
    ]
    return OperatorTable.of(
        [*words, *block, *head],
        depth=layers,
        hidden=float(hidden),
        tokens=length,
        heads=float(heads),
    )
