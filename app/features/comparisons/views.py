"""The scaling curve of a comparison: time, efficiency and cost over the number of machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import Message
from app.estimating.documents import CheckWarning, Estimate, Memory, ModelSummary, Text
from app.estimating.schema import Quantity
from app.features.comparisons import charts as comparisons_charts
from app.features.comparisons.charts import hours_of
from app.features.comparisons.model import BasisCost, Comparison, ComparisonRow, ComparisonSummary
from app.features.estimates import charts as estimates_charts
from app.features.estimates.views import PartRow, largest_part, memory_rows, part_rows, roofline_view
from app.platform.charts import figures
from app.platform.charts.figures import RangeBar, time_scale
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


@dataclass(frozen=True, slots=True)
class OptionView:
    """One option of a comparison with what its row shows."""

    row: ComparisonRow
    time: Quantity | None
    time_bar: RangeBar | None
    cost: Quantity | None
    cost_bar: RangeBar | None
    against_best: float | None
    """Hours over those of the fastest option."""
    fastest: bool
    tie: bool
    """Whether it is one of several that nothing separates from the fastest."""
    cheapest: bool
    cheapest_tie: bool
    bound: str
    """Largest part of the time to train; empty where there is no breakdown."""
    refusal: CheckWarning | None
    """Why the option cannot run, and what would fit."""


@dataclass(frozen=True, slots=True)
class RatioView:
    """How many times as long one option takes as another."""

    ratio: float
    faster: str
    slower: str
    probability: float | None
    """How sure it is that the faster one is; none for figures without a range."""
    low: float | None
    high: float | None
    tie: bool
    """Whether the two are too close to call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonsPage:
    """The list of comparisons."""

    comparisons: Sequence[ComparisonSummary]
    next_url: str
    """Address of the next stretch; empty at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPage:
    """Options side by side."""

    comparison: Comparison
    model: ModelSummary | None
    """The model, where all modelled rows share one."""
    trained: Text | None
    """What is trained, where all modelled rows train the same."""
    options: Sequence[OptionView]
    modelled: bool
    """Whether any row is an estimate; published figures have hours only."""
    time_scale: Scale
    """One unit for the times of all options."""
    ratios: Sequence[RatioView]
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
    has_linear: bool
    """Whether any row is scaled from another, so that scaling efficiency matters."""
    form: Form
    scaling_url: str
    """Address of the scaling curve; empty where no row is modelled."""


@dataclass(frozen=True, slots=True)
class ScalingRow:
    """One size of one option."""

    label: str
    count: int
    devices: int
    time: Quantity | None
    efficiency: Quantity | None
    """Speed over that of the smallest size times the growth in devices."""
    cost: Quantity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPage:
    """Time to train over the number of machines."""

    comparison_id: str
    figures: Sequence[FigureView]
    table: str
    """Identifier of the table that says the same."""
    rows: Sequence[ScalingRow]


def option_views(comparison: Comparison) -> list[OptionView]:
    """Return the options of a comparison with bars on common scales."""
    rows = comparison.rows
    times = [hours_of(row) for row in rows]
    costs = [row.run_cost for row in rows]
    best = min((row.hours for row in rows if row.hours), default=None)
    return [
        OptionView(
            row=row,
            time=time,
            time_bar=time_bar,
            cost=cost,
            cost_bar=cost_bar,
            against_best=row.hours / best if row.hours and best else None,
            fastest=row.label == comparison.fastest,
            tie=row.label in comparison.fastest_tied,
            cheapest=row.label == comparison.cheapest,
            cheapest_tie=row.label in comparison.cheapest_tied,
            bound=largest_part(row.estimate),
            refusal=refusal_of(row.estimate),
        )
        for row, time, time_bar, cost, cost_bar in zip(
            rows, times, figures.range_bars(times), costs, figures.range_bars(costs), strict=True
        )
    ]


def ratio_views(comparison: Comparison) -> list[RatioView]:
    """Return the ratios of a comparison with how sure each is."""
    return [
        RatioView(one.ratio, one.faster, one.slower, one.probability, one.low, one.high, one.tie)
        for one in comparison.ratios
    ]


def comparison_page(
    comparison: Comparison,
    voice: Voice,
    form: Form,
    basis_asked: Sequence[tuple[str, str]] = (),
) -> ComparisonPage:
    """Return the page of a comparison."""
    rows = comparison.rows
    modelled = [(row.label, row.estimate) for row in rows if row.estimate is not None]
    running = [(label, one) for label, one in modelled if one.breakdown]
    models = {one.model.id: one.model for _, one in modelled}
    said = [("", warning) for warning in comparison.warnings]
    known = {REFUSAL, *(warning.code for warning in comparison.warnings)}
    said += [
        (label, one) for label, estimate in modelled for one in estimate.warnings if one.code not in known
    ]
    groups = grouped(said)
    return ComparisonPage(
        comparison=comparison,
        model=next(iter(models.values())) if len(models) == 1 else None,
        trained=trained_by_all([one for _, one in modelled]),
        options=option_views(comparison),
        modelled=bool(modelled),
        time_scale=time_scale([hours_of(row) for row in rows]),
        ratios=ratio_views(comparison),
        basis_asked=basis_asked,
        basis_rows=[(row.label, one) for row in rows for one in row.costs],
        serious=[group for group in groups if group.severity == SEVERITIES[0]],
        warnings=[group for group in groups if group.severity != SEVERITIES[0]],
        figures=comparison_figures(comparison, running, voice),
        part_columns=[label for label, _ in running],
        parts=part_rows([one for _, one in running]),
        memory_columns=[(label, one.memory) for label, one in modelled if one.memory],
        memory_parts=memory_rows([one.memory for _, one in modelled if one.memory]),
        has_linear=any(row.kind == "linear" for row in rows),
        form=form,
        scaling_url=f"/comparisons/{comparison.id}/scaling" if running else "",
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
    count = min(len(comparison.rows) + (len(kinds) > 1), MOST_ROWS)
    views = [
        view(
            "time",
            voice.gettext("Training time"),
            f"rows-{count}",
            comparisons_charts.time_to_train(comparison, voice),
            "options",
        )
    ]
    if any(one.cost for _, one in running):
        drawn = comparisons_charts.cost_to_train(comparison, voice)
        views.append(view("cost", voice.gettext("Cost per run"), f"rows-{count}", drawn, "options"))
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
    roofed = [(label, one) for label, one in running if one.roof is not None and one.roofline]
    if roofed:
        drawn = estimates_charts.roofline(roofed, voice)
        views.append(roofline_view(drawn, "options", voice))
    return views


TABLE = "scaling-table"


def scaling_page(
    identifier: str,
    curves: Mapping[str, Sequence[Estimate]],
    voice: Voice,
) -> ScalingPage:
    """Return the scaling curve of a comparison."""
    fitting = {label: [one for one in curve if one.time_to_train] for label, curve in curves.items()}
    return ScalingPage(
        comparison_id=identifier,
        figures=scaling_figures(fitting, voice),
        table=TABLE,
        rows=[row for label, curve in curves.items() for row in scaling_rows(label, curve)],
    )


def scaling_figures(curves: Mapping[str, Sequence[Estimate]], voice: Voice) -> list[FigureView]:
    """Return the three figures; without a price there is none of cost."""
    times, efficiencies, costs = [], [], []
    currency = ""
    for label, curve in curves.items():
        sizes = [one.system.devices for one in curve]
        times.append(
            estimates_charts.Series(label, sizes, [one.time_to_train for one in curve if one.time_to_train])
        )
        found = [estimates_charts.efficiency(curve[0], one) for one in curve]
        efficiencies.append(estimates_charts.Series(label, sizes, [one for one in found if one is not None]))
        priced = [(one.system.devices, one.cost.run) for one in curve if one.cost]
        costs.append(
            estimates_charts.Series(label, [size for size, _ in priced], [cost for _, cost in priced])
        )
        currency = next((cost.unit for _, cost in priced), currency)
    views = [
        view(
            "scaling",
            voice.gettext("Training time by size"),
            "square",
            estimates_charts.scaling(times, voice),
            TABLE,
            voice.gettext("Bands show the ranges; dotted lines show perfect scaling."),
        ),
        view(
            "efficiency",
            voice.gettext("Scaling efficiency by size"),
            "square",
            estimates_charts.scaling_efficiency(efficiencies, voice),
            TABLE,
            voice.gettext(
                "Relative to the smallest size of each option that fits; both share their uncertainty."
            ),
        ),
    ]
    if currency:
        drawn = estimates_charts.scaling_cost(costs, currency, voice)
        views.append(view("scaling-cost", voice.gettext("Cost per run by size"), "square", drawn, TABLE))
    return views


def scaling_rows(label: str, curve: Sequence[Estimate]) -> list[ScalingRow]:
    """Return the sizes of one option; efficiency is against its smallest size that fits."""
    first = next((one for one in curve if one.time_to_train), None)
    return [
        ScalingRow(
            label=label,
            count=one.system.count,
            devices=one.system.devices,
            time=one.time_to_train,
            efficiency=estimates_charts.efficiency(first, one) if first is not None else None,
            cost=one.cost.run if one.cost else None,
        )
        for one in curve
    ]
