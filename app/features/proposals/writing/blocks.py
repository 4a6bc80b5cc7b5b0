"""Blocks of plain text of a written proposal, laid out separately by page and PDF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from app.estimating.schema import Quantity
from app.platform.wording.scales import Scale
from app.platform.wording.voice import MISSING, Voice


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, and small text below it."""

    text: str
    under: str = ""


def figure(
    quantity: Quantity | None,
    voice: Voice,
    scale: Scale | None = None,
    unknown: str = MISSING,
    more: str = "",
) -> Cell:
    """Return a quantity, with its range and further remarks below."""
    under = " · ".join(text for text in (voice.spread(quantity, scale), more) if text)
    return Cell(unknown if quantity is None else voice.central(quantity, scale), under)


@dataclass(frozen=True, slots=True)
class Head:
    """Head of a column; numeric columns are right-aligned, ``width`` is a share of the line."""

    name: str
    numeric: bool = False
    width: float = 1.0


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; the first cell of every row is its name."""

    id: str
    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    foot: Sequence[Cell] = ()
    best: Sequence[int] = ()
    """Rows offered: the recommended option, or those that tie."""
    type: Literal["grid"] = "grid"


Row = TypeVar("Row")


def table(
    name: str,
    caption: str,
    items: Sequence[Row],
    *columns: tuple[Head, Callable[[Row], Cell | str]],
    foot: Sequence[Cell] = (),
    best: Sequence[int] = (),
) -> Grid:
    """Return a table with a row for each item; each column has a head and a function for its cells."""
    contents = [[write(item) for _, write in columns] for item in items]
    rows = [[Cell(content) if isinstance(content, str) else content for content in row] for row in contents]
    return Grid(name, caption, [head for head, _ in columns], rows, foot, best)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text; a quiet one is small."""

    text: str
    quiet: bool = False
    type: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True, slots=True)
class VerdictBlock:
    """The recommendation in one sentence, with figures by name, value and range."""

    title: str
    sentence: str
    figures: Sequence[tuple[str, str, str]]
    type: Literal["verdict"] = "verdict"


@dataclass(frozen=True, slots=True)
class Points:
    title: str
    lines: Sequence[str]
    type: Literal["points"] = "points"


@dataclass(frozen=True, slots=True)
class Signatures:
    parties: Sequence[tuple[str, str]]
    """Role and name of each party."""
    lines: Sequence[str]
    type: Literal["signatures"] = "signatures"


@dataclass(frozen=True, slots=True)
class Against:
    title: str
    options: Sequence[tuple[str, Sequence[str]]]
    type: Literal["against"] = "against"


@dataclass(frozen=True, slots=True)
class Flag:
    code: str
    severity: str
    word: str
    text: str
    options: str


@dataclass(frozen=True, slots=True)
class Flags:
    """Warnings, most serious first."""

    flags: Sequence[Flag]
    type: Literal["flags"] = "flags"


@dataclass(frozen=True, slots=True)
class Reference:
    id: str
    kind: str
    title: str
    more: str
    url: str


@dataclass(frozen=True, slots=True)
class References:
    entries: Sequence[Reference]
    type: Literal["references"] = "references"


@dataclass(frozen=True, slots=True)
class ChartBlock:
    """A chart, with its content in words for readers who cannot see it."""

    id: str
    caption: str
    alt: str
    type: Literal["drawing"] = "drawing"


def chart(name: str, caption: str, what: str, entries: Sequence[str]) -> ChartBlock:
    """Return a chart described entry by entry."""
    return ChartBlock(name, caption, f"{what}: {'; '.join(entries)}" if entries else what)


Block = Grid | Paragraph | VerdictBlock | Points | Against | Flags | References | ChartBlock | Signatures


@dataclass(frozen=True, slots=True)
class SectionBlock:
    id: str
    title: str
    blocks: Sequence[Block]
    text: str = ""
    """Text of the author or of the template, which comes first."""
    shown: bool = True

    @property
    def printed(self) -> bool:
        return self.shown and bool(self.blocks or self.text)

    @property
    def paragraphs(self) -> Sequence[str]:
        return [line.strip() for line in self.text.splitlines() if line.strip()]


@dataclass(frozen=True, slots=True)
class View:
    """A proposal in one language."""

    language: str
    title: str
    kicker: str
    """What kind of document it is."""
    customer: str
    facts: Sequence[tuple[str, str]]
    """Names and values at the head of the document."""
    confidential: str
    """Marking of every page; empty if not confidential."""
    footer: str
    fingerprint: str
    """First digits of the hash, or the word for a draft."""
    sections: Sequence[SectionBlock]
