"""Networks that classify images: ResNet and its kin, EfficientNet, Swin transformers.

References
----------
.. [1] K. He et al., "Deep residual learning for image recognition," CVPR, 2016, table 1.
.. [2] S. Xie et al., "Aggregated residual transformations for deep neural networks," CVPR, 2017,
   table 1.
.. [3] NVIDIA, "ResNet50 v1.5 for PyTorch," DeepLearningExamples: version 1.5 moves the stride of
   a bottleneck from its first 1 × 1 to its 3 × 3 convolution.
.. [4] J. Hu, L. Shen, G. Sun, "Squeeze-and-excitation networks," CVPR, 2018: reduction by 16.
.. [5] M. Tan, Q. Le, "EfficientNet: rethinking model scaling for convolutional neural networks,"
   ICML, 2019, table 1; widths, depths and resolutions of B1 to B7 from the authors' code.
.. [6] D. Masters et al., "Making EfficientNet more efficient," arXiv:2106.03640, 2021: groups of
   16 channels, expansion 4 and group norm instead of depthwise convolutions and batch norm.
.. [7] NVIDIA DeepLearningExamples, EfficientNet-WideSE: squeezed to a quarter of the expanded channels.
.. [8] Z. Liu et al., "Swin transformer: hierarchical vision transformer using shifted windows,"
   ICCV, 2021, section 3.3 and table 7.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from app.engine.operators.blocks import attention_operators, feed_forward_operators
from app.engine.operators.layers import convolution_layer, dense_layer, norm_layer, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise
from app.engine.records import Tokens
from app.profiles.architectures.common import LAUNCH_SHARE, Blocks, classifier, need_image

RESIDUAL_STAGES = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}
"""Blocks of each stage by depth of the network (He et al., table 1)."""

NORMS = {"batch": Pointwise.BATCH_NORM, "group": Pointwise.GROUP_NORM}


def _excitation(name: str, channels: int, squeezed: int, side: int) -> list[Operator]:
    """Return squeeze and excitation: an output weighed by channel."""
    return [
        pointwise_layer(f"{name}_excite", Pointwise.SQUEEZE_EXCITE, float(side * side * channels)),
        dense_layer(f"{name}_squeeze_in", channels, squeezed),
        dense_layer(f"{name}_squeeze_out", squeezed, channels),
    ]


def _bottleneck(
    name: str,
    size: int,
    channels_in: int,
    width: int,
    channels_out: int,
    stride: int,
    groups: int,
    norm: Pointwise,
    reduction: int = 0,
) -> list[Operator]:
    """Return one 1 × 1, k × k, 1 × 1 block with its skip connection, perhaps with squeeze and excitation."""
    small = -(-size // stride)
    layer = partial(convolution_layer, norm=norm)
    return [
        *layer(f"{name}_reduce", channels_in, width, size, kernel=1),
        *layer(f"{name}_spatial", width, width, size, stride=stride, groups=groups),
        *layer(f"{name}_expand", width, channels_out, small, kernel=1, activation=Pointwise.NONE),
        *(_excitation(name, channels_out, channels_out // reduction, small) if reduction else []),
        *_skip(name, size, channels_in, channels_out, stride, norm),
    ]


def _basic_block(
    name: str, size: int, channels_in: int, channels_out: int, stride: int, norm: Pointwise
) -> list[Operator]:
    """Return one block of two 3 × 3 convolutions with its skip connection."""
    small = -(-size // stride)
    layer = partial(convolution_layer, norm=norm)
    return [
        *layer(f"{name}_first", channels_in, channels_out, size, stride=stride),
        *layer(f"{name}_second", channels_out, channels_out, small, activation=Pointwise.NONE),
        *_skip(name, size, channels_in, channels_out, stride, norm),
    ]


def _skip(
    name: str, size: int, channels_in: int, channels_out: int, stride: int, norm: Pointwise
) -> list[Operator]:
    """Return the addition of a skip connection, projected where sizes differ, and the activation after it."""
    elements = float((-(-size // stride)) ** 2 * channels_out)
    added = [
        pointwise_layer(f"{name}_add", Pointwise.ADD, elements),
        pointwise_layer(f"{name}_activation", Pointwise.RELU, elements),
    ]
    if stride == 1 and channels_in == channels_out:
        return added
    projected = convolution_layer(
        f"{name}_project",
        channels_in,
        channels_out,
        size,
        kernel=1,
        stride=stride,
        norm=norm,
        activation=Pointwise.NONE,
    )
    return [*projected, *added]


def residual_stages(
    blocks: Blocks,
    size: int,
    *,
    layers: int,
    groups: int = 1,
    width_per_group: int = 64,
    norm: Pointwise = Pointwise.BATCH_NORM,
    stages: int = 4,
    last_stride: int = 2,
    reduction: int = 0,
) -> tuple[int, int]:
    """Add stem and stages to ``blocks``; return side and channels of the last stage's output."""
    half = -(-size // 2)
    blocks.add(convolution_layer("stem", 3, 64, size, kernel=7, stride=2, norm=norm, first=True))
    blocks.add([pointwise_layer("stem_pool", Pointwise.MAX_POOL, 64.0 * half * half)])
    size = -(-size // 4)
    deep = layers >= 50
    channels_in = 64
    for stage, repeats in enumerate(RESIDUAL_STAGES[layers][:stages]):
        stride = 1 if stage == 0 else (last_stride if stage == stages - 1 else 2)
        base = 64 * 2**stage
        channels_out = base * (4 if deep else 1)
        width = base * width_per_group // 64 * groups
        for index in range(min(repeats, 2)):
            # All blocks of a stage but the first are equal: one row with a count.
            step, source = (stride, channels_in) if index == 0 else (1, channels_out)
            name = f"stage{stage + 1}_{'first' if index == 0 else 'next'}"
            operators = (
                _bottleneck(name, size, source, width, channels_out, step, groups, norm, reduction)
                if deep
                else _basic_block(name, size, source, channels_out, step, norm)
            )
            size = -(-size // step)
            blocks.block(
                operators, output=float(size * size * channels_out), count=1 if index == 0 else repeats - 1
            )
        channels_in = channels_out
    return size, channels_in


def build_resnet(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    layers: int = 50,
    groups: int = 1,
    width_per_group: int = 64,
    norm: str = "batch",
    reduction: int = 0,
    classes: int = 1000,
) -> OperatorTable:
    """Return the operators of a residual network (v1.5), a ResNeXt, or either with squeeze and excitation.

    ResNet-50 has 25.6 million parameters and costs 4.1 billion multiplications an image:

    >>> table = build_resnet(None, 224)
    >>> int(table.parameters)
    25557032
    >>> round(float(table.forward_flop.sum()) / 2e9, 2)
    4.09
    """
    size = need_image(image_size, least=32)
    blocks = Blocks()
    size, channels = residual_stages(
        blocks,
        size,
        layers=layers,
        groups=groups,
        width_per_group=width_per_group,
        norm=NORMS[norm],
        reduction=reduction,
    )
    blocks.add(classifier(channels, float(size * size), classes))
    return blocks.table()


class InvertedStage(NamedTuple):
    """One row of table 1 of EfficientNet."""

    repeats: int
    kernel: int
    stride: int
    expansion: int
    channels: int


INVERTED_STAGES = (
    InvertedStage(1, 3, 1, 1, 16),
    InvertedStage(2, 3, 2, 6, 24),
    InvertedStage(2, 5, 2, 6, 40),
    InvertedStage(3, 3, 2, 6, 80),
    InvertedStage(3, 5, 1, 6, 112),
    InvertedStage(4, 5, 2, 6, 192),
    InvertedStage(1, 3, 1, 6, 320),
)

SCALES = ((1.0, 1.0), (1.0, 1.1), (1.1, 1.2), (1.2, 1.4), (1.4, 1.8), (1.6, 2.2), (1.8, 2.6), (2.0, 3.1))
"""Width and depth of B0 to B7 over those of B0."""
GROUPED_EXPANSION = 4
"""Expansion of the variant with grouped convolutions."""


def _scaled_channels(channels: int, width: float) -> int:
    """Return channels scaled and rounded to a multiple of 8, never down by more than a tenth."""
    exact = channels * width
    rounded = max(8, int(exact + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * exact else rounded


def _group_count(channels: int, group_size: int) -> int:
    """Return the groups of a convolution; a group holds at most ``group_size`` channels."""
    size = next(size for size in range(min(group_size, channels), 0, -1) if channels % size == 0)
    return channels // size


def _inverted_block(
    name: str,
    size: int,
    channels_in: int,
    stage: InvertedStage,
    stride: int,
    group_size: int,
    norm: Pointwise,
    wide: bool,
) -> list[Operator]:
    """Return one mobile inverted bottleneck with squeeze and excitation.

    The program of the grouped variant drops blocks at random before it adds their input.
    """
    expanded, channels_out = channels_in * stage.expansion, stage.channels
    small = -(-size // stride)
    layer = partial(convolution_layer, norm=norm, activation=Pointwise.SWISH)
    operators: list[Operator] = []
    if stage.expansion > 1:
        operators += layer(f"{name}_expand", channels_in, expanded, size, kernel=1)
    groups = _group_count(expanded, group_size)
    operators += layer(
        f"{name}_spatial", expanded, expanded, size, kernel=stage.kernel, stride=stride, groups=groups
    )
    # Squeezed to a quarter of the channels that enter the block, not of the expanded ones unless wide.
    operators += _excitation(name, expanded, max(1, (expanded if wide else channels_in) // 4), small)
    operators += layer(f"{name}_project", expanded, channels_out, small, kernel=1, activation=Pointwise.NONE)
    if stride == 1 and channels_in == channels_out:
        added = Pointwise.RESIDUAL if group_size > 1 else Pointwise.ADD
        operators.append(pointwise_layer(f"{name}_add", added, float(small * small * channels_out)))
    return operators


def inverted_stages(
    blocks: Blocks, size: int, *, variant: int, group_size: int, norm: Pointwise, wide: bool = False
) -> list[tuple[int, int]]:
    """Add stem and stages to ``blocks``; return side and channels of the output of each stage."""
    width, deep = SCALES[variant]
    channels = _scaled_channels(32, width)
    blocks.add(
        convolution_layer(
            "stem", 3, channels, size, stride=2, norm=norm, activation=Pointwise.SWISH, first=True
        )
    )
    size = -(-size // 2)
    outputs: list[tuple[int, int]] = []
    for number, published in enumerate(INVERTED_STAGES, start=1):
        repeats = math.ceil(published.repeats * deep)
        expansion = min(published.expansion, GROUPED_EXPANSION) if group_size > 1 else published.expansion
        stage = published._replace(channels=_scaled_channels(published.channels, width), expansion=expansion)
        for index in range(min(repeats, 2)):
            stride = stage.stride if index == 0 else 1
            name = f"stage{number}_{'first' if index == 0 else 'next'}"
            operators = _inverted_block(name, size, channels, stage, stride, group_size, norm, wide)
            size = -(-size // stride)
            channels = stage.channels
            blocks.block(
                operators, output=float(size * size * channels), count=1 if index == 0 else repeats - 1
            )
        outputs.append((size, channels))
    return outputs


def build_efficientnet(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    variant: int = 0,
    group_size: int = 1,
    norm: str = "batch",
    wide: bool = False,
    classes: int = 1000,
) -> OperatorTable:
    """Return the operators of EfficientNet B0 to B7, or of the variant with grouped convolutions.

    >>> table = build_efficientnet(None, 224)
    >>> int(table.parameters)
    5288548
    >>> round(float(table.forward_flop.sum()) / 2e9, 2)
    0.39
    """
    size = need_image(image_size, least=32)
    kind = Pointwise.GROUP_NORM if norm == "group" else Pointwise.BATCH_NORM
    blocks = Blocks()
    stages = inverted_stages(blocks, size, variant=variant, group_size=group_size, norm=kind, wide=wide)
    size, channels = stages[-1]
    last = _scaled_channels(1280, SCALES[variant][0])
    blocks.add(
        convolution_layer("head", channels, last, size, kernel=1, norm=kind, activation=Pointwise.SWISH)
    )
    blocks.add(classifier(last, float(size * size), classes))
    return blocks.table()


def build_swin(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    width: int = 96,
    depths: str = "2-2-6-2",
    heads: str = "3-6-12-24",
    window: int = 7,
    patch: int = 4,
    classes: int = 1000,
) -> OperatorTable:
    """Return the operators of a Swin transformer: attention within windows, widths that double.

    Swin-T has 28.3 million parameters:

    >>> int(build_swin(None, 224).parameters)
    28288354
    """
    stages = [int(depth) for depth in depths.split("-")]
    counts = [int(count) for count in heads.split("-")]
    side = -(-need_image(image_size, least=patch) // patch)
    blocks = Blocks()
    blocks.add(
        convolution_layer(
            "patches",
            3,
            width,
            side * patch,
            kernel=patch,
            stride=patch,
            norm=Pointwise.LAYER_NORM,
            activation=Pointwise.NONE,
            bias=True,
            first=True,
        )
    )
    for stage, (depth, count) in enumerate(zip(stages, counts, strict=True)):
        channels = width * 2**stage
        positions = float(side * side)
        if stage:
            # Four neighbours side by side, projected to twice the former width.
            merged = 2 * channels
            norm = norm_layer(f"merge{stage}_norm", merged, positions)
            blocks.add([norm, dense_layer(f"merge{stage}", merged, channels, positions, bias=False)])
        size = min(window, side)
        prefix = f"stage{stage + 1}_"
        squared = positions * size * size
        attention = attention_operators(prefix, channels, count, positions, squared=squared)
        # Every head learns a bias for each offset inside a window.
        bias = float((2 * window - 1) ** 2 * count)
        attention[-1] = replace(attention[-1], weights=attention[-1].weights + bias)
        elements = positions * channels
        block = [
            norm_layer(f"{prefix}norm_attention", channels, positions),
            # Positions are gathered into windows and put back; every second block shifts them and back.
            pointwise_layer(f"{prefix}windows", Pointwise.ELEMENTWISE, 3.0 * elements),
            *attention,
            pointwise_layer(f"{prefix}add", Pointwise.RESIDUAL, elements),
            norm_layer(f"{prefix}norm_ffn", channels, positions),
            *feed_forward_operators(prefix, channels, 4 * channels, positions),
            pointwise_layer(f"{prefix}add_ffn", Pointwise.RESIDUAL, elements),
        ]
        launched = [replace(operator, layer_launches=LAUNCH_SHARE) for operator in block]
        blocks.block(launched, output=elements, count=depth)
        if stage < len(stages) - 1:
            side = -(-side // 2)
    blocks.add([norm_layer("final_norm", channels, positions)])
    blocks.add(classifier(channels, positions, classes))
    return blocks.table()
