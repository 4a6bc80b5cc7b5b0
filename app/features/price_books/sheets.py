"""Rows of price books: read and write CSV, check, edit and compare them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from app.catalog.books import DISCOUNT, MOST_ROWS, BookRow, row_errors
from app.catalog.catalog import Catalog
from app.errors import AppError, BadInput, FieldError, Message, TooLarge
from app.estimating.capital import taken
from app.estimating.numbers import CURRENCIES, PLAIN, NumberKind, number_in
from app.estimating.schema import filled
from app.features.price_books.model import BookRowDocument, BookRowInput, BookRowKey, RowChange
from app.platform.tables import FORMULA, read_cells

BOOK_COLUMNS = ("item", "parameter", "condition", "value", "unit", "note")

REQUIRED = ("item", "parameter", "value", "unit")

LONGEST = {"item": 100, "parameter": 60, "condition": 60, "value": 40, "unit": 30, "note": 300}
"""Most characters of a cell."""

MOST_BYTES = 1_000_000

MOST_FAULTS = 50
"""Most faults that are listed."""

GUARD = "'"
"""Prefix of a cell that a spreadsheet would take for a formula."""


def read_rows(content: bytes) -> list[BookRowInput]:
    cells = [cells for _, cells in read_cells(content, "file", MOST_BYTES)]
    if not cells:
        raise BadInput.at(
            "file", "the file is empty; the first line must be {columns}", columns=",".join(BOOK_COLUMNS)
        )
    names = [name.lower() for name in cells[0]]
    _check_head(names)
    if len(cells) > MOST_ROWS + 1:
        raise TooLarge(Message("a price book can have at most {most} rows", {"most": MOST_ROWS}))
    return _rows(names, cells[1:])


def _check_head(names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in BOOK_COLUMNS]
    missing = [name for name in REQUIRED if name not in names]
    if unknown or missing or len(set(names)) != len(names):
        raise BadInput.at(
            "file",
            "the first line must name the columns {columns}, each once, not {given}",
            columns=", ".join(BOOK_COLUMNS),
            given=", ".join(names)[:200],
        )


def _rows(names: Sequence[str], lines: Iterable[Sequence[str]]) -> list[BookRowInput]:
    rows: list[BookRowInput] = []
    errors: list[FieldError] = []
    for index, cells in enumerate(lines):
        row_errors = list(_cell_errors(names, cells))
        if row_errors:
            errors += [
                FieldError(
                    f"rows.{index}.{column}",
                    Message(
                        "row {row}, {column}: {fault}", {"row": index + 1, "column": column, "fault": fault}
                    ),
                )
                for column, fault in row_errors
            ]
            continue
        by_name = {name: plain(cell) for name, cell in zip(names, cells, strict=True)}
        value = number_in(by_name.pop("value"), kind_of(by_name["unit"]))
        rows.append(BookRowInput(value=value, **by_name))
    if errors:
        raise refusal(errors)
    return rows


def refusal(errors: Sequence[FieldError]) -> BadInput:
    message = Message("{count} rows of the price book are invalid", {"count": len(errors)})
    return BadInput(message, errors[:MOST_FAULTS])


def _cell_errors(names: Sequence[str], cells: Sequence[str]) -> Iterable[tuple[str, Message]]:
    if len(cells) != len(names):
        yield (
            "item",
            Message("{given} cells, but the header has {names}", {"given": len(cells), "names": len(names)}),
        )
        return
    for name, cell in zip(names, cells, strict=True):
        text = plain(cell)
        if len(text) > LONGEST[name]:
            yield name, Message("longer than {most} characters", {"most": LONGEST[name]})
        elif not text and name in REQUIRED:
            yield name, Message("is missing")
        elif not text.isprintable():
            yield name, Message("contains characters that cannot be displayed")
        elif name == "value":
            try:
                number_in(text, kind_of(plain(cells[names.index("unit")])))
            except AppError as error:
                yield name, error.message


def kind_of(unit: str) -> NumberKind:
    """Return what a row expects: an amount in the currency that its unit begins with, or a number."""
    currency = unit.partition("/")[0].upper()
    return NumberKind("money", currency=currency) if currency in CURRENCIES.values() else PLAIN


def plain(cell: str) -> str:
    """Return a cell without the guard of :func:`write_rows`."""
    text = cell.replace("\N{NO-BREAK SPACE}", " ").strip()
    return text[1:] if text.startswith(GUARD) and text.lstrip(GUARD).startswith(FORMULA) else text


def digits(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def write_rows(rows: Iterable[BookRow]) -> str:
    """Return rows as CSV; cells that a spreadsheet would take for formulas are guarded."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(BOOK_COLUMNS)
    for row in rows:
        texts = (row.item, row.parameter, row.condition, row.unit, row.note)
        item, parameter, condition, unit, note = (
            GUARD + text if text.lstrip(GUARD).startswith(FORMULA) else text for text in texts
        )
        writer.writerow((item, parameter, condition, digits(row.value), unit, note))
    return out.getvalue()


MOST_CHANGES = 100
"""Most changes of a version that are listed."""

Key = tuple[str, str, str]


def key_of(row: BookRow | BookRowKey) -> Key:
    return row.item, row.parameter, row.condition


def stripped(cells: dict[str, Any]) -> dict[str, Any]:
    return {name: cell.strip() if isinstance(cell, str) else cell for name, cell in cells.items()}


def checked(rows: Iterable[BookRowInput], catalog: Catalog) -> tuple[BookRow, ...]:
    book_rows = tuple(BookRow(**stripped(row.model_dump())) for row in rows)
    errors = row_errors(catalog, book_rows)
    errors += [
        FieldError(f"rows.{index}.note", Message("contains characters that cannot be displayed"))
        for index, row in enumerate(book_rows)
        if not row.note.isprintable()
    ]
    if errors:
        raise refusal(errors)
    return book_rows


def edited(
    rows: Sequence[BookRow], put: Sequence[BookRow], remove: Sequence[BookRowKey]
) -> tuple[BookRow, ...]:
    """Return rows after an edit: some removed, some replaced or appended."""
    by_key = {key_of(row): row for row in rows}
    for index, key in enumerate(remove):
        if by_key.pop(key_of(key), None) is None:
            message = Message(
                "the price book has no {parameter} for {item}", {"parameter": key.parameter, "item": key.item}
            )
            raise BadInput(message, [FieldError(f"remove.{index}.item", message)])
    by_key |= {key_of(row): row for row in put}
    return tuple(by_key.values())


def changes(before: Sequence[BookRow], after: Sequence[BookRow]) -> list[RowChange]:
    old, new = {key_of(row): row for row in before}, {key_of(row): row for row in after}
    differences = []
    for key in dict.fromkeys([*new, *old]):
        was, now = old.get(key), new.get(key)
        if was == now:
            continue
        item, parameter, condition = key
        row = now or was
        assert row is not None, "a key is that of a row"
        differences.append(
            RowChange(
                kind="added" if was is None else "removed" if now is None else "changed",
                item=item,
                parameter=parameter,
                condition=condition,
                before=None if was is None else was.value,
                after=None if now is None else now.value,
                unit=row.unit,
            )
        )
    return differences


def row_document(row: BookRow, catalog: Catalog) -> BookRowDocument:
    """Return a row with the catalogue's figure."""
    own = None if row.parameter == DISCOUNT else catalog.find(row.item, row.parameter, row.condition)
    return filled(BookRowDocument, row, catalogue=None if own is None else taken(own))
