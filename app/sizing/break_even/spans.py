"""Samples of inputs whose ends are given, or that the catalogue's prices bring."""

from __future__ import annotations

import numpy as np

from app.engine.records import Floats
from app.engine.uncertainty import standard_normals
from app.sizing.break_even.amounts import BreakEvenAmounts
from app.sizing.break_even.request import BreakEvenRequest, RangesInput
from app.sizing.failures import DECILES
from app.sizing.spread import SEED

SAMPLES = 512
"""Samples of an answer; a probability is then known to a fifth of a percent."""

DECILE = DECILES / 2.0
"""Standard deviations from the middle to the 10th or the 90th percentile of a normal distribution."""

AMOUNTS = ("capex", "onprem_monthly", "cloud_monthly")
"""Inputs that are above zero, and vary by factors."""


def spans_of(request: BreakEvenRequest, amounts: BreakEvenAmounts) -> dict[str, tuple[float, float]]:
    """Return the inputs that are not known exactly, each with its ends."""
    found = {}
    if amounts.capex_range is not None:
        found["capex"] = amounts.capex_range
    if request.ranges is not None:
        for name in RangesInput.model_fields:
            given = getattr(request.ranges, name)
            if given is not None:
                found[name] = (given.low, given.high)
    return {name: ends for name, ends in found.items() if ends[0] < ends[1]}


def sampled(inputs: dict[str, float], spans: dict[str, tuple[float, float]]) -> dict[str, Floats]:
    """Return every input as samples; those with ends as two half-normals that meet at the value.

    A tenth of the samples lies below the low end and a tenth above the high one.
    """
    # One column for each input that may vary, so that leaving one out leaves the others as they are.
    table = standard_normals(SAMPLES, len(RangesInput.model_fields), SEED)
    normals = dict(zip(RangesInput.model_fields, table.T, strict=True))
    drawn = {name: np.full(SAMPLES, value) for name, value in inputs.items()}
    for name, (low, high) in spans.items():
        value, draws = inputs[name], normals[name] / DECILE
        if name in AMOUNTS and value > 0:
            down, up = np.log(value / low), np.log(high / value)
            drawn[name] = value * np.exp(draws * np.where(draws < 0, down, up))
        else:
            drawn[name] = value + draws * np.where(draws < 0, value - low, high - value)
    if "utilisation" in spans:
        drawn["utilisation"] = np.clip(drawn["utilisation"], 0.001, 1.0)
    if "growth" in spans:
        drawn["growth"] = np.clip(drawn["growth"], -0.99, 5.0)
    return drawn
