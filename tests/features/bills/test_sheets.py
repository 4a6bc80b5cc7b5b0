"""Bills as CSV and as a workbook: the same numbers, live formulas, and text that stays text."""

import csv
import io
import re

import pytest
from openpyxl import load_workbook
from openpyxl.worksheet.worksheet import Worksheet

from app.estimating.names import STORED
from app.features.bills.bill import make_bill
from app.features.bills.model import Bill, BillRequest
from app.features.bills.sheets import FIRST, bill_csv, bill_workbook
from app.platform.wording.voice import voice
from tests.conftest import sizing_context


def billed(**asked: object) -> Bill:
    return make_bill(BillRequest.model_validate(asked, context=STORED), sizing_context(), "bom_test")


def computed(sheet: Worksheet, row: int, column: int) -> float:
    """Work out a cell as a spreadsheet would: products rounded, sums over a column."""
    value = sheet.cell(row, column).value
    if value is None:
        return 0.0
    if product := re.fullmatch(r"=ROUND\(([A-Z])(\d+)\*([A-Z])(\d+),(\d)\)", str(value)):
        first, one, second, other, digits = product.groups()
        a, b = sheet[f"{first}{one}"].value, sheet[f"{second}{other}"].value
        assert isinstance(a, int | float) and isinstance(b, int | float)
        return round(a * b, int(digits))
    if summed := re.fullmatch(r"=SUM\(([A-Z])(\d+):[A-Z](\d+)\)", str(value)):
        _, start, end = summed.groups()
        return sum(computed(sheet, one, column) for one in range(int(start), int(end) + 1))
    assert isinstance(value, int | float)
    return float(value)


@pytest.mark.parametrize("currency", ["USD", "KRW"])
def test_formulas_of_the_workbook_come_to_the_bills_total(currency: str) -> None:
    bill = billed(system="dgx-a100-640gb", count=20, storage_tb=1000, spare=1, currency=currency)
    sheet = load_workbook(io.BytesIO(bill_workbook(bill, voice("en")))).worksheets[0]
    last = FIRST + len(bill.lines)
    assert str(sheet.cell(FIRST, 7).value).startswith("=ROUND(")
    assert computed(sheet, last, 7) == pytest.approx(bill.totals.price.value, abs=0.005)
    assert computed(sheet, last, 10) == pytest.approx(bill.totals.power.value)
    assert computed(sheet, last, 13) == pytest.approx(bill.totals.weight.value)


def test_racks_of_the_workbook_are_those_of_the_bill() -> None:
    bill = billed(system="ipu-pod64")
    rows = list(load_workbook(io.BytesIO(bill_workbook(bill, voice("ko")))).worksheets[1].values)[1:]
    assert len(rows) == sum(len(rack.placements) for rack in bill.racks)


def test_an_unknown_price_stays_empty() -> None:
    bill = billed(system="big-basin-p100", count=2)
    sheet = load_workbook(io.BytesIO(bill_workbook(bill, voice("en")))).worksheets[0]
    assert [sheet.cell(FIRST, column).value for column in (6, 7, 8, 9)] == [None] * 4
    rows = list(csv.reader(io.StringIO(bill_csv(bill, voice("en")))))
    assert rows[1][5:9] == [""] * 4


def test_text_that_looks_like_a_formula_is_text() -> None:
    bill = billed(system="ipu-pod16", label='=HYPERLINK("http://evil","x")')
    sheet = load_workbook(io.BytesIO(bill_workbook(bill, voice("en")))).worksheets[0]
    title = sheet.cell(1, 1)
    assert title.value == bill.label
    assert title.data_type == "s"
    line = bill.lines[0].model_copy(update={"name": "=1+1"})
    changed = bill.model_copy(update={"lines": [line]})
    assert "'=1+1" in bill_csv(changed, voice("en"))
    sheet = load_workbook(io.BytesIO(bill_workbook(changed, voice("en")))).worksheets[0]
    assert sheet.cell(FIRST, 3).data_type == "s"


def test_csv_and_bill_agree_in_both_languages() -> None:
    bill = billed(system="bow-pod64", storage_tb=300, spare=1)
    english, korean = (
        list(csv.reader(io.StringIO(bill_csv(bill, voice(language))))) for language in ("en", "ko")
    )
    assert len(english) == len(korean) == len(bill.lines) + 1
    for one, other, line in zip(english[1:], korean[1:], bill.lines, strict=True):
        assert line.total is not None
        assert float(one[6]) == line.total.value
        assert one[1] == other[1] == line.item
        assert one[4:13] == other[4:13]
    assert english[0] != korean[0]


def test_text_that_a_workbook_cannot_hold_is_shown_as_a_square() -> None:
    bill = billed(system="ipu-pod64", label="a\x01b\x0b\ufffe")
    sheet = load_workbook(io.BytesIO(bill_workbook(bill, voice("en")))).worksheets[0]
    assert sheet.cell(1, 1).value == "a□b□□"
