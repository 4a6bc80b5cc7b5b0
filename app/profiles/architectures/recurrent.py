"""Recurrent sequence models: GNMT and Tacotron 2.

References
----------
.. [1] Y. Wu et al., "Google's neural machine translation system," arXiv:1609.08144, 2016;
   dimensions of NVIDIA DeepLearningExamples, PyTorch/Translation/GNMT (GNMT v2).
.. [2] J. Shen et al., "Natural TTS synthesis by conditioning WaveNet on mel spectrogram
   predictions," ICASSP, 2018; dimensions of NVIDIA DeepLearningExamples,
   PyTorch/SpeechSynthesis/Tacotron2.
"""

from __future__ import annotations

from dataclasses import replace

from app.engine.operators.convolution import dense_layer, pointwise_layer
from app.engine.operators.recurrent import recurrent_layer
from app.engine.operators.table import Kind, Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.profiles.architectures.common import convolution_1d, need_tokens

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


def embedding(name: str, entries: int, width: int, tokens: float) -> Operator:
    """Return a look-up of one vector for each token."""
    return Operator(
        name=name,
        kind=Kind.EMBEDDING,
        section=Section.EMBEDDING,
        rows=tokens,
        columns=float(width),
        elements=tokens * width,
        weights=float(entries * width),
        input_gradient=False,
    )


def additive_attention(
    name: str, query: int, key: int, width: int, queries: float, keys: float
) -> list[Operator]:
    """Return attention that scores every pair of query and key by a small network."""
    return [
        replace(
            dense_layer(name=f"{name}_query", inputs=query, outputs=width, rows=queries),
            weights=float(query * width),
        ),
        replace(
            dense_layer(name=f"{name}_key", inputs=key, outputs=width, rows=keys), weights=float(key * width)
        ),
        Operator(
            name=f"{name}_scores",
            kind=Kind.POINTWISE,
            pointwise=Pointwise.ELEMENTWISE,
            elements=queries * keys * width,
            weights=float(width),
            saved=queries * keys,
        ),
        Operator(
            name=f"{name}_context",
            kind=Kind.MATMUL,
            rows=queries,
            inner=keys,
            columns=float(key),
            saved=queries * keys,
            aligned=False,
            convolution_launches=0.5,
        ),
    ]


BUCKET = 5.0
"""Tokens by which a batch is padded beyond its mean: half the width of a bucket of lengths."""


def build_gnmt(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    hidden: int = 1024,
    layers: int = 4,
    vocabulary: int = 32_320,
) -> OperatorTable:
    """Return the operators of GNMT v2: as many target as source tokens, one shared embedding.

    Rates count the tokens of both sides; batches of like lengths are padded to the longest.

    >>> table = build_gnmt(Tokens(rows=50, mean=50, squared=2500, scored=50), None)
    >>> round(table.parameters / 1e6, 1)
    160.7
    """
    length = need_tokens(tokens).mean
    steps = length + BUCKET
    operators = [
        embedding("embedding", vocabulary, hidden, 2 * steps),
        *recurrent_layer(
            name="encoder1", cell="lstm", inputs=hidden, hidden=hidden, steps=steps, directions=2
        ),
        *recurrent_layer(name="encoder2", cell="lstm", inputs=2 * hidden, hidden=hidden, steps=steps),
        *recurrent_layer(
            name="encoder", cell="lstm", inputs=hidden, hidden=hidden, steps=steps, count=layers - 2
        ),
        *recurrent_layer(name="decoder1", cell="lstm", inputs=hidden, hidden=hidden, steps=steps),
        *additive_attention("attention", hidden, hidden, hidden, steps, steps),
        *recurrent_layer(
            name="decoder", cell="lstm", inputs=2 * hidden, hidden=hidden, steps=steps, count=layers - 1
        ),
        dense_layer(name="words", inputs=hidden, outputs=vocabulary, rows=steps, section=Section.HEAD),
        replace(
            pointwise_layer(
                name="cross_entropy", pointwise=Pointwise.CROSS_ENTROPY, elements=steps * vocabulary
            ),
            section=Section.HEAD,
        ),
    ]
    return OperatorTable.of(operators, depth=2 * layers, hidden=float(hidden), tokens=2.0 * length)


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
        elements = steps * channels_out
        norm = pointwise_layer(
            name=f"{name}_norm",
            pointwise=Pointwise.BATCH_NORM,
            elements=elements,
            count=float(count),
            weights=2.0 * channels_out,
        )
        return [
            convolution_1d(name, channels_in, channels_out, 5, steps, count),
            replace(norm, saved=elements),
            pointwise_layer(
                name=f"{name}_activation", pointwise=Pointwise.RELU, elements=elements, count=float(count)
            ),
        ]

    def cell(name: str, inputs: int) -> list[Operator]:
        # The input of each step holds the attention of the one before: nothing can run ahead.
        layer = recurrent_layer(name=name, cell="lstm", inputs=inputs, hidden=1024, steps=frames)
        return [
            replace(layer[0], kind=Kind.RECURRENT, rows=1.0, steps=frames, convolution_launches=0.0),
            *layer[1:],
        ]

    operators = [
        embedding("symbols", symbols, 512, text),
        *convolution("encoder", 512, 512, text, 3),
        *recurrent_layer(name="encoder", cell="lstm", inputs=512, hidden=256, steps=text, directions=2),
        replace(
            dense_layer(name="prenet1", inputs=bands, outputs=256, rows=frames), weights=float(bands * 256)
        ),
        replace(dense_layer(name="prenet2", inputs=256, outputs=256, rows=frames), weights=256.0 * 256),
        *cell("attention_cell", 256 + 512),
        *additive_attention("attention", 1024, 512, 128, frames, text),
        # The weights of former steps enter the score through 32 filters of 31 steps.
        replace(
            convolution_1d("location", 2, 32, 31, frames * text), weights=2.0 * 32 * 31, saved=frames * text
        ),
        replace(
            dense_layer(name="location_out", inputs=32, outputs=128, rows=frames * text), weights=32.0 * 128
        ),
        *cell("decoder_cell", 1024 + 512),
        # The gradient of one frame's input fills the gradient of all frames and is added to it.
        replace(
            pointwise_layer(name="frame_inputs", pointwise=Pointwise.ADD, elements=256 * frames**2),
            kernels=FRAME_KERNELS * frames,
        ),
        dense_layer(name="frames", inputs=1024 + 512, outputs=bands, rows=frames),
        dense_layer(name="stop", inputs=1024 + 512, outputs=1, rows=frames),
        *convolution("postnet_in", bands, 512, frames),
        *convolution("postnet", 512, 512, frames, 3),
        *convolution("postnet_out", 512, bands, frames),
    ]
    return OperatorTable.of(operators, depth=1, hidden=1024.0, tokens=heard)
