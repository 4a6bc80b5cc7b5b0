"""Price books and bills of materials."""

from __future__ import annotations

from app.client.calls import (
    Call,
    File,
    Given,
    address,
    change,
    content,
    document,
    get,
    operation,
    store,
    text,
)
from app.features.bills.model import Bill, BillComparison, BillRequest, BillSummary
from app.features.price_books.model import (
    PriceBookDocument,
    PriceBookPatch,
    PriceBookRequest,
    PriceBookSummary,
)
from app.platform.listing import Page


class BookOperations:
    """Own prices, and what a system consists of."""

    @operation
    def create_price_book(
        self, book: PriceBookRequest | Given | File, *, name: str | None = None, key: str | None = None
    ) -> Call[PriceBookDocument]:
        """Keep own prices, as rows or as a CSV file; ``name`` is for the file alone."""
        return store(address("price-books"), document(PriceBookDocument), book, key, name=name)

    @operation
    def list_price_books(
        self, cursor: str | None = None, limit: int | None = None
    ) -> Call[Page[PriceBookSummary]]:
        """List price books, newest first."""
        return get(address("price-books"), document(Page[PriceBookSummary]), cursor=cursor, limit=limit)

    @operation
    def get_price_book(self, identifier: str, *, version: int | None = None) -> Call[PriceBookDocument]:
        """Read the rows of a book beside the catalogue's figures."""
        return get(address("price-books", identifier), document(PriceBookDocument), version=version)

    @operation
    def get_price_book_csv(self, identifier: str, *, version: int | None = None) -> Call[str]:
        """Read the rows of a book as CSV that can be edited and sent back."""
        return get(address("price-books", f"{identifier}.csv"), text, version=version)

    @operation
    def replace_price_book(
        self, identifier: str, book: PriceBookRequest | Given, *, tag: str | None = None
    ) -> Call[PriceBookDocument]:
        """Give a book other rows, as a new version."""
        return change("PUT", address("price-books", identifier), document(PriceBookDocument), book, tag)

    @operation
    def change_price_book(
        self, identifier: str, patch: PriceBookPatch | Given, *, tag: str | None = None
    ) -> Call[PriceBookDocument]:
        """Put some rows in and take some out, as a new version."""
        return change("PATCH", address("price-books", identifier), document(PriceBookDocument), patch, tag)

    @operation
    def create_bill(self, request: BillRequest | Given, *, key: str | None = None) -> Call[Bill]:
        """Make the bill of materials of a system or of an estimate."""
        return store(address("boms"), document(Bill), request, key)

    @operation
    def list_bills(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[BillSummary]]:
        """List bills, newest first."""
        return get(address("boms"), document(Page[BillSummary]), cursor=cursor, limit=limit)

    @operation
    def get_bill(self, identifier: str) -> Call[Bill]:
        """Read a bill as it was answered."""
        return get(address("boms", identifier), document(Bill))

    @operation
    def compare_bills(self, one: str, other: str) -> Call[BillComparison]:
        """Set price, power and height of two bills against each other."""
        return get(address("boms", "compare"), document(BillComparison), ids=f"{one},{other}")

    @operation
    def get_bill_csv(self, identifier: str) -> Call[str]:
        """Read the lines of a bill as CSV."""
        return get(address("boms", f"{identifier}.csv"), text)

    @operation
    def get_bill_workbook(self, identifier: str) -> Call[bytes]:
        """Read lines and racks of a bill as a workbook."""
        return get(address("boms", f"{identifier}.xlsx"), content)
