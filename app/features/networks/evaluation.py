"""Gain and cost of each network, and which one to take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from app.catalog.figures import Spread
from app.engine.comparison import relative_gain
from app.engine.cost.hours import run_cost
from app.estimating.costing import Charges
from app.estimating.decision import Alternative, Decision, DecisionQuestion
from app.estimating.deliberation import decision_of
from app.estimating.documents import CheckWarning, Text
from app.estimating.estimate import Answer
from app.estimating.money import ExchangeRate
from app.estimating.network_parts import DOLLAR, NetworkBill
from app.estimating.options import alternative_of, usual_term
from app.estimating.outlay import Uncertain
from app.estimating.prices import at_network_price, prices
from app.estimating.ranges import common_normals, quantity, spread_quantity
from app.estimating.schema import Quantity
from app.estimating.trace import source_ref
from app.features.calibration.model import CalibrationAnswer, GainOption
from app.features.networks.measuring import (
    NetworkGain,
    mean_error,
    measured_gain,
    measured_throughput,
    modelled_gain,
    noise_of,
)
from app.features.networks.model import FabricChoiceRequest, NetworkLine, NetworkPrice
from app.features.networks.options import NetworkOption, bill_of, own_normals
from app.features.networks.timing import NetworkTiming

CABLES = ("node_cable", "leaf_cable", "spine_cable")

SWITCHES = ("single_switch", "leaf", "spine", "core")

FEWEST_MEASURED = 2
"""Measured networks that are enough for the advice to use them alone."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NetworkCandidate:
    """One network, timed and priced, with measured runs if the request has them."""

    timing: NetworkTiming
    predicted: NetworkTiming
    """As predicted before measured runs were fitted."""
    runs: GainOption | None
    price: NetworkPrice | None
    """None if it is not sold by the switch."""
    dollars: float
    """Price; zero if already installed, infinite if unknown. [USD]"""
    step: Quantity
    throughput: Quantity
    time: Uncertain
    """Time to train. [s]"""
    charges: Charges | None
    """None without a price."""

    @property
    def network(self) -> NetworkOption:
        return self.timing.network

    @property
    def label(self) -> str:
        return self.network.label

    @property
    def cost(self) -> Uncertain | None:
        """Cost of the run; None without a price. [currency]"""
        if self.charges is None:
            return None
        (seconds, samples), charges = self.time, self.charges
        return float(run_cost(charges.hourly, seconds)), run_cost(charges.hourly_samples, np.asarray(samples))


def candidate(
    answer: Answer,
    timing: NetworkTiming,
    predicted: NetworkTiming,
    runs: GainOption | None,
    warnings: list[CheckWarning],
) -> NetworkCandidate:
    """Return a network with its prices; measured runs replace the model."""
    network, run, batch = timing.network, timing.run, timing.batch
    # One system needs no network beyond its own: the run costs what Compare says of the option.
    several = answer.hardware.count > 1
    bill = bill_of(answer.context.catalog, answer.hardware, network) if several else None
    unknown = math.inf if bill is None else bill.price.value
    dollars = 0.0 if network.installed else unknown
    throughput, step = timing.throughput, quantity(run.step_seconds, run.step_samples, "s")
    seconds, samples = run.time.total, run.total_samples
    if runs is not None:
        noise = noise_of(answer.context)
        throughput = measured_throughput(runs, noise)
        step = Quantity(
            value=batch / throughput.value, low=batch / throughput.high, high=batch / throughput.low, unit="s"
        )
        seconds = run.time.total * step.value / run.step_seconds
        column = own_normals(answer.context.catalog, network.fabric, "bandwidth", common_normals())
        samples = np.asarray(seconds * np.exp(mean_error(runs, noise) * column))
    return NetworkCandidate(
        timing=timing,
        predicted=predicted,
        runs=runs,
        price=None if bill is None else _network_price(answer, bill, network.installed),
        dollars=dollars,
        step=step,
        throughput=throughput,
        time=(seconds, samples),
        charges=_charges(answer, timing, None if bill is None else dollars, warnings),
    )


