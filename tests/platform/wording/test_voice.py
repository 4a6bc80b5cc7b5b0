from __future__ import annotations

import pytest
from babel.numbers import format_decimal
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import Message
from app.estimating.documents import Text
from app.estimating.schema import Quantity
from app.platform.wording.voice import WRITTEN, agree, voice

KOREAN, ENGLISH = voice("ko"), voice("en")


def quantity(value: float, low: float, high: float, unit: str) -> Quantity:
    return Quantity(value=value, low=low, high=high, unit=unit)


@pytest.mark.parametrize(
    ("one", "english", "korean"),
    [
        (quantity(47520, 43560, 52560, "s"), "13.2 h (12.1–14.6)", "13.2시간 (12.1–14.6)"),
        (quantity(1.95e6, 1.54e6, 2.47e6, "s"), "22.6 d (17.8–28.6)", "22.6일 (17.8–28.6)"),
        (Quantity.exact(3.14e23 / 5e15, "s"), "726.9 d", "726.9일"),
        (Quantity.exact(80e9, "B"), "80 GB", "80 GB"),
        (quantity(0.432, 0.4, 0.47, "1"), "43.2% (40.0–47.0)", "43.2% (40.0–47.0)"),
        (quantity(156235, 124887, 196866, "tokens/s"), "156,000 tokens/s (125,000–197,000)", None),
        (quantity(4.378e8, 4.1e8, 5e8, "KRW"), "₩438M (410M–500M)", "₩4.38억 (4.10억–5.00억)"),
        (quantity(1.234e6, 1e6, 2e6, "USD"), "$1.23M (1.00M–2.00M)", "123만 달러 (100만–200만)"),
        (quantity(9500.4, 9000, 9900, "KRW"), "₩9.50K (9.00K–9.90K)", "₩9,500 (9,000–9,900)"),
        (Quantity.exact(2.496e15, "FLOP/s"), "2.5 PFLOP/s", "2.5 PFLOP/s"),
        (quantity(1.66e12, 1.3e12, 2.1e12, "J"), "461 MWh (361–583)", "461 MWh (361–583)"),
    ],
)
def test_quantities_are_written_in_the_readers_units(one: Quantity, english: str, korean: str | None) -> None:
    assert ENGLISH.quantity(one) == english
    assert korean is None or KOREAN.quantity(one) == korean


def test_won_have_no_decimals() -> None:
    assert KOREAN.full(4_378_000_000.4, "KRW") == "₩4,378,000,000"
    assert ENGLISH.full(12.5, "USD") == "$12.50"


def test_a_missing_value_is_a_dash() -> None:
    assert ENGLISH.quantity(None) == ENGLISH.percent(None) == ENGLISH.number(None) == "–"


def test_counts_are_spoken() -> None:
    assert ENGLISH.count(174.6e9) == "174.6B"
    assert KOREAN.count(174.6e9) == "1,746억"
    assert (ENGLISH.count(1e8), KOREAN.count(1e8)) == ("100M", "1억")


def test_parts_that_vanish_say_so() -> None:
    assert ENGLISH.share(0.0002) == "<0.1%"
    assert ENGLISH.share(0) == "0.0%"


@pytest.mark.parametrize(
    ("sentence", "written"),
    [
        ("IPU-POD256은(는) 부족", "IPU-POD256은 부족"),
        ("메모리은(는) 부족", "메모리는 부족"),
        ("IPU-M2000이(가)", "IPU-M2000이"),
        ("서울(으)로", "서울로"),
        ("부산(으)로", "부산으로"),
        ("320을(를)", "320을"),
        ("“GPT-4”(이)라는", "“GPT-4”라는"),
    ],
)
def test_particles_follow_the_last_sound(sentence: str, written: str) -> None:
    assert agree(sentence) == written


def test_sentences_are_translated_with_what_is_nested_in_them() -> None:
    message = Message(
        "no {kind} is named “{name}”; closest matches: {close}",
        {"kind": Message("system"), "name": "x", "close": "y"},
    )
    assert (
        KOREAN.say(message)
        == KOREAN.say(Text.of(message))
        == "“x”라는 시스템을 찾을 수 없습니다. 비슷한 이름: y"
    )
    assert ENGLISH.sentence(message) == "No system is named “x”; closest matches: y"


def test_fields_are_named_and_not_spelled() -> None:
    message = Message("the bases ({fields}) differ", {"fields": "acquisition, amortisation_years"})
    assert ENGLISH.say(message) == "the bases (acquisition, amortization (years)) differ"
    assert "조달 방식, 상각 기간" in KOREAN.say(message)


def test_a_name_at_the_start_keeps_its_letters() -> None:
    assert ENGLISH.sentence(
        Message("{system} has no IPUs; this calculation is for IPUs only", {"system": "gcp-a2"})
    ).startswith("gcp")


def test_identifiers_mean_what_their_place_says() -> None:
    assert ENGLISH.label("optimizer", "memory") == "Optimizer state"
    assert ENGLISH.label("step.optimizer") == "Optimizer step"
    assert ENGLISH.label("software.overlap") == "Communication overlapped with compute"
    assert ENGLISH.label("never_heard_of") == "never heard of"


def test_a_sentence_inside_a_sentence_is_said_and_not_looked_up_as_an_identifier() -> None:
    """Only in the place of a part of memory is a nested message an identifier that stands for words."""
    advice = Message("give assumptions.system_price", {})
    for nested in (advice, Text.of(advice), Text.of(advice).model_dump()):
        said = ENGLISH.say({"template": "no price is known: {advice}", "values": {"advice": nested}})
        assert said == "no price is known: give assumptions.system_price"
    for word in ("memory", "software", "optimizer"):
        assert (
            ENGLISH.say(Message("no {kind} of that name", {"kind": Message(word)}))
            == f"no {word} of that name"
        )
    part = Message("most of it {part}", {"part": Message("optimizer")})
    for one in (part, Text.of(part), Text.of(part).model_dump()):
        assert ENGLISH.say(one) == "most of it Optimizer state"
        assert KOREAN.say(one).find("optimizer") < 0


@settings(max_examples=300)
@given(
    value=st.one_of(st.floats(-1e18, 1e18), st.floats(-10, 10), st.integers(-(10**15), 10**15)),
    decimals=st.integers(0, 8),
    trim=st.booleans(),
    language=st.sampled_from(WRITTEN),
)
def test_numbers_are_written_as_the_locale_has_them(
    value: float, decimals: int, trim: bool, language: str
) -> None:
    places = ("#" if trim else "0") * decimals
    known = format_decimal(value, f"#,##0.{places}" if places else "#,##0", locale=voice(language).locale)
    known = known if known.strip("-0.") else known.removeprefix("-")  # what rounds to nothing has no sign
    assert voice(language).decimal(value, decimals, trim) == known
