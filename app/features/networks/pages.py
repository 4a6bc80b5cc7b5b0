"""Which network a workload is worth: a page under each estimate, and one where a workload is chosen.

Nothing is kept and every state is an address.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData

from app.errors import AppError, NotFound
from app.estimating.request import EstimateRequest
from app.features.estimates.service import create_estimate, get_estimate, get_estimate_request, list_estimates
from app.features.networks.forms import Values, asked, placed, read_query, written_query
from app.features.networks.model import FabricChoice
from app.features.networks.service import usual_options, weigh_fabrics
from app.features.networks.views import FabricsNewPage, fabrics_page
from app.platform.rates import CostClass
from app.platform.web.contexts import Example
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.forms import read_form
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench

router = page_router()

FormDep = Annotated[FormData, Depends(read_form)]

OF_ESTIMATE = "/estimates/{identifier}/fabrics"

NEW = "/fabric-choices/new"

LATEST = 20
"""Estimates offered."""

EXAMPLES = {
    "bert-large": (
        Example("bert-large", "BERT-Large, 4 × DGX A100", "batch size 1,024, sequences of 512 tokens"),
        {
            "model": {"preset": "bert-large"},
            "workload": {"samples": 1e8, "global_batch": 1024, "seq_len": 512, "precision": "fp16"},
            "system": {"id": "dgx-a100-640gb", "count": 4},
        },
    ),
    "resnet50": (
        Example("resnet50", "ResNet-50, 8 × DGX A100", "90 epochs of ImageNet at a batch size of 4,096"),
        {
            "model": {"preset": "resnet50"},
            "workload": {"epochs": 90, "dataset_samples": 1281167, "global_batch": 4096},
            "system": {"id": "dgx-a100-640gb", "count": 8},
        },
    ),
    "gpt2": (
        Example("gpt2", "GPT-2 355M, 2 × DGX A100", "batch size 512, sequences of 1,024 tokens"),
        {
            "model": {"preset": "gpt2-355m"},
            "workload": {"samples": 1e8, "global_batch": 512, "seq_len": 1024, "precision": "bf16"},
            "system": {"id": "dgx-a100-640gb", "count": 2},
        },
    ),
    "gpt3": (
        Example("gpt3", "GPT-3 175B, 128 × DGX A100", "300 billion tokens at a batch size of 1,536"),
        {
            "model": {"preset": "gpt3-175b"},
            "workload": {"tokens": 300e9, "global_batch": 1536, "seq_len": 2048, "precision": "bf16"},
            "system": {"id": "dgx-a100-640gb", "count": 128},
        },
    ),
}


@router.get(NEW, response_class=HTMLResponse)
def show_workloads(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show examples and the latest estimates."""
    page = FabricsNewPage(
        examples=[example for example, _ in EXAMPLES.values()],
        estimates=list_estimates(bench, workspace, LATEST, None).items,
    )
    return render(request, "networks/fabric_choice_new.html", page)


@router.post(NEW)
@needs(Right.MAKE)
def open_example(bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make the estimate of an example and show its networks."""
    name = form.get("example")
    if not isinstance(name, str) or name not in EXAMPLES:
        raise NotFound.named("example", str(name), EXAMPLES, "example")
    body = EstimateRequest.model_validate(EXAMPLES[name][1])
    return RedirectResponse(f"/estimates/{create_estimate(bench, workspace, body).id}/fabrics", 303)


@router.get(f"{OF_ESTIMATE}.json")
@needs(cost=CostClass.SEARCH)
def show_fabrics_data(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str
) -> FabricChoice:
    """Return the choice of the page of the same address."""
    kept = get_estimate_request(bench, workspace, identifier)
    return weighed(bench, workspace, read_query(request.query_params), kept)


@router.get(OF_ESTIMATE, response_class=HTMLResponse)
@needs(cost=CostClass.SEARCH)
def show_fabrics(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show the networks for a kept estimate."""
    label = get_estimate(bench, workspace, identifier).label
    values = read_query(request.query_params)
    if any(not text.strip() for text in request.query_params.values()):
        # A form sends empty fields too; a state has one address, without them.
        query = written_query(values)
        path = OF_ESTIMATE.format(identifier=identifier)
        return RedirectResponse(f"{path}?{query}" if query else path, 303)
    return shown(request, bench, workspace, identifier, label, values)


def weighed(bench: Workbench, workspace: str, values: Values, kept: EstimateRequest) -> FabricChoice:
    """Weigh networks; errors name the parameters of the address."""
    try:
        return weigh_fabrics(bench, workspace, asked(values, kept))
    except AppError as error:
        raise placed(error) from None


def shown(
    request: Request, bench: Workbench, workspace: str, identifier: str, label: str, values: Values
) -> Response:
    """Show the answer, or the form with what is wrong beside its fields."""
    kept = get_estimate_request(bench, workspace, identifier)
    choice, error = None, None
    try:
        choice = weighed(bench, workspace, values, kept)
        networks = [(option.id, option.label) for option in choice.options]
    except AppError as refused:
        error = refused
        networks = usual_options(bench, kept)
    page = fabrics_page(
        estimate_id=identifier,
        label=label,
        values=values,
        networks=networks,
        choice=choice,
        error=error,
        voice=voice_of(request),
    )
    return render(request, "networks/fabric_choice.html", page, status=error.status if error else 200)
