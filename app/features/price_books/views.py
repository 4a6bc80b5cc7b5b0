"""From price books to what their page shows; no number is made here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from app.catalog.books import KIND, LIMITS, MAKER, PRICED_KINDS, RENTALS, units_of
from app.errors import Message
from app.estimating.documents import Estimate
from app.features.estimates.service import list_estimates
from app.features.price_books.model import BookRowDocument, PriceBookDocument, PriceBookSummary
from app.platform.web.contexts import Choice, Form, WarningGroup
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class CostsPage:
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
class PriceBooksPage:
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
class PriceBookPage:
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


EDITED = 200
"""Rows up to which a book is edited on the page; longer ones as files."""

SPARE = 3
"""Empty rows at the end, to add some."""

ESTIMATES = 8

ROW = re.compile(r"^rows\.(\d+)(?:\.|$)")


@dataclass(frozen=True, slots=True)
class Typed:
    """One row as it was typed."""

    item: str = ""
    parameter: str = ""
    condition: str = ""
    value: str = ""
    unit: str = ""
    note: str = ""

    def cells(self) -> dict[str, str]:
        """Return the cells by column."""
        return asdict(self)


def book_page(
    bench: Workbench,
    workspace: str,
    book: PriceBookDocument,
    voice: Voice,
    form: Form | None = None,
    message: Message | None = None,
    rows: Sequence[Typed] | None = None,
) -> PriceBookPage:
    """Return the page of a price book; with rows, those that were typed and refused."""
    catalog = bench.sizing.catalog
    editable = book.version == book.newest and len(book.rows) <= EDITED
    made = list_estimates(bench, workspace, ESTIMATES, None).items
    return PriceBookPage(
        book=book,
        form=form or Form({"name": [book.name]}),
        message=message,
        lines=lines_of(book, voice, form, rows, editable),
        editable=editable,
        items=[Choice(item.id, item.name) for item in catalog.items.values() if set(item.kinds) & OFFERED]
        + [
            Choice(MAKER + maker, maker)
            for maker in sorted({one.maker for one in catalog.items.values()} - {""})
        ]
        + [Choice(KIND + kind, kind) for kind in sorted(PRICED_KINDS)],
        parameters=[Choice(name, voice.label(name, "figure")) for name in LIMITS],
        conditions=[Choice(one, one) for one in (*RENTALS.values(), *CONDITIONS) if one],
        units=list(dict.fromkeys(unit for name in LIMITS for unit in units_of(catalog, name))),
        estimates=[Choice(one.id, one.label, one.created_at.date().isoformat()) for one in made],
    )


OFFERED = PRICED_KINDS | {"rental", "tariff", "facility", "cost"}
"""Kinds of what a book may state something of."""

CONDITIONS = ("krw", "eur", "korea", "us", "gpu", "ipu")
"""Conditions of rates, offered while typing."""


def lines_of(
    book: PriceBookDocument, voice: Voice, form: Form | None, rows: Sequence[Typed] | None, editable: bool
) -> list[BookLine]:
    """Return the rows of the table, empty ones at its end."""
    known: Mapping[tuple[str, str, str], BookRowDocument] = {
        (row.item, row.parameter, row.condition): row for row in book.rows
    }
    shown = [typed_row(row) for row in book.rows] if rows is None else list(rows)
    wrong: dict[int, list[Message]] = {}
    for error in form.errors if form else ():
        found = ROW.match(error.field)
        if found:
            wrong.setdefault(int(found[1]), []).append(error.message)
    lines = []
    for place, row in enumerate([*shown, *([Typed()] * SPARE if editable else [])]):
        own = known.get((row.item, row.parameter, row.condition))
        figure = own.catalogue if own else None
        lines.append(
            BookLine(
                **row.cells(),
                catalogue=f"{voice.number(figure.value, 6)} {figure.unit}" if figure else "",
                source=f"/catalog/sources/{figure.source.id}" if figure and figure.source else "",
                errors=wrong.get(place, ()),
            )
        )
    return lines


def typed_row(row: BookRowDocument) -> Typed:
    """Return a row as somebody would type it."""
    return Typed(row.item, row.parameter, row.condition, f"{row.value:.15g}", row.unit, row.note)
