"""Plans of an option of a study: the best, why they win, and the arithmetic of IPUs."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qs

from fastapi import Request

from app.errors import AppError
from app.estimating.documents import Estimate
from app.features.plans import views
from app.features.plans.charts import SHADES
from app.features.plans.forms import (
    FORM,
    at_filters,
    compared_with,
    map_request,
    mapping_knobs,
    mapping_of,
    own_rank,
    search_request,
)
from app.features.plans.mapping import cached_search, map_onto_ipus
from app.features.plans.model import MapCell, MappingRequest, ModelMapping, PlanQuestion, Search
from app.features.plans.views import MappingPart, PlansPage
from app.features.plans.words import plan_in_words
from app.features.studies.frame import OpenView, StudyFrame, StudyQuestion, study_view
from app.features.studies.model import StudyOption
from app.features.studies.service import estimate_option
from app.platform.rates import CostClass
from app.platform.web.contexts import REFUSAL, Form, grouped
from app.platform.web.locale import voice_of
from app.platform.web.query_forms import FormOutcome, QueryForm
from app.platform.web.rights import page_router
from app.platform.workspace import Workspace

router = page_router()


def estimate_of(question: StudyQuestion) -> Estimate:
    assert question.request is not None, "a stated figure has no plan"
    return estimate_option(question.workspace, question.request)


def search_plans(question: StudyQuestion, terms: PlanQuestion) -> Search:
    """Search among the plans of an option; errors name the filters."""
    estimate = estimate_of(question)
    try:
        request = search_request(question, estimate, terms)
        search = cached_search(question.workspace, request)
    except AppError as error:
        raise at_filters(error) from None
    compared_with(terms, search, own_rank(search, estimate.plan))
    return search


def map_cells(question: StudyQuestion, terms: PlanQuestion, search: Search) -> Sequence[MapCell]:
    """Return the map of all degrees, even if the search is constrained to some."""
    wider = map_request(search_request(question, estimate_of(question), terms), search)
    return search.map if wider is None else cached_search(question.workspace, wider).map


def plans_page(
    request: Request,
    view: OpenView,
    result: FormOutcome[Search] | None,
    laid: FormOutcome[ModelMapping] | None,
) -> PlansPage:
    """Return the page of a search, or just the form without one."""
    voice, frame, question = voice_of(request), view.frame, view.question
    form = Form() if result is None else result.form
    values, search = form.firsts, None if result is None else result.answer
    own = compared = 0
    cells: Sequence[MapCell] = ()
    estimate = None if question is None else estimate_of(question)
    if search is not None and question is not None and estimate is not None and result is not None:
        terms = FORM.request(FORM.values(parse_qs(result.query)))
        own = own_rank(search, estimate.plan)
        compared = compared_with(terms, search, own)
        cells = map_cells(question, terms, search)
    batch = question.request.workload.global_batch if question and question.request else None
    warnings = search.warnings if search else []
    filters = views.filters_for(values, search, voice)
    listed = {plan_filter.field for plan_filter in filters}
    return PlansPage(
        frame=frame,
        form=form,
        general=[error.message for error in form.errors if error.field.partition(".")[0] not in listed],
        own_time=estimate.step_time if estimate and search and search.plans and not own else None,
        filters=filters,
        chips=views.chips_of(frame, values, voice),
        search=search,
        best=plan_in_words(search.plans[0].plan, voice) if search and search.plans else "",
        refusal=next((warning for warning in warnings if warning.code == REFUSAL), None),
        warnings=grouped(("", warning) for warning in warnings if warning.code != REFUSAL),
        map=views.map_of(cells, search, frame, values, voice) if search else None,
        shades=SHADES,
        plans=views.plan_rows(search, frame, values, compared, own, batch) if search else [],
        why=views.why_of(search, compared, voice) if search else None,
        front=views.front_of(search, voice) if search else None,
        advice=views.advice_of(search, voice) if search else [],
        laid=None if laid is None else mapping_part(frame, laid),
    )


def plan_view(request: Request, view: OpenView, result: FormOutcome[Search] | None) -> PlansPage:
    """Return the page of a search with the mapping that the state holds."""
    question = view.question
    mapped = (
        question is not None
        and on_ipus(view.workspace, question.option)
        and estimate_of(question).plan is not None
    )
    return plans_page(request, view, result, MAPPED(view) if mapped else None)


def mapping_view(request: Request, view: OpenView, result: FormOutcome[ModelMapping] | None) -> PlansPage:
    """Return the page of a mapping with the search that the state holds."""
    return plans_page(request, view, SEARCHED(view), result)


def mapping_part(frame: StudyFrame, result: FormOutcome[ModelMapping]) -> MappingPart:
    """Return the part of a mapping, or of the previous one if this one is refused."""
    mapping = result.answer
    knobs = {} if mapping is None or result.stale else mapping_knobs(result.form, frame.option)
    full = max(mapping.weights_per_device, mapping.memory_per_device) if mapping else 1.0
    return MappingPart(
        form=result.form,
        general=[error.message for error in result.form.errors if error.field in {"system", "count"}],
        mapping=mapping,
        stale=result.stale,
        filled=100 * mapping.weights_per_device / full if mapping else 0.0,
        capacity=100 * mapping.memory_per_device / full if mapping else 100.0,
        warnings=grouped(("", warning) for warning in mapping.warnings) if mapping else [],
        use_url=frame.url_with(knobs) if knobs else "",
    )


def on_ipus(workspace: Workspace, option: StudyOption) -> bool:
    system = workspace.catalogue.systems.documents.get(option.system.id) if option.system else None
    return system is not None and system.chip_kind == "ipu"


SEARCHED = study_view(
    router,
    "plan",
    "plans/plans.html",
    FORM,
    Search,
    usual=lambda _: {},
    answer=search_plans,
    page=plan_view,
    asked=lambda _: True,
    cost=CostClass.SEARCH,
)

MAPPED = study_view(
    router,
    "mapping",
    "plans/plans.html",
    QueryForm(MappingRequest),
    ModelMapping,
    usual=lambda question: mapping_of(estimate_of(question)),
    answer=lambda question, request: map_onto_ipus(question.workspace, request),
    page=mapping_view,
    suits=on_ipus,
    cost=CostClass.SEARCH,
    part_of="plan",
)
