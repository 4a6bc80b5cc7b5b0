"""Bars as shapes: positions in hundredths of a width, for SVG that needs no script and no style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.sizing.document import Memory, MemoryPart, Part, Quantity

WIDTH = 100.0
NARROWEST = 0.15
"""Segments below this share of the width are not drawn; the table beside the bar has them. [%]"""


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a bar."""

    part: str
    start: float
    width: float
    value: float
    share: float


@dataclass(frozen=True, slots=True)
class RangeBar:
    """A bar with its range as a whisker."""

    width: float
    low: float
    high: float
    ranged: bool


@dataclass(frozen=True, slots=True)
class MemoryBar:
    """Memory in use against the line of the capacity."""

    segments: list[Segment]
    capacity: float
    over: bool


def share_bar(parts: Iterable[Part]) -> list[Segment]:
    """Return the time to train as one bar of its parts, which fill it."""
    known = [part for part in parts if part.seconds > 0]
    total = sum(part.seconds for part in known)
    return _stack(((part.part, part.seconds) for part in known), total, total)


def memory_bar(memory: Memory) -> MemoryBar:
    """Return the memory of the fullest device; the bar's end is the larger of use and capacity."""
    total = sum(part.value for part in memory.parts)
    full = max(total, memory.capacity.value)
    parts: list[MemoryPart] = [part for part in memory.parts if part.value > 0]
    segments = _stack(((part.part, part.value) for part in parts), full, total)
    usable = (memory.usable or memory.capacity).value
    return MemoryBar(segments, WIDTH * usable / full, total > usable)


def range_bars(quantities: Sequence[Quantity | None]) -> list[RangeBar | None]:
    """Return bars on one common scale, from zero to the highest end of any range."""
    full = max((quantity.high for quantity in quantities if quantity is not None), default=0.0)
    if full <= 0:
        return [None] * len(quantities)
    return [None if quantity is None else _range_bar(quantity, WIDTH / full) for quantity in quantities]


def _range_bar(quantity: Quantity, size: float) -> RangeBar:
    """Return one bar; ``size`` is the width of one unit."""
    ranged = quantity.low != quantity.high
    return RangeBar(quantity.value * size, quantity.low * size, quantity.high * size, ranged)


def _stack(parts: Iterable[tuple[str, float]], full: float, total: float) -> list[Segment]:
    """Lay parts end to end on a bar that is ``full`` wide; shares are of ``total``."""
    segments: list[Segment] = []
    start = 0.0
    for part, value in parts:
        width = WIDTH * value / full
        if width >= NARROWEST:
            segments.append(Segment(part, start, width, value, value / total))
        start += width
    return segments
