"""EfficientNet B0 to B7, and the variant with grouped convolutions.

References
----------
.. [1] M. Tan, Q. Le, "EfficientNet: rethinking model scaling for convolutional neural networks,"
   ICML, 2019, table 1; widths, depths and resolutions of B1 to B7 from the authors' code.
.. [2] D. Masters et al., "Making EfficientNet more efficient," arXiv:2106.03640, 2021: groups of
   16 channels, expansion 4 and group norm instead of depthwise convolutions and batch norm.
.. [3] NVIDIA DeepLearningExamples, EfficientNet-WideSE: squeezed to a quarter of the expanded channels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from app.engine.operators.convolution import convolution_layer, dense_layer, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise
from app.engine.records import Tokens
from app.profiles.architectures.common import Blocks, classifier, need_image


class BlockStage(NamedTuple):
    """One row of the paper's table 1."""

    repeats: int
    kernel: int
    stride: int
    expansion: int
    channels: int


STAGES = (
    BlockStage(1, 3, 1, 1, 16),
    BlockStage(2, 3, 2, 6, 24),
    BlockStage(2, 5, 2, 6, 40),
    BlockStage(3, 3, 2, 6, 80),
    BlockStage(3, 5, 1, 6, 112),
    BlockStage(4, 5, 2, 6, 192),
    BlockStage(1, 3, 1, 6, 320),
)

SCALES = ((1.0, 1.0), (1.0, 1.1), (1.1, 1.2), (1.2, 1.4), (1.4, 1.8), (1.6, 2.2), (1.8, 2.6), (2.0, 3.1))
"""Width and depth of B0 to B7 over those of B0."""

GROUPED_EXPANSION = 4
"""Expansion of the variant with grouped convolutions."""


def scaled_channels(channels: int, width: float) -> int:
    """Return channels scaled and rounded to a multiple of 8, never down by more than a tenth."""
    wanted = channels * width
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * wanted else rounded


def group_count(channels: int, group_size: int) -> int:
    """Return the groups of a convolution; a group holds at most ``group_size`` channels."""
    size = next(size for size in range(min(group_size, channels), 0, -1) if channels % size == 0)
    return channels // size


def inverted_block(
    name: str,
    size: int,
    channels_in: int,
    stage: BlockStage,
    stride: int,
    group_size: int,
    norm: Pointwise,
    wide: bool = False,
) -> list[Operator]:
    """Return one mobile inverted bottleneck with squeeze and excitation.

    The program of the grouped variant drops blocks at random before it adds their input.
    """
    expanded = channels_in * stage.expansion
    small = -(-size // stride)
    operators: list[Operator] = []
    if stage.expansion > 1:
        operators += convolution_layer(
            name=f"{name}_expand",
            channels_in=channels_in,
            channels_out=expanded,
            height=size,
            width=size,
            kernel=1,
            norm=norm,
            activation=Pointwise.SWISH,
        )
    operators += convolution_layer(
        name=f"{name}_spatial",
        channels_in=expanded,
        channels_out=expanded,
        height=size,
        width=size,
        kernel=stage.kernel,
        stride=stride,
        groups=group_count(expanded, group_size),
        norm=norm,
        activation=Pointwise.SWISH,
    )
    # Squeezed to a quarter of the channels that enter the block, not of the expanded ones unless wide.
    squeezed = max(1, (expanded if wide else channels_in) // 4)
    operators += [
        pointwise_layer(
            name=f"{name}_excite",
            pointwise=Pointwise.SQUEEZE_EXCITE,
            elements=float(small * small * expanded),
        ),
        dense_layer(name=f"{name}_squeeze_in", inputs=expanded, outputs=squeezed),
        dense_layer(name=f"{name}_squeeze_out", inputs=squeezed, outputs=expanded),
        *convolution_layer(
            name=f"{name}_project",
            channels_in=expanded,
            channels_out=stage.channels,
            height=small,
            width=small,
            kernel=1,
            norm=norm,
            activation=Pointwise.NONE,
        ),
    ]
    if stride == 1 and channels_in == stage.channels:
        operators.append(
            pointwise_layer(
                name=f"{name}_add",
                pointwise=Pointwise.RESIDUAL if group_size > 1 else Pointwise.ADD,
                elements=float(small * small * stage.channels),
            )
        )
    return operators


def inverted_stages(
    blocks: Blocks, size: int, *, variant: int, group_size: int, norm: Pointwise, wide: bool = False
) -> list[tuple[int, int]]:
    """Add stem and stages to ``blocks``; return side and channels of the output of each stage."""
    width, deep = SCALES[variant]
    channels = scaled_channels(32, width)
    blocks.add(
        convolution_layer(
            name="stem",
            channels_in=3,
            channels_out=channels,
            height=size,
            width=size,
            stride=2,
            norm=norm,
            activation=Pointwise.SWISH,
            first=True,
        )
    )
    size = -(-size // 2)
    outputs: list[tuple[int, int]] = []
    for number, published in enumerate(STAGES, start=1):
        repeats = math.ceil(published.repeats * deep)
        expansion = min(published.expansion, GROUPED_EXPANSION) if group_size > 1 else published.expansion
        stage = published._replace(channels=scaled_channels(published.channels, width), expansion=expansion)
        for index in range(min(repeats, 2)):
            stride = stage.stride if index == 0 else 1
            name = f"stage{number}_{'first' if index == 0 else 'next'}"
            operators = inverted_block(name, size, channels, stage, stride, group_size, norm, wide)
            size = -(-size // stride)
            channels = stage.channels
            blocks.block(
                operators, output=float(size * size * channels), count=1 if index == 0 else repeats - 1
            )
        outputs.append((size, channels))
    return outputs


def build(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    variant: int = 0,
    group_size: int = 1,
    norm: str = "batch",
    wide: bool = False,
    classes: int = 1000,
) -> OperatorTable:
    """Return the operators of EfficientNet B0 to B7.

    >>> table = build(None, 224)
    >>> int(table.parameters)
    5288548
    >>> round(float(table.forward_flop.sum()) / 2e9, 2)
    0.39
    """
    size = need_image(image_size, least=32)
    kind = Pointwise.GROUP_NORM if norm == "group" else Pointwise.BATCH_NORM
    blocks = Blocks()
    size, channels = inverted_stages(
        blocks, size, variant=variant, group_size=group_size, norm=kind, wide=wide
    )[-1]
    last = scaled_channels(1280, SCALES[variant][0])
    blocks.add(
        convolution_layer(
            name="head",
            channels_in=channels,
            channels_out=last,
            height=size,
            width=size,
            kernel=1,
            norm=kind,
            activation=Pointwise.SWISH,
        )
    )
    blocks.add(classifier(last, float(size * size), classes))
    return blocks.table()
