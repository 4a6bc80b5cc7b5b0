"""A study in one state, answered from the estimates of its options."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.catalog import Catalog
from app.engine.contest import probability_less
from app.engine.uncertainty import band
from app.errors import AppError, FieldError, NotFound
from app.sizing.compare import (
    SECONDS_PER_HOUR,
    Amount,
    ComparisonEntry,
    Hours,
    Scaling,
    comparison_row,
    comparison_warnings,
    leaders,
)
from app.sizing.context import SizingContext
from app.sizing.document import CheckWarning, Estimate, OneBasis, Quantity, Text
from app.sizing.one_basis import BasisAsked, costs_on_one_basis
from app.sizing.questions import PublishedFigure
from app.sizing.request import EstimateRequest
from app.sizing.study.documents import Contest, Delta, Metric, StudyOptionAnswer, Tornado, Why
from app.sizing.study.explaining import explain
from app.sizing.study.merging import labels_of
from app.sizing.study.request import StudyContent
from app.sizing.study.swinging import tornado_of

DEFAULTS = "study-defaults"
NOT_FITTING = "does_not_fit"


@dataclass(frozen=True, slots=True)
class OptionRefusal:
    """An option that cannot be estimated, with the reason."""

    error: AppError


Made = Mapping[str, Estimate | OptionRefusal | None]
"""By key of the option: its estimate, why there is none, or None for a stated figure."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Everything that follows from the estimates of the options."""

    options: list[StudyOptionAnswer]
    fastest: str | None
    cheapest: str | None
    fastest_tied: list[str]
    cheapest_tied: list[str]
    one_basis: OneBasis | None
    contests: list[Contest]
    why: Why | None
    tornados: list[Tornado]
    warnings: list[CheckWarning]


def answered(
    content: StudyContent,
    requests: Mapping[str, EstimateRequest | PublishedFigure],
    made: Made,
    context: SizingContext,
    pair: Sequence[str] | None = None,
) -> Answered:
    """Return what follows from the estimates of all options of a study."""
    catalog = context.catalog
    keys = [option.key for option in content.options]
    check_pair(pair, keys)
    labels = labels_of(content, catalog)
    rows = [
        ComparisonEntry(requests[key], estimate if isinstance(estimate := made[key], Estimate) else None)
        for key in keys
    ]
    hours = dict(zip(keys, _hours(rows, keys, content.base.scaling_efficiency), strict=True))
    times = {key: _time(hours[key]) for key in keys}
    priced = costs_on_one_basis(dict(zip(keys, rows, strict=True)), context, BasisAsked())
    costs = {key: priced.amounts.get(key) if priced is not None else None for key in keys}
    fastest, cheapest = leaders(times), leaders(costs)
    shown = [
        comparison_row(row, labels[key], hours[key]).model_copy(
            update={"costs": priced.costs.get(key, []) if priced is not None else []}
        )
        for key, row in zip(keys, rows, strict=True)
    ]
    options = [
        StudyOptionAnswer(
            key=key,
            label=labels[key],
            kind=row.kind,
            system=row.system,
            time=_quantity(hours[key]),
            cost=row.run_cost,
            costs=row.costs,
            time_against_best=_delta(times, key, fastest, "s"),
            cost_against_best=_delta(costs, key, cheapest, content.base.currency),
            refusal=_refusal(made[key]),
            estimate=row.estimate,
        )
        for key, row in zip(keys, shown, strict=True)
    ]
    by_key = {option.key: option for option in options}
    share = catalog.figure(DEFAULTS, "considered_error").si
    metrics: tuple[Metric, ...] = ("time", "cost")
    drawn = {"time": times, "cost": costs}
    tornados = [
        tornado_of(
            metric,
            content,
            options,
            share,
            {key: None if one is None else one.samples for key, one in drawn[metric].items()},
        )
        for metric in metrics
    ]
    held = _pair(pair, times, fastest[0] if fastest else None)
    return Answered(
        options=options,
        fastest=fastest[0] if len(fastest) == 1 else None,
        cheapest=cheapest[0] if len(cheapest) == 1 else None,
        fastest_tied=fastest if len(fastest) > 1 else [],
        cheapest_tied=cheapest if len(cheapest) > 1 else [],
        one_basis=None if priced is None else priced.basis,
        contests=[*_contests("time", times), *_contests("cost", costs)],
        why=None if held is None else explain(by_key[held[0]], by_key[held[1]]),
        tornados=[one for one in tornados if one is not None],
        warnings=comparison_warnings(shown, catalog),
    )


