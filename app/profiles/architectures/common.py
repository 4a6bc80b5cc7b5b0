"""Pieces that several published architectures share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from app.engine.operators.layers import convolution_layer, dense_layer, pointwise_layer
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.errors import BadInput

LAUNCH_SHARE = 1 / 11
"""Launches of one operator beside those of one transformer layer, which has eleven operators."""
bare_convolution = partial(convolution_layer, norm=Pointwise.NONE, activation=Pointwise.NONE)
"""A convolution that neither norm nor activation follows."""


class Blocks:
    """Operators of a network in order, and what passes between its blocks.

    A pipeline may be cut between blocks; the elements passed on are averaged over them, as the table has one
    figure.
    """

    def __init__(self) -> None:
        self.operators: list[Operator] = []
        self._handed: list[float] = []
        self._blocks = 0
        self._kept: list[int] = []

    def add(self, operators: Iterable[Operator]) -> None:
        self.operators.extend(operators)

    def block(self, operators: Iterable[Operator], *, output: float, count: int = 1) -> None:
        """Add ``count`` equal blocks that each pass on ``output`` elements per sample."""
        number = self._blocks
        self.operators.extend(
            replace(operator, count=operator.count * count, block=number, block_repeats=float(count))
            for operator in operators
        )
        self._blocks += 1
        self._handed += [output] * count

    def keep(self) -> None:
        """Start a skip connection: keep the output of the last operator for a later block."""
        self._kept.append(len(self.operators) - 1)

    def take(self, elements: float) -> None:
        """End the latest skip connection: the last operator takes ``elements`` of it."""
        self.operators[-1] = replace(self.operators[-1], skip=-elements)
        source = self._kept.pop()
        self.operators[source] = replace(self.operators[source], skip=elements)

    def table(self) -> OperatorTable:
        depth = max(len(self._handed), 1)
        return OperatorTable.of(self.operators, depth=depth, hidden=sum(self._handed) / depth, tokens=1.0)


def classifier(channels: int, positions: float, classes: int) -> list[Operator]:
    return [
        pointwise_layer("pool", Pointwise.AVERAGE_POOL, channels * positions, section=Section.HEAD),
        dense_layer("classes", channels, classes, section=Section.HEAD),
        head_loss(float(classes)),
    ]


def head_loss(elements: float, name: str = "cross_entropy") -> Operator:
    """Return a loss over a number of outputs, at the end of a pipeline."""
    return pointwise_layer(name, Pointwise.CROSS_ENTROPY, elements, section=Section.HEAD)


def embedding(name: str, entries: int, width: int, tokens: float) -> Operator:
    return Operator(
        name=name,
        kind=Kind.EMBEDDING,
        section=Section.EMBEDDING,
        rows=tokens,
        columns=float(width),
        elements=tokens * width,
        weights=float(entries * width),
        input_gradient=False,
    )


def need_image(image_size: int | None, *, least: int) -> int:
    """Return the image size; refuse a missing one, or one too small for the network."""
    if image_size is None:
        raise BadInput.at("workload.image_size", "this model requires the image size (image_size)")
    if image_size < least:
        raise BadInput.at(
            "workload.image_size",
            "must be at least {least} pixels for this model, not {value}",
            least=least,
            value=image_size,
        )
    return image_size


def need_tokens(tokens: Tokens | None) -> Tokens:
    """Return the lengths; refuse missing ones."""
    if tokens is None:
        raise BadInput.at("workload.seq_len", "this model requires the sample length (seq_len)")
    return tokens
