"""Amounts of money in full: to the last unit in digits, and in words as contracts write them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

WITHOUT_MINOR = ("KRW", "JPY")
"""Currencies without a minor unit."""

MOST = 10**16
"""From here on amounts are not written in words."""

SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
GROUPS = ("", "thousand", "million", "billion", "trillion", "quadrillion")

ENGLISH = {
    "USD": ("US dollar", "US dollars", "cent", "cents"),
    "EUR": ("euro", "euros", "cent", "cents"),
    "KRW": ("Korean won", "Korean won", "", ""),
    "JPY": ("Japanese yen", "Japanese yen", "", ""),
    "CNY": ("yuan", "yuan", "fen", "fen"),
}
KOREAN = {
    "USD": ("미국 달러", "센트"),
    "EUR": ("유로", "센트"),
    "KRW": ("원", ""),
    "JPY": ("일본 엔", ""),
    "CNY": ("위안", "펀"),
}
CHINESE = {"USD": "美元", "EUR": "欧元", "KRW": "韩元", "JPY": "日元", "CNY": "人民币"}

KOREAN_DIGITS, KOREAN_PLACES, KOREAN_GROUPS = (
    "영일이삼사오육칠팔구",
    ("", "십", "백", "천"),
    ("", "만", "억", "조"),
)
CHINESE_DIGITS, CHINESE_PLACES, CHINESE_GROUPS = (
    "零壹贰叁肆伍陆柒捌玖",
    ("", "拾", "佰", "仟"),
    ("", "万", "亿", "万亿"),
)


def in_digits(amount: float, currency: str) -> str:
    """Return an amount to the last unit of its currency, grouped by thousands.

    >>> in_digits(461314859.0, "KRW"), in_digits(-3186912.6, "USD")
    ('461,314,859', '-3,186,912.60')
    """
    return f"{amount:,.{0 if currency in WITHOUT_MINOR else 2}f}"


def in_words(amount: float, currency: str, language: str) -> str:
    """Return an amount in words in a language; empty for what is negative or too large to be written.

    >>> in_words(507446345.0, "KRW", "ko")
    '일금 오억칠백사십사만육천삼백사십오 원정'
    >>> in_words(1200.5, "USD", "en")
    'one thousand two hundred US dollars and fifty cents'
    >>> in_words(10200.05, "CNY", "zh")
    '人民币壹万零贰佰元零伍分'
    """
    whole, minor = units(amount, currency)
    if amount < 0 or whole >= MOST:
        return ""
    if language == "ko":
        name, cents = KOREAN[currency]
        part = f" {grouped(minor, KOREAN_DIGITS, KOREAN_PLACES, KOREAN_GROUPS)} {cents}" if minor else ""
        return f"일금 {grouped(whole, KOREAN_DIGITS, KOREAN_PLACES, KOREAN_GROUPS)} {name}{part}정".replace(
            "센트정", "센트"
        )
    if language == "zh":
        return chinese(whole, minor, currency)
    one, many, cent, cents = ENGLISH[currency]
    said = f"{english(whole)} {one if whole == 1 else many}"
    return f"{said} and {english(minor)} {cent if minor == 1 else cents}" if minor else said


def units(amount: float, currency: str) -> tuple[int, int]:
    """Return the whole units and the hundredths of an amount."""
    places = Decimal(1) if currency in WITHOUT_MINOR else Decimal("0.01")
    hundredths = int(Decimal(repr(abs(amount))).quantize(places, ROUND_HALF_UP) * 100)
    return divmod(hundredths, 100)


def english(number: int) -> str:
    """Return a whole number in words.

    >>> english(3_186_912), english(1_000_020)
    ('three million one hundred eighty-six thousand nine hundred twelve', 'one million twenty')
    """
    if number == 0:
        return SMALL[0]
    said, place = list[str](), 0
    while number:
        number, three = divmod(number, 1000)
        if three:
            said.insert(0, f"{hundreds(three)} {GROUPS[place]}".strip())
        place += 1
    return " ".join(said)


def hundreds(number: int) -> str:
    hundred, rest = divmod(number, 100)
    said = [f"{SMALL[hundred]} hundred"] if hundred else []
    if rest >= 20:
        ten, one = divmod(rest, 10)
        said.append(TENS[ten] + (f"-{SMALL[one]}" if one else ""))
    elif rest:
        said.append(SMALL[rest])
    return " ".join(said)


def grouped(number: int, digits: str, places: tuple[str, ...], groups: tuple[str, ...]) -> str:
    """Return a whole number in groups of four digits, as Korean writes it.

    >>> grouped(120_000_034, KOREAN_DIGITS, KOREAN_PLACES, KOREAN_GROUPS)
    '일억이천만삼십사'
    """
    if number == 0:
        return digits[0]
    said, place = "", 0
    while number:
        number, four = divmod(number, 10_000)
        if four:
            said = four_digits(four, digits, places) + groups[place] + said
        place += 1
    return said


def four_digits(number: int, digits: str, places: tuple[str, ...]) -> str:
    figures = [(place, int(figure)) for place, figure in zip((3, 2, 1, 0), f"{number:04d}", strict=True)]
    return "".join(digits[figure] + places[place] for place, figure in figures if figure)


def chinese(whole: int, minor: int, currency: str) -> str:
    """Return an amount in the numerals of Chinese bills, which nobody can alter.

    >>> chinese(100_500_001, 0, "CNY"), chinese(3, 20, "USD")
    ('人民币壹亿零伍拾万零壹元整', '叁美元贰角')
    """
    said, empty, left, place = "", False, whole, 0
    while left:
        left, four = divmod(left, 10_000)
        if four:
            group = four_digits_with_zeros(four) + CHINESE_GROUPS[place]
            joined = "零" if said and empty else ""
            said = group + joined + said
            empty = four < 1000
        else:
            empty = bool(said)
        place += 1
    said = said or "零"
    tens, ones = divmod(minor, 10)
    cents = f"{CHINESE_DIGITS[tens]}角" if tens else "零" if ones else ""
    cents += f"{CHINESE_DIGITS[ones]}分" if ones else ""
    if currency == "CNY":
        return f"{CHINESE[currency]}{said}元{cents or '整'}"
    return f"{said}{CHINESE[currency]}{cents or '整'}"


def four_digits_with_zeros(number: int) -> str:
    said, gap = "", False
    for place, figure in zip((3, 2, 1, 0), f"{number:04d}", strict=True):
        if figure == "0":
            gap = bool(said)
            continue
        said += ("零" if gap else "") + CHINESE_DIGITS[int(figure)] + CHINESE_PLACES[place]
        gap = False
    return said
