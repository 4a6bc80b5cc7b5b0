"""Teams on one system as forms: partitions side by side, and how long each waits in a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from app.features.studies.frame import OpenView, StudyFrame, StudyQuestion, old_address, study_view
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
from app.features.tenancy.service import share_devices, share_time, slice_names
from app.platform.rates import CostClass
from app.platform.web import choices
from app.platform.web.contexts import ChoiceGroup, DrawingView, FigureView, Form, view
from app.platform.web.locale import voice_of
from app.platform.web.query_forms import Answered, QueryForm
from app.platform.web.resources import question
from app.platform.web.rights import page_router
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench

router = page_router()

GROUP = "requests"

FIVE_TEAMS = {
    field: value
    for at, (team, devices) in enumerate(zip("ABCDE", ("16", "16", "8", "4", "16"), strict=True))
    for field, value in ((f"{GROUP}.{at}.team", team), (f"{GROUP}.{at}.devices", devices))
}
"""Shown to who asks for nothing."""

PARTITION_FORM = QueryForm(PartitionRequest, {}, rows=("requests", "team", MOST_REQUESTS))


def usual_partitions(question: StudyQuestion) -> dict[str, str]:
    """Return what a study says of the system that teams share."""
    system = question.option.system
    assert system is not None, "only systems are divided"
    return {
        "system": system.id,
        "count": str(system.count or 1),
        "isolation": "strict",
        "orchestrator": "backend.ai",
    }


@dataclass(frozen=True, slots=True)
class PlacedTeam:
    """What one request got, in one line."""

    team: str
    devices: int
    slice: str
    places: Sequence[tuple[int, int, int]]
    """Pod or node, first and last device of each block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsPage:
    """Teams side by side on one system."""

    frame: StudyFrame
    result: Answered[PartitionPlan] | None
    rows: Sequence[int]
    """Numbers of the rows of the form."""
    slices: Sequence[str]
    """MIG profiles of the chosen system; none where it has no MIG."""
    pinned: bool
    """Whether any row names a place."""
    drawing: PodDrawing | None
    picture: DrawingView | None
    """The same as a file."""
    placed: Sequence[PlacedTeam]


def placed_teams(plan: PartitionPlan) -> list[PlacedTeam]:
    """Return what each request got."""
    teams = []
    for index in sorted({placed.request for placed in plan.placements}):
        mine = [placed for placed in plan.placements if placed.request == index]
        places = [
            (placed.pod, placed.first_device, placed.first_device + placed.devices - 1) for placed in mine
        ]
        profile = mine[0].slice or ""
        devices = len(mine) if profile else sum(placed.devices for placed in mine)
        teams.append(PlacedTeam(mine[0].team, devices, profile, list(dict.fromkeys(places))))
    return teams


def picture_of(plan: PartitionPlan, drawing: PodDrawing, voice: Voice) -> DrawingView:
    """Return the drawing of a plan as a file."""
    title = voice.gettext("Placement map")
    return DrawingView("pod", title, pod_file(drawing, title), "placements", placement_rows(plan, voice))


def partitions_page(
    request: Request, view: OpenView, result: Answered[PartitionPlan] | None
) -> PartitionsPage:
    """Return the page of a plan, of an earlier one where this one is refused."""
    form = Form() if result is None else result.form
    plan, voice = None if result is None else result.answer, voice_of(request)
    rows = PARTITION_FORM.shown_rows(form.firsts)
    drawing = None if plan is None else pod_drawing(plan, voice)
    return PartitionsPage(
        frame=view.frame,
        result=result,
        rows=rows,
        slices=slice_names(view.bench, form.get("system")),
        pinned=any(
            form.get(f"{GROUP}.{row}.pod") or form.wrong(f"{GROUP}.{row}.first_device") for row in rows
        ),
        drawing=drawing,
        picture=None if plan is None or drawing is None else picture_of(plan, drawing, voice),
        placed=[] if plan is None else placed_teams(plan),
    )


study_view(
    router,
    "partitions",
    "tenancy/partitions.html",
    PARTITION_FORM,
    PartitionPlan,
    usual=usual_partitions,
    answer=lambda question, asked: share_devices(question.bench, asked),
    page=partitions_page,
    asked=lambda fields: any(name.startswith(f"{GROUP}.") and text.strip() for name, text in fields.items()),
)


def study_of_teams(fields: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return an example study on the system of an old address, and the teams."""
    rest = dict(fields) if any(name.startswith(f"{GROUP}.") for name in fields) else {**FIVE_TEAMS, **fields}
    system = {"id": rest.pop("system", "bow-pod64"), "count": rest.pop("count", "1")}
    base = {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}}
    return {"name": "BERT-Large", "base": base, "options": [{"system": system}]}, rest


old_address(router, "/partitions", "partitions", study_of_teams)


DGX = {
    "system": "dgx-a100-640gb",
    "count": "4",
    "discipline": "backfill",
    "days": "365",
    "target_wait_hours": "24",
    "seed": "1",
    "teams.0.team": "A",
    "teams.0.jobs_per_month": "20",
    "teams.0.devices": "8",
    "teams.0.hours": "24",
    "teams.1.team": "B",
    "teams.1.jobs_per_month": "4",
    "teams.1.devices": "16",
    "teams.1.hours": "72",
    "teams.1.hours_deviation": "48",
    "teams.2.team": "C",
    "teams.2.jobs_per_month": "60",
    "teams.2.devices": "4",
    "teams.2.hours": "6",
}

POD = DGX | {"system": "bow-pod64", "count": "1", "teams.1.devices": "32", "teams.0.devices": "16"}

QUEUE_EXAMPLES = (
    ("4 × DGX A100", DGX),
    ("Bow Pod64", POD),
    ("4 × DGX A100, FIFO", DGX | {"discipline": "fifo"}),
)
"""Names, and the fields of the form; the first is shown to who asks for nothing."""

QUEUE_FORM = QueryForm(QueueRequest, DGX, rows=("teams", "team", MOST_TEAMS))


def figures_of(answer: QueueAnswer, voice: Voice) -> list[FigureView]:
    """Return the charts of an answer."""
    note = voice.gettext("Waits far above the target are off the chart; see the table.")
    return [
        view("teams", voice.gettext("Wait by team"), waits_by_team(answer, voice), table="waits"),
        view(
            "counts",
            voice.gettext("Wait by number of systems"),
            waits_by_count(answer, voice),
            note,
            "counts",
        ),
        view("line", voice.gettext("Queue over time"), line_over_time(answer, voice)),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuesPage:
    """Teams whose jobs share machines over time."""

    result: Answered[QueueAnswer]
    rows: Sequence[int]
    """Numbers of the rows of the form."""
    systems: Sequence[ChoiceGroup]
    examples: Sequence[tuple[str, Mapping[str, str]]]
    scale: Scale | None
    """One unit for all waits."""
    figures: Sequence[FigureView]


def queues_page(
    request: Request, bench: Workbench, workspace: str, result: Answered[QueueAnswer]
) -> QueuesPage:
    """Return the page of an answer, of an earlier one where this question is refused."""
    answer = result.answer
    return QueuesPage(
        result=result,
        rows=QUEUE_FORM.shown_rows(result.form.firsts),
        systems=choices.system_names(bench.catalogue),
        examples=QUEUE_EXAMPLES,
        scale=None if answer is None else wait_scale(answer),
        figures=[] if answer is None else figures_of(answer, voice_of(request)),
    )


question(
    router,
    "/queues",
    "tenancy/queues.html",
    QUEUE_FORM,
    QueueAnswer,
    share_time,
    queues_page,
    cost=CostClass.SEARCH,
)
