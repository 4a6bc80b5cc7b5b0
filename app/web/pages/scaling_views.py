"""The scaling curve of a comparison: time, efficiency and cost over the number of machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.reports import figures
from app.reports.wording import Voice
from app.sizing.document import Estimate
from app.web.contexts import FigureView, ScalingPage, ScalingRow
from app.web.pages.presenting import view

TABLE = "scaling-table"


def scaling_page(
    identifier: str,
    curves: Mapping[str, Sequence[Estimate]],
    voice: Voice,
    documents: Sequence[tuple[str, str]],
) -> ScalingPage:
    """Return the scaling curve of a comparison."""
    fitting = {label: [one for one in curve if one.time_to_train] for label, curve in curves.items()}
    return ScalingPage(
        data_url=f"/comparisons/{identifier}/scaling.json",
        documents=documents,
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
        times.append(figures.Series(label, sizes, [one.time_to_train for one in curve if one.time_to_train]))
        found = [figures.efficiency(curve[0], one) for one in curve]
        efficiencies.append(figures.Series(label, sizes, [one for one in found if one is not None]))
        priced = [(one.system.devices, one.cost.run) for one in curve if one.cost]
        costs.append(figures.Series(label, [size for size, _ in priced], [cost for _, cost in priced]))
        currency = next((cost.unit for _, cost in priced), currency)
    views = [
        view(
            "scaling",
            voice.gettext("Time to train by size"),
            "square",
            figures.scaling(times, voice),
            TABLE,
            voice.gettext("Bands are the ranges; dotted lines are perfect scaling."),
        ),
        view(
            "efficiency",
            voice.gettext("Scaling efficiency by size"),
            "square",
            figures.scaling_efficiency(efficiencies, voice),
            TABLE,
            voice.gettext(
                "Against the smallest size of each option that fits; both share their uncertainty."
            ),
        ),
    ]
    if currency:
        drawn = figures.scaling_cost(costs, currency, voice)
        views.append(view("scaling-cost", voice.gettext("Cost of the run by size"), "square", drawn, TABLE))
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
            efficiency=figures.efficiency(first, one) if first is not None else None,
            cost=one.cost.run if one.cost else None,
        )
        for one in curve
    ]
