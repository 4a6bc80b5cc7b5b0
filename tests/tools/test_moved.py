"""What a change moved: the pinned answers, and what is told of a change."""

import math

from app.estimating.context import SizingContext
from tools.documents import ROOT
from tools.moved import DRAWN, PINNED, Move, answers, moves, pinned, told

KEY = ("bert-large", "dgx-a100-640gb", 2)


def test_the_same_answers_move_nothing(context: SizingContext) -> None:
    before = pinned(ROOT / PINNED)
    assert 0.5 * DRAWN < len(before) <= DRAWN
    some = dict(list(before.items())[:: len(before) // 5])
    assert moves(some, dict(answers(context, list(some)))) == []


def test_what_moved_came_or_went_is_told_by_figure() -> None:
    before = {KEY: {"seconds": 100.0, "money": None}, ("a", "b", 1): {"seconds": 5.0, "money": 1.0}}
    after = {KEY: {"seconds": 110.0, "money": 3.0}}
    found = moves(before, after)
    assert Move(KEY, "seconds", 100.0, 110.0) in found and len(found) == 4
    assert [one.size for one in found][-1] == math.log(1.1)
    lines = list(told(found, 2))
    assert lines[0] == "seconds: 2 of 2 moved, by 10.0 % in the median; 1 came or went"
