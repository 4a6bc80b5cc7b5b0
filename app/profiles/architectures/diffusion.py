"""The denoising U-Net of latent diffusion: residual blocks with attention to the image and to a text.

References
----------
.. [1] R. Rombach et al., "High-resolution image synthesis with latent diffusion models," CVPR, 2022.
.. [2] Stability AI, Stable Diffusion 2 base: 865.9 million parameters, heads of 64, text of 77 × 1,024.
.. [3] J. Ho, A. Jain, P. Abbeel, "Denoising diffusion probabilistic models," NeurIPS, 2020 (residual blocks
   with the time step).
"""

from __future__ import annotations

from dataclasses import replace

from app.engine.operators.attention import attention_operators
from app.engine.operators.convolution import convolution_layer, dense_layer, pointwise_layer
from app.engine.operators.feed_forward import feed_forward_operators
from app.engine.operators.table import Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.profiles.architectures.common import LAUNCH_SHARE, Blocks, need_image, norm_layer

REDUCTION = 8
"""Pixels of an image along one side of a latent."""

LATENT_CHANNELS = 4

HEAD = 64
"""Width of one head where their number is not given."""

TEXT_TOKENS = 77

BLOCKS_PER_LEVEL = 2


def _norm(name: str, channels: int, positions: int, *, activated: bool = True) -> list[Operator]:
    """Return a group norm and the activation after it."""
    elements = float(channels * positions)
    norm = pointwise_layer(
        name=f"{name}_norm", pointwise=Pointwise.GROUP_NORM, elements=elements, weights=2.0 * channels
    )
    operators = [replace(norm, saved=elements)]
    if activated:
        swish = pointwise_layer(name=f"{name}_swish", pointwise=Pointwise.SWISH, elements=elements)
        operators.append(replace(swish, saved=elements))
    return operators


def _convolution(
    name: str, channels_in: int, channels_out: int, side: int, *, kernel: int = 3, stride: int = 1
) -> list[Operator]:
    layer = convolution_layer(
        name=name,
        channels_in=channels_in,
        channels_out=channels_out,
        height=side,
        width=side,
        kernel=kernel,
        stride=stride,
        norm=Pointwise.NONE,
        activation=Pointwise.NONE,
        bias=True,
    )
    elements = layer[0].output_elements
    return [*layer, pointwise_layer(name=f"{name}_bias", pointwise=Pointwise.BIAS, elements=elements)]


def _residual(name: str, channels_in: int, channels_out: int, side: int, time: int) -> list[Operator]:
    """Return norm and convolution twice, the time step added in between, and the skip connection."""
    positions = side * side
    operators = [
        *_norm(f"{name}_in", channels_in, positions),
        *_convolution(f"{name}_first", channels_in, channels_out, side),
        dense_layer(name=f"{name}_time", inputs=time, outputs=channels_out),
        pointwise_layer(
            name=f"{name}_shift", pointwise=Pointwise.BIAS, elements=float(channels_out * positions)
        ),
        *_norm(f"{name}_out", channels_out, positions),
        *_convolution(f"{name}_second", channels_out, channels_out, side),
    ]
    if channels_in != channels_out:
        operators += _convolution(f"{name}_project", channels_in, channels_out, side, kernel=1)
    add = pointwise_layer(
        name=f"{name}_add", pointwise=Pointwise.ADD, elements=float(channels_out * positions)
    )
    return [*operators, add]


