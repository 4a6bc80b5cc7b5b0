"""Operators: what a model computes, per sample, before any machine is chosen."""

from app.engine.operators.convolution import (
    convolution_layer,
    dense_layer,
    embedding_bag,
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
    transformer_operators,
)

__all__ = [
    "Kind",
    "Operator",
    "OperatorTable",
    "Pointwise",
    "Section",
    "Split",
    "Stack",
    "TransformerShape",
    "convolution_layer",
    "dense_layer",
    "embedding_bag",
    "input_embedding",
    "output_head",
    "pointwise_layer",
    "recurrent_layer",
    "transformer_layer",
    "transformer_operators",
]
