"""Samples of a data set, the columns they come in, and lengths of texts in tokens.

A tokenizer's vocabulary decides how many tokens a text becomes; a stated rule brackets it without one. One
token for 4 characters of English is the rule of thumb OpenAI publishes for its vocabularies
(0.75 words for a token); a character of Chinese, Japanese or Korean becomes one to two tokens in
vocabularies made for English and less than one in those made for the language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.errors import Message

_WIDE = re.compile(
    "["
    "\u1100-\u11ff"  # Hangul letters
    "\u3040-\u30ff"  # Hiragana and Katakana
    "\u3130-\u318f"  # Hangul compatibility letters
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Chinese characters
    "\uac00-\ud7af"  # Hangul syllables
    "\U00020000-\U0003134f"  # rarer Chinese characters
    "]"
)

_SPACE = re.compile(r"\s+")
NARROW_TOKENS = 1 / 4
"""Tokens of one character outside the wide scripts, spaces included."""
NARROW_LOW = 1 / 5
NARROW_HIGH = 1 / 3
WIDE_TOKENS = 1.0
"""Tokens of one Chinese, Japanese or Korean character."""
WIDE_LOW = 0.6
WIDE_HIGH = 1.8

RULE = Message(
    "lengths are estimated from the text: one token per {narrow} characters ({narrow_low} to "
    "{narrow_high}), and {wide} per Chinese, Japanese or Korean character ({wide_low} to "
    "{wide_high}); a column of token lengths is exact",
    {
        "narrow": 4, "narrow_low": 3, "narrow_high": 5,
        "wide": WIDE_TOKENS, "wide_low": WIDE_LOW, "wide_high": WIDE_HIGH,
    },
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """Estimated tokens of a text, with the range over vocabularies."""

    tokens: int
    low: float
    high: float


def estimated_tokens(text: str) -> TokenEstimate:
    """Return the tokens of a text.

    >>> estimated_tokens("A sentence of forty characters, roughly.").tokens
    10
    >>> estimated_tokens("안녕하세요").tokens
    5
    """
    wide = len(_WIDE.findall(text))
    narrow = len(_SPACE.sub(" ", text).strip()) - wide
    return TokenEstimate(
        tokens=max(1, round(narrow * NARROW_TOKENS + wide * WIDE_TOKENS)),
        low=max(1.0, narrow * NARROW_LOW + wide * WIDE_LOW),
        high=max(1.0, narrow * NARROW_HIGH + wide * WIDE_HIGH),
    )


LENGTH_COLUMNS = ("length", "num_tokens", "n_tokens", "token_count", "tokens_count", "seq_len", "len")
"""Columns that give the length of a sample in tokens."""
LIST_COLUMNS = ("input_ids", "token_ids", "tokens", "ids")
"""Columns that list the tokens of a sample, or give their number."""
TEXT_COLUMNS = ("text", "content", "document", "body", "sentence", "article", "prompt", "question",
                "input", "instruction", "messages", "conversations", "query", "source",
                "premise", "sentence1")  # fmt: skip
"""Columns that hold text of a sample, the usual one first."""
ALONE = frozenset(("text", "messages", "conversations", "conversation"))
"""Columns that hold a whole sample: nothing is counted beside them."""
BESIDE = re.compile(
    r"^(_.*|(.*_)?ids?|url|uri|timestamp|date|time|lang(uage)?|categor(y|ies)|role|from|type|kind|labels?|licen[sc]e|"
    r"split|title|index|idx|score|rating|model|dataset|source|domain|topic|tags?|metadata|meta|created.*|"
    r"answer_start|is_impossible|weight|difficulty|name|file(_?name)?|path)$"
)
"""Columns about a sample, which no model reads."""
PAIRS = (("chosen", "rejected"),)
"""Columns of which each makes a sequence of its own with the rest of the row (preferences)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample: its length in tokens, or its text to estimate the length from."""

    line: int
    length: int | None = None
    text: str = ""
    count: int = 1
    """Samples of this length."""
    low: float | None = None
    """Least and most tokens of one sample where the length is an estimate."""
    high: float | None = None
    fields: tuple[str, ...] = ()
    """Fields of the row that were counted together."""
