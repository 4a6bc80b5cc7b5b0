"""What a decision is: its question, its options and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import Field

from app.errors import BadInput, Message
from app.estimating.demand import check_demand
from app.estimating.documents import Text
from app.estimating.outlay import Outlay, Uncertain
from app.estimating.request import BudgetKind, Demand, Limits
from app.estimating.schema import Document, Quantity, filled

USUAL_PROBABILITY = 0.8
"""Share of samples in which limits must be met, if none is asked."""
LONGEST = 1e12
"""Longest deadline, some thirty thousand years. [s]"""
DEAREST = 1e18
MOST_POWER = 1e12
"""[W]"""

Reason: TypeAlias = Literal[
    "does_not_fit", "too_late", "too_slow", "over_budget", "over_power", "no_capacity", "published",
    "no_price", "not_on_sale", "costs_more",
]  # fmt: skip
"""Why an option is not recommended; of several the first in this order."""

REASONS: Mapping[Reason, str] = {
    "does_not_fit": "does not fit",
    "too_late": "too late",
    "too_slow": "too slow",
    "over_budget": "over the budget",
    "over_power": "over the power limit",
    "no_capacity": "too slow for all runs",
    "published": "published figure",
    "no_price": "no known price",
    "not_on_sale": "no longer sold new",
    "costs_more": "costs more",
}


class DecisionQuestion(Document):
    """What was asked of the options."""

    deadline_s: float | None = None
    """Time within which one run has to be done. [s]"""
    budget: float | None = None
    """Most that may be spent. [currency]"""
    budget_kind: BudgetKind | None = None
    """What the budget pays for; null for the purchase of what is owned and the run of what is rented."""
    currency: str
    """Currency of every amount."""
    probability: float = USUAL_PROBABILITY
    """Share of samples in which all limits must be met."""
    power_w: float | None = None
    """Most power at the site while training. [W]"""
    demand: Demand = Demand(runs=1)
    """How often the work is done."""

    @classmethod
    def of(cls, limits: Limits, demand: Demand | None, currency: str) -> DecisionQuestion:
        """Return the question of checked limits and demand."""
        check_limits(limits)
        check_demand(demand)
        return filled(
            cls,
            limits,
            currency=currency,
            probability=limits.probability or USUAL_PROBABILITY,
            demand=demand or Demand(runs=1),
        )

    @property
    def limited(self) -> bool:
        return any(limit is not None for limit in (self.deadline_s, self.budget, self.power_w))


class DecisionOption(Document):
    """An option under the question."""

    id: str
    """Identifier of the option."""
    meets: bool
    """Whether it meets every limit with the asked probability and has the capacity for the demanded runs."""
    probability: float | None
    """Share of paired samples that meet every limit; null without limits."""
    time: Quantity | None
    """Time of one run; null if it does not fit. [s]"""
    outlay: Quantity | None
    """All money that leaves the customer over the term for the demanded runs; null without a price."""
    purchase: Quantity | None
    """Everything paid before the first run; null if rented or without a price."""
    run: Quantity | None
    """Share of ownership, or the rent, of one run; null without a price."""
    idle_share: float | None
    """Share of the term that an owned system does not work; null if rented."""
    why_not: Reason | None
    """Why it is not recommended; null for the recommended option and those that tie with it."""
    runs: int | None = None
    """Demanded runs that it does within the term; null if it does not fit."""
    verdict: Text | None = None
    """How often the missed limit is kept, or how many runs are done; null for every other reason."""

    @property
    def reason(self) -> Text | None:
        """Why it is not recommended, in words."""
        return self.verdict or (None if self.why_not is None else Text.of(Message(REASONS[self.why_not])))


class DecisionMargin(Document):
    """How far the recommended option is ahead of the best other, in outlay."""

    over: str
    """Identifier of the best other option."""
    share: Quantity
    """How much more that one costs, relative to the recommended."""
    probability: float
    """Share of paired samples in which the recommended costs less."""


class NearestDate(Document):
    id: str
    """Option that meets everything else."""
    deadline_s: float
    """Least deadline with which it would be recommended. [s]"""


class NearestMoney(Document):
    id: str
    """Option that meets everything else."""
    budget: float
    """Least budget with which it would be recommended. [currency]"""


class NearestWork(Document):
    id: str
    """Option that does the most runs."""
    runs: int
    """Most runs within all limits."""


class NearestAnswers(Document):
    """What would work where nothing does; each is null where changing it alone does not help."""

    date: NearestDate | None = None
    """Another deadline."""
    money: NearestMoney | None = None
    """Another budget."""
    work: NearestWork | None = None
    """Fewer runs."""


class Overturn(Document):
    """A change of one input from which another option is recommended."""

    input: str
    """Input: demand.runs, deadline_s, or the price of an option."""
    at: Quantity | None
    """Value from which the recommendation changes; null where no value changes it."""
    then: str | None
    """Option that is recommended then; null for none."""
    even: Quantity | None = None
    """Runs at which both outlays are equal: differences that count as ties move the recommendation."""


class Decision(Document):
    """What is recommended among options, why, and what would overturn it."""

    question: DecisionQuestion
    """What was asked."""
    runs: int
    """Number of runs that every option is charged for."""
    recommended: str | None
    """Option that is recommended; null if none meets everything and has a price."""
    tied: list[str]
    """Options whose outlay cannot be told from the least one."""
    margin: DecisionMargin | None
    """Against the best other option that could be recommended; null without one."""
    options: list[DecisionOption]
    """Every option, in the order given."""
    nearest: NearestAnswers | None
    """What would work, where nothing is recommended and an option fits."""
    overturned_by: list[Overturn]
    """What would overturn the recommendation."""
    sentences: list[Text] = Field(default_factory=list)
    """The decision in words."""


PriceStatus = Literal["sourced", "estimate", "recalled", "stated", "book"]


class DecisivePrice(Document):
    """The price that accounts for most of an option's cost."""

    item: str
    """Name of the priced item."""
    per: Literal["machine", "system", "hour"]
    """Unit of the price: one machine, one system, or one hour of a rented system."""
    price: Quantity
    """The price."""
    status: PriceStatus
    """Origin: published, estimated, recalled, stated in the request, or from a price book."""


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """An option as a decision sees it; samples of all options are paired column by column."""

    id: str
    name: Message | str
    owned: bool
    time: Uncertain | None
    """Time of one run; None where it does not fit. [s]"""
    stated: Quantity | None = None
    """The time as its estimate states it, whose range may be wider than that of the samples. [s]"""
    purchase: Uncertain | None = None
    """Everything paid before the first run; None if rented or without a price. [currency]"""
    run: Uncertain | None = None
    """Cost of one run; None without a price. [currency]"""
    outlay: Outlay | None = None
    """None without a price."""
    power: Uncertain | None = None
    """Power at the site while training; None where nothing is drawn from the customer's site. [W]"""
    price: DecisivePrice | None = None
    purchase_share: float = 1.0
    """Share of the purchase that is proportional to that price."""
    run_share: float = 1.0
    """Share of the cost of one run that is proportional to it."""
    published: bool = False
    """Whether it is a published figure, which cannot be bought."""
    on_sale: bool = True
    """Whether it is sold new, or the asker named it."""
    sold_new: bool = True
    too_slow: bool = False
    """Whether another option gains so much over it that it is not worth having."""
    doubts: tuple[str, ...] = ()
    """Codes of its warnings."""


def check_limits(limits: Limits) -> None:
    """Refuse limits that can never be right, by field."""
    most = {"deadline_s": LONGEST, "budget": DEAREST, "power_w": MOST_POWER, "probability": 1.0}
    for name, largest in most.items():
        value = getattr(limits, name)
        if value is not None and not 0 < value < largest:
            raise BadInput.at(
                name, "must be above 0 and below {most}, not {value}", value=value, most=largest
            )
