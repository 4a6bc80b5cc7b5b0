"""What a sizing answers: options, the front of time and cost, and what would change the answer."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from app.errors import BadInput, Unprocessable
from app.estimating.documents import CheckWarning, Default, ModelSummary, Text
from app.estimating.money import Currency
from app.estimating.names import Name
from app.estimating.request import (
    AssumptionsInput,
    ModelInput,
    Number,
    PlanInput,
    Schema,
    Whole,
    WorkloadInput,
)
from app.estimating.schema import Document, Quantity
from app.features.studies.model import BudgetKind as BudgetKind

LONGEST = 1e12
"""Deadline beyond which no sizing is made, some thirty thousand years. [s]"""

DEAREST = 1e18

MOST_SYSTEMS = 64

MOST_COUNTS = 64

MOST_ACCELERATORS = 4096

LARGEST_ACCELERATORS = 65_536

USUAL_PROBABILITY = 0.8

KINDS: tuple[BudgetKind, ...] = ("purchase", "run", "term")


class SizingRequest(Schema):
    """A model and a workload with an optional deadline and budget; systems and counts are found."""

    model: ModelInput = Field(description="Model to train.")
    workload: WorkloadInput = Field(WorkloadInput(), description="How much to train, and in which batches.")
    systems: list[str] | None = Field(
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
    deadline_s: Number | None = Field(None, description="Maximum time to train. [s]", examples=[2_592_000])
    budget: Number | None = Field(None, description="Maximum amount, in the currency. [currency]")
    budget_kind: BudgetKind | None = Field(
        None,
        description="Cost that the budget must cover: purchase (machines, hosts, network, "
        "installation), run (share of ownership, or rent, for this run) or term "
        "(all costs over the term). If omitted, purchase for owned systems and run "
        "for rented systems.",
        examples=["purchase"],
    )
    currency: Currency = Field("USD", description="Currency of budget, prices and costs.")
    probability: Number = USUAL_PROBABILITY
    """Share of samples in which deadline and budget must be met."""
    software: str | None = None
    """Identifier of a software profile, for systems of its kind; otherwise the usual one for the
    model.
    """
    assumptions: AssumptionsInput = Field(AssumptionsInput(), description="Assumptions of the estimate.")
    label: Name | None = Field(None, max_length=200)
    """Name of the sizing."""

    @property
    def limited(self) -> bool:
        """Whether there is anything to keep."""
        return self.deadline_s is not None or self.budget is not None


def check(request: SizingRequest) -> None:
    """Refuse what can never be right, by field, with what is allowed."""
    between = {
        "deadline_s": (request.deadline_s, LONGEST),
        "budget": (request.budget, DEAREST),
        "probability": (request.probability, 1.0),
    }
    for name, (value, most) in between.items():
        if value is not None and not 0 < value < most:
            raise BadInput.at(name, "must be above 0 and below {most}, not {value}", value=value, most=most)
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
    term: Quantity | None = Field(None, description="All costs over the term; null if no price is published.")


class PriceShares(Document):
    """Shares of the costs of an option that are proportional to one price."""

    purchase: float | None = Field(description="Share of the purchase cost; null if rented.")
    run: float = Field(description="For the run.")
    term: float = Field(description="Share of the cost over the term.")


class OptionPrice(Document):
    """The price that accounts for most of an option's cost."""

    item: str = Field(description="Name of the priced item.")
    per: Literal["machine", "system", "hour"]
    """Unit of the price: one machine, one system, or one hour of a rented system."""
    price: Quantity = Field(description="The price.")
    status: Literal["sourced", "estimate", "recalled", "stated", "book"]
    """Origin: published, estimated, recalled, stated in the request, or from a price book."""
    shares: PriceShares = Field(description="Share of each cost that is proportional to the price.")


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
    budget_kind: BudgetKind | None = None
    """Kind of cost that is compared with the budget; null without a budget."""
    price: OptionPrice | None = Field(None, description="Price that accounts for most of the cost.")
    power: Quantity = Field(description="Power of the systems under a training load.")
    rack_units: float = Field(description="Total height in racks. [U]")
    probability: float | None
    """Share of samples that meet deadline and budget; null if neither is given."""
    probability_deadline: float | None = Field(description="Share of samples that meet the deadline.")
    probability_budget: float | None = Field(description="Share of the same samples that meet the budget.")
    meets: bool
    """Whether the requested probability is reached; without limits, true for all options that fit."""
    on_front: bool = Field(description="Whether no other option is both faster and cheaper.")
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