def _charges(
    answer: Answer, timing: NetworkTiming, dollars: float | None, warnings: list[CheckWarning]
) -> Charges | None:
    """Return the hourly cost with the network at its own price; None without a price."""
    request, hardware = answer.request, timing.hardware
    catalog, family = answer.context.catalog, answer.profile.family
    dollar_prices = prices(hardware, request.assumptions, request.currency, catalog, warnings, family)
    if dollar_prices is None:
        return None
    if dollar_prices.terms.owned and dollars is not None and "fabric" in dollar_prices.terms.include:
        dollar_prices = at_network_price(dollar_prices, dollars)
    return Charges(hardware, dollar_prices, request.currency)


def _network_price(answer: Answer, bill: NetworkBill, installed: bool) -> NetworkPrice:
    rate = ExchangeRate.of(answer.context.catalog, answer.request.currency)
    # Networks are compared at one exchange rate: its range must not widen theirs.
    rate = replace(rate, low=rate.value, high=rate.value)
    lines = [
        NetworkLine(
            item=part.item,
            name=part.name,
            use=part.use,
            count=part.count,
            rule=Text.of(part.rule),
            unit_price=None if part.price is None else rate.price(part.price),
            source=None if part.price is None else source_ref(part.price.source),
        )
        for part in bill.lines
    ]
    return NetworkPrice(
        price=rate.amount(Spread(0.0, 0.0, 0.0, DOLLAR) if installed else bill.price),
        complete=bill.complete,
        power=spread_quantity(bill.power),
        switches=sum(line.count for line in lines if line.use in SWITCHES),
        cables=sum(line.count for line in lines if line.use in CABLES),
        lines=lines,
    )


@dataclass(frozen=True, slots=True, eq=False)
class NetworkVerdict:
    """The recommended network, and the one it is compared with."""

    recommended: NetworkCandidate
    against: NetworkCandidate | None
    dearer: bool
    """Whether the recommended network is the dearer one."""

    @property
    def pair(self) -> tuple[NetworkCandidate, NetworkCandidate] | None:
        """The cheaper and the dearer network; None if there is only one."""
        if self.against is None:
            return None
        return (self.against, self.recommended) if self.dearer else (self.recommended, self.against)

    @property
    def money_saved(self) -> Quantity | None:
        """Price of the other network minus that of the recommended one."""
        if self.against is None or self.against.price is None or self.recommended.price is None:
            return None
        return price_difference(self.against.price.price, self.recommended.price.price)


