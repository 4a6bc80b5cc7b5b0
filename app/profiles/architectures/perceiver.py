"""Perceiver IO: few latent vectors that read a long input once and then attend to themselves.

References
----------
.. [1] A. Jaegle et al., "Perceiver IO: a general architecture for structured inputs & outputs," ICLR, 2022;
   config.json of deepmind/language-perceiver and deepmind/vision-perceiver-conv.
"""

from __future__ import annotations

from dataclasses import replace

from app.engine.operators.layers import (
    attention_layer,
    convolution_layer,
    dense_layer,
    norm_layer,
    pointwise_layer,
)
from app.engine.operators.table import Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.profiles.architectures.common import embedding, head_loss, need_image, need_tokens

LATENT_BLOCK_PARTS = 14
"""Operators of an attention block with its feed-forward block, which share the launches of one layer."""


def _block(
    name: str,
    queries: float,
    keys: float,
    *,
    query_width: int,
    key_width: int,
    heads: int,
    match: int,
    values: int,
    output: int,
    residual: bool = True,
) -> list[Operator]:
    """Return attention of queries to keys of other width, and a feed-forward block of the output's width."""
    dot, value = match // heads, values // heads
    operators = [
        norm_layer(f"{name}_query_norm", query_width, queries),
        *(
            [norm_layer(f"{name}_key_norm", key_width, keys)]
            if key_width != query_width or keys != queries
            else []
        ),
        dense_layer(f"{name}_query", query_width, match, queries, aligned=True),
        dense_layer(f"{name}_key", key_width, match, keys, aligned=True),
        dense_layer(f"{name}_value", key_width, values, keys, aligned=True),
        attention_layer(f"{name}_attention", float(heads), queries, keys, (dot + value) / 2.0),
        dense_layer(f"{name}_attention_out", values, output, queries, aligned=True),
        *([pointwise_layer(f"{name}_add", Pointwise.RESIDUAL, queries * output)] if residual else []),
        norm_layer(f"{name}_norm", output, queries),
        dense_layer(f"{name}_ffn_in", output, output, queries, aligned=True),
        pointwise_layer(f"{name}_gelu", Pointwise.GELU, queries * output, saved=queries * output),
        dense_layer(f"{name}_ffn_out", output, output, queries, aligned=True),
        pointwise_layer(f"{name}_ffn_add", Pointwise.RESIDUAL, queries * output),
    ]
    return [
        replace(operator, layer_launches=1.0 / LATENT_BLOCK_PARTS, convolution_launches=0.0)
        for operator in operators
    ]


def _latents(
    read: list[Operator], own: list[Operator], layers: int, repeats: int, latents: int, width: int
) -> list[Operator]:
    """Return the block that reads the input and the layers of latents, which run ``repeats`` times."""
    vectors = embedding("latents", latents, width, float(latents))
    repeated = [
        replace(
            operator,
            count=float(layers * repeats),
            weights=operator.weights / repeats,
            tensors=operator.tensors / repeats,
        )
        for operator in own
    ]
    return [vectors, *read, *repeated]


def build_language_perceiver(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    width: int = 768,
    positions: int = 2048,
    vocabulary: int = 262,
    latents: int = 256,
    latent_width: int = 1280,
    layers: int = 26,
    match: int = 256,
    heads: int = 8,
) -> OperatorTable:
    """Return the operators of Perceiver IO over ``tokens`` bytes of text, fine-tuned on masked bytes.

    >>> table = build_language_perceiver(Tokens(rows=2048, mean=2048, squared=2048.0**2, scored=2048), None)
    >>> round(table.parameters / 1e6)
    201
    """
    length = need_tokens(tokens).mean
    few = float(latents)
    read = _block(
        "read",
        few,
        length,
        query_width=latent_width,
        key_width=width,
        heads=heads,
        match=match,
        values=latent_width,
        output=latent_width,
    )
    own = _block(
        "latent",
        few,
        few,
        query_width=latent_width,
        key_width=latent_width,
        heads=heads,
        match=match,
        values=latent_width,
        output=latent_width,
    )
    written = _block(
        "write",
        length,
        few,
        query_width=width,
        key_width=latent_width,
        heads=heads,
        match=match,
        values=width,
        output=width,
        residual=False,
    )
    operators = [
        embedding("bytes", vocabulary + 2 * positions, width, length),
        *_latents(read, own, layers, 1, latents, latent_width),
        *written,
        dense_layer("logits", width, vocabulary, length, weights=float(vocabulary), section=Section.HEAD),
        head_loss(length * vocabulary),
    ]
    return OperatorTable.of(operators, depth=layers, hidden=float(few * latent_width), tokens=1.0)


def build_vision_perceiver(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    channels: int = 64,
    bands: int = 258,
    latents: int = 512,
    latent_width: int = 1024,
    layers: int = 6,
    repeats: int = 8,
    heads: int = 8,
    classes: int = 1000,
) -> OperatorTable:
    """Return the operators of Perceiver IO over an image behind one convolution; six layers run eight times.

    >>> round(build_vision_perceiver(None, 224).parameters / 1e6, 1)
    48.6
    """
    side = need_image(image_size, least=8)
    positions = float((side // 4) ** 2)
    width, few = channels + bands, float(latents)
    read = _block(
        "read",
        few,
        positions,
        query_width=latent_width,
        key_width=width,
        heads=1,
        match=width,
        values=width,
        output=latent_width,
    )
    own = _block(
        "latent",
        few,
        few,
        query_width=latent_width,
        key_width=latent_width,
        heads=heads,
        match=latent_width,
        values=latent_width,
        output=latent_width,
    )
    written = _block(
        "write",
        1.0,
        few,
        query_width=latent_width,
        key_width=latent_width,
        heads=1,
        match=latent_width,
        values=latent_width,
        output=latent_width,
    )
    operators = [
        *convolution_layer("stem", 3, channels, side, kernel=7, stride=2, first=True),
        pointwise_layer("stem_pool", Pointwise.MAX_POOL, channels * 4.0 * positions),
        pointwise_layer("positions", Pointwise.COPY, positions * width),
        *_latents(read, own, layers, repeats, latents, latent_width),
        *written,
        dense_layer("classes", latent_width, classes, section=Section.HEAD),
        head_loss(float(classes)),
    ]
    return OperatorTable.of(operators, depth=layers * repeats, hidden=few * latent_width, tokens=1.0)
