"""Each network with what it gains and costs, and which of them to take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from app.catalog.figures import Spread
from app.engine.comparison import sufficient_rung
from app.engine.cost.hours import run_cost
from app.engine.records import Floats
from app.estimating.costing import Charges
from app.estimating.documents import CheckWarning, Text
from app.estimating.network_parts import DOLLAR, ExchangeRate, NetworkBill
from app.estimating.prices import prices
from app.estimating.ranges import quantity, spread_quantity
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
from app.features.networks.timing import Cluster, NetworkTiming

CABLES = ("node_cable", "leaf_cable", "spine_cable")

SWITCHES = ("single_switch", "leaf", "spine", "core")

FEWEST_MEASURED = 2
"""Networks with measured runs from which the advice rests on those alone."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NetworkCandidate:
    """One network, timed and priced, measured where runs came with the request."""

    timing: NetworkTiming
    predicted: NetworkTiming
    """As predicted before measured runs were fitted."""
    runs: GainOption | None
    price: NetworkPrice | None
    """None where nobody sells it by the switch."""
    dollars: float
    """Its price; zero for one that is already there, infinite where it is not known. [USD]"""
    step: Quantity
    throughput: Quantity
    time: Quantity
    cost: tuple[float, Floats] | None
    """Of the run, central and as samples; None where no price is known. [currency]"""

    @property
    def network(self) -> NetworkOption:
        return self.timing.network

    @property
    def label(self) -> str:
        return self.network.label


def candidate(
    cluster: Cluster,
    timing: NetworkTiming,
    predicted: NetworkTiming,
    runs: GainOption | None,
    warnings: list[CheckWarning],
) -> NetworkCandidate:
    """Return a network with its prices, measured runs taking the place of the model."""
    network, run, batch = timing.network, timing.run, timing.batch
    # One machine needs no network: none is priced, and the run costs what Compare says of the option.
    several = cluster.hardware.machines > 1
    bill = bill_of(cluster.context.catalog, cluster.hardware, network) if several else None
    unknown = math.inf if bill is None else bill.price.value
    dollars = 0.0 if network.installed else unknown
    throughput, step = timing.throughput, quantity(run.step_seconds, run.step_samples, "s")
    seconds, samples = run.total, run.total_samples
    if runs is not None:
        noise = noise_of(cluster.context)
        throughput = measured_throughput(runs, noise)
        step = Quantity(
            value=batch / throughput.value, low=batch / throughput.high, high=batch / throughput.low, unit="s"
        )
        seconds = run.total * step.value / run.step_seconds
        column = own_normals(cluster.context.catalog, network.fabric, "bandwidth", cluster.normals)
        samples = np.asarray(seconds * np.exp(mean_error(runs, noise) * column))
    charges = _charges(cluster, timing, None if bill is None else dollars, warnings)
    return NetworkCandidate(
        timing=timing,
        predicted=predicted,
        runs=runs,
        price=None if bill is None else _network_price(cluster, bill, network.installed),
        dollars=dollars,
        step=step,
        throughput=throughput,
        time=quantity(seconds, samples, "s"),
        cost=None
        if charges is None
        else (
            float(run_cost(charges.hourly, seconds)),
            np.asarray(run_cost(charges.hourly_samples, samples)),
        ),
    )


def _charges(
    cluster: Cluster, timing: NetworkTiming, dollars: float | None, warnings: list[CheckWarning]
) -> Charges | None:
    """Return what an hour costs with the network at its own price; None where no price is known."""
    request, hardware = cluster.request, timing.decision.hardware
    catalog, family = cluster.context.catalog, cluster.profile.family
    found = prices(hardware, request.assumptions, request.currency, catalog, warnings, family)
    if found is None:
        return None
    if found.owned and dollars is not None and "fabric" in found.include:
        found = replace(found, capital={**found.capital, "fabric": dollars})
    return Charges(hardware, found, normals=cluster.normals, currency=request.currency)


def _network_price(cluster: Cluster, bill: NetworkBill, installed: bool) -> NetworkPrice:
    rate = ExchangeRate.of(cluster.context.catalog, cluster.request.currency)
    # Networks are compared at one rate, so that its range is not theirs.
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
    """The network taken, and that it is held against."""

    taken: NetworkCandidate
    against: NetworkCandidate | None
    worth: bool
    """True where the network taken is the dearer one and worth it."""

    @property
    def pair(self) -> tuple[NetworkCandidate, NetworkCandidate] | None:
        """The cheaper and the dearer of the two; None where there is one."""
        if self.against is None:
            return None
        return (self.against, self.taken) if self.worth else (self.taken, self.against)

    @property
    def money_saved(self) -> Quantity | None:
        """Price of the network not taken over that of the one taken."""
        if self.against is None or self.against.price is None or self.taken.price is None:
            return None
        return price_difference(self.against.price.price, self.taken.price.price)


