"""Sequence models beside plain transformers: GNMT, Transformer-XL, the temporal fusion transformer.

References
----------
.. [1] Y. Wu et al., "Google's neural machine translation system," arXiv:1609.08144, 2016;
   dimensions of NVIDIA DeepLearningExamples, PyTorch/Translation/GNMT (GNMT v2).
.. [2] Z. Dai et al., "Transformer-XL: attentive language models beyond a fixed-length context,"
   ACL, 2019; dimensions of NVIDIA DeepLearningExamples, PyTorch/LanguageModeling/Transformer-XL
   (wt103_base.yaml, wt103_large.yaml).
.. [3] E. Grave et al., "Efficient softmax approximation for GPUs," ICML, 2017.
.. [4] B. Lim et al., "Temporal fusion transformers for interpretable multi-horizon time series
   forecasting," Int. J. Forecasting 37(4), 2021; dimensions of NVIDIA DeepLearningExamples,
   PyTorch/Forecasting/TFT (configuration.py, modeling.py).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from app.engine.operators.layers import (
    attention_layer,
    dense_layer,
    norm_layer,
    pointwise_layer,
    recurrent_layer,
)
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section, Split
from app.engine.operators.transformer import (
    Stack,
    TransformerShape,
    input_embedding,
    output_head,
    transformer_layer,
)
from app.engine.records import Tokens
from app.profiles.architectures.common import LAUNCH_SHARE, embedding, head_loss, need_tokens

BUCKET = 5.0
"""Tokens by which a batch is padded beyond its mean: half the width of a bucket of lengths."""


def additive_attention(
    name: str, query: int, key: int, width: int, queries: float, keys: float
) -> list[Operator]:
    """Return attention that scores every pair of query and key by a small network."""
    pairs = queries * keys
    context = Operator(
        name=f"{name}_context",
        kind=Kind.MATMUL,
        rows=queries,
        inner=keys,
        columns=float(key),
        saved=pairs,
        aligned=False,
        convolution_launches=0.5,
    )
    return [
        dense_layer(f"{name}_query", query, width, queries, bias=False),
        dense_layer(f"{name}_key", key, width, keys, bias=False),
        pointwise_layer(
            f"{name}_scores", Pointwise.ELEMENTWISE, pairs * width, weights=float(width), saved=pairs
        ),
        context,
    ]


def build_gnmt(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    hidden: int = 1024,
    layers: int = 4,
    vocabulary: int = 32_320,
) -> OperatorTable:
    """Return the operators of GNMT v2: as many target as source tokens, one shared embedding.

    Rates count the tokens of both sides; batches of like lengths are padded to the longest.

    >>> table = build_gnmt(Tokens(rows=50, mean=50, squared=2500, scored=50), None)
    >>> round(table.parameters / 1e6, 1)
    160.7
    """
    length = need_tokens(tokens).mean
    steps = length + BUCKET
    layer = partial(recurrent_layer, cell="lstm", hidden=hidden, steps=steps)
    operators = [
        embedding("embedding", vocabulary, hidden, 2 * steps),
        *layer("encoder1", inputs=hidden, directions=2),
        *layer("encoder2", inputs=2 * hidden),
        *layer("encoder", inputs=hidden, count=layers - 2),
        *layer("decoder1", inputs=hidden),
        *additive_attention("attention", hidden, hidden, hidden, steps, steps),
        *layer("decoder", inputs=2 * hidden, count=layers - 1),
        dense_layer("words", hidden, vocabulary, steps, section=Section.HEAD),
        head_loss(steps * vocabulary),
    ]
    return OperatorTable.of(operators, depth=2 * layers, hidden=float(hidden), tokens=2.0 * length)


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


def _relative_positions(hidden: int, heads: int, length: float, layers: int) -> list[Operator]:
    """Return what relative positions and the memory add to each layer's attention.

    The scores of the positions are a second product, moved into place and added to those of the
    content; the memory is joined with the segment, and keys and values leave the joint projection
    of both.
    """
    reached = 2.0 * length
    positions = Operator(
        name="positions",
        kind=Kind.MATMUL,
        rows=length,
        inner=float(hidden // heads),
        columns=reached,
        batch=float(heads),
        saved=length * hidden,
        aligned=False,
    )
    operators = [
        pointwise_layer("memory", Pointwise.COPY, reached * hidden),
        pointwise_layer("keys_values", Pointwise.COPY, 2.0 * reached * hidden),
        positions,
        pointwise_layer("shift", Pointwise.SHIFT, heads * length * reached),
    ]
    return [
        replace(operator, count=float(layers), layer_launches=LAUNCH_SHARE, split=Split.BATCH)
        for operator in operators
    ]


def _rare_words(hidden: int, length: float, widths: list[int]) -> list[Operator]:
    """Return the logits and the loss of each group of rarer words, for the tokens that need them."""

    def product(name: str, rows: float, inner: int, columns: int) -> Operator:
        return Operator(
            name=name,
            kind=Kind.MATMUL,
            section=Section.HEAD,
            rows=rows,
            inner=float(inner),
            columns=float(columns),
            aligned=False,
        )

    operators = []
    for rank, share in enumerate(rare_shares(), start=1):
        rows = length * share
        if widths[rank] < hidden:
            operators.append(product(f"group{rank}_projection", rows, hidden, widths[rank]))
        operators.append(product(f"group{rank}_logits", rows, widths[rank], GROUPS[rank]))
        operators.append(head_loss(rows * GROUPS[rank], f"group{rank}_loss"))
    return operators


def build_transformer_xl(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    layers: int = 16,
    hidden: int = 512,
    heads: int = 8,
    feed_forward: int = 2048,
    divisor: int = 1,
) -> OperatorTable:
    """Return the operators of Transformer-XL, a decoder that also attends to the former segment.

    The vectors of each group of rarer words are ``divisor`` times narrower than those of the group
    before it.

    >>> table = build_transformer_xl(Tokens(rows=192, mean=192, squared=192.0**2, scored=192), None)
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
    block += _relative_positions(hidden, heads, length, layers)
    widths = [hidden // divisor**rank for rank in range(len(GROUPS))]
    vectors = sum(words * width for words, width in zip(GROUPS, widths, strict=True))
    projections = sum(width * hidden for width in widths) if divisor > 1 else 0
    words = [
        replace(operator, weights=float(vectors + projections))
        for operator in input_embedding(shape, tokens=length)
    ]
    head = [
        *output_head(replace(shape, vocabulary=FREQUENT), scored=length),
        # The scores against the frequent words are copied for the tokens of each group.
        pointwise_layer("groups", Pointwise.COPY, length * FREQUENT, section=Section.HEAD),
        *_rare_words(hidden, length, widths),
    ]
    return OperatorTable.of(
        [*words, *block, *head], depth=layers, hidden=float(hidden), tokens=length, heads=float(heads)
    )


QUANTILES = 3
"""Quantiles that the temporal fusion transformer forecasts: 0.1, 0.5 and 0.9."""
CONTEXTS = 4
"""Vectors the static features give: for selection, enrichment and the two states of the recurrence."""
launched_layer = partial(pointwise_layer, convolution_launches=0.5)
"""A memory-bound operator that is a kernel or two each way."""


def _gate(name: str, inputs: int, outputs: int, rows: float, count: int = 1) -> list[Operator]:
    """Return a gated linear unit, its residual connection and its norm."""
    return [
        dense_layer(f"{name}_gate", inputs, 2 * outputs, rows, count=count),
        launched_layer(f"{name}_glu", Pointwise.GATED, rows * outputs, count=count),
        launched_layer(f"{name}_add", Pointwise.RESIDUAL, rows * outputs, count=count),
        norm_layer(f"{name}_norm", outputs, rows, count=count, convolution_launches=0.5),
    ]


def _residual_network(
    name: str,
    hidden: int,
    rows: float,
    *,
    inputs: int = 0,
    outputs: int = 0,
    context: bool = False,
    count: int = 1,
) -> list[Operator]:
    """Return ``count`` gated residual networks; other widths than ``hidden`` are projected."""
    wide_in, wide_out = inputs or hidden, outputs or hidden
    dense = partial(dense_layer, count=count)
    operators = [
        dense(f"{name}_in", wide_in, hidden, rows),
        launched_layer(f"{name}_activation", Pointwise.SWISH, rows * hidden, count=count),
        dense(f"{name}_hidden", hidden, hidden, rows),
        *_gate(name, hidden, wide_out, rows, count),
    ]
    if context:
        operators += [
            dense(f"{name}_context", hidden, hidden, bias=False, tensors=1.0),
            launched_layer(f"{name}_enriched", Pointwise.ADD, rows * hidden, count=count),
        ]
    if outputs:
        operators.append(dense(f"{name}_skip", wide_in, outputs, rows))
    return operators


def _selection(
    name: str, hidden: int, variables: int, rows: float, *, context: bool = True
) -> list[Operator]:
    """Return a variable selection: one network weighs the variables, one for each transforms it."""
    joined, inputs = rows * variables * hidden, variables * hidden
    return [
        launched_layer(f"{name}_joined", Pointwise.COPY, joined),
        *_residual_network(
            f"{name}_weights", hidden, rows, inputs=inputs, outputs=variables, context=context
        ),
        *_residual_network(f"{name}_variable", hidden, rows, count=variables),
        launched_layer(f"{name}_stacked", Pointwise.COPY, joined),
        # The weighted sum over the variables is a product too narrow for the matrix units.
        launched_layer(f"{name}_weighted", Pointwise.ELEMENTWISE, joined),
    ]


def build_tft(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    hidden: int = 128,
    heads: int = 4,
    horizon: int = 24,
    known: int = 3,
    observed: int = 0,
    entities: int = 369,
) -> OperatorTable:
    """Return the operators of a temporal fusion transformer over ``tokens`` hours, forecasting the last.

    >>> table = build_tft(Tokens(rows=192, mean=192, squared=192.0**2, scored=192), None)
    >>> round(table.parameters / 1e6, 2)
    1.62
    """
    length = need_tokens(tokens).mean
    history, ahead = length - horizon, float(horizon)
    past = known + observed + 1
    width = hidden // heads
    entered = length * known + history * (observed + 1)
    operators = [
        embedding("entity", entities, hidden, 1.0),
        launched_layer(
            "inputs",
            Pointwise.ELEMENTWISE,
            entered * hidden,
            weights=2.0 * past * hidden,
            section=Section.EMBEDDING,
        ),
        *_selection("static", hidden, 1, 1.0, context=False),
        *_residual_network("contexts", hidden, 1.0, count=CONTEXTS),
        *_selection("past", hidden, past, history),
        *_selection("future", hidden, known, ahead),
        *recurrent_layer("past", "lstm", hidden, hidden, history),
        *recurrent_layer("future", "lstm", hidden, hidden, ahead),
        *_gate("recurrence", hidden, hidden, length),
        *_residual_network("enrichment", hidden, length, context=True),
        dense_layer("qkv", hidden, (2 * heads + 1) * width, length, bias=False, tensors=1.0),
        attention_layer("attention", float(heads), length, length, float(width), convolution_launches=1.0),
        dense_layer("attention_out", width, hidden, length, bias=False, tensors=1.0),
        *_gate("attention", hidden, hidden, ahead),
        *_residual_network("positions", hidden, ahead),
        *_gate("decoder", hidden, hidden, ahead),
        dense_layer("quantiles", hidden, QUANTILES, ahead, section=Section.HEAD),
    ]
    return OperatorTable.of(operators, depth=1, hidden=float(hidden), tokens=length)
