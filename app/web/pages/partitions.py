"""Partitions as a form: which teams fit on a pod or a cluster together, isolated from each other."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from app.reports.drawings.pod import PodDrawing, pod_drawing
from app.reports.drawings.pod_file import placement_rows, pod_file
from app.reports.wording import Voice
from app.services.tenancy import share_devices, slice_names
from app.services.workbench import Workbench
from app.sizing.tenancy.documents import PartitionPlan
from app.sizing.tenancy.request import MOST_REQUESTS, PartitionRequest
from app.web.contexts import Choice, DrawingView
from app.web.deps import BenchDep
from app.web.locale import voice_of
from app.web.pages import choices
from app.web.pages.documents import available
from app.web.pages.presenting import grouped
from app.web.pages.query_forms import Answered, QueryForm
from app.web.rendering import render
from app.web.routers import page_router
from app.web.tenancy_contexts import PartitionsPage, PlacedTeam

router = page_router()

GROUP = "requests"


def example(system: str, rows: Sequence[tuple[str, str, str]], **more: str) -> dict[str, str]:
    """Return the fields of a ready-made question."""
    found = {"system": system, "count": "1", "isolation": "strict", "orchestrator": "backend.ai"} | more
    for at, (team, devices, profile) in enumerate(rows):
        found |= {f"{GROUP}.{at}.team": team, f"{GROUP}.{at}.devices": devices}
        if profile:
            found[f"{GROUP}.{at}.slice"] = profile
    return found


POD64 = example(
    "bow-pod64", [(name, size, "") for name, size in zip("ABCDE", ("16", "16", "8", "4", "16"), strict=True)]
)
EXAMPLES = {
    "Bow Pod64: 16 + 16 + 8 + 4 + 16": POD64,
    "2 × Bow Pod64: 128": example("bow-pod64", [("A", "128", "")], count="2"),
    "DGX A100: MIG": example(
        "dgx-a100-640gb",
        [("A", "4", ""), ("B", "5", "1g.10gb"), ("C", "2", "3g.40gb"), ("D", "2", "2g.20gb")],
        orchestrator="none",
        isolation="none",
    ),
}
"""Name → fields of the form; the first is shown to who asks for nothing."""


FORM = QueryForm(PartitionRequest, POD64, rows=("requests", "team", MOST_REQUESTS))


def placed_teams(plan: PartitionPlan) -> list[PlacedTeam]:
    """Return what each request got."""
    found = []
    for index in sorted({one.request for one in plan.placements}):
        mine = [one for one in plan.placements if one.request == index]
        places = [(one.pod, one.first_device, one.first_device + one.devices - 1) for one in mine]
        profile = mine[0].slice or ""
        devices = len(mine) if profile else sum(one.devices for one in mine)
        found.append(PlacedTeam(mine[0].team, devices, profile, list(dict.fromkeys(places))))
    return found


def picture_of(plan: PartitionPlan, drawing: PodDrawing, voice: Voice) -> DrawingView:
    """Return the drawing of a plan as a file."""
    title = voice.gettext("Who sits where")
    return DrawingView("pod", title, pod_file(drawing, title), "placements", placement_rows(plan, voice))


def page_of(bench: Workbench, voice: Voice, found: Answered[PartitionPlan]) -> PartitionsPage:
    """Return the page of a plan, of an earlier one where this one is refused."""
    form, plan = found.form, found.answer
    rows = FORM.shown_rows(form.firsts)
    drawing = None if plan is None else pod_drawing(plan, voice)
    return PartitionsPage(
        data_url="" if found.stale else f"/partitions.json?{found.query}",
        documents=available(),
        form=form,
        message=found.message,
        rows=rows,
        systems=choices.system_names(bench.catalogue),
        slices=slice_names(bench, form.get("system")),
        pinned=any(
            form.get(f"{GROUP}.{row}.pod") or form.wrong(f"{GROUP}.{row}.first_device") for row in rows
        ),
        examples=[Choice(urlencode(fields), name) for name, fields in EXAMPLES.items()],
        plan=plan,
        stale=found.stale,
        previous=found.query,
        drawing=drawing,
        picture=None if plan is None or drawing is None else picture_of(plan, drawing, voice),
        placed=[] if plan is None else placed_teams(plan),
        warnings=[] if plan is None else grouped(("", warning) for warning in plan.warnings),
    )


@router.get("/partitions.json")
def show_partitions_data(request: Request, bench: BenchDep) -> PartitionPlan:
    """Return the plan of the page of the same address."""
    return share_devices(bench, FORM.request(FORM.values(request.query_params)))


@router.get("/partitions", response_class=HTMLResponse)
def show_partitions(request: Request, bench: BenchDep, previous: str = "") -> Response:
    """Show who gets which devices; a refused question beside the last that was possible."""
    found = FORM.ask(request.query_params, previous, lambda wanted: share_devices(bench, wanted))
    page = page_of(bench, voice_of(request), found)
    return render(request, "partitions.html", page, status=found.status)
