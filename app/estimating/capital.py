"""What a system costs to buy and to finance, with the figures it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from app.catalog.books import RENTALS, PriceBook
from app.catalog.catalog import Catalog
from app.catalog.defaults import REGIONS, YEARLY_SHARES, CostDefaults
from app.catalog.entries import HOST, Acquisition, ChipKind
from app.catalog.figures import Figure, Spread
from app.engine.units import MONTHS, TERABYTE, YEAR
from app.errors import BadInput, NotFound, check_between
from app.estimating.hardware import DECILES, Hardware
from app.estimating.money import CostFigure
from app.estimating.network_parts import has_bill, network_bill
from app.estimating.request import AssumptionsInput
from app.estimating.trace import source_ref


@dataclass(frozen=True, slots=True)
class Stated:
    """A figure that the request states."""

    name: str
    value: float
    unit: str


Basis = Figure | Stated
"""What a line rests on."""


def shown(figures: Iterable[Basis], book: PriceBook | None) -> list[CostFigure]:
    """Return what a line rests on as an answer shows it, each figure once."""
    found = [_stated(one) if isinstance(one, Stated) else taken(one, book) for one in figures]
    return list({(one.item, one.name, one.unit): one for one in found}.values())


def taken(figure: Figure, book: PriceBook | None = None) -> CostFigure:
    """Return a figure of the catalogue as an answer shows it."""
    own = book is not None and figure.source.id == book.source.id
    status: Literal["recalled", "estimate", "sourced"] = (
        "recalled" if figure.recalled else "estimate" if figure.estimated else "sourced"
    )
    value = float(figure.text) if figure.value is None else figure.value
    return CostFigure(
        name=figure.parameter,
        item=figure.item,
        value=value,
        low=value if figure.low is None else figure.low,
        high=value if figure.high is None else figure.high,
        unit=figure.unit.name,
        as_of=figure.as_of,
        status="book" if own else status,
        default=not own,
        note=figure.note,
        source=source_ref(figure.source),
    )


def _stated(one: Stated) -> CostFigure:
    return CostFigure(
        name=one.name, item="", value=one.value, low=one.value, high=one.value, unit=one.unit, as_of="",
        status="stated", default=False, note="", source=None,
    )  # fmt: skip


INCLUDED = ("hosts", "fabric", "power", "space", "staff", *YEARLY_SHARES)
"""Parts of the cost of ownership that are counted where nothing else is asked."""
STORAGE = "storage"

BOUNDS: Mapping[str, tuple[float, float]] = {
    "electricity_per_kwh": (0.0, 1e4),
    "pue": (1.0, 5.0),
    "amortisation_years": (0.1, 50.0),
    "utilisation": (0.01, 1.0),
    "system_price": (0.0, 1e15),
    "hourly_price": (0.0, 1e12),
    "discount_rate": (0.0, 1.0),
    "residual_share": (0.0, 1.0),
    "staff": (0.0, 1e5),
    "storage_tb": (0.0, 1e6),
    "egress_gb": (0.0, 1e9),
    "spot_interruptions_per_month": (0.0, 1e3),
    "input_samples_per_second": (1e-6, 1e15),
}
"""Assumptions and the values that make sense."""

LEAST_STORAGE_TB = 1e-3
"""Of storage that there is: its bandwidth goes with its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a system is had, as asked or as usual."""

    owned: bool
    region: str
    tier: str
    """Of the region's tariff."""
    rental: str | None
    """How a rented system is paid; None for an owned one."""
    include: tuple[str, ...]

    @property
    def condition(self) -> str:
        return RENTALS[self.rental or "on-demand"]

    @property
    def elastic(self) -> bool:
        """True where only the hours in use are paid: a commitment is paid for every hour."""
        return self.rental in ("on-demand", "spot")

    @property
    def spot(self) -> bool:
        """True where the provider may take the system back."""
        return self.rental == "spot"


def spot_interruptions(hardware: Hardware, asked: AssumptionsInput, catalog: Catalog) -> Figure | float:
    """Return how often a provider takes a machine back; never, unless it is rented spot. [1/s]"""
    terms = terms_of(hardware, asked, catalog)
    if not terms.spot:
        return 0.0
    if asked.spot_interruptions_per_month is not None:
        return asked.spot_interruptions_per_month / (YEAR / MONTHS)
    return catalog.cost_defaults(hardware.entry.chip_kind, terms.region).interruptions


def check_assumptions(asked: AssumptionsInput) -> None:
    for name, (least, most) in BOUNDS.items():
        value = getattr(asked, name)
        if value is not None:
            check_between(f"assumptions.{name}", value, least, most)
    if asked.storage_tb and asked.storage_tb < LEAST_STORAGE_TB:
        raise BadInput.at(
            "assumptions.storage_tb",
            "must be 0, or between {least} and {most}, not {value}",
            value=asked.storage_tb,
            least=LEAST_STORAGE_TB,
            most=BOUNDS["storage_tb"][1],
        )
    if asked.storage_tb and asked.include is not None and STORAGE not in asked.include:
        raise BadInput.at(
            "assumptions.storage_tb",
            "assumptions.include does not contain storage; add it, or remove storage_tb",
        )


