"""Answers to studies: what follows from the estimates of all options, and their assumptions."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.catalog.catalog import Catalog
from app.engine.uncertainty import band, probability_less
from app.errors import AppError, FieldError, Message, NotFound
from app.estimating.context import SizingContext
from app.estimating.decision import DecisionQuestion
from app.estimating.documents import CheckWarning, Estimate, Text
from app.estimating.request import EstimateRequest
from app.estimating.schema import Quantity
from app.features.comparisons.common_basis import BasisRequest, common_basis_costs
from app.features.comparisons.compare import (
    SECONDS_PER_HOUR,
    AmountSamples,
    ComparisonEntry,
    comparison_row,
    comparison_warnings,
    leaders,
    not_sold_new,
    row_hours,
)
from app.features.comparisons.model import PublishedFigure
from app.features.comparisons.weighing import Candidates
from app.features.studies.explaining import changes_between, explain, parts_across
from app.features.studies.knobs import KNOBS, StudyVariant, demand_of, labels_of
from app.features.studies.model import (
    AssumedValue,
    AssumptionRow,
    Contest,
    Delta,
    Metric,
    Study,
    StudyAnswer,
    StudyContent,
    StudyOptionAnswer,
    Why,
    leaves,
)
from app.features.studies.tornado import tornado_of
from app.features.workloads.suggestions import DEFAULTS

NOT_FITTING = "does_not_fit"


Requests = dict[str, EstimateRequest | PublishedFigure]

Outcomes = Mapping[str, Estimate | AppError | None]
"""By key of the option: its estimate, why there is none, or None for a stated figure."""


@dataclass(frozen=True, slots=True)
class State:
    """A version of a study with knobs applied."""

    study: Study
    variant: StudyVariant
    views: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Fields of its views that differ from those of the version."""
    token: str = ""
    """Short name under which it is stored; empty if it is not."""

    @property
    def content(self) -> StudyContent:
        return self.variant.content


def study_answer(
    state: State,
    requests: Requests,
    outcomes: Outcomes,
    context: SizingContext,
    pair: Sequence[str] | None = None,
) -> StudyAnswer:
    """Return the answer that follows from the estimates of all options of a study."""
    study, content, catalog = state.study, state.content, context.catalog
    keys = [option.key for option in content.options]
    check_options(pair or (), keys, "pair")
    labels = labels_of(content, catalog)
    estimates = {key: outcome for key, outcome in outcomes.items() if isinstance(outcome, Estimate)}
    entries = {key: ComparisonEntry(requests[key], estimates.get(key)) for key in keys}
    hours = _hours(entries, content.base.scaling_efficiency)
    priced = common_basis_costs(entries, context, BasisRequest())
    amounts: dict[Metric, dict[str, AmountSamples | None]] = {
        "time": {key: amount and amount.times(SECONDS_PER_HOUR) for key, amount in hours.items()},
        "cost": {key: None if priced is None else priced.amounts.get(key) for key in keys},
    }
    best = {metric: leaders(by_key) for metric, by_key in amounts.items()}
    candidates = Candidates.of(
        entries, labels, hours, context, None if priced is None else priced.basis.term_years
    )
    question = DecisionQuestion.of(content.limits, demand_of(content), content.base.currency)
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
            refusal=_refusal(outcomes[key]),
            estimate=row.estimate,
        )
        for key, row in rows.items()
    ]
    contests = [contest for metric, by_key in amounts.items() for contest in _contests(metric, by_key)]
    share = catalog.figure(DEFAULTS, "considered_error").si
    tornados = (tornado_of(metric, content, options, share, by_key) for metric, by_key in amounts.items())
    (fastest, fastest_tied), (cheapest, cheapest_tied) = map(_alone_or_tied, best.values())
    return StudyAnswer(
        id=study.id,
        version=study.version,
        latest=study.latest,
        archived=study.archived,
        saved=study.saved,
        content=content,
        knobs=dict(state.variant.knobs),
        changes=changes_between(study.content, content),
        options=options,
        fastest=fastest,
        cheapest=cheapest,
        fastest_tied=fastest_tied,
        cheapest_tied=cheapest_tied,
        one_basis=None if priced is None else priced.basis,
        decision=candidates.decision(question),
        by_demand=candidates.by_demand(question),
        contests=contests,
        where_time_goes=parts_across(options),
        why=_why(pair, options, amounts["time"]),
        tornados=[tornado for tornado in tornados if tornado is not None],
        warnings=[
            *comparison_warnings(list(rows.values()), catalog),
            *not_sold_new(list(rows.values()), catalog),
            *_uncounted_extras(content),
        ],
    )


BILL_EXTRAS = ("storage_tb", "spare")
"""Fields of the bill that count in its total, but not in the purchase of an option."""


def _uncounted_extras(content: StudyContent) -> Iterator[CheckWarning]:
    """Warn of extras of the bill that no cost of the study contains."""
    fields = content.views.get("bill", {})
    if any(fields.get(name, "").strip() not in ("", "0") for name in BILL_EXTRAS):
        message = Message(
            "storage and spare machines of the bill of materials are in its total, not in the costs, the "
            "term and the limits of this study"
        )
        yield CheckWarning.of("bill_extras_not_counted", "caution", message, "limits.budget")


