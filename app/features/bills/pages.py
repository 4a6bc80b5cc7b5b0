"""Bills of materials with their racks and networks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.errors import AppError, Message, NotFound
from app.estimating.documents import Estimate
from app.features.bills import service as bills
from app.features.bills.api import CSV, XLSX, attachment
from app.features.bills.drawings import heading, rack_elevation, stretches, topology
from app.features.bills.model import (
    Bill,
    BillComparison,
    BillRequest,
    BillSummary,
    Rack,
)
from app.features.estimates.service import get_estimate
from app.platform.charts.svg import Drawing
from app.platform.json_bodies import from_validation
from app.platform.web import choices
from app.platform.web.contexts import Choice, ChoiceGroup, DrawingView, Form
from app.platform.web.deps import BenchDep, WorkspaceDep, workbench_of, workspace_of
from app.platform.web.forms import FormDep, refused, typed
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.query_forms import FormFields
from app.platform.web.rendering import render
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench

router = page_router()

FIELDS = FormFields(BillRequest)

EARLIER = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class BillFormPage:
    """The form that asks for a bill of materials."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    systems: Sequence[ChoiceGroup]
    fabrics: Sequence[Choice]
    estimate: Estimate | None
    """Whose system is billed; the form asks for no system then."""
    earlier: Sequence[BillSummary]


def form_page(bench: Workbench, workspace: str, form: Form, message: Message | None = None) -> BillFormPage:
    """Return the form with what has been typed into it."""
    return BillFormPage(
        form=form,
        message=message,
        systems=bought_systems(bench),
        fabrics=[
            Choice(fabric.id, fabric.name)
            for fabric in bench.catalogue.fabrics.documents.values()
            if bench.sizing.catalog.conditions(fabric.id, "switch")
        ],
        estimate=estimate_of(bench, workspace, form.get("estimate_id")),
        earlier=bills.list_bills(bench, workspace, EARLIER, None).items,
    )


def bought_systems(bench: Workbench) -> list[ChoiceGroup]:
    """Return the systems that can be bought, by maker."""
    documents = bench.catalogue.systems.documents
    groups = [
        ChoiceGroup(group.name, [one for one in group.choices if documents[one.id].acquisition == "own"])
        for group in choices.system_names(bench.catalogue)
    ]
    return [group for group in groups if group.choices]


def estimate_of(bench: Workbench, workspace: str, identifier: str) -> Estimate | None:
    """Return the estimate whose system is billed, if there is one of that name."""
    try:
        return get_estimate(bench, workspace, identifier) if identifier else None
    except NotFound:
        return None


@router.get("/boms", response_class=HTMLResponse)
def show_bills() -> Response:
    """Go to the form, which lists what was made before."""
    return RedirectResponse("/boms/new", 303)


@router.get("/boms/new", response_class=HTMLResponse)
def show_form(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show the form; what the address names is filled in."""
    values = typed(request.query_params)
    if "estimate" in values:
        values["estimate_id"] = values["estimate"]
    return render(request, "bills/bill_form.html", form_page(bench, workspace, Form(values)))


@router.post("/boms/new", response_class=HTMLResponse)
@needs(Right.MAKE)
def make_bill(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make the bill that was asked for, or return the form with its errors beside the fields."""
    values = typed(form)
    try:
        made = bills.create_bill(bench, workspace, BillRequest.model_validate(FIELDS.body(values)))
    except (AppError, ValidationError) as error:
        known = error if isinstance(error, AppError) else from_validation(error.errors(include_url=False))
        page = form_page(bench, workspace, refused(values, known, ()), known.message)
        return render(request, "bills/bill_form.html", page, status=known.status)
    return RedirectResponse(f"/boms/{made.id}", 303)


def pair_of(request: Request) -> str:
    """Return the bills to compare, given together or one by one."""
    return ",".join(request.query_params.getlist("ids")[:4])[:200]


@resource(router, "/boms/compare", "bills/bill_compare.html", lambda _, comparison: comparison)
def show_comparison(
    bench: BenchDep, workspace: WorkspaceDep, ids: Annotated[str, Depends(pair_of)]
) -> BillComparison:
    return bills.compare(bench, workspace, ids)


@router.get("/boms/{identifier}.csv")
def save_csv(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Return the lines as CSV in the reader's language."""
    content = bills.export_csv(bench, workspace, identifier, voice_of(request))
    # Spreadsheets read UTF-8 with Korean in it only behind a byte order mark.
    return Response(f"\ufeff{content}", media_type=CSV, headers=attachment(identifier, "csv"))


@router.get("/boms/{identifier}.xlsx")
def save_workbook(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Return lines and racks as a workbook in the reader's language."""
    content = bills.export_workbook(bench, workspace, identifier, voice_of(request))
    return Response(content, media_type=XLSX, headers=attachment(identifier, "xlsx"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BillPage:
    """A bill of materials with its racks and its network."""

    bill: Bill
    racks: Sequence[tuple[str, str, Rack]]
    """Racks that are filled alike: their name, and what stands in one of them."""
    elevation: DrawingView | None
    topology: DrawingView | None
    fabric_query: str
    """Query of the page that plans the network alone."""
    change_query: str
    """Query that fills the form with what was asked."""
    others: Sequence[BillSummary]
    """Bills to compare with."""


def bill_page(request: Request, bill: Bill) -> BillPage:
    """Return the page of a bill."""
    voice = voice_of(request)
    earlier = bills.list_bills(workbench_of(request), workspace_of(request), EARLIER, None).items
    return BillPage(
        bill=bill,
        racks=list(rack_rows(bill.racks, voice)),
        elevation=drawing_view("elevation", rack_elevation(bill.racks, voice), "racks")
        if bill.racks
        else None,
        topology=drawing_view("topology", topology(bill.network, voice), "") if bill.network else None,
        fabric_query=fabric_query(bill),
        change_query=change_query(bill),
        others=[other for other in earlier if other.id != bill.id],
    )


@resource(router, "/boms/{identifier}", "bills/bill.html", bill_page)
def show_bill(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Bill:
    return bills.get_bill(bench, workspace, identifier)


def drawing_view(name: str, drawing: Drawing, table: str) -> DrawingView:
    """Return a drawing with the title it has as its caption."""
    return DrawingView(name, drawing.title, drawing, table)


def rack_rows(racks: Sequence[Rack], voice: Voice) -> Iterable[tuple[str, str, Rack]]:
    number = 1
    for rack in racks:
        counts: dict[str, int] = {}
        for count, placement in stretches(rack.placements):
            counts[placement.name] = counts.get(placement.name, 0) + count
        contents = ", ".join(f"{count} × {voice.gettext(name)}" for name, count in counts.items())
        yield heading(rack, number, voice), contents, rack
        number += rack.count


def fabric_query(bill: Bill) -> str:
    """Return the query that plans the bill's network alone; empty where it has none."""
    plan = bill.network
    if plan is None:
        return ""
    return urlencode(
        {
            "nodes": plan.nodes,
            "ports_per_node": plan.rails,
            "port_gbps": f"{plan.port_gbps:g}",
            "switch_ports": plan.switch_ports,
            "oversubscription": f"{bill.request.oversubscription:g}",
        }
    )


def change_query(bill: Bill) -> str:
    """Return the query that fills the form with what was asked, to ask for something else."""
    asked = bill.request.model_dump(mode="json", exclude_none=True, exclude={"label"})
    return urlencode(
        {name: f"{value:g}" if isinstance(value, float) else value for name, value in asked.items()}
    )
