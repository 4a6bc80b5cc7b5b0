"""Hybrids of state spaces, attention, feed-forward blocks and experts: Nemotron-H and Nemotron 3.

References
----------
.. [1] NVIDIA, "Nemotron-H: a family of accurate and efficient hybrid Mamba-Transformer models,"
   arXiv:2504.03624, 2025; dimensions of NVIDIA-NeMo/Megatron-Bridge, nemotron_h_provider.py.
.. [2] NVIDIA, "Nemotron 3 Super," arXiv:2604.12374, 2026 (experts of a narrower width, further predictions).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from app.engine.operators.blocks import attention_operators, feed_forward_operators
from app.engine.operators.layers import norm_layer, pointwise_layer
from app.engine.operators.state_space import state_space_operators
from app.engine.operators.table import Operator, OperatorTable, Pointwise, Split
from app.engine.operators.transformer import (
    Stack,
    TransformerShape,
    further_predictions,
    input_embedding,
    output_head,
)
from app.engine.records import Tokens
from app.profiles.architectures.common import need_tokens

STATE_SPACE, ATTENTION, FEED_FORWARD, EXPERTS = "M", "*", "-", "E"
"""Letters of a pattern, one for each layer."""
LETTERS = frozenset((STATE_SPACE, ATTENTION, FEED_FORWARD, EXPERTS))
NAMES = {STATE_SPACE: "state_", ATTENTION: "", FEED_FORWARD: "", EXPERTS: "expert_"}
LAUNCHES = 0.5
"""Kernel launches of one layer beside those of a transformer layer, which has two such parts."""


def build_hybrid(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    pattern: str,
    hidden: int,
    vocabulary: int,
    heads: int,
    key_heads: int,
    head_dimension: int = 128,
    feed_forward: int = 0,
    state_heads: int,
    state_head_dimension: int = 64,
    state: int = 128,
    groups: int = 8,
    chunk: int = 128,
    experts: int = 1,
    experts_per_token: int = 1,
    expert_feed_forward: int = 0,
    shared_feed_forward: int = 0,
    latent: int = 0,
    predictions: int = 0,
    prediction_pattern: str = "*E",
    prediction_blocks: int = 1,
) -> OperatorTable:
    """Return the operators of a hybrid whose layers each hold one part, as the letters of a pattern say.

    Further predictions pass ``prediction_blocks`` blocks of layers of their own, each as often as needed.
    Feed-forward blocks square what their activation leaves, which passes over its elements as GELU does.

    Nemotron-H 8B has 52 layers, four of them of attention:

    >>> table = build_hybrid(Tokens(rows=8192, mean=8192, squared=8192.0**2, scored=8192), None,
    ...     pattern="M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-", hidden=4096, vocabulary=131072,
    ...     heads=32, key_heads=8, feed_forward=21504, state_heads=128)
    >>> table.depth, round(table.parameters / 1e9, 1)
    (52, 8.1)
    """
    lengths = need_tokens(tokens)
    length = lengths.mean

    def experts_of(name: str, count: float) -> list[Operator]:
        return feed_forward_operators(
            name,
            hidden,
            expert_feed_forward,
            length,
            count=count,
            biases=False,
            experts=experts,
            experts_per_token=experts_per_token,
            shared_feed_forward=shared_feed_forward,
            latent=latent,
        )

    parts: dict[str, Callable[[str, float], list[Operator]]] = {
        STATE_SPACE: lambda name, count: state_space_operators(
            name,
            hidden,
            length,
            heads=state_heads,
            head_dimension=state_head_dimension,
            state=state,
            groups=groups,
            chunk=chunk,
            count=count,
        ),
        ATTENTION: lambda name, count: attention_operators(
            name,
            hidden,
            heads,
            length,
            count=count,
            key_heads=key_heads,
            head_dimension=head_dimension,
            squared=lengths.squared,
            causal=True,
            biases=False,
        ),
        FEED_FORWARD: lambda name, count: feed_forward_operators(
            name, hidden, feed_forward, length, count=count, biases=False
        ),
        EXPERTS: experts_of,
    }

    def layers(letters: str, prefix: str = "", repeats: float = 1.0) -> list[Operator]:
        """Return the layers of a pattern; repeated ones have their weights once."""
        operators: list[Operator] = []
        for letter, count in Counter(letters).items():
            name = f"{prefix}{NAMES[letter]}"
            block = [
                norm_layer(
                    f"{name}norm_{letter}",
                    hidden,
                    length,
                    count=float(count),
                    split=Split.SEQUENCE,
                    saved_split=Split.SEQUENCE,
                    weights=hidden,
                    tensors=1.0,
                ),
                *parts[letter](name, float(count)),
                pointwise_layer(
                    f"{name}residual_{letter}",
                    Pointwise.RESIDUAL,
                    length * hidden,
                    count=float(count),
                    split=Split.SEQUENCE,
                    saved_split=Split.SEQUENCE,
                ),
            ]
            operators += [
                replace(
                    operator,
                    layer_launches=LAUNCHES / len(block),
                    count=operator.count * repeats,
                    weights=operator.weights / repeats,
                    tensors=operator.tensors / repeats,
                )
                for operator in block
            ]
        return operators

    shape = TransformerShape(
        layers=len(pattern),
        hidden=hidden,
        heads=heads,
        key_heads=key_heads,
        head_dimension=head_dimension,
        feed_forward=feed_forward or expert_feed_forward,
        vocabulary=vocabulary,
        stack=Stack.DECODER,
        biases=False,
        tied=False,
        rms_norm=True,
    )
    operators = [*input_embedding(shape, tokens=length), *layers(pattern)]
    if predictions:
        repeats = predictions / prediction_blocks
        operators += layers(prediction_pattern * prediction_blocks, "prediction_", repeats)
        joined = further_predictions(hidden, vocabulary, length, lengths.scored, count=predictions)
        operators += [
            replace(row, weights=row.weights / repeats, tensors=row.tensors / repeats) for row in joined
        ]
    operators += output_head(shape, scored=lengths.scored)
    return OperatorTable.of(
        operators,
        depth=len(pattern) + len(prediction_pattern) * predictions,
        hidden=float(hidden),
        tokens=length,
        heads=float(heads),
    )
