"""Addresses of plan searches: query parameters to a search, and its errors back to the parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from pydantic import ValidationError
from starlette.datastructures import QueryParams

from app.errors import AppError, BadInput, FieldError, Message
from app.estimating.documents import Estimate, PlanSummary
from app.estimating.request import EstimateRequest, PlanInput
from app.features.plans.model import Search, SearchRequest
from app.platform.json_bodies import from_validation
from app.platform.web.forms import nested, plain_number, typed, whole
from app.platform.web.rendering import DISPLAY_PARAMS
from app.platform.workbench import Workbench

QUESTION = {
    "model": "model.preset",
    "system": "system.id",
    "count": "system.count",
    "fabric": "system.fabric",
    "global_batch": "workload.global_batch",
    "seq_len": "workload.seq_len",
    "image_size": "workload.image_size",
    "target": "workload.target",
    "tokens": "workload.tokens",
    "samples": "workload.samples",
    "epochs": "workload.epochs",
    "dataset_samples": "workload.dataset_samples",
    "software": "software",
    "probability": "probability",
    "memory_margin": "constraints.memory_margin",
}
"""Parameter of the address → field of the search it asks for."""

ALWAYS = ("probability", "memory_margin")
"""Parameters that the search of a kept estimate has too: the others are the estimate's."""

AMOUNT = ("global_batch", "target", "tokens", "samples", "epochs")
"""Parameters of which one is needed: a batch alone asks for one step."""

NUMBERS = (
    "count", "global_batch", "seq_len", "image_size", "tokens", "samples", "epochs", "dataset_samples"
)  # fmt: skip

SHARES = ("probability", "memory_margin")

FILTERS = tuple(PlanInput.model_fields)

AGAINST = "against"

EXAMPLE = {
    "model": "gpt3-175b",
    "system": "dgx-a100-640gb",
    "count": "128",
    "global_batch": "1536",
}

EXAMPLES = {
    "GPT-3 175B, 128 × DGX A100": EXAMPLE,
    "LLaMA 7B, 4 × DGX A100": EXAMPLE | {"model": "llama-7b", "count": "4", "global_batch": "512"},
    "BERT-Large, Bow Pod64": {"model": "bert-large", "system": "bow-pod64", "global_batch": "8192"},
}
"""Name → question; the first is shown to who asks for nothing."""

FEWEST_KEPT = 1

SEPARATOR = re.compile(r"[\s,;|]+")

Values = Mapping[str, str]


def read_query(query: QueryParams) -> dict[str, str]:
    """Return the parameters of an address apart from how it is shown; repeated ones are joined by commas."""
    return {name: ",".join(found) for name, found in typed(query).items() if name not in DISPLAY_PARAMS}


def written_query(values: Mapping[str, str | None]) -> str:
    """Return parameters as the query of an address, without those that are empty or None."""
    order = {name: place for place, name in enumerate((*QUESTION, *FILTERS, AGAINST))}
    known = sorted(values, key=lambda name: order.get(name, len(order)))
    return urlencode([(name, text) for name in known if (text := values[name])], safe=",")


def filters_of(values: Values) -> dict[str, str]:
    """Return the parameters that narrow the plans."""
    return {name: values[name] for name in FILTERS if name in values}


def asked_for(values: Values) -> SearchRequest:
    """Return the search that an address asks for."""
    fields = {QUESTION[name]: _written(name, values[name]) for name in QUESTION if name in values}
    missing = [name for name in ("model", "system") if name not in values]
    if not set(AMOUNT) & set(values):
        missing.append("global_batch")
    if missing:
        raise BadInput(
            Message("the form is incomplete"),
            [FieldError(name, Message(SENTENCES[name])) for name in missing],
        )
    return _validated(fields, values, dict(QUESTION))


SENTENCES = {
    "model": "choose a model",
    "system": "choose a system",
    "global_batch": "enter the samples per step, or how much to train to have the batch size chosen",
}
"""Parameter → what is said where it is missing."""


def asked_beside(values: Values, request: EstimateRequest, estimate: Estimate) -> SearchRequest:
    """Return the search among all plans of a kept estimate, at its global batch.

    Its plan is no constraint: it is held against the best.
    """
    asked = request.model_dump(mode="json", exclude_unset=True, exclude={"plan", "label"})
    if estimate.plan is not None:
        asked["beside"] = {name: getattr(estimate.plan, name) for name in PlanInput.model_fields}
        asked["workload"] = {**asked.get("workload", {}), "global_batch": estimate.plan.global_batch}
    fields = {QUESTION[name]: _written(name, values[name]) for name in ALWAYS if name in values}
    return _validated(fields, values, {name: QUESTION[name] for name in ALWAYS}, asked)


def _validated(
    fields: Mapping[str, Any],
    values: Values,
    known: Mapping[str, str],
    beside: Mapping[str, Any] | None = None,
) -> SearchRequest:
    filters = {name: _several(text) for name, text in filters_of(values).items()}
    strange = {name: values[name] for name in values if name not in {*known, *FILTERS, AGAINST}}
    tree = {**(beside or {}), **nested(fields)}
    tree["constraints"] = {**tree.get("constraints", {}), **filters}
    try:
        return SearchRequest.model_validate({**tree, **strange})
    except ValidationError as error:
        raise placed(from_validation(error.errors(include_url=False))) from None


