"""Options side by side: hours of each row, ratios between them, and what to beware of."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.catalog.catalog import Catalog
from app.engine.records import FloatLike, Floats
from app.engine.uncertainty import band, probability_less
from app.errors import BadInput, Message, NotFound, Unprocessable
from app.estimating.checks import MK2
from app.estimating.documents import CheckWarning, Estimate
from app.estimating.hardware import known_id
from app.estimating.request import EstimateRequest
from app.features.comparisons.model import (
    LEAST_SHARE,
    MOST_ROWS,
    Comparison,
    ComparisonRow,
    PublishedFigure,
    Ratio,
)

ROUNDING = 0.01
"""Share by which a stated linear figure may differ from the computed one: publications round. Options nearer
to each other than this are equal."""

SAME_COST = 0.001
"""Share below which two costs are equal: what options share of prices does not blur their difference."""

SURE = 0.8
"""Share of the common samples in which an order has to hold to be one, as for a deadline."""

SECONDS_PER_HOUR = 3600.0

COST_BASIS = (
    "acquisition",
    "amortisation_years",
    "utilisation",
    "include",
    "price_book_id",
    "price_book_version",
    "currency",
    "region",
    "tariff_tier",
    "rental",
    "price_date",
    "term_years",
    "discount_rate",
    "pue",
    "storage_tb",
    "egress_gb",
)
"""What two costs must share to be compared; prices, and what a machine fetches when it is sold, may differ.

A size of storage that nobody stated grows with the machines, and differs without being another basis.
"""


@dataclass(frozen=True, slots=True)
class ComparisonEntry:
    """One row as asked; an estimate request comes with its estimate."""

    request: EstimateRequest | PublishedFigure
    estimate: Estimate | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Amount:
    """Time or cost of one option with its samples."""

    value: float
    samples: Floats | None

    @property
    def drawn(self) -> FloatLike:
        """Samples, or the one exact value."""
        return self.value if self.samples is None else self.samples


@dataclass(frozen=True, slots=True, eq=False)
class Hours:
    """Time to train of one row; all None where it does not fit. [h]"""

    value: float | None
    low: float | None = None
    high: float | None = None
    samples: Floats | None = None

    def over(self, divisor: float) -> Hours:
        """Return the hours divided by a number."""
        low, high = self.low, self.high
        return Hours(
            None if self.value is None else self.value / divisor,
            None if low is None else low / divisor,
            None if high is None else high / divisor,
            None if self.samples is None else self.samples / divisor,
        )


def compare(
    options: Sequence[ComparisonEntry],
    *,
    catalog: Catalog,
    scaling_efficiency: float = 1.0,
    title: str | None = None,
    locale: str = "en",
    currency: str = "USD",
) -> Comparison:
    """Return options side by side; the identifier is empty.

    A linear row has the hours of the row it is scaled from, over its factor times the scaling
    efficiency. Efficiency 1 is what publications assume; it flatters the row that is scaled.
    """
    check_row_count(len(options))
    if not LEAST_SHARE <= scaling_efficiency <= 1:
        raise BadInput.at(
            "scaling_efficiency", "must be above 0 and at most 1, not {value}", value=scaling_efficiency
        )
    check_systems(options, catalog)
    labels = row_labels(options)
    hours = Scaling(options, labels, scaling_efficiency).hours()
    rows = [comparison_row(*entry) for entry in zip(options, labels, hours, strict=True)]
    first = leaders(
        {
            label: None if one.value is None else Amount(one.value, one.samples)
            for label, one in zip(labels, hours, strict=True)
        }
    )
    return Comparison(
        id="",
        title=title or " · ".join(labels)[:200],
        locale=locale,
        currency=currency,
        scaling_efficiency=scaling_efficiency,
        rows=rows,
        ratios=ratios(rows, hours),
        fastest=first[0] if len(first) == 1 else None,
        fastest_tied=first if len(first) > 1 else [],
        warnings=comparison_warnings(rows, catalog),
    )


def check_row_count(count: int) -> None:
    """Refuse too few or too many rows; also before their estimates are made."""
    if not 1 <= count <= MOST_ROWS:
        raise BadInput.at(
            "rows", "a comparison has 1 to {most} rows, not {count}", most=MOST_ROWS, count=count
        )


def check_systems(options: Sequence[ComparisonEntry], catalog: Catalog) -> None:
    """Refuse figures of systems the catalogue does not have."""
    for position, option in enumerate(options):
        system = option.request.system
        if isinstance(system, str):
            known_id(catalog, "system", system, f"rows.{position}.system")


def row_labels(options: Sequence[ComparisonEntry]) -> list[str]:
    """Return the name of each row; those without one are named after their system."""
    given = [option.request.label for option in options if option.request.label]
    twice = sorted({label for label in given if given.count(label) > 1})
    if twice:
        raise BadInput.at("rows", "two rows are labelled “{label}”; use different labels", label=twice[0])
    taken = set(given)
    labels = []
    for option in options:
        label = option.request.label or made_label(option, taken)
        taken.add(label)
        labels.append(label)
    return labels


def made_label(option: ComparisonEntry, taken: set[str]) -> str:
    """Return a name for an estimate without one that no other row has."""
    assert option.estimate is not None, "figures always carry a label"
    system = option.estimate.system
    base = option.estimate.label or (f"{system.count} × {system.name}" if system.count > 1 else system.name)
    names = itertools.chain([base], (f"{base} ({number})" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


class Scaling:
    """Hours of every row, linear ones from the rows they are scaled from."""

    def __init__(self, options: Sequence[ComparisonEntry], labels: Sequence[str], efficiency: float) -> None:
        self.options = options
        self.index = {label: position for position, label in enumerate(labels)}
        self.efficiency = efficiency

    def hours(self) -> list[Hours]:
        """Return the hours of each row."""
        return [self.of(position, ()) for position in range(len(self.options))]

    def of(self, position: int, path: tuple[int, ...]) -> Hours:
        """Return the hours of one row; ``path`` are the rows that wait for it."""
        request, estimate = self.options[position].request, self.options[position].estimate
        if position in path:
            raise BadInput.at(f"rows.{position}.scaled_from", "rows are scaled from each other in a cycle")
        if isinstance(request, EstimateRequest):
            time = estimate.time_to_train if estimate else None
            if time is None:
                return Hours(None)
            drawn = estimate.time_samples if estimate else None
            samples = None if drawn is None else np.asarray(drawn)
            return Hours(time.value, time.low, time.high, samples).over(SECONDS_PER_HOUR)
        if request.kind != "linear":
            return Hours(stated_hours(request, position))
        if request.scaled_from is None:
            return Hours(stated_hours(request, position)).over(self.loss(request.factor))
        return self.scaled(request, position, path)

    def scaled(self, request: PublishedFigure, position: int, path: tuple[int, ...]) -> Hours:
        """Return the hours of a row that is scaled from another."""
        if request.factor is None:
            raise Unprocessable.at(
                f"rows.{position}.factor", "enter a factor for a row that is scaled from another"
            )
        if request.scaled_from not in self.index:
            raise NotFound.named("row", str(request.scaled_from), self.index, f"rows.{position}.scaled_from")
        base = self.of(self.index[request.scaled_from], (*path, position))
        linear = base.over(request.factor)
        if request.hours is not None and linear.value is not None:
            check_agreement(request.hours, linear.value, position)
        return linear.over(self.loss(request.factor))

    def loss(self, factor: float | None) -> float:
        """Return what scaling loses: only rows with more hardware than their base lose anything."""
        return self.efficiency if factor is None or factor > 1 else 1.0


def stated_hours(request: PublishedFigure, position: int) -> float:
    """Return the hours of a published figure, which must have them."""
    if request.hours is None:
        raise Unprocessable.at(
            f"rows.{position}.hours", "enter hours for a figure that is not scaled from another row"
        )
    return request.hours


def check_agreement(stated: float, linear: float, position: int) -> None:
    """Refuse stated hours that the row's own base and factor contradict."""
    if abs(stated - linear) > ROUNDING * linear:
        raise BadInput.at(
            f"rows.{position}.hours",
            "{stated} h contradicts the {linear} h scaled from its source row; leave the hours empty",
            stated=stated,
            linear=round(linear, 4),
        )


