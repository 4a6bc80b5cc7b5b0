"""Fewer and more systems of each option of a study: time, efficiency and cost over their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from app.errors import AppError
from app.estimating.documents import Estimate
from app.features.comparisons.model import PublishedFigure
from app.features.estimates import charts as estimates_charts
from app.features.estimates.charts import Series, efficiency, idle_devices
from app.features.estimates.pages import scaling_views
from app.features.estimates.service import scale_estimate
from app.features.studies.answering import State
from app.features.studies.frame import StudyFrame, frame_of, read_state
from app.features.studies.knobs import labels_of, request_of
from app.platform.rates import CostClass
from app.platform.web.contexts import FigureView, view
from app.platform.web.deps import BenchDep, QueryDep, WorkspaceDep
from app.platform.web.locale import voice_of
from app.platform.web.needs import needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench

router = page_router()

STEPS = (0.25, 0.5, 1, 2, 4)
"""Sizes of the curves, as multiples of the count of the option."""

Curves = Mapping[str, Sequence[Estimate]]
"""Estimates of an option, the smallest size first, by its key or by what it is called."""


def curves_of(bench: Workbench, workspace: str, state: State) -> dict[str, list[Estimate]]:
    """Return estimates of each modelled option at fewer and more systems; refused sizes are left out."""
    content = state.content
    curves: dict[str, list[Estimate]] = {}
    for option in content.options:
        asked = request_of(content, option)
        if isinstance(asked, PublishedFigure):
            continue
        for count in sorted({round(asked.system.count * step) for step in STEPS} - {0}):
            with suppress(AppError):
                curves.setdefault(option.key, []).extend(scale_estimate(bench, workspace, asked, [count]))
    return curves


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPage:
    """Time to train over the number of systems."""

    frame: StudyFrame
    figures: Sequence[FigureView]
    without: Sequence[tuple[str, int]]
    """Options with the counts at which the model does not fit."""


def scaling_page(frame: StudyFrame, curves: Curves, voice: Voice) -> ScalingPage:
    """Return the scaling curves of a study; efficiency is against the smallest size that fits."""
    fitting = {label: [one for one in curve if one.time_to_train] for label, curve in curves.items()}
    return ScalingPage(
        frame=frame,
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


@router.get("/studies/{identifier}/scaling.json")
@needs(cost=CostClass.SEARCH)
def show_scaling_data(
    bench: BenchDep, workspace: WorkspaceDep, identifier: str, query: QueryDep
) -> dict[str, list[Estimate]]:
    return curves_of(bench, workspace, read_state(bench, workspace, identifier, query, plain=False))


@router.get("/studies/{identifier}/scaling", response_class=HTMLResponse)
@needs(cost=CostClass.SEARCH)
def show_scaling(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, query: QueryDep
) -> Response:
    """Show the scaling curves: a part of the page for htmx, a page of its own otherwise."""
    voice, state = voice_of(request), read_state(bench, workspace, identifier, query, plain=False)
    labels = labels_of(state.content, bench.sizing.catalog)
    curves = {labels[key]: curve for key, curve in curves_of(bench, workspace, state).items()}
    page = scaling_page(frame_of(bench, workspace, state, "", voice), curves, voice)
    part = "HX-Request" in request.headers
    return render(request, "studies/_scaling.html" if part else "studies/scaling.html", page)
