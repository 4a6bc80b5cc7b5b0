"""Options side by side: hours of each row, ratios between them, and what to beware of."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from app.catalog.catalog import Catalog
from app.engine.records import FloatLike, Floats
from app.engine.uncertainty import band, probability_less
from app.errors import BadInput, Message, NotFound, Unprocessable, fields_at
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
    """Time or cost of one option with its range and its samples."""

    value: float
    samples: Floats | None = None
    low: float | None = None
    high: float | None = None

    @property
    def drawn(self) -> FloatLike:
        """Samples, or the one exact value."""
        return self.value if self.samples is None else self.samples

    def times(self, factor: float) -> Amount:
        ends = (None if end is None else end * factor for end in (self.low, self.high))
        return Amount(self.value * factor, None if self.samples is None else self.samples * factor, *ends)

    def over(self, divisor: float) -> Amount:
        ends = (None if end is None else end / divisor for end in (self.low, self.high))
        return Amount(self.value / divisor, None if self.samples is None else self.samples / divisor, *ends)


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
    hours = row_hours(options, labels, scaling_efficiency)
    rows = [
        comparison_row(option, label, hours[label]) for option, label in zip(options, labels, strict=True)
    ]
    first = leaders(hours)
    return Comparison(
        id="",
        title=title or " · ".join(labels)[:200],
        locale=locale,
        currency=currency,
        scaling_efficiency=scaling_efficiency,
        rows=rows,
        ratios=[
            Ratio(faster=faster, slower=slower, **ratio)
            for faster, slower, ratio in ratios_of(hours, ROUNDING)
        ],
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


def estimated(
    requests: Sequence[EstimateRequest | PublishedFigure],
    currency: str,
    make: Callable[[EstimateRequest], Estimate],
) -> list[ComparisonEntry]:
    """Return the rows that are asked for, with their estimates; faults are named with their row."""
    check_row_count(len(requests))
    options = []
    for position, request in enumerate(requests):
        if isinstance(request, PublishedFigure):
            options.append(ComparisonEntry(request))
            continue
        asked = request.model_copy(update={"currency": currency})
        with fields_at(partial(in_row, position)):
            options.append(ComparisonEntry(asked, make(asked)))
    return options


def in_row(position: int, field: str) -> str:
    """Return what a field of a row is called; the row itself where all of it is meant."""
    return f"rows.{position}.{field}" if field else f"rows.{position}"


def check_systems(options: Sequence[ComparisonEntry], catalog: Catalog) -> None:
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


def row_hours(
    options: Sequence[ComparisonEntry], labels: Sequence[str], efficiency: float
) -> dict[str, Amount | None]:
    """Return the hours of every row by its label, linear ones from the rows they are scaled from. [h]

    None where the model does not fit. Only rows with more hardware than their base lose to the efficiency.
    """

    def hours_of(position: int, waiting: tuple[int, ...]) -> Amount | None:
        request, made = options[position].request, options[position].estimate
        here = f"rows.{position}"
        if position in waiting:
            raise BadInput.at(f"{here}.scaled_from", "rows are scaled from each other in a cycle")
        if isinstance(request, EstimateRequest):
            time = made.time_to_train if made is not None else None
            if time is None:
                return None
            samples = made.time_samples if made is not None else None
            drawn = None if samples is None else np.asarray(samples)
            return Amount(time.value, drawn, time.low, time.high).over(SECONDS_PER_HOUR)
        loss = efficiency if request.factor is None or request.factor > 1 else 1.0
        if request.kind == "linear" and request.scaled_from is not None:
            if request.factor is None:
                raise Unprocessable.at(
                    f"{here}.factor", "enter a factor for a row that is scaled from another"
                )
            if request.scaled_from not in labels:
                raise NotFound.named("row", request.scaled_from, labels, f"{here}.scaled_from")
            base = hours_of(labels.index(request.scaled_from), (*waiting, position))
            if base is None:
                return None
            linear = base.over(request.factor)
            if request.hours is not None:
                check_agreement(request.hours, linear.value, position)
            return linear.over(loss)
        if request.hours is None:
            raise Unprocessable.at(
                f"{here}.hours", "enter hours for a figure that is not scaled from another row"
            )
        return Amount(request.hours).over(loss if request.kind == "linear" else 1.0)

    return {label: hours_of(position, ()) for position, label in enumerate(labels)}


def check_agreement(stated: float, linear: float, position: int) -> None:
    """Refuse stated hours that the row's own base and factor contradict."""
    if abs(stated - linear) > ROUNDING * linear:
        raise BadInput.at(
            f"rows.{position}.hours",
            "{stated} h contradicts the {linear} h scaled from its source row; leave the hours empty",
            stated=stated,
            linear=round(linear, 4),
        )


