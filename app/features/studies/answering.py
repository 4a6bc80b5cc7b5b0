"""Answers to studies: what follows from the estimates of all options, and their assumptions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.engine.uncertainty import band
from app.errors import AppError, Message, NotFound
from app.estimating.context import SizingContext
from app.estimating.decision import DecisionQuestion
from app.estimating.documents import CheckWarning, Estimate, Text
from app.estimating.request import EstimateRequest
from app.estimating.schema import Quantity
from app.features.studies.explaining import changes_between, explain, parts_across
from app.features.studies.knobs import KNOBS, StudyVariant, demand_of, labels_of
from app.features.studies.model import (
    AssumedValue,
    AssumptionRow,
    Contest,
    Delta,
    Study,
    StudyAnswer,
    StudyContent,
    StudyOptionAnswer,
    Why,
    leaves,
)
from app.features.studies.options import PublishedFigure
from app.features.studies.side_by_side import OptionEntry, SideBySide, SideMetric
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
    check_options(pair or (), [option.key for option in content.options], "pair")
    side = side_of(content, requests, outcomes, context)
    question = question_of(content)
    options = [
        StudyOptionAnswer(
            key=key,
            label=side.labels[key],
            kind=entry.kind,
            system=entry.system,
            time=(time := side.amounts["time"][key]) and time.quantity("s"),
            cost=next((cost.run for cost in side.costs_of(key) if cost.own), _run(entry.estimate)),
            costs=side.costs_of(key),
            time_against_best=_delta(side, "time", key),
            cost_against_best=_delta(side, "cost", key),
            time_against_baseline=_delta(side, "time", key, content.baseline),
            cost_against_baseline=_delta(side, "cost", key, content.baseline),
            refusal=_refusal(outcomes[key]),
            estimate=entry.estimate,
        )
        for key, entry in side.options.items()
    ]
    share = catalog.figure(DEFAULTS, "considered_error").si
    tornados = (
        tornado_of(metric, content, options, share, by_key) for metric, by_key in side.amounts.items()
    )
    fastest, cheapest = side.leading("time"), side.leading("cost")
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
        fastest=fastest[0] if len(fastest) == 1 else None,
        cheapest=cheapest[0] if len(cheapest) == 1 else None,
        fastest_tied=fastest if len(fastest) > 1 else [],
        cheapest_tied=cheapest if len(cheapest) > 1 else [],
        one_basis=None if side.priced is None else side.priced.basis,
        decision=side.decision(question),
        by_demand=side.by_demand(question),
        contests=[contest for metric in side.amounts for contest in _contests(side, metric)],
        where_time_goes=parts_across(options),
        why=_why(pair, options),
        tornados=[tornado for tornado in tornados if tornado is not None],
        warnings=[
            *side.warnings,
            *side.not_sold_new,
            *_uncounted_extras(content),
        ],
    )


def side_of(
    content: StudyContent, requests: Requests, outcomes: Outcomes, context: SizingContext
) -> SideBySide:
    """Return the options of a study beside each other."""
    entries = {}
    for option in content.options:
        outcome = outcomes[option.key]
        estimate = outcome if isinstance(outcome, Estimate) else None
        entries[option.key] = OptionEntry(requests[option.key], estimate)
    return SideBySide(
        options=entries,
        labels=labels_of(content, context.catalog),
        context=context,
        currency=content.base.currency,
        scaling_efficiency=content.base.scaling_efficiency,
        field="options.{}",
        figure="options.{}.figure",
    )


def question_of(content: StudyContent) -> DecisionQuestion:
    return DecisionQuestion.of(content.limits, demand_of(content), content.base.currency)


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


def check_options(wanted: Sequence[str], keys: Sequence[str], field: str) -> None:
    for key in wanted:
        if key not in keys:
            raise NotFound.named("option", key, keys, field)


def _run(estimate: Estimate | None) -> Quantity | None:
    return None if estimate is None or estimate.cost is None else estimate.cost.run


def _delta(side: SideBySide, metric: SideMetric, key: str, against: str | None = "") -> Delta | None:
    """Return the difference of an option from the best one, or from the one it is held against."""
    amounts, unit = side.amounts[metric], "s" if metric == "time" else side.currency
    best = side.leading(metric) if against == "" else [key for key in amounts if key == against]
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


def _contests(side: SideBySide, metric: SideMetric) -> list[Contest]:
    """Return the probability of every option against every other, from their ratios."""
    chances: dict[tuple[str, str], float | None] = {}
    for ratio in side.ratios[metric]:
        chances[ratio.less, ratio.more] = ratio.probability
        chances[ratio.more, ratio.less] = None if ratio.probability is None else 1.0 - ratio.probability
    return [
        Contest(first=first, second=second, metric=metric, probability=chances[first, second])
        for first, second in itertools.permutations(side.shown, 2)
        if (first, second) in chances
    ]


def _why(pair: Sequence[str] | None, options: Sequence[StudyOptionAnswer]) -> Why | None:
    """Explain the difference between two options, by default the fastest two."""
    by_key = {option.key: option for option in options}
    if pair is None:
        if len(options) < 2:
            return None
        seconds = {option.key: math.inf if option.time is None else option.time.value for option in options}
        pair = sorted(seconds, key=lambda key: seconds[key])
    return explain(by_key[pair[0]], by_key[pair[1]])


def _refusal(outcome: Estimate | AppError | None) -> Text | None:
    if isinstance(outcome, AppError):
        return Text.of(outcome.message)
    if outcome is None or outcome.fits:
        return None
    return next((warning.text for warning in outcome.warnings if warning.code == NOT_FITTING), None)


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
