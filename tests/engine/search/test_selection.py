"""What is shown of a search, against looking at every plan."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from app.engine.plans import Plans
from app.engine.search.selection import LITTLE, best_that_differ, least_on_any_number, pareto_set

figures = st.one_of(st.integers(0, 6).map(float), st.just(np.inf))

sizes = st.integers(0, 40)


def plans_of(tensor: np.ndarray, pipeline: np.ndarray) -> Plans:
    rest = {name: np.ones(tensor.shape) for name in Plans.__slots__}
    return Plans(**{**rest, "tensor": tensor, "pipeline": pipeline})


@given(size=sizes, keep=st.integers(1, 6), data=st.data())
def test_the_best_that_differ_are_the_cheapest_of_their_kind(
    size: int, keep: int, data: st.DataObject
) -> None:
    kinds = arrays(float, size, elements=st.integers(1, 3).map(float))
    tensor, pipeline = data.draw(kinds), data.draw(kinds)
    cost = data.draw(arrays(float, size, elements=figures))
    least: dict[tuple[float, float], float] = {}
    for kind, value in zip(zip(tensor.tolist(), pipeline.tolist(), strict=True), cost.tolist(), strict=True):
        if np.isfinite(value):
            least[kind] = min(value, least.get(kind, np.inf))
    found = best_that_differ(plans_of(tensor, pipeline), cost, ("tensor", "pipeline"), keep)
    assert cost[found].tolist() == sorted(least.values())[:keep]
    chosen = list(zip(tensor[found].tolist(), pipeline[found].tolist(), strict=True))
    assert len(set(chosen)) == len(chosen)
    assert [least[kind] for kind in chosen] == cost[found].tolist()


def test_a_rare_kind_is_found_among_many_cheaper_plans() -> None:
    """The first stretch of the cheapest plans has one kind only."""
    count = 100_000
    tensor = np.ones(count)
    tensor[-1] = 2.0
    found = best_that_differ(plans_of(tensor, np.ones(count)), np.arange(count, dtype=float), ("tensor",), 3)
    assert found.tolist() == [0, count - 1]


@given(size=st.integers(1, 40), data=st.data())
def test_of_equal_plans_the_one_is_taken_that_is_less_full(size: int, data: st.DataObject) -> None:
    tensor = data.draw(arrays(float, size, elements=st.integers(1, 3).map(float)))
    cost = data.draw(arrays(float, size, elements=st.integers(0, 2).map(float)))
    ties = data.draw(arrays(float, size, elements=st.integers(0, 4).map(float)))
    found = best_that_differ(plans_of(tensor, np.ones(size)), cost, ("tensor",), 3, ties=ties)
    for kind, place in zip(tensor[found], found, strict=True):
        alike = tensor == kind
        assert (cost[place], ties[place]) == min(zip(cost[alike], ties[alike], strict=True))


@given(size=st.integers(1, 30), data=st.data())
def test_more_devices_make_no_choice_slower_by_more_than_a_little(size: int, data: st.DataObject) -> None:
    """What is chosen on every number of devices, and which of these choices is taken, plan by plan."""
    devices = data.draw(arrays(float, size, elements=st.integers(1, 6).map(float)))
    seconds = data.draw(arrays(float, size, elements=st.integers(100, 108).map(float)))
    cost = seconds * data.draw(arrays(float, size, elements=st.sampled_from([1.0, 1.05, np.inf])))
    if not np.isfinite(cost).any():
        return
    chosen = set()
    for most in range(1, 7):
        inside = [place for place in range(size) if devices[place] <= most and np.isfinite(cost[place])]
        if inside:
            chosen.add(min(inside, key=lambda one: (cost[one], devices[one], seconds[one], one)))
    quickest = min(seconds[place] for place in chosen)
    near = [place for place in chosen if seconds[place] <= (1.0 + LITTLE) * quickest]
    expected = min(near, key=lambda one: (cost[one], seconds[one]))
    found = least_on_any_number(devices, cost, seconds)
    assert (cost[found], seconds[found]) == (cost[expected], seconds[expected])


@given(size=sizes, data=st.data())
def test_nothing_beats_the_pareto_set_and_it_beats_or_equals_the_rest(size: int, data: st.DataObject) -> None:
    first = data.draw(arrays(float, size, elements=figures))
    second = data.draw(arrays(float, size, elements=figures))
    points = np.stack([first, second], axis=1)
    finite = np.isfinite(points).all(axis=1)

    def beaten(one: np.ndarray) -> bool:
        others = points[finite]
        return bool(np.any(np.all(others <= one, axis=1) & np.any(others < one, axis=1)))

    found = pareto_set(first, second)
    expected = {tuple(one) for one in points[finite] if not beaten(one)}
    assert {tuple(points[place]) for place in found} == expected
    assert len(expected) == found.size
    assert np.all(np.diff(first[found]) > 0)
    assert np.all(np.diff(second[found]) < 0)
