"""An estimate down to its formulas, alone or as an option of a study."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request

from app.errors import Message
from app.estimating.chips import IPU_GENERATIONS
from app.estimating.documents import CheckWarning, Estimate, Text
from app.estimating.validation.run import UNITS
from app.features.estimates import charts
from app.features.estimates.schedule import StageTimes, pipeline_drawing, schedule_rows, stage_times
from app.features.estimates.service import get_estimate
from app.platform.charts import figures
from app.platform.charts.figures import Figure, MemoryBar, Segment, time_scale
from app.platform.web import choices
from app.platform.web.contexts import (
    REFUSAL,
    Choice,
    ChoiceGroup,
    DrawingView,
    FigureView,
    WarningGroup,
    grouped,
    view,
)
from app.platform.web.deps import WorkspaceDep, workspace_of
from app.platform.web.locale import voice_of
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice, stated, written


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatePage:
    """One estimate, down to its formulas."""

    frame: object | None
    """Frame of its study; None for an estimate outside of studies."""
    estimate: Estimate
    fabric_name: str
    """Name of its network."""
    time_scale: Scale
    """One unit for all parts of the time to train."""
    memory: MemoryBar | None
    shares: Sequence[Segment]
    figures: Sequence[FigureView]
    schedule: DrawingView | None
    """Passes of one step; None without a pipeline."""
    stage_times: Sequence[StageTimes]
    """The same stage by stage."""
    superstep: Sequence[Segment]
    """Parts of one superstep; empty unless stages run in lockstep."""
    refusal: CheckWarning | None
    """Why it cannot run, and what would fit."""
    warnings: Sequence[WarningGroup]
    """All others."""
    all_searched: bool
    """Whether the whole plan was searched."""
    plan: Sequence[tuple[str, str]]
    """Choices of the plan: field and value as written."""
    basis: Sequence[tuple[str, str]]
    """Basis of the cost: field and value as written."""
    defaults: Sequence[tuple[str, str, Text]]
    """Default values: field, value as written, and reason."""
    units: Mapping[str, str]
    """Metric of measured runs → its unit as it stands after a number."""
    software: Choice | None
    """Software profile with its date and fit; None for a bare figure."""
    softwares: Sequence[ChoiceGroup]
    """Software profiles that an option of a study can use instead."""
    networks: bool
    """Whether other networks can be compared: IPU systems and rented ones come with theirs."""


router = page_router()

SCHEDULE_NOTES = {
    "one_forward_one_backward": Message(
        "Each stage alternates forward and backward passes once the first gradient is back; "
        "numbers are micro-batches."
    ),
    "interleaved": Message(
        "Each stage holds several chunks of the model, marked by shade, and alternates forward "
        "and backward passes, which shortens the bubble."
    ),
    "lockstep": Message(
        "All stages finish a superstep before the next begins: forward passes of all micro-batches, then "
        "their backward passes."
    ),
}
"""Kind of schedule → how to read it."""

SEARCHED = {"tensor", "pipeline", "data", "micro_batch", "recompute"}
"""Choices that make up a plan."""


def estimate_page(request: Request, estimate: Estimate, frame: object | None = None) -> EstimatePage:
    """Return the page of an estimate; in a study with the software it can use instead."""
    workspace, voice = workspace_of(request), voice_of(request)
    fabric = workspace.catalogue.fabrics.documents.get(estimate.system.fabric)
    system = workspace.catalogue.systems.documents.get(estimate.system.id)
    softwares = choices.softwares(workspace, voice, system.chip_kind) if system and estimate.software else []
    schedule = estimate.schedule
    metrics = [run.metric for run in estimate.validation.nearest_measured]
    metrics += [run.metric for run in estimate.validation.outside]
    return EstimatePage(
        frame=frame,
        estimate=estimate,
        fabric_name=fabric.name if fabric else estimate.system.fabric,
        time_scale=time_scale([estimate.time_to_train]),
        memory=figures.memory_bar(estimate.memory) if estimate.memory else None,
        shares=figures.share_bar(estimate.breakdown or ()),
        figures=estimate_figures(estimate, voice),
        schedule=schedule_view(estimate, voice),
        stage_times=stage_times(schedule) if schedule else (),
        superstep=figures.share_bar(schedule.superstep or ()) if schedule else (),
        refusal=next((warning for warning in estimate.warnings if warning.code == REFUSAL), None),
        warnings=grouped(("", warning) for warning in estimate.warnings if warning.code != REFUSAL),
        all_searched=estimate.plan is not None and set(estimate.plan.searched) >= SEARCHED,
        plan=plan_rows(estimate, voice),
        basis=basis_rows(estimate, voice),
        defaults=[
            (default.field, stated(default.field, default.value, voice), default.text)
            for default in estimate.defaults
        ],
        units={metric: voice.unit(UNITS.get(metric, metric)) for metric in metrics},
        software=next(
            (choice for group in softwares for choice in group.choices if choice.id == estimate.software),
            None,
        ),
        softwares=softwares if frame is not None else (),
        networks=estimate.system.machines > 1
        and estimate.system.generation not in IPU_GENERATIONS
        and not (estimate.cost and estimate.cost.basis.get("acquisition") == "rent"),
    )


@resource(router, "/estimates/{identifier}", "estimates/estimate.html", estimate_page)
def show_estimate(workspace: WorkspaceDep, identifier: str) -> Estimate:
    return get_estimate(workspace, identifier)


def estimate_figures(estimate: Estimate, voice: Voice) -> list[FigureView]:
    views: list[FigureView] = []
    if estimate.sensitivity and estimate.time_to_train:
        drawn = charts.sensitivity(estimate, voice)
        views.append(view("sensitivity", voice.gettext("What drives training time"), drawn))
    if estimate.roof is not None and estimate.roofline:
        views.append(roofline_view([(estimate.name, estimate)], voice))
    return views


def roofline_view(estimates: Sequence[tuple[str, Estimate]], voice: Voice) -> FigureView:
    """Return the roofline of labelled estimates with the meaning of its shapes."""
    note = voice.gettext(
        "Circles are compute-bound, squares memory-bandwidth-bound, diamonds exchange-bound, "
        "crosses latency-bound. Larger marks take more of the time. The large cross is the whole model; "
        "stars are the nearest measured runs, at its intensity."
    )
    caption, drawn = voice.gettext("Roofline by operator"), charts.roofline(estimates, voice)
    return view("roofline", caption, drawn, note)


def scaling_views(time: Figure, cost: Figure | None, voice: Voice) -> list[FigureView]:
    """Return the charts of a scaling curve, with the rule of diminishing returns."""
    note = voice.gettext(
        "Bands are 80 % intervals, dotted lines linear scaling. A diamond marks diminishing returns: beyond "
        "it, twice the devices save less than 29 % of the time and cost more per run. Rings mark sizes with "
        "idle devices."
    )
    views = [view("scaling", voice.gettext("Training time by size"), time, note)]
    if cost is not None:
        note = voice.gettext("Bands are 80 % intervals; diamonds mark the size with the lowest cost per run.")
        views.append(view("scaling-cost", voice.gettext("Cost per run by size"), cost, note))
    return views


def schedule_view(estimate: Estimate, voice: Voice) -> DrawingView | None:
    """Return the passes of one step; None without a pipeline."""
    schedule = estimate.schedule
    if schedule is None:
        return None
    return DrawingView(
        "schedule",
        voice.gettext("Pipeline schedule"),
        pipeline_drawing(schedule, voice),
        "stages",
        schedule_rows(schedule),
        voice.say(SCHEDULE_NOTES[schedule.kind]),
    )


def plan_rows(estimate: Estimate, voice: Voice) -> list[tuple[str, str]]:
    """Return the choices of a plan by name, in the order of the schema."""
    if estimate.plan is None:
        return []
    values = estimate.plan.model_dump(exclude={"searched", "stage_layers"}, exclude_none=True)
    rows = [(name, written(value, voice, "plan")) for name, value in values.items()]
    stages = [f"{len(list(run))} × {layers}" for layers, run in itertools.groupby(estimate.plan.stage_layers)]
    return [*rows, ("stage_layers", ", ".join(stages) or "–")]


def basis_rows(estimate: Estimate, voice: Voice) -> list[tuple[str, str]]:
    if estimate.cost is None:
        return []
    basis = dict(estimate.cost.basis)
    if "price_book" in basis:
        basis.pop("price_book_id", None)
    if "amortisation_years" in basis:
        basis.pop("term_years", None)
    return [(name, stated(name, value, voice)) for name, value in basis.items()]
