"""What comparisons are asked and answered with."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from app.estimating.documents import CheckWarning, Estimate
from app.estimating.money import Cost, CostLine
from app.estimating.request import Currency, EstimateRequest, Locale, Number, Schema
from app.estimating.schema import Document, Quantity


class BasisCost(Document):
    """What an option costs on the basis that all options share, paid for in one way."""

    acquisition: Literal["own", "rent"]
    """Whether it is bought."""
    rental: str | None
    """How it is rented; null for what is bought."""
    own: bool
    """Whether this is the way its request asks for."""
    run: Quantity
    """Cost of one run."""
    hourly: Quantity
    """Cost of one useful hour."""
    yearly: Quantity
    """Cost of the useful hours of a year."""
    over_term: Quantity
    """Cost of the useful hours of the term."""
    capex: Quantity | None
    """Price of the system; null where it is rented."""
    runs: float
    """Runs that the useful hours of the term hold."""
    lines: list[CostLine]
    """Lines of the cost."""


class OneBasis(Document):
    """What the costs of all options share."""

    utilisation: float
    """Share of the calendar in which each option works."""
    term_years: float
    """Years over which all are paid for. [a]"""
    useful_hours_per_year: float
    """Hours of work a year. [h/a]"""


class ComparisonRow(Document):
    """One option of a comparison: an estimate or a published figure."""

    label: str
    """Name of the row."""
    kind: Literal["vendor", "published", "measured", "modelled", "linear"]
    """Who says so; estimates are modelled."""
    hours: float | None
    """Time to train; null where it does not fit. [h]"""
    low: float | None
    """10th percentile. [h]"""
    high: float | None
    """90th percentile. [h]"""
    system: str | None
    """Identifier of the system."""
    scaled_from: str | None
    """Row it is scaled from."""
    factor: float | None
    """How many times the hardware of that row."""
    costs: list[BasisCost] = Field(default_factory=list)
    """What it costs on the basis of all rows, each way to pay with a price; its own first."""
    estimate: Estimate | None
    """The estimate, where the row is one."""

    @property
    def own_cost(self) -> BasisCost | Cost | None:
        """Cost on the basis of all rows as it is had; where there is none, that of the estimate."""
        own = next((one for one in self.costs if one.own), None)
        return own or (None if self.estimate is None else self.estimate.cost)

    @property
    def run_cost(self) -> Quantity | None:
        """Cost of a run on the basis of all rows; where there is none, that of the estimate."""
        cost = self.own_cost
        return None if cost is None else cost.run


class Ratio(Document):
    """Hours of one row over those of another."""

    slower: str
    """Label of the slower row."""
    faster: str
    """Label of the faster row."""
    ratio: float
    """Hours of the slower over those of the faster."""
    low: float | None = None
    """10th percentile of the ratio, from samples that share what both rows have in common."""
    high: float | None = None
    """90th percentile."""
    probability: float | None = None
    """Share of the samples in which the faster row is the faster; null where neither has samples."""
    tie: bool = False
    """Whether nothing separates the two: within 1 %, or the order holds in fewer than 4 of 5 samples."""


class CostRatio(Document):
    """Cost of a run of one row over that of another, on one basis."""

    dearer: str
    """Label of the dearer row."""
    cheaper: str
    """Label of the cheaper row."""
    ratio: float
    """Cost of the dearer over that of the cheaper."""
    low: float | None = None
    """10th percentile of the ratio, from paired samples."""
    high: float | None = None
    """90th percentile."""
    probability: float | None = None
    """Share of the samples in which the cheaper row is the cheaper; null where neither has samples."""
    tie: bool = False
    """Whether nothing separates the two."""


class Comparison(Document):
    """Options side by side."""

    id: str
    """Identifier."""
    title: str
    """Title."""
    locale: str
    """Language it is shown in."""
    currency: str
    """Currency of every estimate in it."""
    scaling_efficiency: float
    """Share of linear scaling that linear rows reach."""
    rows: list[ComparisonRow]
    """The options in their order."""
    ratios: list[Ratio]
    """Hours of each row over each faster one, the fastest row's first."""
    fastest: str | None = None
    """Label of the fastest row; null where rows tie."""
    fastest_tied: list[str] = Field(default_factory=list)
    """Rows that tie for the shortest time; empty where one is the fastest."""
    one_basis: OneBasis | None = None
    """What the costs of all rows share; null where no cost is known."""
    cost_ratios: list[CostRatio] = Field(default_factory=list)
    """Cost of a run of each row over that of each cheaper one, on one basis."""
    cheapest: str | None = None
    """Label of the row that costs least a run on one basis; null where rows tie."""
    cheapest_tied: list[str] = Field(default_factory=list)
    """Rows that tie for the least cost; empty where one is the cheapest."""
    warnings: list[CheckWarning]
    """What to beware of when reading them side by side."""


