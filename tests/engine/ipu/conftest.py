"""Chips, software and models that the IPU tests share."""

import pytest

from app.engine.ipu.examples import BOW, POPART
from app.engine.operators.table import OperatorTable
from app.engine.operators.transformer import Stack, TransformerShape, transformer_operators
from app.engine.records import IpuChip, IpuSoftware, Tokens


@pytest.fixture
def bow() -> IpuChip:
    return BOW


@pytest.fixture
def gc200() -> IpuChip:
    return BOW._replace(name="GC200", clock=1.325e9)


@pytest.fixture
def popart() -> IpuSoftware:
    return POPART


def transformer(
    layers: int,
    hidden: int,
    length: int,
    *,
    vocabulary: int = 30522,
    scored: float = 20.0,
    stack: Stack = Stack.ENCODER,
    bert: bool = False,
    head: int = 64,
) -> OperatorTable:
    """Return a transformer with a feed-forward ratio of 4."""
    heads = hidden // head
    shape = TransformerShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        key_heads=heads,
        head_dimension=head,
        feed_forward=4 * hidden,
        vocabulary=vocabulary,
        stack=stack,
        positions=max(length, 512),
        segments=2 if bert else 0,
        head_transform=bert,
        pooler=bert,
        embedding_norm=bert,
        final_norm=not bert,
    )
    tokens = Tokens(rows=length, mean=length, squared=float(length**2), scored=scored)
    return transformer_operators(shape, tokens)


def bert_large(length: int) -> OperatorTable:
    return transformer(24, 1024, length, scored=20.0 if length == 128 else 76.0, bert=True)
