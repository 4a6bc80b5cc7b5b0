"""IPU arithmetic as a form: tensor × pipeline × replicas on a pod."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qsl, urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData

from app.errors import AppError
from app.features.estimates.service import create_estimate, get_estimate, get_estimate_request
from app.features.plans import forms as plans_asked
from app.features.plans import views as plans_view
from app.features.plans.charts import SHADES
from app.features.plans.forms import EXAMPLE, EXAMPLES, Values
from app.features.plans.mapping import kept_search, map_onto_ipus
from app.features.plans.model import MapCell, Mapping, MappingRequest, Search, SearchRequest
from app.features.plans.views import MappingPage, Origin, PlansPage
from app.features.plans.words import plan_in_words
from app.features.workloads import filling
from app.features.workloads.filling import FOR, fill
from app.platform.rates import CostClass
from app.platform.web import choices
from app.platform.web.choices import ipu_systems
from app.platform.web.contexts import REFUSAL, Choice, Form, grouped
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.forms import read_form
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.query_forms import Answered, QueryForm
from app.platform.web.rendering import render
from app.platform.web.resources import question
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench

router = page_router()

FormDep = Annotated[FormData, Depends(read_form)]

PATH = "/plans"

OF_ESTIMATE = "/estimates/{identifier}/plans"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanExploration:
    """A question in an address, and as much of its answer as there is."""

    path: str
    values: Values
    origin: Origin | None
    asked: SearchRequest | None = None
    search: Search | None = None
    cells: Sequence[MapCell] = ()
    """All degrees, whichever the search is narrowed to."""
    own: int = 0
    """Place of the plan of the estimate; 0 where it is not among the best."""
    compared: int = 0
    """Place of the plan that the first is held against; 0 for none."""
    error: AppError | None = None


@router.get(f"{PATH}.json")
@needs(cost=CostClass.SEARCH)
def show_plans_data(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Search:
    """Return the search of the page of the same address."""
    return searched(bench, workspace, plans_asked.asked_for(answered_question(request, bench)))


@router.get(PATH, response_class=HTMLResponse)
@needs(cost=CostClass.SEARCH)
def show_plans(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show the best plans of what the address asks for."""
    values = answered_question(request, bench)
    return shown(request, bench, workspace, PATH, values, None, lambda: plans_asked.asked_for(values))


