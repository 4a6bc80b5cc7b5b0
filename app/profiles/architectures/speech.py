"""Speech synthesis: Tacotron 2, WaveGlow and Deep Voice 3.

References
----------
.. [1] J. Shen et al., "Natural TTS synthesis by conditioning WaveNet on mel spectrogram predictions,"
   ICASSP, 2018; dimensions of NVIDIA DeepLearningExamples, PyTorch/SpeechSynthesis/Tacotron2.
.. [2] R. Prenger, R. Valle, B. Catanzaro, "WaveGlow: a flow-based generative network for speech
   synthesis," ICASSP, 2019; dimensions of NVIDIA DeepLearningExamples,
   PyTorch/SpeechSynthesis/Tacotron2.
.. [3] W. Ping et al., "Deep Voice 3: scaling text-to-speech with convolutional sequence
   learning," ICLR, 2018, section 3 and appendix.
"""

from __future__ import annotations

from dataclasses import replace

from app.engine.operators.layers import (
    attention_layer,
    convolution_1d,
    dense_layer,
    norm_layer,
    pointwise_layer,
    recurrent_layer,
)
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise
from app.engine.records import Tokens
from app.profiles.architectures.common import embedding, need_tokens
from app.profiles.architectures.sequences import additive_attention

TEXT_PER_SECOND = 1_308_678 / 13_100 / 6.57
"""Characters of text for one second of audio in LJ Speech (K. Ito, L. Johnson, 2017)."""
FRAMES_PER_SECOND = 22_050 / 256
"""Frames of Tacotron 2 in one second of LJ Speech."""
PADDING = 10.10 / 6.57
"""Longest over mean clip of LJ Speech: a batch of tens of clips is padded to about the longest."""
FRAME_KERNELS = 30.0 + 97.0
"""Kernels of one step of Tacotron 2's decoder, forward and backward, as its published code calls them:
two cells of three, attention of fourteen, projections of four, joins, dropouts and sums; backward
two products and a sum for each product, and a sum of every weight's gradients over the steps."""
FRAME_SECONDS = 600 / 48_000
"""Shift of Deep Voice 3's frames: 600 samples at 48 kHz."""


def build_tacotron2(
    tokens: Tokens | None, image_size: int | None, *, symbols: int = 148, bands: int = 80
) -> OperatorTable:
    """Return the operators of Tacotron 2 over ``tokens`` frames of audio and their padding.

    >>> table = build_tacotron2(Tokens(rows=566, mean=566, squared=566.0**2, scored=566), None)
    >>> round(table.parameters / 1e6, 2)
    28.19
    """
    heard = need_tokens(tokens).mean
    frames = heard * PADDING
    text = frames * TEXT_PER_SECOND / FRAMES_PER_SECOND

    def convolution(
        name: str, channels_in: int, channels_out: int, steps: float, count: int = 1
    ) -> list[Operator]:
        return [
            convolution_1d(name, channels_in, channels_out, 5, steps, count),
            norm_layer(f"{name}_norm", channels_out, steps, Pointwise.BATCH_NORM, count=count),
            pointwise_layer(f"{name}_activation", Pointwise.RELU, steps * channels_out, count=count),
        ]

    def cell(name: str, inputs: int) -> list[Operator]:
        # The input of each step holds the attention of the one before: nothing can run ahead.
        layer = recurrent_layer(name, "lstm", inputs, 1024, frames)
        ahead = replace(layer[0], kind=Kind.RECURRENT, rows=1.0, steps=frames, convolution_launches=0.0)
        return [ahead, *layer[1:]]

    pairs = frames * text
    operators = [
        embedding("symbols", symbols, 512, text),
        *convolution("encoder", 512, 512, text, 3),
        *recurrent_layer("encoder", "lstm", 512, 256, text, directions=2),
        dense_layer("prenet1", bands, 256, frames, bias=False),
        dense_layer("prenet2", 256, 256, frames, bias=False),
        *cell("attention_cell", 256 + 512),
        *additive_attention("attention", 1024, 512, 128, frames, text),
        # The weights of former steps enter the score through 32 filters of 31 steps.
        convolution_1d("location", 2, 32, 31, pairs, bias=False, saved=pairs),
        dense_layer("location_out", 32, 128, pairs, bias=False),
        *cell("decoder_cell", 1024 + 512),
        # The gradient of one frame's input fills the gradient of all frames and is added to it.
        pointwise_layer("frame_inputs", Pointwise.ADD, 256 * frames**2, kernels=FRAME_KERNELS * frames),
        dense_layer("frames", 1024 + 512, bands, frames),
        dense_layer("stop", 1024 + 512, 1, frames),
        *convolution("postnet_in", bands, 512, frames),
        *convolution("postnet", 512, 512, frames, 3),
        *convolution("postnet_out", 512, bands, frames),
    ]
    return OperatorTable.of(operators, depth=1, hidden=1024.0, tokens=heard)


def _channels_last(layer: Operator) -> Operator:
    """Return the copies that bring a convolution's tensors into the order of the matrix units and back.

    Input and output forward, and both again for each of the two gradients.
    """
    moved = 1.5 * (layer.input_elements + layer.output_elements)
    return pointwise_layer(
        f"{layer.name}_layout", Pointwise.COPY, moved, count=layer.count, convolution_launches=0.5
    )


