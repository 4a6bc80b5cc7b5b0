"""The accent colour of a proposal, dark enough to be read on white paper."""

from __future__ import annotations

from app.errors import Message
from app.sizing.document import Text

ACCENT = "#2447d6"
"""Colour of the pages, taken where nobody asks for another."""

READABLE = 4.5
"""Contrast of text with its ground (WCAG 2.2, success criterion 1.4.3)."""

STEP = 0.96
"""Factor by which a colour that is too light is darkened at a time."""


def linear(channel: int) -> float:
    """Return one channel of an sRGB colour as light (WCAG 2.2, relative luminance)."""
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def contrast_with_white(colour: str) -> float:
    """Return the contrast of a colour with white, 1 to 21 (WCAG 2.2, contrast ratio).

    >>> contrast_with_white("#000000"), contrast_with_white("#ffffff")
    (21.0, 1.0)
    """
    red, green, blue = (linear(int(colour[place : place + 2], 16)) for place in (1, 3, 5))
    return round(1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05), 9)


def readable(colour: str) -> str:
    """Return a colour, darkened in its own hue until text in it can be read on white.

    >>> readable("#0b5fff"), readable("#ffe600")
    ('#0b5fff', '#847700')
    """
    channels = [float(int(colour[place : place + 2], 16)) for place in (1, 3, 5)]
    written = colour.lower()
    while contrast_with_white(written) < READABLE:
        channels = [channel * STEP for channel in channels]
        written = "#" + "".join(f"{int(channel):02x}" for channel in channels)
    return written


def accent_of(asked: str | None) -> tuple[str, Text | None]:
    """Return the accent that is used, and a note where it is not the one asked for."""
    if asked is None:
        return ACCENT, None
    used = readable(asked)
    if used == asked.lower():
        return used, None
    note = Message(
        "The accent colour {asked} is too light to be read on white; it was darkened to {used}",
        {"asked": asked.lower(), "used": used},
    )
    return used, Text.of(note)
