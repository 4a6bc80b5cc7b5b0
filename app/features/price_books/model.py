"""What is answered about price books."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from app.catalog.books import MOST_ROWS
from app.estimating.money import CostFigure
from app.estimating.names import Name
from app.estimating.request import Number, Schema
from app.estimating.schema import Document


class BookRowKey(Schema):
    """Key that identifies a row of a price book."""

    item: str = Field(min_length=1, max_length=100, examples=["dgx-a100-640gb"])
    """Identifier in the catalogue; for a discount, also maker:… or kind:…."""
    parameter: str = Field(min_length=1, max_length=60, examples=["price"])
    """Name of the parameter: price, price_hour, tariff, … or discount."""
    condition: str = Field("", max_length=60)
    """Condition that distinguishes several figures, such as spot; empty for the usual one."""


class BookRowInput(BookRowKey):
    """One price, rate or discount."""

    value: Number = Field(description="Value, in the given unit.", examples=[248000])
    unit: str = Field(min_length=1, max_length=30, description="Unit of the figure.", examples=["USD"])
    note: str = Field("", max_length=300, description="Origin of the figure.", examples=["Offer 2026-114"])


class PriceBookRequest(Schema):
    """A price book, or a full replacement of its rows."""

    name: Name = Field(min_length=1, max_length=200, examples=["Spring offers"])
    """Name; customers do not see it in proposals."""
    rows: list[BookRowInput] = Field(max_length=MOST_ROWS)
    """Prices, rates and discounts; each at most once."""
    comment: str = Field("", max_length=300, description="Reason for the price book or the change.")


class BookFields(Schema):
    """What may come with a file of prices."""

    name: Name | None = Field(None, max_length=200)
    """Name of the book; if omitted, the name of the file."""


class PriceBookPatch(Schema):
    """Fields of a price book to change. Everything else is unchanged."""

    name: Name | None = Field(None, min_length=1, max_length=200, description="Name.")
    rows: list[BookRowInput] = Field(default_factory=list, max_length=MOST_ROWS)
    """Rows to add, or to replace existing rows for the same figure."""
    remove: list[BookRowKey] = Field(default_factory=list, max_length=MOST_ROWS)
    """Rows to remove."""
    comment: str = Field("", max_length=300, description="Reason for the change.")


class BookRowDocument(Document):
    """One price, rate or discount of a price book, with the catalogue's figure."""

    item: str = Field(description="Identifier in the catalogue; for a discount, also maker:… or kind:….")
    parameter: str = Field(description="Name of the parameter.")
    condition: str
    """Condition that distinguishes several figures; empty for the usual one."""
    value: float = Field(description="Value, in the given unit.")
    unit: str = Field(description="Unit of the figure.")
    note: str = Field(description="Origin of the figure.")
    catalogue: CostFigure | None
    """Catalogue figure that it replaces; null for discounts and if there is none."""


class RowChange(Document):
    """One row changed by a version."""

    kind: Literal["added", "changed", "removed"] = Field(description="Kind of change.")
    item: str = Field(description="Identifier of the item.")
    parameter: str = Field(description="Name of the parameter.")
    condition: str = Field(description="Condition that distinguishes several figures.")
    before: float | None = Field(description="Figure before the change; null if there was none.")
    after: float | None = Field(description="Figure after the change; null if there is none.")
    unit: str = Field(description="Unit of the figure; of both figures if it is unchanged.")


class BookVersion(Document):
    """One version of a price book."""

    version: int = Field(description="Version number, from 1.")
    name: str = Field(description="Name of the price book in this version.")
    created_at: datetime = Field(description="Creation time.")
    comment: str = Field(description="Reason for the version.")
    rows: int = Field(description="Number of rows.")
    changes: list[RowChange] = Field(description="Changes from the previous version; at most a hundred.")
    changed: int = Field(description="Number of rows that differ.")


class PriceBookDocument(Document):
    """One version of a price book."""

    id: str
    """Identifier, for use as ``assumptions.price_book_id``; append @ and a number for a specific
    version.
    """
    name: str = Field(description="Name.")
    version: int = Field(description="Version shown.")
    newest: int = Field(description="Newest version, on which edits are based.")
    rows: list[BookRowDocument] = Field(description="Prices, rates and discounts.")
    versions: list[BookVersion]
    """The newest twenty versions, newest first; request older versions by number."""


class PriceBookSummary(Document):
    """Summary of a price book in a list."""

    id: str = Field(description="Identifier.")
    name: str = Field(description="Name.")
    version: int = Field(description="Newest version.")
    rows: int = Field(description="Number of rows.")
    created_at: datetime = Field(description="Creation time of the price book.")
    updated_at: datetime = Field(description="Time of the last change.")
