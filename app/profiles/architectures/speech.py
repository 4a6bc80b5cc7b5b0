"""Convolutional speech synthesis: WaveGlow and Deep Voice 3.

References
----------
.. [1] R. Prenger, R. Valle, B. Catanzaro, "WaveGlow: a flow-based generative network for speech
   synthesis," ICASSP, 2019; dimensions of NVIDIA DeepLearningExamples,
   PyTorch/SpeechSynthesis/Tacotron2.
.. [2] W. Ping et al., "Deep Voice 3: scaling text-to-speech with convolutional sequence
   learning," ICLR, 2018, section 3 and appendix.
"""

from __future__ import annotations

from dataclasses import replace

from app.engine.operators.convolution import dense_layer, pointwise_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise
from app.engine.records import Tokens
from app.profiles.architectures.common import convolution_1d, need_tokens
from app.profiles.architectures.recurrent import TEXT_PER_SECOND, embedding
from app.profiles.rows import attention

FRAME_SECONDS = 600 / 48_000
"""Shift of Deep Voice 3's frames: 600 samples at 48 kHz."""


def channels_last(layer: Operator) -> Operator:
    """Return the copies that bring a convolution's tensors into the order of the matrix units and back.

    Input and output forward, and both again for each of the two gradients.
    """
    moved = pointwise_layer(
        name=f"{layer.name}_layout",
        pointwise=Pointwise.COPY,
        elements=1.5 * (layer.input_elements + layer.output_elements),
        count=layer.count,
    )
    return replace(moved, convolution_launches=0.5)


def weight_norm(layer: Operator) -> Operator:
    """Return the norm of a convolution's weights, one length for each channel out."""
    norm = pointwise_layer(
        name=f"{layer.name}_weight_norm",
        pointwise=Pointwise.NONE,
        elements=0.0,
        count=layer.count,
        weights=layer.columns,
    )
    return replace(norm, tensors=1.0, convolution_launches=0.5)


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
    conditions = bands * group
    frames = steps * group / 256
    operators = [
        # Every frame of the spectrogram becomes 256 steps through a kernel of 1024.
        replace(
            dense_layer(name="upsample", inputs=bands, outputs=bands * 1024, rows=frames),
            weights=float(bands * bands * 1024 + bands),
        )
    ]
    remaining = group
    for flow in range(flows):
        if flow and flow % early_every == 0:
            remaining -= early_size
        half = remaining // 2
        name = f"flow{flow + 1}"
        mixed = convolution_1d(f"{name}_mix", remaining, remaining, 1, steps)
        start = convolution_1d(f"{name}_start", half, channels, 1, steps)
        entered = convolution_1d(f"{name}_in", channels, 2 * channels, 3, steps, layers)
        condition = convolution_1d(f"{name}_conditions", conditions, 2 * channels, 1, steps, layers)
        skip = convolution_1d(f"{name}_skip", channels, 2 * channels, 1, steps, layers - 1)
        last = convolution_1d(f"{name}_last", channels, channels, 1, steps)
        gate = pointwise_layer(
            name=f"{name}_gate", pointwise=Pointwise.GATED, elements=steps * channels, count=float(layers)
        )
        add = pointwise_layer(
            name=f"{name}_add", pointwise=Pointwise.ADD, elements=2 * steps * channels, count=float(layers)
        )
        operators += [
            replace(mixed, weights=float(remaining * remaining)),
            start,
            entered,
            condition,
            replace(gate, convolution_launches=0.5),
            skip,
            last,
            replace(add, convolution_launches=1.0),
            convolution_1d(f"{name}_end", channels, 2 * half, 1, steps),
            *(channels_last(layer) for layer in (entered, condition, skip, last)),
            *(weight_norm(layer) for layer in (start, entered, condition, skip, last)),
        ]
    # A position is one sample of audio, so that what one flow hands on counts once.
    return OperatorTable.of(operators, depth=flows, hidden=1.0, tokens=steps * group)


def gated_block(name: str, channels: int, kernel: int, steps: float, count: int) -> list[Operator]:
    """Return ``count`` convolutions with gated linear units and residual connections."""
    return [
        convolution_1d(name, channels, 2 * channels, kernel, steps, count),
        pointwise_layer(
            name=f"{name}_gate", pointwise=Pointwise.GATED, elements=steps * channels, count=float(count)
        ),
        pointwise_layer(
            name=f"{name}_add", pointwise=Pointwise.RESIDUAL, elements=steps * channels, count=float(count)
        ),
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
        dense_layer(name="attention_query", inputs=channels, outputs=attention_width, rows=steps),
        dense_layer(name="attention_key", inputs=character, outputs=attention_width, rows=text),
        dense_layer(name="attention_value", inputs=character, outputs=attention_width, rows=text),
        attention("attention", 1.0, steps, text, float(attention_width)),
        dense_layer(name="attention_out", inputs=attention_width, outputs=channels, rows=steps),
    ]
    frame = bands * reduction
    operators = [
        embedding("characters", symbols, character, text),
        dense_layer(name="encoder_in", inputs=character, outputs=encoder_channels, rows=text),
        *gated_block("encoder", encoder_channels, kernel, text, encoder_layers),
        dense_layer(name="encoder_out", inputs=encoder_channels, outputs=character, rows=text),
        dense_layer(name="decoder_in1", inputs=frame, outputs=128, rows=steps),
        dense_layer(name="decoder_in2", inputs=128, outputs=channels, rows=steps),
        *gated_block("decoder", channels, kernel, steps, decoder_layers),
        *(replace(operator, count=float(decoder_layers)) for operator in hop),
        dense_layer(name="frames", inputs=channels, outputs=2 * frame, rows=steps),
        dense_layer(name="done", inputs=channels, outputs=1, rows=steps),
        *gated_block("converter", channels, kernel, steps, converter_layers),
        dense_layer(name="converter_mid", inputs=channels, outputs=channels, rows=steps),
        dense_layer(name="spectrum", inputs=channels, outputs=reduction * bins, rows=steps),
    ]
    depth = encoder_layers + decoder_layers + converter_layers
    return OperatorTable.of(operators, depth=depth, hidden=float(channels), tokens=steps)
