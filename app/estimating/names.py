"""Names that people give: what cannot be seen is refused in them, since two that look alike would not be."""

from __future__ import annotations

from typing import Annotated
from unicodedata import bidirectional, category, combining

from pydantic import AfterValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from app.errors import Message

STORED = "stored"
"""Context of validation for what was stored when more was allowed."""

JOINERS = "\u200c\u200d"

FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and signs that Unicode does not call control characters, and that are blank all the same."""

INVISIBLE = Message("contains the invisible character {character}; remove it")

BLANK = Message("must have at least one visible character")


def name_error(text: str) -> Message | None:
    r"""Return what is wrong with a name: an invisible character, or none that is visible.

    Spaces of any width may stand between others. Zero-width joiners may stand where writing needs them.

    >>> names = ("한빛 AI", "👩🏽\u200d💻", "می\u200cخواهم", "क्\u200dष", "a\u200db", "\u3164")
    >>> [name_error(name) is None for name in names]
    [True, True, True, True, False, False]
    """
    if text.isascii() and text.isprintable() and not text.isspace():
        return None
    for place, character in enumerate(text):
        if character in JOINERS and joins(text[:place][-1:], text[place + 1 :][:1]):
            continue
        if character in FILLERS or not (character.isprintable() or category(character) == "Zs"):
            return Message(INVISIBLE.template, {"character": f"U+{ord(character):04X}"})
    return None if any(category(character)[0] in "LNPS" for character in text) else BLANK


def joins(before: str, after: str) -> bool:
    """Tell whether a joiner is needed: after a virama, between Arabic letters, or in an emoji."""
    if not before:
        return False
    arabic = bool(after) and bidirectional(before) == bidirectional(after) == "AL"
    picture = before == "\ufe0f" or category(before) in {"So", "Sk"}
    return combining(before) == 9 or arabic or (picture and bool(after) and category(after) in {"So", "Sm"})


def visible(text: str, info: ValidationInfo) -> str:
    """Refuse a name that cannot be seen; an empty one stands for none where that is allowed."""
    fault = name_error(text) if text and info.context != STORED else None
    if fault is not None:
        kind = "blank_name" if fault is BLANK else "invisible_character"
        raise PydanticCustomError(kind, "{reason}", {"reason": str(fault), **fault.values})
    return text


Name = Annotated[str, AfterValidator(visible)]
"""A name, label or title."""

Trimmed = Annotated[Name, AfterValidator(str.strip)]
"""A name without the spaces around it."""
