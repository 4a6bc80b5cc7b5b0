"""Networks as a form: leaf and spine switches of so many nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from app.errors import AppError, Message, NotFound
from app.features.bills import service as bills
from app.features.bills.api import CSV, XLSX, attachment
from app.features.bills.drawings import topology
from app.features.bills.fabric import plan_fabric
from app.features.bills.model import Bill, BillComparison, BillRequest, FabricPlan, FabricRequest
from app.features.bills.views import BillComparisonPage, BillFormPage, FabricPage, bill_page, drawing_view
from app.features.estimates.service import get_estimate
from app.platform.json_bodies import from_validation
from app.platform.web import choices
from app.platform.web.contexts import Choice, ChoiceGroup, Form, grouped
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.forms import read_form, refused, typed
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.query_forms import Answered, FormFields, QueryForm
from app.platform.web.rendering import render
from app.platform.web.resources import question
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench

router = page_router()

FormDep = Annotated[FormData, Depends(read_form)]

FIELDS = FormFields(BillRequest)

EARLIER = 12


def asked(values: Mapping[str, Sequence[str]]) -> BillRequest:
    """Return what a form asks for; an empty field is left out."""
    return BillRequest.model_validate(FIELDS.body(values))


def form_page(bench: Workbench, workspace: str, form: Form, message: Message | None = None) -> BillFormPage:
    """Return the form with what has been typed into it."""
    made = bills.list_bills(bench, workspace, EARLIER, None).items
    return BillFormPage(
        form=form,
        message=message,
        systems=bought_systems(bench),
        fabrics=[
            Choice(fabric.id, fabric.name)
            for fabric in bench.catalogue.fabrics.documents.values()
            if bench.sizing.catalog.conditions(fabric.id, "switch")
        ],
        heights=[Choice("42", "42 U"), Choice("48", "48 U")],
        currencies=[Choice("USD", "USD"), Choice("KRW", "KRW")],
        estimate=estimate_of(bench, workspace, form.get("estimate_id")),
        earlier=[Choice(one.id, one.label, one.created_at.date().isoformat()) for one in made],
    )


def bought_systems(bench: Workbench) -> list[ChoiceGroup]:
    """Return the systems that can be bought, by maker."""
    documents = bench.catalogue.systems.documents
    found = []
    for group in choices.system_names(bench.catalogue):
        owned = [one for one in group.choices if documents[one.id].acquisition == "own"]
        if owned:
            found.append(ChoiceGroup(group.name, owned))
    return found


def estimate_of(bench: Workbench, workspace: str, identifier: str) -> Choice | None:
    """Return the estimate whose system is billed, if there is one of that name."""
    if not identifier:
        return None
    try:
        found = get_estimate(bench, workspace, identifier)
    except NotFound:
        return None
    return Choice(found.id, found.label, f"{found.system.count} × {found.system.name}")


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
        made = bills.create_bill(bench, workspace, asked(values))
    except (AppError, ValidationError) as error:
        known = error if isinstance(error, AppError) else from_validation(error.errors(include_url=False))
        page = form_page(bench, workspace, refused(values, known, ()), known.message)
        return render(request, "bills/bill_form.html", page, status=known.status)
    return RedirectResponse(f"/boms/{made.id}", 303)


def pair_of(request: Request) -> str:
    """Return the bills to compare, given together or one by one."""
    return ",".join(request.query_params.getlist("ids")[:4])[:200]


@router.get("/boms/compare.json")
def show_comparison_data(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> BillComparison:
    """Return the comparison of the page of the same address."""
    return bills.compare(bench, workspace, pair_of(request))


@router.get("/boms/compare", response_class=HTMLResponse)
def show_comparison(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show two bills side by side."""
    found = bills.compare(bench, workspace, pair_of(request))
    page = BillComparisonPage(
        comparison=found,
        warnings=grouped(("", warning) for warning in found.warnings),
    )
    return render(request, "bills/bill_compare.html", page)


@router.get("/boms/{identifier}.json")
def show_bill_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Bill:
    """Return the bill of the page of the same address."""
    return bills.get_bill(bench, workspace, identifier)


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


@router.get("/boms/{identifier}", response_class=HTMLResponse)
def show_bill(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show a bill with its racks and its network."""
    found = bills.get_bill(bench, workspace, identifier)
    listed = bills.list_bills(bench, workspace, EARLIER, None).items
    others = [Choice(one.id, one.label) for one in listed if one.id != identifier]
    return render(request, "bills/bill.html", bill_page(found, others, voice_of(request)))


TWENTY = {
    "nodes": "20",
    "ports_per_node": "8",
    "port_gbps": "200",
    "switch_ports": "40",
    "oversubscription": "1",
    "declared_switches": "14",
}

EXAMPLES = {
    "20 × DGX A100, HDR": TWENTY,
    "40 × DGX A100, HDR": TWENTY | {"nodes": "40", "declared_switches": ""},
    "140 × DGX A100, HDR": TWENTY | {"nodes": "140", "declared_switches": ""},
    "128 × 400 Gb/s, 64": TWENTY
    | {
        "nodes": "128",
        "ports_per_node": "1",
        "port_gbps": "400",
        "switch_ports": "64",
        "declared_switches": "",
    },
}
"""Name → fields of the form; the first is shown to who asks for nothing."""

FORM = QueryForm(FabricRequest, TWENTY)


def fabric_page(
    request: Request, bench: Workbench, workspace: str, found: Answered[FabricPlan]
) -> FabricPage:
    """Return the page of a network, of an earlier one where this one is refused."""
    answer = found.answer
    return FabricPage(
        form=found.form,
        examples=[
            Choice(urlencode({key: value for key, value in fields.items() if value}), name)
            for name, fields in EXAMPLES.items()
        ],
        plan=answer,
        stale=found.stale,
        previous=found.query,
        drawing=drawing_view("topology", topology(answer, voice_of(request)), "fabric") if answer else None,
        warnings=grouped(("", warning) for warning in answer.warnings) if answer else [],
    )


question(
    router,
    "/fabrics",
    "bills/fabric.html",
    FORM,
    FabricPlan,
    lambda _, __, asked: plan_fabric(asked),
    fabric_page,
)
