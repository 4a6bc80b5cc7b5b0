"""The denoising U-Net of latent diffusion and the autoencoder before it.

Residual blocks with attention to the image and to a text; the autoencoder has neither text nor time step.

References
----------
.. [1] R. Rombach et al., "High-resolution image synthesis with latent diffusion models," CVPR, 2022.
.. [2] Stability AI, Stable Diffusion 2 base: 865.9 million parameters, heads of 64, text of 77 × 1,024.
.. [3] J. Ho, A. Jain, P. Abbeel, "Denoising diffusion probabilistic models," NeurIPS, 2020 (residual blocks
   with the time step).
.. [4] D. Podell et al., "SDXL: improving latent diffusion models for high-resolution image synthesis,"
   ICLR, 2024 (more layers of attention per level; size and pooled text added to the time step).
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


def _residual(name: str, channels_in: int, channels_out: int, side: int, time: int = 0) -> list[Operator]:
    """Return norm and convolution twice, the time step, if any, added in between, and the skip connection."""
    positions = side * side
    elements = float(channels_out * positions)
    projected = channels_in != channels_out
    return [
        *_norm(f"{name}_in", channels_in, positions),
        *_convolution(f"{name}_first", channels_in, channels_out, side),
        *([dense_layer(f"{name}_time", time, channels_out)] if time else []),
        *([pointwise_layer(f"{name}_shift", Pointwise.BIAS, elements)] if time else []),
        *_norm(f"{name}_out", channels_out, positions),
        *_convolution(f"{name}_second", channels_out, channels_out, side),
        *(_convolution(f"{name}_project", channels_in, channels_out, side, kernel=1) if projected else []),
        pointwise_layer(f"{name}_add", Pointwise.ADD, elements),
    ]


def _attention(name: str, channels: int, side: int, text: int, heads: int, depth: int) -> list[Operator]:
    """Return layers of attention over all positions, then to the text, then a gated feed-forward block."""
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
        *(
            replace(operator, layer_launches=LAUNCH_SHARE, count=operator.count * depth)
            for operator in operators
        ),
        dense_layer(f"{name}_project_out", channels, channels, positions),
    ]


def _whole(numbers: str) -> list[int]:
    return [int(number) for number in numbers.split("-")]


def build_diffusion(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    widths: str = "320-640-1280-1280",
    depths: str = "1-1-1-0",
    bottom: int = 1,
    blocks_per_level: int = BLOCKS_PER_LEVEL,
    text: int = 1024,
    heads: int = 0,
    added: int = 0,
    channels_in: int = LATENT_CHANNELS,
    channels_out: int = LATENT_CHANNELS,
) -> OperatorTable:
    """Return the operators of the U-Net alone; latents and text embeddings are its input.

    ``depths`` are layers of attention in the blocks of each level and ``bottom`` those in the block below:
    ``heads`` heads each, or as many as heads of 64 need. ``added`` is the width of what is added to the time
    step, such as a pooled text.

    Stable Diffusion 2 has 865.9 million parameters, SDXL 2,567.5 million:

    >>> int(build_diffusion(None, 512).parameters)
    865910724
    >>> sdxl = {"widths": "320-640-1280", "depths": "0-2-10", "bottom": 10, "text": 2048, "added": 2816}
    >>> int(build_diffusion(None, 1024, **sdxl).parameters)
    2567463684
    """
    levels, layers = _whole(widths), _whole(depths)
    side = need_image(image_size, least=REDUCTION << (len(levels) - 1)) // REDUCTION
    time = 4 * levels[0]
    blocks = Blocks()
    blocks.add([dense_layer("time1", levels[0], time), dense_layer("time2", time, time)])
    if added:
        blocks.add([dense_layer("added1", added, time), dense_layer("added2", time, time)])
    blocks.add(_convolution("input", channels_in, levels[0], side))

    def block(name: str, channels_in: int, channels_out: int, depth: int) -> None:
        operators = _residual(name, channels_in, channels_out, side, time)
        if depth:
            count = heads or max(channels_out // HEAD, 1)
            operators += _attention(f"{name}_attention", channels_out, side, text, count, depth)
        blocks.block(operators, output=float(side * side * channels_out))

    skips = [(levels[0], side)]
    blocks.keep()
    channels = levels[0]
    for level, width in enumerate(levels):
        for index in range(blocks_per_level):
            block(f"down{level + 1}_{index + 1}", channels, width, layers[level])
            channels = width
            skips.append((channels, side))
            blocks.keep()
        if level < len(levels) - 1:
            blocks.add(_convolution(f"down{level + 1}", channels, channels, side, stride=2))
            side = -(-side // 2)
            skips.append((channels, side))
            blocks.keep()
    block("bottom1", channels, channels, bottom)
    block("bottom2", channels, channels, 0)
    for level in reversed(range(len(levels))):
        for index in range(blocks_per_level + 1):
            skip, side = skips.pop()
            name = f"up{level + 1}_{index + 1}"
            joined = float(side * side * (channels + skip))
            blocks.add([pointwise_layer(f"{name}_join", Pointwise.ELEMENTWISE, joined)])
            blocks.take(float(side * side * skip))
            block(name, channels + skip, levels[level], layers[level])
            channels = levels[level]
        if level:
            side = skips[-1][1]
            larger = float(side * side * channels)
            blocks.add([pointwise_layer(f"up{level + 1}_enlarge", Pointwise.ELEMENTWISE, larger)])
            blocks.add(_convolution(f"up{level + 1}", channels, channels, side))
    blocks.add(_norm("output", channels, side * side))
    blocks.add(_convolution("output", channels, channels_out, side))
    latents = float(side * side * channels_out)
    blocks.add([pointwise_layer("loss", Pointwise.ELEMENTWISE, latents, section=Section.HEAD)])
    return blocks.table()


def build_autoencoder(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    widths: str = "128-256-512-512",
    blocks_per_level: int = BLOCKS_PER_LEVEL,
    latent: int = LATENT_CHANNELS,
    channels: int = 3,
    attends: bool = True,
    moments: bool = True,
    latents: bool = True,
) -> OperatorTable:
    """Return encoder and decoder of an autoencoder of images.

    That of Stable Diffusion has 83.65 million parameters:

    >>> int(build_autoencoder(None, 512).parameters)
    83653863
    """
    levels = _whole(widths)
    side = need_image(image_size, least=1 << (len(levels) - 1))
    blocks = Blocks()

    def block(name: str, wide: int, width: int) -> None:
        blocks.block(_residual(name, wide, width, side), output=float(side * side * width))

    def bottom(name: str, width: int) -> None:
        block(f"{name}_bottom1", width, width)
        if attends:
            positions = float(side * side)
            blocks.add([norm_layer(f"{name}_attention_norm", width, positions, Pointwise.GROUP_NORM)])
            blocks.add(attention_operators(f"{name}_", width, 1, positions))
        block(f"{name}_bottom2", width, width)

    blocks.add(_convolution("encoder_input", channels, levels[0], side))
    wide = levels[0]
    for level, width in enumerate(levels):
        for index in range(blocks_per_level):
            block(f"encoder{level + 1}_{index + 1}", wide, width)
            wide = width
        if level < len(levels) - 1:
            blocks.add(_convolution(f"encoder{level + 1}_smaller", wide, wide, side, stride=2))
            side = -(-side // 2)
    bottom("encoder", wide)
    blocks.add(_norm("encoder_output", wide, side * side))
    blocks.add(_convolution("encoder_output", wide, 2 * latent, side))
    if moments:
        blocks.add(_convolution("moments", 2 * latent, 2 * latent, side, kernel=1))
    if latents:
        blocks.add(_convolution("latents", latent, latent, side, kernel=1))
    blocks.add(_convolution("decoder_input", latent, wide, side))
    bottom("decoder", wide)
    for level in reversed(range(len(levels))):
        for index in range(blocks_per_level + 1):
            block(f"decoder{level + 1}_{index + 1}", wide, levels[level])
            wide = levels[level]
        if level:
            side *= 2
            larger = float(side * side * wide)
            blocks.add([pointwise_layer(f"decoder{level + 1}_enlarge", Pointwise.ELEMENTWISE, larger)])
            blocks.add(_convolution(f"decoder{level + 1}_larger", wide, wide, side))
    blocks.add(_norm("output", wide, side * side))
    blocks.add(_convolution("output", wide, channels, side))
    pixels = float(side * side * channels)
    blocks.add([pointwise_layer("loss", Pointwise.ELEMENTWISE, pixels, section=Section.HEAD)])
    return blocks.table()
