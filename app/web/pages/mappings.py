"""IPU arithmetic as a form: tensor × pipeline × replicas on a pod."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from app.services.planning import map_onto_ipus
from app.services.workbench import Workbench
from app.sizing.questions import Mapping, MappingRequest
from app.web.contexts import Choice, MappingPage
from app.web.deps import BenchDep
from app.web.pages.choices import ipu_systems
from app.web.pages.documents import available
from app.web.pages.presenting import grouped
from app.web.pages.query_forms import Answered, QueryForm
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


FORM = QueryForm(MappingRequest, GPT3)


def page_of(bench: Workbench, found: Answered[Mapping]) -> MappingPage:
    """Return the page of a mapping, of an earlier one where this one is refused."""
    mapping = found.answer
    full = max(mapping.weights_per_device, mapping.memory_per_device) if mapping else 1.0
    return MappingPage(
        data_url="" if found.stale else f"/mappings.json?{found.query}",
        documents=available(),
        form=found.form,
        systems=ipu_systems(bench.catalogue),
        examples=[Choice(urlencode(fields), name) for name, fields in EXAMPLES.items()],
        mapping=mapping,
        stale=found.stale,
        previous=found.query,
        filled=100 * mapping.weights_per_device / full if mapping else 0.0,
        capacity=100 * mapping.memory_per_device / full if mapping else 100.0,
        warnings=grouped(("", warning) for warning in mapping.warnings) if mapping else [],
    )


@router.get("/mappings.json")
def show_mapping_data(request: Request, bench: BenchDep) -> Mapping:
    """Return the mapping of the page of the same address."""
    return map_onto_ipus(bench, FORM.request(FORM.values(request.query_params)))


@router.get("/mappings", response_class=HTMLResponse)
def show_mapping(request: Request, bench: BenchDep, previous: str = "") -> Response:
    """Show a mapping; a refused one beside the last that was possible."""
    found = FORM.ask(request.query_params, previous, lambda wanted: map_onto_ipus(bench, wanted))
    return render(request, "mapping.html", page_of(bench, found), status=found.status)
