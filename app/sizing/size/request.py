"""What is asked of a sizing."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.errors import BadInput, Unprocessable
from app.sizing.request import (
    AssumptionsInput,
    EstimateRequest,
    ModelInput,
    Number,
    Schema,
    SystemInput,
    Whole,
    WorkloadInput,
)

LONGEST = 1e12
"""Deadline beyond which no sizing is made, some thirty thousand years. [s]"""

DEAREST = 1e18
MOST_SYSTEMS = 64
MOST_COUNTS = 64
MOST_ACCELERATORS = 4096
LARGEST_ACCELERATORS = 65_536
USUAL_PROBABILITY = 0.8

BudgetKind = Literal["purchase", "run", "term"]
"""What a budget has to pay: everything before the first run; the share of ownership, or the rent, of this
run; all costs over the term."""

KINDS: tuple[BudgetKind, ...] = ("purchase", "run", "term")


class SizingRequest(Schema):
    """A model and what is to be done by when and for how much; systems and counts are found."""

    model: ModelInput
    """What is trained."""
    workload: WorkloadInput = WorkloadInput()
    """How much of it, in which batches."""
    systems: list[str] | None = Field(
        None,
        description="Identifiers of the systems to consider; left out, the whole catalogue.",
        examples=[["dgx-a100-640gb", "bow-pod64"]],
        max_length=MOST_SYSTEMS,
    )
    counts: list[Whole] | None = Field(
        None,
        description="Counts of each system to consider; left out, powers of two and multiples of 20 nodes.",
        max_length=MOST_COUNTS,
    )
    most_accelerators: Whole = Field(
        MOST_ACCELERATORS, description="Accelerators of the largest option that is considered."
    )
    deadline_s: Number | None = Field(
        None, description="Time to train that is to be kept. [s]", examples=[2_592_000]
    )
    budget: Number | None = Field(
        None, description="Amount that is not to be exceeded, in the currency. [currency]"
    )
    budget_kind: BudgetKind | None = Field(
        None,
        description="What the budget has to pay: purchase (machines, hosts, network, installation), run "
        "(share of ownership, or rent, for this run) or term (all costs over the term). Left out, purchase "
        "for what is owned and run for what is rented.",
        examples=["purchase"],
    )
    currency: Literal["USD", "KRW"] = "USD"
    """Currency of budget, prices and costs."""
    probability: Number = Field(
        USUAL_PROBABILITY, description="Share of the samples in which deadline and budget are kept."
    )
    software: str | None = None
    """Identifier of a software profile, for the systems of its kind; else the usual one for the model."""
    assumptions: AssumptionsInput = AssumptionsInput()
    """What is taken for granted."""
    label: str | None = Field(None, max_length=200)
    """What to call the sizing."""


def check(request: SizingRequest) -> None:
    """Refuse what can never be right, by field, with what is allowed."""
    between = {
        "deadline_s": (request.deadline_s, LONGEST),
        "budget": (request.budget, DEAREST),
        "probability": (request.probability, 1.0),
    }
    for name, (value, most) in between.items():
        if value is not None and not 0 < value < most:
            raise BadInput.at(name, "{value} is not above 0 and below {most}", value=value, most=most)
    if not 1 <= request.most_accelerators <= LARGEST_ACCELERATORS:
        raise BadInput.at(
            "most_accelerators",
            "{value} is not between 1 and {most}; leave it out for {usual}",
            value=request.most_accelerators,
            most=LARGEST_ACCELERATORS,
            usual=MOST_ACCELERATORS,
        )
    if request.systems is not None and not request.systems:
        raise Unprocessable.at("systems", "name at least one system, or leave it out for the whole catalogue")
    if request.counts is not None and not request.counts:
        raise Unprocessable.at("counts", "give at least one count, or leave it out for the usual ones")
    for place, count in enumerate(request.counts or ()):
        if count < 1:
            raise BadInput.at(f"counts.{place}", "{count} systems: at least 1 is needed", count=count)
    if request.budget_kind == "purchase" and request.assumptions.acquisition == "rent":
        raise BadInput.at(
            "budget_kind",
            "nothing is bought where assumptions.acquisition is rent; use run or term, or leave one out",
        )
    if request.model.total_flop is not None:
        raise BadInput.at(
            "model.total_flop",
            "a bare figure has no operators to lay over devices; give a preset, a config, a transformer or "
            "a layer table",
        )


def estimate_request(
    request: SizingRequest, system: str, count: int, software: str | None, **workload: int
) -> EstimateRequest:
    """Return the estimate request of one option of a sizing."""
    return EstimateRequest(
        model=request.model,
        workload=request.workload.model_copy(update=dict(workload)),
        system=SystemInput(id=system, count=count),
        software=software,
        assumptions=request.assumptions,
        currency=request.currency,
        label=None,
    )


def one_system(request: SizingRequest) -> str:
    """Return the one system a request names."""
    names = request.systems or []
    if len(names) != 1:
        raise BadInput.at("systems", "a scaling curve is of one system; {given} are named", given=len(names))
    return names[0]
