"""The Chinese fonts of what is printed, cut from Noto Sans CJK so that an installation stays small.

``python -m tools.printed_fonts NotoSansCJK-Regular.ttc NotoSansCJK-Bold.ttc`` makes the files of
Simplified Chinese in static/fonts/print anew from the collections of Noto Sans CJK 2.004. The same
collections give the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTCollection, TTFont

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "static" / "fonts" / "print"
FACE = "Noto Sans CJK SC"
FAMILY, SUBFAMILY = 1, 2
"""Entries of a font's table of names (OpenType)."""

FIRST_CODE, LAST_CODE = 0xA1, 0xFF
BIG5_LEVEL_1 = (0xA1, 0xC7)
"""First bytes of the signs and the frequent characters of Big5."""
BASIC = set(map(chr, range(0x20, 0x7F)))


def of_encoding(name: str, first: int = FIRST_CODE, end: int = LAST_CODE) -> set[str]:
    """Return the characters that an encoding writes in two bytes, the first of them within bounds."""
    found: set[str] = set()
    for lead in range(first, end):
        for trail in range(0x40, LAST_CODE):
            try:
                found.add(bytes([lead, trail]).decode(name))
            except UnicodeDecodeError:
                continue
    return {letter for letter in found if len(letter) == 1}


def chinese() -> set[str]:
    """Return what Chinese is written with: GB 2312 with its signs, and the letters and digits beside it."""
    return of_encoding("gb2312") | BASIC


def covered(file: Path) -> set[str]:
    """Return the characters a font has."""
    with TTFont(file, lazy=True) as font:
        return set(map(chr, font.getBestCmap()))


def wanted(weight: str) -> set[str]:
    """Return the characters of one weight; the regular one also has what names in other scripts need."""
    if weight != "Regular":
        return chinese()
    pretendard = covered(FOLDER / "Pretendard-Regular.otf")
    others = of_encoding("euc_kr") | of_encoding("big5", *BIG5_LEVEL_1)
    return chinese() | (others - pretendard)


def face_of(source: Path) -> TTFont:
    """Return the Simplified Chinese face of a collection."""
    faces = TTCollection(source, lazy=True).fonts
    return next(face for face in faces if face["name"].getDebugName(FAMILY) == FACE)


def make(source: Path) -> Path:
    """Write one weight and return its file."""
    font = face_of(source)
    weight = font["name"].getDebugName(SUBFAMILY)
    options = subset.Options(layout_features=[], hinting=False, name_IDs=["*"], name_languages=["*"])
    worker = subset.Subsetter(options)
    worker.populate(text="".join(wanted(weight)))
    worker.subset(font)
    font.recalcTimestamp = False
    written = FOLDER / f"NotoSansCJKSC-{weight}.otf"
    font.save(written)
    return written


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(make(Path(name)))
