"""Pruned sizings against exhaustive ones on fifty random requests: the best must never differ."""

import pytest

from app.sizing.size.answering import size
from tests.sizing.asking import sizing_context
from tests.sizing.size.requests import at_random, best

REQUESTS = 50


@pytest.mark.endurance
def test_pruning_never_misses_the_best() -> None:
    missed = []
    left_out = considered = 0
    for seed in range(REQUESTS):
        request = at_random(seed)
        pruned = size(request, sizing_context()).document
        whole = size(request, sizing_context(), exhaustive=True).document
        considered += pruned.considered
        left_out += pruned.pruned
        if best(pruned) != best(whole):
            missed.append((seed, best(pruned), best(whole)))
    print(f"missed the best: {len(missed)} of {REQUESTS}; left out {left_out} of {considered} candidates")
    assert missed == []
