"""The fonts of what is printed, and which characters they have."""

from __future__ import annotations

import functools
import unicodedata
from pathlib import Path

from app.profiles.presets import beside

FAMILIES = ("Pretendard", "Noto Sans CJK KR", "Noto Sans CJK SC")
"""In the order they are tried: text, Hanja in their Korean form, everything else of Chinese."""

PLACE = "static/fonts/print"

SUBSTITUTE = "□"
"""What stands for a character that no font has."""

FOLLOWERS = {"Cf", "Mn", "Me", "Sk"}
"""Kinds of characters that belong to the one before them: joiners, variation selectors, skin tones."""

SPACES = {"\t", "\n", "\v", "\f", "\r", "\u0085", "\u2028", "\u2029"}
"""Characters that end a line or jump: in a line of text, a space."""


def font_folder() -> Path:
    return beside(PLACE)


def font_files() -> list[Path]:
    return sorted(font_folder().glob("*.otf"))


@functools.cache
def coverage() -> frozenset[int]:
    """Return the code points that some font has and that may be printed."""
    from fontTools.ttLib import TTFont

    code_points: set[int] = set()
    for path in font_files():
        with TTFont(path, lazy=True) as font:
            code_points |= font.getBestCmap().keys()
    return frozenset(code for code in code_points if unicodedata.category(chr(code))[0] not in {"C", "M"})


def printable(text: str) -> str:
    r"""Return a line of text with a visible mark for every character that no font has.

    Control characters, and those that turn the direction of writing, are marked too: what is printed is
    what can be seen. Joiners and selectors behind a marked character go with it.

    >>> printable("漢字 안녕")
    '漢字 안녕'
    >>> printable("a\x00b\u202ec"), printable("👩🏽\u200d💻 x")
    ('a□b□c', '□□ x')
    """
    known = coverage()
    written: list[str] = []
    marked = False
    for character in unicodedata.normalize("NFC", text):
        if character in SPACES:
            written.append(" ")
            marked = False
        elif ord(character) in known:
            written.append(character)
            marked = False
        elif not (marked and unicodedata.category(character) in FOLLOWERS):
            written.append(SUBSTITUTE)
            marked = True
    return "".join(written)
