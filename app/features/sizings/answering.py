"""The sizing: from a request to the options worth considering and a recommendation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import JsonValue

from app.engine.comparison import scaling_knee
from app.errors import BadInput, Message
from app.estimating.capital import check_assumptions
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Default
from app.estimating.ranges import quantity
from app.estimating.timed_plan import BATCH_ADJUSTED
from app.estimating.version import engine_version
from app.estimating.workload import resolve_model, summarise
from app.features.sizings.model import (
    LARGEST_ACCELERATORS,
    Omission,
    ScalingCurve,
    ScalingPoint,
    Sizing,
    SizingRequest,
    check,
)
from app.features.sizings.options import SampledOption, decided
from app.features.sizings.search import SystemSearch, Watch, by_count, nobody


@dataclass(frozen=True, slots=True)
class SizingSamples:
    """A sizing with the samples needed to judge it under other limits."""

    document: Sizing
    options: Sequence[SampledOption]


MOST_ROWS = 500
"""Most rows of a layer table, because every option repeats it in its own estimate request."""


def size(request: SizingRequest, context: SizingContext, watch: Watch = nobody) -> SizingSamples:
    """Return the sizing of a request, with an empty ``id`` for the caller to fill in."""
    rows = len(request.model.layers or ())
    if rows > MOST_ROWS:
        raise BadInput.at(
            "model.layers",
            "{rows} rows would be repeated in every option; at most {most} are allowed: upload "
            "the table as a profile and enter its profile_id",
            rows=rows,
            most=MOST_ROWS,
        )
    context = context.at_prices(request.assumptions)
    search = _explored(request, context, refine=request.counts is None, watch=watch)
    first = search.first
    assert first is not None, "a search without options is refused"
    document = Sizing(
        id="",
        name=request.label or first.profile.name,
        engine_version=engine_version(context.catalog.version),
        catalog_version=context.catalog.version,
        model=summarise(first.training, first.scenario.table),
        currency=request.currency,
        scaling=None,
        considered=len(search.options) + len(search.left_out),
        searched=search.searches,
        left_out=search.left_out,
        defaults=_defaults(request, batch_searched=first.batch_searched),
        warnings=[],
        **decided(search.options, request, search.term),
    )
    return SizingSamples(with_curve(document, search.options), search.options)


def with_curve(document: Sizing, options: Sequence[SampledOption]) -> Sizing:
    """Return a sizing with the scaling curve of its first-named system."""
    # Options that meet come first.
    system = document.options[0].system
    curve = _curve(options, document.left_out, system, document.request.workload.global_batch)
    warnings = [*_size_limit(document), *([] if curve is None else curve.warnings)]
    return document.model_copy(update={"scaling": curve, "warnings": warnings})


def _size_limit(document: Sizing) -> Iterator[CheckWarning]:
    """Warn that larger systems, which were not considered, may meet the deadline that nothing meets."""
    most = document.request.most_accelerators
    late = any(option.why_not == "too_late" for option in document.decision.options)
    if document.decision.recommended is None and late and most < LARGEST_ACCELERATORS:
        yield CheckWarning.of(
            "larger_not_considered",
            "caution",
            Message(
                "systems of more than {most} accelerators were not considered and may be fast enough: raise "
                "the largest number of accelerators",
                {"most": most},
            ),
            "most_accelerators",
        )


def judged(
    document: Sizing, options: Sequence[SampledOption], request: SizingRequest, context: SizingContext
) -> Sizing:
    """Return a sizing of some options under other limits, searching only the counts in between."""
    context = context.at_prices(request.assumptions)
    search = SystemSearch(request, resolve_model(request.model, context), context)
    search.options = list(options)
    search.refine()
    document = document.model_copy(update=decided(search.options, request, search.term))
    return with_curve(document, search.options)


def scaling(request: SizingRequest, system: str, context: SizingContext) -> ScalingCurve:
    context = context.at_prices(request.assumptions)
    search = _explored(request.model_copy(update={"systems": [system]}), context, refine=False)
    curve = _curve(search.options, search.left_out, system, request.workload.global_batch)
    if curve is None:
        raise BadInput.at(
            "systems.0", "the model does not fit on {system} at any of its counts", system=system
        )
    return curve


def _explored(
    request: SizingRequest, context: SizingContext, *, refine: bool, watch: Watch = nobody
) -> SystemSearch:
    check(request)
    check_assumptions(request.assumptions)
    search = SystemSearch(request, resolve_model(request.model, context), context, watch)
    search.explore(refine=refine)
    return search


LATTICE = Message("powers of two and multiples of 20 nodes; powers of two for pods")

COARSE = Message(
    "powers of two, and multiples of 20 nodes for systems that no other beats; what another option beats in "
    "time and cost is not searched"
)
"""Used when every system is tried."""


def _defaults(request: SizingRequest, *, batch_searched: bool) -> list[Default]:
    stated = request.model_fields_set
    entries: tuple[tuple[str, JsonValue, Message], ...] = (
        ("systems", "all", Message("every system in the catalogue")),
        ("counts", "lattice", LATTICE if request.systems else COARSE),
        ("most_accelerators", request.most_accelerators, Message("largest system size considered")),
        ("probability", request.probability, Message("80 % by default")),
        ("assumptions.demand", {"runs": 1}, Message("this work once; state it if it is done more often")),
        ("currency", request.currency, Message("US dollars by default")),
    )
    if request.assumptions.demand is not None:
        stated = stated | {"assumptions.demand"}
    defaults = [Default.of(name, value, why) for name, value, why in entries if name not in stated]
    if batch_searched:
        why = Message("shortest training time within the range where convergence holds")
        defaults.append(Default.of("workload.global_batch", None, why))
    return defaults


def _curve(
    sampled: Sequence[SampledOption], left_out: Sequence[Omission], system: str, batch: int | None
) -> ScalingCurve | None:
    """Return the scaling curve of one system with a stated batch; None if the model fits at no count."""
    options = by_count(sampled, system)
    fitting = [option for option in options.values() if option.document.fits]
    if not fitting:
        return None
    counts = np.array([float(option.document.count) for option in fitting])
    knee = scaling_knee(counts, np.array([option.seconds for option in fitting]))
    points = [_point(option, fitting[0]) for option in fitting]
    name = fitting[0].document.name
    # From this count on the global batch divides over no count of the lattice.
    without = {entry.count for entry in left_out if entry.system == system and entry.reason == "no_plan"}
    without |= {
        count
        for count, option in options.items()
        if BATCH_ADJUSTED in option.document.warnings or batch not in (None, option.document.global_batch)
    }
    within = max(options.keys() - without, default=0)
    limit = min((count for count in without if count > within), default=None)
    return ScalingCurve(
        system=system,
        name=name,
        points=points,
        knee=points[knee].count,
        knee_inside=knee < len(points) - 1,
        batch_limit=limit,
        warnings=[] if limit is None else [_batch_limits(limit, name, points[-1].global_batch)],
    )


def _point(option: SampledOption, first: SampledOption) -> ScalingPoint:
    document, smallest = option.document, first.document
    assert document.time_to_train is not None, "points of a curve fit"
    ratio = smallest.count / document.count
    assert option.time is not None and first.time is not None
    samples = first.time[1] / option.time[1] * ratio
    plan = document.plan
    used = (plan.tensor or 1) * (plan.pipeline or 1) * (plan.context or 1) * (plan.data or 1)
    return ScalingPoint(
        count=document.count,
        accelerators=document.accelerators,
        idle_accelerators=document.accelerators - used,
        time_to_train=document.time_to_train,
        cost=document.cost,
        efficiency=quantity(first.seconds / option.seconds * ratio, samples, "1"),
        global_batch=document.global_batch,
    )


def _batch_limits(count: int, name: str, batch: int) -> CheckWarning:
    return CheckWarning.of(
        "batch_limits_scaling",
        "caution",
        Message(
            "from {count} × {system} on, the global batch size of {batch} no longer divides "
            "over the accelerators: using more of them requires a larger batch",
            {"count": count, "system": name, "batch": batch},
        ),
        "workload.global_batch",
    )
