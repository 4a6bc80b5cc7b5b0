"""From documents to what pages show: order, grouping, bars and figures; no number is made here."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from app.errors import Message
from app.reports import figures
from app.reports.figures.comparisons import hours_of, time_scale
from app.reports.figures.layout import Figure
from app.reports.wording import Voice
from app.reports.wording.values import stated, written
from app.services.accuracy import UNITS
from app.sizing.document import CheckWarning, Comparison, Estimate, Memory, Text
from app.web.contexts import (
    ChoiceGroup,
    ComparisonPage,
    EstimatePage,
    FigureView,
    Form,
    OptionView,
    PartRow,
    RatioView,
    WarningGroup,
    WarningLine,
)
from app.web.pages.schedule_views import schedule_view, stages, superstep

SEVERITIES = ("serious", "caution", "info")
MOST_ROWS = 8
LEGEND_ROWS = 3
"""Rows of a chart that a long legend takes."""
REFUSAL = "does_not_fit"
SEARCHED = {"tensor", "pipeline", "data", "micro_batch", "recompute"}
"""Choices that make a plan; where all of them were searched, nothing was asked for."""


def grouped(warnings: Iterable[tuple[str, CheckWarning]]) -> list[WarningGroup]:
    """Return warnings once per check and sentence with the options they concern, the gravest first."""
    groups: dict[tuple[str, str], dict[str, WarningLine]] = {}
    labels: dict[tuple[str, str], list[str]] = {}
    for label, warning in warnings:
        known = labels.setdefault((warning.code, warning.message), [])
        if label and label not in known:
            known.append(label)
        lines = groups.setdefault((warning.code, warning.severity), {})
        lines.setdefault(warning.message, WarningLine(warning.text, known))
    found = [WarningGroup(code, severity, list(lines.values())) for (code, severity), lines in groups.items()]
    return sorted(found, key=lambda group: SEVERITIES.index(group.severity))


def refusal_of(estimate: Estimate | None) -> CheckWarning | None:
    """Return why an estimate cannot run, if it cannot."""
    if estimate is None or estimate.fits:
        return None
    return next((warning for warning in estimate.warnings if warning.code == REFUSAL), None)


def largest_part(estimate: Estimate | None) -> str:
    """Return the part of the time to train that takes most."""
    if estimate is None or not estimate.breakdown:
        return ""
    return max(estimate.breakdown, key=lambda part: part.seconds).part


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
    comparison: Comparison,
    voice: Voice,
    form: Form,
    documents: Sequence[tuple[str, str]],
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
        data_url=f"/comparisons/{comparison.id}.json",
        documents=documents,
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
            voice.gettext("Time to train"),
            f"rows-{count}",
            figures.time_to_train(comparison, voice),
            "options",
        )
    ]
    if any(one.cost for _, one in running):
        drawn = figures.cost_to_train(comparison, voice)
        views.append(view("cost", voice.gettext("Cost of the run"), f"rows-{count}", drawn, "options"))
    if running:
        drawn = figures.breakdown(running, voice)
        size = f"rows-{min(len(running) + LEGEND_ROWS, MOST_ROWS)}"
        views.append(view("breakdown", voice.gettext("Where the time goes"), size, drawn, "parts"))
    remembered = [
        (row.label, row.estimate) for row in comparison.rows if row.estimate and row.estimate.memory
    ]
    if remembered:
        drawn = figures.memory(remembered, voice)
        size = f"rows-{min(len(remembered) + LEGEND_ROWS, MOST_ROWS)}"
        note = voice.gettext("The dashed line is what a plan may fill of a device.")
        views.append(
            view("memory", voice.gettext("Memory of the fullest device"), size, drawn, "memory", note)
        )
    roofed = [(label, one) for label, one in running if one.roof is not None and one.roofline]
    if roofed:
        drawn = figures.roofline(roofed, voice)
        views.append(roofline_view(drawn, "options", voice))
    return views


def view(name: str, caption: str, size: str, figure: Figure, table: str, note: str = "") -> FigureView:
    """Return a figure with its place on the page."""
    return FigureView(f"figure-{name}", caption, size, figure, table, note)


def roofline_view(drawn: Figure, table: str, voice: Voice) -> FigureView:
    """Return a roofline with the meaning of its shapes."""
    note = voice.gettext(
        "Circles are limited by arithmetic, squares by memory bandwidth, diamonds by the exchange, crosses "
        "by latency. The larger the mark, the more of the time."
    )
    caption = voice.gettext("Operators under the roofline")
    return view("roofline", caption, "square", drawn, table, note)


def estimate_page(
    estimate: Estimate,
    fabric_name: str,
    voice: Voice,
    documents: Sequence[tuple[str, str]],
    softwares: Sequence[ChoiceGroup] = (),
) -> EstimatePage:
    """Return the page of an estimate, with the software it can be made with instead."""
    views: list[FigureView] = []
    if estimate.sensitivity and estimate.time_to_train:
        drawn = figures.sensitivity(estimate, voice)
        size = f"rows-{min(len(estimate.sensitivity) + 1, MOST_ROWS)}"
        views.append(
            view("sensitivity", voice.gettext("What drives training time"), size, drawn, "sensitivity")
        )
    if estimate.roof is not None and estimate.roofline:
        drawn = figures.roofline([(estimate.label, estimate)], voice)
        views.append(roofline_view(drawn, "roofline", voice))
    return EstimatePage(
        data_url=f"/estimates/{estimate.id}.json",
        documents=documents,
        estimate=estimate,
        fabric_name=fabric_name,
        time_scale=time_scale([estimate.time_to_train]),
        memory=figures.memory_bar(estimate.memory) if estimate.memory else None,
        shares=figures.share_bar(estimate.breakdown or ()),
        figures=views,
        schedule=schedule_view(estimate, voice),
        stage_times=stages(estimate),
        superstep=superstep(estimate),
        refusal=refusal_of(estimate),
        warnings=grouped(("", one) for one in estimate.warnings if one.code != REFUSAL),
        all_searched=estimate.plan is not None and set(estimate.plan.searched) >= SEARCHED,
        plan=plan_rows(estimate, voice),
        basis=basis_rows(estimate, voice),
        defaults=[(one.field, stated(one.field, one.value, voice), one.text) for one in estimate.defaults],
        nearest=[
            (run, voice.unit(UNITS.get(run.metric, run.metric)))
            for run in estimate.validation.nearest_measured
        ],
        outside=[(run, voice.unit(UNITS.get(run.metric, run.metric))) for run in estimate.validation.outside],
        software=next(
            (one for group in softwares for one in group.choices if one.id == estimate.software), None
        ),
        softwares=softwares,
        form=Form({"software": [estimate.software or ""]}),
    )


def plan_rows(estimate: Estimate, voice: Voice) -> list[tuple[str, str]]:
    """Return the choices of a plan by name, in the order of the schema."""
    if estimate.plan is None:
        return []
    values = estimate.plan.model_dump(exclude={"searched", "stage_layers"})
    rows = [(name, written(value, voice, "plan")) for name, value in values.items()]
    stages = [f"{len(list(run))} × {layers}" for layers, run in itertools.groupby(estimate.plan.stage_layers)]
    return [*rows, ("stage_layers", ", ".join(stages) or "–")]


def basis_rows(estimate: Estimate, voice: Voice) -> list[tuple[str, str]]:
    """Return what the cost rests on."""
    if estimate.cost is None:
        return []
    basis = dict(estimate.cost.basis)
    if "price_book" in basis:
        basis.pop("price_book_id", None)
    if "amortisation_years" in basis:
        basis.pop("term_years", None)
    return [(name, stated(name, value, voice)) for name, value in basis.items()]
