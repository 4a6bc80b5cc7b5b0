"""Options side by side: their times, their costs on one basis, ratios and ties, and the decision."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from app.engine.uncertainty import band, probability_less
from app.engine.units import HOUR, YEAR
from app.errors import BadInput, Message, NotFound, Unprocessable
from app.estimating.checks import MK2
from app.estimating.context import SizingContext
from app.estimating.costing import charges_of
from app.estimating.decision import Alternative, Decision, DecisionQuestion
from app.estimating.deliberation import SURE, Deliberation, decision_of
from app.estimating.documents import CheckWarning, Estimate
from app.estimating.estimate import charged_hardware
from app.estimating.options import USED, alternative_of, usual_term
from app.estimating.outlay import Uncertain, outlay_of
from app.estimating.ranges import SAMPLES
from app.estimating.request import AssumptionsInput, Demand, EstimateRequest
from app.features.studies.common_basis import (
    USUAL_BASIS,
    AmountSamples,
    BasisRequest,
    CommonBasisCosts,
    common_basis_costs,
    remembered,
)
from app.features.studies.options import BasisCost, ClaimKind, DemandAnswer, PublishedFigure

DEMANDS = (Demand(runs=1), Demand(runs_per_year=10), Demand(utilisation=1))
"""Demands that are answered beside the one that is asked."""

ROUNDING = 0.01
"""Relative difference below which two times are equal; a stated linear figure may be rounded by as much."""

SAME_COST = 0.001
"""Relative difference below which two costs are equal."""

COST_BASIS = (
    "acquisition", "amortisation_years", "utilisation", "include", "price_book_id", "price_book_version",
    "currency", "region", "tariff_kind", "rental", "price_date", "term_years", "discount_rate", "pue",
    "storage_tb", "egress_gb",
)  # fmt: skip
"""Fields of the basis that two costs must share to be comparable; prices and resale values may differ.

