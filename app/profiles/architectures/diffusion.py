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

from app.engine.operators.blocks import attention_operators, feed_forward_operators
from app.engine.operators.layers import dense_layer, norm_layer, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.profiles.architectures.common import LAUNCH_SHARE, Blocks, bare_convolution, need_image

REDUCTION = 8
"""Pixels of an image along one side of a latent."""
LATENT_CHANNELS = 4
HEAD = 64
"""Width of one head where their number is not given."""
TEXT_TOKENS = 77
BLOCKS_PER_LEVEL = 2


def _norm(name: str, channels: int, positions: int) -> list[Operator]:
    """Return a group norm and the activation after it."""
    elements = float(channels * positions)
    norm = norm_layer(f"{name}_norm", channels, float(positions), Pointwise.GROUP_NORM)
    return [norm, pointwise_layer(f"{name}_swish", Pointwise.SWISH, elements, saved=elements)]


def _convolution(
    name: str, channels_in: int, channels_out: int, side: int, *, kernel: int = 3, stride: int = 1
) -> list[Operator]:
    layer = bare_convolution(name, channels_in, channels_out, side, kernel=kernel, stride=stride, bias=True)
    return [*layer, pointwise_layer(f"{name}_bias", Pointwise.BIAS, layer[0].output_elements)]


def _residual(name: str, channels_in: int, channels_out: int, side: int, time: int) -> list[Operator]:
    """Return norm and convolution twice, the time step added in between, and the skip connection."""
    positions = side * side
    elements = float(channels_out * positions)
    projected = channels_in != channels_out
    return [
        *_norm(f"{name}_in", channels_in, positions),
        *_convolution(f"{name}_first", channels_in, channels_out, side),
        dense_layer(f"{name}_time", time, channels_out),
        pointwise_layer(f"{name}_shift", Pointwise.BIAS, elements),
        *_norm(f"{name}_out", channels_out, positions),
        *_convolution(f"{name}_second", channels_out, channels_out, side),
        *(_convolution(f"{name}_project", channels_in, channels_out, side, kernel=1) if projected else []),
        pointwise_layer(f"{name}_add", Pointwise.ADD, elements),
    ]


def _attention(name: str, channels: int, side: int, text: int, heads: int) -> list[Operator]:
    """Return attention over all positions, then to the text, then a gated feed-forward block."""
    positions = float(side * side)
    operators: list[Operator] = [norm_layer(f"{name}_norm", channels, positions, count=3.0)]
    for kind, keys in (("self", positions), ("text", float(TEXT_TOKENS))):
        prefix = f"{name}_{kind}_"
        for operator in attention_operators(prefix, channels, heads, positions, keys=keys, biases=False):
            if operator.name == f"{prefix}key_value":
                operator = replace(operator, inner=float(text), weights=float(text * operator.columns))
            elif operator.name == f"{prefix}attention_out":
                operator = replace(operator, weights=operator.weights + channels)
            operators.append(operator)
    operators += feed_forward_operators(f"{name}_", channels, 4 * channels, positions, gated=True)
    operators.append(pointwise_layer(f"{name}_add", Pointwise.ADD, positions * channels, count=3.0))
    return [
        norm_layer(f"{name}_norm", channels, positions, Pointwise.GROUP_NORM),
        dense_layer(f"{name}_project_in", channels, channels, positions),
        *(replace(operator, layer_launches=LAUNCH_SHARE) for operator in operators),
        dense_layer(f"{name}_project_out", channels, channels, positions),
    ]


def build_diffusion(
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

    >>> int(build_diffusion(None, 512).parameters)
    865910724
    """
    levels = [int(width) for width in widths.split("-")]
    side = need_image(image_size, least=REDUCTION << (len(levels) - 1)) // REDUCTION
    time = 4 * levels[0]
    blocks = Blocks()
    blocks.add([dense_layer("time1", levels[0], time), dense_layer("time2", time, time)])
    blocks.add(_convolution("input", LATENT_CHANNELS, levels[0], side))

    def block(name: str, channels_in: int, channels_out: int, *, attends: bool) -> None:
        operators = _residual(name, channels_in, channels_out, side, time)
        if attends:
            count = heads or channels_out // HEAD
            operators += _attention(f"{name}_attention", channels_out, side, text, count)
        blocks.block(operators, output=float(side * side * channels_out))

    skips = [(levels[0], side)]
    blocks.keep()
    channels = levels[0]
    for level, width in enumerate(levels):
        for index in range(BLOCKS_PER_LEVEL):
            block(f"down{level + 1}_{index + 1}", channels, width, attends=level < attended)
            channels = width
            skips.append((channels, side))
            blocks.keep()
        if level < len(levels) - 1:
            blocks.add(_convolution(f"down{level + 1}", channels, channels, side, stride=2))
            side = -(-side // 2)
            skips.append((channels, side))
            blocks.keep()
    block("bottom1", channels, channels, attends=True)
    block("bottom2", channels, channels, attends=False)
    for level in reversed(range(len(levels))):
        for index in range(BLOCKS_PER_LEVEL + 1):
            skip, side = skips.pop()
            name = f"up{level + 1}_{index + 1}"
            joined = float(side * side * (channels + skip))
            blocks.add([pointwise_layer(f"{name}_join", Pointwise.ELEMENTWISE, joined)])
            blocks.take(float(side * side * skip))
            block(name, channels + skip, levels[level], attends=level < attended)
            channels = levels[level]
        if level:
            side = skips[-1][1]
            larger = float(side * side * channels)
            blocks.add([pointwise_layer(f"up{level + 1}_enlarge", Pointwise.ELEMENTWISE, larger)])
            blocks.add(_convolution(f"up{level + 1}", channels, channels, side))
    blocks.add(_norm("output", channels, side * side))
    blocks.add(_convolution("output", channels, LATENT_CHANNELS, side))
    latents = float(side * side * LATENT_CHANNELS)
    blocks.add([pointwise_layer("loss", Pointwise.ELEMENTWISE, latents, section=Section.HEAD)])
    return blocks.table()
