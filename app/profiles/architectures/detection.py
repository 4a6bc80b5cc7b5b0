"""Object detection: SSD, RetinaNet and Mask R-CNN on residual networks.

References
----------
.. [1] W. Liu et al., "SSD: single shot multibox detector," ECCV, 2016; networks of MLCommons
   training (ResNet-34) and of NVIDIA DeepLearningExamples (ResNet-50), single_stage_detector.
.. [2] T.-Y. Lin et al., "Focal loss for dense object detection," ICCV, 2017; network of MLCommons
   training 2.0 (ResNeXt-50, Open Images).
.. [3] K. He et al., "Mask R-CNN," ICCV, 2017; feature pyramid of T.-Y. Lin et al., CVPR, 2017.
"""

from __future__ import annotations

import math
from dataclasses import replace

from app.engine.operators.convolution import convolution_layer, dense_layer, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.profiles.architectures.common import Blocks, need_image
from app.profiles.architectures.resnet import residual_stages
from app.profiles.architectures.unet import transposed_convolution

PYRAMID = 256
"""Channels of every level of a feature pyramid."""

BOXES = (4, 6, 6, 6, 4, 4)
"""Default boxes of SSD at each place of its six maps."""

ANCHORS = {"retinanet": 9, "mask": 3}

REGIONS = 512
"""Regions of one image that Mask R-CNN trains its heads on, a quarter of them with a mask."""


def head_convolution(
    name: str,
    channels_in: int,
    channels_out: int,
    size: float,
    *,
    kernel: int = 3,
    stride: int = 1,
    activation: Pointwise = Pointwise.RELU,
    count: float = 1.0,
) -> list[Operator]:
    """Return a convolution with bias and without norm."""
    side = max(1, math.ceil(size))
    return convolution_layer(
        name=name,
        channels_in=channels_in,
        channels_out=channels_out,
        height=side,
        width=side,
        kernel=kernel,
        stride=stride,
        norm=Pointwise.NONE,
        activation=activation,
        bias=True,
        count=count,
    )


def halved(size: int, times: int) -> int:
    """Return a side after strides of two, rounded up each time."""
    for _ in range(times):
        size = -(-size // 2)
    return size


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
    extras = ((256, 512, 2), (256, 512, 2), (128, 256, 2), (128, 256, 1), (128, 256, 1))
    for number, (middle, target, stride) in enumerate(extras, start=1):
        small = -(-side // 2) if stride == 2 else max(side - 2, 1)
        blocks.block(
            [
                *convolution_layer(
                    name=f"extra{number}_reduce",
                    channels_in=channels,
                    channels_out=middle,
                    height=side,
                    width=side,
                    kernel=1,
                    norm=norm,
                    bias=norm is Pointwise.NONE,
                ),
                *convolution_layer(
                    name=f"extra{number}",
                    channels_in=middle,
                    channels_out=target,
                    height=small * stride,
                    width=small * stride,
                    stride=stride,
                    norm=norm,
                    bias=norm is Pointwise.NONE,
                ),
            ],
            output=float(small * small * target),
        )
        side, channels = small, target
        maps.append((side, channels))
    boxes = 0
    for number, ((side, channels), each) in enumerate(zip(maps, BOXES, strict=True), start=1):
        for kind, outputs in (("places", 4), ("classes", classes)):
            blocks.add(
                head_convolution(f"{kind}{number}", channels, each * outputs, side, activation=Pointwise.NONE)
            )
        boxes += side * side * each
    return _with_loss(blocks, float(boxes * classes))


def _with_loss(blocks: Blocks, elements: float) -> OperatorTable:
    loss = pointwise_layer(name="cross_entropy", pointwise=Pointwise.CROSS_ENTROPY, elements=elements)
    blocks.add([replace(loss, section=Section.HEAD)])
    return blocks.table()


def pyramid(blocks: Blocks, size: int, first: int) -> list[int]:
    """Add a feature pyramid from stage ``first`` (2 to 5) up; return the sides of its levels."""
    sides: list[int] = []
    for level in range(first, 6):
        side = halved(size, level)
        channels = 64 * 2**level
        blocks.add(
            head_convolution(f"lateral{level}", channels, PYRAMID, side, kernel=1, activation=Pointwise.NONE)
        )
        elements = float(side * side * PYRAMID)
        blocks.add([pointwise_layer(name=f"merge{level}", pointwise=Pointwise.ADD, elements=elements)])
        blocks.add(head_convolution(f"level{level}", PYRAMID, PYRAMID, side, activation=Pointwise.NONE))
        sides.append(side)
    return sides


def shared_head(blocks: Blocks, name: str, channels_out: int, sides: list[int], *, depth: int) -> None:
    """Add convolutions that run on every level with the same weights."""
    for index, side in enumerate(sides):
        operators = [
            *head_convolution(f"{name}{index}_convolution", PYRAMID, PYRAMID, side, count=float(depth)),
            *head_convolution(f"{name}{index}_out", PYRAMID, channels_out, side, activation=Pointwise.NONE),
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
    sides = pyramid(blocks, size, 3)
    for level in (6, 7):
        blocks.add(
            head_convolution(
                f"level{level}", PYRAMID, PYRAMID, sides[-1], stride=2, activation=Pointwise.NONE
            )
        )
        sides.append(-(-sides[-1] // 2))
    anchors = ANCHORS["retinanet"]
    shared_head(blocks, "classes", anchors * classes, sides, depth=4)
    shared_head(blocks, "places", anchors * 4, sides, depth=4)
    places = sum(side * side for side in sides)
    return _with_loss(blocks, float(places * anchors * classes))


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
    sides = pyramid(blocks, size, 2)
    sides.append(-(-sides[-1] // 2))
    anchors = ANCHORS["mask"]
    shared_head(blocks, "proposals", anchors * 5, sides, depth=1)
    masks = REGIONS // 4
    blocks.add(
        [
            dense_layer(name="regions1", inputs=PYRAMID * 7 * 7, outputs=1024, rows=REGIONS),
            dense_layer(name="regions2", inputs=1024, outputs=1024, rows=REGIONS),
            dense_layer(name="classes", inputs=1024, outputs=classes, rows=REGIONS),
            dense_layer(name="places", inputs=1024, outputs=4 * classes, rows=REGIONS),
        ]
    )
    # The regions with a mask lie side by side: one image of 14 × 14 patches.
    patches = 14 * round(math.sqrt(masks))
    blocks.add(head_convolution("mask", PYRAMID, PYRAMID, patches, count=4.0))
    blocks.add(transposed_convolution("mask_up", PYRAMID, PYRAMID, patches, patches))
    blocks.add(
        head_convolution("mask_out", PYRAMID, classes, 2 * patches, kernel=1, activation=Pointwise.NONE)
    )
    return _with_loss(blocks, float(REGIONS * classes + 4 * patches * patches * classes))
