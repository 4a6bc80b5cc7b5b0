"""What is answered about cost: lines, what they rest on, carbon, and the basis that two costs must share."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from app.sizing.document_base import Document, Quantity, SourceRef
from app.sizing.quote import Quote


class CostFigure(Document):
    """One figure a cost rests on, as its source states it."""

    name: str
    """What it is: price, tariff, pue, …"""
    item: str
    """What it is of, in the catalogue; empty where it was stated."""
    value: float
    """The figure in its unit."""
    low: float
    """Low end of its range; the value where none is known."""
    high: float
    """High end of its range; the value where none is known."""
    unit: str
    """Unit as stated."""
    as_of: str
    """Date the figure is true of; empty where it was stated."""
    status: Literal["sourced", "estimate", "recalled", "stated", "book"]
    """Whether it is published, estimated, recalled, stated in the request or in a price book."""
    default: bool
    """Whether the catalogue's default was taken."""
    note: str
    """What limits it."""
    source: SourceRef | None
    """Where it is from; null where it was stated."""


class CostLine(Document):
    """One line of the cost."""

    item: str
    """What is paid for."""
    hourly: float
    """Cost of it in one useful hour."""
    per_month: float | None = None
    """Cost of it in a month, idle hours included."""
    over_term: float | None = None
    """Cost of it over the term, cost of capital included."""
    figures: list[CostFigure] = Field(default_factory=list)
    """What the line rests on."""


class Carbon(Document):
    """Carbon dioxide of the electricity, by location; making the machines is not counted."""

    run: Quantity
    """Of the run."""
    per_year: Quantity
    """Of a year with the system in use as its utilisation says."""
    intensity: CostFigure
    """Emissions of the grid."""


class Cost(Document):
    """What the run costs, on a stated basis."""

    run: Quantity
    """Cost of the run."""
    capex: Quantity | None
    """Price of the system; null where it is rented."""
    hourly: Quantity
    """Cost of one useful hour."""
    per_accelerator_hour: Quantity | None = None
    """Cost of one accelerator for one useful hour."""
    per_month: Quantity | None = None
    """Cost of keeping the system for a month."""
    over_term: Quantity | None = None
    """Cost of keeping it for the whole term, cost of capital included."""
    present_value: Quantity | None = None
    """What that is worth when the term begins."""
    carbon: Carbon | None = None
    """Carbon dioxide of the electricity."""
    basis: dict[str, JsonValue]
    """What the cost rests on; only costs on one basis can be compared."""
    lines: list[CostLine]
    """Lines of the cost."""
    figures: list[CostFigure] = Field(default_factory=list)
    """What all lines rest on: term, cost of capital, utilisation, exchange rates."""
    quote: Quote | None = None
    """The lines over the term in whole units of the currency; they add up exactly."""