Storage that is not stated grows with the machines, which is no difference of basis.
"""

SideMetric = Literal["time", "cost"]


@dataclass(frozen=True, slots=True)
class OptionEntry:
    """What one option asks; an estimate request comes with its estimate."""

    request: EstimateRequest | PublishedFigure
    estimate: Estimate | None = None

    @property
    def kind(self) -> ClaimKind:
        return self.request.kind if isinstance(self.request, PublishedFigure) else "modelled"

    @property
    def system(self) -> str | None:
        """Identifier of its system."""
        system = self.request.system
        return system if system is None or isinstance(system, str) else system.id


@dataclass(frozen=True, slots=True)
class SideRatio:
    """Time or cost of one option relative to one that has less."""

    less: str
    more: str
    ratio: float
    tie: bool
    """Whether the two are too close to call."""
    low: float | None = None
    """10th percentile, from samples that share what the two options have in common."""
    high: float | None = None
    probability: float | None = None
    """Share of samples in which the first has less; None if neither has samples."""


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Options of one question beside each other; everything is computed once, when it is first asked.

    Only options that are ``shown``, by default all, are compared; they may be scaled from others.
    """

    options: Mapping[str, OptionEntry]
    """By key."""
    labels: Mapping[str, str]
    context: SizingContext
    currency: str
    scaling_efficiency: float = 1.0
    basis: BasisRequest = USUAL_BASIS
    among: Collection[str] | None = None
    field: str = "rows.{}"
    """Path of an option in errors and warnings, by its position."""
    figure: str = "rows.{}"
    """Path of a stated figure."""

    @cached_property
    def shown(self) -> Mapping[str, OptionEntry]:
        among = self.options if self.among is None else self.among
        return {key: option for key, option in self.options.items() if key in among}

    @cached_property
    def hours(self) -> Mapping[str, AmountSamples | None]:
        """Time to train of every option; None if the model does not fit. [h]"""
        return {key: self._hours_of(key, ()) for key in self.options}

    def _hours_of(self, key: str, scaled: tuple[str, ...]) -> AmountSamples | None:
        """Return the hours of an option on which the options ``scaled`` depend.

        The scaling efficiency applies only to linear figures with more hardware than their base.
        """
        request, estimate = self.options[key].request, self.options[key].estimate
        path = self.figure.format(list(self.options).index(key))
        if key in scaled:
            raise BadInput.at(f"{path}.scaled_from", "rows are scaled from each other in a cycle")
        if isinstance(request, EstimateRequest):
            if estimate is None or estimate.time_to_train is None:
                return None
            time = estimate.time_to_train
            samples = None if estimate.time_samples is None else np.asarray(estimate.time_samples)
            return AmountSamples(time.value, samples, time.low, time.high).over(HOUR)
        loss = self.scaling_efficiency if request.factor is None or request.factor > 1 else 1.0
        if request.kind == "linear" and request.scaled_from is not None:
            if request.factor is None:
                raise Unprocessable.at(
                    f"{path}.factor", "enter a factor for a row that is scaled from another"
                )
            if request.scaled_from not in self.options:
                raise NotFound.named("row", request.scaled_from, self.options, f"{path}.scaled_from")
            base = self._hours_of(request.scaled_from, (*scaled, key))
            if base is None:
                return None
            linear = base.over(request.factor)
            if request.hours is not None and abs(request.hours - linear.value) > ROUNDING * linear.value:
                raise BadInput.at(
                    f"{path}.hours",
                    "{stated} h contradicts the {linear} h scaled from its source row; leave the hours empty",
                    stated=request.hours,
                    linear=round(linear.value, 4),
                )
            return linear.over(loss)
        if request.hours is None:
            raise Unprocessable.at(
                f"{path}.hours", "enter hours for a figure that is not scaled from another row"
            )
        return AmountSamples(request.hours).over(loss if request.kind == "linear" else 1.0)

    @cached_property
    def priced(self) -> CommonBasisCosts | None:
        """Costs of all options on one basis; None if none is known."""
        asked = {
            key: (option.request, option.estimate)
            for key, option in self.options.items()
            if isinstance(option.request, EstimateRequest)
            and option.estimate is not None
            and option.estimate.cost is not None
            and option.estimate.time_to_train is not None
        }
        return common_basis_costs(asked, self.context, self.basis)

    def costs_of(self, key: str) -> list[BasisCost]:
        """Return the costs of an option for each way of paying, its own first."""
        return [] if self.priced is None else self.priced.costs.get(key, [])

    @cached_property
    def amounts(self) -> Mapping[SideMetric, Mapping[str, AmountSamples | None]]:
        """Time [s] and cost per run of each option that is shown."""
        costs = {} if self.priced is None else self.priced.amounts
        return {
            "time": {key: hours and hours.times(HOUR) for key in self.shown for hours in [self.hours[key]]},
            "cost": {key: costs.get(key) for key in self.shown},
        }

    @cached_property
    def ratios(self) -> Mapping[SideMetric, Sequence[SideRatio]]:
        """Ratio of each option to each with less, starting with the ratios to the least."""
        return {metric: list(_ratios(by_key, SAME[metric])) for metric, by_key in self.amounts.items()}

    def leading(self, metric: SideMetric) -> list[str]:
        """Return the option with the least amount, followed by those that tie with it."""
        known = {key: amount for key, amount in self.amounts[metric].items() if amount is not None}
        if not known:
            return []
        best = min(known, key=lambda key: known[key].value)
        tied = [key for key, amount in known.items() if not _separated(known[best], amount, SAME[metric])]
        return [best, *(key for key in tied if key != best)]

    @cached_property
    def candidates(self) -> Sequence[Alternative]:
        """The options that are shown, as those of a decision."""
        return [
            self._candidate(key, self.labels[key], option.request, option.estimate)
            if isinstance(option.request, EstimateRequest)
            else _stated(key, self.labels[key], self.hours[key])
            for key, option in self.shown.items()
        ]

    def _candidate(
        self, key: str, name: str, request: EstimateRequest, estimate: Estimate | None
    ) -> Alternative:
        term = self.years * YEAR

        def make() -> Alternative:
            return _estimated(key, name, request, estimate, self.context, term)

        if estimate is None:
            return make()
        return remembered(("alternative", key, name, str(term)), request, estimate, self.context, make)

    @cached_property
    def years(self) -> float:
        """Term over which all options are paid."""
        if self.priced is not None:
            return self.priced.basis.term_years
        return usual_term(AssumptionsInput(), self.context.catalog) / YEAR

    def decision(self, question: DecisionQuestion) -> Decision:
        return decision_of(self.candidates, question, self.years * YEAR)

    def by_demand(self, question: DecisionQuestion) -> list[DemandAnswer]:
        """Return what is recommended for one run, for ten a year, and for a system that is always busy."""
        asked = [question.model_copy(update={"demand": demand}) for demand in DEMANDS]
        return [DemandAnswer.of(Deliberation.of(self.candidates, one, self.years * YEAR)) for one in asked]

    @cached_property
    def warnings(self) -> list[CheckWarning]:
        """Warnings to consider when comparing the options."""
        found = (
            self._concerning(
                "vendor_figure",
                "{rows}: published by the vendor; not independently measured",
                lambda key: self.shown[key].kind == "vendor",
            ),
            self._concerning(
                "linear_scaling_assumed",
                "{rows}: extrapolated, not measured; real scaling falls short of it, which flatters the row",
                lambda key: self.shown[key].kind == "linear",
            ),
            self._concerning(
                "generation_mk2",
                "{rows}: MK2-generation IPU (GC200), not Bow; the vendor states that Bow is up to "
                "40 % faster",
                lambda key: self._chip_of(key) in MK2,
                severity="info",
            ),
            self._bases_differ(),
        )
        return [warning for warning in found if warning is not None]

    @property
    def not_sold_new(self) -> list[CheckWarning]:
        """The warning about options that are not sold new, if any."""
        items = self.context.catalog.items
        warning = self._concerning(
            "not_sold_new",
            "{rows}: no longer sold new; confirm stock, delivery and the end of the manufacturer's support "
            "before ordering",
            lambda key: (
                (system := self.shown[key].system) in items
                and USED in self.context.catalog.system(str(system)).availability
            ),
        )
        return [] if warning is None else [warning]

    def _concerning(
        self,
        code: str,
        template: str,
        applies: Callable[[str], bool],
        *,
        severity: Literal["info", "caution"] = "caution",
    ) -> CheckWarning | None:
        """Return a warning that names the options to which it applies; None if there are none."""
        named = {position: key for position, key in enumerate(self.shown) if applies(key)}
        if not named:
            return None
        message = Message(template, {"rows": ", ".join(self.labels[key] for key in named.values())})
        return CheckWarning.of(code, severity, message, *map(self.field.format, named))

    def _chip_of(self, key: str) -> str | None:
        """Return the chip of an option's system; a figure without one may name it in its label."""
        catalog, system = self.context.catalog, self.shown[key].system
        if system is not None:
            return catalog.system(system).machine.chip.id
        words = f"-{re.sub(r'[^a-z0-9]+', '-', self.labels[key].lower())}-"
        systems = [name for name in catalog.names("system") if f"-{name}-" in words]
        return catalog.system(max(systems, key=len)).machine.chip.id if systems else None

    def _bases_differ(self) -> CheckWarning | None:
        """Return the warning about costs on different terms or cost items; None if all are alike."""
        costed = {
            position: {name: option.estimate.cost.basis.get(name) for name in COST_BASIS}
            for position, option in enumerate(self.shown.values())
            if option.estimate is not None and option.estimate.cost is not None
        }
        bases, keys = list(costed.values()), list(self.shown)
        differing = [name for name in COST_BASIS if any(basis[name] != bases[0][name] for basis in bases)]
        if not differing:
            return None
        harmonised = all(self.costs_of(keys[position]) for position in costed)
        template = (
            "the options are acquired on different terms ({fields}); their costs are compared on one basis"
            if harmonised
            else "the costs are on different bases ({fields}) and cannot be compared directly"
        )
        message = Message(template, {"fields": ", ".join(differing)})
        fields = (f"{self.field.format(position)}.estimate.cost" for position in costed)
        return CheckWarning.of("cost_bases_differ", "info" if harmonised else "caution", message, *fields)


