from __future__ import annotations

import pytest

from tools.search_cost import exponent, measured, sized, straight

pytestmark = pytest.mark.endurance


def test_seconds_of_a_search_are_linear_in_its_plans() -> None:
    points = measured()
    fixed, each = straight(points)
    print(f"fixed milliseconds: {1e3 * fixed:.2f}; microseconds a plan: {1e6 * each:.3f}")
    # Twice the plans take twice the time, give or take what a cache and a busy machine do to it.
    assert 0.8 < exponent(points, 10_000) < 1.15
    assert max(point.count for point in points) > 100 * min(point.count for point in points)


def test_seconds_of_a_sizing_are_linear_in_its_searches() -> None:
    points = sized()
    for model in {point.model for point in points}:
        # Searches on few devices have few plans, so that few systems may take less than their share.
        assert exponent([point for point in points if point.model == model], 30) < 1.3
