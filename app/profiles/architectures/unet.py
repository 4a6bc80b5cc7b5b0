"""U-Net for images and for volumes.

References
----------
.. [1] O. Ronneberger, P. Fischer, T. Brox, "U-Net: convolutional networks for biomedical image
   segmentation," MICCAI, 2015, figure 1: convolutions without padding.
.. [2] MLCommons training, image_segmentation/pytorch (3D U-Net on KiTS19), after F. Isensee et
   al., "nnU-Net," arXiv:1809.10486, 2018.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from app.engine.operators import (
    Operator,
    OperatorTable,
    Pointwise,
    Section,
    convolution_layer,
    pointwise_layer,
)
from app.engine.records import Tokens
from app.profiles.architectures.common import Blocks, need_image

LEAST = 188
"""Smallest image that four levels of unpadded convolutions leave anything of. [-]"""


def transposed_convolution(
    name: str, channels_in: int, channels_out: int, size: int, *, depth: int = 1
) -> list[Operator]:
    """Return a 2 × 2 (× 2) convolution that doubles the size: each output comes of one input."""
    outputs = channels_out * (8 if depth > 1 else 4)
    layer = convolution_layer(
        name=name,
        channels_in=channels_in,
        channels_out=outputs,
        height=size * depth,
        width=size,
        kernel=1,
        norm=Pointwise.NONE,
        activation=Pointwise.NONE,
    )
    return [replace(layer[0], weights=layer[0].weights + channels_out)]


def concatenation(name: str, elements: float) -> Operator:
    """Return the copy that joins a skip connection to the path."""
    return pointwise_layer(name=name, pointwise=Pointwise.ELEMENTWISE, elements=elements)


def _loss(elements: float) -> Operator:
    loss = pointwise_layer(name="loss", pointwise=Pointwise.CROSS_ENTROPY, elements=elements)
    return replace(loss, section=Section.HEAD)


def build(
    tokens: Tokens | None, image_size: int | None, *, width: int = 64, channels: int = 1, classes: int = 2
) -> OperatorTable:
    """Return the operators of the two-dimensional U-Net.

    Examples
    --------
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
        blocks.add(transposed_convolution(f"up{level + 1}", 2 * target, target, size))
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
    blocks.add([_loss(float(size * size * classes))])
    return blocks.table()


def build_volume(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    widths: str = "32-64-128-256-320-320",
    channels: int = 1,
    classes: int = 3,
) -> OperatorTable:
    """Return the operators of the three-dimensional U-Net over a cube of ``image_size``.

    Examples
    --------
    >>> table = build_volume(None, 128)
    >>> round(table.parameters / 1e6, 1)
    31.2
    """
    levels = [int(width) for width in widths.split("-")]
    size = need_image(image_size, least=1 << (len(levels) - 1))
    blocks = Blocks()

    def block(
        name: str, channels_in: int, channels_out: int, size: int, stride: int = 1, first: bool = False
    ) -> int:
        small = -(-size // stride)
        operators = [
            *convolution_layer(
                name=f"{name}_1",
                channels_in=channels_in,
                channels_out=channels_out,
                height=size,
                width=size,
                depth=size,
                stride=stride,
                norm=Pointwise.GROUP_NORM,
                first=first,
            ),
            *convolution_layer(
                name=f"{name}_2",
                channels_in=channels_out,
                channels_out=channels_out,
                height=small,
                width=small,
                depth=small,
                norm=Pointwise.GROUP_NORM,
            ),
        ]
        blocks.block(operators, output=float(small**3 * channels_out))
        return small

    block("input", channels, levels[0], size, first=True)
    sizes = [size]
    for level, (source, target) in enumerate(pairwise(levels), start=1):
        size = block(f"down{level}", source, target, size, stride=2)
        sizes.append(size)
    for level in reversed(range(len(levels) - 1)):
        target = levels[level]
        blocks.add(transposed_convolution(f"up{level + 1}", levels[level + 1], target, size, depth=size))
        size = sizes[level]
        blocks.add([concatenation(f"join{level + 1}", float(size**3 * 2 * target))])
        block(f"up{level + 1}", 2 * target, target, size)
    blocks.add(
        convolution_layer(
            name="classes",
            channels_in=levels[0],
            channels_out=classes,
            height=size * size,
            width=size,
            kernel=1,
            norm=Pointwise.NONE,
            activation=Pointwise.NONE,
            bias=True,
        )
    )
    blocks.add([_loss(float(size**3 * classes))])
    return blocks.table()