SAME: Mapping[SideMetric, float] = {"time": ROUNDING, "cost": SAME_COST}


def _ratios(amounts: Mapping[str, AmountSamples | None], rounding: float) -> Iterator[SideRatio]:
    """Yield each option with each one of a larger amount, the least option first.

    The samples of two estimates use the same random numbers, so that uncertainty they share, such as the
    efficiency of one software stack, does not blur their order.
    """
    known = {key: amount for key, amount in amounts.items() if amount is not None and amount.value > 0}
    ranked = sorted(known, key=lambda key: (known[key].value, key))
    for index, first in enumerate(ranked):
        for second in reversed(ranked[index + 1 :]):
            less, more = known[first], known[second]
            ratio = SideRatio(first, second, more.value / less.value, not _separated(less, more, rounding))
            if more.samples is not None or less.samples is not None:
                low, high = band(np.asarray(more.drawn / less.drawn, dtype=float), ratio.ratio)
                probability = float(probability_less(less.drawn, more.drawn))
                ratio = replace(ratio, low=float(low), high=float(high), probability=probability)
            yield ratio


def _separated(less: AmountSamples, more: AmountSamples, rounding: float) -> bool:
    """Return whether two amounts differ by more than rounding and more than their uncertainty."""
    if more.value <= (1.0 + rounding) * less.value:
        return False
    if less.samples is None and more.samples is None:
        return True
    return bool(probability_less(less.drawn, more.drawn) >= SURE)


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
        hardware = charged_hardware(request, estimate, context)
    except NotFound:  # A price book or an upload has been deleted.
        return Alternative(id=key, name=name, owned=False, time=time)
    catalog, currency = context.catalog, request.currency
    charges = charges_of(hardware, request.assumptions, currency, catalog, family, [])
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
        stated=None if estimate is None else estimate.time_to_train,
    )
    if alternative.outlay is None or alternative.outlay.term == term:
        return alternative
    # Every option is paid over one term, whatever the term of its own estimate.
    terms = request.assumptions.model_copy(update={"amortisation_years": term / YEAR})
    charges = charges_of(hardware, terms, currency, catalog, family, [])
    assert charges is not None, "the option has a price"
    return replace(alternative, outlay=outlay_of(hardware, charges, catalog, family))


def _stated(key: str, name: str, hours: AmountSamples | None) -> Alternative:
    if hours is None:
        return Alternative(id=key, name=name, owned=False, time=None, published=True)
    seconds = hours.times(HOUR)
    time = seconds.value, np.broadcast_to(np.asarray(seconds.drawn, dtype=float), SAMPLES)
    return Alternative(
        id=key, name=name, owned=False, time=time, stated=seconds.quantity("s"), published=True
    )
