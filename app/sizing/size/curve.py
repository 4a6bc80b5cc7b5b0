"""The scaling curve of a system: time, cost and efficiency over counts, and where it stops paying."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.engine.frontier import scaling_knee
from app.errors import Message
from app.sizing.document import CheckWarning
from app.sizing.quantities import quantity
from app.sizing.size.candidates import Candidate
from app.sizing.size.documents import ScalingCurve, ScalingPoint
from app.sizing.size.searching import CandidateResult

ADJUSTED = "batch_not_divisible"


def curve_of(
    options: Sequence[CandidateResult], impossible: Sequence[Candidate], currency: str
) -> ScalingCurve | None:
    """Return the scaling curve of one system; None where it holds the model at no count."""
    fitting = [option for option in options if option.fits]
    if not fitting:
        return None
    first = fitting[0]
    counts = np.array([float(option.candidate.hardware.count) for option in fitting])
    knee = scaling_knee(counts, np.array([option.seconds for option in fitting]))
    points = [_point(option, first, currency) for option in fitting]
    limit = batch_limit(options, impossible)
    entry = first.candidate.hardware.entry
    return ScalingCurve(
        system=entry.id,
        name=entry.name,
        points=points,
        knee=points[knee].count,
        knee_inside=knee < len(points) - 1,
        batch_limit=limit,
        warnings=[] if limit is None else [_limited(limit, entry.name, fitting[-1])],
    )


def batch_limit(options: Sequence[CandidateResult], impossible: Sequence[Candidate]) -> int | None:
    """Return the smallest count from which on the global batch divides over no count of the lattice."""
    without = {entry.hardware.count for entry in impossible}
    without |= {option.candidate.hardware.count for option in options if ADJUSTED in option.found.codes}
    within = {option.candidate.hardware.count for option in options} - without
    beyond = [count for count in without if count > max(within, default=0)]
    return min(beyond, default=None)


def _point(option: CandidateResult, first: CandidateResult, currency: str) -> ScalingPoint:
    hardware, reference = option.candidate.hardware, first.candidate.hardware
    run = option.found.run
    assert run is not None, "points of a curve fit"
    ratio = reference.count / hardware.count
    cost = None
    if option.candidate.charges is not None:
        cost = quantity(option.cost, option.cost_samples, currency)
    return ScalingPoint(
        count=hardware.count,
        accelerators=hardware.devices,
        time_to_train=quantity(run.total, run.total_samples, "s"),
        cost=cost,
        efficiency=quantity(
            first.seconds / run.total * ratio, first.seconds_samples / run.total_samples * ratio, "1"
        ),
        global_batch=int(option.found.sizing.choice.plans.global_batch[0]),
    )


def _limited(count: int, name: str, largest: CandidateResult) -> CheckWarning:
    return CheckWarning.of(
        "batch_limits_scaling",
        "caution",
        Message(
            "from {count} × {system} on, the global batch of {batch} no longer divides over the "
            "accelerators: more of them cannot be used without a larger batch",
            {
                "count": count,
                "system": name,
                "batch": int(largest.found.sizing.batch),
            },
        ),
        "workload.global_batch",
    )
