"""What is recommended and what not, and why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadInput
from app.estimating.money import Cost
from app.features.comparisons.compare import ComparisonEntry
from app.features.proposals.advice import CustomerLimits, advise
from app.features.proposals.branding import READABLE, accent_of, contrast_with_white, readable
from app.features.proposals.model import Advice
from tests.features.proposals.conftest import CLAIMED, compared, request_of
from tests.support.documents import estimate

DAY = 86_400.0


def option(
    label: str, days: float, cost: float, count: int = 128, fabric: str = "hdr-infiniband"
) -> ComparisonEntry:
    """Return an option with a time and a cost of its own."""
    one = estimate(label, label, days * DAY)
    assert one.cost is not None
    run = one.cost.run.model_copy(update={"value": cost, "low": 0.9 * cost, "high": 1.1 * cost})
    priced: Cost = one.cost.model_copy(update={"run": run})
    system = one.system.model_copy(update={"count": count, "fabric": fabric})
    changed = one.model_copy(update={"cost": priced, "system": system})
    return ComparisonEntry(request_of(changed), changed)


def reasons(advice: Advice, label: str) -> list[dict[str, Any]]:
    """Return the values of each reason against an option."""
    return [reason.values for one in advice.avoid if one.label == label for reason in one.reasons]


def test_the_cheapest_is_recommended_where_nothing_is_asked() -> None:
    advice = advise(compared([option("fast", 10, 3e6), option("cheap", 20, 2e6)]), CustomerLimits(), None)
    assert (advice.recommended, advice.cheapest, advice.fastest) == ("cheap", "cheap", "fast")
    # What is faster for more money is a choice, not a mistake.
    assert advice.avoid == []
    faster = advice.reasons[1].values
    assert (faster["option"], faster["saved"]["values"]["number"], faster["extra"]["values"]["whole"]) == (
        "fast",
        10,
        1e6,
    )


def test_the_cheapest_that_keeps_the_deadline_is_recommended() -> None:
    options = [option("fast", 10, 3e6), option("cheap", 20, 2e6), option("fastest", 5, 9e6)]
    advice = advise(compared(options), CustomerLimits(deadline_s=15 * DAY), None)
    assert advice.recommended == "fast"
    (late,), (needless,) = reasons(advice, "cheap"), reasons(advice, "fastest")
    assert (late["time"]["values"]["number"], late["limit"]["values"]["number"]) == (20, 15)
    assert (needless["option"], needless["extra"]["values"]["whole"]) == ("fast", 6e6)


def test_what_is_slower_and_dearer_is_not_to_be_bought() -> None:
    advice = advise(compared([option("good", 10, 2e6), option("bad", 20, 3e6)]), CustomerLimits(), None)
    assert 2 in reasons(advice, "bad")[0].values()


def test_a_faster_network_under_the_threshold_is_not_recommended() -> None:
    options = [option("RoCE", 10, 2e6, fabric="roce-200"), option("InfiniBand", 9.8, 2.4e6)]
    advice = advise(compared(options), CustomerLimits(), None)
    (reason,) = reasons(advice, "InfiniBand")
    assert (reason["gain"], reason["threshold"]) == (pytest.approx(2.04), 5)


def test_nothing_is_recommended_where_nothing_keeps_the_limits() -> None:
    advice = advise(compared([option("a", 10, 2e6)]), CustomerLimits(budget=1e6), None)
    assert advice.recommended is None
    assert reasons(advice, "a")[0].keys() >= {"limit"}


def test_an_author_may_choose_otherwise_and_it_is_said() -> None:
    advice = advise(compared([option("fast", 10, 3e6), option("cheap", 20, 2e6)]), CustomerLimits(), "fast")
    assert (advice.recommended, advice.by_rule) == ("fast", "cheap")
    assert any("cheap" in reason.values.values() for reason in advice.reasons)


def test_what_does_not_fit_cannot_be_chosen() -> None:
    small = estimate("small", "small", fits=False)
    with pytest.raises(BadInput):
        advise(compared([ComparisonEntry(request_of(small), small)]), CustomerLimits(), "small")


def test_an_extrapolation_is_named_as_one() -> None:
    advice = advise(compared(CLAIMED), CustomerLimits(), None)
    assert advice.recommended == "1 × IPU-POD64"
    assert reasons(advice, "3 × DGX A100") == [{"option": "1 × IPU-POD64", "ratio": 1.76}, {}]


@given(st.integers(0, 0xFFFFFF))
def test_every_accent_can_be_read_on_white(colour: int) -> None:
    asked = f"#{colour:06x}"
    used, note = accent_of(asked)
    assert contrast_with_white(used) >= READABLE
    assert (note is None) == (used == asked)
    assert readable(used) == used


def test_contrast_is_that_of_the_guideline() -> None:
    # WCAG 2.2: #767676 is the lightest grey that passes on white.
    assert contrast_with_white("#767676") >= READABLE > contrast_with_white("#777777")
