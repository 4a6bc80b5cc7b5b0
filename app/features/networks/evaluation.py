"""Everything that is known of the networks once they are timed and priced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.catalog.figures import Figure, Spread
from app.engine.comparison import relative_gain, sufficient_rung
from app.engine.cost.hours import run_cost
from app.engine.records import Floats
from app.engine.uncertainty import probability_below
from app.estimating.costing import Charges
from app.estimating.documents import CheckWarning, Text
from app.estimating.network_parts import BillPart
from app.estimating.prices import prices
from app.estimating.ranges import quantity
from app.estimating.schema import Quantity
from app.estimating.trace import source_ref
from app.features.networks.measuring import NetworkRuns, SoftwareFit, measured_gain
from app.features.networks.model import FabricChoiceRequest, NetworkLine, NetworkPrice
from app.features.networks.options import NetworkOption, bill_of, own_normals
from app.features.networks.timing import Cluster, Timed

CABLES = ("node_cable", "leaf_cable", "spine_cable")

SWITCHES = ("single_switch", "leaf", "spine", "core")


@dataclass(frozen=True, slots=True)
class Purchase:
    """A network as it is bought, in the currency of the request."""

    price: NetworkPrice
    dollars: float
    """Sum of its prices; zero for one that is already there. [USD]"""


def exchange_rate(cluster: Cluster) -> float:
    """Return what one dollar is in the currency of the request. [currency/USD]"""
    if cluster.request.currency == "USD":
        return 1.0
    return cluster.context.catalog.cost_defaults(cluster.hardware.entry.chip_kind).won_per_dollar.si


def purchase(cluster: Cluster, network: NetworkOption) -> Purchase | None:
    """Return the price of a network of the machines; None where nobody sells it by the switch."""
    catalog, hardware = cluster.context.catalog, cluster.hardware
    bill = bill_of(catalog, hardware.entry, hardware.machines, network)
    if bill is None:
        return None
    rate, currency = exchange_rate(cluster), cluster.request.currency
    paid = Spread(0.0, 0.0, 0.0, currency) if network.installed else _times(bill.price, rate, currency)
    return Purchase(
        NetworkPrice(
            price=_quantity(paid),
            complete=bill.complete,
            power=_quantity(bill.power),
            switches=sum(line.count for line in bill.lines if line.use in SWITCHES),
            cables=sum(line.count for line in bill.lines if line.use in CABLES),
            lines=[_line(line, rate, currency) for line in bill.lines],
        ),
        0.0 if network.installed else bill.price.value,
    )


def _times(spread: Spread, rate: float, currency: str) -> Spread:
    return Spread(spread.value * rate, spread.low * rate, spread.high * rate, currency)


def _quantity(spread: Spread) -> Quantity:
    return Quantity(value=spread.value, low=spread.low, high=spread.high, unit=spread.unit)


def _line(line: BillPart, rate: float, currency: str) -> NetworkLine:
    return NetworkLine(
        item=line.item,
        name=line.name,
        use=line.use,
        count=line.count,
        rule=Text.of(line.rule),
        unit_price=None if line.price is None else _price(line.price, rate, currency),
        source=None if line.price is None else source_ref(line.price.source),
    )


def _price(figure: Figure, rate: float, currency: str) -> Quantity:
    value, low, high = (one * rate for one in (figure.si, figure.si_low, figure.si_high))
    return Quantity(value=value, low=low, high=high, unit=currency)


def difference(dearer: Quantity, cheaper: Quantity) -> Quantity:
    """Return what one network costs above another."""
    value = dearer.value - cheaper.value
    ends = (dearer.low - cheaper.low, dearer.high - cheaper.high)
    return Quantity(value=value, low=min(value, *ends), high=max(value, *ends), unit=dearer.unit)


@dataclass(frozen=True, slots=True)
class RunCost:
    """Cost of a run on one network, central and as samples."""

    value: float
    samples: Floats
    currency: str

    @property
    def quantity(self) -> Quantity:
        """The cost with its range."""
        return quantity(self.value, self.samples, self.currency)


def cost_of_run(
    cluster: Cluster,
    network: NetworkOption,
    bought: Purchase | None,
    seconds: float,
    samples: Floats,
    warnings: list[CheckWarning],
) -> RunCost | None:
    """Return the cost of a run with the network at its own price; None where no price is known."""
    request, catalog = cluster.request, cluster.context.catalog
    hardware = cluster.on(network)
    family = cluster.profile.family
    found = prices(hardware, request.assumptions, request.currency, catalog, warnings, family)
    if found is None:
        return None
    if found.owned and bought is not None and "fabric" in found.include:
        found = replace(found, capital={**found.capital, "fabric": bought.dollars})
    charges = Charges(hardware, found, normals=cluster.normals, currency=request.currency)
    sampled = np.asarray(run_cost(charges.hourly_samples, samples))
    return RunCost(float(run_cost(charges.hourly, seconds)), sampled, request.currency)


UNKNOWN = float("inf")

FEWEST_MEASURED = 2
"""Networks with measured runs from which the advice rests on those alone."""


@dataclass(frozen=True, slots=True)
class GainOver:
    """Gain of one network over another."""

    gain: Quantity
    real: float
    """Probability that it is above zero."""
    above: float
    """Probability that it is above the threshold."""
    measured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkAlternatives:
    """All networks with what they gain and cost."""

    timed: Mapping[str, Timed]
    """By identifier, in the order asked."""
    measured: Mapping[str, NetworkRuns]
    bought: Mapping[str, Purchase | None]
    threshold: float
    noise: float
    """Log-deviation of repeated runs."""

    def network(self, name: str) -> NetworkOption:
        """Return a network by its identifier."""
        return self.timed[name].network

    @property
    def cheapest_first(self) -> list[str]:
        """Identifiers by price; those nobody sells last, the faster of two as dear first."""
        order = list(self.timed)
        return sorted(order, key=lambda name: (self.dollars(name), self.timed[name].run.step_seconds))

    def dollars(self, name: str) -> float:
        """Return the price of a network; infinite where it is not known. [USD]"""
        bought = self.bought[name]
        if self.network(name).installed:
            return 0.0
        return UNKNOWN if bought is None else bought.dollars

    @property
    def contenders(self) -> list[str]:
        """Networks between which the advice chooses, the cheapest first: the measured where several are."""
        order = self.cheapest_first
        known = [name for name in order if name in self.measured]
        return known if len(known) >= FEWEST_MEASURED else order

    def seconds(self, name: str) -> float:
        """Return the time of one step that the advice goes by, measured where contenders are. [s]"""
        one = self.timed[name]
        if name in self.measured and len(self.measured) >= FEWEST_MEASURED:
            return one.batch / self.measured[name].option.mean
        return one.run.step_seconds

    def over(self, option: str, reference: str) -> GainOver:
        """Return the gain of one network over another, measured where both are.

        Samples are paired: whatever both networks share moves both alike and cancels.
        """
        if option in self.measured and reference in self.measured:
            found = measured_gain(self.measured[option], self.measured[reference], self.noise)
            return GainOver(
                found.quantity,
                found.probability_above(0.0),
                found.probability_above(self.threshold),
                measured=True,
            )
        one, base = self.timed[option].run, self.timed[reference].run
        central = float(relative_gain(base.step_seconds, one.step_seconds))
        return modelled(central, relative_gain(base.step_samples, one.step_samples), self.threshold)


def modelled(central: float, samples: Floats, threshold: float) -> GainOver:
    """Return a gain from its central value and its samples."""
    return GainOver(
        quantity(central, samples, "1"),
        1.0 - float(probability_below(samples, 0.0)),
        1.0 - float(probability_below(samples, threshold)),
        measured=False,
    )


@dataclass(frozen=True, slots=True)
class NetworkVerdict:
    """The network taken, and that it is held against."""

    taken: str
    against: str | None
    worth: bool
    """True where the network taken is the dearer one and worth it."""


def verdict(field: NetworkAlternatives, own: str, reference: str | None) -> NetworkVerdict:
    """Return which network to take.

    Without a reference it is the cheapest from which no dearer one gains the threshold. A reference that was
    named is taken unless another gains the threshold over it; then it is the cheapest of those that do, from
    which no dearer one gains it again.
    """
    order = field.contenders
    if reference is None or reference not in order:
        taken = _sufficient(field, order)
    else:
        # As the gain is stated, so that the sentence and the rule cannot disagree.
        better = [
            name
            for name in order
            if name != reference and field.over(name, reference).gain.value >= field.threshold
        ]
        taken = _sufficient(field, better) if better else reference
    return _held_against(field, taken, own, order, reference)


def _sufficient(field: NetworkAlternatives, order: Sequence[str]) -> str:
    seconds = np.array([field.seconds(name) for name in order])
    return order[int(sufficient_rung(seconds, field.threshold))]


def _held_against(
    field: NetworkAlternatives, taken: str, own: str, order: Sequence[str], reference: str | None
) -> NetworkVerdict:
    place = order.index(taken)
    dearer, cheaper = order[place + 1 :], order[:place]
    if dearer and reference in (None, taken):
        fastest = min(dearer, key=field.seconds)
        return NetworkVerdict(taken, own if own in dearer else fastest, worth=False)
    if reference is not None and reference != taken:
        return NetworkVerdict(taken, reference, worth=True)
    if cheaper:
        fastest = min(cheaper, key=field.seconds)
        # A reference that was named stands although a cheaper network may be enough.
        return NetworkVerdict(taken, fastest, worth=field.over(taken, fastest).gain.value >= field.threshold)
    return NetworkVerdict(taken, None, worth=False)


@dataclass(frozen=True, slots=True)
class Priced:
    """What a network comes to, measured where runs say so."""

    step: Quantity
    throughput: Quantity
    time: Quantity
    cost: RunCost | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Networks timed, priced and judged."""

    request: FabricChoiceRequest
    cluster: Cluster
    field: NetworkAlternatives
    predicted: Mapping[str, Timed]
    """As predicted before measured runs were fitted."""
    fitted: SoftwareFit | None
    own: NetworkOption
    """Network of the estimate."""
    verdict: NetworkVerdict
    reference: str
    """Network that gains are stated over."""
    priced: Mapping[str, Priced]
    cost_warnings: tuple[CheckWarning, ...]

    @property
    def several(self) -> bool:
        """True where machines exchange anything over a network."""
        return self.cluster.hardware.machines > 1

    @property
    def base(self) -> Timed:
        """The workload on the network of the estimate, whose plan the terms are told apart with."""
        return self.field.timed[self.own.id]

    @property
    def pair(self) -> tuple[str, str] | None:
        """The cheaper and the dearer of the two networks of the advice; None where there is one."""
        found = self.verdict
        if found.against is None:
            return None
        return (found.against, found.taken) if found.worth else (found.taken, found.against)

    @property
    def gain(self) -> GainOver | None:
        """Gain of the dearer over the cheaper of the two; None on one machine or with one network."""
        pair = self.pair
        return None if pair is None or not self.several else self.field.over(pair[1], pair[0])

    @property
    def run_difference(self) -> Quantity | None:
        """Cost of the run on the network taken over that on the other. [currency]"""
        found = self.verdict
        if found.against is None:
            return None
        one, other = self.priced[found.taken].cost, self.priced[found.against].cost
        if one is None or other is None:
            return None
        return quantity(one.value - other.value, one.samples - other.samples, one.currency)

    def price(self, name: str) -> NetworkPrice | None:
        """Return the price of a network; None where nobody sells it by the switch."""
        bought = self.field.bought[name]
        return None if bought is None else bought.price


