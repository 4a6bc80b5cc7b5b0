"""What is answered about price books."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from app.catalog.books import MOST_ROWS
from app.estimating.money import CostFigure
from app.estimating.request import Number, Schema
from app.estimating.schema import Document


class BookRowKey(Schema):
    """Which row of a book is meant."""

    item: str = Field(
        min_length=1,
        max_length=100,
        description="Identifier in the catalogue; of a discount also maker:… or kind:….",
        examples=["dgx-a100-640gb"],
    )
    parameter: str = Field(
        min_length=1,
        max_length=60,
        description="What is stated: price, price_hour, tariff, … or discount.",
        examples=["price"],
    )
    condition: str = Field(
        "", max_length=60, description="What tells apart several figures, as spot; empty for the usual one."
    )


class BookRowInput(BookRowKey):
    """One price, rate or discount."""

    value: Number = Field(description="The figure, in its unit.", examples=[248000])
    unit: str = Field(min_length=1, max_length=30, description="Unit of the figure.", examples=["USD"])
    note: str = Field(
        "", max_length=300, description="Where the figure is from.", examples=["Offer 2026-114"]
    )


class PriceBookRequest(Schema):
    """A price book, or all of its rows anew."""

    name: str = Field(
        min_length=1, max_length=200, description="What to call it.", examples=["Spring offers"]
    )
    rows: list[BookRowInput] = Field(
        max_length=MOST_ROWS, description="Prices, rates and discounts, each once."
    )
    comment: str = Field("", max_length=300, description="Why it was made or changed.")


class PriceBookPatch(Schema):
    """What changes of a price book; the rest stays."""

    name: str | None = Field(None, min_length=1, max_length=200, description="What to call it.")
    rows: list[BookRowInput] = Field(
        default_factory=list,
        max_length=MOST_ROWS,
        description="Rows to add, or to put in the place of those for the same figure.",
    )
    remove: list[BookRowKey] = Field(
        default_factory=list, max_length=MOST_ROWS, description="Rows to take out."
    )
    comment: str = Field("", max_length=300, description="Why it was changed.")


class BookRowDocument(Document):
    """One price, rate or discount of a book, beside what the catalogue says."""

    item: str
    """Identifier in the catalogue; of a discount also maker:… or kind:…."""
    parameter: str
    """What is stated."""
    condition: str
    """What tells apart several figures; empty for the usual one."""
    value: float
    """The figure, in its unit."""
    unit: str
    """Unit of the figure."""
    note: str
    """Where the figure is from."""
    catalogue: CostFigure | None
    """The catalogue's figure that it takes the place of; null for discounts and where there is none."""


class RowChange(Document):
    """One row that a version changed."""

    kind: Literal["added", "changed", "removed"]
    """What happened to it."""
    item: str
    """Identifier of the item."""
    parameter: str
    """What is stated."""
    condition: str
    """What tells apart several figures."""
    before: float | None
    """The figure before; null where there was none."""
    after: float | None
    """The figure since; null where there is none."""
    unit: str
    """Unit of the figure; of both, where it stayed the same."""


class BookVersion(Document):
    """One version of a price book."""

    version: int
    """Counts from 1."""
    name: str
    """What it was called."""
    created_at: datetime
    """When it was made."""
    comment: str
    """Why it was made."""
    rows: int
    """Rows of it."""
    changes: list[RowChange]
    """What differs from the version before; at most a hundred of them."""
    changed: int
    """How many rows differ."""


class PriceBookDocument(Document):
    """A price book in one of its versions."""

    id: str
    """Identifier, for ``assumptions.price_book_id``; with @ and a number it names a version."""
    name: str
    """What it is called."""
    version: int
    """The version that is shown."""
    newest: int
    """The newest version, which edits build on."""
    rows: list[BookRowDocument]
    """Prices, rates and discounts."""
    versions: list[BookVersion]
    """The newest twenty versions, newest first; older ones are read by their number."""


class PriceBookSummary(Document):
    """One line of the list of price books."""

    id: str
    """Identifier."""
    name: str
    """What it is called."""
    version: int
    """Newest version."""
    rows: int
    """Rows of it."""
    created_at: datetime
    """When the book was made."""
    updated_at: datetime
    """When it was last changed."""