def terms_of(hardware: Hardware, asked: AssumptionsInput, catalog: Catalog) -> Terms:
    usual = "own" if hardware.entry.acquisition is Acquisition.OWN else "rent"
    owned = (asked.acquisition or usual) == "own"
    # Published rents are those of regions in the United States.
    region = asked.region or (REGIONS[0] if owned else "us")
    tiers = catalog.tariffs(region)
    tier = asked.tariff_tier or tiers[0]
    if tier not in tiers:
        raise NotFound.named("tariff", tier, tiers, "assumptions.tariff_tier")
    include: tuple[str, ...] = INCLUDED if asked.include is None else tuple(asked.include)
    if asked.storage_tb and STORAGE not in include:
        include = (*include, STORAGE)
    return Terms(
        owned=owned,
        region=region,
        tier=tier,
        rental=None if owned else asked.rental or "on-demand",
        include=include,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Capital:
    """Purchase price by line."""

    lines: Mapping[str, float]
    """[USD]"""
    low: float
    """Where the prices of machines, hosts and network may begin; 0 where they are exact. [USD]"""
    high: float
    """Where they may end. [USD]"""
    figures: Mapping[str, list[Basis]]
    """What each line rests on."""

    @property
    def deviation(self) -> float:
        """Log-deviation of the prices."""
        return math.log(self.high / self.low) / DECILES if self.low > 0 else 0.0


NOTHING = Capital(lines={}, low=0.0, high=0.0, figures={})


def capital_of(
    hardware: Hardware,
    price: float | None,
    asked: AssumptionsInput,
    terms: Terms,
    defaults: CostDefaults,
    catalog: Catalog,
) -> Capital:
    """Return what a system is bought for; nothing where a part has no price."""
    whole = hardware.entry.whole_price
    lines: dict[str, float] = {}
    figures: dict[str, list[Basis]] = {}
    low = high = 0.0
    if price is not None:
        lines["machines"] = low = high = price * hardware.count
        figures["machines"] = [Stated("system_price", price, "USD")]
    elif whole is not None:
        lines["machines"] = whole.si * hardware.count
        figures["machines"] = [whole]
        low, high = whole.si_low * hardware.count, whole.si_high * hardware.count
    elif hardware.entry.price is not None:
        low, high = _parts(hardware, terms, lines, figures)
    else:
        return NOTHING
    by_parts = price is None and whole is None
    if "fabric" in terms.include and _is_joined(hardware, by_parts=by_parts):
        network, rests = _network(hardware, sum(lines.values()), catalog)
        lines["fabric"], figures["fabric"] = network.value, rests
        low, high = low + network.low, high + network.high
    if STORAGE in terms.include:
        size = stored_bytes(hardware, asked, defaults)
        lines[STORAGE] = size * defaults.storage_flash.si
        figures[STORAGE] = [storage_size(size, asked, defaults), defaults.storage_flash]
    return Capital(lines=lines, low=low, high=high, figures=figures)


def stored_bytes(hardware: Hardware, asked: AssumptionsInput, defaults: CostDefaults) -> float:
    if asked.storage_tb is not None:
        return asked.storage_tb * TERABYTE
    return defaults.storage_per_node.si * hardware.machines


def storage_size(size: float, asked: AssumptionsInput, defaults: CostDefaults) -> Basis:
    if asked.storage_tb is not None:
        return Stated("storage_tb", size / TERABYTE, "TB")
    return defaults.storage_per_node


def _network(hardware: Hardware, others: float, catalog: Catalog) -> tuple[Spread, list[Basis]]:
    """Price of the network between machines: its switches, cables and adapters.

    A network nobody can buy, and one beyond three levels of switches, costs the share of a published cluster.
    """
    if has_bill(catalog, hardware.fabric):
        try:
            bill = network_bill(
                catalog,
                fabric=hardware.fabric,
                nodes=hardware.machines,
                ports_per_node=hardware.ports_per_node,
                machine=hardware.entry.machine,
            )
        except BadInput:
            pass
        else:
            return bill.price, [line.price for line in bill.lines if line.price is not None]
    share = catalog.figure("dgx-cluster", "network_share")
    price = others * share.si / (1.0 - share.si)
    return Spread(price, price, price, "USD"), [share]


def _is_joined(hardware: Hardware, *, by_parts: bool) -> bool:
    """Tell whether a network between machines is bought beside them.

    IPU pods, and pods of GPUs at one price for the whole, have switches of their own, which their price
    holds. A pod of GPUs priced by its parts is joined as its bill joins it: as many machines anywhere.
    """
    if by_parts and hardware.entry.chip_kind is not ChipKind.IPU:
        return hardware.machines > 1
    own = {hardware.entry.machine, HOST}
    return hardware.count > 1 and all(part.item in own for part in hardware.entry.bill)


def _parts(
    hardware: Hardware, terms: Terms, lines: dict[str, float], figures: dict[str, list[Basis]]
) -> tuple[float, float]:
    """Fill in what the parts cost, and return where their prices may begin and end. [USD]"""
    entry = hardware.entry
    low = high = 0.0
    for part in entry.bill:
        name = "hosts" if part.item == HOST else "machines" if part.item == entry.machine else "fabric"
        if name == "fabric" and entry.chip_kind is not ChipKind.IPU:
            continue
        if part.price is not None and (name == "machines" or name in terms.include):
            count = part.count * hardware.count
            lines[name] = lines.get(name, 0.0) + count * part.price.si
            low, high = low + count * part.price.si_low, high + count * part.price.si_high
            figures.setdefault(name, []).append(part.price)
    return low, high
