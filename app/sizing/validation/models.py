"""The model of a measured row: a preset, or a transformer from its columns."""

from __future__ import annotations

from app.engine.operators import Stack, TransformerShape
from app.profiles.bodies import TransformerBody
from app.profiles.model import ModelProfile
from app.profiles.presets import presets
from app.sizing.validation.cases import MeasurementCase, Unsupported

TRANSFORMERS = {"gpt": Stack.DECODER, "llama": Stack.DECODER, "bert": Stack.ENCODER, "vit": Stack.ENCODER}
GATED_ROUNDING = 256
"""Gated feed-forward widths are rounded to this multiple (Touvron et al. 2023)."""


def find_model(case: MeasurementCase) -> ModelProfile:
    """Return the profile of a measured model; raise Unsupported where the columns do not tell."""
    columns = case.family in TRANSFORMERS and bool(case.hidden and case.layers and case.heads)
    known, named = presets(), case.preset
    if named in known and not (columns and _differs(known[named], case)):
        return known[named]
    if columns:
        return transformer_from_columns(case)
    raise Unsupported(
        "no operators are known for {model}, and its columns do not give a transformer", model=case.model
    )


def _differs(profile: ModelProfile, case: MeasurementCase) -> bool:
    body = profile.body
    if not isinstance(body, TransformerBody):
        return False
    stated = (
        case.hidden,
        case.layers,
        case.heads,
        int(case.completed.get("vocabulary", body.shape.vocabulary)),
    )
    return stated != (body.shape.hidden, body.shape.layers, body.shape.heads, body.shape.vocabulary)


def transformer_from_columns(case: MeasurementCase) -> ModelProfile:
    """Return a transformer from layers, hidden, heads, length and parameters."""
    if case.hidden is None or case.layers is None or case.heads is None or case.hidden % case.heads:
        raise Unsupported(
            "hidden {hidden} does not divide by heads {heads}", hidden=case.hidden, heads=case.heads
        )
    gated = case.family == "llama"
    default_vocabulary = 30522 if case.family == "bert" else 50257
    vocabulary = int(case.completed.get("vocabulary", default_vocabulary))
    feed_forward = 4 * case.hidden
    if gated:
        feed_forward = _gated_width(case, vocabulary)
    shape = TransformerShape(
        layers=case.layers,
        hidden=case.hidden,
        heads=case.heads,
        key_heads=case.heads,
        head_dimension=case.hidden // case.heads,
        feed_forward=feed_forward,
        vocabulary=vocabulary,
        stack=TRANSFORMERS[case.family],
        gated=gated,
        rotary=gated,
        biases=not gated,
        tied=not gated,
        positions=0 if gated else case.seq_len or 0,
        rms_norm=gated,
        head_transform=case.family == "bert",
        pooler=case.family == "bert",
    )
    return ModelProfile(
        id="columns",
        name=case.model,
        family=case.family,
        origin="transformer",
        body=TransformerBody(shape),
        default_seq_len=case.seq_len,
    )


def _gated_width(case: MeasurementCase, vocabulary: int) -> int:
    """Feed-forward width from the parameter count, else eight thirds of the hidden size."""
    hidden, layers = float(case.hidden or 1), float(case.layers or 1)
    width = hidden * 8.0 / 3.0
    if case.parameters:
        one_layer = (case.parameters - 2.0 * vocabulary * hidden) / layers
        stated = (one_layer - 4.0 * hidden * hidden) / (3.0 * hidden)
        if hidden < stated < 8.0 * hidden:
            width = stated
    return int(round(width / GATED_ROUNDING) * GATED_ROUNDING)
