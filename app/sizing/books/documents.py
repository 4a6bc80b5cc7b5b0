"""What is answered about price books."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from app.sizing.cost.documents import CostFigure
from app.sizing.document_base import Document


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