def comparison_row(option: ComparisonEntry, label: str, hours: Hours) -> ComparisonRow:
    """Return one row of the answer."""
    request = option.request
    if isinstance(request, PublishedFigure):
        return ComparisonRow(
            label=label,
            kind=request.kind,
            hours=hours.value,
            low=hours.low,
            high=hours.high,
            system=request.system,
            scaled_from=request.scaled_from,
            factor=request.factor,
            estimate=None,
        )
    return ComparisonRow(
        label=label,
        kind="modelled",
        hours=hours.value,
        low=hours.low,
        high=hours.high,
        system=request.system.id,
        scaled_from=None,
        factor=None,
        estimate=option.estimate,
    )


def ratios(rows: Sequence[ComparisonRow], hours: Sequence[Hours]) -> list[Ratio]:
    """Return the hours of each row over those of each faster one, the fastest row's first."""
    timed = sorted(
        (one.value, row.label, Amount(one.value, one.samples))
        for row, one in zip(rows, hours, strict=True)
        if one.value is not None
    )
    found = []
    for position, (_, faster, less) in enumerate(timed):
        for _, slower, more in reversed(timed[position + 1 :]):
            ratio = ratio_of(more, less)
            found.append(
                Ratio(
                    slower=slower,
                    faster=faster,
                    ratio=ratio.value,
                    low=ratio.low,
                    high=ratio.high,
                    probability=ratio.probability,
                    tie=ratio.tie,
                )
            )
    return found


@dataclass(frozen=True, slots=True)
class AmountRatio:
    """A larger amount over a smaller one."""

    value: float
    low: float | None
    high: float | None
    probability: float | None
    """That the smaller one is the smaller; None where neither has samples."""
    tie: bool