def _attention(name: str, channels: int, side: int, text: int, heads: int) -> list[Operator]:
    """Return attention over all positions, then to the text, then a gated feed-forward block."""
    positions = float(side * side)
    residual = pointwise_layer(
        name=f"{name}_add", pointwise=Pointwise.ADD, elements=positions * channels, count=3.0
    )
    operators: list[Operator] = [norm_layer(f"{name}_norm", channels, positions, 3)]
    for kind, keys in (("self", positions), ("text", float(TEXT_TOKENS))):
        prefix = f"{name}_{kind}_"
        products = attention_operators(
            prefix=prefix,
            count=1,
            hidden=channels,
            heads=heads,
            key_heads=heads,
            head_dimension=channels // heads,
            queries=positions,
            keys=keys,
            squared=positions * keys,
            causal=False,
            rotary=False,
            biases=False,
        )
        for operator in products:
            if operator.name == f"{prefix}key_value":
                operator = replace(operator, inner=float(text), weights=float(text * operator.columns))
            elif operator.name == f"{prefix}attention_out":
                operator = replace(operator, weights=operator.weights + channels)
            operators.append(operator)
    operators += feed_forward_operators(
        prefix=f"{name}_",
        count=1,
        hidden=channels,
        feed_forward=4 * channels,
        tokens=positions,
        gated=True,
        biases=True,
        experts=1,
        experts_per_token=1,
    )
    operators.append(residual)
    ends = [
        dense_layer(name=f"{name}_{end}", inputs=channels, outputs=channels, rows=positions)
        for end in ("project_in", "project_out")
    ]
    return [
        *_norm(name, channels, side * side, activated=False),
        ends[0],
        *(replace(operator, layer_launches=LAUNCH_SHARE) for operator in operators),
        ends[1],
    ]


def build(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    widths: str = "320-640-1280-1280",
    attended: int = 3,
    text: int = 1024,
    heads: int = 0,
) -> OperatorTable:
    """Return the operators of the U-Net alone; latents and text embeddings are its input.

    The first ``attended`` levels carry attention, as does the block at the bottom: ``heads`` heads
    each, or as many as heads of 64 need.

    Stable Diffusion 2 has 865.9 million parameters:

    >>> int(build(None, 512).parameters)
    865910724
    """
    levels = [int(width) for width in widths.split("-")]
    side = need_image(image_size, least=REDUCTION << (len(levels) - 1)) // REDUCTION
    time = 4 * levels[0]
    blocks = Blocks()
    blocks.add(
        [
            dense_layer(name="time1", inputs=levels[0], outputs=time),
            dense_layer(name="time2", inputs=time, outputs=time),
            *_convolution("input", LATENT_CHANNELS, levels[0], side),
        ]
    )

    def block(name: str, channels_in: int, channels_out: int, *, attends: bool) -> None:
        operators = _residual(name, channels_in, channels_out, side, time)
        if attends:
            count = heads or channels_out // HEAD
            operators += _attention(f"{name}_attention", channels_out, side, text, count)
        blocks.block(operators, output=float(side * side * channels_out))

    skips = [(levels[0], side)]
    channels = levels[0]
    for level, width in enumerate(levels):
        for index in range(BLOCKS_PER_LEVEL):
            block(f"down{level + 1}_{index + 1}", channels, width, attends=level < attended)
            channels = width
            skips.append((channels, side))
        if level < len(levels) - 1:
            blocks.add(_convolution(f"down{level + 1}", channels, channels, side, stride=2))
            side = -(-side // 2)
            skips.append((channels, side))
    block("bottom1", channels, channels, attends=True)
    block("bottom2", channels, channels, attends=False)
    for level in reversed(range(len(levels))):
        for index in range(BLOCKS_PER_LEVEL + 1):
            skip, side = skips.pop()
            name = f"up{level + 1}_{index + 1}"
            joined = pointwise_layer(
                name=f"{name}_join",
                pointwise=Pointwise.ELEMENTWISE,
                elements=float(side * side * (channels + skip)),
            )
            blocks.add([joined])
            block(name, channels + skip, levels[level], attends=level < attended)
            channels = levels[level]
        if level:
            side = skips[-1][1]
            larger = pointwise_layer(
                name=f"up{level + 1}_enlarge",
                pointwise=Pointwise.ELEMENTWISE,
                elements=float(side * side * channels),
            )
            blocks.add([larger, *_convolution(f"up{level + 1}", channels, channels, side)])
    blocks.add(_norm("output", channels, side * side))
    blocks.add(_convolution("output", channels, LATENT_CHANNELS, side))
    loss = pointwise_layer(
        name="loss", pointwise=Pointwise.ELEMENTWISE, elements=float(side * side * LATENT_CHANNELS)
    )
    blocks.add([replace(loss, section=Section.HEAD)])
    return blocks.table()