def price_difference(dearer: Quantity, cheaper: Quantity) -> Quantity:
    value = dearer.value - cheaper.value
    ends = (dearer.low - cheaper.low, dearer.high - cheaper.high)
    return Quantity(value=value, low=min(value, *ends), high=max(value, *ends), unit=dearer.unit)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Gains and costs of all networks, and the verdict."""

    request: FabricChoiceRequest
    answer: Answer
    candidates: Mapping[str, NetworkCandidate]
    """By identifier, in the order of the request."""
    own: NetworkCandidate
    """Network of the estimate; its plan is used to separate the terms of a gain."""
    requested: NetworkCandidate | None
    """Reference that the request names."""
    fit: CalibrationAnswer | None
    cost_warnings: Sequence[CheckWarning]

    @property
    def threshold(self) -> float:
        return self.request.threshold

    @property
    def several(self) -> bool:
        """Whether there is more than one machine, and so a network."""
        return self.answer.hardware.count > 1

    @cached_property
    def cheapest_first(self) -> list[NetworkCandidate]:
        """By price, then by step time; networks without a price come last."""
        return sorted(
            self.candidates.values(), key=lambda network: (network.dollars, network.timing.run.time.training)
        )

    @cached_property
    def contenders(self) -> list[NetworkCandidate]:
        """Networks the advice chooses from, cheapest first: only the measured ones if there are several."""
        measured = [network for network in self.cheapest_first if network.runs is not None]
        return measured if len(measured) >= FEWEST_MEASURED else self.cheapest_first

    def gain(self, network: NetworkCandidate, reference: NetworkCandidate) -> NetworkGain:
        """Return the gain of one network over another, measured if both are."""
        if network.runs is not None and reference.runs is not None:
            return measured_gain(network.runs, reference.runs, noise_of(self.answer.context), self.threshold)
        return modelled_gain(network.timing.run, reference.timing.run, self.threshold)

    @cached_property
    def decision(self) -> Decision:
        """The decision between the contenders; those over which another gains the threshold are too slow."""
        request, catalog = self.answer.request, self.answer.context.catalog
        assumptions = request.assumptions
        question = DecisionQuestion.of(self.request.limits, assumptions.demand, request.currency)
        term = usual_term(assumptions, catalog)
        return decision_of([self._alternative(network) for network in self.contenders], question, term)

    def _alternative(self, network: NetworkCandidate) -> Alternative:
        answer, hardware = self.answer, network.timing.hardware
        alternative = alternative_of(
            network.network.id,
            f"{hardware.count} × {hardware.entry.name}, {network.label}",
            hardware,
            network.charges,
            network.time,
            assumptions=answer.request.assumptions,
            catalog=answer.context.catalog,
            family=answer.profile.family,
            named=True,
        )
        gain = float(relative_gain(self._seconds(network), self._fastest))
        return replace(alternative, too_slow=self.several and gain >= self.threshold)

    @cached_property
    def _fastest(self) -> float:
        """Time over which a network may not lose the threshold. [s]

        An unusual network of the option sets it only where it gains the threshold over all usual ones. Else
        the advice would change when it is followed, and that network is no longer compared.
        """
        usual = [self._seconds(network) for network in self.contenders if not network.network.unusual]
        fastest = min(map(self._seconds, self.contenders))
        if not usual or relative_gain(min(usual), fastest) >= self.threshold:
            return fastest
        return min(usual)

    @cached_property
    def verdict(self) -> NetworkVerdict | None:
        """The recommended network and the one it is compared with; None if none can be recommended.

        The other is the network of the option if it is dearer and usual, else the fastest of the dearer ones;
        the fastest cheaper one where none is.
        """
        if self.decision.recommended is None:
            return None
        recommended = self.candidates[self.decision.recommended]
        position = self.contenders.index(recommended)
        cheaper, dearer = self.contenders[:position], self.contenders[position + 1 :]
        if dearer:
            usual = [network for network in dearer if not network.network.unusual] or dearer
            against = self.own if self.own in usual else min(usual, key=self._seconds)
            return NetworkVerdict(recommended, against, dearer=False)
        fastest = min(cheaper, key=self._seconds, default=None)
        return NetworkVerdict(recommended, fastest, dearer=fastest is not None)

    def _seconds(self, network: NetworkCandidate) -> float:
        """Return the time in steps used for the advice, measured if the contenders are. [s]"""
        measured = sum(other.runs is not None for other in self.candidates.values())
        if network.runs is not None and measured >= FEWEST_MEASURED:
            return network.timing.run.time.samples / network.runs.mean
        return network.timing.run.time.training

    @property
    def reference(self) -> NetworkCandidate:
        """Network relative to which gains are stated: the requested, the recommended, else the own one."""
        if self.requested is not None:
            return self.requested
        return self.own if self.verdict is None else self.verdict.recommended

    @cached_property
    def pair_gain(self) -> NetworkGain | None:
        """Gain of the dearer network of the verdict; None with one machine or one network."""
        pair = None if self.verdict is None else self.verdict.pair
        return None if pair is None or not self.several else self.gain(pair[1], pair[0])

    @cached_property
    def run_difference(self) -> Quantity | None:
        """Cost of the run on the recommended network minus that on the other. [currency]"""
        if self.verdict is None or self.verdict.against is None:
            return None
        mine, theirs = self.verdict.recommended.cost, self.verdict.against.cost
        if mine is None or theirs is None:
            return None
        central, samples = mine[0] - theirs[0], np.asarray(mine[1]) - np.asarray(theirs[1])
        return quantity(central, samples, self.answer.request.currency)
