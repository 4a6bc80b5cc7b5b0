"""Options side by side: hours of each row, ratios between them, and warnings."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
"""Relative difference below which two times are equal; a stated linear figure may be rounded by as much."""

SAME_COST = 0.001
"""Relative difference below which two costs are equal."""

SURE = 0.8
"""Least share of the common samples in which an order must hold, as for a deadline."""

SECONDS_PER_HOUR = 3600.0

COST_BASIS = (
    "acquisition", "amortisation_years", "utilisation", "include", "price_book_id", "price_book_version",
    "currency", "region", "tariff_kind", "rental", "price_date", "term_years", "discount_rate", "pue",
    "storage_tb", "egress_gb",
)  # fmt: skip
"""Fields of the basis that two costs must share to be comparable; prices and resale values may differ.

Storage that is not stated grows with the machines, which is no difference of basis.
"""


@dataclass(frozen=True, slots=True)
class ComparisonEntry:
    """Request of one row; an estimate request comes with its estimate."""

    request: EstimateRequest | PublishedFigure
    estimate: Estimate | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AmountSamples:
    """Time or cost of one option with its range and its samples."""

    value: float
    samples: Floats | None = None
    low: float | None = None
    high: float | None = None

    @property
    def drawn(self) -> FloatLike:
        """Samples, or the exact value if there are none."""
        return self.value if self.samples is None else self.samples

    def times(self, factor: float) -> AmountSamples:
        ends = (None if end is None else end * factor for end in (self.low, self.high))
        return AmountSamples(
            self.value * factor, None if self.samples is None else self.samples * factor, *ends
        )

    def over(self, divisor: float) -> AmountSamples:
        ends = (None if end is None else end / divisor for end in (self.low, self.high))
        return AmountSamples(
            self.value / divisor, None if self.samples is None else self.samples / divisor, *ends
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
    """Return options side by side, with an empty identifier.

    The hours of a linear row are those of its base divided by its factor and the scaling efficiency.
    Publications assume an efficiency of 1, which flatters the scaled row.
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
        **leader_fields("fastest", leaders(hours)),
        warnings=comparison_warnings(rows, catalog),
    )


def check_row_count(count: int) -> None:
    """Raise an error for too few or too many rows."""
    if not 1 <= count <= MOST_ROWS:
        raise BadInput.at(
            "rows", "a comparison has 1 to {most} rows, not {count}", most=MOST_ROWS, count=count
        )


def estimated(
    requests: Sequence[EstimateRequest | PublishedFigure],
    currency: str,
    make: Callable[[EstimateRequest], Estimate],
) -> list[ComparisonEntry]:
    """Return the requested rows with their estimates; errors name the row."""
    check_row_count(len(requests))
    options = []
    for position, request in enumerate(requests):
        if isinstance(request, PublishedFigure):
            options.append(ComparisonEntry(request))
            continue
        request = request.model_copy(update={"currency": currency})
        with fields_at(partial(in_row, position)):
            options.append(ComparisonEntry(request, make(request)))
    return options


def in_row(position: int, field: str) -> str:
    """Return the path of a field of a row, or of the row if the field is empty."""
    return f"rows.{position}.{field}" if field else f"rows.{position}"


def check_systems(options: Sequence[ComparisonEntry], catalog: Catalog) -> None:
    for position, option in enumerate(options):
        system = option.request.system
        if isinstance(system, str):
            known_id(catalog, "system", system, f"rows.{position}.system")


def check_labels(requests: Sequence[EstimateRequest | PublishedFigure]) -> None:
    used = [request.label for request in requests if request.label]
    repeated = sorted({label for label in used if used.count(label) > 1})
    if repeated:
        raise BadInput.at("rows", "two rows are labelled “{label}”; use different labels", label=repeated[0])


def row_labels(options: Sequence[ComparisonEntry]) -> list[str]:
    """Return the label of each row, by default the name of its system; labels are unique.

    Of labels that are equal, as version 0.1.0 may have left them, the later ones are numbered.
    """
    given = [option.request.label for option in options if option.request.label]
    labels: list[str] = []
    for option in options:
        own = option.request.label
        label = own if own and own not in labels else unused_label(option, [*given, *labels])
        labels.append(label)
    return labels


