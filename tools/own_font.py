"""The letters of our own words in one small font, so that a first page does not fetch a dozen files.

``python -m tools.own_font PretendardVariable.ttf`` makes static/fonts/rackline-sans anew from the
variable font of the package ``pretendard``; text beyond it, such as names that readers type, comes from that
package's own subsets. The licence lets a part of the font go under another name only.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from babel.messages.pofile import read_po
from fontTools import subset
from fontTools.ttLib import TTFont

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "static" / "fonts" / "rackline-sans"
NAME = "Rackline Sans"
FEATURES = ["kern", "tnum", "calt", "ccmp", "liga", "locl", "mark", "mkmk", "ss01"]

TYPED = "·–—‘’“”…×÷±≤≥≈→←↑↓²³µ°₩€✓−‹›"
"""Signs that pages write beside their words."""

FAMILY, SUBFAMILY, UNIQUE, FULL, POSTSCRIPT, FILE_FAMILY, FILE_SUBFAMILY = 1, 2, 3, 4, 6, 16, 17
"""Entries of a font's table of names (OpenType)."""


def needed() -> set[str]:
    """Return every character that our own words are written with, in both languages."""
    with (ROOT / "data" / "locale" / "ko" / "LC_MESSAGES" / "messages.po").open("rb") as file:
        catalogue = read_po(file)
    found = set(map(chr, range(0x20, 0x7F))) | set(TYPED)
    for message in catalogue:
        for words in (message.id, message.string):
            for text in words if isinstance(words, list | tuple) else [words]:
                found |= set(text or "")
    return {letter for letter in found if letter.isprintable()}


def files() -> list[Path]:
    """Return the font there is."""
    return sorted(FOLDER.glob("*.woff2"))


def covered() -> set[str]:
    """Return the characters the font has."""
    (file,) = files()
    return set(map(chr, TTFont(file).getBestCmap()))


def make(source: Path) -> Path:
    """Write the font and its style sheet."""
    font = TTFont(source)
    known = {letter for letter in needed() if ord(letter) in font.getBestCmap()}
    options = subset.Options(layout_features=FEATURES, flavor="woff2", notdef_outline=True, name_IDs=["*"])
    worker = subset.Subsetter(options)
    worker.populate(unicodes=[ord(letter) for letter in known])
    worker.subset(font)
    for entry in list(font["name"].names):
        if entry.nameID in (FILE_FAMILY, FILE_SUBFAMILY):
            font["name"].removeNames(nameID=entry.nameID)
        elif entry.nameID in (FAMILY, UNIQUE, FULL, POSTSCRIPT):
            text = NAME.replace(" ", "") if entry.nameID == POSTSCRIPT else NAME
            font["name"].setName(text, entry.nameID, entry.platformID, entry.platEncID, entry.langID)
    font["head"].modified = font["head"].created
    font.recalcTimestamp = False
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in [*files(), *FOLDER.glob("*.css")]:
        old.unlink()
    written = FOLDER / "new.woff2"
    font.flavor = "woff2"
    font.save(written)
    version = hashlib.sha256(written.read_bytes()).hexdigest()[:10]
    kept = written.rename(FOLDER / f"rackline-sans-{version}.woff2")
    kept.with_suffix(".css").write_text(style(kept.name, known), encoding="utf-8")
    return kept


def style(file: str, letters: set[str]) -> str:
    """Return the rule that offers the font for its characters alone."""
    codes = sorted(map(ord, letters))
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    ranges = ", ".join(f"U+{low:x}" if low == high else f"U+{low:x}-{high:x}" for low, high in runs)
    return (
        "/* A part of Pretendard 1.3.9 under another name; LICENSE.txt beside this file. */\n"
        f'@font-face {{ font-family: "{NAME}"; font-weight: 45 920; font-display: swap; '
        f'src: url("{file}") format("woff2"); unicode-range: {ranges}; }}\n'
    )


if __name__ == "__main__":
    print(make(Path(sys.argv[1])))