class ComparisonSummary(Document):
    """One line of the list of comparisons."""

    id: str = Field(description="Identifier of the comparison.")
    title: str = Field(description="Its title.")
    labels: list[str] = Field(description="What its options are called, in their order.")
    created_at: datetime = Field(description="When it was made.")
    updated_at: datetime = Field(description="When it was last changed.")


ClaimKind = Literal["vendor", "published", "measured", "modelled", "linear"]

MOST_ROWS = 8
"""Rows of a comparison."""

MOST_HOURS = 1e9
"""Longest time to train that is taken, more than a hundred millennia. [h]"""

MOST_TIMES = 1e6
"""Most times the hardware of another row."""

LEAST_SHARE = 1e-6
"""Least of either. Within these bounds no ratio leaves what a number can say."""


class PublishedFigure(Schema):
    """A time to train that somebody states; a linear one is scaled from another row."""

    label: str = Field(min_length=1, max_length=200, description="Name of the row; no two are alike.")
    hours: Number | None = Field(
        None,
        ge=LEAST_SHARE,
        le=MOST_HOURS,
        description="Time to train. A linear row may leave it out and scale another row. [h]",
    )
    kind: ClaimKind = Field(description="Who says so; “linear” is an extrapolation.")
    scaled_from: str | None = Field(
        None, description="Label of the row a linear one is scaled from.", examples=["1 × DGX A100"]
    )
    factor: Number | None = Field(
        None,
        ge=LEAST_SHARE,
        le=MOST_TIMES,
        description="How many times the hardware of that row a linear one has.",
    )
    system: str | None = Field(None, description="Identifier of a system.", examples=["ipu-pod64"])


def row_tag(value: Any) -> str:
    """Tell published figures from estimate requests by the fields only the former have."""
    if isinstance(value, dict):
        return "(figure)" if value.keys() & {"hours", "kind", "scaled_from", "factor"} else "(estimate)"
    return "(figure)" if isinstance(value, PublishedFigure) else "(estimate)"


RowRequest: TypeAlias = Annotated[
    Annotated[EstimateRequest, Tag("(estimate)")] | Annotated[PublishedFigure, Tag("(figure)")],
    Discriminator(row_tag),
]


class ComparisonRequest(Schema):
    """Options to put side by side."""

    title: str | None = Field(None, max_length=200, description="Left out, the labels of the rows.")
    locale: Locale = Field("en", description="Language the comparison is shown in.")
    currency: Currency = Field("USD", description="Currency of every estimate in it.")
    rows: list[RowRequest] = Field(
        min_length=1, max_length=MOST_ROWS, description="Estimate requests or published figures."
    )


class ComparisonPatch(Schema):
    """What to change of a comparison; what is left out stays."""

    title: str | None = Field(None, max_length=200, description="New title.")
    locale: Locale | None = Field(None, description="New language.")
    currency: Currency | None = Field(None, description="New currency; estimates are made anew.")
    rows: list[RowRequest] | None = Field(
        None, min_length=1, max_length=MOST_ROWS, description="New rows in place of all there are."
    )
