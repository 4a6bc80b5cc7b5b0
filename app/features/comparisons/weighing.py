"""Options side by side as the options of a decision."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.engine.units import YEAR
from app.errors import BadInput, NotFound, fields_at
from app.estimating.context import SizingContext
from app.estimating.costing import Charges
from app.estimating.decision import Alternative, Decision, DecisionQuestion, check_limits
from app.estimating.deliberation import Deliberation, decision_of
from app.estimating.documents import Estimate
from app.estimating.estimate import hardware_of
from app.estimating.options import alternative_of, usual_term
from app.estimating.outlay import Uncertain, outlay_of
from app.estimating.prices import prices
from app.estimating.ranges import SAMPLES, common_normals
from app.estimating.request import AssumptionsInput, Demand, EstimateRequest, Limits
from app.features.comparisons.compare import SECONDS_PER_HOUR, AmountSamples, ComparisonEntry, row_hours
from app.features.comparisons.model import Comparison, DemandAnswer

DEMANDS = (Demand(runs=1), Demand(runs_per_year=10), Demand(utilisation=1))
"""Demands that are answered beside the one that is asked."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What a decision is made between, and the term of all of it."""

    alternatives: Sequence[Alternative]
    term: float
    """[s]"""

    @classmethod
    def of(
        cls,
        options: Mapping[str, ComparisonEntry],
        names: Mapping[str, str],
        hours: Mapping[str, AmountSamples | None],
        context: SizingContext,
        years: float | None,
    ) -> Candidates:
        """Return the candidates of options by their identifiers; without ``years`` over the usual term."""
        if years is None:
            years = usual_term(AssumptionsInput(), context.catalog) / YEAR
        alternatives = [
            _estimated(key, names[key], option.request, option.estimate, context, years * YEAR)
            if isinstance(option.request, EstimateRequest)
            else _stated(key, names[key], hours[key])
            for key, option in options.items()
        ]
        return cls(alternatives, years * YEAR)

    def owned(self, key: str) -> bool:
        return next(each.owned for each in self.alternatives if each.id == key)

    def decision(self, question: DecisionQuestion) -> Decision:
        return decision_of(self.alternatives, question, self.term)

    def by_demand(self, question: DecisionQuestion) -> list[DemandAnswer]:
        """Return what is recommended for one run, for ten a year, and for a system that is always busy."""
        asked = [question.model_copy(update={"demand": demand}) for demand in DEMANDS]
        return [DemandAnswer.of(Deliberation.of(self.alternatives, one, self.term)) for one in asked]


def candidates_of(
    comparison: Comparison,
    options: Sequence[ComparisonEntry],
    wanted: Collection[str],
    context: SizingContext,
) -> Candidates:
    """Return the rows of a comparison with the wanted labels as candidates, over the term of its costs."""
    labels = [row.label for row in comparison.rows]
    rows = {label: entry for label, entry in zip(labels, options, strict=True) if label in wanted}
    hours = row_hours(options, labels, comparison.scaling_efficiency)
    years = None if comparison.one_basis is None else comparison.one_basis.term_years
    return Candidates.of(rows, {label: label for label in rows}, hours, context, years)


def rows_demand(options: Sequence[ComparisonEntry]) -> Demand | None:
    """Return the demand that the rows of a comparison state."""
    return shared_demand(
        (f"rows.{index}.assumptions", option.request.assumptions.demand)
        for index, option in enumerate(options)
        if isinstance(option.request, EstimateRequest)
    )


def rows_question(limits: Limits, options: Sequence[ComparisonEntry], currency: str) -> DecisionQuestion:
    """Return the question about the rows of a comparison; errors name the limit or the row."""
    with fields_at("limits.{}".format):
        check_limits(limits)
    demand = rows_demand(options)
    requests = (option.request for option in options)
    stating = [isinstance(row, EstimateRequest) and row.assumptions.demand is not None for row in requests]
    row = stating.index(True) if demand is not None else 0
    with fields_at(f"rows.{row}.{{}}".format):
        return DecisionQuestion.of(limits, demand, currency)


def with_decision(
    comparison: Comparison, options: Sequence[ComparisonEntry], limits: Limits, context: SizingContext
) -> Comparison:
    """Return a comparison with the decision between its rows."""
    labels = [row.label for row in comparison.rows]
    question = rows_question(limits, options, comparison.currency)
    decision = candidates_of(comparison, options, labels, context).decision(question)
    return comparison.model_copy(update={"decision": decision})


def _estimated(
    key: str,
    name: str,
    request: EstimateRequest,
    estimate: Estimate | None,
    context: SizingContext,
    term: float,
) -> Alternative:
    time: Uncertain | None = None
    if estimate is not None and estimate.time_to_train is not None:
        central = estimate.time_to_train.value
        time = central, np.broadcast_to(np.asarray(estimate.time_samples or central, dtype=float), SAMPLES)
    family = (estimate.model.family or None) if estimate is not None else None
    try:
        context = context.at_prices(request.assumptions)
        hardware = hardware_of(request, context)
    except NotFound:  # A price book or an upload has been deleted.
        return Alternative(id=key, name=name, owned=False, time=time)
    catalog, currency = context.catalog, request.currency
    rates = prices(hardware, request.assumptions, currency, catalog, [], family)
    charges = Charges(hardware, rates, normals=common_normals(), currency=currency) if rates else None
    alternative = alternative_of(
        key,
        name,
        hardware,
        charges,
        time,
        assumptions=request.assumptions,
        catalog=catalog,
        family=family,
        named=True,
        doubts=[warning.code for warning in estimate.warnings] if estimate is not None else (),
    )
    if alternative.outlay is None or alternative.outlay.term == term:
        return alternative
    # Every option is paid over one term, whatever the term of its own estimate.
    terms = request.assumptions.model_copy(update={"amortisation_years": term / YEAR})
    rates = prices(hardware, terms, currency, catalog, [], family)
    assert rates is not None, "the option has a price"
    charges = Charges(hardware, rates, normals=common_normals(), currency=currency)
    return replace(alternative, outlay=outlay_of(hardware, charges, catalog, family))


def _stated(key: str, name: str, hours: AmountSamples | None) -> Alternative:
    time: Uncertain | None = None
    if hours is not None:
        seconds = hours.times(SECONDS_PER_HOUR)
        time = seconds.value, np.broadcast_to(np.asarray(seconds.drawn, dtype=float), SAMPLES)
    return Alternative(id=key, name=name, owned=False, time=time, published=True)


def shared_demand(stated: Iterable[tuple[str, Demand | None]]) -> Demand | None:
    """Return the demand of options, given with their paths, of which no two may differ."""
    found: Demand | None = None
    for path, demand in stated:
        if demand is None:
            continue
        if found is not None and demand != found:
            raise BadInput.at(
                f"{path}.demand", "differs from the demand of another option; state it once for all of them"
            )
        found = demand
    return found