def unused_label(option: ComparisonEntry, used: Collection[str]) -> str:
    base = option.request.label or default_label(option)
    labels = itertools.chain([base], (f"{base} ({number})" for number in itertools.count(2)))
    return next(label for label in labels if label not in used)


def default_label(option: ComparisonEntry) -> str:
    assert option.estimate is not None, "published figures always have a label"
    system = option.estimate.system
    return option.estimate.name or (f"{system.count} × {system.name}" if system.count > 1 else system.name)


def row_hours(
    options: Sequence[ComparisonEntry], labels: Sequence[str], efficiency: float
) -> dict[str, AmountSamples | None]:
    """Return the hours of every row by its label; None if the model does not fit. [h]

    The efficiency applies only to linear rows with more hardware than their base.
    """

    def hours_of(position: int, scaled: tuple[int, ...]) -> AmountSamples | None:
        """Return the hours of a row on which the rows ``scaled`` depend."""
        request, estimate = options[position].request, options[position].estimate
        path = f"rows.{position}"
        if position in scaled:
            raise BadInput.at(f"{path}.scaled_from", "rows are scaled from each other in a cycle")
        if isinstance(request, EstimateRequest):
            if estimate is None or estimate.time_to_train is None:
                return None
            time = estimate.time_to_train
            samples = None if estimate.time_samples is None else np.asarray(estimate.time_samples)
            return AmountSamples(time.value, samples, time.low, time.high).over(SECONDS_PER_HOUR)
        loss = efficiency if request.factor is None or request.factor > 1 else 1.0
        if request.kind == "linear" and request.scaled_from is not None:
            if request.factor is None:
                raise Unprocessable.at(
                    f"{path}.factor", "enter a factor for a row that is scaled from another"
                )
            if request.scaled_from not in labels:
                raise NotFound.named("row", request.scaled_from, labels, f"{path}.scaled_from")
            base = hours_of(labels.index(request.scaled_from), (*scaled, position))
            if base is None:
                return None
            linear = base.over(request.factor)
            if request.hours is not None:
                check_agreement(request.hours, linear.value, position)
            return linear.over(loss)
        if request.hours is None:
            raise Unprocessable.at(
                f"{path}.hours", "enter hours for a figure that is not scaled from another row"
            )
        return AmountSamples(request.hours).over(loss if request.kind == "linear" else 1.0)

    return {label: hours_of(position, ()) for position, label in enumerate(labels)}


def check_agreement(stated: float, linear: float, position: int) -> None:
    """Raise an error for stated hours that contradict those scaled from the base."""
    if abs(stated - linear) > ROUNDING * linear:
        raise BadInput.at(
            f"rows.{position}.hours",
            "{stated} h contradicts the {linear} h scaled from its source row; leave the hours empty",
            stated=stated,
            linear=round(linear, 4),
        )


def comparison_row(option: ComparisonEntry, label: str, hours: AmountSamples | None) -> ComparisonRow:
    request = option.request
    figure = request if isinstance(request, PublishedFigure) else None
    return ComparisonRow(
        label=label,
        kind="modelled" if figure is None else figure.kind,
        hours=hours and hours.value,
        low=hours and hours.low,
        high=hours and hours.high,
        system=request.system.id if isinstance(request, EstimateRequest) else request.system,
        scaled_from=figure and figure.scaled_from,
        factor=figure and figure.factor,
        estimate=None if figure else option.estimate,
    )


