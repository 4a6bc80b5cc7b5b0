"""Object detection: SSD, RetinaNet and Mask R-CNN on residual networks, EfficientDet on EfficientNets.

References
----------
.. [1] W. Liu et al., "SSD: single shot multibox detector," ECCV, 2016; networks of MLCommons
   training (ResNet-34) and of NVIDIA DeepLearningExamples (ResNet-50), single_stage_detector.
.. [2] T.-Y. Lin et al., "Focal loss for dense object detection," ICCV, 2017; network of MLCommons
   training 2.0 (ResNeXt-50, Open Images).
.. [3] K. He et al., "Mask R-CNN," ICCV, 2017; feature pyramid of T.-Y. Lin et al., CVPR, 2017.
.. [4] M. Tan, R. Pang, Q. V. Le, "EfficientDet: scalable and efficient object detection," CVPR, 2020,
   figure 2 and table 1.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from app.engine.operators.layers import convolution_layer, dense_layer, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise
from app.engine.records import Tokens
from app.profiles.architectures.classification import inverted_stages, residual_stages
from app.profiles.architectures.common import Blocks, bare_convolution, head_loss, need_image
from app.profiles.architectures.segmentation import transposed_convolution

PYRAMID = 256
"""Channels of every level of a feature pyramid."""
BOXES = (4, 6, 6, 6, 4, 4)
"""Default boxes of SSD at each place of its six maps."""
ANCHORS = {"retinanet": 9, "mask": 3, "efficientdet": 9}
REGIONS = 512
"""Regions of one image that Mask R-CNN trains its heads on, a quarter of them with a mask."""
biased = partial(bare_convolution, bias=True)
"""A convolution with bias that neither norm nor activation follows."""


def _with_loss(blocks: Blocks, elements: int) -> OperatorTable:
    blocks.add([head_loss(float(elements))])
    return blocks.table()


def build_ssd(
    tokens: Tokens | None, image_size: int | None, *, layers: int = 50, classes: int = 81
) -> OperatorTable:
    """Return the operators of SSD on a residual network whose third stage keeps its size.

    At 300 pixels it scores 8,732 boxes:

    >>> table = build_ssd(None, 300, layers=34)
    >>> int(table.elements[table.names.index("cross_entropy")] / 81)
    8732
    """
    size = need_image(image_size, least=300)
    blocks = Blocks()
    side, channels = residual_stages(blocks, size, layers=layers, stages=3, last_stride=1)
    maps = [(side, channels)]
    norm = Pointwise.BATCH_NORM if layers >= 50 else Pointwise.NONE
    layer = partial(convolution_layer, norm=norm, bias=norm is Pointwise.NONE)
    extras = ((256, 512, 2), (256, 512, 2), (128, 256, 2), (128, 256, 1), (128, 256, 1))
    for number, (middle, target, stride) in enumerate(extras, start=1):
        small = -(-side // 2) if stride == 2 else max(side - 2, 1)
        reduced = layer(f"extra{number}_reduce", channels, middle, side, kernel=1)
        extra = layer(f"extra{number}", middle, target, small * stride, stride=stride)
        blocks.block([*reduced, *extra], output=float(small * small * target))
        side, channels = small, target
        maps.append((side, channels))
    boxes = 0
    for number, ((side, channels), per_position) in enumerate(zip(maps, BOXES, strict=True), start=1):
        for kind, outputs in (("places", 4), ("classes", classes)):
            blocks.add(biased(f"{kind}{number}", channels, per_position * outputs, side))
        boxes += side * side * per_position
    return _with_loss(blocks, boxes * classes)


def _pyramid(blocks: Blocks, size: int, first: int) -> list[int]:
    """Add a feature pyramid from stage ``first`` (2 to 5) up; return the sides of its levels."""
    sides: list[int] = []
    for level in range(first, 6):
        side = -(-size // 2**level)
        blocks.add(biased(f"lateral{level}", 64 * 2**level, PYRAMID, side, kernel=1))
        blocks.add([pointwise_layer(f"merge{level}", Pointwise.ADD, float(side * side * PYRAMID))])
        blocks.add(biased(f"level{level}", PYRAMID, PYRAMID, side))
        sides.append(side)
    return sides


def _shared_head(blocks: Blocks, name: str, channels_out: int, sides: list[int], *, depth: int) -> None:
    """Add convolutions that run on every level with the same weights."""
    for index, side in enumerate(sides):
        hidden = f"{name}{index}_convolution"
        operators = [
            *biased(hidden, PYRAMID, PYRAMID, side, activation=Pointwise.RELU, count=float(depth)),
            *biased(f"{name}{index}_out", PYRAMID, channels_out, side),
        ]
        if index:
            operators = [replace(operator, weights=0.0) for operator in operators]
        blocks.add(operators)


def build_retinanet(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    layers: int = 50,
    groups: int = 32,
    width_per_group: int = 4,
    classes: int = 264,
) -> OperatorTable:
    """Return the operators of RetinaNet on square images.

    On ResNet-50 with COCO's 91 classes it has 34 million parameters:

    >>> round(build_retinanet(None, 800, groups=1, width_per_group=64, classes=91).parameters / 1e6, 1)
    34.1
    """
    size = need_image(image_size, least=128)
    blocks = Blocks()
    residual_stages(blocks, size, layers=layers, groups=groups, width_per_group=width_per_group)
    sides = _pyramid(blocks, size, 3)
    for level in (6, 7):
        blocks.add(biased(f"level{level}", PYRAMID, PYRAMID, sides[-1], stride=2))
        sides.append(-(-sides[-1] // 2))
    anchors = ANCHORS["retinanet"]
    _shared_head(blocks, "classes", anchors * classes, sides, depth=4)
    _shared_head(blocks, "places", anchors * 4, sides, depth=4)
    return _with_loss(blocks, sum(side * side for side in sides) * anchors * classes)


def build_mask_rcnn(
    tokens: Tokens | None, image_size: int | None, *, layers: int = 50, classes: int = 91
) -> OperatorTable:
    """Return the operators of Mask R-CNN; ``image_size`` is the shorter side of 3:5 images.

    >>> round(build_mask_rcnn(None, 800).parameters / 1e6, 1)
    44.5
    """
    # A square of equal area stands for the usual 800 × 1333: work goes by the area.
    size = round(need_image(image_size, least=128) * math.sqrt(5 / 3))
    blocks = Blocks()
    residual_stages(blocks, size, layers=layers)
    sides = _pyramid(blocks, size, 2)
    sides.append(-(-sides[-1] // 2))
    _shared_head(blocks, "proposals", ANCHORS["mask"] * 5, sides, depth=1)
    blocks.add(
        [
            dense_layer("regions1", PYRAMID * 7 * 7, 1024, REGIONS),
            dense_layer("regions2", 1024, 1024, REGIONS),
            dense_layer("classes", 1024, classes, REGIONS),
            dense_layer("places", 1024, 4 * classes, REGIONS),
        ]
    )
    # The regions with a mask lie side by side: one image of 14 × 14 patches.
    patches = 14 * round(math.sqrt(REGIONS // 4))
    blocks.add(biased("mask", PYRAMID, PYRAMID, patches, activation=Pointwise.RELU, count=4.0))
    blocks.add(transposed_convolution("mask_up", PYRAMID, PYRAMID, patches, patches))
    blocks.add(biased("mask_out", PYRAMID, classes, 2 * patches, kernel=1))
    return _with_loss(blocks, REGIONS * classes + 4 * patches * patches * classes)


class DetectorScale(NamedTuple):
    """Backbone, channels and layers of the pyramid, depth of the heads of one EfficientDet."""

    backbone: int
    channels: int
    layers: int
    depth: int


DETECTOR_SCALES = (
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


def _separable(
    name: str, channels: int, channels_out: int, side: int, *, norm: Pointwise, swish: bool = False
) -> list[Operator]:
    """Return a depthwise 3 × 3 and a 1 × 1 convolution."""
    activation = Pointwise.SWISH if swish else Pointwise.NONE
    return [
        *bare_convolution(f"{name}_spatial", channels, channels, side, groups=channels),
        *biased(name, channels, channels_out, side, kernel=1, norm=norm, activation=activation),
    ]


def _fusion(name: str, channels: int, side: int, inputs: int) -> list[Operator]:
    """Return the weighed sum of levels, brought to one size, and the convolution after it."""
    elements, weights = float(side * side * channels), float(inputs)
    return [
        pointwise_layer(f"{name}_fusion", Pointwise.ELEMENTWISE, elements * inputs, weights=weights),
        pointwise_layer(f"{name}_swish", Pointwise.SWISH, elements),
        *_separable(name, channels, channels, side, norm=Pointwise.BATCH_NORM),
    ]


def build_efficientdet(
    tokens: Tokens | None, image_size: int | None, *, variant: int = 0, classes: int = 90
) -> OperatorTable:
    """Return the operators of EfficientDet D0 to D6: an EfficientNet under a pyramid fused both ways.

    D0 has 3.9 million parameters and costs 2.5 billion multiplications an image:

    >>> table = build_efficientdet(None, 512)
    >>> round(table.parameters / 1e6, 1), round(float(table.forward_flop.sum()) / 2e9, 1)
    (3.9, 2.5)
    """
    scale = DETECTOR_SCALES[variant]
    width = scale.channels
    blocks = Blocks()
    size = need_image(image_size, least=128)
    stages = inverted_stages(blocks, size, variant=scale.backbone, group_size=1, norm=Pointwise.BATCH_NORM)
    tapped = [stages[number] for number in TAPPED]
    sides = [side for side, _ in tapped]
    sides += [-(-sides[-1] // 2), -(-sides[-1] // 4)]
    projected = partial(biased, kernel=1, norm=Pointwise.BATCH_NORM)
    blocks.add(projected("level6", tapped[-1][1], width, sides[2]))
    for layer in range(scale.layers):
        operators: list[Operator] = []
        if layer == 0:
            for level, (side, channels) in enumerate(tapped, start=3):
                # The middle levels enter the first layer twice, each time by a projection of its own.
                for copy in range(1 if level == 3 else 2):
                    operators += projected(f"lateral{level}_{copy}", channels, width, side)
        for level in (6, 5, 4, 3):
            operators += _fusion(f"fused{layer}_down{level}", width, sides[level - 3], 2)
        for level in (4, 5, 6, 7):
            operators += _fusion(f"fused{layer}_up{level}", width, sides[level - 3], 2 if level == 7 else 3)
        blocks.block(operators, output=float(sides[0] ** 2 * width))
    anchors = ANCHORS["efficientdet"]
    for kind, outputs in (("classes", classes), ("places", 4)):
        for level, side in enumerate(sides):
            name = f"{kind}{level}"
            hidden = _separable(f"{name}_hidden", width, width, side, norm=Pointwise.BATCH_NORM, swish=True)
            last = _separable(name, width, anchors * outputs, side, norm=Pointwise.NONE)
            layers = [*(replace(operator, count=float(scale.depth)) for operator in hidden), *last]
            for operator in layers:
                # Convolutions are shared by all levels; norms are not.
                shared = level and operator.pointwise is not Pointwise.BATCH_NORM
                blocks.add([replace(operator, weights=0.0) if shared else operator])
    return _with_loss(blocks, sum(side * side for side in sides) * anchors * classes)
