"""The search behind the view of plans, and the fields of a mapping."""

from __future__ import annotations

from collections.abc import Mapping

from app.errors import AppError, BadInput, FieldError
from app.estimating.documents import Estimate, PlanSummary
from app.estimating.numbers import WHOLE, number_in
from app.estimating.request import PlanInput
from app.features.plans.model import PlanQuestion, Search, SearchRequest
from app.features.studies.frame import StudyQuestion
from app.features.studies.knobs import plan_text
from app.platform.web.contexts import Form
from app.platform.web.query_forms import QueryForm

FILTERS = tuple(PlanInput.model_fields)

OFFERED = ("tensor", "pipeline", "recompute", "sharding", "offload", "phases")
"""Filters that the view offers; the others can only be set in an address."""

AGAINST = "against"

FORM = QueryForm(PlanQuestion)

FEWEST_KEPT = 1

Values = Mapping[str, str]


def search_request(question: StudyQuestion, estimate: Estimate, terms: PlanQuestion) -> SearchRequest:
    """Return the search among all plans of an option, at its global batch.

    Its own plan is no constraint but is compared with the best.
    """
    assert question.request is not None, "a stated figure has no plan"
    body = question.request.model_dump(mode="json", exclude_unset=True, exclude={"plan", "label"})
    if estimate.plan is not None:
        body["beside"] = {name: getattr(estimate.plan, name) for name in FILTERS}
        body["workload"] = {**body.get("workload", {}), "global_batch": estimate.plan.global_batch}
    if question.content.limits.probability is not None:
        body["probability"] = question.content.limits.probability
    body["constraints"] = terms.model_dump(mode="json", exclude_unset=True, exclude={AGAINST})
    if estimate.plan is not None and estimate.plan.context > 1:
        # Only plans of the same context degree are comparable: it is never searched.
        body["constraints"].setdefault("context", estimate.plan.context)
    return SearchRequest.model_validate(body)


def at_filters(error: AppError) -> AppError:
    """Return an error at the filters' fields, each once."""
    fields: dict[str, FieldError] = {}
    for entry in error.errors:
        name = entry.field.removeprefix("constraints.").partition(".")[0]
        fields.setdefault(name, FieldError(name, entry.message))
    error.errors = tuple(fields.values())
    return error


def compared_with(terms: PlanQuestion, search: Search, own: int) -> int:
    """Return the rank, from 1, of the plan that the first is compared with; 0 if there is no other.

    The default is ``own``, the rank of the option's plan, otherwise 2.
    """
    most = len(search.plans)
    if terms.against is None:
        return own if own > 1 else 2 if most > 1 else 0
    if not 2 <= terms.against <= most:
        raise BadInput.at(
            AGAINST, "there is no plan {value}; enter 2 to {most}", value=terms.against, most=most
        )
    return terms.against


def own_rank(search: Search, plan: PlanSummary | None) -> int:
    """Return the rank, from 1, of an option's plan among the best; 0 if it is not among them."""
    ranks = (rank for rank, candidate in enumerate(search.plans, 1) if plan and same(candidate.plan, plan))
    return next(ranks, 0)


def same(plan: PlanSummary, other: PlanSummary) -> bool:
    """Tell whether two plans make the same choices."""
    return all(getattr(plan, name) == getattr(other, name) for name in FILTERS)


def map_request(request: SearchRequest, search: Search) -> SearchRequest | None:
    """Return the search for the whole map at the same batch; None unless degrees are constrained."""
    if request.constraints.tensor is None and request.constraints.pipeline is None:
        return None
    return request.model_copy(
        update={
            "constraints": request.constraints.model_copy(update={"tensor": None, "pipeline": None}),
            "workload": request.workload.model_copy(update={"global_batch": search.global_batch}),
            "keep": FEWEST_KEPT,
            "beside": None,
            "what_if": False,
        }
    )


def mapping_of(estimate: Estimate) -> dict[str, str]:
    """Return the plan of an estimate as the fields of a mapping."""
    plan = estimate.plan
    fields = {"system": estimate.system.id, "count": str(estimate.system.count)}
    if plan is None:
        return fields
    numbers = {
        "layers": sum(plan.stage_layers),
        "tensor": plan.tensor,
        "pipeline": plan.pipeline,
        "replicas": plan.data,
        "replica_batch": plan.global_batch // plan.data,
        "replicated_tensor_sharding": plan.rts,
    }
    parameters = {"parameters": f"{estimate.model.parameters:.6g}"}
    return {**fields, **parameters, **{name: str(number) for name, number in numbers.items()}}


PLAN_FIELDS = {
    "tensor": "tensor",
    "pipeline": "pipeline",
    "replicas": "data",
    "replicated_tensor_sharding": "rts",
}
"""Field of a mapping → that of a plan."""


def mapping_knobs(form: Form, option: str) -> dict[str, str]:
    """Return the knobs that give an option the plan of a form."""
    numbers = {name: int(number_in(form.get(name, "1"), WHOLE)) for name in (*PLAN_FIELDS, "replica_batch")}
    plan = plan_text({field: numbers[name] for name, field in PLAN_FIELDS.items()})
    return {f"plan.{option}": plan, f"batch.{option}": str(numbers["replica_batch"] * numbers["replicas"])}
