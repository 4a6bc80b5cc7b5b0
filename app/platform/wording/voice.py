"""Words and numbers as a reader of one language expects them."""

from __future__ import annotations

import csv
import datetime
import functools
import gettext
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from gettext import NullTranslations
from pathlib import Path
from typing import Any

from babel import Locale
from babel.dates import format_date
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from pydantic import JsonValue

from app.catalog.defaults import CURRENCIES
from app.errors import Message
from app.estimating.documents import Text
from app.estimating.ranges import COUNTS, MONEY, SENTENCES, chance
from app.estimating.schema import Quantity
from app.platform.wording import scales
from app.platform.wording.amounts import in_digits
from app.platform.wording.scales import Scale, decimal, decimals_of, scale_of
from app.profiles.presets import beside

LOCALE_FOLDER = "data/locale"


def folder() -> Path:
    return beside(LOCALE_FOLDER)


def _read() -> dict[str, str]:
    with (folder() / "labels.csv").open(encoding="utf-8", newline="") as file:
        return {row["key"]: row["text"] for row in csv.DictReader(file)}


LABELS = _read()


@functools.cache
def terms() -> list[dict[str, str]]:
    """Return the terms that every sentence of a language writes alike, and what it does not call them."""
    with (folder() / "terms.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


STEP = "step."

SOFTWARE = "software."


def words(code: str, place: str = "") -> str:
    """Return English words for an identifier; unknown ones with spaces for underscores.

    A step of the trace is named after its part of the time, a sensitivity after its figure.

    >>> words("optimizer", "memory"), words("tensor_comm"), words("rank_count")
    ('Optimizer state', 'Tensor-parallel communication', 'rank count')
    """
    if code.startswith(STEP):
        code, place = code.removeprefix(STEP), "part"
    if code not in LABELS and code.startswith(SOFTWARE):
        code = code.removeprefix(SOFTWARE)
    return LABELS.get(f"{place}.{code}") or LABELS.get(code) or code.replace("_", " ")


@functools.cache
def translations(language: str) -> gettext.NullTranslations:
    """Return the catalogue of one language; the keys themselves where there is none."""
    path = folder() / language / "LC_MESSAGES" / "messages.po"
    if not path.is_file():
        return gettext.NullTranslations()
    with path.open("rb") as file:
        catalog = read_po(file, locale=language)
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


PAIRS = {
    "은(는)": ("은", "는"),
    "이(가)": ("이", "가"),
    "을(를)": ("을", "를"),
    "과(와)": ("과", "와"),
    "(으)로": ("으로", "로"),
    "(이)라": ("이라", "라"),
}
"""Written form in a template → after a closed syllable, after an open one."""

CLOSED_DIGITS = "013678"

LIQUID_DIGITS = "178"

CLOSED_LETTERS = "LMNRlmnr"

LIQUID_LETTERS = "LRlr"

FIRST_SYLLABLE, LAST_SYLLABLE, FINALS, RIEUL = 0xAC00, 0xD7A3, 28, 8

PATTERN = re.compile(r"([0-9A-Za-z가-힣])([”’\"')\]]*)(" + "|".join(re.escape(form) for form in PAIRS) + ")")


def ending(character: str) -> tuple[bool, bool]:
    """Return whether a character is read with a closed last syllable, and whether that closes on ㄹ."""
    if FIRST_SYLLABLE <= ord(character) <= LAST_SYLLABLE:
        final = (ord(character) - FIRST_SYLLABLE) % FINALS
        return final != 0, final == RIEUL
    if character.isdigit():
        return character in CLOSED_DIGITS, character in LIQUID_DIGITS
    return character in CLOSED_LETTERS, character in LIQUID_LETTERS


def choose(match: re.Match[str]) -> str:
    """Return the particle that fits the word it follows."""
    before, closing, form = match.groups()
    closed, liquid = ending(before)
    after_closed, after_open = PAIRS[form]
    # 로 follows ㄹ as it follows a vowel: 서울로, not 서울으로.
    takes_open = not closed or (form == "(으)로" and liquid)
    return f"{before}{closing}{after_open if takes_open else after_closed}"


def agree(sentence: str) -> str:
    """Replace every two-way particle of a sentence by the one that fits.

    >>> agree("IPU-POD256은(는) 320개를 담을 수 없습니다")
    'IPU-POD256은 320개를 담을 수 없습니다'
    >>> agree("메모리(으)로")
    '메모리로'
    """
    return PATTERN.sub(choose, sentence)


LANGUAGES = ("ko", "en")
"""Languages of the pages; the first is spoken when the reader states none."""

WRITTEN = (*LANGUAGES, "zh")
"""Languages of proposals: the catalogue of Chinese has what a proposal says, and not the pages around it."""

LOCALES = {"zh": "zh_Hans_CN"}
"""Language → whose numbers and dates it writes, where the language alone does not say."""

JOINED = {"ko", "zh"}
"""Languages that write 46.4% in a sentence as in a figure, and their own units without a space."""

SIGNS = {"zh": {".": "。", ", ": "、", ": ": "："}}
"""Language → the signs it writes for those of English."""

MISSING = "–"

PER_CENT = re.compile(r"(?<=\d) %")

COUNT_WORDS = frozenset(SENTENCES[word] for _, word in COUNTS)
"""Templates of large counts, which every language groups in its own way."""

NAMED = {"part": "memory"}
"""Place of a sentence that holds an identifier → what it identifies: most of a device's memory is {part}."""


def template_of(sentence: Text | Message | Mapping[str, object]) -> str:
    """Return the template of a sentence, which may have been read back from a document."""
    return str(sentence["template"]) if isinstance(sentence, Mapping) else sentence.template


@dataclass(frozen=True, slots=True)
class Voice:
    """Writes for readers of one language."""

    language: str
    catalog: NullTranslations
    locale: Locale

    def gettext(self, text: str) -> str:
        return self.catalog.gettext(text) if text else ""

    def ngettext(self, one: str, many: str, count: int) -> str:
        return self.catalog.ngettext(one, many, count)

    def say(self, sentence: Text | Message | Mapping[str, object] | str) -> str:
        """Write a sentence of a document: translate its template, write its values."""
        if isinstance(sentence, str):
            return self.gettext(sentence)
        if isinstance(sentence, Mapping):
            template, values = template_of(sentence), sentence.get("values") or {}
        else:
            template, values = sentence.template, sentence.values
        assert isinstance(values, Mapping)
        written_values = {name: self._placeholder(name, value) for name, value in values.items()}
        written = self.gettext(template).format(**written_values)
        joined = PER_CENT.sub("%", written) if self.language in JOINED else written
        return agree(joined) if self.language == "ko" else joined

    def sentence(self, sentence: Text | Message | Mapping[str, object] | str) -> str:
        """Write a sentence that stands alone: English ones begin with a capital.

        One that begins with a value keeps it as it is; identifiers have no capitals.
        """
        text = self.say(sentence)
        template = sentence if isinstance(sentence, str) else template_of(sentence)
        return text if template.startswith("{") else text[:1].upper() + text[1:]

    def ended(self, sentence: str) -> str:
        return f"{sentence}{self.sign('.')}"

    def sign(self, sign: str) -> str:
        """Return what the language writes for a sign of English, with the spaces around it."""
        return SIGNS.get(self.language, {}).get(sign, sign)

    def count(self, value: float) -> str:
        """Write a large count as it is spoken: 174.6B, 1,746억, or 1746亿; a round one as 100M, 1억, 1亿."""
        return scales.CountingUnit.of(value, self.language, digits=4).digits(value, trim=True)

    def _placeholder(self, name: str, value: object) -> str:
        """Write the value of a place; in some places it is an identifier that stands for words."""
        if name == "fields":
            return self._fields(value)
        if name in NAMED and isinstance(value, Text | Message | Mapping):
            return self.label(template_of(value), NAMED[name])
        return self._value(value)

    def _value(self, value: object) -> str:
        """Write one value of a sentence."""
        if isinstance(value, Text | Message | Mapping):
            if template_of(value) == MONEY:
                values: Mapping[str, Any] = value["values"] if isinstance(value, Mapping) else value.values
                # Documents that were kept before have the rounded amount alone.
                return self.value(values.get("whole", values["amount"]), values["currency"])
            if self.language != "en" and template_of(value) in COUNT_WORDS:
                counted: Mapping[str, Any] = value["values"] if isinstance(value, Mapping) else value.values
                return scales.CountingUnit.of(counted["count"], self.language).digits(
                    counted["count"], trim=True
                )
            return self.say(value)
        if isinstance(value, bool):
            return self.gettext("yes") if value else self.gettext("no")
        if isinstance(value, int | float):
            return self.number(value, digits=6)
        # A value may be a name ("DGX A100") or a word with a translation ("weights").
        return self.gettext(str(value))

    def _fields(self, names: object) -> str:
        """Write what fields are called; inside a sentence, so without a capital."""
        labels = [self.label(name) for name in str(names).split(", ")]
        # SDK and MFU stay as they are.
        return self.sign(", ").join(
            label if label[1:2].isupper() else f"{label[:1].lower()}{label[1:]}" for label in labels
        )

    def label(self, code: str, place: str = "") -> str:
        """Return the words for an identifier of the schema, which may mean different things by place."""
        return self.gettext(words(code, place))

    def decimal(self, value: float, decimals: int, trim: bool = False) -> str:
        return decimal(value, decimals, trim)

    def number(self, value: float | None, digits: int = 3) -> str:
        """Write a bare number in significant digits, whole numbers in full.

        A number too long or too short to read gets a power of ten.
        """
        if value is None:
            return MISSING
        if float(value).is_integer() and abs(value) < 1e15:
            return self.decimal(value, 0)
        if not 1e-4 <= abs(value) < 1e15:
            return f"{value:.{digits - 1}e}".replace("e+", "e")
        return self.decimal(value, decimals_of(value, digits), trim=True)

    def percent(self, share: float | None, digits: int = 3) -> str:
        if share is None:
            return MISSING
        return f"{self.decimal(share * 100, decimals_of(share * 100, digits), trim=True)}%"

    def chance(self, probability: float | None) -> str:
        """Write a probability, never as impossible or certain."""
        return MISSING if probability is None else self.say(chance(probability))

    def share(self, share: float) -> str:
        """Write a part of a whole as a percentage with one decimal."""
        return f"{self.small(share * 100, 1)}%"

    def part(self, value: float, scale: Scale, whole: float) -> str:
        """Write a part of a time in the unit of the whole, one digit finer than the whole is written."""
        decimals = decimals_of(whole / scale.size, scale.digits) + 1
        return f"{self.small(value / scale.size, decimals)}{self.unit(scale.unit)}"

    def small(self, value: float, decimals: int) -> str:
        """Write a number that may vanish at so many decimals: ``<0.1``."""
        least = 10.0**-decimals
        return f"<{self.decimal(least, decimals)}" if 0 < value < least / 2 else self.decimal(value, decimals)

    def unit(self, unit: str) -> str:
        """Write a unit after a number; Korean and Chinese words stand without a space: 13.2시간, 80 GB."""
        word = self.gettext(unit)
        joined = self.language in JOINED and not word.isascii() and word != unit
        return word if joined or not word else f" {word}"

    def ratio(self, value: float) -> str:
        """Write how many times one is the other: ``5.3×``, and ``1.04×`` near one."""
        return f"{self.decimal(value, 2 if value < 1.1 else 1)}×"

    def quantity(self, quantity: Quantity | None, scale: Scale | None = None) -> str:
        """Write a quantity with its range: ``13.2 h (12.1–14.6)``."""
        if quantity is None:
            return MISSING
        if quantity.low == quantity.high:
            return self.value(quantity.value, quantity.unit, scale)
        return f"{self.central(quantity, scale)} {self.spread(quantity, scale)}"

    def central(self, quantity: Quantity | None, scale: Scale | None = None) -> str:
        """Write the value of a quantity without its range."""
        if quantity is None:
            return MISSING
        return self.value(quantity.value, quantity.unit, scale, exact=quantity.low == quantity.high)

    def spread(self, quantity: Quantity | None, scale: Scale | None = None) -> str:
        """Write the range of a quantity in the unit of its value: ``(12.1–14.6)``; empty if exact."""
        if quantity is None or quantity.low == quantity.high:
            return ""
        if quantity.unit in CURRENCIES:
            shown = scales.CountingUnit.of(quantity.value, self.language)
            return self._between(*(shown.digits(end) for end in (quantity.low, quantity.high)))
        if quantity.unit == "1":
            decimals = self._decimals_of_share(quantity)
            return self._between(
                *(self.decimal(end * 100, decimals) for end in (quantity.low, quantity.high))
            )
        shown_in = scale or scale_of(quantity.value, quantity.unit)
        size = shown_in.size
        decimals = decimals_of(quantity.value / size, shown_in.digits)
        ends = (rounded(end / size) for end in (quantity.low, quantity.high))
        return self._between(*(self.decimal(end, decimals) for end in ends))

    def full_spread(self, quantity: Quantity | None) -> str:
        """Write the range of an amount of money as ``full`` writes its value."""
        if quantity is None or quantity.low == quantity.high:
            return ""
        ends = (quantity.low, quantity.high)
        whole = quantity.unit in scales.WHOLE or max(map(abs, ends)) >= 1000
        return self._between(*(self.decimal(end, 0 if whole else 2) for end in ends))

    def _between(self, low: str, high: str) -> str:
        """Write the ends of a range; a dash before a minus sign could not be told from it."""
        if low.startswith("-"):
            return f"({self.gettext('{low} to {high}').format(low=low, high=high)})"
        return f"({low}–{high})"

    @staticmethod
    def _decimals_of_share(quantity: Quantity) -> int:
        """Return the decimals of a range in percent: not finer than its widest end needs."""
        widest = max(1, decimals_of(max(abs(quantity.low), abs(quantity.high)) * 100))
        return min(widest, decimals_of(quantity.value * 100)) if quantity.value else widest

    def value(self, value: float | None, unit: str, scale: Scale | None = None, exact: bool = True) -> str:
        """Write a value with its unit; shares (unit 1) as a percentage."""
        if value is None:
            return MISSING
        if unit in CURRENCIES:
            return scales.compact(value, unit, self.language)
        if unit == "1":
            return self.percent(value)
        shown = scale or scale_of(value, unit)
        size = value / shown.size
        size = size if exact else rounded(size)
        written = self.decimal(size, decimals_of(size, shown.digits, exact=exact), trim=exact)
        return f"{written}{self.unit(shown.unit)}"

    def amount(self, value: float) -> str:
        """Write a round amount of money on an axis, whose title names the currency."""
        return scales.CountingUnit.of(value, self.language).digits(value, trim=True)

    def full(self, value: float | None, unit: str) -> str:
        """Write an amount of money to the last digit that counts: won without decimals."""
        return MISSING if value is None else scales.full(value, unit, self.locale)

    def exact(self, value: float, unit: str) -> str:
        """Write an amount of money to the last unit of its currency, cents included."""
        digits = in_digits(abs(value), unit)
        minus = "\N{MINUS SIGN}" if value < 0 else ""
        if unit == "USD" and self.language in scales.DOLLARS:
            return f"{minus}{digits}{scales.DOLLARS[self.language]}"
        return f"{minus}{scales.SYMBOLS[unit]}{digits}"

    def date(self, written: str | datetime.datetime) -> str:
        """Write an ISO date, or the day of a moment; a year or a month alone stays as it is."""
        if isinstance(written, datetime.datetime):
            return self.date(written.date().isoformat())
        if not written[:1].isdigit():
            return self.gettext(written)
        try:
            day = datetime.date.fromisoformat(written)
        except ValueError:
            return written
        return str(format_date(day, "medium", locale=self.locale))

    def moment(self, moment: datetime.datetime | None) -> str:
        """Write a moment as day and time; empty without one."""
        return "" if moment is None else f"{self.date(moment)} {moment:%H:%M} UTC"


def rounded(value: float) -> float:
    """Round a value above a thousand to three digits; it is not known to more."""
    return float(f"{value:.3g}") if abs(value) >= 1000 else value


@functools.cache
def voice(language: str) -> Voice:
    """Return the voice of a language, of the first language where it is not known."""
    known = language if language in WRITTEN else LANGUAGES[0]
    return Voice(known, translations(known), Locale.parse(LOCALES.get(known, known)))


def written(value: JsonValue | Text, voice: Voice, place: str = "") -> str:
    """Write any value of a document for reading; identifiers by what they mean in their place."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return voice.gettext("yes") if value else voice.gettext("no")
    if isinstance(value, int | float):
        return voice.number(value, digits=6)
    if isinstance(value, Text):
        return voice.say(value)
    if isinstance(value, list):
        return voice.sign(", ").join(written(item, voice) for item in value) or "–"
    if isinstance(value, dict):
        return voice.sign(", ").join(
            f"{voice.label(name)} {written(item, voice)}" for name, item in value.items()
        )
    return voice.label(value, place)


SHARES = frozenset(
    {
        "utilisation",
        "discount_rate",
        "residual_share",
        "memory_margin",
        "growth",
        "own_growth",
        "support",
        "probability",
    }
)
"""Fields that are parts of a whole, by their last name; people say them in percent."""


LABELLED = ("fabric", "stack", "optimizer")
"""Prefixes of the labels of networks, software profiles and optimizers."""


def label_key(identifier: str) -> str:
    """Return the key of the label of a network, software profile or optimizer, else the identifier."""
    return next((key for kind in LABELLED if (key := f"{kind}.{identifier}") in LABELS), identifier)


def stated(field: str, value: JsonValue | Text, voice: Voice) -> str:
    """Write the value of a field of a request: shares in percent, names in place of identifiers."""
    if isinstance(value, str) and (key := label_key(value)) != value:
        return voice.label(key)
    if field.rpartition(".")[2] in SHARES and isinstance(value, int | float) and not isinstance(value, bool):
        return voice.percent(value)
    return written(value, voice)
