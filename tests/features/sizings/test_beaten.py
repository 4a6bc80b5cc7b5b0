"""Bounds of a sizing: what is left out without a search would have changed nothing."""

import random

import numpy as np
import pytest

from app.estimating.workload import resolve_model
from app.features.sizings.answering import SizingSamples, size
from app.features.sizings.beaten import CROWDED, LITTLE, Rival, beaten
from app.features.sizings.model import SizingRequest
from app.features.sizings.options import SampledOption, weighing_of
from app.features.sizings.search import SystemSearch, is_power_of_two
from tests.conftest import sizing_context
from tests.features.sizings.conftest import DAY, MODELS

MOST = 256


def request(name: str, **limits: object) -> SizingRequest:
    return SizingRequest.model_validate({**MODELS[name], "most_accelerators": MOST, **limits})


@pytest.fixture(scope="module", params=["gpt3-175b", "mixtral", "resnet50"])
def both(request: pytest.FixtureRequest) -> tuple[SystemSearch, SizingSamples]:
    """The whole catalogue at every power of two, searched one and all, and its sizing."""
    asked = SizingRequest.model_validate({**MODELS[request.param], "most_accelerators": MOST})
    context = sizing_context()
    everything = SystemSearch(asked, resolve_model(asked.model, context), context)
    counts = everything.systems().items()
    everything._search([(name, count) for name, some in counts for count in some if is_power_of_two(count)])
    return everything, size(asked, context)


def test_no_plan_is_faster_or_smaller_than_its_bound(both: tuple[SystemSearch, SizingSamples]) -> None:
    everything, _ = both
    for option in everything.options:
        _, group = everything._systems[option.document.system]
        if option.document.fits:
            assert group.least_on(option.document.accelerators) <= option.seconds, option.document.id
            assert option.document.accelerators > group.too_few, option.document.id


def test_what_is_left_out_is_beaten(both: tuple[SystemSearch, SizingSamples]) -> None:
    everything, sizing = both
    found = {option.document.id: option for option in everything.options}
    known = np.array([everything._rival(option) for option in sizing.options])
    left = [
        found[f"{entry.system}-x{entry.count}"]
        for entry in sizing.document.left_out
        if f"{entry.system}-x{entry.count}" in found
    ]
    fitting = [option for option in left if option.document.fits]
    rows = np.array([everything._rival(option) for option in fitting])
    assert len(left) > len(sizing.options) / 2
    assert beaten(rows, known).all()


@pytest.mark.parametrize("days", [0.5, 5, 50, 500])
def test_the_recommendation_is_that_of_all_searches(
    both: tuple[SystemSearch, SizingSamples], days: float
) -> None:
    everything, sizing = both
    asked = everything.request.model_copy(update={"deadline_s": days * DAY})

    def least(options: list[SampledOption]) -> float:
        weighing = weighing_of(options, asked, everything.term)
        return min((float(weighing.outlay[index]) for index in weighing.leading), default=np.inf)

    assert least(list(sizing.options)) <= least(everything.options) * (1.0 + 1e-9)


def test_an_option_is_beaten_by_what_is_faster_and_costs_less() -> None:
    mine = Rival(kind=0.0, seconds=100.0, money=10.0, power=0.0, accelerators=8.0, for_sale=1.0)

    def beats(**changes: float) -> bool:
        return bool(beaten(np.array([mine]), np.array([mine._replace(**changes)]))[0])

    assert beats(seconds=99.0) and beats(money=9.0) and not beats()
    assert beats(money=9.0, seconds=100.0 * (1.0 + LITTLE / 2)) and not beats(money=9.0, seconds=102.0)
    # Another kind, more accelerators or something that is not for sale may be out of the question.
    for change in ({"kind": 1.0}, {"accelerators": 16.0}, {"for_sale": 0.0}, {"power": 1.0}):
        assert not beats(seconds=50.0, **change)
    assert CROWDED > 1.0


def test_a_named_system_is_searched_at_every_count() -> None:
    draw = random.Random(1)
    context = sizing_context()
    name = draw.choice([entry.system for entry in size(request("gpt3-175b"), context).document.left_out])
    found = size(request("gpt3-175b", systems=[name]), context).document
    assert not [entry for entry in found.left_out if entry.reason != "no_plan"]


def test_where_nothing_holds_the_model_the_largest_say_so() -> None:
    model = {"model": {"preset": "megatron-1t"}, "workload": {"tokens": 1e9}, "most_accelerators": 8}
    asked = SizingRequest.model_validate(model)
    found = size(asked, sizing_context()).document
    assert found.recommended is None
    assert found.options and {option.why_not for option in found.options} == {"does_not_fit"}
