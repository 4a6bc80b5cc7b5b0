"""The pipeline's schedule on the page of an estimate."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.errors import Message
from app.estimating.documents import CheckWarning, Estimate, Memory, NearestRun, OutsideRun, Text
from app.estimating.validation.run import UNITS
from app.features.estimates import charts as estimates_charts
from app.features.estimates.model import EstimateSummary
from app.features.estimates.schedule import StageTimes, pipeline_drawing, schedule_rows, stage_times
from app.platform.charts import figures
from app.platform.charts.figures import Figure, MemoryBar, Segment, time_scale
from app.platform.web.contexts import (
    MOST_ROWS,
    REFUSAL,
    Choice,
    ChoiceGroup,
    DrawingView,
    FigureView,
    Form,
    WarningGroup,
    grouped,
    refusal_of,
    view,
)
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice, stated, written


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatesPage:
    """The list of estimates."""

    estimates: Sequence[EstimateSummary]
    next_url: str
    """Address of the next stretch; empty at the end."""


PartRow = tuple[str, Sequence[tuple[float, float]]]
"""A part of the time to train, and per option its seconds and its share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatePage:
    """One estimate, down to its formulas."""

    estimate: Estimate
    fabric_name: str
    """What its network is called."""
    time_scale: Scale
    """One unit for all parts of the time to train."""
    memory: MemoryBar | None
    shares: Sequence[Segment]
    figures: Sequence[FigureView]
    schedule: DrawingView | None
    """Passes of one step; none where the pipeline has one stage."""
    stage_times: Sequence[StageTimes]
    """The same stage by stage."""
    superstep: Sequence[Segment]
    """Parts of one superstep; none where stages do not wait in lockstep."""
    refusal: CheckWarning | None
    """Why it cannot run, and what would fit."""
    warnings: Sequence[WarningGroup]
    """All others."""
    all_searched: bool
    """Whether no choice of the plan was asked for."""
    plan: Sequence[tuple[str, str]]
    """Choices of the plan: field and value as written."""
    basis: Sequence[tuple[str, str]]
    """What the cost rests on: field and value as written."""
    defaults: Sequence[tuple[str, str, Text]]
    """Values taken: field, value as written, and why."""
    nearest: Sequence[tuple[NearestRun, str]]
    """Measured runs close by, each with the unit of its metric as it stands after a number."""
    outside: Sequence[tuple[OutsideRun, str]]
    """Measured runs of the same case outside the range, each with its unit."""
    form: Form = field(default_factory=Form)
    """The software that is chosen."""
    software: Choice | None = None
    """Software it was estimated with, with its date and what it was fitted on; none of a bare figure."""
    softwares: Sequence[ChoiceGroup] = ()
    """What it can be estimated with instead."""


NOTES = {
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


def schedule_view(estimate: Estimate, voice: Voice) -> DrawingView | None:
    """Return the passes of one step; none where the pipeline has one stage."""
    found = estimate.schedule
    if found is None:
        return None
    return DrawingView(
        "schedule",
        voice.gettext("Pipeline schedule"),
        pipeline_drawing(found, voice),
        "stages",
        schedule_rows(found),
        voice.say(NOTES[found.kind]),
    )


def stages(estimate: Estimate) -> Sequence[StageTimes]:
    """Return when each stage works."""
    return stage_times(estimate.schedule) if estimate.schedule else []


def superstep(estimate: Estimate) -> Sequence[Segment]:
    """Return one superstep as a bar of its parts."""
    return figures.share_bar(estimate.schedule.superstep or ()) if estimate.schedule else []


SEARCHED = {"tensor", "pipeline", "data", "micro_batch", "recompute"}
"""Choices that make a plan; where all of them were searched, nothing was asked for."""


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


def roofline_view(drawn: Figure, table: str, voice: Voice) -> FigureView:
    """Return a roofline with the meaning of its shapes."""
    note = voice.gettext(
        "Circles are compute-bound, squares memory-bandwidth-bound, diamonds exchange-bound, "
        "crosses latency-bound. Larger marks take more of the time."
    )
    caption = voice.gettext("Roofline by operator")
    return view("roofline", caption, "square", drawn, table, note)


def estimate_page(
    estimate: Estimate,
    fabric_name: str,
    voice: Voice,
    softwares: Sequence[ChoiceGroup] = (),
) -> EstimatePage:
    """Return the page of an estimate, with the software it can be made with instead."""
    views: list[FigureView] = []
    if estimate.sensitivity and estimate.time_to_train:
        drawn = estimates_charts.sensitivity(estimate, voice)
        size = f"rows-{min(len(estimate.sensitivity) + 1, MOST_ROWS)}"
        views.append(
            view("sensitivity", voice.gettext("What drives training time"), size, drawn, "sensitivity")
        )
    if estimate.roof is not None and estimate.roofline:
        drawn = estimates_charts.roofline([(estimate.label, estimate)], voice)
        views.append(roofline_view(drawn, "roofline", voice))
    return EstimatePage(
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
