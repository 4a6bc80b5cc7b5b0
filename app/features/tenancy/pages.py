"""Teams on the system of an option: partitions side by side, and how long each waits in a queue."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request

from app.estimating.documents import Estimate
from app.estimating.schema import Quantity
from app.features.studies.frame import OpenView, StudyFrame, StudyQuestion, study_view
from app.features.studies.service import estimates_of
from app.features.tenancy.charts import line_over_time, wait_scale, waits_by_count, waits_by_team
from app.features.tenancy.drawings import PodDrawing, placement_rows, pod_drawing, pod_file
from app.features.tenancy.model import (
    MOST_REQUESTS,
    MOST_TEAMS,
    PartitionPlan,
    PartitionRequest,
    QueueAnswer,
    QueueRequest,
)
from app.features.tenancy.partitions import plan_partitions
from app.features.tenancy.service import share_time, slice_names
from app.platform.rates import CostClass
from app.platform.web.contexts import DrawingView, FigureView, Form
from app.platform.web.contexts import view as figure_view
from app.platform.web.locale import voice_of
from app.platform.web.query_forms import FormOutcome, QueryForm
from app.platform.web.rights import page_router
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice

Shown = TypeVar("Shown")

router = page_router()

GROUP = "requests"

PARTITION_FORM = QueryForm(PartitionRequest, rows=("requests", "team", MOST_REQUESTS))


def usual_partitions(question: StudyQuestion) -> dict[str, str]:
    system = question.option.system
    assert system is not None, "only systems are divided"
    return {
        "system": system.id,
        "count": str(system.count or 1),
        "isolation": "strict",
        "orchestrator": "backend.ai",
    }


@dataclass(frozen=True, slots=True)
class TeamSlots:
    """Devices given to one request."""

    team: str
    devices: int
    slice: str
    places: Sequence[tuple[int, int, int]]
    """Pod or node, first and last device of each block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsPage:
    """Teams on one system: side by side in partitions, and one after the other in a queue."""

    frame: StudyFrame
    result: FormOutcome[PartitionPlan] | None
    """The partitions; None where no option suits the view."""
    rows: Sequence[int]
    """Numbers of the rows of the form of partitions."""
    slices: Sequence[str]
    """MIG profiles of the chosen system; none where it has no MIG."""
    pinned: bool
    """Whether any row has a fixed placement."""
    drawing: PodDrawing | None
    picture: DrawingView | None
    """The same as a file."""
    teams: Sequence[TeamSlots]
    queue: FormOutcome[QueueAnswer] | None
    queue_rows: Sequence[int]
    """Numbers of the rows of the form of the queue."""
    scale: Scale | None
    """One unit for all waits."""
    figures: Sequence[FigureView]
    run: tuple[Quantity, int] | None
    """Time to train of the option, and its number of devices; None where unknown."""


def slots_of_teams(plan: PartitionPlan) -> list[TeamSlots]:
    teams = []
    for index in sorted({placement.request for placement in plan.placements}):
        placements = [placement for placement in plan.placements if placement.request == index]
        places = [
            (block.pod, block.first_device, block.first_device + block.devices - 1) for block in placements
        ]
        profile = placements[0].slice or ""
        devices = len(placements) if profile else sum(block.devices for block in placements)
        teams.append(TeamSlots(placements[0].team, devices, profile, list(dict.fromkeys(places))))
    return teams


def picture_of(plan: PartitionPlan, drawing: PodDrawing, voice: Voice) -> DrawingView:
    title = voice.gettext("Placement map")
    return DrawingView("pod", title, pod_file(drawing, title), "placements", placement_rows(plan, voice))


def teams_page(
    request: Request,
    view: OpenView,
    result: FormOutcome[PartitionPlan] | None,
    queue: FormOutcome[QueueAnswer] | None,
) -> PartitionsPage:
    form = Form() if result is None else result.form
    plan, voice = None if result is None else result.answer, voice_of(request)
    rows = PARTITION_FORM.visible_rows(form.firsts)
    drawing = None if plan is None else pod_drawing(plan, voice)
    waits = None if queue is None else queue.answer
    return PartitionsPage(
        frame=view.frame,
        result=result,
        rows=rows,
        slices=slice_names(view.workspace, form.get("system")),
        pinned=any(
            form.get(f"{GROUP}.{row}.pod") or form.wrong(f"{GROUP}.{row}.first_device") for row in rows
        ),
        drawing=drawing,
        picture=None if plan is None or drawing is None else picture_of(plan, drawing, voice),
        teams=[] if plan is None else slots_of_teams(plan),
        queue=queue,
        queue_rows=[] if queue is None else QUEUE_FORM.visible_rows(queue.form.firsts),
        scale=None if waits is None else wait_scale(waits),
        figures=[] if waits is None else figures_of(waits, voice),
        run=None if view.question is None else run_of(view.question),
    )


