"""Scaling of the options of a study: time, efficiency and cost over the number of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from fastapi import Request

from app.errors import AppError
from app.estimating.documents import Estimate
from app.features.estimates import charts as estimates_charts
from app.features.estimates.charts import Series, efficiency, idle_devices
from app.features.estimates.pages import scaling_views
from app.features.estimates.service import scale_estimate
from app.features.studies.answering import State
from app.features.studies.frame import StudyFrame, frame_of, read_state
from app.features.studies.knobs import labels_of, request_of
from app.features.studies.options import PublishedFigure
from app.platform.rates import CostClass
from app.platform.web.contexts import FigureView, view
from app.platform.web.deps import QueryDep, WorkspaceDep, workspace_of
from app.platform.web.locale import voice_of
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workspace import Workspace

router = page_router()

STEPS = (0.25, 0.5, 1, 2, 4)
"""Sizes of the curves, as multiples of the count of the option."""


def curves_of(workspace: Workspace, state: State) -> dict[str, list[Estimate]]:
    """Return estimates of each modelled option at fewer and more systems, without refused sizes."""
    content = state.content
    curves: dict[str, list[Estimate]] = {}
    for option in content.options:
        request = request_of(content, option)
        if isinstance(request, PublishedFigure):
            continue
        for count in sorted({round(request.system.count * step) for step in STEPS} - {0}):
            with suppress(AppError):
                curves.setdefault(option.key, []).extend(scale_estimate(workspace, request, [count]))
    return curves


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPage:
    frame: StudyFrame
    figures: Sequence[FigureView]
    without: Sequence[tuple[str, int]]
    """Options with the counts at which the model does not fit."""


def scaling_figures(curves: Mapping[str, Sequence[Estimate]], voice: Voice) -> list[FigureView]:
    """Draw time, cost if prices are known, and efficiency against the smallest size that fits."""
    times, efficiencies, costs = [], [], []
    currency = ""
    for label, curve in curves.items():
        sizes = (
            [estimate.system.count for estimate in curve],
            [estimate.system.devices for estimate in curve],
            [*map(idle_devices, curve)],
        )
        seconds = [estimate.time_to_train for estimate in curve]
        times.append(Series(label, *sizes, [quantity for quantity in seconds if quantity]))
        shares = [efficiency(curve[0], estimate) for estimate in curve]
        efficiencies.append(Series(label, *sizes, [share for share in shares if share is not None]))
        prices = [estimate.cost.run for estimate in curve if estimate.cost]
        if len(prices) == len(curve):
            costs.append(Series(label, *sizes, prices))
            currency = next((price.unit for price in prices), currency)
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


def scaling_page(request: Request, found: Mapping[str, Sequence[Estimate]]) -> ScalingPage:
    voice, workspace = voice_of(request), workspace_of(request)
    state = read_state(workspace, request.path_params["identifier"], request.query_params, plain=False)
    labels = labels_of(state.content, workspace.sizing.catalog)
    curves = {labels[key]: curve for key, curve in found.items()}
    fitting = {
        label: [estimate for estimate in curve if estimate.time_to_train] for label, curve in curves.items()
    }
    return ScalingPage(
        frame=frame_of(workspace, state, "", voice),
        figures=scaling_figures(fitting, voice),
        without=[
            (label, estimate.system.count)
            for label, curve in curves.items()
            for estimate in curve
            if not estimate.time_to_train
        ],
    )


@resource(
    router,
    "/studies/{identifier}/scaling",
    "studies/scaling.html",
    scaling_page,
    cost=CostClass.SEARCH,
    part="studies/_scaling.html",
)
def show_scaling(workspace: WorkspaceDep, identifier: str, query: QueryDep) -> dict[str, list[Estimate]]:
    return curves_of(workspace, read_state(workspace, identifier, query, plain=False))
