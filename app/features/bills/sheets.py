"""A bill of materials as CSV and as a workbook whose totals are live formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from openpyxl import Workbook
from openpyxl.styles import Alignment, Font
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from app.errors import Message
from app.estimating.schema import Quantity
from app.features.bills.model import Bill, BillLine
from app.platform.tables import legible, written
from app.platform.wording.voice import Voice

Cell = str | int | float | None

QUANTITY, UNIT_PRICE, TOTAL, LOW, HIGH = 5, 6, 7, 8, 9
"""Columns of the workbook that formulas read, the first being 1."""

SUMMED = range(TOTAL, 14)

AMOUNT = "#,##0.##"

MONEY = {0: "#,##0", 2: "#,##0.00"}
"""Digits behind the point → format."""

WIDTHS = (20, 22, 34, 20, 10, 14, 16, 16, 16, 12, 14, 11, 11, 60, 44, 12, 12)

FIRST = 4
"""Row of the first line; title and heads stand above."""


def cells(line: BillLine, voice: Voice) -> list[Cell]:
    """Return the cells of a line; unknown ones are empty."""
    total = line.total
    return [
        voice.label(line.group, "bill"),
        line.item,
        voice.gettext(line.name),
        voice.label(line.use, "bill"),
        line.quantity,
        _value(line.unit_price),
        *((None, None, None) if total is None else (total.value, total.low, total.high)),
        _value(line.power),
        _value(line.power_max),
        line.rack_units,
        _value(line.weight),
        voice.sentence(line.rule),
        "" if line.source is None else line.source.title,
        line.as_of,
        voice.label(line.status, "bill"),
    ]


def _value(amount: Quantity | None) -> float | None:
    return None if amount is None else amount.value


def heads(bill: Bill, voice: Voice) -> list[str]:
    """Return the heads of the columns, amounts with the currency of the bill."""
    money = f" ({bill.currency})"
    return [
        voice.gettext("Group"),
        voice.gettext("Item"),
        voice.gettext("Name"),
        voice.gettext("Use"),
        voice.gettext("Quantity"),
        voice.gettext("Unit price") + money,
        voice.gettext("Total") + money,
        voice.gettext("Low") + money,
        voice.gettext("High") + money,
        voice.gettext("Power under load") + " (W)",
        voice.gettext("Maximum power") + " (W)",
        voice.gettext("Rack units") + " (U)",
        voice.gettext("Weight") + " (kg)",
        voice.gettext("Quantity basis"),
        voice.gettext("Source"),
        voice.gettext("As of"),
        voice.gettext("Status"),
    ]


def bill_csv(bill: Bill, voice: Voice) -> str:
    """Return a bill as a CSV file (RFC 4180); text that looks like a formula begins with an apostrophe."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(heads(bill, voice))
    writer.writerows([written(value) for value in cells(line, voice)] for line in bill.lines)
    return buffer.getvalue()


def bill_workbook(bill: Bill, voice: Voice) -> bytes:
    """Return a bill as a workbook with lines and racks; totals are formulas of quantities and prices."""
    book = Workbook()
    sheet = book.active
    assert isinstance(sheet, Worksheet)
    sheet.title = voice.gettext("Bill of materials")[:31]
    text(sheet, 1, 1, bill.label, Font(bold=True, size=14))
    text(sheet, 2, 1, _basis(bill, voice))
    _heads(sheet, FIRST - 1, heads(bill, voice), WIDTHS)
    digits = 0 if bill.currency == "KRW" else 2
    for row, line in enumerate(bill.lines, start=FIRST):
        _line(sheet, row, cells(line, voice), digits)
    _sums(sheet, FIRST + len(bill.lines), len(bill.lines), digits, voice)
    sheet.freeze_panes = sheet.cell(FIRST, 1).coordinate
    _racks(book.create_sheet(voice.gettext("Racks")[:31]), bill, voice)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _basis(bill: Bill, voice: Voice) -> str:
    known = (
        voice.gettext("All prices are known.")
        if bill.totals.complete
        else voice.gettext("Lines without a price are not added, so the total is a lower bound.")
    )
    version = voice.say(Message("Catalogue {version}.", {"version": bill.catalog_version[:12]}))
    taxes = "" if bill.tax_note is None else f" {voice.sentence(bill.tax_note)}"
    return f"{known} {version}{taxes}"


def text(sheet: Worksheet, row: int, column: int, value: str, font: Font | None = None) -> None:
    """Write a cell that is never a formula; characters invalid in XML are replaced."""
    cell = sheet.cell(row, column, legible(value))
    cell.data_type = "s"
    cell.quotePrefix = True
    if font is not None:
        cell.font = font


def _heads(sheet: Worksheet, row: int, names: Sequence[str], widths: Sequence[int]) -> None:
    for column, (name, width) in enumerate(zip(names, widths, strict=True), start=1):
        text(sheet, row, column, name, Font(bold=True))
        sheet.column_dimensions[get_column_letter(column)].width = width


def _line(sheet: Worksheet, row: int, values: Sequence[Cell], digits: int) -> None:
    for column, value in enumerate(values, start=1):
        if isinstance(value, str):
            text(sheet, row, column, value)
        elif column == TOTAL and value is not None:
            count, price = (f"{get_column_letter(at)}{row}" for at in (QUANTITY, UNIT_PRICE))
            sheet.cell(row, column, f"=ROUND({count}*{price},{digits})").number_format = MONEY[digits]
        elif value is not None:
            cell = sheet.cell(row, column, value)
            cell.number_format = MONEY[digits] if UNIT_PRICE <= column <= HIGH else AMOUNT
    sheet.cell(row, 14).alignment = Alignment(wrap_text=True, vertical="top")


def _sums(sheet: Worksheet, row: int, lines: int, digits: int, voice: Voice) -> None:
    text(sheet, row, 1, voice.gettext("Total"), Font(bold=True))
    for column in SUMMED:
        letter = get_column_letter(column)
        cell = sheet.cell(row, column, f"=SUM({letter}{FIRST}:{letter}{FIRST + lines - 1})")
        cell.font = Font(bold=True)
        cell.number_format = MONEY[digits] if column <= HIGH else AMOUNT


def _racks(sheet: Worksheet, bill: Bill, voice: Voice) -> None:
    """One row for each thing in each kind of rack."""
    names = [
        voice.gettext("Racks"),
        voice.gettext("Lowest rack unit"),
        voice.gettext("Height"),
        voice.gettext("Name"),
        voice.gettext("Use"),
    ]
    _heads(sheet, 1, names, (10, 12, 12, 38, 22))
    placed = [(rack.count, placement) for rack in bill.racks for placement in reversed(rack.placements)]
    for row, (count, placement) in enumerate(placed, start=2):
        for column, number in enumerate((count, placement.bottom, placement.height), start=1):
            sheet.cell(row, column, number)
        text(sheet, row, 4, voice.gettext(placement.name))
        text(sheet, row, 5, voice.label(placement.use, "bill"))
