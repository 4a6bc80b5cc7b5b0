"""EfficientDet: an EfficientNet under a pyramid that is fused both ways.

References
----------
.. [1] M. Tan, R. Pang, Q. V. Le, "EfficientDet: scalable and efficient object detection," CVPR, 2020,
   figure 2 and table 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from app.engine.operators.convolution import convolution_layer, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.profiles.architectures.common import Blocks, need_image
from app.profiles.architectures.efficientnet import inverted_stages


class DetectorScale(NamedTuple):
    """Backbone, channels and layers of the pyramid, depth of the heads."""

    backbone: int
    channels: int
    layers: int
    depth: int


SCALES = (
    DetectorScale(0, 64, 3, 3),
    DetectorScale(1, 88, 4, 3),
    DetectorScale(2, 112, 5, 3),
    DetectorScale(3, 160, 6, 4),
    DetectorScale(4, 224, 7, 4),
    DetectorScale(5, 288, 7, 4),
    DetectorScale(6, 384, 8, 5),
)
"""Compound coefficients 0 to 6 (table 1)."""

TAPPED = (2, 4, 6)
"""Stages of the backbone at an eighth, a sixteenth and a thirty-second of the side."""

ANCHORS = 9


def _separable(
    name: str, channels: int, channels_out: int, side: int, *, norm: Pointwise, swish: bool
) -> list[Operator]:
    """Return a depthwise 3 × 3 and a 1 × 1 convolution."""
    depthwise = convolution_layer(
        name=f"{name}_spatial",
        channels_in=channels,
        channels_out=channels,
        height=side,
        width=side,
        groups=channels,
        norm=Pointwise.NONE,
        activation=Pointwise.NONE,
    )
    pointwise = convolution_layer(
        name=name,
        channels_in=channels,
        channels_out=channels_out,
        height=side,
        width=side,
        kernel=1,
        norm=norm,
        activation=Pointwise.SWISH if swish else Pointwise.NONE,
        bias=True,
    )
    return [*depthwise, *pointwise]


def _fusion(name: str, channels: int, side: int, inputs: int) -> list[Operator]:
    """Return the weighed sum of levels, brought to one size, and the convolution after it."""
    elements = float(side * side * channels)
    weighed = pointwise_layer(
        name=f"{name}_fusion",
        pointwise=Pointwise.ELEMENTWISE,
        elements=elements * inputs,
        weights=float(inputs),
    )
    swish = pointwise_layer(name=f"{name}_swish", pointwise=Pointwise.SWISH, elements=elements)
    after = _separable(name, channels, channels, side, norm=Pointwise.BATCH_NORM, swish=False)
    return [weighed, swish, *after]


def _resampled(name: str, channels_in: int, channels: int, side: int) -> list[Operator]:
    return convolution_layer(
        name=name,
        channels_in=channels_in,
        channels_out=channels,
        height=side,
        width=side,
        kernel=1,
        activation=Pointwise.NONE,
        bias=True,
    )


def build(
    tokens: Tokens | None, image_size: int | None, *, variant: int = 0, classes: int = 90
) -> OperatorTable:
    """Return the operators of EfficientDet D0 to D6.

    D0 has 3.9 million parameters and costs 2.5 billion multiplications an image:

    >>> table = build(None, 512)
    >>> round(table.parameters / 1e6, 1), round(float(table.forward_flop.sum()) / 2e9, 1)
    (3.9, 2.5)
    """
    scale = SCALES[variant]
    blocks = Blocks()
    size = need_image(image_size, least=128)
    stages = inverted_stages(blocks, size, variant=scale.backbone, group_size=1, norm=Pointwise.BATCH_NORM)
    tapped = [stages[number] for number in TAPPED]
    sides = [side for side, _ in tapped]
    sides += [-(-sides[-1] // 2), -(-sides[-1] // 4)]
    deepest = tapped[-1][1]
    blocks.add(_resampled("level6", deepest, scale.channels, sides[2]))
    for layer in range(scale.layers):
        operators: list[Operator] = []
        if layer == 0:
            for level, (side, channels) in enumerate(tapped, start=3):
                # The middle levels enter the first layer twice, each time by a projection of its own.
                for copy in range(1 if level == 3 else 2):
                    operators += _resampled(f"lateral{level}_{copy}", channels, scale.channels, side)
        for level in (6, 5, 4, 3):
            operators += _fusion(f"fused{layer}_down{level}", scale.channels, sides[level - 3], 2)
        for level in (4, 5, 6, 7):
            inputs = 2 if level == 7 else 3
            operators += _fusion(f"fused{layer}_up{level}", scale.channels, sides[level - 3], inputs)
        blocks.block(operators, output=float(sides[0] ** 2 * scale.channels))
    for kind, outputs in (("classes", classes), ("places", 4)):
        for level, side in enumerate(sides):
            hidden = _separable(
                f"{kind}{level}_hidden",
                scale.channels,
                scale.channels,
                side,
                norm=Pointwise.BATCH_NORM,
                swish=True,
            )
            last = _separable(
                f"{kind}{level}",
                scale.channels,
                ANCHORS * outputs,
                side,
                norm=Pointwise.NONE,
                swish=False,
            )
            layers = [*(replace(one, count=float(scale.depth)) for one in hidden), *last]
            if level:
                # Convolutions are shared by all levels; norms are not.
                shared = (Pointwise.BATCH_NORM,)
                layers = [one if one.pointwise in shared else replace(one, weights=0.0) for one in layers]
            blocks.add(layers)
    places = sum(side * side for side in sides)
    loss = pointwise_layer(
        name="cross_entropy",
        pointwise=Pointwise.CROSS_ENTROPY,
        elements=float(places * ANCHORS * classes),
    )
    blocks.add([replace(loss, section=Section.HEAD)])
    return blocks.table()