def _alone_or_tied(best: list[str]) -> tuple[str | None, list[str]]:
    """Return the one best option, or all that tie for it."""
    return (best[0], []) if len(best) == 1 else (None, best)


def check_options(wanted: Sequence[str], keys: Sequence[str], field: str) -> None:
    for key in wanted:
        if key not in keys:
            raise NotFound.named("option", key, keys, field)


def _hours(entries: Mapping[str, ComparisonEntry], efficiency: float) -> dict[str, AmountSamples | None]:
    """Return the hours of each option; errors name options instead of rows."""
    try:
        return row_hours(list(entries.values()), list(entries), efficiency)
    except AppError as refusal:
        refusal.errors = tuple(
            FieldError(ROW_FIELD.sub(r"options.\1.figure.", error.field), error.message)
            for error in refusal.errors
        )
        raise


ROW_FIELD = re.compile(r"^rows\.(\d+)\.")


def _quantity(amount: AmountSamples | None) -> Quantity | None:
    if amount is None:
        return None
    low, high = (amount.value if end is None else end for end in (amount.low, amount.high))
    return Quantity(value=amount.value, low=low, high=high, unit="s")


def _delta(
    amounts: Mapping[str, AmountSamples | None], key: str, best: Sequence[str], unit: str
) -> Delta | None:
    own, least = amounts[key], amounts[best[0]] if best else None
    if own is None or least is None:
        return None
    first, tie, low, high = key == best[0], len(best) > 1 and key in best, None, None
    ratio = 1.0 if first else own.value / least.value
    difference = Quantity.exact(own.value - least.value, unit)
    if not first and (own.samples is not None or least.samples is not None):
        low, high = map(float, band(np.asarray(own.drawn / least.drawn), ratio))
        less, most = map(float, band(np.asarray(own.drawn - least.drawn), difference.value))
        difference = Quantity(value=difference.value, low=less, high=most, unit=unit)
    return Delta(ratio=ratio, low=low, high=high, difference=difference, best=first and not tie, tie=tie)


def _contests(metric: Metric, amounts: Mapping[str, AmountSamples | None]) -> list[Contest]:
    known = {key: amount for key, amount in amounts.items() if amount is not None}
    probabilities: dict[tuple[str, str], float | None] = {}
    for first, second in itertools.combinations(known, 2):
        own, other = known[first], known[second]
        exact = own.samples is None and other.samples is None
        less = None if exact else float(probability_less(own.drawn, other.drawn))
        probabilities[first, second] = less
        probabilities[second, first] = None if less is None else 1.0 - less
    return [
        Contest(first=first, second=second, metric=metric, probability=probabilities[first, second])
        for first, second in itertools.permutations(known, 2)
    ]


def _why(
    pair: Sequence[str] | None,
    options: Sequence[StudyOptionAnswer],
    times: Mapping[str, AmountSamples | None],
) -> Why | None:
    """Explain the difference between two options, by default the fastest two."""
    by_key = {option.key: option for option in options}
    if pair is None:
        if len(options) < 2:
            return None
        seconds = {key: math.inf if time is None else time.value for key, time in times.items()}
        pair = sorted(seconds, key=lambda key: seconds[key])
    return explain(by_key[pair[0]], by_key[pair[1]])


def _refusal(outcome: Estimate | AppError | None) -> Text | None:
    if isinstance(outcome, AppError):
        return Text.of(outcome.message)
    if outcome is None or outcome.fits:
        return None
    return next((warning.text for warning in outcome.warnings if warning.code == NOT_FITTING), None)


def rows_of(
    content: StudyContent, requests: Requests, catalog: Catalog
) -> list[EstimateRequest | PublishedFigure]:
    """Return the options as rows of a comparison, with their labels."""
    labels = labels_of(content, catalog)
    rows: list[EstimateRequest | PublishedFigure] = []
    for option in content.options:
        request = requests[option.key]
        change: dict[str, object] = {"label": labels[option.key]}
        if isinstance(request, PublishedFigure) and request.scaled_from is not None:
            change["scaled_from"] = labels[request.scaled_from]
        rows.append(request.model_copy(update=change))
    return rows


SHOWN_ELSEWHERE = ("model.", "label")
"""Beginnings of paths that are no assumptions; the model has its own page."""


def assumption_rows(requests: Requests, options: Sequence[StudyOptionAnswer]) -> list[AssumptionRow]:
    """Return every field on which an estimate of the study rests, those with a default first."""
    assumed: dict[str, dict[str, AssumedValue]] = {}
    for option in options:
        request = requests[option.key]
        if option.estimate is None or isinstance(request, PublishedFigure):
            continue
        for default in option.estimate.defaults:
            values = assumed.setdefault(default.field, {})
            values[option.key] = AssumedValue(value=default.value, default=True, text=default.text)
        for path, value in leaves(request.model_dump(mode="json", exclude_unset=True)):
            if value is not None and not path.startswith(SHOWN_ELSEWHERE):
                values = assumed.setdefault(path, {})
                values.setdefault(option.key, AssumedValue(value=value, default=False, text=None))
    rows = [AssumptionRow(field=field, knob=_knob(field), values=values) for field, values in assumed.items()]
    return sorted(rows, key=lambda row: not any(value.default for value in row.values.values()))


def _knob(field: str) -> str | None:
    return next((name for name, knob in KNOBS.items() if field in {knob.base, knob.option}), None)
