"""Figures in the texts of an author that are not those of the decision."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Literal

from app.engine.units import DAY, HOUR
from app.errors import Message
from app.features.proposals.account import WEIGHTY
from app.features.proposals.model import ProposalContent

Figure = Literal["outlay", "date", "time", "probability", "count"]

OTHER_FIGURES: Mapping[Figure, Message] = {
    "outlay": Message(
        "the text of “{section}” states {stated}, which is no amount of this proposal; its outlay is {known}"
    ),
    "date": Message("the text of “{section}” states {stated}, but the last day of validity is {known}"),
    "time": Message("the text of “{section}” states {stated} of training, but the estimate is {known}"),
    "probability": Message("the text of “{section}” states {stated}, but the limits are kept with {known}"),
    "count": Message("the text of “{section}” states {stated}, but {known} is recommended"),
}
"""Kind of figure → the warning to the author."""

SCALES = {
    "조": 1e12, "억": 1e8, "만": 1e4, "亿": 1e8, "万": 1e4, "billion": 1e9, "bn": 1e9, "million": 1e6,
    "thousand": 1e3,
}  # fmt: skip
# Possessive, and from the start of a number on: what strangers write is never read twice.
NUMBER = r"(?<![\d,.])\d[\d,]{0,30}+(?:\.\d{1,12}+)?+"
SCALED = rf"(?:{NUMBER}\s?(?:{'|'.join(SCALES)})?\s?+){{1,4}}+"
AMOUNT = re.compile(
    rf"(?:[₩$€¥£]|\b(?:KRW|USD|EUR|JPY|CNY)\s)\s?{SCALED}|{SCALED}(?:원|元|円|won\b|dollars\b)"
)
PIECE = re.compile(rf"({NUMBER})\s?({'|'.join(SCALES)})?")
CALENDAR = re.compile(r"(\d{4})\s?[-.년年]\s?(\d{1,2})\s?[-.월月]\s?(\d{1,2})")
LASTING = re.compile(r"(?<![\d.])(\d{1,9}+(?:\.\d{1,9}+)?+)\s?(?:-\s?)?(days?\b|일|天|hours?\b|시간|小时)")
SHARE = re.compile(r"(?<![\d.])(\d{1,9}+(?:\.\d{1,9}+)?+)\s?%")
SENTENCE_END = re.compile(r"(?<=[.!?。])\s+|(?<=[。])|\n|(?<=다\.)")

VALID = re.compile(r"valid|유효|有效", re.IGNORECASE)
TRAINS = re.compile(r"train|학습|训练", re.IGNORECASE)
CERTAIN = re.compile(r"probab|certain|확률|概率", re.IGNORECASE)

Found = tuple[Figure, str, str]
"""Kind of figure, as the text states it, and as the decision has it."""


def other_figures(text: str, content: ProposalContent) -> Iterator[Found]:
    """Yield amounts of money, last days of validity, training times, probabilities and numbers of systems
    that a text states and the decision does not have.

    Small amounts, such as a penalty, are the author's own.
    """
    yield from other_amounts(text, content)
    yield from other_counts(text, content)
    option = content.decided(content.advice.recommended)
    for sentence in SENTENCE_END.split(text):
        if VALID.search(sentence) and content.valid_until is not None:
            days = [found for found in CALENDAR.finditer(sentence) if day_of(found) != content.valid_until]
            yield from (("date", found.group(0), content.valid_until.isoformat()) for found in days)
        if option is None:
            continue
        if TRAINS.search(sentence) and option.time is not None:
            low, high = option.time.low, max(option.time.high, content.advice.deadline_s or 0.0)
            for found in LASTING.finditer(sentence):
                unit = HOUR if found.group(2)[0] in "h시小" else DAY
                margin = unit / 2
                if not low - margin <= float(found.group(1)) * unit <= high + margin:
                    yield "time", found.group(0), f"{option.time.value / unit:.3g} {found.group(2)}"
        if CERTAIN.search(sentence) and option.probability is not None and content.decision is not None:
            known = {option.probability, content.decision.question.probability, *(
                one.level for one in content.acceptance
            )}  # fmt: skip
            for found in SHARE.finditer(sentence):
                if all(abs(float(found.group(1)) / 100.0 - each) > 0.0101 for each in known):
                    yield "probability", found.group(0), f"{100.0 * option.probability:.0f} %"


def other_amounts(text: str, content: ProposalContent) -> Iterator[Found]:
    outlay = content.account.of(content.advice.recommended) if content.account is not None else None
    if outlay is None:
        return
    known = amounts_of(content)
    for found in AMOUNT.finditer(text):
        value, margin = amount_of(found.group(0))
        if value >= WEIGHTY * outlay.total and all(abs(value - each) > margin for each in known):
            yield "outlay", found.group(0).strip(), f"{outlay.total:,.0f} {content.currency}"


def amounts_of(content: ProposalContent) -> list[float]:
    """Return every amount of money that the document states."""
    known = [content.advice.budget or 0.0]
    account = content.account
    if account is not None:
        price = account.price
        known += [one or 0.0 for one in (price.supply, price.vat, price.total)] if price is not None else []
        for option in account.options:
            known += [option.total, option.present_value]
            known += [line.amount for line in option.lines]
            known += [amount for year in option.years for amount in (year.amount, year.present_value)]
    for bill in content.bills:
        priced = [line for line in bill.lines if line.unit_price is not None and line.total is not None]
        known += [one.value for line in priced for one in (line.unit_price, line.total) if one is not None]
        known += [bill.total.value] if bill.total is not None else []
    return known


def amount_of(text: str) -> tuple[float, float]:
    """Return an amount of money, and half a unit of its last digit.

    >>> amount_of("₩206억")
    (20600000000.0, 50000000.0)
    >>> amount_of("$1.25 million")
    (1250000.0, 5000.0)
    """
    value, margin = 0.0, 0.5
    for number, word in PIECE.findall(text):
        scale = SCALES.get(word, 1.0)
        value += float(number.replace(",", "")) * scale
        margin = 0.5 * scale / 10.0 ** len(number.partition(".")[2])
    return value, margin


def other_counts(text: str, content: ProposalContent) -> Iterator[Found]:
    """Yield other numbers of the recommended system than the recommended one."""
    recommended = content.advice.recommended or ""
    counts = {count_and_name(row.label) for row in content.comparison.rows}
    count, name = count_and_name(recommended)
    for found in re.finditer(rf"(?<!\d)(\d{{1,9}}+)\s?[×x]\s?{re.escape(name)}(?!\w)", text) if name else ():
        stated = int(found.group(1)), name
        # Another option's name is a contradiction of its own.
        if stated[0] != count and stated not in counts:
            yield "count", found.group(0), recommended


def count_and_name(label: str) -> tuple[int, str]:
    """Return the number of systems in a label, and the name of one.

    >>> count_and_name("8 × DGX H100"), count_and_name("Bow Pod64")
    ((8, 'DGX H100'), (1, 'Bow Pod64'))
    """
    found = re.fullmatch(r"(\d+) × (.+)", label)
    return (int(found.group(1)), found.group(2)) if found else (1, label)


def day_of(found: re.Match[str]) -> date | None:
    try:
        return date(*(int(part) for part in found.groups()))
    except ValueError:
        return None