def ratio_of(more: Amount, less: Amount, rounding: float = ROUNDING) -> AmountRatio:
    """Return the ratio of two amounts, with its range where one of them has samples.

    The samples of two estimates are drawn with the same random numbers, so that what both depend on, such as
    the efficiency of one software stack, does not blur their order.
    """
    central = more.value / (less.value or 1.0)
    if more.samples is None and less.samples is None:
        return AmountRatio(central, None, None, None, not separated(less, more, rounding))
    low, high = band(np.asarray(more.drawn / less.drawn, dtype=float), central)
    probability = float(probability_less(less.drawn, more.drawn))
    return AmountRatio(central, float(low), float(high), probability, not separated(less, more, rounding))


def separated(less: Amount, more: Amount, rounding: float = ROUNDING) -> bool:
    """Tell whether something separates two amounts: more than rounding, and more than their ranges."""
    if more.value <= (1.0 + rounding) * less.value:
        return False
    if less.samples is None and more.samples is None:
        return True
    return bool(probability_less(less.drawn, more.drawn) >= SURE)


def leaders(found: Mapping[str, Amount | None], rounding: float = ROUNDING) -> list[str]:
    """Return the option with the least amount, and after it those that nothing separates from it."""
    known = {name: one for name, one in found.items() if one is not None}
    if not known:
        return []
    best = min(known, key=lambda name: known[name].value)
    others = (name for name, one in known.items() if not separated(known[best], one, rounding))
    return [best, *(name for name in others if name != best)]


def comparison_warnings(rows: Sequence[ComparisonRow], catalog: Catalog) -> list[CheckWarning]:
    """Return what to beware of when reading the rows side by side."""
    found = (
        vendor_figure(rows),
        linear_scaling_assumed(rows),
        generation_mk2(rows, catalog),
        cost_bases_differ(rows),
    )
    return [warning for warning in found if warning is not None]


def joined(rows: Sequence[ComparisonRow], chosen: Sequence[int]) -> str:
    """Return the labels of some rows as one string."""
    return ", ".join(rows[position].label for position in chosen)


def vendor_figure(rows: Sequence[ComparisonRow]) -> CheckWarning | None:
    """Rows that only their vendor vouches for."""
    chosen = [position for position, row in enumerate(rows) if row.kind == "vendor"]
    if not chosen:
        return None
    message = Message(
        "{rows}: published by the vendor; not independently measured", {"rows": joined(rows, chosen)}
    )
    return CheckWarning.of("vendor_figure", "caution", message, *(f"rows.{position}" for position in chosen))


def linear_scaling_assumed(rows: Sequence[ComparisonRow]) -> CheckWarning | None:
    """Rows that were never run at their size."""
    chosen = [position for position, row in enumerate(rows) if row.kind == "linear"]
    if not chosen:
        return None
    message = Message(
        "{rows}: extrapolated, not measured; real scaling falls short of it, which flatters the row",
        {"rows": joined(rows, chosen)},
    )
    return CheckWarning.of(
        "linear_scaling_assumed", "caution", message, *(f"rows.{position}" for position in chosen)
    )


def generation_mk2(rows: Sequence[ComparisonRow], catalog: Catalog) -> CheckWarning | None:
    """Rows on the second IPU generation, which has a faster successor at the same size."""
    chosen = [position for position, row in enumerate(rows) if chip_of(row, catalog) in MK2]
    if not chosen:
        return None
    message = Message(
        "{rows}: MK2-generation IPU (GC200), not Bow; the vendor states that Bow is up to 40 % faster",
        {"rows": joined(rows, chosen)},
    )
    return CheckWarning.of("generation_mk2", "info", message, *(f"rows.{position}" for position in chosen))


def chip_of(row: ComparisonRow, catalog: Catalog) -> str | None:
    """Return the chip of a row's system; a figure without one may name it in its label."""
    if row.system is not None:
        return catalog.system(row.system).chip
    words = f"-{re.sub(r'[^a-z0-9]+', '-', row.label.lower())}-"
    named = [system for system in catalog.names("system") if f"-{system}-" in words]
    return catalog.system(max(named, key=len)).chip if named else None


def cost_bases_differ(rows: Sequence[ComparisonRow]) -> CheckWarning | None:
    """Costs that must not be compared: bought here, rented there, other parts or years counted."""
    costed = {
        position: {name: row.estimate.cost.basis.get(name) for name in COST_BASIS}
        for position, row in enumerate(rows)
        if row.estimate is not None and row.estimate.cost is not None
    }
    bases = list(costed.values())
    apart = [name for name in COST_BASIS if any(basis[name] != bases[0][name] for basis in bases)]
    if not apart:
        return None
    values = {"fields": ", ".join(apart)}
    message = Message("the costs are on different bases ({fields}) and cannot be compared directly", values)
    harmonised = all(rows[position].costs for position in costed)
    if harmonised:
        message = Message(
            "the options are acquired on different terms ({fields}); their costs are compared on one basis",
            values,
        )
    fields = (f"rows.{position}.estimate.cost" for position in costed)
    return CheckWarning.of("cost_bases_differ", "info" if harmonised else "caution", message, *fields)
