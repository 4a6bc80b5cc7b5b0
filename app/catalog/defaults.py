"""Defaults of the cost and reliability models, and convergence targets, each with its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from app.catalog.entries import ChipKind
from app.catalog.figures import Curve, Figure, Source
from app.catalog.lookup import Lookup
from app.engine.records import Floats
from app.errors import CatalogError

COST = "cost-defaults"
CURRENCIES = ("USD", "KRW", "EUR", "JPY", "CNY")
"""Currencies with a dated rate to the dollar, in which the catalogue's prices are."""
YEARLY_SHARES = {"support": "support_rate"}
"""Parameter of each cost line that is a yearly share of the price of the equipment."""


@dataclass(frozen=True, slots=True)
class CostDefaults:
    """Defaults of the cost model."""

    amortisation: Figure
    residual: Figure
    capital_rate: Figure
    yearly_shares: Mapping[str, Figure]
    """Yearly cost over the price of the equipment, by cost line. [1/s]"""
    installation_share: Figure
    commissioning_share: Figure
    """Start-up and acceptance test."""
    spares_share: Figure
    utilisation: Figure
    pue: Figure
    tariff: Figure
    colocation: Figure
    demand_charge: Figure | None
    """For the highest load of a month; None where the tariff is all there is. [currency/(W s)]"""
    region_factor: Figure | None
    """Price of cloud instances over that in the United States; None there."""
    staff_per_site: Figure
    """Fewest administrators of an owned site. [posts]"""
    staff_per_node: Figure
    """Of servers with an operating system. [posts]"""
    staff_per_appliance: Figure
    """Of machines that a host drives. [posts]"""
    staff_cost: Figure
    storage_flash: Figure
    storage_object: Figure
    storage_per_node: Figure
    """Usable shared storage per machine. [B]"""
    egress: Figure
    carbon: Figure
    """Of the grid. [kg/J]"""
    interruptions: Figure
    """Of one spot instance. [1/s]"""
    exchange_rates: Mapping[str, Figure]
    """Units of each other currency per dollar."""


@dataclass(frozen=True, slots=True)
class SupportPlan:
    """Support plan of a cloud: shares of the monthly bill."""

    bands: tuple[tuple[float, float], ...]
    """Monthly bill from which a share of it is paid, rising. [USD, -]"""
    least: float
    """[USD/month]"""
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class ReliabilityDefaults:
    """Failures and checkpoints of one node."""

    failure_rate: Figure
    """Of a job on one node. [1/s]"""
    failure_growth: Figure
    """Exponent of the number of nodes by which the rate of one of them grows."""
    restart: Figure
    """[s]"""
    checkpoint_interval: Figure | None
    """None where only the optimum after Young and Daly is known. [s]"""
    checkpoint_bandwidth: Figure
    """From one node. [B/s]"""
    storage_bandwidth: Figure
    """Write bandwidth of shared storage per node, where none is counted. [B/s]"""
    storage_write_rate: Figure
    """Write bandwidth of shared storage over its usable capacity. [1/s]"""
    storage_per_node: Figure
    """Usable shared storage per machine, where it is counted and no size is stated. [B]"""
    startup: Figure
    """From the start of a job to its first step, compilation included. [s]"""
    operational_share: Figure
    """Steady time over all-in device hours of published runs."""


@dataclass(frozen=True, slots=True)
class ConvergenceTarget:
    """Samples to a target by global batch: published points and a law for other batches."""

    id: str
    name: str
    model: str
    """Model preset whose training the target ends."""
    batches: Floats
    """Global batch of each published point, rising. [samples]"""
    samples: Floats
    """Samples to the target. [samples]"""
    law_samples: float
    """S0 of S = S0 (1 + (B/Bc)^g). [samples]"""
    law_batch: float
    """Bc. [samples]"""
    law_exponent: float
    """g."""
    scatter: float
    """Log-deviation between runs."""
    dataset_samples: float | None
    """Samples of one epoch. [samples]"""
    seq_len: int | None
    image_size: int | None
    mean_tokens: float | None
    """Real tokens of one sample where padding is removed. [tokens]"""
    mean_square_share: float | None
    """Mean squared length over the squared padded length."""
    evaluation_samples: float | None
    """Training samples between two evaluations. [samples]"""
    evaluated_samples: float | None
    """Samples of one evaluation. [samples]"""
    early_recipe_samples: float
    """Samples that recipes of the first rounds need over those of the published points."""
    figures: tuple[Figure, ...]
    points_source: Source


OPTIONAL_FIGURES = (
    "dataset_samples",
    "mean_tokens",
    "mean_square_share",
    "evaluation_samples",
    "evaluated_samples",
)
"""Numbers of a target that are not always known."""

REGIONS = ("korea", "us", "eu", "japan")
"""Regions with tariffs, salaries, space and grid in the catalogue."""


@lru_cache(maxsize=64)
def tariffs(lookup: Lookup, region: str) -> tuple[str, ...]:
    """Return the tiers of a region's electricity tariff, the usual one first."""
    return tuple(
        name.removeprefix(f"{region}-") for name in lookup.names("tariff") if name.startswith(f"{region}-")
    )


LOAD = "load_from"
"""Parameter of a tariff: the least load at which it applies."""