def _weight_norm(layer: Operator) -> Operator:
    """Return the norm of a convolution's weights, one length for each channel out."""
    return pointwise_layer(
        f"{layer.name}_weight_norm",
        Pointwise.NONE,
        0.0,
        count=layer.count,
        weights=layer.columns,
        tensors=1.0,
        convolution_launches=0.5,
    )


def build_waveglow(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    flows: int = 12,
    group: int = 8,
    early_every: int = 4,
    early_size: int = 2,
    layers: int = 8,
    channels: int = 512,
    bands: int = 80,
) -> OperatorTable:
    """Return the operators of WaveGlow over ``tokens`` samples of audio.

    >>> table = build_waveglow(Tokens(rows=8000, mean=8000, squared=8000.0**2, scored=8000), None)
    >>> round(table.parameters / 1e6, 1)
    268.3
    """
    steps = need_tokens(tokens).mean / group
    # Every frame of the spectrogram becomes 256 steps through a kernel of 1024.
    frames, weights = steps * group / 256, float(bands * bands * 1024 + bands)
    operators = [dense_layer("upsample", bands, bands * 1024, frames, weights=weights)]
    remaining = group
    for flow in range(flows):
        if flow and flow % early_every == 0:
            remaining -= early_size
        half = remaining // 2
        name = f"flow{flow + 1}"
        start = convolution_1d(f"{name}_start", half, channels, 1, steps)
        entered = convolution_1d(f"{name}_in", channels, 2 * channels, 3, steps, layers)
        condition = convolution_1d(f"{name}_conditions", bands * group, 2 * channels, 1, steps, layers)
        skip = convolution_1d(f"{name}_skip", channels, 2 * channels, 1, steps, layers - 1)
        last = convolution_1d(f"{name}_last", channels, channels, 1, steps)
        passes, added = steps * channels, 2 * steps * channels
        operators += [
            convolution_1d(f"{name}_mix", remaining, remaining, 1, steps, bias=False),
            start,
            entered,
            condition,
            pointwise_layer(f"{name}_gate", Pointwise.GATED, passes, count=layers, convolution_launches=0.5),
            skip,
            last,
            pointwise_layer(f"{name}_add", Pointwise.ADD, added, count=layers, convolution_launches=1.0),
            convolution_1d(f"{name}_end", channels, 2 * half, 1, steps),
            *(_channels_last(layer) for layer in (entered, condition, skip, last)),
            *(_weight_norm(layer) for layer in (start, entered, condition, skip, last)),
        ]
    # A position is one sample of audio, so that what one flow hands on counts once.
    return OperatorTable.of(operators, depth=flows, hidden=1.0, tokens=steps * group)


def _gated_block(name: str, channels: int, kernel: int, steps: float, count: int) -> list[Operator]:
    """Return ``count`` convolutions with gated linear units and residual connections."""
    return [
        convolution_1d(name, channels, 2 * channels, kernel, steps, count),
        pointwise_layer(f"{name}_gate", Pointwise.GATED, steps * channels, count=count),
        pointwise_layer(f"{name}_add", Pointwise.RESIDUAL, steps * channels, count=count),
    ]


def build_deepvoice3(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    symbols: int = 148,
    character: int = 256,
    encoder_layers: int = 7,
    encoder_channels: int = 128,
    kernel: int = 5,
    decoder_layers: int = 6,
    channels: int = 256,
    attention_width: int = 256,
    converter_layers: int = 6,
    bands: int = 80,
    reduction: int = 4,
    bins: int = 2049,
) -> OperatorTable:
    """Return the operators of Deep Voice 3 over ``tokens`` decoder steps of ``reduction`` frames."""
    steps = need_tokens(tokens).mean
    text = steps * reduction * FRAME_SECONDS * TEXT_PER_SECOND
    hop = [
        dense_layer("attention_query", channels, attention_width, steps),
        dense_layer("attention_key", character, attention_width, text),
        dense_layer("attention_value", character, attention_width, text),
        attention_layer("attention", 1.0, steps, text, float(attention_width)),
        dense_layer("attention_out", attention_width, channels, steps),
    ]
    frame = bands * reduction
    operators = [
        embedding("characters", symbols, character, text),
        dense_layer("encoder_in", character, encoder_channels, text),
        *_gated_block("encoder", encoder_channels, kernel, text, encoder_layers),
        dense_layer("encoder_out", encoder_channels, character, text),
        dense_layer("decoder_in1", frame, 128, steps),
        dense_layer("decoder_in2", 128, channels, steps),
        *_gated_block("decoder", channels, kernel, steps, decoder_layers),
        *(replace(operator, count=float(decoder_layers)) for operator in hop),
        dense_layer("frames", channels, 2 * frame, steps),
        dense_layer("done", channels, 1, steps),
        *_gated_block("converter", channels, kernel, steps, converter_layers),
        dense_layer("converter_mid", channels, channels, steps),
        dense_layer("spectrum", channels, reduction * bins, steps),
    ]
    depth = encoder_layers + decoder_layers + converter_layers
    return OperatorTable.of(operators, depth=depth, hidden=float(channels), tokens=steps)
