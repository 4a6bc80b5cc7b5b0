"""What is recommended and what not, and why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadInput
from app.estimating.request import WorkloadInput
from app.features.proposals.branding import READABLE, accent_of, contrast_with_white, readable
from app.features.proposals.model import Advice, ProposalContent
from app.features.studies.side_by_side import OptionEntry
from tests.features.proposals.conftest import CLAIMED, content, request_of
from tests.support.documents import estimate

DAY = 86_400.0


def option(label: str, days: float, count: int, system: str = "dgx-a100-640gb") -> OptionEntry:
    """Return an option with a time of its own, which its system costs what it costs."""
    one = estimate(label, label, days * DAY)
    asked = request_of(one)
    hardware = asked.system.model_copy(update={"id": system, "count": count})
    workload = WorkloadInput(tokens=3e11)
    return OptionEntry(asked.model_copy(update={"system": hardware, "workload": workload}), one)


SMALL, LARGE = option("small", 20, 4), option("large", 8, 8)
RENTED = option("rented", 20, 4, "aws-p4d")


def proposed(*options: OptionEntry, **asked: Any) -> ProposalContent:
    return content(options, **asked)


def reasons(advice: Advice, label: str) -> list[dict[str, Any]]:
    """Return the values of each reason against an option."""
    return [reason.values for one in advice.avoid if one.label == label for reason in one.reasons]


def test_the_least_outlay_is_recommended_where_nothing_is_asked() -> None:
    advice = proposed(LARGE, SMALL).advice
    assert advice.recommended == advice.by_rule == "small"
    # What is faster for more money is a choice, not a mistake.
    assert advice.avoid == []
    faster = next(reason.values for reason in advice.reasons if "sooner" in reason.values)
    assert (faster["option"], faster["sooner"]["values"]["number"]) == ("large", 12)


def test_what_is_rented_for_less_is_recommended_and_a_purchase_is_not() -> None:
    advice = proposed(SMALL, RENTED).advice
    assert advice.recommended == "rented"
    (dearer,) = reasons(advice, "small")
    assert dearer["option"] == "rented" and dearer["extra"]["values"]["whole"] > 0


def test_the_cheapest_that_keeps_the_deadline_is_recommended() -> None:
    found = proposed(LARGE, SMALL, deadline_s=15 * DAY)
    assert found.advice.recommended == "large"
    (late,) = reasons(found.advice, "small")
    assert [late[name]["values"]["number"] for name in ("time", "limit", "excess")] == [20, 15, 5]


def test_nothing_is_recommended_where_nothing_keeps_the_limits() -> None:
    found = proposed(SMALL, budget=1e6, budget_kind="purchase")
    assert found.advice.recommended is None and found.offered == []
    (dear,) = reasons(found.advice, "small")
    amounts = {name: dear[name]["values"]["whole"] for name in ("cost", "excess", "limit")}
    assert amounts["limit"] == 1e6 and amounts["excess"] == amounts["cost"] - 1e6
    assert found.decision is not None and found.decision.nearest is not None


def test_a_budget_for_a_purchase_pays_no_rent() -> None:
    found = proposed(SMALL, RENTED, budget=1e12, budget_kind="purchase").advice
    assert found.recommended == "small" and reasons(found, "rented") == [{}]


def test_an_author_may_choose_otherwise_and_what_it_breaks_is_said_by_how_much() -> None:
    advice = proposed(LARGE, SMALL, deadline_s=15 * DAY, recommended="small").advice
    assert (advice.recommended, advice.by_rule) == ("small", "large")
    first, otherwise = advice.reasons
    why = first.values["why"]["values"]
    assert first.values["option"] == "small" and why["excess"]["values"]["number"] == 5
    assert otherwise.values == {"option": "large"}
    assert "large" not in {one.label for one in advice.avoid}


def test_what_an_author_pays_for_speed_is_said() -> None:
    first = proposed(LARGE, SMALL, recommended="large").advice.reasons[0]
    why = first.values["why"]["values"]
    assert why["sooner"]["values"]["number"] == 12 and why["extra"]["values"]["whole"] > 0


def test_what_does_not_fit_cannot_be_chosen() -> None:
    small = estimate("none", "none", fits=False)
    with pytest.raises(BadInput):
        proposed(OptionEntry(request_of(small), small), recommended="none")


def test_published_figures_are_no_offer_but_may_be_chosen() -> None:
    advice = proposed(*CLAIMED).advice
    assert advice.recommended is None
    assert {one.label for one in advice.avoid} == {"3 × DGX A100"}, "an extrapolation"
    chosen = proposed(*CLAIMED, recommended="1 × IPU-POD64").advice
    assert chosen.recommended == "1 × IPU-POD64"
    # Have it measured before signing.
    assert chosen.reasons[-1].values == {"option": "1 × IPU-POD64"}


def test_no_power_of_a_rented_system_and_no_time_beyond_the_deadline_is_committed_to() -> None:
    bought, rented = proposed(SMALL).acceptance, proposed(RENTED).acceptance
    assert {one.figure for one in bought} - {one.figure for one in rented} == {"system.power"}
    time = next(one for one in bought if one.figure == "time_to_train")
    limit = (time.committed + time.expected.value) / 2
    short = proposed(SMALL, deadline_s=limit, probability=0.5).acceptance
    assert short and "time_to_train" not in {one.figure for one in short}


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
