"""Networks as a form: leaf and spine switches of so many nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from app.errors import AppError
from app.reports.drawings.topology import topology
from app.services.fabrics import plan
from app.sizing.bill.documents import FabricPlan
from app.sizing.bill.request import FabricRequest
from app.web.bill_contexts import FabricPage
from app.web.contexts import Choice, Form
from app.web.locale import voice_of
from app.web.pages.bills_views import drawing_view
from app.web.pages.documents import available
from app.web.pages.forms import checked, plain_number, refused, typed
from app.web.pages.presenting import grouped
from app.web.rendering import render
from app.web.routers import page_router

router = page_router()

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

FIELDS = frozenset(TWENTY)


def asked(values: Mapping[str, Sequence[str]]) -> FabricRequest:
    """Return what a form asks for; an empty field is left out."""
    return checked(
        FabricRequest,
        {name: plain_number(one[0]) for name, one in values.items() if name in FIELDS and one[0].strip()},
    )


def page_of(request: Request, form: Form, found: FabricPlan | None, stale: bool, previous: str) -> FabricPage:
    """Return the page of a network, of an earlier one where this one is refused."""
    return FabricPage(
        data_url="" if stale else f"/fabrics.json?{previous}",
        documents=available(),
        form=form,
        examples=[
            Choice(urlencode({key: value for key, value in fields.items() if value}), name)
            for name, fields in EXAMPLES.items()
        ],
        plan=found,
        stale=stale,
        previous=previous,
        drawing=drawing_view("topology", topology(found, voice_of(request)), "fabric") if found else None,
        warnings=grouped(("", warning) for warning in found.warnings) if found else [],
    )


@router.get("/fabrics.json")
def show_fabric_data(request: Request) -> FabricPlan:
    """Return the network of the page of the same address."""
    return plan(asked(typed(request.query_params) or {name: [value] for name, value in TWENTY.items()}))


@router.get("/fabrics", response_class=HTMLResponse)
def show_fabric(request: Request, previous: str = "") -> Response:
    """Show a network; a refused one beside the last that was possible."""
    typed_in = {name: one for name, one in typed(request.query_params).items() if name in FIELDS}
    values = typed_in or {name: [value] for name, value in TWENTY.items()}
    try:
        found = plan(asked(values))
    except AppError as error:
        return refusal(request, refused(values, error, ()), previous)
    query = urlencode({name: one[0] for name, one in values.items()})
    return render(request, "fabric.html", page_of(request, Form(values), found, False, query))


def refusal(request: Request, form: Form, previous: str) -> Response:
    """Return the form with its errors beside the fields and the earlier result, if there is one."""
    try:
        found = plan(asked(parse_qs(previous))) if previous else None
    except AppError:
        found = None
    page = page_of(request, form, found, True, previous if found else "")
    return render(request, "fabric.html", page, status=400)