def tier_of(lookup: Lookup, region: str, stated: str | None, load: float) -> str | None:
    """Return the tier of a region's tariff for a load [W]; None where none is of the stated kind.

    Stated is a tier, or a kind of customer such as ``general``, whose tier follows from the load.
    """
    tiers = tariffs(lookup, region)
    if stated in tiers:
        return stated
    kind = stated or tiers[0].partition("-")[0]
    fitting = [
        (0.0 if least is None else least.si, tier)
        for tier in tiers
        if tier.partition("-")[0] == kind
        and ((least := lookup.find(f"{region}-{tier}", LOAD)) is None or least.si <= load)
    ]
    return max(fitting, key=lambda one: one[0])[1] if fitting else None


@lru_cache(maxsize=1024)
def cost_defaults(
    lookup: Lookup, chip_kind: ChipKind, region: str = "korea", tier: str | None = None, operator: str = ""
) -> CostDefaults:
    """Return the cost defaults for an architecture, a region, a tariff tier and an operator of the site."""
    elsewhere = {
        "residual": (COST, "residual", chip_kind.value),
        "pue": ("facility", "pue", operator),
        "tariff": (f"{region}-{tier or tariffs(lookup, region)[0]}", "tariff"),
        "colocation": ("us-primary" if region == "us" else f"{region}-colocation", "colocation"),
        "staff_cost": (COST, "staff_cost", region),
        "egress": ("korea-cloud" if region == "korea" else COST, "egress"),
        "carbon": (f"{region}-grid", "carbon"),
        "interruptions": (COST, "interruption_rate", "spot"),
    }
    tariff = elsewhere["tariff"][0]
    apart = ("yearly_shares", "exchange_rates", "demand_charge", "region_factor")
    names = [field.name for field in fields(CostDefaults) if field.name not in apart]
    return CostDefaults(
        **{name: lookup.figure(*elsewhere.get(name, (COST, name))) for name in names},
        yearly_shares={line: lookup.figure(COST, name) for line, name in YEARLY_SHARES.items()},
        demand_charge=lookup.find(tariff, "demand_charge"),
        region_factor=lookup.find("cloud-region", "region_factor", region),
        exchange_rates={
            name: rate
            for name in CURRENCIES
            if (rate := lookup.find(COST, "exchange_rate", name.lower())) is not None
        },
    )


def support_plan(lookup: Lookup, plan: str) -> SupportPlan | None:
    """Return a support plan of clouds; None where there is none of that name."""
    item, prefix = "cloud-support", f"{plan} from "
    starts = [
        condition for condition in lookup.conditions(item, "support_share") if condition.startswith(prefix)
    ]
    if not starts:
        return None
    shares = [lookup.figure(item, "support_share", condition) for condition in starts]
    least = lookup.figure(item, "support_least", plan)
    bands = sorted(
        (float(condition.removeprefix(prefix)), share.si)
        for condition, share in zip(starts, shares, strict=True)
    )
    return SupportPlan(tuple(bands), least.si, (*shares, least))


@lru_cache(maxsize=1024)
def reliability_defaults(lookup: Lookup, chip_kind: ChipKind) -> ReliabilityDefaults:
    item = "reliability-gpu-node" if chip_kind is ChipKind.GPU else "reliability-ipu-machine"
    elsewhere = {
        "storage_write_rate": "storage-server",
        "storage_per_node": COST,
        "operational_share": "published-runs",
    }
    names = [field.name for field in fields(ReliabilityDefaults) if field.name != "checkpoint_interval"]
    return ReliabilityDefaults(
        checkpoint_interval=lookup.find(item, "checkpoint_interval"),
        **{name: lookup.figure(elsewhere.get(name, item), name) for name in names},
    )


def convergence_target(lookup: Lookup, target: str) -> ConvergenceTarget:
    """Return a convergence target, with its published points converted to samples."""
    item = lookup.item("target", target)

    def number(parameter: str) -> float | None:
        figure = lookup.find(target, parameter)
        return None if figure is None else figure.si

    def whole(parameter: str) -> int | None:
        value = number(parameter)
        return None if value is None else round(value)

    curve = lookup.curves[target]
    return ConvergenceTarget(
        id=target,
        name=item.name,
        model=lookup.figure(target, "model").text,
        batches=np.array([point.x for point in curve.points]),
        samples=np.array([point.y for point in curve.points]) * _samples_per(lookup, curve),
        law_samples=lookup.figure(target, "law_samples").si,
        law_batch=lookup.figure(target, "law_batch").si,
        law_exponent=lookup.figure(target, "law_exponent").si,
        scatter=lookup.figure(target, "run_scatter").si,
        seq_len=whole("seq_len"),
        image_size=whole("image_size"),
        **{name: number(name) for name in OPTIONAL_FIGURES},
        early_recipe_samples=number("early_recipe_samples") or 1.0,
        figures=lookup.figures_of(target),
        points_source=curve.source,
    )


def _samples_per(lookup: Lookup, curve: Curve) -> float:
    """Return the samples per unit of the published points."""
    match curve.y_unit.name:
        case "sample":
            return 1.0
        case "epoch":
            return lookup.figure(curve.item, "dataset_samples").si
        case "token":
            return 1.0 / lookup.figure(curve.item, "seq_len").si
        case other:
            raise CatalogError(
                f"the points of {curve.item} are in {other}: sample, epoch or token is expected"
            )
