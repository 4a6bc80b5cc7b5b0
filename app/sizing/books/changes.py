"""What one version of a price book changed of the one before, and how an edit is applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.catalog import BookRow, Catalog
from app.catalog.books import DISCOUNT, faults
from app.errors import BadInput, FieldError, Message
from app.sizing.books.documents import BookRowDocument, RowChange
from app.sizing.books.request import BookRowInput, BookRowKey
from app.sizing.books.sheets import refusal
from app.sizing.cost.figures import taken

MOST_CHANGES = 100
"""Changes of a version that are listed."""

Key = tuple[str, str, str]


def key_of(row: BookRow | BookRowKey) -> Key:
    """Return what a row states."""
    return row.item, row.parameter, row.condition


def checked(rows: Iterable[BookRowInput], catalog: Catalog) -> tuple[BookRow, ...]:
    """Return rows that a book can hold."""
    found = tuple(
        BookRow(
            item=row.item.strip(),
            parameter=row.parameter.strip(),
            condition=row.condition.strip(),
            value=row.value,
            unit=row.unit.strip(),
            note=row.note.strip(),
        )
        for row in rows
    )
    wrong = faults(catalog, found)
    wrong += [
        FieldError(f"rows.{place}.note", Message("holds characters that cannot be shown"))
        for place, row in enumerate(found)
        if not row.note.isprintable()
    ]
    if wrong:
        raise refusal(wrong)
    return found


def edited(
    rows: Sequence[BookRow], put: Sequence[BookRow], remove: Sequence[BookRowKey]
) -> tuple[BookRow, ...]:
    """Return rows after an edit: some taken out, some put in their own place or at the end."""
    by_key = {key_of(row): row for row in rows}
    for place, one in enumerate(remove):
        if by_key.pop(key_of(one), None) is None:
            message = Message(
                "the book has no {parameter} of {item}", {"parameter": one.parameter, "item": one.item}
            )
            raise BadInput(message, [FieldError(f"remove.{place}.item", message)])
    by_key |= {key_of(row): row for row in put}
    return tuple(by_key.values())


def changes(before: Sequence[BookRow], after: Sequence[BookRow]) -> list[RowChange]:
    """Return the rows that differ between two versions."""
    old, new = {key_of(row): row for row in before}, {key_of(row): row for row in after}
    found = []
    for key in dict.fromkeys([*new, *old]):
        was, now = old.get(key), new.get(key)
        if was == now:
            continue
        item, parameter, condition = key
        shown = now or was
        assert shown is not None, "a key is that of a row"
        found.append(
            RowChange(
                kind="added" if was is None else "removed" if now is None else "changed",
                item=item,
                parameter=parameter,
                condition=condition,
                before=None if was is None else was.value,
                after=None if now is None else now.value,
                unit=shown.unit,
            )
        )
    return found


def row_document(row: BookRow, catalog: Catalog) -> BookRowDocument:
    """Return a row beside the catalogue's own figure."""
    own = None if row.parameter == DISCOUNT else catalog.find(row.item, row.parameter, row.condition)
    return BookRowDocument(
        item=row.item,
        parameter=row.parameter,
        condition=row.condition,
        value=row.value,
        unit=row.unit,
        note=row.note,
        catalogue=None if own is None else taken(own),
    )
