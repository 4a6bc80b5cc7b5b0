"""Numbers as people write them: what each is read as, and what is refused with which readings."""

from __future__ import annotations

import pytest

from app.errors import AppError, BadInput, Unprocessable
from app.estimating.numbers import (
    DAYS,
    HOURS,
    MONEY,
    PERCENT,
    PLAIN,
    SHARE,
    SHARE_OR_PERCENT,
    WHOLE,
    YEARS,
    NumberKind,
    measure,
    number_in,
    numbers_in,
)

WON, YEN, DOLLARS = (NumberKind("money", currency=currency) for currency in ("KRW", "JPY", "USD"))


def refusal(text: str, kind: NumberKind) -> AppError:
    with pytest.raises(AppError) as raised:
        number_in(text, kind, "field")
    assert [error.field for error in raised.value.errors] == ["field"]
    return raised.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", 1_234),
        ("12,345", 12_345),
        ("1,281,167", 1_281_167),
        ("15,2", 15.2),
        ("1,5", 1.5),
        ("0,123", 0.123),
        ("1234,567", 1_234.567),
        ("1.234", 1.234),
        ("1.234.567", 1_234_567),
        ("1,234.5", 1_234.5),
        ("1.234,5", 1_234.5),
        ("1 234 567", 1_234_567),
        ("1\N{THIN SPACE}234\N{NARROW NO-BREAK SPACE}567", 1_234_567),
        ("1'234.5", 1_234.5),
        ("1’234’567", 1_234_567),
        ("1_000", 1_000),
        ("１，２３４．５", 1_234.5),
        (".5", 0.5),
        ("-3", -3),
        ("−3", -3),
        ("1e12", 1e12),
        ("1.5E+9", 1.5e9),
        ("10k", 10_000),
        ("3m", 3_000_000),
        ("7B", 7e9),
        ("300B", 300e9),
        ("2T", 2e12),
        ("5bn", 5e9),
        ("100 billion", 100e9),
        ("1.5 Trillion", 1.5e12),
        ("1,5억", 150_000_000),
        ("50억", 5e9),
        ("5천만", 50_000_000),
        ("5천 3백만", 53_000_000),
        ("3천5백억", 350e9),
        ("1조 2천억", 1.2e12),
        ("43억 7,800만", 4_378_000_000),
        ("2만5천", 25_000),
    ],
)
def test_a_number_is_read_as_it_is_meant(text: str, value: float) -> None:
    assert number_in(text) == value


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("60 days", DAYS, 60),
        ("60", DAYS, 60),
        ("60일", DAYS, 60),
        ("2 weeks", DAYS, 14),
        ("2주", DAYS, 14),
        ("2 weeks 3 days", DAYS, 17),
        ("3개월", YEARS, 0.25),
        ("1년 6개월", YEARS, 1.5),
        ("18 months", YEARS, 1.5),
        ("2h 30m", HOURS, 2.5),
        ("1천 시간", HOURS, 1_000),
        ("90분", HOURS, 1.5),
        ("80 %", PERCENT, 0.8),
        ("80", PERCENT, 0.8),
        ("0.5", PERCENT, 0.005),
        ("８０％", SHARE, 0.8),
        ("0.8", SHARE, 0.8),
        ("80", SHARE_OR_PERCENT, 0.8),
        ("0.8", SHARE_OR_PERCENT, 0.8),
        ("0.8%", SHARE, 0.008),
        ("80퍼센트", SHARE, 0.8),
        ("1,024", WHOLE, 1_024),
        ("5bn", WON, 5e9),
        ("₩5bn", WON, 5e9),
        ("5bn won", WON, 5e9),
        ("50억 원", WON, 5e9),
        ("￦5천만원", WON, 50_000_000),
        ("$5bn", DOLLARS, 5e9),
        ("US$ 1.2m", DOLLARS, 1_200_000),
        ("USD 40,000", DOLLARS, 40_000),
        ("5억 달러", DOLLARS, 500_000_000),
        ("¥500만", YEN, 5_000_000),
    ],
)
def test_a_number_is_given_in_the_unit_of_its_field(text: str, kind: NumberKind, value: float) -> None:
    assert number_in(text, kind) == pytest.approx(value, rel=1e-12)