def check_pair(pair: Sequence[str] | None, keys: Sequence[str]) -> None:
    """Refuse a pair of which one is no option."""
    for key in pair or ():
        if key not in keys:
            raise NotFound.named("option", key, keys, "pair")


def _hours(rows: Sequence[ComparisonEntry], keys: Sequence[str], efficiency: float) -> list[Hours]:
    """Return the hours of each option; errors name options instead of rows."""
    try:
        return Scaling(rows, keys, efficiency).hours()
    except AppError as error:
        error.errors = tuple(FieldError(_renamed(one.field), one.message) for one in error.errors)
        raise


def _renamed(field: str) -> str:
    parts = field.split(".")
    return ".".join(["options", parts[1], "figure", *parts[2:]]) if parts[0] == "rows" else field


def _quantity(hours: Hours) -> Quantity | None:
    if hours.value is None:
        return None
    value = hours.value * SECONDS_PER_HOUR
    low = value if hours.low is None else hours.low * SECONDS_PER_HOUR
    high = value if hours.high is None else hours.high * SECONDS_PER_HOUR
    return Quantity(value=value, low=low, high=high, unit="s")


def _time(hours: Hours) -> Amount | None:
    if hours.value is None:
        return None
    samples = None if hours.samples is None else hours.samples * SECONDS_PER_HOUR
    return Amount(hours.value * SECONDS_PER_HOUR, samples)


def _delta(found: Mapping[str, Amount | None], key: str, first: Sequence[str], unit: str) -> Delta | None:
    own, least = found[key], found[first[0]] if first else None
    if own is None or least is None:
        return None
    alone, tie = len(first) == 1, len(first) > 1 and key in first
    if key == first[0]:
        nothing = Quantity.exact(0.0, unit)
        return Delta(ratio=1.0, low=None, high=None, difference=nothing, best=alone, tie=tie)
    central, more = own.value / least.value, own.value - least.value
    if own.samples is None and least.samples is None:
        exact = Quantity.exact(more, unit)
        return Delta(ratio=central, low=None, high=None, difference=exact, best=False, tie=tie)
    low, high = band(np.asarray(own.drawn / least.drawn), central)
    less, most = band(np.asarray(own.drawn - least.drawn), more)
    difference = Quantity(value=more, low=float(less), high=float(most), unit=unit)
    return Delta(ratio=central, low=float(low), high=float(high), difference=difference, best=False, tie=tie)


def _contests(metric: Metric, found: Mapping[str, Amount | None]) -> list[Contest]:
    known = {key: one for key, one in found.items() if one is not None}
    sure: dict[tuple[str, str], float | None] = {}
    for first, second in itertools.combinations(known, 2):
        one, other = known[first], known[second]
        exact = one.samples is None and other.samples is None
        less = None if exact else float(probability_less(one.drawn, other.drawn))
        sure[first, second], sure[second, first] = less, None if less is None else 1.0 - less
    return [
        Contest(first=first, second=second, metric=metric, probability=sure[first, second])
        for first, second in itertools.permutations(known, 2)
    ]


def _pair(
    asked: Sequence[str] | None, times: Mapping[str, Amount | None], fastest: str | None
) -> tuple[str, str] | None:
    if asked is not None:
        return asked[0], asked[1]
    if len(times) < 2:
        return None
    known = {key: one.value for key, one in times.items() if one is not None}
    ranked = [*sorted(known, key=lambda key: known[key]), *(key for key in times if key not in known)]
    return (fastest or ranked[0]), next(key for key in ranked if key != (fastest or ranked[0]))


def _refusal(made: Estimate | OptionRefusal | None) -> Text | None:
    if isinstance(made, OptionRefusal):
        return Text.of(made.error.message)
    if made is None or made.fits:
        return None
    return next((warning.text for warning in made.warnings if warning.code == NOT_FITTING), None)


def rows_of(
    content: StudyContent, requests: Mapping[str, EstimateRequest | PublishedFigure], catalog: Catalog
) -> list[EstimateRequest | PublishedFigure]:
    """Return the options as rows of a comparison, with their labels."""
    labels = labels_of(content, catalog)
    found: list[EstimateRequest | PublishedFigure] = []
    for option in content.options:
        asked = requests[option.key]
        change: dict[str, object] = {"label": labels[option.key]}
        if isinstance(asked, PublishedFigure) and asked.scaled_from is not None:
            change["scaled_from"] = labels[asked.scaled_from]
        found.append(asked.model_copy(update=change))
    return found
