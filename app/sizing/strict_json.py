"""JSON of others, read strictly: finite numbers, whole characters, bounded depth; errors name the place."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

from app.errors import BadInput, FieldError, Message
from app.sizing.request import Quoted

MAX_DEPTH = 64
"""Deeper than any request of ours, shallower than the interpreter's recursion limit."""

MAX_WHOLE = 10**300
"""Whole numbers beyond this cannot become a float."""


def read_json(text: bytes) -> Any:
    """Parse a JSON body."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise too_deep() from None
    except json.JSONDecodeError as error:
        message = "the body is not JSON: {reason} at character {position}"
        raise BadInput(Message(message, {"reason": error.msg, "position": error.pos})) from None
    except ValueError:
        # Not text in a Unicode encoding, or a number of thousands of digits.
        raise BadInput("the body is not JSON in UTF-8, or holds a number out of all bounds") from None
    wrong = places(value, out_of_bounds)
    if wrong:
        raise BadInput(
            "every number must be finite",
            [FieldError(place, Message("must be a finite number")) for place in wrong[:20]],
        )
    wrong = places(value, halved)
    if wrong:
        raise BadInput(
            "every text must be of whole characters",
            [FieldError(place, Message("holds half a character; send UTF-8")) for place in wrong[:20]],
        )
    wrong = places(value, nulled)
    if wrong:
        raise BadInput(
            "no text may hold the character U+0000",
            [FieldError(place, Message("holds the character U+0000; leave it out")) for place in wrong[:20]],
        )
    return quoted(value)


def quoted(value: Any) -> Any:
    """Return a JSON value whose texts say that they are texts, so that none is taken for a number."""
    if isinstance(value, str):
        return Quoted(value)
    if isinstance(value, list):
        return [quoted(item) for item in value]
    if isinstance(value, dict):
        return {name: quoted(item) for name, item in value.items()}
    return value


def places(value: Any, wrong: Callable[[Any], bool]) -> list[str]:
    """Return the dotted places of what is wrong in a JSON value."""
    found: list[str] = []
    level: list[tuple[str, Any]] = [("", value)]
    for _ in range(MAX_DEPTH + 1):
        found += [whole(place)[:200] or "body" for place, item in level if wrong(item)]
        level = [child for place, item in level for child in children(place, item)]
        if not level:
            return found
    raise too_deep()


def children(place: str, item: Any) -> list[tuple[str, Any]]:
    """Return what a JSON value holds, with dotted places."""
    prefix = f"{place}." if place else ""
    if isinstance(item, dict):
        return [(f"{prefix}{key}", child) for key, child in item.items()]
    if isinstance(item, list):
        return [(f"{prefix}{index}", child) for index, child in enumerate(item)]
    return []


def out_of_bounds(item: Any) -> bool:
    """Tell whether a JSON value is a number that is not finite, or cannot become a finite float."""
    if isinstance(item, float):
        return not math.isfinite(item)
    return isinstance(item, int) and abs(item) > MAX_WHOLE


def halved(item: Any) -> bool:
    """Tell whether a text, or a name in an object, holds half of a UTF-16 pair, which no answer can say."""
    return any(whole(text) != text for text in texts(item))


def nulled(item: Any) -> bool:
    """Tell whether a text, or a name in an object, holds U+0000, which PostgreSQL does not keep."""
    return any("\0" in text for text in texts(item))


def texts(item: Any) -> Iterable[str]:
    """Return a JSON value that is a text, and the names in an object."""
    return item if isinstance(item, dict) else [item] if isinstance(item, str) else []


def whole(text: str) -> str:
    """Return a text with question marks for halves of characters."""
    return text.encode("utf-8", "replace").decode("utf-8")


def too_deep() -> BadInput:
    """Return the error for a body nested too deeply."""
    return BadInput(Message("the body is nested more than {limit} levels deep", {"limit": MAX_DEPTH}))