def price_difference(dearer: Quantity, cheaper: Quantity) -> Quantity:
    value = dearer.value - cheaper.value
    ends = (dearer.low - cheaper.low, dearer.high - cheaper.high)
    return Quantity(value=value, low=min(value, *ends), high=max(value, *ends), unit=dearer.unit)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """All networks with what they gain and cost, and the judgement between them."""

    request: FabricChoiceRequest
    cluster: Cluster
    candidates: Mapping[str, NetworkCandidate]
    """By identifier, in the order asked."""
    own: NetworkCandidate
    """Network of the estimate, with whose plan the terms are told apart."""
    named: NetworkCandidate | None
    """The reference that the request names."""
    fit: CalibrationAnswer | None
    cost_warnings: Sequence[CheckWarning]

    @property
    def threshold(self) -> float:
        return self.request.threshold

    @property
    def several(self) -> bool:
        """True where machines exchange anything over a network."""
        return self.cluster.hardware.machines > 1

    @cached_property
    def cheapest_first(self) -> list[NetworkCandidate]:
        """By price; those nobody sells last, the faster of two as dear first."""
        return sorted(self.candidates.values(), key=lambda one: (one.dollars, one.timing.run.step_seconds))

    @cached_property
    def contenders(self) -> list[NetworkCandidate]:
        """Networks between which the advice chooses, the cheapest first: the measured where several are."""
        measured = [one for one in self.cheapest_first if one.runs is not None]
        return measured if len(measured) >= FEWEST_MEASURED else self.cheapest_first

    def gain(self, network: NetworkCandidate, reference: NetworkCandidate) -> NetworkGain:
        """Return the gain of one network over another, measured where both are."""
        if network.runs is not None and reference.runs is not None:
            return measured_gain(network.runs, reference.runs, noise_of(self.cluster.context), self.threshold)
        return modelled_gain(network.timing.run, reference.timing.run, self.threshold)

    @cached_property
    def verdict(self) -> NetworkVerdict:
        """Which network to take, and that it is held against.

        Without a reference it is the cheapest from which no dearer one gains the threshold. A reference that
        was named is taken unless another gains the threshold over it; then it is the cheapest of those that
        do, from which no dearer one gains it again.
        """
        order, reference = self.contenders, self.named
        if reference is None or reference not in order:
            taken = self._sufficient(order)
        else:
            # As the gain is stated, so that the sentence and the rule cannot disagree.
            better = [one for one in order if one is not reference and self._is_worth(one, reference)]
            taken = self._sufficient(better) if better else reference
        place = order.index(taken)
        dearer, cheaper = order[place + 1 :], order[:place]
        if dearer and reference in (None, taken):
            against = self.own if self.own in dearer else min(dearer, key=self._step_seconds)
            return NetworkVerdict(taken, against, worth=False)
        if reference is not None and reference is not taken:
            return NetworkVerdict(taken, reference, worth=True)
        if cheaper:
            fastest = min(cheaper, key=self._step_seconds)
            # A reference that was named stands although a cheaper network may be enough.
            return NetworkVerdict(taken, fastest, worth=self._is_worth(taken, fastest))
        return NetworkVerdict(taken, None, worth=False)

    def _sufficient(self, order: Sequence[NetworkCandidate]) -> NetworkCandidate:
        seconds = np.array([self._step_seconds(one) for one in order])
        return order[int(sufficient_rung(seconds, self.threshold))]

    def _is_worth(self, network: NetworkCandidate, reference: NetworkCandidate) -> bool:
        return self.gain(network, reference).quantity.value >= self.threshold

    def _step_seconds(self, network: NetworkCandidate) -> float:
        """Return the time of one step that the advice goes by, measured where contenders are. [s]"""
        measured = sum(one.runs is not None for one in self.candidates.values())
        if network.runs is not None and measured >= FEWEST_MEASURED:
            return network.timing.batch / network.runs.mean
        return network.timing.run.step_seconds

    @property
    def reference(self) -> NetworkCandidate:
        """Network that gains are stated over: the one named, else the one taken."""
        return self.verdict.taken if self.named is None else self.named

    @cached_property
    def pair_gain(self) -> NetworkGain | None:
        """Gain of the dearer over the cheaper of the verdict; None on one machine or with one network."""
        pair = self.verdict.pair
        return None if pair is None or not self.several else self.gain(pair[1], pair[0])

    @cached_property
    def run_difference(self) -> Quantity | None:
        """Cost of the run on the network taken over that on the other. [currency]"""
        taken, against = self.verdict.taken, self.verdict.against
        if against is None or taken.cost is None or against.cost is None:
            return None
        central, samples = taken.cost[0] - against.cost[0], taken.cost[1] - against.cost[1]
        return quantity(central, samples, self.cluster.request.currency)
