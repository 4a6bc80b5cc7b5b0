"""Swin transformer: attention within windows, widths that double from stage to stage.

References
----------
.. [1] Z. Liu et al., "Swin transformer: hierarchical vision transformer using shifted windows,"
   ICCV, 2021, section 3.3 and table 7.
"""

from __future__ import annotations

from dataclasses import replace

from app.engine.operators.attention import attention_operators
from app.engine.operators.convolution import convolution_layer, dense_layer, pointwise_layer
from app.engine.operators.feed_forward import feed_forward_operators
from app.engine.operators.table import OperatorTable, Pointwise
from app.engine.records import Tokens
from app.profiles.architectures.common import LAUNCH_SHARE, Blocks, classifier, need_image, norm_layer


def build(
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
    """Return the operators of a Swin transformer.

    Swin-T has 28.3 million parameters:

    >>> int(build(None, 224).parameters)
    28288354
    """
    stages = [int(depth) for depth in depths.split("-")]
    counts = [int(count) for count in heads.split("-")]
    side = -(-need_image(image_size, least=patch) // patch)
    blocks = Blocks()
    blocks.add(
        convolution_layer(
            name="patches",
            channels_in=3,
            channels_out=width,
            height=side * patch,
            width=side * patch,
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
            blocks.add(
                [
                    norm_layer(f"merge{stage}_norm", merged, positions),
                    replace(
                        dense_layer(name=f"merge{stage}", inputs=merged, outputs=channels, rows=positions),
                        weights=float(merged * channels),
                    ),
                ]
            )
        size = min(window, side)
        prefix = f"stage{stage + 1}_"
        attention = attention_operators(
            prefix=prefix,
            count=1,
            hidden=channels,
            heads=count,
            key_heads=count,
            head_dimension=channels // count,
            queries=positions,
            keys=positions,
            squared=positions * size * size,
            causal=False,
            rotary=False,
            biases=True,
        )
        # Every head learns a bias for each offset inside a window.
        bias = float((2 * window - 1) ** 2 * count)
        attention[-1] = replace(attention[-1], weights=attention[-1].weights + bias)
        residual = pointwise_layer(
            name=f"{prefix}add", pointwise=Pointwise.RESIDUAL, elements=positions * channels
        )
        block = [
            norm_layer(f"{prefix}norm_attention", channels, positions),
            *attention,
            residual,
            norm_layer(f"{prefix}norm_ffn", channels, positions),
            *feed_forward_operators(
                prefix=prefix,
                count=1,
                hidden=channels,
                feed_forward=4 * channels,
                tokens=positions,
                gated=False,
                biases=True,
                experts=1,
                experts_per_token=1,
            ),
            replace(residual, name=f"{prefix}add_ffn"),
        ]
        # Positions are gathered into windows and put back; every second block shifts them and back.
        windows = pointwise_layer(
            name=f"{prefix}windows", pointwise=Pointwise.ELEMENTWISE, elements=3.0 * positions * channels
        )
        block.insert(1, windows)
        blocks.block(
            [replace(operator, layer_launches=LAUNCH_SHARE) for operator in block],
            output=positions * channels,
            count=depth,
        )
        if stage < len(stages) - 1:
            side = -(-side // 2)
    blocks.add([norm_layer("final_norm", channels, positions)])
    blocks.add(classifier(channels, positions, classes))
    return blocks.table()
