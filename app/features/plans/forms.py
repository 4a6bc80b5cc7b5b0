"""The search behind the view of plans, and the studies that old addresses lead to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.errors import AppError, BadInput, FieldError
from app.estimating.documents import Estimate, PlanSummary
from app.estimating.request import PlanInput
from app.features.plans.model import PlanQuestion, Search, SearchRequest
from app.features.studies.frame import StudyQuestion
from app.features.studies.knobs import plan_text
from app.features.workloads.filling import AMOUNT, known_profile
from app.features.workloads.suggestions import training_of
from app.platform.web.contexts import Form
from app.platform.web.forms import nested, plain_number
from app.platform.web.query_forms import QueryForm
from app.platform.workbench import Workbench

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


QUESTION = {
    "model": "base.model.preset",
    "system": "system.id",
    "count": "system.count",
    "fabric": "system.fabric",
    "global_batch": "base.workload.global_batch",
    "seq_len": "base.workload.seq_len",
    "image_size": "base.workload.image_size",
    "target": "base.workload.target",
    "tokens": "base.workload.tokens",
    "samples": "base.workload.samples",
    "epochs": "base.workload.epochs",
    "dataset_samples": "base.workload.dataset_samples",
    "software": "base.software",
    "probability": "limits.probability",
    "memory_margin": "base.assumptions.memory_margin",
}
"""Parameter of a plan search's address → path in a study."""

NAMES = {"model", "system", "fabric", "target", "software"}
"""Parameters that are not numbers."""

EXAMPLE = {"model": "gpt3-175b", "system": "dgx-a100-640gb", "count": "128", "global_batch": "1536"}


def study_of_search(bench: Workbench, query: Values) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the study and the filters of a plan search's address.

    If the address does not say how long to train, the training of the model does.
    """
    values = {**(query if "model" in query else {**EXAMPLE, **query})}
    if not set(AMOUNT) & set(values):
        profile = known_profile(bench, "", values["model"])
        training = training_of(bench, profile).workload if profile else {}
        values |= {name: str(value) for name, value in training.items() if not values.get(name)}
    fields = {path: _written(name, values[name]) for name, path in QUESTION.items() if values.get(name)}
    body = nested(fields)
    model = bench.catalogue.models.documents.get(values["model"])
    body |= {
        "name": model.name if model else values["model"][:100],
        "options": [{"system": body.pop("system", {})}],
    }
    return body, {name: text for name, text in values.items() if name not in QUESTION}


def _written(name: str, text: str) -> str:
    if name in NAMES:
        return text
    if not text.endswith("%"):
        return plain_number(text)
    try:
        return repr(float(text.removesuffix("%")) / 100.0)
    except ValueError:
        return text


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


def study_of_mapping(query: Values) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the study and the fields of a mapping's address."""
    fields = {**(query or GPT3)}
    model, workload = {"preset": "gpt3-175b"}, {"tokens": 300e9}
    if fields.get("layers", "") == "24":
        model, workload = {"preset": "bert-large"}, {"samples": 1e8}
    system = {"id": fields.pop("system", GPT3["system"])}
    name = "GPT-3 175B" if model["preset"] == "gpt3-175b" else "BERT-Large"
    body = {"name": name, "base": {"model": model, "workload": workload}, "options": [{"system": system}]}
    return body, fields


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
    numbers = {
        name: int(float(plain_number(form.get(name, "1")))) for name in (*PLAN_FIELDS, "replica_batch")
    }
    plan = plan_text({field: numbers[name] for name, field in PLAN_FIELDS.items()})
    return {f"plan.{option}": plan, f"batch.{option}": str(numbers["replica_batch"] * numbers["replicas"])}
