"""Time series: the temporal fusion transformer.

References
----------
.. [1] B. Lim et al., "Temporal fusion transformers for interpretable multi-horizon time series
   forecasting," Int. J. Forecasting 37(4), 2021; dimensions of NVIDIA DeepLearningExamples,
   PyTorch/Forecasting/TFT (configuration.py, modeling.py).
"""

from __future__ import annotations

from dataclasses import replace

from app.engine.operators.convolution import dense_layer, pointwise_layer
from app.engine.operators.recurrent import recurrent_layer
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.profiles.architectures.common import need_tokens, norm_layer
from app.profiles.architectures.recurrent import embedding
from app.profiles.rows import attention

QUANTILES = 3
"""Quantiles that are forecast: 0.1, 0.5 and 0.9."""

CONTEXTS = 4
"""Vectors the static features give: for selection, enrichment and the two states of the recurrence."""


def pointwise(name: str, kind: Pointwise, elements: float, count: int = 1) -> Operator:
    """Return a memory-bound operator that is a kernel or two each way."""
    operator = pointwise_layer(name=name, pointwise=kind, elements=elements, count=float(count))
    return replace(operator, convolution_launches=0.5)


def gate(name: str, inputs: int, outputs: int, rows: float, count: int = 1) -> list[Operator]:
    """Return a gated linear unit, its residual connection and its norm."""
    return [
        dense_layer(name=f"{name}_gate", inputs=inputs, outputs=2 * outputs, rows=rows, count=float(count)),
        pointwise(f"{name}_glu", Pointwise.GATED, rows * outputs, count),
        pointwise(f"{name}_add", Pointwise.RESIDUAL, rows * outputs, count),
        replace(norm_layer(f"{name}_norm", outputs, rows, count), convolution_launches=0.5),
    ]


def residual_network(
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
    operators = [
        dense_layer(name=f"{name}_in", inputs=wide_in, outputs=hidden, rows=rows, count=float(count)),
        pointwise(f"{name}_activation", Pointwise.SWISH, rows * hidden, count),
        dense_layer(name=f"{name}_hidden", inputs=hidden, outputs=hidden, rows=rows, count=float(count)),
        *gate(name, hidden, wide_out, rows, count),
    ]
    if context:
        from_context = dense_layer(name=f"{name}_context", inputs=hidden, outputs=hidden, count=float(count))
        operators += [
            replace(from_context, weights=float(hidden * hidden), tensors=1.0),
            pointwise(f"{name}_enriched", Pointwise.ADD, rows * hidden, count),
        ]
    if outputs:
        operators.append(
            dense_layer(name=f"{name}_skip", inputs=wide_in, outputs=outputs, rows=rows, count=float(count))
        )
    return operators


def selection(name: str, hidden: int, variables: int, rows: float, *, context: bool = True) -> list[Operator]:
    """Return a variable selection: one network weighs the variables, one for each transforms it."""
    joined = rows * variables * hidden
    return [
        pointwise(f"{name}_joined", Pointwise.COPY, joined),
        *residual_network(
            f"{name}_weights", hidden, rows, inputs=variables * hidden, outputs=variables, context=context
        ),
        *residual_network(f"{name}_variable", hidden, rows, count=variables),
        pointwise(f"{name}_stacked", Pointwise.COPY, joined),
        # The weighted sum over the variables is a product too narrow for the matrix units.
        pointwise(f"{name}_weighted", Pointwise.ELEMENTWISE, joined),
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
    history = length - horizon
    past = known + observed + 1
    width = hidden // heads
    entered = length * known + history * (observed + 1)
    scores = attention("attention", float(heads), length, length, float(width))
    operators = [
        embedding("entity", entities, hidden, 1.0),
        replace(
            pointwise("inputs", Pointwise.ELEMENTWISE, entered * hidden),
            weights=2.0 * past * hidden,
            section=Section.EMBEDDING,
        ),
        *selection("static", hidden, 1, 1.0, context=False),
        *residual_network("contexts", hidden, 1.0, count=CONTEXTS),
        *selection("past", hidden, past, history),
        *selection("future", hidden, known, float(horizon)),
        *recurrent_layer(name="past", cell="lstm", inputs=hidden, hidden=hidden, steps=history),
        *recurrent_layer(name="future", cell="lstm", inputs=hidden, hidden=hidden, steps=float(horizon)),
        *gate("recurrence", hidden, hidden, length),
        *residual_network("enrichment", hidden, length, context=True),
        Operator(
            name="qkv",
            kind=Kind.MATMUL,
            rows=length,
            inner=float(hidden),
            columns=float((2 * heads + 1) * width),
            weights=float(hidden * (2 * heads + 1) * width),
            tensors=1.0,
            saved=length * hidden,
            aligned=False,
            convolution_launches=0.5,
        ),
        replace(scores, convolution_launches=1.0),
        replace(
            dense_layer(name="attention_out", inputs=width, outputs=hidden, rows=length),
            weights=float(width * hidden),
            tensors=1.0,
        ),
        *gate("attention", hidden, hidden, float(horizon)),
        *residual_network("positions", hidden, float(horizon)),
        *gate("decoder", hidden, hidden, float(horizon)),
        dense_layer(
            name="quantiles", inputs=hidden, outputs=QUANTILES, rows=float(horizon), section=Section.HEAD
        ),
    ]
    return OperatorTable.of(operators, depth=1, hidden=float(hidden), tokens=length)
