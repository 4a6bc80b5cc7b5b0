"""Figures of the catalogue, or stated ones, as the lines of a cost show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.catalog import Figure, PriceBook
from app.sizing.cost.documents import CostFigure
from app.sizing.trace import source_ref


@dataclass(frozen=True, slots=True)
class Stated:
    """A figure that the request states."""

    name: str
    value: float
    unit: str


Basis = Figure | Stated
"""What a line rests on."""


def shown(figures: Iterable[Basis], book: PriceBook | None) -> list[CostFigure]:
    """Return what a line rests on as an answer shows it, each figure once."""
    found = [_stated(one) if isinstance(one, Stated) else taken(one, book) for one in figures]
    return list({(one.item, one.name, one.unit): one for one in found}.values())


def taken(figure: Figure, book: PriceBook | None = None) -> CostFigure:
    """Return a figure of the catalogue as an answer shows it."""
    own = book is not None and figure.source.id == book.source.id
    value = float(figure.text) if figure.value is None else figure.value
    return CostFigure(
        name=figure.parameter,
        item=figure.item,
        value=value,
        low=value if figure.low is None else figure.low,
        high=value if figure.high is None else figure.high,
        unit=figure.unit.name,
        as_of=figure.as_of,
        status="book" if own else _status(figure),
        default=not own,
        note=figure.note,
        source=source_ref(figure.source),
    )


def _stated(one: Stated) -> CostFigure:
    return CostFigure(
        name=one.name, item="", value=one.value, low=one.value, high=one.value, unit=one.unit, as_of="",
        status="stated", default=False, note="", source=None,
    )  # fmt: skip


def _status(figure: Figure) -> Literal["recalled", "estimate", "sourced"]:
    if figure.recalled:
        return "recalled"
    return "estimate" if figure.estimated else "sourced"
