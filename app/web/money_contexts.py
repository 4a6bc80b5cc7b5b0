"""What the pages of costs and price books are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import Message
from app.sizing.books.documents import PriceBookDocument, PriceBookSummary
from app.sizing.document import Estimate
from app.web.contexts import BasePage, Choice, Form, WarningGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class CostsPage(BasePage):
    """What an estimate costs on other terms."""

    identifier: str
    """Of the estimate that is kept."""
    query: str
    """The terms asked for, as they stand in the address."""
    estimate: Estimate
    form: Form
    usual: Form
    """What is taken where nothing is asked for."""
    stale: bool
    """Whether the terms asked for were refused, and the kept estimate is shown."""
    owned: bool
    basis: Sequence[tuple[str, str]]
    warnings: Sequence[WarningGroup]
    acquisitions: Sequence[Choice]
    regions: Sequence[Choice]
    tiers: Sequence[Choice]
    rentals: Sequence[Choice]
    currencies: Sequence[Choice]
    books: Sequence[Choice]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBooksPage(BasePage):
    """All price books, and how to make one."""

    books: Sequence[PriceBookSummary]
    form: Form
    message: Message | None
    """What is wrong with what was sent."""


@dataclass(frozen=True, slots=True)
class BookLine:
    """One row of a price book as it is edited."""

    item: str
    parameter: str
    condition: str
    value: str
    unit: str
    note: str
    catalogue: str
    """What the catalogue says, as written; empty where it says nothing."""
    source: str
    """Address of its source; empty where there is none."""
    errors: Sequence[Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBookPage(BasePage):
    """One price book: its rows to edit, and its versions."""

    book: PriceBookDocument
    form: Form
    message: Message | None
    """What is wrong with what was sent."""
    lines: Sequence[BookLine]
    editable: bool
    """Whether the newest version is shown, and is short enough to edit here."""
    items: Sequence[Choice]
    parameters: Sequence[Choice]
    conditions: Sequence[Choice]
    units: Sequence[str]
    estimates: Sequence[Choice]
    """Latest estimates, to be priced with the book."""
