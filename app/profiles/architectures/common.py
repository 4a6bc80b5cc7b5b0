"""Pieces that several published architectures share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.engine.operators.convolution import dense_layer, pointwise_layer
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.errors import BadInput

LAUNCH_SHARE = 1 / 11
"""Launches of one operator beside those of one transformer layer, which has eleven operators."""


class Blocks:
    """Operators of a network in order, with what passes between its blocks.

    A pipeline may be cut between blocks; what one block hands to the next is averaged over them,
    because the table carries one figure.
    """

    def __init__(self) -> None:
        self.operators: list[Operator] = []
        self._handed: list[float] = []
        self._blocks = 0

    def add(self, operators: Iterable[Operator]) -> None:
        """Add operators that belong to no block of their own."""
        self.operators.extend(operators)

    def block(self, operators: Iterable[Operator], *, output: float, count: int = 1) -> None:
        """Add ``count`` equal blocks that each hand ``output`` elements per sample on."""
        place = self._blocks
        self.operators.extend(
            replace(operator, count=operator.count * count, block=place, block_repeats=float(count))
            for operator in operators
        )
        self._blocks += 1
        self._handed += [output] * count

    def table(self) -> OperatorTable:
        """Return the table, one row per operator."""
        depth = max(len(self._handed), 1)
        return OperatorTable.of(self.operators, depth=depth, hidden=sum(self._handed) / depth, tokens=1.0)


def residual(name: str, elements: float, *, activation: Pointwise = Pointwise.RELU) -> list[Operator]:
    """Return the addition of a skip connection and the activation after it."""
    operators = [pointwise_layer(name=f"{name}_add", pointwise=Pointwise.ADD, elements=elements)]
    if activation is not Pointwise.NONE:
        operators.append(pointwise_layer(name=f"{name}_activation", pointwise=activation, elements=elements))
    return operators


def classifier(channels: int, positions: float, classes: int) -> list[Operator]:
    """Return global average pooling, the output layer and its loss."""
    pool = pointwise_layer(name="pool", pointwise=Pointwise.AVERAGE_POOL, elements=channels * positions)
    loss = pointwise_layer(name="cross_entropy", pointwise=Pointwise.CROSS_ENTROPY, elements=float(classes))
    return [
        replace(pool, section=Section.HEAD),
        dense_layer(name="classes", inputs=channels, outputs=classes, section=Section.HEAD),
        replace(loss, section=Section.HEAD),
    ]


def need_image(image_size: int | None, *, least: int) -> int:
    """Return the image size, or say that it is missing or too small for the network."""
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
    """Return the lengths, or say that they are missing."""
    if tokens is None:
        raise BadInput.at("workload.seq_len", "this model requires the sample length (seq_len)")
    return tokens


def norm_layer(name: str, hidden: int, tokens: float, count: int = 1) -> Operator:
    """Return a layer norm over ``tokens`` vectors."""
    return replace(
        pointwise_layer(
            name=name,
            pointwise=Pointwise.LAYER_NORM,
            elements=tokens * hidden,
            count=float(count),
            weights=2.0 * hidden,
        ),
        saved=tokens * hidden,
    )


def convolution_1d(
    name: str, channels_in: int, channels_out: int, kernel: int, steps: float, count: int = 1
) -> Operator:
    """Return a convolution along one axis, with bias."""
    return Operator(
        name=name,
        kind=Kind.CONVOLUTION,
        count=float(count),
        rows=steps,
        inner=float(channels_in * kernel),
        columns=float(channels_out),
        kernel_area=float(kernel),
        kernel_width=float(kernel),
        input_elements=steps * channels_in,
        output_elements=steps * channels_out,
        weights=float(channels_in * channels_out * kernel + channels_out),
        saved=steps * channels_in,
        aligned=False,
        convolution_launches=1.0,
    )


def depthwise_1d(name: str, channels: int, kernel: int, steps: float, count: int = 1) -> Operator:
    """Return a convolution along one axis in which every channel is its own group, with bias."""
    return Operator(
        name=name,
        kind=Kind.DEPTHWISE,
        count=float(count),
        rows=steps,
        inner=float(kernel),
        columns=1.0,
        batch=float(channels),
        kernel_area=float(kernel),
        kernel_width=float(kernel),
        input_elements=steps * channels,
        output_elements=steps * channels,
        weights=float(channels * (kernel + 1)),
        saved=steps * channels,
        aligned=False,
    )
