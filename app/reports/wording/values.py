"""Any value of a document, written for reading."""

from __future__ import annotations

from pydantic import JsonValue

from app.reports.wording.voice import Voice
from app.sizing.document import Text


def written(value: JsonValue | Text, voice: Voice, place: str = "") -> str:
    """Write any value of a document for reading; identifiers by what they mean in their place."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return voice.gettext("yes") if value else voice.gettext("no")
    if isinstance(value, int | float):
        return voice.number(value, digits=6)
    if isinstance(value, Text):
        return voice.say(value)
    if isinstance(value, list):
        return voice.sign(", ").join(written(one, voice) for one in value) or "–"
    if isinstance(value, dict):
        return voice.sign(", ").join(
            f"{voice.label(name)} {written(one, voice)}" for name, one in value.items()
        )
    return voice.label(value, place)


SHARES = frozenset({"utilisation", "discount_rate", "residual_share", "memory_margin"})
"""Fields that are parts of a whole, by their last name; people say them in percent."""


def stated(field: str, value: JsonValue | Text, voice: Voice) -> str:
    """Write the value of a field of a request: shares in percent, all else as it is."""
    if field.rpartition(".")[2] in SHARES and isinstance(value, int | float) and not isinstance(value, bool):
        return voice.percent(value)
    return written(value, voice)
