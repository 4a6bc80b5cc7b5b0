"""Everything a study takes for granted: each default with its reason, each statement, and what changes it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import JsonValue

from app.catalog.catalog import Catalog
from app.engine.uncertainty import band, probability_less
from app.errors import AppError, FieldError, NotFound
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Estimate, Text
from app.estimating.request import EstimateRequest
from app.estimating.schema import Quantity
from app.features.comparisons.compare import (
    SECONDS_PER_HOUR,
    Amount,
    ComparisonEntry,
    Hours,
    Scaling,
    comparison_row,
    comparison_warnings,
    leaders,
)
from app.features.comparisons.model import OneBasis, PublishedFigure
from app.features.comparisons.one_basis import BasisAsked, costs_on_one_basis
from app.features.studies.explaining import explain
from app.features.studies.knobs import KNOBS, labels_of
from app.features.studies.model import (
    AssumedValue,
    AssumptionRow,
    Contest,
    Delta,
    Metric,
    StudyContent,
    StudyOptionAnswer,
    Tornado,
    Why,
)
from app.features.studies.tornado import tornado_of
from app.features.workloads.suggestions import DEFAULTS

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


UNSHOWN = ("model.", "label")
"""What is shown elsewhere: the model has a page of its own."""


def assumption_rows(
    requests: Mapping[str, EstimateRequest | PublishedFigure], options: Sequence[StudyOptionAnswer]
) -> list[AssumptionRow]:
    """Return every field that an estimate of the study rests on, those with a default first."""
    taken: dict[str, dict[str, AssumedValue]] = {}
    for option in options:
        asked = requests[option.key]
        if option.estimate is None or isinstance(asked, PublishedFigure):
            continue
        for one in option.estimate.defaults:
            values = taken.setdefault(one.field, {})
            values[option.key] = AssumedValue(value=one.value, default=True, text=one.text)
        for field, value in _stated(asked.model_dump(mode="json", exclude_unset=True)):
            values = taken.setdefault(field, {})
            values.setdefault(option.key, AssumedValue(value=value, default=False, text=None))
    rows = [AssumptionRow(field=field, knob=_knob(field), values=values) for field, values in taken.items()]
    return sorted(rows, key=lambda row: not any(value.default for value in row.values.values()))


def _stated(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, JsonValue]]:
    for name, value in tree.items():
        path = f"{above}{name}"
        if path.startswith(UNSHOWN) or value is None:
            continue
        if isinstance(value, Mapping):
            yield from _stated(value, f"{path}.")
        else:
            yield path, value


def _knob(field: str) -> str | None:
    """Return the knob of a field of an estimate request, of the base where there is one."""
    return next((name for name, knob in KNOBS.items() if field in {knob.base, knob.option}), None)
