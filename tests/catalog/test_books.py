"""Price books: what they lay over the catalogue, and which rows they refuse."""

from __future__ import annotations

import pytest

from app.catalog.books import LIMITS, BookRow, PriceBook, row_errors, units_of
from app.catalog.catalog import Catalog


def book(*rows: BookRow) -> PriceBook:
    return PriceBook("pbk_one", "Offers", 3, "2026-11-21", rows)


def row(item: str, parameter: str, value: float, unit: str, condition: str = "") -> BookRow:
    return BookRow(item, parameter, condition, value, unit, "")


def test_a_price_takes_the_place_of_the_catalogue_and_names_the_book(catalog: Catalog) -> None:
    own = catalog.overlaid(book(row("dgx-a100-640gb", "price", 248_000, "USD")))
    figure = own.figure("dgx-a100-640gb", "price")
    assert (figure.si, figure.source.id, figure.as_of) == (248_000, "pbk_one@3", "2026-11-21")
    assert own.system("dgx-a100-640gb").price.value == 248_000
    assert catalog.figure("dgx-a100-640gb", "price").si == 270_000
    assert own.book is not None and own.version == catalog.version


def test_won_and_euro_become_dollars_at_the_rate_of_the_book(catalog: Catalog) -> None:
    rows = [row("dgx-a100-640gb", "price", 270e6, "KRW"), row("qm8700", "price", 9_244.7, "EUR")]
    usual = catalog.overlaid(book(*rows))
    assert usual.figure("dgx-a100-640gb", "price").si == pytest.approx(270e6 / 1422.16)
    assert usual.figure("qm8700", "price").si == pytest.approx(10_000)
    yen = catalog.overlaid(book(row("qm8700", "price", 1_405_001, "JPY")))
    assert yen.figure("qm8700", "price").si == pytest.approx(10_000)
    rate = row("cost-defaults", "exchange_rate", 1350, "KRW/USD", "krw")
    own = catalog.overlaid(book(*rows, rate))
    assert own.figure("dgx-a100-640gb", "price").si == pytest.approx(200_000)
    assert "270,000,000 KRW" in own.figure("dgx-a100-640gb", "price").note


def test_discounts_come_off_the_catalogue_the_closest_one_first(catalog: Catalog) -> None:
    own = catalog.overlaid(
        book(
            row("kind:machine", "discount", 10, "%"),
            row("maker:NVIDIA", "discount", 0.2, "1"),
            row("dgx-a100-320gb", "discount", 30, "%"),
            row("dgx1-v100", "price", 100_000, "USD"),
        )
    )
    assert own.figure("dgx-a100-320gb", "price").si == pytest.approx(199_000 * 0.7)
    assert own.figure("dgx-a100-640gb", "price").si == pytest.approx(270_000 * 0.8)
    assert own.figure("dgx-a100-640gb", "price").si_high == pytest.approx(300_000 * 0.8)
    assert own.figure("ipu-m2000", "price").si == pytest.approx(32_450 * 0.9)
    assert own.figure("dgx1-v100", "price").si == 100_000
    assert own.figure("host-server", "price").si == catalog.figure("host-server", "price").si


def test_a_book_wins_over_a_date(catalog: Catalog) -> None:
    own = catalog.overlaid(book(row("aws-p4d", "price_hour", 15.0, "USD/h"))).dated("2020-01-01")
    assert own.figure("aws-p4d", "price_hour").value == 15.0
    assert catalog.dated("2024-01-01").figure("aws-p4d", "price_hour").value == 32.77


@pytest.mark.parametrize(
    ("wrong", "column"),
    [
        (row("dgx-a100-640g", "price", 1, "USD"), "item"),
        (row("dgx-a100-640gb", "pricee", 1, "USD"), "parameter"),
        (row("dgx-a100-640gb", "price", -1, "USD"), "value"),
        (row("dgx-a100-640gb", "price", float("nan"), "USD"), "value"),
        (row("dgx-a100-640gb", "price", 1, "GBP"), "unit"),
        (row("dgx-a100-640gb", "price", 1, "USD", "spot"), "condition"),
        (row("aws-p4d", "price_hour", 1, "USD/h", "reserved"), "condition"),
        (row("dgx-a100-640gb", "tariff", 1, "USD/kWh"), "item"),
        (row("hdr-infiniband", "price", 1, "USD"), "item"),
        (row("maker:Nobody", "discount", 1, "%"), "item"),
        (row("kind:car", "discount", 1, "%"), "item"),
        (row("dgx-a100-640gb", "discount", 101, "%"), "value"),
        (row("dgx-a100-640gb", "discount", 2, "1"), "value"),
        (row("facility", "pue", 0.9, "1"), "value"),
    ],
)
def test_a_wrong_row_is_refused_with_its_row_and_column(
    catalog: Catalog, wrong: BookRow, column: str
) -> None:
    right = row("ipu-m2000", "price", 30_000, "USD")
    (fault,) = row_errors(catalog, [right, wrong])
    assert fault.field == f"rows.1.{column}"
    assert str(fault.message).startswith(f"row 2, {column}: ")


def test_the_same_figure_twice_is_refused(catalog: Catalog) -> None:
    right = row("ipu-m2000", "price", 30_000, "USD")
    (fault,) = row_errors(catalog, [right, right])
    assert "row 1" in str(fault.message)


def test_every_parameter_of_a_book_has_units(catalog: Catalog) -> None:
    for parameter in LIMITS:
        assert set(units_of(catalog, parameter)) <= set(catalog.units)