def run_of(question: StudyQuestion) -> tuple[Quantity, int] | None:
    """Return the time to train of an option and its number of devices; None where unknown."""
    alone = question.content.model_copy(update={"options": [question.option]})
    _, estimates = estimates_of(question.workspace, alone, {}, strict=False)
    estimate = estimates[question.option.key]
    if not isinstance(estimate, Estimate) or estimate.time_to_train is None:
        return None
    return estimate.time_to_train, estimate.system.devices


def has_teams(fields: Mapping[str, str]) -> bool:
    return any(name.startswith(f"{GROUP}.") and text.strip() for name, text in fields.items())


def partitions_page(
    request: Request, view: OpenView, result: FormOutcome[PartitionPlan] | None
) -> PartitionsPage:
    queue = other_part(view, "queues", QUEUE_FORM, usual_queue, has_jobs, queue_of)
    return teams_page(request, view, result, queue)


partitions_of = study_view(
    router,
    "partitions",
    "tenancy/partitions.html",
    PARTITION_FORM,
    PartitionPlan,
    usual=usual_partitions,
    answer=lambda question, body: plan_partitions(body, question.workspace.sizing.catalog),
    page=partitions_page,
    asked=has_teams,
)


def other_part(
    view: OpenView,
    name: str,
    form: QueryForm[Any],
    usual: Callable[[StudyQuestion], Mapping[str, str]],
    is_asked: Callable[[Mapping[str, str]], bool],
    answer: Callable[[OpenView], FormOutcome[Shown]],
) -> FormOutcome[Shown] | None:
    """Return the other part of the page from the saved fields; only its form where they ask nothing."""
    if view.question is None:
        return None
    fields = form.filled({**usual(view.question), **view.state.content.views.get(name, {})})
    return answer(view) if is_asked(fields) else FormOutcome(form.form(fields), None, "")


def figures_of(answer: QueueAnswer, voice: Voice) -> list[FigureView]:
    note = voice.gettext("Waits far above the target are off the chart; see the table.")
    counts = waits_by_count(answer, voice)
    return [
        figure_view("teams", voice.gettext("Wait by team"), waits_by_team(answer, voice), table="waits"),
        figure_view("counts", voice.gettext("Wait by number of systems"), counts, note, "counts"),
        figure_view("line", voice.gettext("Queue over time"), line_over_time(answer, voice)),
    ]


QUEUE_FORM = QueryForm(QueueRequest, rows=("teams", "team", MOST_TEAMS))


def usual_queue(question: StudyQuestion) -> dict[str, str]:
    """Return the fields of the queue that follow from the study: system, and teams with partitions."""
    system = question.option.system
    assert system is not None, "only systems are shared"
    fields = {
        "system": system.id,
        "count": str(system.count or 1),
        "discipline": "backfill",
        "days": "365",
        "target_wait_hours": "24",
        "seed": "1",
    }
    partitions = question.content.views.get("partitions", {})
    for index, row in enumerate(PARTITION_FORM.filled_rows(partitions)[:MOST_TEAMS]):
        whole = not partitions.get(f"{GROUP}.{row}.slice")
        names = ("team", "devices") if whole else ("team",)
        fields |= {f"teams.{index}.{name}": partitions.get(f"{GROUP}.{row}.{name}", "") for name in names}
    return fields


def has_jobs(fields: Mapping[str, str]) -> bool:
    return any(JOBS.fullmatch(name) and text.strip() for name, text in fields.items())


JOBS = re.compile(r"teams\.\d+\.(jobs_per_month|hours)")


def queues_page(request: Request, view: OpenView, result: FormOutcome[QueueAnswer] | None) -> PartitionsPage:
    plan = other_part(view, "partitions", PARTITION_FORM, usual_partitions, has_teams, partitions_of)
    return teams_page(request, view, plan, result)


queue_of = study_view(
    router,
    "queues",
    "tenancy/partitions.html",
    QUEUE_FORM,
    QueueAnswer,
    usual=usual_queue,
    answer=lambda question, body: share_time(question.workspace, body),
    page=queues_page,
    asked=has_jobs,
    cost=CostClass.SEARCH,
    part_of="partitions",
)
