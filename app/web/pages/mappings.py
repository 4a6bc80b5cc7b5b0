"""IPU arithmetic as a form: tensor × pipeline × replicas on a pod."""

from __future__ import annotations

from collections.abc import Mapping as Values
from collections.abc import Sequence
from urllib.parse import parse_qs, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from app.errors import AppError
from app.services.planning import map_onto_ipus
from app.services.workbench import Workbench
from app.sizing.questions import Mapping, MappingRequest
from app.web.contexts import Choice, Form, MappingPage
from app.web.deps import BenchDep
from app.web.pages.choices import ipu_systems
from app.web.pages.documents import available
from app.web.pages.forms import checked, plain_number, refused, typed
from app.web.pages.presenting import grouped
from app.web.rendering import render
from app.web.routers import page_router

router = page_router()

GPT3 = {
    "system": "ipu-pod256",
    "parameters": "175e9",
    "layers": "96",
    "tensor": "8",
    "pipeline": "8",
    "replicas": "4",
    "replica_batch": "8",
    "replicated_tensor_sharding": "4",
}
BERT = GPT3 | {
    "system": "ipu-pod16",
    "parameters": "336e6",
    "layers": "24",
    "tensor": "1",
    "pipeline": "4",
    "replicas": "4",
    "replicated_tensor_sharding": "1",
}
EXAMPLES = {
    "GPT-3 175B, IPU-POD256": GPT3,
    "BERT-Large, IPU-POD16, p = 4": BERT,
    "BERT-Large, IPU-POD16, p = 8": BERT | {"pipeline": "8", "replicas": "2"},
}
"""Name → fields of the form; the first is shown to who asks for nothing."""


def asked(values: Values[str, Sequence[str]]) -> MappingRequest:
    """Return what a form asks for."""
    fields = {name: one[0] for name, one in values.items() if name in MappingRequest.model_fields}
    return checked(
        MappingRequest,
        {name: value if name == "system" else plain_number(value) for name, value in fields.items()},
    )


def page_of(bench: Workbench, form: Form, mapping: Mapping | None, stale: bool, previous: str) -> MappingPage:
    """Return the page of a mapping, of an earlier one where this one is refused."""
    full = max(mapping.weights_per_device, mapping.memory_per_device) if mapping else 1.0
    return MappingPage(
        data_url="" if stale else f"/mappings.json?{previous}",
        documents=available(),
        form=form,
        systems=ipu_systems(bench.catalogue),
        examples=[Choice(urlencode(fields), name) for name, fields in EXAMPLES.items()],
        mapping=mapping,
        stale=stale,
        previous=previous,
        filled=100 * mapping.weights_per_device / full if mapping else 0.0,
        capacity=100 * mapping.memory_per_device / full if mapping else 100.0,
        warnings=grouped(("", warning) for warning in mapping.warnings) if mapping else [],
    )


@router.get("/mappings.json")
def show_mapping_data(request: Request, bench: BenchDep) -> Mapping:
    """Return the mapping of the page of the same address."""
    values = typed(request.query_params) or {name: [value] for name, value in GPT3.items()}
    return map_onto_ipus(bench, asked(values))


@router.get("/mappings", response_class=HTMLResponse)
def show_mapping(request: Request, bench: BenchDep, previous: str = "") -> Response:
    """Show a mapping; a refused one beside the last that was possible."""
    typed_in = {name: value for name, value in typed(request.query_params).items() if name in GPT3}
    values = typed_in or {name: [value] for name, value in GPT3.items()}
    try:
        mapping = map_onto_ipus(bench, asked(values))
    except AppError as error:
        return refusal(request, bench, refused(values, error, ()), previous)
    query = urlencode({name: one[0] for name, one in values.items()})
    return render(request, "mapping.html", page_of(bench, Form(values), mapping, False, query))


def refusal(request: Request, bench: Workbench, form: Form, previous: str) -> Response:
    """Return the form with its errors beside the fields and the earlier result, if there is one."""
    try:
        mapping = map_onto_ipus(bench, asked(parse_qs(previous))) if previous else None
    except AppError:
        mapping = None
    page = page_of(bench, form, mapping, True, previous if mapping else "")
    return render(request, "mapping.html", page, status=409 if mapping else 400)
