"""From comparisons to what their pages show: order, bars and figures; no number is made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import Message
from app.estimating.documents import CheckWarning, Estimate, ModelSummary, Text
from app.estimating.schema import Quantity
from app.features.comparisons import charts
from app.features.comparisons.charts import hours_of
from app.features.comparisons.model import BasisCost, Comparison, ComparisonRow
from app.features.estimates import charts as estimates_charts
from app.features.estimates.charts import Series, efficiency, idle_devices
from app.features.estimates.pages import roofline_view, scaling_views
from app.platform.charts.figures import RangeBar, range_bars, time_scale
from app.platform.web.contexts import (
    REFUSAL,
    SEVERITIES,
    FigureView,
    Form,
    WarningGroup,
    grouped,
    refusal_of,
    view,
)
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice


@dataclass(frozen=True, slots=True)
class OptionView:
    """One option of a comparison with what its row shows."""

    row: ComparisonRow
    time: Quantity | None
    time_bar: RangeBar | None
    cost_bar: RangeBar | None
    against_best: float | None
    """Hours over those of the fastest option."""
    bound: str
    """Largest part of the time to train; empty where there is no breakdown."""
    refusal: CheckWarning | None
    """Why the option cannot run, and what would fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPage:
    """Options side by side."""

    comparison: Comparison
    model: ModelSummary | None
    """The model, where all modelled rows share one."""
    trained: Text | None
    """What is trained, where all modelled rows train the same."""
    options: Sequence[OptionView]
    time_scale: Scale
    """One unit for the times of all options."""
    basis_rows: Sequence[tuple[str, BasisCost]]
    """Options with what they cost on one basis, each way to pay."""
    basis_asked: Sequence[tuple[str, str]]
    """What the address states of that basis."""
    serious: Sequence[WarningGroup]
    """Warnings that stand above the options."""
    warnings: Sequence[WarningGroup]
    """All others."""
    figures: Sequence[FigureView]
    form: Form


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPage:
    """Time to train over the number of machines."""

    comparison_id: str
    figures: Sequence[FigureView]
    without: Sequence[tuple[str, int]]
    """Options with the counts at which the model does not fit."""


def option_views(comparison: Comparison) -> list[OptionView]:
    """Return the options of a comparison with bars on common scales."""
    rows = comparison.rows
    times = [hours_of(row) for row in rows]
    best = min((row.hours for row in rows if row.hours), default=None)
    bars = zip(range_bars(times), range_bars([row.run_cost for row in rows]), strict=True)
    return [
        OptionView(
            row=row,
            time=time,
            time_bar=time_bar,
            cost_bar=cost_bar,
            against_best=row.hours / best if row.hours and best else None,
            bound=largest_part(row.estimate),
            refusal=refusal_of(row.estimate),
        )
        for row, time, (time_bar, cost_bar) in zip(rows, times, bars, strict=True)
    ]


def largest_part(estimate: Estimate | None) -> str:
    """Return the part of the time to train that takes most."""
    if estimate is None or not estimate.breakdown:
        return ""
    return max(estimate.breakdown, key=lambda part: part.seconds).part


def comparison_page(
    comparison: Comparison, voice: Voice, form: Form, basis_asked: Sequence[tuple[str, str]]
) -> ComparisonPage:
    """Return the page of a comparison."""
    rows = comparison.rows
    modelled = [(row.label, row.estimate) for row in rows if row.estimate is not None]
    running = [(label, estimate) for label, estimate in modelled if estimate.breakdown]
    models = {estimate.model.id: estimate.model for _, estimate in modelled}
    known = {REFUSAL, *(warning.code for warning in comparison.warnings)}
    groups = grouped(
        [
            *(("", warning) for warning in comparison.warnings),
            *(
                (label, warning)
                for label, estimate in modelled
                for warning in estimate.warnings
                if warning.code not in known
            ),
        ]
    )
    return ComparisonPage(
        comparison=comparison,
        model=next(iter(models.values())) if len(models) == 1 else None,
        trained=trained_by_all([estimate for _, estimate in modelled]),
        options=option_views(comparison),
        time_scale=time_scale([hours_of(row) for row in rows]),
        basis_rows=[(row.label, cost) for row in rows for cost in row.costs],
        basis_asked=basis_asked,
        serious=[group for group in groups if group.severity == SEVERITIES[0]],
        warnings=[group for group in groups if group.severity != SEVERITIES[0]],
        figures=comparison_figures(comparison, running, voice),
        form=form,
    )


