"""Stacks of transformer layers behind other inputs than words, or side by side: CLIP, wav2vec 2.0, Whisper,
the audio spectrogram transformer.

References
----------
.. [1] A. Radford et al., "Learning transferable visual models from natural language supervision,"
   ICML, 2021; config.json of openai/clip-vit-base-patch32.
.. [2] A. Baevski et al., "wav2vec 2.0," NeurIPS, 2020; config.json of facebook/wav2vec2-base and
   facebook/wav2vec2-large-lv60.
.. [3] A. Radford et al., "Robust speech recognition via large-scale weak supervision," ICML, 2023;
   config.json of openai/whisper-small.
.. [4] Y. Gong et al., "AST: audio spectrogram transformer," Interspeech, 2021; config.json of
   MIT/ast-finetuned-speech-commands-v2.
"""

from __future__ import annotations

from app.engine.operators.layers import convolution_1d, dense_layer, norm_layer, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise, Section
from app.engine.operators.transformer import Stack, TransformerShape, output_head, transformer_layer
from app.engine.records import Tokens
from app.profiles.architectures.common import embedding, head_loss, need_tokens


def tower(
    prefix: str,
    layers: int,
    hidden: int,
    tokens: float,
    *,
    causal: bool = False,
    cross_tokens: float = 0.0,
    width_per_head: int = 64,
) -> list[Operator]:
    """Return a stack of plain transformer layers with four times wider feed-forward blocks, and its norm."""
    shape = TransformerShape(
        layers=layers,
        hidden=hidden,
        heads=hidden // width_per_head,
        key_heads=hidden // width_per_head,
        head_dimension=width_per_head,
        feed_forward=4 * hidden,
        vocabulary=0,
        stack=Stack.DECODER if causal else Stack.ENCODER,
    )
    stacked = transformer_layer(
        shape,
        count=layers,
        tokens=tokens,
        squared=tokens * tokens,
        causal=causal,
        cross_tokens=cross_tokens,
        prefix=prefix,
    )
    return [*stacked, norm_layer(f"{prefix}norm", hidden, tokens)]


def build_clip(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    patch: int = 32,
    layers: int = 12,
    hidden: int = 768,
    text_layers: int = 12,
    text_hidden: int = 512,
    vocabulary: int = 49_408,
    positions: int = 77,
    text_causal: bool = True,
    joint: int = 512,
) -> OperatorTable:
    """Return the operators of CLIP: one tower over patches of an image, one over ``tokens`` of its caption.

    >>> table = build_clip(Tokens(rows=77, mean=77, squared=77.0**2, scored=77), 224)
    >>> round(table.parameters / 1e6, 1)
    151.3
    """
    words = need_tokens(tokens).mean
    patches = float(((image_size or 224) // patch) ** 2)
    inputs = 3 * patch * patch
    operators = [
        dense_layer(
            "patches",
            inputs,
            hidden,
            patches,
            section=Section.EMBEDDING,
            input_gradient=False,
            weights=float(inputs * hidden + (patches + 2) * hidden),
        ),
        norm_layer("patches_norm", hidden, patches + 1),
        embedding("words", vocabulary + positions, text_hidden, words),
        *tower("image_", layers, hidden, patches + 1),
        *tower("text_", text_layers, text_hidden, words, causal=text_causal),
        dense_layer("image_projection", hidden, joint, bias=False, section=Section.HEAD),
        dense_layer("text_projection", text_hidden, joint, bias=False, section=Section.HEAD),
    ]
    return OperatorTable.of(operators, depth=layers, hidden=float(hidden), tokens=1.0, heads=hidden / 64)


CONVOLUTIONS = ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))
"""Kernel and stride of the convolutions of wav2vec 2.0 over samples of audio at 16 kHz."""
POSITION_KERNEL, POSITION_GROUPS = 128, 16
"""The convolution that tells wav2vec 2.0 positions."""


