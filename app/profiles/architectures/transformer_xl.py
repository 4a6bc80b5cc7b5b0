"""Transformer-XL: a decoder that also attends to the former segment.

References
----------
.. [1] Z. Dai et al., "Transformer-XL: attentive language models beyond a fixed-length context,"
   ACL, 2019; dimensions of NVIDIA DeepLearningExamples, PyTorch/LanguageModeling/Transformer-XL.
.. [2] E. Grave et al., "Efficient softmax approximation for GPUs," ICML, 2017.
"""

from __future__ import annotations

from dataclasses import replace

from app.engine.operators import (
    OperatorTable,
    Stack,
    TransformerShape,
    input_embedding,
    output_head,
    transformer_layer,
)
from app.engine.records import Tokens
from app.profiles.architectures.common import need_tokens

WORDS = 267_735
"""Words of WikiText-103."""

GROUPS = (19_997, 20_000, 160_000, 67_738)
"""Words of each group, from the most frequent to the rarest."""

FREQUENT = 20_000
"""Outputs every token is scored against: 19,997 words and three groups of rarer ones."""


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

    The groups of rarer words are scored for few tokens and are left out of the products. Each
    group's vectors are ``divisor`` times narrower than those of the group before it.

    Examples
    --------
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
    head = output_head(replace(shape, vocabulary=FREQUENT), scored=length)
    widths = [hidden // divisor**rank for rank in range(len(GROUPS))]
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