def _written(name: str, text: str) -> str:
    """Return what was typed as the schema reads it; shares may be written as percentages."""
    if name in NUMBERS:
        return plain_number(text)
    if name in SHARES and text.endswith("%"):
        try:
            return repr(float(text.removesuffix("%")) / 100.0)
        except ValueError:
            return text
    return text


def _several(text: str) -> str | list[str]:
    """Return one value as it is, several as a list."""
    values = [plain_number(one) for one in SEPARATOR.split(text) if one]
    return values[0] if len(values) == 1 else values


def placed(error: AppError) -> AppError:
    """Return an error with its fields named as the parameters of the address, each once."""
    fields: dict[str, FieldError] = {}
    for one in error.errors:
        name = parameter_of(one.field)
        fields.setdefault(name, FieldError(name, one.message))
    kept = list(fields.values())
    return type(error)(kept[0].message if len(kept) == 1 else error.message, kept)


def parameter_of(field: str) -> str:
    """Return the parameter of the address that a field of the search comes from.

    >>> parameter_of("constraints.tensor.0"), parameter_of("system.count"), parameter_of("workload")
    ('tensor', 'count', 'global_batch')
    """
    for name, path in QUESTION.items():
        if field == path or field.startswith(f"{path}."):
            return name
    head, _, rest = field.partition(".")
    if head == "constraints" and rest:
        return rest.split(".")[0]
    return {"workload": "global_batch", "system": "system", "model": "model"}.get(head, field)


def compared_with(values: Values, search: Search, own: int) -> int:
    """Return the place, from 1, of the plan that the first is held against; 0 where there is no other.

    Where nothing is said it is ``own``, the place of the estimate's plan, else the second.
    """
    most = len(search.plans)
    if AGAINST not in values:
        return own if own > 1 else 2 if most > 1 else 0
    text = values[AGAINST]
    place = whole(text) or 0
    if not 2 <= place <= most:
        raise BadInput.at(AGAINST, "there is no plan {value}; enter 2 to {most}", value=text[:20],
                          most=most)  # fmt: skip
    return place


def own_place(search: Search, plan: PlanSummary | None) -> int:
    """Return the place, from 1, of an estimate's plan among the best; 0 where it is not there."""
    places = (place for place, one in enumerate(search.plans, 1) if plan and same(one.plan, plan))
    return next(places, 0)


def same(one: PlanSummary, other: PlanSummary) -> bool:
    """Tell whether two plans are one in everything that can be chosen."""
    return all(getattr(one, name) == getattr(other, name) for name in PlanInput.model_fields)


def map_request(request: SearchRequest, search: Search) -> SearchRequest | None:
    """Return the search for the whole map where a search is narrowed to degrees, at the same batch."""
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


def estimate_of(request: SearchRequest, plan: PlanInput, batch: int, label: str) -> EstimateRequest:
    """Return the estimate of one plan of a search; of one step where nobody said how much to train."""
    workload = request.workload.model_copy(update={"global_batch": batch})
    if one_step(request):
        workload = workload.model_copy(update={"samples": float(batch)})
    margin = request.constraints.memory_margin
    assumptions = request.assumptions
    if margin is not None:
        assumptions = assumptions.model_copy(update={"memory_margin": margin})
    return EstimateRequest(
        model=request.model,
        workload=workload,
        system=request.system,
        plan=plan,
        software=request.software,
        assumptions=assumptions,
        currency=request.currency,
        label=label,
    )


def one_step(request: SearchRequest) -> bool:
    """Tell whether nothing says how much is to be trained."""
    workload = request.workload
    return all(one is None for one in (workload.tokens, workload.samples, workload.epochs, workload.target))


SHORT = re.compile(r" · t\d+ p\d+ d\d+ b\d+$")


def label_of(base: str, short: str) -> str:
    """Return the name of an estimate of a plan; a plan already in the name gives way.

    >>> label_of("GPT-3 · 8 × DGX A100 · t8 p1 d8 b1", "t4 p2 d8 b1")
    'GPT-3 · 8 × DGX A100 · t4 p2 d8 b1'
    """
    return f"{SHORT.sub('', base)[:150]} · {short}"


def short_of(plan: PlanInput) -> str:
    """Return the degrees and the micro-batch of a plan that a form sent."""
    return f"t{plan.tensor or 1} p{plan.pipeline or 1} d{plan.data or 1} b{plan.micro_batch or 1}"


def base_label(bench: Workbench, request: SearchRequest) -> str:
    """Return model and system of a search by name."""
    model = bench.catalogue.models.documents.get(request.model.preset or "")
    system = bench.catalogue.systems.documents.get(request.system.id)
    names = [model.name if model else request.model.preset or ""]
    names.append(f"{request.system.count} × {system.name if system else request.system.id}")
    return " · ".join(names)


def plan_of(text: Sequence[tuple[str, str]]) -> tuple[PlanInput, int]:
    """Return a plan and its global batch from the fields of a form."""
    fields = dict(text)
    batch = whole(fields.pop("global_batch", ""))
    if batch is None:
        raise BadInput.at("global_batch", "must be a whole number")
    try:
        return PlanInput.model_validate(fields), batch
    except ValidationError as error:
        raise placed(from_validation(error.errors(include_url=False))) from None