def test_a_measure_is_in_seconds_or_with_its_currency() -> None:
    assert measure("60 days", DAYS).value == 5_184_000
    assert measure("1 year", DAYS).value == pytest.approx(365.25 * 86_400)
    amount = measure("₩5bn", MONEY)
    assert (amount.value, amount.currency) == (5e9, "KRW")
    assert measure("50", WON).currency == "KRW"


@pytest.mark.parametrize(
    ("text", "kind", "given"),
    [
        ("5 days", MONEY, "a length of time"),
        ("5 days", PLAIN, "a length of time"),
        ("$5", PLAIN, "an amount of money"),
        ("80 %", DAYS, "a percentage"),
        ("₩5bn", DAYS, "an amount of money"),
        ("3 weeks", PERCENT, "a length of time"),
    ],
)
def test_another_dimension_is_refused_with_what_was_given(text: str, kind: NumberKind, given: str) -> None:
    error = refusal(text, kind)
    assert isinstance(error, Unprocessable)
    assert error.message.values["given"] == text
    assert str(error.message.values["what"]) == given
    assert str(error.message.values["allowed"])


@pytest.mark.parametrize(
    ("text", "kind", "readings"),
    [
        ("3m", DAYS, ("3 minutes", "3 months")),
        ("6M", YEARS, ("6 minutes", "6 months")),
        ("¥5", MONEY, ("JPY", "CNY")),
        ("¥5", WON, ("JPY", "CNY")),
    ],
)
def test_what_has_two_readings_is_refused_with_both(
    text: str, kind: NumberKind, readings: tuple[str, str]
) -> None:
    values = refusal(text, kind).message.values
    assert (str(values["first"]), str(values["second"])) == readings


WORDS = ["", " ", "abc", "nan", "inf", "억", "천만", "5 apples", "5k k", "2억 1조"]

NUMERALS = ["1 2", "12,34,567", "1.2.3", "1,23.4", "10²", "½", "٣", "0x10", "5-", "--5", "1e", "5.", "1h 30"]


@pytest.mark.parametrize("text", [*WORDS, *NUMERALS, "9" * 200])
def test_what_is_no_number_is_refused(text: str) -> None:
    assert isinstance(refusal(text, PLAIN), Unprocessable)


def test_units_of_time_fall() -> None:
    assert isinstance(refusal("3 days 2 weeks", DAYS), Unprocessable)


def test_a_whole_number_has_no_decimals_and_no_number_is_endless() -> None:
    assert isinstance(refusal("4.5", WHOLE), Unprocessable)
    assert isinstance(refusal("1e400", PLAIN), BadInput)
    assert isinstance(refusal("1e9999", PLAIN), BadInput)


def test_an_amount_is_in_the_currency_of_its_field() -> None:
    values = refusal("$5bn", WON).message.values
    assert (values["currency"], values["expected"]) == ("USD", "KRW")
    assert isinstance(refusal("$5bn", MONEY), BadInput)
    assert isinstance(refusal("$5억 원", DOLLARS), Unprocessable)


def test_numbers_are_listed_between_spaces_semicolons_or_commas() -> None:
    assert numbers_in("8, 16 32;64", WHOLE) == [8, 16, 32, 64]
    assert numbers_in("4,8,16", WHOLE) == [4, 8, 16]
    assert numbers_in("15.2,15.3") == [15.2, 15.3]
    assert numbers_in("50 75 %, 100", PERCENT) == [0.5, 0.75, 1]
    assert numbers_in(" ,; ") == []


@pytest.mark.parametrize(("text", "first"), [("4,800", "4800"), ("15,2", "15.2"), ("1,234.5", "1234.5")])
def test_a_list_that_could_be_one_number_is_refused_with_both(text: str, first: str) -> None:
    with pytest.raises(Unprocessable) as raised:
        numbers_in(text, PLAIN, "runs")
    assert raised.value.message.values["first"] == first
    assert raised.value.message.values["second"] == text.replace(",", ", ")