def build_wav2vec2(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    layers: int = 12,
    hidden: int = 768,
    channels: int = 512,
    outputs: int = 45,
    every_frame: bool = False,
    frozen_features: bool = False,
    large: bool = False,
) -> OperatorTable:
    """Return the operators of wav2vec 2.0 over ``tokens`` frames of 20 ms, fine-tuned to classes.

    The head scores the mean of all frames, or ``every_frame`` for the connectionist temporal loss.

    >>> table = build_wav2vec2(Tokens(rows=400, mean=400, squared=160000.0, scored=1), None)
    >>> round(table.parameters / 1e6, 1)
    94.6
    """
    frames = need_tokens(tokens).mean
    length, inside = frames * 320.0, 1
    operators: list[Operator] = []
    for number, (kernel, stride) in enumerate(CONVOLUTIONS, start=1):
        length /= stride
        # A frozen convolution keeps nothing for a backward pass that does not come.
        more = {"trained": False, "input_gradient": False} if frozen_features else {}
        operators.append(
            convolution_1d(
                f"features{number}",
                inside,
                channels,
                kernel,
                length,
                bias=large,
                stride=float(stride),
                **more,
            )
        )
        if large:
            operators.append(norm_layer(f"features{number}_norm", channels, length))
        elif number == 1:
            operators.append(norm_layer("features1_norm", channels, length, Pointwise.GROUP_NORM))
        operators.append(pointwise_layer(f"features{number}_gelu", Pointwise.GELU, length * channels))
        inside = channels
    per_group = hidden // POSITION_GROUPS
    operators += [
        norm_layer("projection_norm", channels, frames),
        dense_layer("projection", channels, hidden, frames),
        convolution_1d(
            "positions",
            per_group,
            per_group,
            POSITION_KERNEL,
            frames,
            count=POSITION_GROUPS,
            saved=frames * per_group,
        ),
        *tower("", layers, hidden, frames),
    ]
    scored = frames if every_frame else 1.0
    if every_frame:
        operators += [
            dense_layer("characters", hidden, outputs, frames, section=Section.HEAD),
            pointwise_layer("ctc_loss", Pointwise.CTC_LOSS, frames * outputs, section=Section.HEAD),
        ]
    else:
        operators += [
            dense_layer("projector", hidden, 256, frames, section=Section.HEAD),
            dense_layer("classes", 256, outputs, scored, section=Section.HEAD),
            head_loss(float(outputs)),
        ]
    return OperatorTable.of(
        operators, depth=layers, hidden=float(hidden), tokens=frames, heads=float(hidden // 64)
    )


def build_whisper(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    layers: int = 12,
    hidden: int = 768,
    bands: int = 80,
    frames: int = 1500,
    vocabulary: int = 51_865,
    positions: int = 448,
) -> OperatorTable:
    """Return the operators of Whisper: 30 s of audio, and ``tokens`` word pieces of its text.

    >>> table = build_whisper(Tokens(rows=128, mean=128, squared=128.0**2, scored=128), None)
    >>> round(table.parameters / 1e6, 1)
    241.8
    """
    lengths = need_tokens(tokens)
    words = lengths.mean
    shape = TransformerShape(
        layers=layers,
        hidden=hidden,
        heads=hidden // 64,
        key_heads=hidden // 64,
        head_dimension=64,
        feed_forward=4 * hidden,
        vocabulary=vocabulary,
        stack=Stack.DECODER,
        final_norm=False,
    )
    operators = [
        convolution_1d("spectra1", bands, hidden, 3, 2.0 * frames, input_gradient=False),
        pointwise_layer("spectra1_gelu", Pointwise.GELU, 2.0 * frames * hidden),
        convolution_1d("spectra2", hidden, hidden, 3, float(frames), stride=2.0),
        pointwise_layer(
            "spectra2_gelu", Pointwise.GELU, float(frames * hidden), weights=float(frames * hidden)
        ),
        *tower("encoder_", layers, hidden, float(frames)),
        embedding("words", vocabulary + positions, hidden, words),
        *tower("decoder_", layers, hidden, words, causal=True, cross_tokens=float(frames)),
        *output_head(shape, scored=words),
    ]
    return OperatorTable.of(
        operators, depth=2 * layers, hidden=float(hidden), tokens=1.0, heads=float(hidden // 64)
    )


def build_ast(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    layers: int = 12,
    hidden: int = 768,
    bands: int = 128,
    frames: int = 128,
    patch: int = 16,
    stride: int = 10,
    classes: int = 35,
) -> OperatorTable:
    """Return the operators of the audio spectrogram transformer: patches that overlap, two class tokens.

    >>> table = build_ast(None, None)
    >>> round(table.parameters / 1e6, 1), table.tokens
    (85.4, 146.0)
    """
    patches = ((bands - patch) // stride + 1) * ((frames - patch) // stride + 1)
    length = patches + 2.0
    operators = [
        dense_layer(
            "patches",
            patch * patch,
            hidden,
            float(patches),
            section=Section.EMBEDDING,
            input_gradient=False,
            weights=float(patch * patch * hidden + hidden + (length + 2) * hidden),
        ),
        *tower("", layers, hidden, length),
        norm_layer("classes_norm", hidden, 1.0, section=Section.HEAD),
        dense_layer("classes", hidden, classes, section=Section.HEAD),
        head_loss(float(classes)),
    ]
    return OperatorTable.of(
        operators, depth=layers, hidden=float(hidden), tokens=length, heads=float(hidden // 64)
    )
