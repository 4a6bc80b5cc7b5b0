"""U-Net for images: the original, and the one of DeepLearningExamples for defects of surfaces.

References
----------
.. [1] O. Ronneberger, P. Fischer, T. Brox, "U-Net: convolutional networks for biomedical image
   segmentation," MICCAI, 2015, figure 1: convolutions without padding.
.. [2] NVIDIA DeepLearningExamples, TensorFlow/Segmentation/UNet_Industrial: padded convolutions, one
   level less, and the last convolution before each transposed one halves the channels.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

from app.engine.operators.convolution import convolution_layer, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.profiles.architectures.common import Blocks, need_image

LEAST = 188
"""Smallest image that four levels of unpadded convolutions leave anything of."""


def transposed_convolution(name: str, channels_in: int, channels_out: int, *sides: int) -> list[Operator]:
    """Return a 2 × 2 (× 2) convolution that doubles every side: each output comes of one input."""
    layer = convolution_layer(
        name=name,
        channels_in=channels_in,
        channels_out=channels_out * 2 ** len(sides),
        height=math.prod(sides[1:]),
        width=sides[0],
        kernel=1,
        norm=Pointwise.NONE,
        activation=Pointwise.NONE,
    )
    return [replace(layer[0], weights=layer[0].weights + channels_out)]


def concatenation(name: str, elements: float) -> Operator:
    """Return the copy that joins a skip connection to the path."""
    return pointwise_layer(name=name, pointwise=Pointwise.ELEMENTWISE, elements=elements)


def segmentation_loss(elements: float) -> Operator:
    """Return the loss over every position and class."""
    loss = pointwise_layer(name="loss", pointwise=Pointwise.CROSS_ENTROPY, elements=elements)
    return replace(loss, section=Section.HEAD)


def build(
    tokens: Tokens | None, image_size: int | None, *, width: int = 64, channels: int = 1, classes: int = 2
) -> OperatorTable:
    """Return the operators of the two-dimensional U-Net.

    >>> int(build(None, 572).parameters)
    31030658
    """
    size = need_image(image_size, least=LEAST)
    blocks = Blocks()
    skips: list[int] = []

    def pair(name: str, channels_in: int, channels_out: int, size: int, first: bool = False) -> int:
        operators: list[Operator] = []
        for index, source in enumerate((channels_in, channels_out)):
            # Without padding a 3 × 3 convolution takes two from each side.
            size -= 2
            operators += convolution_layer(
                name=f"{name}_{index + 1}",
                channels_in=source,
                channels_out=channels_out,
                height=size,
                width=size,
                norm=Pointwise.NONE,
                bias=True,
                first=first and index == 0,
            )
        blocks.block(operators, output=float(size * size * channels_out))
        return size

    source = channels
    for level in range(4):
        size = pair(f"down{level + 1}", source, width << level, size, first=level == 0)
        source = width << level
        skips.append(size)
        blocks.add(
            [
                pointwise_layer(
                    name=f"pool{level + 1}",
                    pointwise=Pointwise.MAX_POOL,
                    elements=float(size * size * source),
                )
            ]
        )
        size //= 2
    size = pair("bottom", source, width << 4, size)
    for level in reversed(range(4)):
        target = width << level
        blocks.add(transposed_convolution(f"up{level + 1}", 2 * target, target, size, size))
        size *= 2
        blocks.add([concatenation(f"join{level + 1}", float(size * size * 2 * target))])
        size = pair(f"up{level + 1}", 2 * target, target, size)
    blocks.add(
        convolution_layer(
            name="classes",
            channels_in=width,
            channels_out=classes,
            height=size,
            width=size,
            kernel=1,
            norm=Pointwise.NONE,
            activation=Pointwise.NONE,
            bias=True,
        )
    )
    blocks.add([segmentation_loss(float(size * size * classes))])
    return blocks.table()


def build_padded(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    widths: str = "32-32-64-128",
    channels: int = 1,
    classes: int = 1,
) -> OperatorTable:
    """Return the operators of the U-Net with padded convolutions of [2]_.

    A 2 × 2 convolution follows each enlargement, and the last convolution before it halves the channels.

    The tiny variant has the 1.8 million parameters its source states:

    >>> int(build_padded(None, 512).parameters)
    1850305
    """
    levels = [int(width) for width in widths.split("-")]
    size = need_image(image_size, least=1 << len(levels))
    blocks = Blocks()

    def block(name: str, size: int, *sides: int, enlarge: bool = False) -> None:
        operators: list[Operator] = []
        for index, (source, target) in enumerate(pairwise(sides)):
            last = enlarge and index == len(sides) - 2
            factor = 2 if last else 1
            operators += convolution_layer(
                name=f"{name}_{index + 1}",
                channels_in=source,
                channels_out=target,
                height=size * factor,
                width=size * factor,
                kernel=2 if last else 3,
                norm=Pointwise.NONE,
                bias=True,
                first=name == "down1" and index == 0,
            )
            if last:
                larger = float(4 * size * size * source)
                operators.append(concatenation(f"{name}_enlarge", larger))
        blocks.block(operators, output=float(size * size * sides[-1]))

    source = channels
    for level, width in enumerate(levels, start=1):
        block(f"down{level}", size, source, width, width)
        pooled = float(size * size * width)
        blocks.add([pointwise_layer(name=f"pool{level}", pointwise=Pointwise.MAX_POOL, elements=pooled)])
        source, size = width, size // 2
    block("bottom", size, source, 2 * source, 2 * source, source, enlarge=True)
    for level in reversed(range(len(levels))):
        size, joined, width = size * 2, source + levels[level], levels[level]
        blocks.add([concatenation(f"join{level + 1}", float(size * size * joined))])
        if level:
            block(f"up{level + 1}", size, joined, width, width // 2, width // 2, enlarge=True)
            source = width // 2
        else:
            block("up1", size, joined, width, width)
    blocks.add(
        convolution_layer(
            name="classes",
            channels_in=levels[0],
            channels_out=classes,
            height=size,
            width=size,
            kernel=1,
            norm=Pointwise.NONE,
            activation=Pointwise.NONE,
            bias=True,
        )
    )
    blocks.add([segmentation_loss(float(size * size * classes))])
    return blocks.table()
