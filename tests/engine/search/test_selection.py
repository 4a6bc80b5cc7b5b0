"""What is shown of a search, against looking at every plan."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from app.engine.plans import Plans
from app.engine.search import best_that_differ, pareto_set

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
