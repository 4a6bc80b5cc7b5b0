"""Quotes: printed lines add up to the printed total, close to what the formulas say."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadInput
from app.estimating.money import UNITS, quote, quote_line, rounded

AMOUNTS = st.floats(0, 1e9, allow_subnormal=False)

LINES = st.lists(st.tuples(st.integers(0, 2000), AMOUNTS, st.floats(0, 1)), max_size=20)

CURRENCIES = st.sampled_from(sorted(UNITS))


def quoted(lines: list[tuple[int, float, float]], currency: str):
    return quote(
        [
            quote_line("machine", "Machine", count, price, currency, discount_share=share)
            for count, price, share in lines
        ],
        currency,
    )


@given(LINES, CURRENCIES)
def test_the_total_is_exactly_the_sum_of_the_printed_lines(lines, currency):
    answer = quoted(lines, currency)
    printed = json.loads(answer.model_dump_json(), parse_float=Decimal, parse_int=Decimal)
    assert sum((line["total"] for line in printed["lines"]), start=Decimal(0)) == printed["total"]


@given(LINES, CURRENCIES)
def test_every_line_and_total_is_in_whole_units_of_the_currency(lines, currency):
    answer = quoted(lines, currency)
    for amount in (answer.total, *(line.total for line in answer.lines), *(x.discount for x in answer.lines)):
        assert amount % UNITS[currency] == 0


@given(LINES, CURRENCIES)
def test_lines_stay_within_one_unit_of_the_float_formula(lines, currency):
    answer = quoted(lines, currency)
    unit = float(UNITS[currency])
    for line, (count, price, share) in zip(answer.lines, lines, strict=True):
        formula = count * price * (1 - share)
        assert float(line.total) == pytest.approx(formula, abs=unit, rel=1e-12)
    formula = sum(count * price * (1 - share) for count, price, share in lines)
    assert float(answer.total) == pytest.approx(formula, abs=unit * max(len(lines), 1), rel=1e-12)


@given(AMOUNTS, CURRENCIES)
def test_a_full_discount_leaves_nothing(price, currency):
    line = quote_line("machine", "Machine", 3, price, currency, discount_share=1.0)
    assert line.total == 0


def test_halves_go_away_from_zero_and_won_has_no_decimals():
    assert rounded(0.125, "USD") == Decimal("0.13")
    assert rounded(-0.125, "USD") == Decimal("-0.13")
    assert rounded(1499.5, "KRW") == Decimal(1500)
    line = quote_line("dgx", "DGX A100", 20, 199_000 * 1100.0, "KRW")
    assert line.total == Decimal(4_378_000_000)


def test_a_line_without_a_price_leaves_the_total_a_lower_bound():
    lines = [
        quote_line("machine", "Machine", 2, 10.0, "USD"),
        quote_line("cable", "Cable", 8, None, "USD"),
    ]
    answer = quote(lines, "USD")
    assert (answer.total, answer.complete) == (Decimal("20.00"), False)
    assert answer.lines[1].total is None


@pytest.mark.parametrize(
    ("count", "price", "share"),
    [(-1, 1.0, 0.0), (float("nan"), 1.0, 0.0), (1, float("inf"), 0.0), (1, 1.0, 1.5), (1e9, 1e9, 0.0)],
)
def test_what_cannot_be_quoted_is_refused(count, price, share):
    with pytest.raises(BadInput):
        quote_line("machine", "Machine", count, price, "USD", discount_share=share)


def test_nothing_quoted_is_nothing_to_pay():
    assert quote([], "KRW").total == 0
