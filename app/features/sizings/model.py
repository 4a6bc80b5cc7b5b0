"""What a sizing answers: options, the front of time and cost, and what would change the answer."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from app.errors import BadInput, Unprocessable
from app.estimating.decision import (
    USUAL_PROBABILITY,
    Decision,
    DecisionMargin,
    DecisionQuestion,
    DecisivePrice,
    Reason,
    check_limits,
)
from app.estimating.documents import CheckWarning, Default, ModelSummary, Text
from app.estimating.names import Name
from app.estimating.naming import SystemName
from app.estimating.request import BudgetKind as BudgetKind
from app.estimating.request import (
    Limits,
    Number,
    PlanInput,
    TrainingRequest,
    Whole,
)
from app.estimating.schema import Document, Quantity

MOST_SYSTEMS = 64

MOST_COUNTS = 64

MOST_ACCELERATORS = 4096

LARGEST_ACCELERATORS = 65_536


class SizingRequest(TrainingRequest, Limits):
    """A model and a workload with optional limits; systems and counts are found.

    Software is that of systems of its kind; the others take the usual one.
    """

    systems: list[SystemName] | None = Field(
        None,
        description="Identifiers of the systems to consider; if omitted, the whole catalogue.",
        examples=[["dgx-a100-640gb", "bow-pod64"]],
        max_length=MOST_SYSTEMS,
    )
    counts: list[Whole] | None = Field(
        None,
        description="Counts of each system to consider; if omitted, powers of two and multiples of 20 nodes.",
        max_length=MOST_COUNTS,
    )
    most_accelerators: Whole = MOST_ACCELERATORS
    """Number of accelerators of the largest option to consider."""
    probability: Number = USUAL_PROBABILITY
    """Share of samples in which all limits must be met."""
    label: Name | None = Field(None, max_length=200)
    """Name of the sizing."""

    @property
    def question(self) -> DecisionQuestion:
        """What is asked of the options."""
        return DecisionQuestion.of(self, self.assumptions.demand, self.currency)


def check(request: SizingRequest) -> None:
    """Refuse what can never be right, by field, with what is allowed."""
    check_limits(request)
    if not 1 <= request.most_accelerators <= LARGEST_ACCELERATORS:
        raise BadInput.at(
            "most_accelerators",
            "must be between 1 and {most}, not {value}; omit it for {usual}",
            value=request.most_accelerators,
            most=LARGEST_ACCELERATORS,
            usual=MOST_ACCELERATORS,
        )
    if request.systems is not None and not request.systems:
        raise Unprocessable.at("systems", "enter at least one system, or omit it for the whole catalogue")
    if request.counts is not None and not request.counts:
        raise Unprocessable.at("counts", "enter at least one count, or omit it for the defaults")
    for index, count in enumerate(request.counts or ()):
        if count < 1:
            raise BadInput.at(f"counts.{index}", "there must be at least 1 system, not {count}", count=count)
    if request.budget_kind == "purchase" and request.assumptions.acquisition == "rent":
        raise BadInput.at(
            "budget_kind",
            "with assumptions.acquisition rent, nothing is purchased; use run or term, or "
            "remove one of the two",
        )
    if request.model.total_flop is not None:
        raise BadInput.at(
            "model.total_flop",
            "a model given only as total FLOP has no operators to place on devices; enter a "
            "preset, a config, a transformer or a layer table",
        )


class OptionCosts(Document):
    """Costs of a system, one for each kind of budget."""

    purchase: Quantity | None = None
    """Everything paid before the first run: machines, hosts, network, storage if included, freight and
    installation; null if rented or if no price is published.
    """
    run: Quantity | None = None
    """Share of ownership, or the rent, attributable to the run; null if it does not fit or no price is
    published.
    """
    term: Quantity | None = None
    """All money that leaves over the term for the demanded runs (outlay); null if it does not fit or no price
    is published.
    """


class SizingOption(Document):
    """One system at one count, with the plan found for it."""

    id: str = Field(description="Identifier within the sizing, made of system and count.")
    system: str = Field(description="Identifier of the system.")
    name: str = Field(description="Name of the system.")
    count: int = Field(description="Number of systems.")
    machines: int = Field(description="Total number of machines.")
    idle_machines: int = Field(0, description="Number of machines that the plan does not use.")
    accelerators: int = Field(description="Total number of accelerators.")
    chip: str = Field(description="Identifier of the chip.")
    fits: bool = Field(description="Whether the model fits in the memory of the accelerators.")
    plan: PlanInput = Field(description="Plan found; the plan with the lowest memory use if none fits.")
    global_batch: int = Field(description="Samples per step.")
    batch_searched: bool = Field(description="Whether the global batch size was chosen by the search.")
    software: str = Field(description="Software profile.")
    precision: str = Field(description="Number format.")
    memory_share: float
    """Memory in use on the fullest accelerator, as a share of its memory."""
    step_time: Quantity | None = Field(description="Time per step; null if the model does not fit.")
    time_to_train: Quantity | None = Field(description="Time to train; null if the model does not fit.")
    cost: Quantity | None = Field(description="Cost of the run; null if no price is published.")
    hourly: Quantity | None = Field(description="Cost per hour.")
    capex: Quantity | None
    """Price of machines, hosts and network; null if rented or not published."""
    costs: OptionCosts = Field(OptionCosts(), description="Costs: purchase, run and term.")
    acquisition: Literal["own", "rent"] = Field("own", description="Whether the system is bought or rented.")
    term_years: float | None = Field(None, description="Term of the costs; null without a price. [year]")
    price: DecisivePrice | None = Field(None, description="Price that accounts for most of the cost.")
    power: Quantity = Field(description="Power of the systems under a training load.")
    rack_units: float = Field(description="Total height in racks. [U]")
    probability: float | None
    """Share of samples that meet all limits; null if none is given."""
    meets: bool
    """Whether the requested probability is reached; without limits, true for all options that fit."""
    idle_share: float | None = None
    """Share of the term that an owned system does not work; null if rented."""
    why_not: Reason | None = None
    """Why it is not recommended; null for the recommended option and those that tie with it."""
    verdict: Text | None = None
    """Why it is not recommended, in words."""
    on_front: bool = Field(description="Whether no other option is faster at less outlay.")
    status: Literal["validated", "extrapolated", "unvalidated"]
    """Whether the option is covered by measured runs."""
    warnings: list[str] = Field(description="Codes of the warnings of the estimate.")
    estimate: dict[str, JsonValue] = Field(description="Estimate request that returns the option in full.")


class FrontPoint(Document):
    """A Pareto-optimal option in time and cost."""

    option: str = Field(description="Identifier of the option.")
    system: str = Field(description="Identifier of the system.")
    count: int = Field(description="Number of systems.")
    time_to_train: Quantity = Field(description="Time to train.")
    cost: Quantity | None = Field(description="Cost of the run.")
    costs: OptionCosts = Field(OptionCosts(), description="Costs: purchase, run and term.")


class Omission(Document):
    """A system and count without an option, and the reason."""

    system: str = Field(description="Identifier of the system.")
    count: int = Field(description="Number of systems.")
    reason: Literal["no_plan", "does_not_fit", "beaten"]
    """no_plan: no legal plan. does_not_fit: too few accelerators for it. beaten: even at the least time
    and price it can have, it gains less than 1 % over an option that costs less and is no larger.
    """


class ScalingPoint(Document):
    """One point of a scaling curve."""

    count: int = Field(description="Number of systems.")
    accelerators: int = Field(description="Total number of accelerators.")
    idle_accelerators: int = Field(0, description="Number of accelerators that the plan does not use.")
    time_to_train: Quantity = Field(description="Time to train.")
    cost: Quantity | None = Field(description="Cost of the run.")
    efficiency: Quantity
    """Scaling efficiency: share of linear speedup relative to the smallest count that fits."""
    global_batch: int = Field(description="Samples per step.")


class ScalingCurve(Document):
    """Time, cost and efficiency of one system at different counts."""

    system: str = Field(description="Identifier of the system.")
    name: str = Field(description="Name of the system.")
    points: list[ScalingPoint] = Field(description="Counts that fit, in ascending order.")
    knee: int | None = Field(
        description="Count from which adding machines no longer pays off: 1 % more machines "
        "reduce the time by less than 0.5 %."
    )
    knee_inside: bool = Field(description="Whether larger counts were tried and pay off less.")
    batch_limit: int | None
    """Smallest count over which the global batch can no longer be divided."""
    warnings: list[CheckWarning] = Field(description="Warnings to consider when reading the result.")


class Sizing(Document):
    """All options worth considering, the best of them, and what would change the answer."""

    id: str = Field(description="Identifier.")
    name: str = Field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])
    engine_version: str = Field(description="Version of the engine.")
    catalog_version: str = Field(description="Version of the catalogue.")
    request: SizingRequest = Field(description="Original request.")
    model: ModelSummary = Field(description="Resolved model.")
    currency: str = Field(description="Currency of budget and costs.")
    decision: Decision
    """What is recommended, why, and what would overturn it."""
    recommended: str | None
    """Option that the decision recommends; null for none."""
    margin: DecisionMargin | None
    """How far it is ahead of the best other option, in outlay."""
    options: list[SizingOption]
    """Options; the recommended first, then those that tie with it, that meet the limits, and the others, by
    outlay.
    """
    next: str | None = Field(None, description="Cursor of the next page of options; null on the last page.")
    pareto: list[FrontPoint] = Field(description="Pareto-optimal options for time and outlay, fastest first.")
    scaling: ScalingCurve | None = Field(description="Scaling curve of the recommended system.")
    considered: int = Field(description="Number of combinations of system and count that were considered.")
    searched: int
    """Number of plan searches; systems with the same hardware share a search."""
    left_out: list[Omission]
    """Combinations of system and count without an option, and why."""
    defaults: list[Default] = Field(description="Default values that were used.")
    warnings: list[CheckWarning] = Field(description="Warnings to consider when reading the result.")


class SizingSummary(Document):
    """Summary of a sizing in a list."""

    id: str = Field(description="Identifier of the sizing.")
    name: str = Field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])
    created_at: datetime = Field(description="Creation time.")
