"""No text makes a pattern try one way after the other: each of these once took minutes or for ever."""

import re
import subprocess
import sys

import pytest

from app.features.proposals.branding import NUMERIC, TRANSFORM
from app.profiles.summaries import _SHAPE

HARD = {
    "numbers without a gap": (NUMERIC, "1" * 400_000 + "x"),
    "numbers and gaps": (NUMERIC, "1 , " * 50_000 + "x"),
    "transforms and gaps": (TRANSFORM, "scale(1)   " * 40_000 + "x"),
    "a bracket and spaces": (_SHAPE, "[" + " " * 998),
    "brackets and spaces": (_SHAPE, "[" * 300 + " " * 600),
}


@pytest.mark.parametrize("name", HARD)
def test_a_text_meant_to_hold_a_pattern_up_does_not(name: str) -> None:
    pattern, text = HARD[name]
    # A pattern that is held up hears no signal: it is tried where it can be ended.
    code = f"import re; re.compile({pattern.pattern!r}).fullmatch({text!r})"
    subprocess.run([sys.executable, "-"], input=code, text=True, check=True, timeout=30)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (NUMERIC, "0 0 100 40"),
        (NUMERIC, "1.5.5-3,.25e-3 4px,50%"),
        (TRANSFORM, " translate(2 3) scale(1.5),rotate(-30 1e1 .5) "),
        (_SHAPE, "[1, 3, 224, 224]"),
        (_SHAPE, "(1,)"),
        (_SHAPE, "[--]".replace("-", "")),
    ],
)
def test_what_is_meant_is_read(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.fullmatch(text)