class LeftOut(Document):
    """A system and count without an option, and the reason."""

    system: str = Field(description="Identifier of the system.")
    count: int = Field(description="Number of systems.")
    reason: Literal["no_plan"] = Field(description="no_plan: no legal plan.")


class LimitChange(Document):
    """A change to the request that would let an option meet the requirements."""

    field: str = Field(description="Field of the request to change.")
    value: float | None = Field(description="Sufficient value; null if no single value is sufficient.")
    also: dict[str, float] = Field(
        {}, description="Other fields that must change with it, if no single change is enough."
    )
    kind: BudgetKind | None = Field(None, description="Kind of cost that a changed budget must cover.")
    option: str | None = Field(description="Option that then meets the requirements.")
    text: Text = Field(description="Sentence.")


class Nearest(Document):
    """The option closest to meeting the request if none does, and what would change that."""

    option: str | None = Field(description="Identifier of the option; null if no option fits.")
    changes: list[LimitChange] = Field(description="Alternative changes; each is sufficient on its own.")


class PriceLimit(Document):
    """A price, and the value at which the answer changes."""

    option: str = Field(description="Option to which the price belongs.")
    price: OptionPrice = Field(description="Price used.")
    value: float = Field(description="Value at which the answer changes, in the currency. [currency]")
    direction: Literal["below", "above"]
    """Side of the value on which the answer is different."""
    wins: str = Field(description="Option that would be recommended on that side.")
    text: Text = Field(description="Sentence.")


class Margin(Document):
    """Lead of the winner over the best option of another system."""

    option: str = Field(description="Identifier of the winner.")
    over: str
    """Identifier of the runner-up: the best option of another system, otherwise of another count."""
    by: Literal["purchase", "run", "term", "time"] = Field(description="Criterion of the ranking.")
    share: Quantity = Field(description="How much more the runner-up takes, relative to the winner.")
    probability: float = Field(description="Share of samples in which the winner leads.")
    tie: bool = Field(description="Whether the two are too close to call; nothing is recommended then.")
    tied: list[str] = Field(description="Options of other systems that are too close to the winner to call.")
    overturned_by: list[PriceLimit]
    """Prices that would overturn the ranking at between half and twice their value, nearest first."""
    text: Text = Field(description="Sentence.")


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
    outcome: Literal["met", "not_met", "front"]
    """Whether an option meets the requirements; front if no limit is given."""
    recommended: str | None
    """Option that the answer names first; null if the best options are too close to call."""
    ranked_by: BudgetKind = "run"
    """Cost by which options are ranked: the requested kind; otherwise the kind compared with the budget, if
    it is the same for all options; otherwise run.
    """
    margin: Margin | None = None
    """Lead of the winner; null if no option meets the requirements, or no other does."""
    purchase_needed: LimitChange | None = None
    """Smallest purchase budget that buys a system in time, if only rented systems meet the budget."""
    cheapest: str | None = Field(description="Cheapest option that meets the requirements.")
    fastest: str | None = Field(description="Fastest option that meets the requirements.")
    nearest: Nearest | None
    """Nearest option and what would change the answer, if no option meets the requirements."""
    options: list[SizingOption]
    """Options; those that meet the requirements come first, the cheapest first."""
    next: str | None = Field(None, description="Cursor of the next page of options; null on the last page.")
    pareto: list[FrontPoint] = Field(description="Pareto-optimal options for time and cost, fastest first.")
    scaling: ScalingCurve | None = Field(description="Scaling curve of the recommended system.")
    considered: int = Field(description="Number of combinations of system and count that were considered.")
    searched: int
    """Number of plan searches; systems with the same hardware share a search."""
    left_out: list[LeftOut]
    """Combinations of system and count without an option, and why."""
    defaults: list[Default] = Field(description="Default values that were used.")
    warnings: list[CheckWarning] = Field(description="Warnings to consider when reading the result.")


class SizingSummary(Document):
    """Summary of a sizing in a list."""

    id: str = Field(description="Identifier of the sizing.")
    name: str = Field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])
    created_at: datetime = Field(description="Creation time.")
