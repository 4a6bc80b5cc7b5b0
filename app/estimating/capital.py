"""Purchase price and terms of a system, with the figures they rest on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from app.catalog.books import RENTALS, PriceBook
from app.catalog.catalog import Catalog
from app.catalog.defaults import REGIONS, YEARLY_SHARES, CostDefaults
from app.catalog.entries import HOST, Acquisition
from app.catalog.figures import Figure, Source, SourceKind
from app.engine.units import MONTHS, TERABYTE, YEAR
from app.errors import BadInput, NotFound, check_between
from app.estimating.demand import check_demand
from app.estimating.hardware import DECILES, Hardware
from app.estimating.money import CostFigure
from app.estimating.purchase import Order, Purchase, cost_line, purchase_of
from app.estimating.request import AssumptionsInput
from app.estimating.trace import source_ref


@dataclass(frozen=True, slots=True)
class StatedAssumption:
    """A figure stated in the request."""

    name: str
    value: float
    unit: str


Basis = Figure | StatedAssumption
"""What a line rests on."""


def cost_figures(figures: Iterable[Basis], book: PriceBook | None) -> list[CostFigure]:
    """Return the figures behind a line for an answer, each once."""
    rows = [
        _stated(figure) if isinstance(figure, StatedAssumption) else taken(figure, book) for figure in figures
    ]
    return list({(figure.item, figure.name, figure.unit): figure for figure in rows}.values())


def status_of(figure: Figure, book: PriceBook | None) -> Literal["recalled", "estimate", "sourced", "book"]:
    if book is not None and figure.source.id == book.source.id:
        return "book"
    return "recalled" if figure.recalled else "estimate" if figure.estimated else "sourced"


def taken(figure: Figure, book: PriceBook | None = None) -> CostFigure:
    """Return a figure of the catalogue for an answer."""
    status = status_of(figure, book)
    value = float(figure.text) if figure.value is None else figure.value
    return CostFigure(
        name=figure.parameter,
        item=figure.item,
        value=value,
        low=value if figure.low is None else figure.low,
        high=value if figure.high is None else figure.high,
        unit=figure.unit.name,
        as_of=figure.as_of,
        status=status,
        default=status != "book",
        note=figure.note,
        source=source_ref(figure.source),
    )


def _stated(figure: StatedAssumption) -> CostFigure:
    value = figure.value
    return CostFigure(
        name=figure.name, item="", value=value, low=value, high=value, unit=figure.unit, as_of="",
        status="stated", default=False, note="", source=None,
    )  # fmt: skip


INCLUDED = ("hosts", "fabric", "power", "space", "staff", *YEARLY_SHARES)
"""Parts of the cost of ownership that are counted by default."""
STORAGE = "storage"
LICENCES = "licences"

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
"""Least and largest value of each assumption."""

LEAST_STORAGE_TB = 1e-3
"""Smallest storage other than none: its bandwidth is proportional to its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a system is acquired, as requested or by default."""

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
        """True where only the hours in use are paid; a commitment is paid for every hour."""
        return self.rental in ("on-demand", "spot")

    @property
    def spot(self) -> bool:
        """True where the provider may take the system back."""
        return self.rental == "spot"


def spot_interruptions(hardware: Hardware, assumptions: AssumptionsInput, catalog: Catalog) -> Figure | float:
    """Return the rate at which a provider takes back a machine; 0 unless it is rented spot. [1/s]"""
    terms = terms_of(hardware, assumptions, catalog)
    if not terms.spot:
        return 0.0
    if assumptions.spot_interruptions_per_month is not None:
        return assumptions.spot_interruptions_per_month / (YEAR / MONTHS)
    return catalog.cost_defaults(hardware.entry.machine.chip.kind, terms.region).interruptions


def check_assumptions(assumptions: AssumptionsInput) -> None:
    check_demand(assumptions.demand)
    for name, (least, most) in BOUNDS.items():
        value = getattr(assumptions, name)
        if value is not None:
            check_between(f"assumptions.{name}", value, least, most)
    if assumptions.storage_tb and assumptions.storage_tb < LEAST_STORAGE_TB:
        raise BadInput.at(
            "assumptions.storage_tb",
            "must be 0, or between {least} and {most}, not {value}",
            value=assumptions.storage_tb,
            least=LEAST_STORAGE_TB,
            most=BOUNDS["storage_tb"][1],
        )
    if assumptions.storage_tb and assumptions.include is not None and STORAGE not in assumptions.include:
        raise BadInput.at(
            "assumptions.storage_tb",
            "assumptions.include does not contain storage; add it, or remove storage_tb",
        )


def terms_of(hardware: Hardware, assumptions: AssumptionsInput, catalog: Catalog) -> Terms:
    usual = "own" if hardware.entry.acquisition is Acquisition.OWN else "rent"
    owned = (assumptions.acquisition or usual) == "own"
    # Published rents are those of regions in the United States.
    region = assumptions.region or (REGIONS[0] if owned else "us")
    pue = catalog.figure("facility", "pue").si if assumptions.pue is None else assumptions.pue
    load = pue * hardware.entry.power_max.value * hardware.count
    tier = catalog.tier_of(region, assumptions.tariff_tier, load)
    if tier is None:
        raise NotFound.named(
            "tariff", assumptions.tariff_tier or "", catalog.tariffs(region), "assumptions.tariff_tier"
        )
    include: tuple[str, ...] = INCLUDED if assumptions.include is None else tuple(assumptions.include)
    if assumptions.storage_tb and STORAGE not in include:
        include = (*include, STORAGE)
    return Terms(
        owned=owned,
        region=region,
        tier=tier,
        rental=None if owned else assumptions.rental or "on-demand",
        include=include,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Capital:
    """What is bought, and its price by line of the cost."""

    purchase: Purchase
    lines: Mapping[str, float]
    """[USD]"""
    low: float
    """Low end of the sum; equal to it where the prices are exact. [USD]"""
    high: float
    """High end of the sum. [USD]"""
    figures: Mapping[str, list[Basis]]
    """Figures behind each line."""

    @property
    def deviation(self) -> float:
        """Log-deviation of the prices."""
        return math.log(self.high / self.low) / DECILES if self.low > 0 else 0.0


def capital_of(
    hardware: Hardware, price: float | None, assumptions: AssumptionsInput, terms: Terms, catalog: Catalog
) -> Capital | None:
    """Return the purchase of a system at a stated price [USD] or the catalogue's; None where it has none."""
    entry = hardware.entry
    if price is None and entry.whole_price is None and entry.price is None:
        return None
    purchase = purchase_of(catalog, order_of(hardware, price, assumptions, terms, catalog))
    spreads, figures = purchase.lines(), dict[str, list[Basis]]()
    for part in purchase.parts:
        if part.price is not None and part.price.value:
            figures.setdefault(cost_line(part), []).append(part.price)
    if price is not None:
        figures["machines"] = [StatedAssumption("system_price", price, "USD")]
    return Capital(
        purchase=purchase,
        lines={name: spread.value for name, spread in spreads.items()},
        low=sum(spread.low for spread in spreads.values()),
        high=sum(spread.high for spread in spreads.values()),
        figures=figures,
    )


