"""U-Nets for images and volumes: the original, the one of DeepLearningExamples, nnU-Net.

References
----------
.. [1] O. Ronneberger, P. Fischer, T. Brox, "U-Net: convolutional networks for biomedical image
   segmentation," MICCAI, 2015, figure 1: convolutions without padding.
.. [2] NVIDIA DeepLearningExamples, TensorFlow/Segmentation/UNet_Industrial: padded convolutions, one
   level less, and the last convolution before each transposed one halves the channels.
.. [3] F. Isensee et al., "nnU-Net: a self-configuring method for deep learning-based biomedical image
   segmentation," Nature Methods 18, 2021.
.. [4] MLCommons training, image_segmentation/pytorch (3D U-Net on KiTS19).
.. [5] NVIDIA DeepLearningExamples, PyTorch/Segmentation/nnUNet: patches by task, DynUNet of MONAI.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise

from app.engine.operators.layers import convolution_layer, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise
from app.engine.records import Tokens
from app.profiles.architectures.common import Blocks, bare_convolution, head_loss, need_image

LEAST = 188
"""Smallest image that four levels of unpadded convolutions leave anything of."""
convolution = partial(convolution_layer, norm=Pointwise.NONE, bias=True)
"""A convolution with bias and activation, without norm."""


def transposed_convolution(name: str, channels_in: int, channels_out: int, *sides: int) -> list[Operator]:
    """Return a 2 × 2 (× 2) convolution that doubles every side: each output comes of one input."""
    flat = (math.prod(sides[1:]), sides[0])
    layer = bare_convolution(name, channels_in, channels_out * 2 ** len(sides), flat, kernel=1)
    return [replace(layer[0], weights=layer[0].weights + channels_out)]


def _copied(name: str, elements: int) -> Operator:
    """Return the copy that joins a skip connection to the path, or enlarges an image."""
    return pointwise_layer(name, Pointwise.ELEMENTWISE, float(elements))


def _pooled(name: str, elements: int) -> Operator:
    return pointwise_layer(name, Pointwise.MAX_POOL, float(elements))


def _classified(
    blocks: Blocks, channels: int, classes: int, size: int | tuple[int, int], positions: int
) -> OperatorTable:
    """Return a network that ends with a class for every position."""
    blocks.add(bare_convolution("classes", channels, classes, size, kernel=1, bias=True))
    blocks.add([head_loss(float(positions * classes), "loss")])
    return blocks.table()


def build_unet(
    tokens: Tokens | None, image_size: int | None, *, width: int = 64, channels: int = 1, classes: int = 2
) -> OperatorTable:
    """Return the operators of the two-dimensional U-Net.

    >>> int(build_unet(None, 572).parameters)
    31030658
    """
    size = need_image(image_size, least=LEAST)
    blocks = Blocks()

    def pair(name: str, channels_in: int, channels_out: int, size: int) -> int:
        operators: list[Operator] = []
        for index, source in enumerate((channels_in, channels_out), start=1):
            # Without padding a 3 × 3 convolution takes two from each side.
            size -= 2
            label = f"{name}_{index}"
            operators += convolution(label, source, channels_out, size, first=label == "down1_1")
        blocks.block(operators, output=float(size * size * channels_out))
        return size

    source = channels
    for level in range(4):
        size = pair(f"down{level + 1}", source, width << level, size)
        source = width << level
        blocks.keep()
        blocks.add([_pooled(f"pool{level + 1}", size * size * source)])
        size //= 2
    size = pair("bottom", source, width << 4, size)
    for level in reversed(range(4)):
        target = width << level
        blocks.add(transposed_convolution(f"up{level + 1}", 2 * target, target, size, size))
        size *= 2
        blocks.add([_copied(f"join{level + 1}", size * size * 2 * target)])
        # What is kept is cropped to the size that the way up has left.
        blocks.take(float(size * size * target))
        size = pair(f"up{level + 1}", 2 * target, target, size)
    return _classified(blocks, width, classes, size, size * size)


def build_padded_unet(
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

    >>> int(build_padded_unet(None, 512).parameters)
    1850305
    """
    levels = [int(width) for width in widths.split("-")]
    size = need_image(image_size, least=1 << len(levels))
    blocks = Blocks()

    def block(name: str, size: int, *widths: int, enlarge: bool = False) -> None:
        operators: list[Operator] = []
        for index, (source, target) in enumerate(pairwise(widths), start=1):
            label = f"{name}_{index}"
            if enlarge and index == len(widths) - 1:
                operators += convolution(label, source, target, 2 * size, kernel=2)
                operators.append(_copied(f"{name}_enlarge", 4 * size * size * source))
            else:
                operators += convolution(label, source, target, size, first=label == "down1_1")
        blocks.block(operators, output=float(size * size * widths[-1]))

    source = channels
    for level, width in enumerate(levels, start=1):
        block(f"down{level}", size, source, width, width)
        blocks.keep()
        blocks.add([_pooled(f"pool{level}", size * size * width)])
        source, size = width, size // 2
    block("bottom", size, source, 2 * source, 2 * source, source, enlarge=True)
    for level in reversed(range(len(levels))):
        size, joined, width = size * 2, source + levels[level], levels[level]
        blocks.add([_copied(f"join{level + 1}", size * size * joined)])
        blocks.take(float(size * size * levels[level]))
        if level:
            block(f"up{level + 1}", size, joined, width, width // 2, width // 2, enlarge=True)
            source = width // 2
        else:
            block("up1", size, joined, width, width)
    return _classified(blocks, levels[0], classes, size, size * size)


def build_nnunet(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    patch: str = "128-128-128",
    widths: str = "32-64-128-256-320-320",
    channels: int = 1,
    classes: int = 3,
) -> OperatorTable:
    """Return the operators of nnU-Net over a patch of two or three sides.

    A stated image size replaces every side. Every level has two 3 × 3 (× 3) convolutions with instance norm;
    the first of a lower level has stride two. The 3D U-Net of MLPerf:

    >>> round(build_nnunet(None, 128).parameters / 1e6, 1)
    31.2
    """
    levels = [int(width) for width in widths.split("-")]
    sides = tuple(int(side) for side in patch.split("-"))
    if image_size is not None:
        sides = (image_size,) * len(sides)
    need_image(min(sides), least=1 << (len(levels) - 1))
    blocks = Blocks()
    layer = partial(convolution_layer, norm=Pointwise.GROUP_NORM)

    def block(name: str, source: int, target: int, sides: tuple[int, ...], stride: int = 1) -> None:
        small = tuple(-(-side // stride) for side in sides)
        first = layer(f"{name}_1", source, target, sides, stride=stride, first=name == "input")
        second = layer(f"{name}_2", target, target, small)
        blocks.block([*first, *second], output=float(math.prod(small) * target))

    block("input", channels, levels[0], sides)
    reached = [sides]
    for level, (source, target) in enumerate(pairwise(levels), start=1):
        blocks.keep()
        block(f"down{level}", source, target, reached[-1], 2)
        reached.append(tuple(-(-side // 2) for side in reached[-1]))
    for level in reversed(range(len(levels) - 1)):
        target = levels[level]
        blocks.add(transposed_convolution(f"up{level + 1}", levels[level + 1], target, *reached[level + 1]))
        blocks.add([_copied(f"join{level + 1}", math.prod(reached[level]) * 2 * target)])
        blocks.take(float(math.prod(reached[level]) * target))
        block(f"up{level + 1}", 2 * target, target, reached[level])
    positions = math.prod(sides)
    return _classified(blocks, levels[0], classes, (positions // sides[0], sides[0]), positions)
