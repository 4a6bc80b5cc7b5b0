"""nnU-Net: encoder and decoder of strided and transposed convolutions, for images and for volumes.

References
----------
.. [1] F. Isensee et al., "nnU-Net: a self-configuring method for deep learning-based biomedical image
   segmentation," Nature Methods 18, 2021.
.. [2] MLCommons training, image_segmentation/pytorch (3D U-Net on KiTS19).
.. [3] NVIDIA DeepLearningExamples, PyTorch/Segmentation/nnUNet: patches by task, DynUNet of MONAI.
"""

from __future__ import annotations

import math
from itertools import pairwise

from app.engine.operators.convolution import convolution_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise
from app.engine.records import Tokens
from app.errors import BadInput
from app.profiles.architectures.common import Blocks
from app.profiles.architectures.unet import concatenation, segmentation_loss, transposed_convolution


def _convolution(
    name: str, channels_in: int, channels_out: int, sides: tuple[int, ...], stride: int, first: bool
) -> list[Operator]:
    return convolution_layer(
        name=name,
        channels_in=channels_in,
        channels_out=channels_out,
        height=sides[0],
        width=sides[1],
        depth=sides[2] if len(sides) > 2 else 1,
        stride=stride,
        norm=Pointwise.GROUP_NORM,
        first=first,
    )


def _sides(patch: str, image_size: int | None, levels: int) -> tuple[int, ...]:
    """Return the sides of the patch; a stated image size replaces every one of them."""
    sides = tuple(int(side) for side in patch.split("-"))
    if image_size is not None:
        sides = (image_size,) * len(sides)
    least = 1 << (levels - 1)
    if min(sides) < least:
        raise BadInput.at(
            "workload.image_size",
            "must be at least {least} pixels for this model, not {value}",
            least=least,
            value=min(sides),
        )
    return sides


def build(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    patch: str = "128-128-128",
    widths: str = "32-64-128-256-320-320",
    channels: int = 1,
    classes: int = 3,
) -> OperatorTable:
    """Return the operators over a patch of two or three sides.

    Every level has two 3 × 3 (× 3) convolutions with instance norm; the first of a lower level has
    stride two.

    The 3D U-Net of MLPerf:

    >>> round(build(None, 128).parameters / 1e6, 1)
    31.2
    """
    levels = [int(width) for width in widths.split("-")]
    sides = _sides(patch, image_size, len(levels))
    blocks = Blocks()

    def block(name: str, channels_in: int, channels_out: int, sides: tuple[int, ...], stride: int) -> None:
        small = tuple(-(-side // stride) for side in sides)
        blocks.block(
            [
                *_convolution(f"{name}_1", channels_in, channels_out, sides, stride, name == "input"),
                *_convolution(f"{name}_2", channels_out, channels_out, small, 1, False),
            ],
            output=float(math.prod(small) * channels_out),
        )

    block("input", channels, levels[0], sides, 1)
    reached = [sides]
    for level, (source, target) in enumerate(pairwise(levels), start=1):
        block(f"down{level}", source, target, reached[-1], 2)
        reached.append(tuple(-(-side // 2) for side in reached[-1]))
    for level in reversed(range(len(levels) - 1)):
        target = levels[level]
        blocks.add(transposed_convolution(f"up{level + 1}", levels[level + 1], target, *reached[level + 1]))
        joined = float(math.prod(reached[level]) * 2 * target)
        blocks.add([concatenation(f"join{level + 1}", joined)])
        block(f"up{level + 1}", 2 * target, target, reached[level], 1)
    positions = math.prod(sides)
    blocks.add(
        convolution_layer(
            name="classes",
            channels_in=levels[0],
            channels_out=classes,
            height=positions // sides[0],
            width=sides[0],
            kernel=1,
            norm=Pointwise.NONE,
            activation=Pointwise.NONE,
            bias=True,
        )
    )
    blocks.add([segmentation_loss(float(positions * classes))])
    return blocks.table()
