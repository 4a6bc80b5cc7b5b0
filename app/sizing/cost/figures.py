"""Figures of the catalogue, or stated ones, as the lines of a cost show them."""

from __future__ import annotations

from app.catalog import Figure, PriceBook
from app.sizing.cost.documents import CostFigure
from app.sizing.trace import source_ref

EXACT_DIGITS = 12


def taken(figure: Figure, book: PriceBook | None = None) -> CostFigure:
    """Return a figure of the catalogue, or of the price book laid over it, as an answer shows it.

    Parameters
    ----------
    figure : Figure
        With source and date. [-]
    book : PriceBook or None
        The book that is laid over the catalogue. [-]
    """
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


def stated(name: str, value: float, unit: str) -> CostFigure:
    """Return a figure that the request states.

    Parameters
    ----------
    name : str
        What it is. [-]
    value : float
        The figure. [-]
    unit : str
        Its unit. [-]
    """
    return CostFigure(
        name=name, item="", value=value, low=value, high=value, unit=unit, as_of="", status="stated",
        default=False, note="", source=None,
    )  # fmt: skip


def _status(figure: Figure) -> str:
    if figure.recalled:
        return "recalled"
    return "estimate" if figure.estimated else "sourced"