def weigh(
    request: FabricChoiceRequest,
    cluster: Cluster,
    field: NetworkAlternatives,
    predicted: Mapping[str, Timed],
    fitted: SoftwareFit | None,
    own: NetworkOption,
    named: NetworkOption | None,
) -> Evaluation:
    """Return networks judged and priced."""
    found = verdict(field, own.id, None if named is None else named.id)
    warnings: list[CheckWarning] = []
    priced = {name: _priced(cluster, field, one, warnings) for name, one in field.timed.items()}
    return Evaluation(
        request=request,
        cluster=cluster,
        field=field,
        predicted=predicted,
        fitted=fitted,
        own=own,
        verdict=found,
        # Without a reference that was named, gains are stated over the network taken.
        reference=found.taken if named is None else named.id,
        priced=priced,
        cost_warnings=tuple({one.code: one for one in warnings}.values()),
    )


def _priced(cluster: Cluster, field: NetworkAlternatives, one: Timed, warnings: list[CheckWarning]) -> Priced:
    run, name = one.run, one.network.id
    seconds, samples = run.total, run.total_samples
    step = quantity(run.step_seconds, run.step_samples, "s")
    rate = quantity(one.batch / run.step_seconds, one.batch / run.step_samples, "samples/s")
    if name in field.measured:
        rate = field.measured[name].throughput(field.noise)
        ends = (one.batch / rate.high, one.batch / rate.low)
        step = Quantity(value=one.batch / rate.value, low=ends[0], high=ends[1], unit="s")
        seconds = run.total * step.value / run.step_seconds
        samples = _measured_samples(cluster, field, one, seconds)
    cost = cost_of_run(cluster, one.network, field.bought[name], seconds, samples, warnings)
    return Priced(step, rate, quantity(seconds, samples, "s"), cost)


def _measured_samples(cluster: Cluster, field: NetworkAlternatives, one: Timed, seconds: float) -> Floats:
    """Return samples of the time of a run whose throughput was measured."""
    measured = field.measured[one.network.id]
    error = field.noise if measured.error is None else measured.error
    column = own_normals(cluster.context.catalog, one.network.fabric, "bandwidth", cluster.normals)
    return np.asarray(seconds * np.exp(error * column))
