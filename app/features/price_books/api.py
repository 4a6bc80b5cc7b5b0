"""Price books: a workspace's own prices, discounts and rates, with every version kept."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, Depends, Path, Request, Response

from app.features.price_books import service as price_books
from app.features.price_books.model import (
    BookFields,
    PriceBookDocument,
    PriceBookPatch,
    PriceBookRequest,
    PriceBookSummary,
)
from app.platform.json_bodies import checked
from app.platform.listing import Page
from app.platform.web.api import (
    ASK,
    CHANGED,
    DELETE,
    LIST,
    READ,
    MatchHeader,
    Upload,
    api_router,
    file_answer,
    form_body,
    read_tag,
    read_upload_or_json,
    write_tag,
)
from app.platform.web.deps import ID, KeyHeader, ListDep, VersionQuery, WorkspaceDep
from app.platform.web.examples import BOOK, BOOK_CHANGE
from app.platform.web.locale import CSV, attachment
from app.platform.web.requirements import LARGE_BODY, Right, requires

router = api_router("price books", "/price-books")

BOOK_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/PriceBookRequest"},
                "examples": {"offers": {"value": BOOK}},
            },
            **form_body(BookFields),
        },
    }
}

BookId = Annotated[str, Path(alias="id", description=ID, examples=["pbk_a2b3c4d5e6f7g2h3"])]


async def book_body(request: Request) -> Upload[BookFields] | Any:
    """Read a CSV file with its name, or a JSON body."""
    return await read_upload_or_json(request, BookFields)


@router.post("", status_code=201, summary="Create a price book", responses=ASK, openapi_extra=BOOK_BODY)
@requires(Right.MAKE, body=LARGE_BODY)
def create_price_book(
    workspace: WorkspaceDep, body: Annotated[Any, Depends(book_body)], key: KeyHeader = None
) -> PriceBookDocument:
    """Store your own prices, discounts and rates, for use in estimates as ``assumptions.price_book_id``.

    Send JSON, or a CSV file with the columns item, parameter, condition, value, unit and note.
    """
    if isinstance(body, Upload):
        name = body.fields.name or body.name.removesuffix(".csv")
        return price_books.read_book(workspace, name, body.content, key)
    return price_books.create_book(workspace, checked(PriceBookRequest, body), key)


@router.get("", summary="List price books", responses=LIST)
def list_price_books(workspace: WorkspaceDep, listed: ListDep) -> Page[PriceBookSummary]:
    """List identifiers, names and newest versions, newest book first."""
    return price_books.list_books(workspace, listed.limit, listed.cursor, wanted=listed.wanted)


@router.get(
    "/{id}.csv",
    summary="Export a price book as CSV",
    responses=file_answer(
        "text/csv",
        "Rows of the price book.",
        "item,parameter,condition,value,unit,note\r\ndgx-a100-640gb,price,,241000,USD,Offer 2026-114\r\n",
    ),
    response_class=Response,
)
def get_price_book_csv(workspace: WorkspaceDep, identifier: BookId, version: VersionQuery = None) -> Response:
    """Return the rows as a file that can be edited and sent back.

    Text that a spreadsheet would interpret as a formula is prefixed with an apostrophe, which is
    removed when the file is read again.
    """
    text = price_books.book_csv(workspace, identifier, version)
    name = "".join(letter for letter in identifier if letter.isalnum() or letter in "_-")
    return attachment(text.encode(), CSV, f"{name}.csv")


@router.get("/{id}", summary="Retrieve a price book", responses=READ)
def get_price_book(
    workspace: WorkspaceDep, identifier: BookId, response: Response, version: VersionQuery = None
) -> PriceBookDocument:
    """Return the rows with the catalogue's figures, and the versions; use the ETag in If-Match."""
    book = price_books.get_book(workspace, identifier, version)
    response.headers["ETag"] = write_tag(book.newest)
    return book


@router.put("/{id}", summary="Replace price book rows", responses={**ASK, **CHANGED})
@requires(Right.MAKE, body=LARGE_BODY)
def replace_price_book(
    workspace: WorkspaceDep,
    identifier: BookId,
    body: Annotated[PriceBookRequest, Body(examples=[BOOK])],
    response: Response,
    tag: MatchHeader = None,
) -> PriceBookDocument:
    """Store other rows as a new version; estimates made with an earlier version are unchanged."""
    book = price_books.replace_book(workspace, identifier, body, read_tag(tag))
    response.headers["ETag"] = write_tag(book.newest)
    return book


@router.patch("/{id}", summary="Update price book rows", responses={**ASK, **CHANGED})
@requires(Right.MAKE, body=LARGE_BODY)
def change_price_book(
    workspace: WorkspaceDep,
    identifier: BookId,
    body: Annotated[PriceBookPatch, Body(examples=[BOOK_CHANGE])],
    response: Response,
    tag: MatchHeader = None,
) -> PriceBookDocument:
    """Add, replace or remove some rows, as a new version."""
    book = price_books.change_book(workspace, identifier, body, read_tag(tag))
    response.headers["ETag"] = write_tag(book.newest)
    return book


@router.delete("/{id}", status_code=204, summary="Delete a price book", responses=DELETE)
@requires(Right.MAKE)
def delete_price_book(workspace: WorkspaceDep, identifier: BookId, tag: MatchHeader = None) -> None:
    """Delete a price book with all its versions; 409 if a study, proposal or running sweep uses it.

    Stored results keep the prices they were made with.
    """
    price_books.delete_price_book(workspace, identifier, read_tag(tag))
