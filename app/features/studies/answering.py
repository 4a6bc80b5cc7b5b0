"""Everything a study takes for granted: each default with its reason, each statement, and what changes it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.catalog.catalog import Catalog
from app.engine.uncertainty import band, probability_less
from app.errors import AppError, FieldError, Message, NotFound
from app.estimating.context import SizingContext
from app.estimating.documents import CheckWarning, Estimate, Text
from app.estimating.request import EstimateRequest
from app.estimating.schema import Quantity
from app.features.comparisons.compare import (
    SECONDS_PER_HOUR,
    Amount,
    ComparisonEntry,
    comparison_row,
    comparison_warnings,
    leaders,
    not_sold_new,
    row_hours,
)
from app.features.comparisons.model import PublishedFigure
from app.features.comparisons.one_basis import BasisAsked, OneBasisCosts, costs_on_one_basis
from app.features.studies.concluding import conclusion, probability_within
from app.features.studies.explaining import changes_between, explain, parts_across
from app.features.studies.knobs import KNOBS, Turned, labels_of
from app.features.studies.model import (
    AssumedValue,
    AssumptionRow,
    Contest,
    Delta,
    Metric,
    Study,
    StudyAnswer,
    StudyContent,
    StudyLimits,
    StudyOptionAnswer,
    Why,
    leaves,
)
from app.features.studies.tornado import tornado_of
from app.features.workloads.suggestions import DEFAULTS

NOT_FITTING = "does_not_fit"


@dataclass(frozen=True, slots=True)
class OptionRefusal:
    error: AppError


Requests = dict[str, EstimateRequest | PublishedFigure]
"""By key of the option: what it asks."""

Made = Mapping[str, Estimate | OptionRefusal | None]
"""By key of the option: its estimate, why there is none, or None for a stated figure."""


@dataclass(frozen=True, slots=True)
class State:
    """A version of a study with its knobs turned."""

    study: Study
    turned: Turned
    views: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What its views ask beyond the question, where that is not what the version holds."""
    token: str = ""
    """Short name under which it is stored, where it is."""

    @property
    def content(self) -> StudyContent:
        return self.turned.content


def answered(
    state: State, requests: Requests, made: Made, context: SizingContext, pair: Sequence[str] | None = None
) -> StudyAnswer:
    """Return what follows from the estimates of all options of a study."""
    study, content, catalog = state.study, state.content, context.catalog
    keys = [option.key for option in content.options]
    check_pair(pair, keys)
    labels = labels_of(content, catalog)
    entries = {
        key: ComparisonEntry(requests[key], found if isinstance(found := made[key], Estimate) else None)
        for key in keys
    }
    hours = _hours(entries, content.base.scaling_efficiency)
    priced = costs_on_one_basis(entries, context, BasisAsked())
    amounts: dict[Metric, dict[str, Amount | None]] = {
        "time": {key: found and found.times(SECONDS_PER_HOUR) for key, found in hours.items()},
        "cost": {key: None if priced is None else priced.amounts.get(key) for key in keys},
    }
    best = {metric: leaders(found) for metric, found in amounts.items()}
    held = {key: _held(key, priced, content.limits) for key in keys}
    baseline = [content.baseline] if content.baseline in keys else []
    rows = {
        key: comparison_row(entries[key], labels[key], hours[key]).model_copy(
            update={"costs": [] if priced is None else priced.costs.get(key, [])}
        )
        for key in keys
    }
    options = [
        StudyOptionAnswer(
            key=key,
            label=row.label,
            kind=row.kind,
            system=row.system,
            time=_quantity(amounts["time"][key]),
            cost=row.run_cost,
            costs=row.costs,
            time_against_best=_delta(amounts["time"], key, best["time"], "s"),
            cost_against_best=_delta(amounts["cost"], key, best["cost"], content.base.currency),
            time_against_baseline=_delta(amounts["time"], key, baseline, "s"),
            cost_against_baseline=_delta(amounts["cost"], key, baseline, content.base.currency),
            meets=probability_within(amounts["time"][key], held[key], content.limits),
            refusal=_refusal(made[key]),
            estimate=row.estimate,
        )
        for key, row in rows.items()
    ]
    contests = [contest for metric, found in amounts.items() for contest in _contests(metric, found)]
    share = catalog.figure(DEFAULTS, "considered_error").si
    tornados = (tornado_of(metric, content, options, share, found) for metric, found in amounts.items())
    (fastest, fastest_tied), (cheapest, cheapest_tied) = map(_alone_or_tied, best.values())
    return StudyAnswer(
        id=study.id,
        version=study.version,
        latest=study.latest,
        archived=study.archived,
        saved=study.saved,
        content=content,
        knobs=dict(state.turned.knobs),
        changes=changes_between(study.content, content),
        options=options,
        fastest=fastest,
        cheapest=cheapest,
        fastest_tied=fastest_tied,
        cheapest_tied=cheapest_tied,
        one_basis=None if priced is None else priced.basis,
        conclusion=conclusion(
            options,
            best,
            contests,
            content.limits,
            {key: None if amount is None else amount.value for key, amount in held.items()},
        ),
        contests=contests,
        where_time_goes=parts_across(options),
        why=_why(pair, options, amounts["time"]),
        tornados=[tornado for tornado in tornados if tornado is not None],
        warnings=[
            *comparison_warnings(list(rows.values()), catalog),
            *not_sold_new(list(rows.values()), catalog),
            *_left_to_the_bill(content),
        ],
    )