def order_of(
    hardware: Hardware, price: float | None, assumptions: AssumptionsInput, terms: Terms, catalog: Catalog
) -> Order:
    """Return what an owner of a system buys, at a stated price [USD] or the catalogue's."""
    entry = hardware.entry
    defaults = catalog.cost_defaults(entry.machine.chip.kind, terms.region, terms.tier)
    years = assumptions.amortisation_years or defaults.amortisation.si / YEAR
    return Order(
        system=entry,
        count=hardware.count,
        fabric=hardware.fabric,
        ports_per_node=hardware.ports_per_node,
        include=terms.include,
        price=None if price is None else _stated_price(catalog, entry.id, price),
        storage_tb=stored_bytes(hardware, assumptions, defaults) / TERABYTE
        if STORAGE in terms.include
        else assumptions.storage_tb,
        licence_years=years if LICENCES in terms.include else 0.0,
    )


def _stated_price(catalog: Catalog, system: str, price: float) -> Figure:
    """Return a price of the request as a figure of one system. [USD]"""
    stated = Source("request", SourceKind.CUSTOMER, "stated in the request", "", "", "")
    return replace(
        catalog.figure(HOST, "price"),
        item=system,
        value=price,
        low=None,
        high=None,
        text=repr(price),
        source=stated,
        as_of="",
        note="",
    )


def stored_bytes(hardware: Hardware, assumptions: AssumptionsInput, defaults: CostDefaults) -> float:
    if assumptions.storage_tb is not None:
        return assumptions.storage_tb * TERABYTE
    return defaults.storage_per_node.si * hardware.machines


def storage_size(size: float, assumptions: AssumptionsInput, defaults: CostDefaults) -> Basis:
    if assumptions.storage_tb is not None:
        return StatedAssumption("storage_tb", size / TERABYTE, "TB")
    return defaults.storage_per_node
