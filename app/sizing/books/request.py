"""What is asked of price books."""

from __future__ import annotations

from pydantic import Field

from app.catalog.books import MOST_ROWS
from app.sizing.request import Number, Schema


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
