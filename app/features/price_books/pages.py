"""Price books as pages: a table to edit, files, versions."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from app.catalog.books import KIND, LIMITS, MAKER, PRICED_KINDS, RENTALS, units_of
from app.errors import AppError, BadInput, Message
from app.estimating.money import CostFigure
from app.estimating.numbers import number_in
from app.features.estimates.model import EstimateSummary
from app.features.estimates.service import list_estimates
from app.features.price_books import service as price_books
from app.features.price_books.model import (
    BookRowDocument,
    PriceBookDocument,
    PriceBookRequest,
    PriceBookSummary,
)
from app.features.price_books.sheets import BOOK_COLUMNS, kind_of
from app.platform.listing import Page
from app.platform.web.contexts import Choice, Form
from app.platform.web.deps import ALL, WorkspaceDep, workspace_of
from app.platform.web.forms import in_utf8, refusal, whole
from app.platform.web.locale import CSV, attachment
from app.platform.web.rendering import render
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router

router = page_router()

EDITED = 200
"""Most rows of a book that is edited on the page."""

SPARE = 3
"""Empty rows at the end."""

MOST_FIELDS = (EDITED + 10) * (len(BOOK_COLUMNS) + 1) + 20

ESTIMATES = 8

OFFERED = PRICED_KINDS | {"rental", "tariff", "facility", "cost"}
"""Kinds of catalogue items that a book may price."""

CONDITIONS = ("krw", "eur", "korea", "us", "gpu", "ipu")
"""Suggested conditions of rates."""

ROW = re.compile(r"^rows\.(\d+)(?:\.|$)")

TypedRow = Mapping[str, str]
"""One row as typed, by column."""


async def read_rows_form(request: Request) -> AsyncIterator[FormData]:
    """Read a form with a field for each cell of the table, and optionally a file."""
    async with in_utf8(request).form(max_files=1, max_fields=MOST_FIELDS) as form:
        yield form


RowsForm = Annotated[FormData, Depends(read_rows_form)]


def text_of(form: FormData, name: str) -> str:
    value = form.get(name)
    return value.strip()[:400] if isinstance(value, str) else ""


async def upload_of(form: RowsForm) -> tuple[str, bytes] | None:
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        return None
    return file.filename.removesuffix(".csv"), await file.read()


FileDep = Annotated[tuple[str, bytes] | None, Depends(upload_of)]


def rows_of(form: FormData) -> list[TypedRow]:
    """Return the typed rows, without empty ones and those marked for removal."""
    cells = [[str(cell).strip() for cell in form.getlist(name)] for name in BOOK_COLUMNS]
    removed = set(form.getlist("remove"))
    rows = [dict(zip(BOOK_COLUMNS, row, strict=True)) for row in zip(*cells, strict=False)]
    return [
        row for index, row in enumerate(rows) if str(index) not in removed and (row["item"] or row["value"])
    ]


def request_of(name: str, comment: str, rows: Sequence[TypedRow]) -> PriceBookRequest:
    stated = [
        {**row, "value": number_in(row["value"], kind_of(row["unit"]), f"rows.{index}.value")}
        for index, row in enumerate(rows)
    ]
    return PriceBookRequest.model_validate({"name": name, "comment": comment, "rows": stated})


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBooksPage:
    """All price books, and the form to create one."""

    books: Sequence[PriceBookSummary]
    form: Form
    message: Message | None
    """Why the form was refused."""


def books_page(
    _: Request, books: Page[PriceBookSummary], form: Form | None = None, message: Message | None = None
) -> PriceBooksPage:
    return PriceBooksPage(books=books.items, form=form or Form(), message=message)


@resource(router, "/price-books", "price_books/price_books.html", books_page)
def show_books(workspace: WorkspaceDep) -> Page[PriceBookSummary]:
    return price_books.list_books(workspace, ALL, None)


@router.post("/price-books", response_class=HTMLResponse)
@requires(Right.MAKE)
def make_book(request: Request, workspace: WorkspaceDep, form: RowsForm, file: FileDep) -> Response:
    """Make a price book, empty or of a file, and go there."""
    name = text_of(form, "name")
    try:
        if file is not None:
            book = price_books.read_book(workspace, name or file[0], file[1])
        else:
            book = price_books.create_book(workspace, request_of(name, "", []))
    except (AppError, ValidationError) as error:
        refused = refusal(error)
        typed = Form({"name": [name]}, refused.errors)
        page = books_page(request, show_books(workspace), typed, refused.message)
        return render(request, "price_books/price_books.html", page, status=refused.status)
    return RedirectResponse(f"/price-books/{book.id}", 303)


@dataclass(frozen=True, slots=True)
class BookLine:
    """One row of the editor."""

    row: TypedRow
    catalogue: CostFigure | None
    """Figure of the catalogue."""
    errors: Sequence[Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBookPage:
    """One price book: its rows and versions."""

    book: PriceBookDocument
    form: Form
    message: Message | None
    """Why the form was refused."""
    lines: Sequence[BookLine]
    editable: bool
    """Whether this is the newest version, and short enough to edit on the page."""
    items: Sequence[Choice]
    parameters: Sequence[str]
    conditions: Sequence[str]
    units: Sequence[str]
    estimates: Sequence[EstimateSummary]
    """Latest estimates, to price with the book."""


def book_page(
    request: Request,
    book: PriceBookDocument,
    form: Form | None = None,
    message: Message | None = None,
    rows: Sequence[TypedRow] | None = None,
) -> PriceBookPage:
    """Return the page of a price book; ``rows`` are those typed, if they were refused."""
    workspace = workspace_of(request)
    catalog = workspace.sizing.catalog
    editable = book.version == book.newest and len(book.rows) <= EDITED
    makers = sorted({item.maker for item in catalog.items.values()} - {""})
    return PriceBookPage(
        book=book,
        form=form or Form({"name": [book.name]}),
        message=message,
        lines=lines_of(book, form, rows, editable),
        editable=editable,
        items=[
            *(Choice(item.id, item.name) for item in catalog.items.values() if set(item.kinds) & OFFERED),
            *(Choice(MAKER + maker, maker) for maker in makers),
            *(Choice(KIND + kind, kind) for kind in sorted(PRICED_KINDS)),
        ],
        parameters=list(LIMITS),
        conditions=list(filter(None, (*RENTALS.values(), *CONDITIONS))),
        units=list(dict.fromkeys(unit for name in LIMITS for unit in units_of(catalog, name))),
        estimates=list_estimates(workspace, ESTIMATES, None).items,
    )


def lines_of(
    book: PriceBookDocument, form: Form | None, rows: Sequence[TypedRow] | None, editable: bool
) -> list[BookLine]:
    """Return the rows of the editor, with spare ones at the end."""
    catalogue = {(row.item, row.parameter, row.condition): row.catalogue for row in book.rows}
    rows_shown = [typed_row(row) for row in book.rows] if rows is None else list(rows)
    if editable:
        rows_shown += [dict.fromkeys(BOOK_COLUMNS, "")] * SPARE
    messages: dict[int, list[Message]] = {}
    for error in form.errors if form else ():
        if match := ROW.match(error.field):
            messages.setdefault(int(match[1]), []).append(error.message)
    return [
        BookLine(
            row, catalogue.get((row["item"], row["parameter"], row["condition"])), messages.get(index, ())
        )
        for index, row in enumerate(rows_shown)
    ]


def typed_row(row: BookRowDocument) -> TypedRow:
    """Return the cells of a row as typed."""
    return {name: str(getattr(row, name)) for name in BOOK_COLUMNS} | {"value": f"{row.value:.15g}"}


@router.get("/price-books/{identifier}.csv")
def show_book_csv(workspace: WorkspaceDep, identifier: str, version: int | None = None) -> Response:
    """Return the rows as a file."""
    text = price_books.book_csv(workspace, identifier, version)
    return attachment(text.encode(), CSV, "price-book.csv")


@resource(router, "/price-books/{identifier}", "price_books/price_book.html", book_page)
def show_book(workspace: WorkspaceDep, identifier: str, version: int | None = None) -> PriceBookDocument:
    """Return a price book: the newest version to edit, an earlier one to read."""
    return price_books.get_book(workspace, identifier, version)


@router.post("/price-books/{identifier}", response_class=HTMLResponse)
@requires(Right.MAKE)
def save_book(
    request: Request, workspace: WorkspaceDep, identifier: str, form: RowsForm, file: FileDep
) -> Response:
    """Keep the table, or a file in its place, as a new version; what is wrong stands beside its row."""
    rows, comment = rows_of(form), text_of(form, "comment")
    try:
        expected = version_of(form)
        if file is not None:
            price_books.replace_from_file(workspace, identifier, file[1], expected, comment)
        else:
            body = request_of(text_of(form, "name"), comment, rows)
            price_books.replace_book(workspace, identifier, body, expected)
    except (AppError, ValidationError) as error:
        refused, book = refusal(error), show_book(workspace, identifier)
        typed = Form({"name": [text_of(form, "name")], "comment": [comment]}, refused.errors)
        page = book_page(request, book, typed, refused.message, rows if file is None else None)
        return render(request, "price_books/price_book.html", page, status=refused.status)
    return RedirectResponse(f"/price-books/{identifier}", 303)


def version_of(form: FormData) -> int:
    """Return the version on which an edit is based."""
    version = whole(text_of(form, "version"))
    if version is None:
        raise BadInput.at("version", "the form is incomplete; open the price book again")
    return version
