"""What a network costs to buy, and what a run on it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from app.catalog import Figure, Spread
from app.engine.cost import run_cost
from app.engine.records import Floats
from app.sizing.bill.lines import BillPart
from app.sizing.cost.prices import prices
from app.sizing.costing import Charges
from app.sizing.document import CheckWarning, Quantity, Text
from app.sizing.fabric_choice.documents import NetworkLine, NetworkPrice
from app.sizing.fabric_choice.options import NetworkOption
from app.sizing.fabric_choice.timing import Cluster
from app.sizing.fabric_choice.trees import bill_of
from app.sizing.quantities import quantity
from app.sizing.trace import source_ref

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
