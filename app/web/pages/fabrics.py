"""Networks as a form: leaf and spine switches of so many nodes."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from app.reports.drawings.topology import topology
from app.services.fabrics import plan
from app.sizing.bill.documents import FabricPlan
from app.sizing.bill.request import FabricRequest
from app.web.bill_contexts import FabricPage
from app.web.contexts import Choice
from app.web.locale import voice_of
from app.web.pages.bills_views import drawing_view
from app.web.pages.documents import available
from app.web.pages.presenting import grouped
from app.web.pages.query_forms import Answered, QueryForm
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

FORM = QueryForm(FabricRequest, TWENTY)


def page_of(request: Request, found: Answered[FabricPlan]) -> FabricPage:
    """Return the page of a network, of an earlier one where this one is refused."""
    answer = found.answer
    return FabricPage(
        data_url="" if found.stale else f"/fabrics.json?{found.query}",
        documents=available(),
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


@router.get("/fabrics.json")
def show_fabric_data(request: Request) -> FabricPlan:
    """Return the network of the page of the same address."""
    return plan(FORM.request(FORM.values(request.query_params)))


@router.get("/fabrics", response_class=HTMLResponse)
def show_fabric(request: Request, previous: str = "") -> Response:
    """Show a network; a refused one beside the last that was possible."""
    found = FORM.ask(request.query_params, previous, plan)
    return render(request, "fabric.html", page_of(request, found), status=found.status)
