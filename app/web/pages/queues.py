"""A waiting line as a form: how long each team waits over a year, and how many machines keep it short."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from app.engine.units import HOUR
from app.reports.figures.queues import line_over_time, wait_scale, waits_by_count, waits_by_team
from app.reports.wording import Voice
from app.reports.wording.scales import Scale
from app.services.tenancy import share_time
from app.services.workbench import Workbench
from app.sizing.tenancy.documents import QueueAnswer
from app.sizing.tenancy.request import MOST_TEAMS, QueueRequest
from app.web.contexts import Choice, FigureView
from app.web.deps import BenchDep, WorkspaceDep
from app.web.locale import voice_of
from app.web.pages import choices
from app.web.pages.documents import available
from app.web.pages.presenting import SEVERITIES, grouped, view
from app.web.pages.query_forms import Answered, QueryForm
from app.web.rendering import render
from app.web.routers import page_router
from app.web.tenancy_contexts import QueuesPage

router = page_router()

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


FORM = QueryForm(QueueRequest, DGX, rows=("teams", "team", MOST_TEAMS))


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


def page_of(bench: Workbench, voice: Voice, found: Answered[QueueAnswer]) -> QueuesPage:
    """Return the page of an answer, of an earlier one where this question is refused."""
    form, answer = found.form, found.answer
    groups = [] if answer is None else grouped(("", warning) for warning in answer.warnings)
    return QueuesPage(
        data_url="" if found.stale else f"/queues.json?{found.query}",
        documents=available(),
        form=form,
        message=found.message,
        rows=FORM.shown_rows(form.firsts),
        systems=choices.system_names(bench.catalogue),
        examples=[Choice(urlencode(fields), name) for name, fields in EXAMPLES.items()],
        answer=answer,
        stale=found.stale,
        previous=found.query,
        scale=Scale(HOUR, "h") if answer is None else wait_scale(answer),
        figures=[] if answer is None else figures_of(answer, voice),
        warnings=[group for group in groups if group.severity != SEVERITIES[0]],
        serious=[group for group in groups if group.severity == SEVERITIES[0]],
    )


@router.get("/queues.json")
def show_queue_data(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> QueueAnswer:
    """Return the answer of the page of the same address."""
    return share_time(bench, workspace, FORM.request(FORM.values(request.query_params)))


@router.get("/queues", response_class=HTMLResponse)
def show_queue(request: Request, bench: BenchDep, workspace: WorkspaceDep, previous: str = "") -> Response:
    """Show the waits of each team; a refused question beside the last that was answered."""
    found = FORM.ask(request.query_params, previous, lambda wanted: share_time(bench, workspace, wanted))
    page = page_of(bench, voice_of(request), found)
    return render(request, "queues.html", page, status=found.status)
