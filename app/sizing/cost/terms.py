"""On which terms a system is had: owned or rented, where, since when, and what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.catalog import RENTALS, Acquisition, Catalog, Figure
from app.catalog.defaults import REGIONS
from app.engine.units import MONTHS, YEAR
from app.errors import BadInput, NotFound
from app.sizing.hardware import Hardware
from app.sizing.request import AssumptionsInput

INCLUDED = ("hosts", "fabric", "power", "space", "staff", "support")
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
}
"""Assumptions on cost and the values that make sense."""


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
        """Condition of the rent in the catalogue."""
        return RENTALS[self.rental or "on-demand"]

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
    """Refuse assumptions on cost that can never be right, by field."""
    for name, (least, most) in BOUNDS.items():
        value = getattr(asked, name)
        if value is not None and not least <= value <= most:
            raise BadInput.at(
                f"assumptions.{name}",
                "{value} is not between {least} and {most}",
                value=value,
                least=least,
                most=most,
            )
    if asked.storage_tb and asked.include is not None and STORAGE not in asked.include:
        raise BadInput.at(
            "assumptions.storage_tb",
            "storage is left out of assumptions.include; add it there, or leave storage_tb out",
        )


def terms_of(hardware: Hardware, asked: AssumptionsInput, catalog: Catalog) -> Terms:
    """Return the terms on which a system is had."""
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