def ratios_of(
    amounts: Mapping[str, AmountSamples | None], rounding: float
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield each option with each one of a larger amount and their ratio, the least option first.

    The samples of two estimates use the same random numbers, so that uncertainty they share, such as the
    efficiency of one software stack, does not blur their order.
    """
    known = {label: amount for label, amount in amounts.items() if amount is not None and amount.value > 0}
    ranked = sorted(known, key=lambda label: (known[label].value, label))
    for index, first in enumerate(ranked):
        for second in reversed(ranked[index + 1 :]):
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


def separated(less: AmountSamples, more: AmountSamples, rounding: float = ROUNDING) -> bool:
    """Return whether two amounts differ by more than rounding and more than their uncertainty."""
    if more.value <= (1.0 + rounding) * less.value:
        return False
    if less.samples is None and more.samples is None:
        return True
    return bool(probability_less(less.drawn, more.drawn) >= SURE)


def leaders(amounts: Mapping[str, AmountSamples | None], rounding: float = ROUNDING) -> list[str]:
    """Return the option with the least amount, followed by those that tie with it."""
    known = {name: amount for name, amount in amounts.items() if amount is not None}
    if not known:
        return []
    best = min(known, key=lambda name: known[name].value)
    tied = (name for name, amount in known.items() if not separated(known[best], amount, rounding))
    return [best, *(name for name in tied if name != best)]


def leader_fields(name: str, labels: list[str]) -> dict[str, Any]:
    """Return the fields of a comparison for a single leading option, or for those that tie."""
    return {name: labels[0] if len(labels) == 1 else None, f"{name}_tied": labels if len(labels) > 1 else []}


def comparison_warnings(rows: Sequence[ComparisonRow], catalog: Catalog) -> list[CheckWarning]:
    """Return warnings to consider when comparing the rows."""
    warnings = (
        _row_warning(
            "vendor_figure",
            "caution",
            "{rows}: published by the vendor; not independently measured",
            rows,
            lambda row: row.kind == "vendor",
        ),
        _row_warning(
            "linear_scaling_assumed",
            "caution",
            "{rows}: extrapolated, not measured; real scaling falls short of it, which flatters the row",
            rows,
            lambda row: row.kind == "linear",
        ),
        _row_warning(
            "generation_mk2",
            "info",
            "{rows}: MK2-generation IPU (GC200), not Bow; the vendor states that Bow is up to 40 % faster",
            rows,
            lambda row: chip_of(row, catalog) in MK2,
        ),
        cost_bases_differ(rows),
    )
    return [warning for warning in warnings if warning is not None]


USED = "used market"
"""Availability in the catalogue of systems that are not sold new."""


def not_sold_new(rows: Sequence[ComparisonRow], catalog: Catalog) -> list[CheckWarning]:
    """Return the warning about options that are not sold new, if any."""
    warning = _row_warning(
        "not_sold_new",
        "caution",
        "{rows}: no longer sold new; confirm stock, delivery and the end of the manufacturer's support "
        "before ordering",
        rows,
        lambda row: row.system in catalog.items and USED in catalog.system(str(row.system)).availability,
    )
    return [] if warning is None else [warning]


def _row_warning(
    code: str,
    severity: Literal["info", "caution", "serious"],
    template: str,
    rows: Sequence[ComparisonRow],
    applies: Callable[[ComparisonRow], bool],
) -> CheckWarning | None:
    """Return a warning that names the rows to which it applies; None if there are none."""
    labels = {position: row.label for position, row in enumerate(rows) if applies(row)}
    if not labels:
        return None
    message = Message(template, {"rows": ", ".join(labels.values())})
    return CheckWarning.of(code, severity, message, *(f"rows.{position}" for position in labels))


def chip_of(row: ComparisonRow, catalog: Catalog) -> str | None:
    """Return the chip of a row's system; a figure without one may name it in its label."""
    if row.system is not None:
        return catalog.system(row.system).chip
    words = f"-{re.sub(r'[^a-z0-9]+', '-', row.label.lower())}-"
    systems = [system for system in catalog.names("system") if f"-{system}-" in words]
    return catalog.system(max(systems, key=len)).chip if systems else None


def cost_bases_differ(rows: Sequence[ComparisonRow]) -> CheckWarning | None:
    """Return the warning about costs on different terms or cost items; None if all are alike."""
    costed = {
        position: {name: row.estimate.cost.basis.get(name) for name in COST_BASIS}
        for position, row in enumerate(rows)
        if row.estimate is not None and row.estimate.cost is not None
    }
    bases = list(costed.values())
    differing = [name for name in COST_BASIS if any(basis[name] != bases[0][name] for basis in bases)]
    if not differing:
        return None
    values = {"fields": ", ".join(differing)}
    message = Message("the costs are on different bases ({fields}) and cannot be compared directly", values)
    harmonised = all(rows[position].costs for position in costed)
    if harmonised:
        message = Message(
            "the options are acquired on different terms ({fields}); their costs are compared on one basis",
            values,
        )
    fields = (f"rows.{position}.estimate.cost" for position in costed)
    return CheckWarning.of("cost_bases_differ", "info" if harmonised else "caution", message, *fields)
