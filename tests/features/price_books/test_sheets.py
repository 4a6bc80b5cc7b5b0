"""Price books as files, hostile ones too, and what an estimate makes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.catalog.books import MOST_ROWS, BookRow, PriceBook
from app.errors import AppError, BadInput, NotFound, TooLarge
from app.estimating.estimate import estimate
from app.features.bills.bill import make_bill
from app.features.bills.model import BillRequest
from app.features.price_books.model import BookRowInput, BookRowKey
from app.features.price_books.sheets import MOST_BYTES, changes, checked, edited, read_rows, write_rows
from tests.conftest import asked, sizing_context

HEAD = "item,parameter,condition,value,unit,note\n"

GOOD = "dgx-a100-640gb,price,,248000,USD,offer\n"


def test_a_file_is_read_whatever_its_order_and_separators() -> None:
    expected = [
        BookRowInput(item="dgx-a100-640gb", parameter="price", value=248_000, unit="USD", note="offer")
    ]
    assert read_rows((HEAD + GOOD).encode()) == expected
    semicolons = 'value;Unit;note;item;parameter\r\n"248,000";USD;offer;dgx-a100-640gb;price\r\n;;;;\r\n'
    assert read_rows(b"\xef\xbb\xbf" + semicolons.encode()) == expected


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("dgx-a100-640gb,price,,many,USD,", "rows.1.value"),
        ("dgx-a100-640gb,price,,nan,USD,", "rows.1.value"),
        ("dgx-a100-640gb,price,,1e999,USD,", "rows.1.value"),
        (",price,,1,USD,", "rows.1.item"),
        ("dgx-a100-640gb,price,,1,,", "rows.1.unit"),
        ("dgx-a100-640gb,price,,1,USD", "rows.1.item"),
        (f"dgx-a100-640gb,price,,1,USD,{'x' * 301}", "rows.1.note"),
        ("dgx-a100-640gb,price,,1,USD,a\x07b", "rows.1.note"),
    ],
)
def test_a_fault_is_named_by_row_and_column(line: str, field: str) -> None:
    with pytest.raises(BadInput) as refusal:
        read_rows((HEAD + GOOD + line + "\n").encode())
    assert [error.field for error in refusal.value.errors] == [field]
    assert "row 2" in str(refusal.value.errors[0].message)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"item,parameter\n",
        b"item,parameter,value,unit,formula\n",
        b"item,item,parameter,value,unit\n",
        (HEAD + '"open\n').encode(),
        (HEAD + GOOD).encode() + b"\0",
        (HEAD + GOOD * (MOST_ROWS + 1)).encode(),
        b"x" * (MOST_BYTES + 1),
        (HEAD + "x" * 200_000 + ",price,,1,USD,\n").encode(),
    ],
)
def test_what_is_no_price_book_is_refused_without_a_fault_of_ours(content: bytes) -> None:
    with pytest.raises((BadInput, TooLarge)):
        read_rows(content)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        read_rows(HEAD.encode() + content)
    except AppError as error:
        assert error.status in (400, 413)


NOTES = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S"), include_characters=" "), max_size=40
)


@given(st.lists(st.tuples(NOTES, st.floats(0, 1e12)), max_size=5))
def test_what_is_written_is_read_again_and_is_no_formula(rows: list[tuple[str, float]]) -> None:
    made = [BookRow("dgx-a100-640gb", "price", "", value, "USD", note.strip()) for note, value in rows]
    text = write_rows(made)
    back = read_rows(text.encode())
    assert [(one.value, one.note) for one in back] == [(row.value, row.note) for row in made]
    for line in text.splitlines()[1:]:
        note = line.split(",", 5)[5].lstrip('"')
        assert not note.startswith(("=", "+", "-", "@"))


def test_an_edit_puts_in_and_takes_out_and_is_told() -> None:
    before = [BookRow("a", "price", "", 1.0, "USD", ""), BookRow("b", "price", "", 2.0, "USD", "")]
    after = edited(
        before,
        [BookRow("a", "price", "", 3.0, "USD", ""), BookRow("c", "price", "", 4.0, "USD", "")],
        [BookRowKey(item="b", parameter="price")],
    )
    assert [(row.item, row.value) for row in after] == [("a", 3.0), ("c", 4.0)]
    assert {(one.kind, one.item, one.before, one.after) for one in changes(before, after)} == {
        ("changed", "a", 1.0, 3.0),
        ("added", "c", None, 4.0),
        ("removed", "b", 2.0, None),
    }
    with pytest.raises(BadInput):
        edited(before, [], [BookRowKey(item="z", parameter="price")])


def test_an_estimate_is_priced_with_the_book_and_names_it() -> None:
    context = sizing_context()
    rows = checked(
        [
            BookRowInput(item="dgx-a100-640gb", parameter="price", value=200_000, unit="USD"),
            BookRowInput(item="korea-industrial-small", parameter="tariff", value=0, unit="KRW/kWh"),
        ],
        context.catalog,
    )
    book = PriceBook("pbk_one", "Offers", 3, "2026-11-21", rows)
    known = {"pbk_one": book}

    def find(name: str) -> PriceBook:
        if name not in known:
            raise NotFound.named("price book", name, known)
        return known[name]

    own = replace(context, find_book=find)
    found = estimate(asked(assumptions={"price_book_id": "pbk_one"}), own).cost
    assert found is not None and found.capex is not None
    machines = next(line for line in found.lines if line.item == "machines")
    assert [(one.value, one.status) for one in machines.figures] == [(200_000, "book")]
    assert (found.basis["price_book_id"], found.basis["price_book"]) == ("pbk_one", "Offers")
    assert found.basis["price_book_version"] == 3
    power = next(line for line in found.lines if line.item == "power")
    assert power.hourly == 0
    assert {one.status for one in power.figures if one.name == "tariff"} == {"book"}
    sources = {
        one.id for step in estimate(asked(assumptions={"price_book_id": "pbk_one"}), own).trace
        for one in step.source
    }  # fmt: skip
    assert "pbk_one@3" in sources
    usual = next(line for line in estimate(asked(), own).cost.lines if line.item == "machines")
    assert [one.value for one in usual.figures] == [270_000]
    with pytest.raises(NotFound) as refusal:
        estimate(asked(assumptions={"price_book_id": "pbk_two"}), own)
    assert refusal.value.errors[0].field == "assumptions.price_book_id"


def test_a_pod_can_be_priced_as_a_whole() -> None:
    context = sizing_context()
    rows = checked(
        [BookRowInput(item="ipu-pod64", parameter="price", value=500_000, unit="USD")], context.catalog
    )
    book = PriceBook("pbk_pod", "Pods", 1, "2026-11-21", rows)
    own = replace(context, find_book=lambda _: book)
    found = estimate(asked(system={"id": "ipu-pod64"}, assumptions={"price_book_id": "pbk_pod"}), own).cost
    assert found is not None and found.capex is not None
    assert (
        found.capex.value
        == make_bill(BillRequest(system="ipu-pod64", price_book_id="pbk_pod"), own).totals.price.value
    )
    machines = next(line for line in found.lines if line.item == "machines")
    assert [figure.value for figure in machines.figures] == [500_000]
