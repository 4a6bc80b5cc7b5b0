"""A waiting line as a form: how long each team waits over a year, and how many machines keep it short."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from app.errors import AppError, Message
from app.reports.figures.queues import line_over_time, wait_scale, waits_by_count, waits_by_team
from app.reports.wording import Voice
from app.reports.wording.scales import HOUR, Scale
from app.services.tenancy import share_time
from app.services.workbench import Workbench
from app.sizing.tenancy.documents import QueueAnswer
from app.sizing.tenancy.request import MOST_TEAMS, QueueRequest
from app.web.contexts import Choice, FigureView, Form
from app.web.deps import BenchDep, WorkspaceDep
from app.web.locale import voice_of
from app.web.pages import choices
from app.web.pages.documents import available
from app.web.pages.forms import checked, plain_number, typed
from app.web.pages.presenting import SEVERITIES, grouped, view
from app.web.pages.sharing_forms import Values, filled_rows, refused_form, shown_rows
from app.web.rendering import render
from app.web.routers import page_router
from app.web.tenancy_contexts import QueuesPage

router = page_router()

GROUP = "teams"
FIELDS = ("system", "count", "discipline", "failures", "days", "target_wait_hours", "seed")
NUMBERS = {"count", "days", "target_wait_hours", "seed"}
COLUMNS = ("team", "jobs_per_month", "devices", "hours", "hours_deviation", "distribution", "estimate_id")
WORDS = {"team", "distribution", "estimate_id"}
MOST_BARS = 8

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
EXAMPLES = {"4 × DGX A100": DGX, "Bow Pod64": POD, "4 × DGX A100, FIFO": DGX | {"discipline": "fifo"}}
"""Name → fields of the form; the first is shown to who asks for nothing."""


def asked_values(values: Values) -> dict[str, list[str]]:
    """Return what a question consists of; who names no team gets those of the first example."""
    kept = {name: list(value) for name, value in values.items() if name in FIELDS}
    rows = filled_rows(values, GROUP, MOST_TEAMS)
    for row in rows:
        names = [f"{GROUP}.{row}.{column}" for column in COLUMNS]
        kept |= {name: list(values[name]) for name in names if name in values}
    start = {name: [value] for name, value in DGX.items() if name in FIELDS or not rows}
    return start | kept


def asked(values: Values) -> QueueRequest:
    """Return what a form asks for; a team without a name is called after its row."""
    fields: dict[str, Any] = {
        name: plain_number(values[name][0]) if name in NUMBERS else values[name][0]
        for name in FIELDS
        if name in values
    }
    rows = []
    for row in filled_rows(values, GROUP, MOST_TEAMS):
        one = {"team": f"#{row + 1}"}
        for column in COLUMNS:
            text = values.get(f"{GROUP}.{row}.{column}", [""])[0]
            if text:
                one[column] = text if column in WORDS else plain_number(text)
        rows.append(one)
    return checked(QueueRequest, fields | {GROUP: rows})


def figures_of(answer: QueueAnswer, voice: Voice) -> list[FigureView]:
    """Return the charts of an answer."""
    size = f"rows-{min(len(answer.teams) + 1, MOST_BARS)}"
    return [
        view("teams", voice.gettext("Wait by team"), size, waits_by_team(answer, voice), "waits"),
        view(
            "counts",
            voice.gettext("Wait by number of systems"),
            "square",
            waits_by_count(answer, voice),
            "counts",
            voice.gettext("Waits far above the target leave the plot; the table has them."),
        ),
        view("line", voice.gettext("The line over time"), "square", line_over_time(answer, voice), "waits"),
    ]


def page_of(
    bench: Workbench,
    voice: Voice,
    form: Form,
    answer: QueueAnswer | None,
    previous: str,
    message: Message | None = None,
) -> QueuesPage:
    """Return the page of an answer, of an earlier one where this question is refused."""
    groups = [] if answer is None else grouped(("", warning) for warning in answer.warnings)
    return QueuesPage(
        data_url="" if message else f"/queues.json?{previous}",
        documents=available(),
        form=form,
        message=message,
        rows=shown_rows(filled_rows(form.values, GROUP, MOST_TEAMS), MOST_TEAMS),
        systems=choices.system_names(bench.catalogue),
        examples=[Choice(urlencode(fields), name) for name, fields in EXAMPLES.items()],
        answer=answer,
        stale=message is not None,
        previous=previous,
        scale=Scale(HOUR, "h") if answer is None else wait_scale(answer),
        figures=[] if answer is None else figures_of(answer, voice),
        warnings=[group for group in groups if group.severity != SEVERITIES[0]],
        serious=[group for group in groups if group.severity == SEVERITIES[0]],
    )


@router.get("/queues.json")
def show_queue_data(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> QueueAnswer:
    """Return the answer of the page of the same address."""
    return share_time(bench, workspace, asked(asked_values(typed(request.query_params))))


@router.get("/queues", response_class=HTMLResponse)
def show_queue(request: Request, bench: BenchDep, workspace: WorkspaceDep, previous: str = "") -> Response:
    """Show the waits of each team; a refused question beside the last that was answered."""
    values, voice = asked_values(typed(request.query_params)), voice_of(request)
    try:
        answer = share_time(bench, workspace, asked(values))
    except AppError as error:
        form = refused_form(values, error, GROUP, filled_rows(values, GROUP, MOST_TEAMS))
        return refusal(request, bench, workspace, form, previous, error)
    query = urlencode({name: one[0] for name, one in values.items()})
    return render(request, "queues.html", page_of(bench, voice, Form(values), answer, query))


def refusal(
    request: Request,
    bench: Workbench,
    workspace: str,
    form: Form,
    previous: str,
    error: AppError,
) -> Response:
    """Return the form with its errors beside the fields and the earlier result, if there is one."""
    try:
        answer = share_time(bench, workspace, asked(asked_values(parse_qs(previous)))) if previous else None
    except AppError:
        answer = None
    page = page_of(bench, voice_of(request), form, answer, previous if answer else "", error.message)
    return render(request, "queues.html", page, status=error.status)
