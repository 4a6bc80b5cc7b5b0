"""The sizing: from a request to the options worth considering and a recommendation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.comparison import scaling_knee
from app.engine.records import Floats
from app.errors import BadInput, Message
from app.estimating.capital import check_assumptions
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Default
from app.estimating.ranges import quantity
from app.estimating.version import engine_version
from app.estimating.workload import resolve_model, summarise
from app.features.sizings.judging import (
    SampledOption,
    Samples,
    Verdict,
    budgeted_kind,
    judge,
    nearest_of,
    purchase_needed,
)
from app.features.sizings.margin import margin_of, winner_of
from app.features.sizings.model import (
    FrontPoint,
    LeftOut,
    ScalingCurve,
    ScalingPoint,
    Sizing,
    SizingOption,
    SizingRequest,
    check,
)
from app.features.sizings.search import SystemSearch, Watch, by_count, nobody


@dataclass(frozen=True, slots=True)
class SizingSamples:
    """A sizing with the samples needed to judge it under other limits."""

    document: Sizing
    samples: Mapping[str, Samples]
    """By option, all in the same order."""


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
        request=request,
        model=summarise(first.training, first.scenario.table),
        currency=request.currency,
        outcome="front",
        recommended=None,
        cheapest=None,
        fastest=None,
        nearest=None,
        options=[],
        pareto=[],
        scaling=None,
        considered=len(search.options) + len(search.left_out),
        searched=search.searches,
        left_out=search.left_out,
        defaults=_defaults(request, batch_searched=first.batch_searched),
        warnings=[],
    )
    document = with_curve(restated(document, search.options, request), search.options)
    samples = {
        option.document.id: (option.seconds_samples, option.run_samples, option.purchase_samples)
        for option in search.options
        if option.document.fits
    }
    return SizingSamples(document, samples)


def with_curve(document: Sizing, options: Sequence[SampledOption]) -> Sizing:
    """Return a sizing with the scaling curve of its first-named system."""
    leader = document.recommended or document.cheapest
    if leader is None:
        return document.model_copy(update={"scaling": None, "warnings": []})
    system = next(option.system for option in document.options if option.id == leader)
    curve = _curve(options, document.left_out, system)
    return document.model_copy(update={"scaling": curve, "warnings": [] if curve is None else curve.warnings})


def judged(
    document: Sizing, options: Sequence[SampledOption], request: SizingRequest, context: SizingContext
) -> Sizing:
    """Return a sizing of some options under other limits, searching only the counts in between."""
    context = context.at_prices(request.assumptions)
    search = SystemSearch(request, resolve_model(request.model, context), context)
    search.options = list(options)
    search.refine(search.systems())
    return with_curve(restated(document, search.options, request), search.options)


def scaling(request: SizingRequest, system: str, context: SizingContext) -> ScalingCurve:
    context = context.at_prices(request.assumptions)
    search = _explored(request.model_copy(update={"systems": [system]}), context, refine=False)
    curve = _curve(search.options, search.left_out, system)
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

COARSE = Message("powers of two; also multiples of 20 nodes for systems that no other beats")
"""Used when every system is tried."""


def _defaults(request: SizingRequest, *, batch_searched: bool) -> list[Default]:
    stated = request.model_fields_set
    entries = (
        ("systems", "all", Message("every system in the catalogue")),
        ("counts", "lattice", LATTICE if request.systems else COARSE),
        ("most_accelerators", request.most_accelerators, Message("largest system size considered")),
        ("probability", request.probability, Message("80 % by default")),
        ("currency", request.currency, Message("US dollars by default")),
    )
    defaults = [Default.of(name, value, why) for name, value, why in entries if name not in stated]
    if batch_searched:
        why = Message("shortest training time within the range where convergence holds")
        defaults.append(Default.of("workload.global_batch", None, why))
    return defaults


def restated(document: Sizing, options: Sequence[SampledOption], request: SizingRequest) -> Sizing:
    """Return a sizing judged from its samples under the limits of a request, without a search."""
    verdict = judge(options, request)
    winner = winner_of(verdict)
    margin = None if winner is None else margin_of(verdict, winner)
    nearest = nearest_of(verdict) if winner is None else None
    if nearest is not None:
        recommended = nearest.option
    else:
        recommended = None if margin is not None and margin.tie else _id(verdict, winner)
    stated = [_stated(verdict, index) for index in range(len(options))]
    front = sorted(np.flatnonzero(verdict.front), key=lambda index: float(verdict.seconds[index]))
    return document.model_copy(
        update={
            "request": request,
            "outcome": "not_met" if winner is None else "met" if request.limited else "front",
            "ranked_by": verdict.ranked_by,
            "cheapest": _id(verdict, verdict.cheapest),
            "fastest": _id(verdict, verdict.fastest),
            "nearest": nearest,
            "recommended": recommended,
            "margin": margin,
            "purchase_needed": None if winner is None else purchase_needed(verdict),
            "options": sorted(stated, key=lambda option: _rank(option, verdict)),
            "pareto": [_front_point(stated[index]) for index in front],
        }
    )


def _id(verdict: Verdict, index: int | None) -> str | None:
    return None if index is None else verdict.options[index].document.id


def _stated(verdict: Verdict, index: int) -> SizingOption:
    """Return the document of an option with its limit-dependent fields."""
    request, option = verdict.request, verdict.options[index]

    def share(values: Floats, limited: bool) -> float | None:
        return float(values[index]) if limited and option.document.fits else None

    return option.document.model_copy(
        update={
            "probability": share(verdict.probability, request.limited),
            "probability_deadline": share(verdict.in_time, request.deadline_s is not None),
            "probability_budget": share(verdict.in_budget, request.budget is not None),
            "budget_kind": None if request.budget is None else budgeted_kind(option, request),
            "meets": bool(verdict.meets[index]),
            "on_front": bool(verdict.front[index]),
        }
    )


def _rank(option: SizingOption, verdict: Verdict) -> tuple[bool, bool, float, float]:
    """Return the sort key: options that meet the limits first, then the cheapest."""
    cost, time = getattr(option.costs, verdict.ranked_by), option.time_to_train
    amount, seconds = (np.inf if quantity is None else quantity.value for quantity in (cost, time))
    return not option.meets, not option.fits, amount, seconds


def _front_point(option: SizingOption) -> FrontPoint:
    assert option.time_to_train is not None, "options on the front have a time"
    return FrontPoint(
        option=option.id,
        system=option.system,
        count=option.count,
        time_to_train=option.time_to_train,
        cost=option.cost,
        costs=option.costs,
    )


BATCH_ADJUSTED = "batch_not_divisible"


def _curve(sampled: Sequence[SampledOption], left_out: Sequence[LeftOut], system: str) -> ScalingCurve | None:
    """Return the scaling curve of one system; None if the model fits at no count."""
    options = by_count(sampled, system)
    fitting = [option for option in options.values() if option.document.fits]
    if not fitting:
        return None
    counts = np.array([float(option.document.count) for option in fitting])
    knee = scaling_knee(counts, np.array([option.seconds for option in fitting]))
    points = [_point(option, fitting[0]) for option in fitting]
    name = fitting[0].document.name
    # From this count on the global batch divides over no count of the lattice.
    without = {entry.count for entry in left_out if entry.system == system}
    without |= {count for count, option in options.items() if BATCH_ADJUSTED in option.document.warnings}
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
    samples = first.seconds_samples / option.seconds_samples * ratio
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
