"""What the templates of sweeps are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import Message
from app.reports.wording.scales import Scale
from app.sizing.document import Quantity
from app.sizing.sweep.documents import SweepState
from app.sizing.sweep.rows import SweepRow
from app.web.contexts import BasePage, FigureView, Form


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepsPage(BasePage):
    """The form that asks for a sweep, and those asked for before."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    most: int
    """Points that one sweep may have."""
    earlier: Sequence[SweepState]
    """Sweeps asked for before, the newest first."""


@dataclass(frozen=True, slots=True)
class RowView:
    """One row with what its line shows."""

    row: SweepRow
    system: str
    """The system with its count."""
    time: Quantity | None
    cost: Quantity | None


@dataclass(frozen=True, slots=True)
class Narrowed:
    """One list that the rows can be narrowed by."""

    name: str
    """Name of the parameter."""
    label: str
    """What is chosen, in words."""
    choices: Sequence[str]
    chosen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPage(BasePage):
    """A sweep: how far it is, and its rows."""

    state: SweepState
    axes: Sequence[str]
    """Lists of more than one entry: in words, and how many."""
    refused: int
    """Points that could not be estimated."""
    filters: Sequence[Narrowed]
    orders: Sequence[tuple[str, str, bool]]
    """What rows can be sorted by: parameter, words, whether it is chosen."""
    priced: bool
    """Whether there are price lists, and so a column for them."""
    varied: bool
    """Whether there are scenarios, and so a column for them."""
    rows: Sequence[RowView]
    time_scale: Scale
    """One unit for the times of all rows that are shown."""
    figure: FigureView | None
    """Time against cost; none where no row has both."""
    first: int
    """Number of the first row shown, from 1."""
    matching: int
    """Rows that the filters leave over."""
    address: str
    """Address of the page as it is narrowed."""
    before: str
    """Address of the rows before; empty at the beginning."""
    after: str
    """Address of the rows after; empty at the end."""
