"""Video diffusion with a transformer over patches of latent frames: Wan 2.1.

References
----------
.. [1] Wan Team, "Wan: open and advanced large-scale video generative models," arXiv:2503.20314, 2025,
   section 4.2; config of Wan-AI/Wan2.1-T2V-14B.
.. [2] W. Peebles, S. Xie, "Scalable diffusion models with transformers," ICCV, 2023 (modulation by time).
"""

from __future__ import annotations

from app.engine.operators.layers import dense_layer, norm_layer, pointwise_layer
from app.engine.operators.table import OperatorTable, Pointwise, Section, Split
from app.engine.operators.transformer import Stack, TransformerShape, transformer_layer
from app.engine.records import Tokens
from app.profiles.architectures.common import need_tokens

MODULATIONS = 6
"""Shifts, scales and gates that time gives to attention and feed-forward block of each layer."""
TIME_WIDTH = 256
"""Sines and cosines of the time step."""


def build_wan(
    tokens: Tokens | None,
    image_size: int | None,
    *,
    layers: int = 40,
    hidden: int = 5120,
    heads: int = 40,
    feed_forward: int = 13_824,
    latent: int = 16,
    patch: int = 4,
    text_tokens: int = 512,
    text_width: int = 4096,
) -> OperatorTable:
    """Return the operators of Wan 2.1 over ``tokens`` patches of latent frames, with texts already encoded.

    >>> table = build_wan(Tokens(rows=37440, mean=37440, squared=37440.0**2, scored=37440), None)
    >>> round(table.parameters / 1e9, 2)
    14.29
    """
    length = need_tokens(tokens).mean
    shape = TransformerShape(
        layers=layers,
        hidden=hidden,
        heads=heads,
        key_heads=heads,
        head_dimension=hidden // heads,
        feed_forward=feed_forward,
        vocabulary=0,
        stack=Stack.ENCODER,
        rotary=True,
    )
    block = transformer_layer(
        shape, count=layers, tokens=length, squared=length * length, causal=False, cross_tokens=text_tokens
    )
    patched = latent * patch
    operators = [
        dense_layer("patches", patched, hidden, length, section=Section.EMBEDDING, input_gradient=False),
        dense_layer(
            "text1", text_width, hidden, text_tokens, section=Section.EMBEDDING, input_gradient=False
        ),
        dense_layer("text2", hidden, hidden, text_tokens, section=Section.EMBEDDING),
        dense_layer("time1", TIME_WIDTH, hidden, section=Section.EMBEDDING, input_gradient=False),
        dense_layer("time2", hidden, hidden, section=Section.EMBEDDING),
        dense_layer("time_modulation", hidden, MODULATIONS * hidden, section=Section.EMBEDDING),
        *block,
        norm_layer(
            "query_key_norms", hidden, 2.0 * (length + text_tokens), count=float(layers), split=Split.COLUMNS
        ),
        # Two shifts and scales behind norms and two gates before residuals; the others join those kernels.
        pointwise_layer(
            "modulation",
            Pointwise.ELEMENTWISE,
            2.0 * length * hidden,
            count=float(layers),
            split=Split.SEQUENCE,
            weights=float(MODULATIONS * hidden),
            saved=2.0 * length * hidden,
            saved_split=Split.SEQUENCE,
        ),
        norm_layer("final_norm", hidden, length, section=Section.HEAD),
        dense_layer("velocity", hidden, patched, length, section=Section.HEAD),
        pointwise_layer("loss", Pointwise.ELEMENTWISE, length * patched, section=Section.HEAD),
    ]
    return OperatorTable.of(operators, depth=layers, hidden=float(hidden), tokens=length, heads=float(heads))