BILL_ALONE = ("storage_tb", "spare")
"""Inputs of the bill that its total counts and the purchase of an option does not."""


def _left_to_the_bill(content: StudyContent) -> Iterator[CheckWarning]:
    """Say that what only the bill counts is in no cost and no limit of the study."""
    asked = content.views.get("bill", {})
    if any(asked.get(name, "").strip() not in ("", "0") for name in BILL_ALONE):
        message = Message(
            "storage and spare machines of the bill of materials are in its total, not in the costs, the "
            "term and the limits of this study"
        )
        yield CheckWarning.of("bill_extras_not_counted", "caution", message, "limits.budget")


def _held(key: str, priced: OneBasisCosts | None, limits: StudyLimits) -> Amount | None:
    """Return what is held against the budget: the kind it names, else the purchase or the run of a rental."""
    if priced is None:
        return None
    run, purchase = priced.amounts.get(key), priced.purchases.get(key)
    if limits.budget_kind == "term":
        return priced.terms.get(key)
    return run if limits.budget_kind == "run" or purchase is None else purchase


def _alone_or_tied(best: list[str]) -> tuple[str | None, list[str]]:
    """Return the best option where it is alone, or all that tie for it."""
    return (best[0], []) if len(best) == 1 else (None, best)


def check_pair(pair: Sequence[str] | None, keys: Sequence[str]) -> None:
    for key in pair or ():
        if key not in keys:
            raise NotFound.named("option", key, keys, "pair")


def _hours(entries: Mapping[str, ComparisonEntry], efficiency: float) -> dict[str, Amount | None]:
    """Return the hours of each option; errors name options instead of rows."""
    try:
        return row_hours(list(entries.values()), list(entries), efficiency)
    except AppError as error:
        error.errors = tuple(
            FieldError(ROW_FIELD.sub(r"options.\1.figure.", found.field), found.message)
            for found in error.errors
        )
        raise


ROW_FIELD = re.compile(r"^rows\.(\d+)\.")


def _quantity(amount: Amount | None) -> Quantity | None:
    if amount is None:
        return None
    low, high = (amount.value if end is None else end for end in (amount.low, amount.high))
    return Quantity(value=amount.value, low=low, high=high, unit="s")


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
    known = {key: amount for key, amount in found.items() if amount is not None}
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


def _why(
    pair: Sequence[str] | None,
    options: Sequence[StudyOptionAnswer],
    times: Mapping[str, Amount | None],
) -> Why | None:
    """Return why the first of a pair and not the second; the fastest two where none was asked for."""
    by_key = {option.key: option for option in options}
    if pair is None:
        if len(options) < 2:
            return None
        known = {key: time.value for key, time in times.items() if time is not None}
        pair = [*sorted(known, key=lambda key: known[key]), *(key for key in times if key not in known)]
    return explain(by_key[pair[0]], by_key[pair[1]])


def _refusal(made: Estimate | OptionRefusal | None) -> Text | None:
    if isinstance(made, OptionRefusal):
        return Text.of(made.error.message)
    if made is None or made.fits:
        return None
    return next((warning.text for warning in made.warnings if warning.code == NOT_FITTING), None)


def rows_of(
    content: StudyContent, requests: Requests, catalog: Catalog
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


def assumption_rows(requests: Requests, options: Sequence[StudyOptionAnswer]) -> list[AssumptionRow]:
    """Return every field that an estimate of the study rests on, those with a default first."""
    taken: dict[str, dict[str, AssumedValue]] = {}
    for option in options:
        asked = requests[option.key]
        if option.estimate is None or isinstance(asked, PublishedFigure):
            continue
        for one in option.estimate.defaults:
            values = taken.setdefault(one.field, {})
            values[option.key] = AssumedValue(value=one.value, default=True, text=one.text)
        for path, value in leaves(asked.model_dump(mode="json", exclude_unset=True)):
            if value is not None and not path.startswith(UNSHOWN):
                values = taken.setdefault(path, {})
                values.setdefault(option.key, AssumedValue(value=value, default=False, text=None))
    rows = [AssumptionRow(field=field, knob=_knob(field), values=values) for field, values in taken.items()]
    return sorted(rows, key=lambda row: not any(value.default for value in row.values.values()))


def _knob(field: str) -> str | None:
    """Return the knob of a field of an estimate request, of the base where there is one."""
    return next((name for name, knob in KNOBS.items() if field in {knob.base, knob.option}), None)
