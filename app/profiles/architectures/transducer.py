"""Speech recognition with a recurrent transducer, as MLPerf trained it from v1.0 to v3.1.

References
----------
.. [1] A. Graves, "Sequence transduction with recurrent neural networks," arXiv:1211.3711, 2012.
.. [2] Y. He et al., "Streaming end-to-end speech recognition for mobile devices," ICASSP, 2019;
   dimensions of mlcommons/training, rnn_speech_recognition/pytorch/configs/baseline_v3-1023sp.yaml.
"""

from __future__ import annotations

from app.engine.operators.layers import dense_layer, pointwise_layer, recurrent_layer
from app.engine.operators.table import Operator, OperatorTable, Pointwise, Section
from app.engine.records import Tokens
from app.profiles.architectures.common import embedding, need_tokens

FRAMES_PER_SECOND = 100.0 / 3.0
"""Spectra of 10 ms, three of which are joined to one frame."""
WORD_PIECES_PER_SECOND = 4.0
"""Word pieces for one second of LibriSpeech: 2.7 words of 1.5 of 1,023 pieces; an estimate."""


def build_transducer(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    features: int = 240,
    hidden: int = 1024,
    first_layers: int = 2,
    layers: int = 3,
    stacked: int = 2,
    prediction: int = 512,
    prediction_layers: int = 2,
    joint: int = 512,
    outputs: int = 1024,
) -> OperatorTable:
    """Return the operators of RNN-T over ``tokens`` frames of 30 ms.

    The encoder joins ``stacked`` frames after its first layers; the joint network scores every pair of a
    joined frame and a word piece.

    >>> table = build_transducer(Tokens(rows=410, mean=410, squared=410.0**2, scored=410), None)
    >>> round(table.parameters / 1e6, 1)
    49.0
    """
    frames = need_tokens(tokens).mean
    steps = frames / stacked
    pieces = frames / FRAMES_PER_SECOND * WORD_PIECES_PER_SECOND + 1.0
    pairs = steps * pieces

    def deeper(name: str, width: int, count: int, inputs: int, length: float) -> list[Operator]:
        first = recurrent_layer(f"{name}1", "lstm", inputs, width, length)
        return [*first, *recurrent_layer(name, "lstm", width, width, length, count=float(count - 1))]

    operators = [
        *deeper("encoder_first", hidden, first_layers, features, frames),
        *deeper("encoder", hidden, layers, stacked * hidden, steps),
        embedding("word_pieces", outputs - 1, prediction, pieces),
        *deeper("prediction", prediction, prediction_layers, prediction, pieces),
        dense_layer("joint_encoder", hidden, joint, steps, section=Section.HEAD),
        dense_layer("joint_prediction", prediction, joint, pieces, section=Section.HEAD),
        pointwise_layer(
            "joint_sum", Pointwise.ELEMENTWISE, pairs * joint, section=Section.HEAD, saved=pairs * joint
        ),
        dense_layer("joint_out", joint, outputs, pairs, section=Section.HEAD),
        pointwise_layer(
            "transducer_loss",
            Pointwise.CTC_LOSS,
            pairs * outputs,
            section=Section.HEAD,
            saved=pairs * outputs,
        ),
    ]
    return OperatorTable.of(operators, depth=1, hidden=float(hidden), tokens=1.0)