@router.post(PATH)
@needs(Right.MAKE)
def open_plan(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make the estimate of one plan and go there."""
    asked = plans_asked.asked_for(answered_question(request, bench))
    return opened(bench, workspace, asked, plans_asked.base_label(bench, asked), form)


@router.get(f"{OF_ESTIMATE}.json")
@needs(cost=CostClass.SEARCH)
def show_other_plans_data(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str
) -> Search:
    """Return the search of the page of the same address."""
    return searched(bench, workspace, asked_beside(request, bench, workspace, identifier))


@router.get(OF_ESTIMATE, response_class=HTMLResponse)
@needs(cost=CostClass.SEARCH)
def show_other_plans(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show the best plans for what a kept estimate asked."""
    known = get_estimate(bench, workspace, identifier)
    origin = Origin(known.id, known.label, known.plan, known.step_time)
    path, values = OF_ESTIMATE.format(identifier=identifier), plans_asked.read_query(request.query_params)
    return shown(
        request, bench, workspace, path, values, origin,
        lambda: asked_beside(request, bench, workspace, identifier),
    )  # fmt: skip


@router.post(OF_ESTIMATE)
@needs(Right.MAKE)
def open_other_plan(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, form: FormDep
) -> Response:
    """Make the estimate of another plan of a kept estimate and go there."""
    asked = asked_beside(request, bench, workspace, identifier)
    return opened(bench, workspace, asked, get_estimate(bench, workspace, identifier).label, form)


def answered_question(request: Request, bench: Workbench) -> Values:
    """Return what an address asks, an example where it asks nothing.

    Where it does not say how much is trained, the training of the model is.
    """
    values = plans_asked.read_query(request.query_params) or EXAMPLE
    if set(plans_asked.AMOUNT) & set(values):
        return values
    found, _ = fill(bench, "", _as_form(values), prefix="")
    return {name: one[0] for name, one in found.items() if name != FOR}


def _as_form(values: Values) -> dict[str, Sequence[str]]:
    return {name: [text] for name, text in values.items()}


def asked_beside(request: Request, bench: Workbench, workspace: str, identifier: str) -> SearchRequest:
    """Return the search among all plans of a kept estimate."""
    known = get_estimate(bench, workspace, identifier)
    kept = get_estimate_request(bench, workspace, identifier)
    return plans_asked.asked_beside(plans_asked.read_query(request.query_params), kept, known)


def searched(bench: Workbench, workspace: str, asked: SearchRequest) -> Search:
    """Search; errors name the parameters of the address."""
    try:
        return kept_search(bench, workspace, asked)
    except AppError as error:
        raise plans_asked.placed(error) from None


def opened(bench: Workbench, workspace: str, asked: SearchRequest, base: str, form: FormData) -> Response:
    """Make the estimate of the plan that a form sends, and go there."""
    sent = form.get("plan")
    plan, batch = plans_asked.plan_of(parse_qsl(sent if isinstance(sent, str) else ""))
    label = plans_asked.label_of(base, plans_asked.short_of(plan))
    made = create_estimate(bench, workspace, plans_asked.estimate_of(asked, plan, batch, label))
    return RedirectResponse(f"/estimates/{made.id}", 303)


def shown(
    request: Request,
    bench: Workbench,
    workspace: str,
    path: str,
    values: Values,
    origin: Origin | None,
    ask: Callable[[], SearchRequest],
) -> Response:
    """Show a search, or the form with what is wrong beside its fields."""
    if any(not value.strip() for value in request.query_params.values()):
        # A form sends empty fields too; a state has one address, without them.
        query = plans_asked.written_query(plans_asked.read_query(request.query_params))
        return RedirectResponse(f"{path}?{query}" if query else path, 303)
    explored = explore(bench, workspace, path, values, origin, ask)
    page = page_of(bench, voice_of(request), explored)
    return render(request, "plans/plans.html", page, status=explored.error.status if explored.error else 200)


def explore(
    bench: Workbench,
    workspace: str,
    path: str,
    values: Values,
    origin: Origin | None,
    ask: Callable[[], SearchRequest],
) -> PlanExploration:
    """Answer the question of an address as far as it goes."""
    asked: SearchRequest | None = None
    search: Search | None = None
    cells: Sequence[MapCell] = ()
    own = compared = 0
    error: AppError | None = None
    try:
        asked = ask()
        search = searched(bench, workspace, asked)
        wider = plans_asked.map_request(asked, search)
        cells = searched(bench, workspace, wider).map if wider else search.map
        own = plans_asked.own_place(search, origin.plan if origin else None)
        compared = plans_asked.compared_with(values, search, own)
    except AppError as refused:
        error = refused
    return PlanExploration(
        path=path, values=values, origin=origin, asked=asked, search=search, cells=cells, own=own,
        compared=compared, error=error,
    )  # fmt: skip


def page_of(bench: Workbench, voice: Voice, explored: PlanExploration) -> PlansPage:
    """Return the page of a search; the form alone where there is none."""
    path, values, search = explored.path, explored.values, explored.search
    query = plans_asked.written_query(values)
    shelf, own = bench.catalogue, explored.origin is None
    warnings = search.warnings if search else []
    shown_fields = {*(plans_asked.QUESTION if own else plans_asked.ALWAYS), *plans_asked.FILTERS}
    return PlansPage(
        path=path,
        query=query,
        form=Form(
            {name: [text] for name, text in values.items()}, explored.error.errors if explored.error else ()
        ),
        message=explored.error.message if explored.error else None,
        origin=explored.origin,
        filled=fill(bench, "", _as_form({**values, FOR: values.get("model", "")}), "")[1] if own else None,
        targets=filling.targets(bench, "", _as_form(values), "") if own else [],
        models=choices.models(shelf, voice) if own else [],
        systems=choices.system_names(shelf) if own else [],
        fabrics=[Choice(one.id, one.name) for one in shelf.fabrics.documents.values()] if own else [],
        softwares=choices.softwares(bench, voice) if own else [],
        examples=[Choice(plans_asked.written_query(one), name) for name, one in EXAMPLES.items()],
        kept=[(name, text) for name, text in values.items() if name not in shown_fields],
        filters=plans_view.filters_for(values, search, voice),
        chips=plans_view.chips_of(path, values, voice),
        search=search,
        best=plan_in_words(search.plans[0].plan, voice) if search and search.plans else "",
        one_step=explored.asked is not None and plans_asked.one_step(explored.asked),
        refusal=next((one for one in warnings if one.code == REFUSAL), None),
        warnings=grouped(("", one) for one in warnings if one.code != REFUSAL),
        map=plans_view.map_of(explored.cells, search, path, values, voice) if search else None,
        shades=SHADES,
        plans=plans_view.plan_rows(search, path, values, explored.compared, explored.own) if search else [],
        why=plans_view.why_of(search, explored.compared, voice) if search else None,
        front=plans_view.front_of(search, voice) if search else None,
        advice=plans_view.advice_of(search, voice) if search else [],
    )


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

MAPPING_EXAMPLES = {
    "GPT-3 175B, IPU-POD256": GPT3,
    "BERT-Large, IPU-POD16, p = 4": BERT,
    "BERT-Large, IPU-POD16, p = 8": BERT | {"pipeline": "8", "replicas": "2"},
}
"""Name → fields of the form; the first is shown to who asks for nothing."""

FORM = QueryForm(MappingRequest, GPT3)


def mapping_page(request: Request, bench: Workbench, workspace: str, found: Answered[Mapping]) -> MappingPage:
    """Return the page of a mapping, of an earlier one where this one is refused."""
    mapping = found.answer
    full = max(mapping.weights_per_device, mapping.memory_per_device) if mapping else 1.0
    return MappingPage(
        form=found.form,
        systems=ipu_systems(bench.catalogue),
        examples=[Choice(urlencode(fields), name) for name, fields in MAPPING_EXAMPLES.items()],
        mapping=mapping,
        stale=found.stale,
        previous=found.query,
        filled=100 * mapping.weights_per_device / full if mapping else 0.0,
        capacity=100 * mapping.memory_per_device / full if mapping else 100.0,
        warnings=grouped(("", warning) for warning in mapping.warnings) if mapping else [],
    )


question(
    router,
    "/mappings",
    "plans/mapping.html",
    FORM,
    Mapping,
    lambda bench, _, asked: map_onto_ipus(bench, asked),
    mapping_page,
)
