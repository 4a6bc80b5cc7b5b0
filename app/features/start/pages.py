"""The first page: what to compare, examples, and the tools around the hardware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.errors import AppError, NotFound
from app.estimating.schema import Document
from app.features.comparisons.model import ComparisonRequest, ComparisonSummary
from app.features.comparisons.service import create_comparison, list_comparisons
from app.features.workloads import filling
from app.features.workloads.drafts import Draft, filled_draft, read_draft
from app.platform.catalogue_model import Model, System
from app.platform.rates import CostClass
from app.platform.web import choices
from app.platform.web.choices import SystemGroup
from app.platform.web.contexts import Choice, ChoiceGroup, Example
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.forms import FormDep, typed
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPage:
    """The form that asks for a comparison."""

    draft: Draft
    models: Sequence[ChoiceGroup]
    targets: Sequence[Choice]
    softwares: Sequence[ChoiceGroup]
    """Software profiles of GPUs, then of IPUs."""
    systems: Sequence[SystemGroup]
    examples: Sequence[Example]
    recent: Sequence[ComparisonSummary]
    """Comparisons made last."""


Option = tuple[str, dict[str, Any]]

POD16: list[Option] = [
    ("DGX A100 640GB", {"id": "dgx-a100-640gb"}),
    ("IPU-POD16", {"id": "ipu-pod16"}),
    ("Bow Pod16", {"id": "bow-pod16"}),
]

EXAMPLES: dict[str, tuple[Example, dict[str, Any], list[Option]]] = {
    "gpt3-175b": (
        Example(
            "gpt3-175b",
            "GPT-3 175B on 300 billion tokens",
            "128 × DGX A100 640 GB versus one IPU-POD256: what fits, and in how many days",
        ),
        {
            "model": {"preset": "gpt3-175b"},
            "workload": {"tokens": 300e9, "global_batch": 1536, "seq_len": 2048},
        },
        [
            ("128 × DGX A100 640GB", {"id": "dgx-a100-640gb", "count": 128}),
            ("IPU-POD256", {"id": "ipu-pod256"}),
        ],
    ),
    "bert-large": (
        Example(
            "bert-large",
            "BERT-Large to the MLPerf target",
            "DGX A100 versus IPU-POD16 and Bow Pod16: one node, two pods",
        ),
        {"model": {"preset": "bert-large"}, "workload": {"target": "mlperf-bert"}},
        POD16,
    ),
    "resnet50": (
        Example(
            "resnet50",
            "ResNet-50 to the MLPerf target",
            "DGX A100 versus IPU-POD16 and Bow Pod16 on ImageNet",
        ),
        {"model": {"preset": "resnet50"}, "workload": {"target": "mlperf-resnet50"}},
        POD16,
    ),
}
"""Identifier → what is shown, what is shared by all rows, and the systems with their labels."""

CLAIM = Example(
    "vendor-claim",
    "A vendor claim, examined",
    "BERT-Large: 69.5 h on a DGX A100 versus 13.2 h on an IPU-POD64, and what that assumes",
)

CLAIMED_ROWS: list[dict[str, Any]] = [
    {"label": "1 × DGX A100", "hours": 69.5, "kind": "vendor", "system": "dgx-a100-320gb"},
    {
        "label": "3 × DGX A100",
        "kind": "linear",
        "scaled_from": "1 × DGX A100",
        "factor": 3,
        "system": "dgx-a100-320gb",
    },
    {"label": "1 × IPU-POD64", "hours": 13.2, "kind": "vendor", "system": "ipu-pod64"},
]


def shown() -> list[Example]:
    """Return the examples in the order they are offered."""
    return [*(example for example, _, _ in EXAMPLES.values()), CLAIM]


def rows_of(identifier: str) -> tuple[Example, list[dict[str, Any]]] | None:
    """Return an example and the rows of its comparison; None for an unknown identifier."""
    if identifier == CLAIM.id:
        return CLAIM, CLAIMED_ROWS
    if identifier not in EXAMPLES:
        return None
    example, asked, systems = EXAMPLES[identifier]
    return example, [{**asked, "label": label, "system": system} for label, system in systems]


router = page_router()


class Offer(Document):
    """What can be asked for."""

    models: list[Model]
    systems: list[System]


RECENT = 5
"""Comparisons that the page leads back to."""


def start_page(request: Request, bench: Workbench, workspace: str, draft: Draft) -> StartPage:
    """Return the form with what has been typed into it."""
    voice = voice_of(request)
    return StartPage(
        draft=draft,
        models=choices.models(bench.catalogue, voice),
        targets=filling.targets(bench, workspace, draft.form.values),
        softwares=choices.softwares(bench, voice),
        systems=choices.systems(bench.catalogue),
        examples=shown(),
        recent=list_comparisons(bench, workspace, RECENT, None).items,
    )


@router.get("/index.json")
def show_offer(bench: BenchDep) -> Offer:
    """Return what the form offers."""
    shelf = bench.catalogue
    return Offer(models=list(shelf.models.documents.values()), systems=list(shelf.systems.documents.values()))


@router.get("/", response_class=HTMLResponse)
def show_start(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show the form; what the address names is filled in, with the training of its model."""
    draft = filled_draft(bench, workspace, typed(request.query_params))
    return render(request, "start/start.html", start_page(request, bench, workspace, draft))


@router.post("/", response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def compare(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make a comparison of what was asked, or return the form with its errors beside the fields."""
    draft = read_draft(bench, workspace, form)
    try:
        asked = draft.request(voice_of(request).language)
        made = create_comparison(bench, workspace, asked)
    except (AppError, ValidationError) as error:
        page = start_page(request, bench, workspace, draft.refused(error))
        return render(
            request, "start/start.html", page, status=error.status if isinstance(error, AppError) else 422
        )
    return RedirectResponse(f"/comparisons/{made.id}", 303)


@router.post("/examples/{identifier}", response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def open_example(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Make the comparison of an example and go there."""
    found = rows_of(identifier)
    if found is None:
        raise NotFound.named("example", identifier, [example.id for example in shown()])
    example, rows = found
    voice = voice_of(request)
    asked = ComparisonRequest.model_validate(
        {
            "title": voice.gettext(example.title),
            "locale": voice.language,
            "currency": "KRW" if voice.language == "ko" else "USD",
            "rows": rows,
        }
    )
    return RedirectResponse(f"/comparisons/{create_comparison(bench, workspace, asked).id}", 303)


@router.get("/decisions", response_class=HTMLResponse)
def show_decisions(request: Request) -> Response:
    """Show the tools around the hardware."""
    return render(request, "start/decisions.html", None)
