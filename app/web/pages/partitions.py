"""Partitions as a form: which teams fit on a pod or a cluster together, isolated from each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from app.errors import AppError, Message
from app.reports.drawings.pod import PodDrawing, pod_drawing
from app.reports.drawings.pod_file import placement_rows, pod_file
from app.reports.wording import Voice
from app.services.tenancy import share_devices, slice_names
from app.services.workbench import Workbench
from app.sizing.tenancy.documents import PartitionPlan
from app.sizing.tenancy.request import MOST_REQUESTS, PartitionRequest
from app.web.contexts import Choice, DrawingView, Form
from app.web.deps import BenchDep
from app.web.locale import voice_of
from app.web.pages import choices
from app.web.pages.documents import available
from app.web.pages.forms import checked, plain_number, typed
from app.web.pages.presenting import grouped
from app.web.pages.sharing_forms import Values, filled_rows, refused_form, shown_rows
from app.web.rendering import render
from app.web.routers import page_router
from app.web.tenancy_contexts import PartitionsPage, PlacedTeam

router = page_router()

GROUP = "requests"
FIELDS = ("system", "count", "isolation", "orchestrator")
COLUMNS = ("team", "devices", "slice", "pod", "first_device")
WORDS = {"team", "slice"}


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


def asked_values(values: Values) -> dict[str, Sequence[str]]:
    """Return what a question consists of; who names no team gets those of the first example."""
    kept = {name: value for name, value in values.items() if name in FIELDS}
    rows = filled_rows(values, GROUP, MOST_REQUESTS)
    for row in rows:
        names = [f"{GROUP}.{row}.{column}" for column in COLUMNS]
        kept |= {name: values[name] for name in names if name in values}
    start = {name: [value] for name, value in POD64.items() if name in FIELDS or not rows}
    return {**start, **kept}


def asked(values: Values) -> PartitionRequest:
    """Return what a form asks for; a team without a name is called after its row."""
    fields: dict[str, Any] = {
        name: plain_number(values[name][0]) if name == "count" else values[name][0]
        for name in FIELDS
        if name in values
    }
    rows = []
    for row in filled_rows(values, GROUP, MOST_REQUESTS):
        one = {"team": f"#{row + 1}"}
        for column in COLUMNS:
            text = values.get(f"{GROUP}.{row}.{column}", [""])[0]
            if text:
                one[column] = text if column in WORDS else plain_number(text)
        rows.append(one)
    return checked(PartitionRequest, fields | {GROUP: rows})


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


def page_of(
    bench: Workbench,
    voice: Voice,
    form: Form,
    plan: PartitionPlan | None,
    previous: str,
    message: Message | None = None,
) -> PartitionsPage:
    """Return the page of a plan, of an earlier one where this one is refused."""
    rows = shown_rows(filled_rows(form.values, GROUP, MOST_REQUESTS), MOST_REQUESTS)
    drawing = None if plan is None else pod_drawing(plan, voice)
    return PartitionsPage(
        data_url="" if message else f"/partitions.json?{previous}",
        documents=available(),
        form=form,
        message=message,
        rows=rows,
        systems=choices.system_names(bench.catalogue),
        slices=slice_names(bench, form.get("system")),
        pinned=any(
            form.get(f"{GROUP}.{row}.pod") or form.wrong(f"{GROUP}.{row}.first_device") for row in rows
        ),
        examples=[Choice(urlencode(fields), name) for name, fields in EXAMPLES.items()],
        plan=plan,
        stale=message is not None,
        previous=previous,
        drawing=drawing,
        picture=None if plan is None or drawing is None else picture_of(plan, drawing, voice),
        placed=[] if plan is None else placed_teams(plan),
        warnings=[] if plan is None else grouped(("", warning) for warning in plan.warnings),
    )


@router.get("/partitions.json")
def show_partitions_data(request: Request, bench: BenchDep) -> PartitionPlan:
    """Return the plan of the page of the same address."""
    return share_devices(bench, asked(asked_values(typed(request.query_params))))


@router.get("/partitions", response_class=HTMLResponse)
def show_partitions(request: Request, bench: BenchDep, previous: str = "") -> Response:
    """Show who gets which devices; a refused question beside the last that was possible."""
    values, voice = asked_values(typed(request.query_params)), voice_of(request)
    try:
        plan = share_devices(bench, asked(values))
    except AppError as error:
        rows = filled_rows(values, GROUP, MOST_REQUESTS)
        form = refused_form(values, error, GROUP, rows)
        return refusal(request, bench, form, previous, error)
    query = urlencode({name: one[0] for name, one in values.items()})
    return render(request, "partitions.html", page_of(bench, voice, Form(values), plan, query))


def refusal(request: Request, bench: Workbench, form: Form, previous: str, error: AppError) -> Response:
    """Return the form with its errors beside the fields and the earlier result, if there is one."""
    try:
        plan = share_devices(bench, asked(asked_values(parse_qs(previous)))) if previous else None
    except AppError:
        plan = None
    page = page_of(bench, voice_of(request), form, plan, previous if plan else "", error.message)
    return render(request, "partitions.html", page, status=error.status)
