"""From comparisons to what their pages show: order, bars and figures; no number is made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import Message
from app.estimating.documents import CheckWarning, Estimate, Memory, ModelSummary, Text
from app.estimating.schema import Quantity
from app.features.comparisons import charts
from app.features.comparisons.charts import hours_of
from app.features.comparisons.model import BasisCost, Comparison, ComparisonRow
from app.features.estimates import charts as estimates_charts
from app.features.estimates.charts import Series, efficiency
from app.features.estimates.pages import roofline_view
from app.platform.charts.figures import Figure, RangeBar, range_bars, time_scale
from app.platform.web.contexts import (
    LEGEND_ROWS,
    MOST_ROWS,
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

PartRow = tuple[str, Sequence[tuple[float, float]]]
"""A part of the time to train, and per option its seconds and its share."""


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
    part_columns: Sequence[str]
    """Labels of the options that have a breakdown."""
    parts: Sequence[PartRow]
    memory_columns: Sequence[tuple[str, Memory]]
    """Options whose memory is known."""
    memory_parts: Sequence[tuple[str, Sequence[float]]]
    """Parts of the memory of a device, with their bytes by option."""
    form: Form


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPage:
    """Time to train over the number of machines."""

    comparison_id: str
    figures: Sequence[FigureView]
    rows: Sequence[tuple[str, Estimate, Quantity | None]]
    """Each size of each option, with its speed over that of the smallest that fits times the growth."""


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


def part_rows(estimates: Sequence[Estimate]) -> list[PartRow]:
    """Return the parts of the time to train, one row per part and one cell per estimate, largest first."""
    columns = [{part.part: part.seconds for part in one.breakdown or ()} for one in estimates]
    totals = [sum(column.values()) for column in columns]
    names = dict.fromkeys(name for column in columns for name in column)
    cells = [
        (
            name,
            [
                (column.get(name, 0.0), column.get(name, 0.0) / total)
                for column, total in zip(columns, totals, strict=True)
            ],
        )
        for name in names
    ]
    shown = [(name, row) for name, row in cells if any(seconds for seconds, _ in row)]
    return sorted(shown, key=lambda entry: -max(share for _, share in entry[1]))


def memory_rows(memories: Sequence[Memory]) -> list[tuple[str, Sequence[float]]]:
    """Return the parts of the memory of a device, one row per part and one cell per option. [B]"""
    names = dict.fromkeys(part.part for memory in memories for part in memory.parts if part.value > 0)
    return [
        (name, [sum(part.value for part in memory.parts if part.part == name) for memory in memories])
        for name in names
    ]


def comparison_page(
    comparison: Comparison, voice: Voice, form: Form, basis_asked: Sequence[tuple[str, str]]
) -> ComparisonPage:
    """Return the page of a comparison."""
    rows = comparison.rows
    modelled = [(row.label, row.estimate) for row in rows if row.estimate is not None]
    running = [(label, estimate) for label, estimate in modelled if estimate.breakdown]
    fitted = [(label, estimate.memory) for label, estimate in modelled if estimate.memory]
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
        part_columns=[label for label, _ in running],
        parts=part_rows([estimate for _, estimate in running]),
        memory_columns=fitted,
        memory_parts=memory_rows([memory for _, memory in fitted]),
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
    kinds = {row.kind for row in comparison.rows}
    bars = f"rows-{min(len(comparison.rows) + (len(kinds) > 1), MOST_ROWS)}"
    drawn = charts.time_to_train(comparison, voice)
    views = [view("time", voice.gettext("Training time"), bars, drawn, "options")]
    if any(estimate.cost for _, estimate in running):
        drawn = charts.cost_to_train(comparison, voice)
        views.append(view("cost", voice.gettext("Cost per run"), bars, drawn, "options"))
    if running:
        drawn = estimates_charts.breakdown(running, voice)
        size = f"rows-{min(len(running) + LEGEND_ROWS, MOST_ROWS)}"
        views.append(view("breakdown", voice.gettext("Training time breakdown"), size, drawn, "parts"))
    remembered = [
        (row.label, row.estimate) for row in comparison.rows if row.estimate and row.estimate.memory
    ]
    if remembered:
        drawn = estimates_charts.memory(remembered, voice)
        size = f"rows-{min(len(remembered) + LEGEND_ROWS, MOST_ROWS)}"
        note = voice.gettext("The dashed line is the device memory that a plan may use.")
        views.append(
            view("memory", voice.gettext("Memory use of the fullest device"), size, drawn, "memory", note)
        )
    roofed = [(label, estimate) for label, estimate in running if estimate.roof and estimate.roofline]
    return [*views, roofline_view(roofed, "options", voice)] if roofed else views


def scaling_page(identifier: str, curves: Mapping[str, Sequence[Estimate]], voice: Voice) -> ScalingPage:
    """Return the scaling curve of a comparison; efficiency is against the smallest size that fits."""
    fitting = {label: [one for one in curve if one.time_to_train] for label, curve in curves.items()}
    return ScalingPage(
        comparison_id=identifier,
        figures=scaling_figures(fitting, voice),
        rows=[
            (label, one, efficiency(fitting[label][0], one) if fitting[label] else None)
            for label, curve in curves.items()
            for one in curve
        ],
    )


def scaling_figures(curves: Mapping[str, Sequence[Estimate]], voice: Voice) -> list[FigureView]:
    """Return the three figures; without a price there is none of cost."""
    times, efficiencies, costs = [], [], []
    currency = ""
    for label, curve in curves.items():
        sizes = [one.system.devices for one in curve]
        times.append(Series(label, sizes, [one.time_to_train for one in curve if one.time_to_train]))
        found = [efficiency(curve[0], one) for one in curve]
        efficiencies.append(Series(label, sizes, [one for one in found if one is not None]))
        priced = [(one.system.devices, one.cost.run) for one in curve if one.cost]
        costs.append(Series(label, [size for size, _ in priced], [cost for _, cost in priced]))
        currency = next((cost.unit for _, cost in priced), currency)

    def square(name: str, caption: str, drawn: Figure, note: str = "") -> FigureView:
        return view(name, caption, "square", drawn, "scaling-table", note)

    views = [
        square(
            "scaling",
            voice.gettext("Training time by size"),
            estimates_charts.scaling(times, voice),
            voice.gettext("Bands show the ranges; dotted lines show perfect scaling."),
        ),
        square(
            "efficiency",
            voice.gettext("Scaling efficiency by size"),
            estimates_charts.scaling_efficiency(efficiencies, voice),
            voice.gettext(
                "Relative to the smallest size of each option that fits; both share their uncertainty."
            ),
        ),
    ]
    if currency:
        drawn = estimates_charts.scaling_cost(costs, currency, voice)
        views.append(square("scaling-cost", voice.gettext("Cost per run by size"), drawn))
    return views
