"""Operators: what a model computes, per sample, before any machine is chosen."""

from app.engine.operators.adapters import ATTENTION_MODULES, MODULES, adaptable_modules, adapted
from app.engine.operators.attention import attention_operators
from app.engine.operators.convolution import (
    convolution_layer,
    dense_layer,
    pointwise_layer,
)
from app.engine.operators.ends import input_embedding, output_head
from app.engine.operators.feed_forward import feed_forward_operators
from app.engine.operators.recurrent import embedding_bag, recurrent_layer
from app.engine.operators.shape import Stack, TransformerShape
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section, Split
from app.engine.operators.transformer import transformer_layer, transformer_operators

__all__ = [
    "ATTENTION_MODULES",
    "MODULES",
    "Kind",
    "Operator",
    "OperatorTable",
    "Pointwise",
    "Section",
    "Split",
    "Stack",
    "TransformerShape",
    "adaptable_modules",
    "adapted",
    "attention_operators",
    "convolution_layer",
    "dense_layer",
    "embedding_bag",
    "feed_forward_operators",
    "input_embedding",
    "output_head",
    "pointwise_layer",
    "recurrent_layer",
    "transformer_layer",
    "transformer_operators",
]
