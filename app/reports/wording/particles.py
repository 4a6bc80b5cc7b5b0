"""Korean particles that follow the last sound of the word before them."""

from __future__ import annotations

import re

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


def choose(found: re.Match[str]) -> str:
    """Return the particle that fits the word it follows."""
    before, closing, form = found.groups()
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
