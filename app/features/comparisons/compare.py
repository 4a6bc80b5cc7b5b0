"""Comparisons as documents, from options side by side."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from app.catalog.catalog import Catalog
from app.errors import BadInput, fields_at
from app.estimating.context import SizingContext
from app.estimating.decision import DecisionQuestion, check_limits
from app.estimating.documents import Estimate
from app.estimating.hardware import known_id
from app.estimating.request import EstimateRequest, Limits
from app.features.comparisons.model import (
    MOST_ROWS,
    Comparison,
    ComparisonRow,
    CostRatio,
    Ratio,
    StoredEstimate,
)
from app.features.studies.common_basis import USUAL_BASIS, BasisRequest
from app.features.studies.knobs import shared_demand
from app.features.studies.options import LEAST_SHARE, PublishedFigure
from app.features.studies.side_by_side import OptionEntry, SideBySide, SideMetric


def side_by_side(
    options: Sequence[OptionEntry],
    context: SizingContext,
    currency: str,
    scaling_efficiency: float = 1.0,
    basis: BasisRequest = USUAL_BASIS,
    among: Collection[str] | None = None,
) -> SideBySide:
    """Return rows beside each other by their labels.

    The hours of a linear row are those of its base divided by its factor and the scaling efficiency.
    Publications assume an efficiency of 1, which flatters the scaled row.
    """
    check_row_count(len(options))
    if not LEAST_SHARE <= scaling_efficiency <= 1:
        raise BadInput.at(
            "scaling_efficiency", "must be above 0 and at most 1, not {value}", value=scaling_efficiency
        )
    check_systems(options, context.catalog)
    labels = row_labels(options)
    return SideBySide(
        options=dict(zip(labels, options, strict=True)),
        labels={label: label for label in labels},
        context=context,
        currency=currency,
        scaling_efficiency=scaling_efficiency,
        basis=basis,
        among=among,
    )


def question_of(side: SideBySide, limits: Limits, at: str = "limits.{}") -> DecisionQuestion:
    """Return the question about rows; errors name the limit, which is ``at`` a path, or the row."""
    with fields_at(at.format):
        check_limits(limits)
    demands = {
        f"rows.{position}": option.request.assumptions.demand
        for position, option in enumerate(side.options.values())
        if isinstance(option.request, EstimateRequest)
    }
    demand = shared_demand((f"{row}.assumptions", stated) for row, stated in demands.items())
    row = next((row for row, stated in demands.items() if stated is not None), "rows.0")
    with fields_at(f"{row}.{{}}".format):
        return DecisionQuestion.of(limits, demand, side.currency)


def comparison_of(
    side: SideBySide,
    question: DecisionQuestion | None,
    *,
    identifier: str = "",
    title: str | None = None,
    locale: str = "en",
) -> Comparison:
    return Comparison(
        id=identifier,
        title=title or " · ".join(side.labels.values())[:200],
        locale=locale,
        currency=side.currency,
        scaling_efficiency=side.scaling_efficiency,
        rows=[row_of(side, label) for label in side.shown],
        ratios=[Ratio(faster=one.less, slower=one.more, **figures(one)) for one in side.ratios["time"]],
        **leader(side, "time", "fastest"),
        one_basis=None if side.priced is None else side.priced.basis,
        cost_ratios=[
            CostRatio(cheaper=one.less, dearer=one.more, **figures(one)) for one in side.ratios["cost"]
        ],
        **leader(side, "cost", "cheapest"),
        decision=None if question is None else side.decision(question),
        warnings=side.warnings,
    )


def row_of(side: SideBySide, label: str) -> ComparisonRow:
    option, hours = side.options[label], side.hours[label]
    figure = option.request if isinstance(option.request, PublishedFigure) else None
    return ComparisonRow(
        label=label,
        kind=option.kind,
        hours=hours and hours.value,
        low=hours and hours.low,
        high=hours and hours.high,
        system=option.system,
        scaled_from=figure and figure.scaled_from,
        factor=figure and figure.factor,
        costs=side.costs_of(label),
        estimate=None if figure else option.estimate,
    )


def figures(ratio: object) -> dict[str, Any]:
    return {name: getattr(ratio, name) for name in ("ratio", "low", "high", "probability", "tie")}


def leader(side: SideBySide, metric: SideMetric, name: str) -> dict[str, Any]:
    """Return the fields of the row that leads, or of those that tie."""
    leading = side.leading(metric)
    alone = len(leading) == 1
    return {name: leading[0] if alone else None, f"{name}_tied": [] if alone else leading}


def check_row_count(count: int) -> None:
    """Raise an error for too few or too many rows."""
    if not 1 <= count <= MOST_ROWS:
        raise BadInput.at(
            "rows", "a comparison has 1 to {most} rows, not {count}", most=MOST_ROWS, count=count
        )


NOTHING_STORED: Mapping[int, Estimate] = {}


def estimated(
    requests: Sequence[EstimateRequest | PublishedFigure],
    currency: str,
    make: Callable[[EstimateRequest], Estimate],
    stored: Mapping[int, Estimate] = NOTHING_STORED,
) -> list[OptionEntry]:
    """Return the requested rows with their estimates; errors name the row.

    ``stored`` has the estimates that are known by position, if they are in the currency.
    """
    check_row_count(len(requests))
    options = []
    for position, request in enumerate(requests):
        if isinstance(request, PublishedFigure):
            options.append(OptionEntry(request))
            continue
        if position in stored and request.currency == currency:
            options.append(OptionEntry(request, stored[position]))
            continue
        request = request.model_copy(update={"currency": currency})
        with fields_at(partial(in_row, position)):
            options.append(OptionEntry(request, make(request)))
    return options


def in_row(position: int, field: str) -> str:
    """Return the path of a field of a row, or of the row if the field is empty."""
    return f"rows.{position}.{field}" if field else f"rows.{position}"


def check_systems(options: Sequence[OptionEntry], catalog: Catalog) -> None:
    for position, option in enumerate(options):
        if isinstance(option.request, PublishedFigure) and option.system is not None:
            known_id(catalog, "system", option.system, f"rows.{position}.system")


def check_labels(requests: Sequence[EstimateRequest | PublishedFigure | StoredEstimate]) -> None:
    used = [request.label for request in requests if request.label]
    repeated = sorted({label for label in used if used.count(label) > 1})
    if repeated:
        raise BadInput.at("rows", "two rows are labelled “{label}”; use different labels", label=repeated[0])


def row_labels(options: Sequence[OptionEntry]) -> list[str]:
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


def unused_label(option: OptionEntry, used: Collection[str]) -> str:
    base = option.request.label or default_label(option)
    labels = itertools.chain([base], (f"{base} ({number})" for number in itertools.count(2)))
    return next(label for label in labels if label not in used)


def default_label(option: OptionEntry) -> str:
    assert option.estimate is not None, "published figures always have a label"
    system = option.estimate.system
    return option.estimate.name or (f"{system.count} × {system.name}" if system.count > 1 else system.name)
