"""Create, change and list price books; every version is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from app.catalog.books import MOST_ROWS, BookRow
from app.errors import BadInput, Conflict, FieldError, Message, NotFound, TooLarge, VersionConflict
from app.estimating.names import name_error
from app.estimating.schema import filled
from app.features.price_books.model import (
    BookVersion,
    PriceBookDocument,
    PriceBookPatch,
    PriceBookRequest,
    PriceBookSummary,
)
from app.features.price_books.sheets import (
    MOST_CHANGES,
    changes,
    checked,
    edited,
    read_rows,
    row_document,
    write_rows,
)
from app.platform.deleting import delete
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, page_of
from app.platform.references import existing, no_such
from app.platform.store.document_queries import DuplicateVersion
from app.platform.store.queries import EVERYTHING, ListFilter, new_id, now
from app.platform.store.tables import PriceBookRecord, PriceBookVersion
from app.platform.workspace import Workspace

MOST_VERSIONS = 1000
"""Most versions of a book."""

LISTED = 20
"""Newest versions that are listed with their changes."""


def create_book(workspace: Workspace, request: PriceBookRequest, key: str | None = None) -> PriceBookDocument:
    def make() -> tuple[PriceBookDocument, Save]:
        name, comment = request.name.strip(), printable("comment", request.comment)
        rows, moment, identifier = checked(request.rows, workspace.sizing.catalog), now(), new_id("pbk")
        record = PriceBookRecord(
            id=identifier, workspace_id=workspace.id, name=name, version=1, row_count=len(rows),
            created_at=moment, updated_at=moment,
        )  # fmt: skip
        version = _version(identifier, 1, name, comment, rows)
        answer = _document(workspace, identifier, [version], version)
        return answer, lambda repository: repository.book_versions.add(record, version)

    return keep(workspace, IdempotentCall.of("price-books", key, request), PriceBookDocument, make)


def read_book(workspace: Workspace, name: str, content: bytes, key: str | None = None) -> PriceBookDocument:
    request = PriceBookRequest(name=printable("name", (name.strip() or "CSV")[:200]), rows=read_rows(content))
    return create_book(workspace, request, key)


def get_book(workspace: Workspace, identifier: str, version: int | None = None) -> PriceBookDocument:
    with workspace.transaction() as repository:
        versions = repository.book_versions.all(identifier, LISTED + 1)
        if not versions:
            raise no_such("price book", identifier)
        newest = versions[0]
        selected = newest if version is None else repository.book_versions.find(identifier, version)
        if selected is None:
            raise NotFound.named("version", str(version), map(str, range(1, newest.version + 1)), "version")
    return _document(workspace, identifier, versions, selected)


def replace_book(
    workspace: Workspace, identifier: str, request: PriceBookRequest, expected: int | None
) -> PriceBookDocument:
    rows = checked(request.rows, workspace.sizing.catalog)
    return _change(workspace, identifier, expected, lambda _: rows, request.name, request.comment)


def change_book(
    workspace: Workspace, identifier: str, patch: PriceBookPatch, expected: int | None
) -> PriceBookDocument:
    rows_put = checked(patch.rows, workspace.sizing.catalog)
    return _change(
        workspace,
        identifier,
        expected,
        lambda rows: checked_size(edited(rows, rows_put, patch.remove)),
        patch.name,
        patch.comment,
    )


def replace_from_file(
    workspace: Workspace, identifier: str, content: bytes, expected: int | None, comment: str
) -> PriceBookDocument:
    rows = checked(read_rows(content), workspace.sizing.catalog)
    return _change(workspace, identifier, expected, lambda _: rows, None, comment)


def book_csv(workspace: Workspace, identifier: str, version: int | None = None) -> str:
    number = get_book(workspace, identifier, version).version
    return write_rows(workspace.book_version(identifier, number).rows)


def list_books(
    workspace: Workspace, limit: int, cursor: str | None, wanted: ListFilter = EVERYTHING
) -> Page[PriceBookSummary]:
    def summary(row: PriceBookRecord) -> PriceBookSummary:
        return filled(PriceBookSummary, row, rows=row.row_count)

    with workspace.transaction() as repository:
        return page_of(repository, PriceBookRecord, summary, limit, cursor, wanted=wanted)


def printable(field: str, text: str) -> str:
    """Strip the name of a file or a comment; refuse what cannot be seen in it."""
    plain = text.strip()
    fault = name_error(plain) if plain else None
    if fault is not None:
        raise BadInput(fault, [FieldError(field, fault)])
    return plain


def checked_size(rows: tuple[BookRow, ...]) -> tuple[BookRow, ...]:
    if len(rows) > MOST_ROWS:
        raise TooLarge(Message("a price book can have at most {most} rows", {"most": MOST_ROWS}))
    return rows


def _change(
    workspace: Workspace,
    identifier: str,
    expected: int | None,
    edit: Callable[[Sequence[BookRow]], tuple[BookRow, ...]],
    name: str | None,
    comment: str,
) -> PriceBookDocument:
    """Store a new version of a book, if the newest one is still the expected one."""
    comment = printable("comment", comment)
    new_name = None if name is None else name.strip()
    current = 0
    try:
        with workspace.transaction() as repository:
            record = existing(repository, PriceBookRecord, identifier, "price book", lock=True)
            current = record.version
            if expected is not None and expected != current:
                raise VersionConflict.since(expected, current)
            if current >= MOST_VERSIONS:
                raise Conflict.at(
                    "version",
                    "a price book can have at most {most} versions; create a new one",
                    most=MOST_VERSIONS,
                )
            before = repository.book_versions.find(identifier, current)
            assert before is not None, "a book has its newest version"
            rows = edit([BookRow(**entry) for entry in before.rows])
            version = _version(identifier, current + 1, new_name or record.name, comment, rows)
            repository.book_versions.add_version(record, version, now())
    except DuplicateVersion:
        raise VersionConflict.since(current, get_book(workspace, identifier).newest) from None
    return get_book(workspace, identifier)


def _version(
    identifier: str, version: int, name: str, comment: str, rows: Sequence[BookRow]
) -> PriceBookVersion:
    return PriceBookVersion(
        book_id=identifier,
        version=version,
        workspace_id="",
        name=name,
        comment=comment,
        rows=[asdict(row) for row in rows],
        created_at=now(),
    )


def _document(
    workspace: Workspace, identifier: str, versions: Sequence[PriceBookVersion], selected: PriceBookVersion
) -> PriceBookDocument:
    """Return a book; ``versions`` newest first, one more than are listed."""
    catalog = workspace.sizing.catalog
    rows = {entry.version: [BookRow(**row) for row in entry.rows] for entry in (*versions, selected)}
    listed = []
    for entry in versions[:LISTED]:
        differences = changes(rows.get(entry.version - 1, []), rows[entry.version])
        listed.append(
            filled(
                BookVersion,
                entry,
                rows=len(entry.rows),
                changes=differences[:MOST_CHANGES],
                changed=len(differences),
            )
        )
    return PriceBookDocument(
        id=identifier,
        name=selected.name,
        version=selected.version,
        newest=versions[0].version,
        rows=[row_document(row, catalog) for row in rows[selected.version]],
        versions=listed,
    )


def delete_price_book(workspace: Workspace, identifier: str, expected: int | None = None) -> None:
    delete(workspace, PriceBookRecord, identifier, expected)