def trained_by_all(estimates: Sequence[Estimate]) -> Text | None:
    """Return what is trained, where all estimates train the same; of one target, the target alone."""
    said = {one.trained.message: one.trained for one in estimates if one.trained is not None}
    targets = {str(one.values.get("target", "")) for one in said.values()}
    if len(said) == 1:
        return next(iter(said.values()))
    if len(targets) == 1 and "" not in targets:
        return Text.of(Message("trained to {target}", {"target": targets.pop()}))
    return None


def comparison_figures(
    comparison: Comparison, running: Sequence[tuple[str, Estimate]], voice: Voice
) -> list[FigureView]:
    """Return the figures that have something to show."""
    drawn = charts.time_to_train(comparison, voice)
    views = [view("time", voice.gettext("Training time"), drawn, table="options")]
    if any(estimate.cost for _, estimate in running):
        drawn = charts.cost_to_train(comparison, voice)
        views.append(view("cost", voice.gettext("Cost per run"), drawn, table="options"))
    if running:
        drawn = estimates_charts.breakdown(running, voice)
        views.append(view("breakdown", voice.gettext("Training time breakdown"), drawn))
    remembered = [
        (row.label, row.estimate) for row in comparison.rows if row.estimate and row.estimate.memory
    ]
    if remembered:
        drawn = estimates_charts.memory(remembered, voice)
        note = voice.gettext("The dashed line is the device memory that a plan may use.")
        views.append(view("memory", voice.gettext("Memory use of the fullest device"), drawn, note))
    roofed = [(label, estimate) for label, estimate in running if estimate.roof and estimate.roofline]
    return [*views, roofline_view(roofed, voice)] if roofed else views


def scaling_page(identifier: str, curves: Mapping[str, Sequence[Estimate]], voice: Voice) -> ScalingPage:
    """Return the scaling curve of a comparison; efficiency is against the smallest size that fits."""
    fitting = {label: [one for one in curve if one.time_to_train] for label, curve in curves.items()}
    return ScalingPage(
        comparison_id=identifier,
        figures=scaling_figures(fitting, voice),
        without=[
            (label, one.system.count)
            for label, curve in curves.items()
            for one in curve
            if not one.time_to_train
        ],
    )


def scaling_figures(curves: Mapping[str, Sequence[Estimate]], voice: Voice) -> list[FigureView]:
    """Return the three figures; without a price there is none of cost."""
    times, efficiencies, costs = [], [], []
    currency = ""
    for label, curve in curves.items():
        systems = [one.system for one in curve]
        sizes = [one.count for one in systems], [one.devices for one in systems], [*map(idle_devices, curve)]
        times.append(Series(label, *sizes, [one.time_to_train for one in curve if one.time_to_train]))
        found = [efficiency(curve[0], one) for one in curve]
        efficiencies.append(Series(label, *sizes, [one for one in found if one is not None]))
        priced = [one.cost.run for one in curve if one.cost]
        if len(priced) == len(curve):
            costs.append(Series(label, *sizes, priced))
            currency = next((cost.unit for cost in priced), currency)
    views = scaling_views(
        estimates_charts.scaling(times, voice),
        estimates_charts.scaling_cost(costs, currency, voice) if currency else None,
        voice,
    )
    note = voice.gettext(
        "Relative to the smallest size of each option that fits; both share their uncertainty."
    )
    drawn = estimates_charts.scaling_efficiency(efficiencies, voice)
    return [*views, view("efficiency", voice.gettext("Scaling efficiency by size"), drawn, note)]