def comparison_row(option: ComparisonEntry, label: str, hours: Amount | None) -> ComparisonRow:
    request = option.request
    stated = request if isinstance(request, PublishedFigure) else None
    return ComparisonRow(
        label=label,
        kind="modelled" if stated is None else stated.kind,
        hours=hours and hours.value,
        low=hours and hours.low,
        high=hours and hours.high,
        system=request.system.id if isinstance(request, EstimateRequest) else request.system,
        scaled_from=stated and stated.scaled_from,
        factor=stated and stated.factor,
        estimate=None if stated else option.estimate,
    )


def ratios_of(
    amounts: Mapping[str, Amount | None], rounding: float
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Give each option with each of more, and the ratio of the two; the least option's first.

    The samples of two estimates are drawn with the same random numbers, so that what both depend on, such as
    the efficiency of one software stack, does not blur their order.
    """
    known = {label: amount for label, amount in amounts.items() if amount is not None and amount.value > 0}
    ranked = sorted(known, key=lambda label: (known[label].value, label))
    for place, first in enumerate(ranked):
        for second in reversed(ranked[place + 1 :]):
            less, more = known[first], known[second]
            ratio: dict[str, Any] = {
                "ratio": more.value / less.value,
                "tie": not separated(less, more, rounding),
            }
            if more.samples is not None or less.samples is not None:
                low, high = band(np.asarray(more.drawn / less.drawn, dtype=float), ratio["ratio"])
                probability = float(probability_less(less.drawn, more.drawn))
                ratio |= {"low": float(low), "high": float(high), "probability": probability}
            yield first, second, ratio


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
        _about(
            "vendor_figure",
            "caution",
            "{rows}: published by the vendor; not independently measured",
            rows,
            lambda row: row.kind == "vendor",
        ),
        _about(
            "linear_scaling_assumed",
            "caution",
            "{rows}: extrapolated, not measured; real scaling falls short of it, which flatters the row",
            rows,
            lambda row: row.kind == "linear",
        ),
        _about(
            "generation_mk2",
            "info",
            "{rows}: MK2-generation IPU (GC200), not Bow; the vendor states that Bow is up to 40 % faster",
            rows,
            lambda row: chip_of(row, catalog) in MK2,
        ),
        cost_bases_differ(rows),
    )
    return [warning for warning in found if warning is not None]


USED = "used market"
"""What the catalogue says of the availability of systems that are not sold new."""


def not_sold_new(rows: Sequence[ComparisonRow], catalog: Catalog) -> list[CheckWarning]:
    """Return what to clear up before an option is ordered that nobody sells new."""
    found = _about(
        "not_sold_new",
        "caution",
        "{rows}: no longer sold new; confirm stock, delivery and the end of the manufacturer's support "
        "before ordering",
        rows,
        lambda row: row.system in catalog.items and USED in catalog.system(str(row.system)).availability,
    )
    return [] if found is None else [found]


def _about(
    code: str,
    severity: Literal["info", "caution", "serious"],
    template: str,
    rows: Sequence[ComparisonRow],
    concerned: Callable[[ComparisonRow], bool],
) -> CheckWarning | None:
    """Return a warning that names the rows it is about; None where it is about none."""
    chosen = {position: row.label for position, row in enumerate(rows) if concerned(row)}
    if not chosen:
        return None
    message = Message(template, {"rows": ", ".join(chosen.values())})
    return CheckWarning.of(code, severity, message, *(f"rows.{position}" for position in chosen))


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
