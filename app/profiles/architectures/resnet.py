"""Residual networks: ResNet (v1.5), ResNeXt, and either with squeeze and excitation.

References
----------
.. [1] K. He et al., "Deep residual learning for image recognition," CVPR, 2016, table 1.
.. [2] S. Xie et al., "Aggregated residual transformations for deep neural networks," CVPR, 2017,
   table 1.
.. [3] NVIDIA, "ResNet50 v1.5 for PyTorch," DeepLearningExamples: version 1.5 moves the stride of
   a bottleneck from its first 1 × 1 to its 3 × 3 convolution.
.. [4] J. Hu, L. Shen, G. Sun, "Squeeze-and-excitation networks," CVPR, 2018: reduction by 16.
"""

from __future__ import annotations

from app.engine.operators.convolution import convolution_layer, dense_layer, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise
from app.engine.records import Tokens
from app.profiles.architectures.common import Blocks, classifier, need_image, residual

STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
"""Blocks of each stage by depth of the network (He et al., table 1)."""

NORMS = {"batch": Pointwise.BATCH_NORM, "group": Pointwise.GROUP_NORM}


def bottleneck(
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
    """Return one 1 × 1, k × k, 1 × 1 block with its skip connection.

    Where ``reduction`` is given, its output is weighed by channel: squeeze and excitation.
    """
    small = -(-size // stride)
    operators = [
        *convolution_layer(
            name=f"{name}_reduce",
            channels_in=channels_in,
            channels_out=width,
            height=size,
            width=size,
            kernel=1,
            norm=norm,
        ),
        *convolution_layer(
            name=f"{name}_spatial",
            channels_in=width,
            channels_out=width,
            height=size,
            width=size,
            stride=stride,
            groups=groups,
            norm=norm,
        ),
        *convolution_layer(
            name=f"{name}_expand",
            channels_in=width,
            channels_out=channels_out,
            height=small,
            width=small,
            kernel=1,
            norm=norm,
            activation=Pointwise.NONE,
        ),
    ]
    if reduction:
        squeezed = channels_out // reduction
        elements = float(small * small * channels_out)
        operators += [
            pointwise_layer(name=f"{name}_excite", pointwise=Pointwise.SQUEEZE_EXCITE, elements=elements),
            dense_layer(name=f"{name}_squeeze_in", inputs=channels_out, outputs=squeezed),
            dense_layer(name=f"{name}_squeeze_out", inputs=squeezed, outputs=channels_out),
        ]
    return operators + _skip(name, size, channels_in, channels_out, stride, norm)


def basic_block(
    name: str, size: int, channels_in: int, channels_out: int, stride: int, norm: Pointwise
) -> list[Operator]:
    """Return one block of two 3 × 3 convolutions with its skip connection."""
    small = -(-size // stride)
    operators = [
        *convolution_layer(
            name=f"{name}_first",
            channels_in=channels_in,
            channels_out=channels_out,
            height=size,
            width=size,
            stride=stride,
            norm=norm,
        ),
        *convolution_layer(
            name=f"{name}_second",
            channels_in=channels_out,
            channels_out=channels_out,
            height=small,
            width=small,
            norm=norm,
            activation=Pointwise.NONE,
        ),
    ]
    return operators + _skip(name, size, channels_in, channels_out, stride, norm)


def _skip(
    name: str, size: int, channels_in: int, channels_out: int, stride: int, norm: Pointwise
) -> list[Operator]:
    small = -(-size // stride)
    operators: list[Operator] = []
    if stride > 1 or channels_in != channels_out:
        operators += convolution_layer(
            name=f"{name}_project",
            channels_in=channels_in,
            channels_out=channels_out,
            height=size,
            width=size,
            kernel=1,
            stride=stride,
            norm=norm,
            activation=Pointwise.NONE,
        )
    return operators + residual(name, float(small * small * channels_out))


def stem(size: int, norm: Pointwise) -> list[Operator]:
    """Return the 7 × 7 convolution and the pooling that start every residual network."""
    half = -(-size // 2)
    return [
        *convolution_layer(
            name="stem",
            channels_in=3,
            channels_out=64,
            height=size,
            width=size,
            kernel=7,
            stride=2,
            norm=norm,
            first=True,
        ),
        pointwise_layer(name="stem_pool", pointwise=Pointwise.MAX_POOL, elements=64.0 * half * half),
    ]


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
    blocks.add(stem(size, norm))
    size = -(-size // 4)
    deep = layers >= 50
    channels_in = 64
    for stage, repeats in enumerate(STAGES[layers][:stages]):
        stride = 1 if stage == 0 else (last_stride if stage == stages - 1 else 2)
        base = 64 * 2**stage
        channels_out = base * (4 if deep else 1)
        width = base * width_per_group // 64 * groups
        for index in range(min(repeats, 2)):
            # All blocks of a stage but the first are equal: one row with a count.
            step, source = (stride, channels_in) if index == 0 else (1, channels_out)
            name = f"stage{stage + 1}_{'first' if index == 0 else 'next'}"
            operators = (
                bottleneck(name, size, source, width, channels_out, step, groups, norm, reduction)
                if deep
                else basic_block(name, size, source, channels_out, step, norm)
            )
            size = -(-size // step)
            blocks.block(
                operators, output=float(size * size * channels_out), count=1 if index == 0 else repeats - 1
            )
        channels_in = channels_out
    return size, channels_in


def build(
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
    """Return the operators of a residual network for classification.

    ResNet-50 has 25.6 million parameters and costs 4.1 billion multiplications an image:

    >>> table = build(None, 224)
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
