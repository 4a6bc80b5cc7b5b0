"""Advice on networks that holds still, on a share of the drawn questions."""

import pytest

from tests.conftest import sizing_context
from tests.features.networks.drawn import check_holds_still

SHARE = range(10)
ALL = range(200)


@pytest.mark.parametrize("number", SHARE)
def test_followed_advice_stays_and_a_faster_network_never_loses(number: int) -> None:
    check_holds_still(number, sizing_context())


@pytest.mark.endurance
def test_two_hundred_drawn_questions_hold_still() -> None:
    recommended = [check_holds_still(number, sizing_context()) for number in ALL]
    assert sum(recommended) > 100
