"""Requests and documents of comparisons."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypeAlias

from pydantic import Discriminator, Field, Tag

from app.engine.units import HOUR
from app.estimating.decision import Decision
from app.estimating.documents import CheckWarning, Estimate
from app.estimating.money import Cost, Currency
from app.estimating.names import Name
from app.estimating.request import EstimateRequest, Limits, Locale, Schema, patch_of
from app.estimating.schema import Document, Quantity
from app.features.studies.model import StateRequest
from app.features.studies.options import BasisCost, ClaimKind, CommonBasis, PublishedFigure


class ComparisonRow(Document):
    """One option of a comparison: an estimate or a published figure."""

    label: str
    """Name of the row."""
    kind: ClaimKind
    """Origin of the figure; estimates are modelled."""
    hours: float | None
    """Time to train; null if it does not fit. [h]"""
    low: float | None
    """10th percentile. [h]"""
    high: float | None
    """90th percentile. [h]"""
    system: str | None
    """Identifier of the system."""
    scaled_from: str | None
    """Label of the row from which it is scaled."""
    factor: float | None
    """Hardware of this row as a multiple of that row's."""
    costs: list[BasisCost] = Field(default_factory=list)
    """Cost on the basis shared by all rows, for each way of paying with a known price; the row's own
    way first.
    """
    estimate: Estimate | None
    """Estimate behind the row; null if the row is a published figure."""

    @property
    def time(self) -> Quantity | None:
        """Time to train; None if it does not fit. [s]"""
        if self.hours is None:
            return None
        ends = (self.hours if end is None else end for end in (self.low, self.high))
        low, high = (end * HOUR for end in ends)
        return Quantity(value=self.hours * HOUR, low=low, high=high, unit="s")

    @property
    def own_cost(self) -> BasisCost | Cost | None:
        """Cost on the shared basis, paid for in the row's own way; by default that of the estimate."""
        own = next((cost for cost in self.costs if cost.own), None)
        return own or (None if self.estimate is None else self.estimate.cost)

    @property
    def run_cost(self) -> Quantity | None:
        """Cost per run on the shared basis; by default that of the estimate."""
        cost = self.own_cost
        return None if cost is None else cost.run


class Ratio(Document):
    """Time to train of one row relative to another."""

    slower: str
    """Label of the slower row."""
    faster: str
    """Label of the faster row."""
    ratio: float
    """Hours of the slower row divided by those of the faster row."""
    low: float | None = None
    """10th percentile of the ratio, from samples that share what the two rows have in common."""
    high: float | None = None
    """90th percentile."""
    probability: float | None = None
    """Share of samples in which the faster row is faster; null if neither row has samples."""
    tie: bool = False
    """Whether the two are too close to call: within 1 %, or the order holds in fewer than 4 of 5
    samples.
    """


class CostRatio(Document):
    """Cost per run of one row relative to another, on the shared basis."""

    dearer: str
    """Label of the dearer row."""
    cheaper: str
    """Label of the cheaper row."""
    ratio: float
    """Cost of the dearer row divided by that of the cheaper row."""
    low: float | None = None
    """10th percentile of the ratio, from paired samples."""
    high: float | None = None
    """90th percentile."""
    probability: float | None = None
    """Share of samples in which the cheaper row is cheaper; null if neither row has samples."""
    tie: bool = False
    """Whether the two are too close to call."""


class Comparison(Document):
    """Options side by side."""

    id: str
    """Identifier."""
    title: str
    """Title."""
    locale: str
    """Display language."""
    currency: str
    """Currency of every estimate in the comparison."""
    scaling_efficiency: float
    """Scaling efficiency of linear rows, as a share of linear scaling."""
    rows: list[ComparisonRow]
    """Options, in order."""
    ratios: list[Ratio]
    """Time to train of each row relative to each faster row, starting with ratios to the fastest."""
    fastest: str | None = None
    """Label of the fastest row; null if rows tie."""
    fastest_tied: list[str] = Field(default_factory=list)
    """Labels of the rows that tie for the shortest time; empty if one row is the fastest."""
    one_basis: CommonBasis | None = None
    """Basis shared by the costs of all rows; null if no cost is known."""
    cost_ratios: list[CostRatio] = Field(default_factory=list)
    """Cost per run of each row relative to each cheaper row, on the shared basis."""
    cheapest: str | None = None
    """Label of the row with the lowest cost per run on the shared basis; null if rows tie."""
    cheapest_tied: list[str] = Field(default_factory=list)
    """Labels of the rows that tie for the lowest cost; empty if one row is the cheapest."""
    decision: Decision | None = Field(None, exclude_if=lambda decision: decision is None)
    """What is recommended under the limits, for the demanded work; the identifier of an option is its label.
    """
    warnings: list[CheckWarning]
    """Warnings to consider when comparing the options."""


class ComparisonSummary(Document):
    """Summary of a comparison in a list."""

    id: str = Field(description="Identifier of the comparison.")
    title: str = Field(description="Title.")
    labels: list[str] = Field(description="Labels of the options, in order.")
    created_at: datetime = Field(description="Creation time.")
    updated_at: datetime = Field(description="Time of the last change.")


MOST_ROWS = 8
"""Rows of a comparison."""


class StoredEstimate(Schema):
    """An estimate of the workspace as a row."""

    estimate_id: str = Field(max_length=100, examples=["est_a2b3c4d5e6f7g2h3"])
    """Identifier of the estimate."""
    label: Name | None = Field(None, max_length=200)
    """Label of the row; if omitted, that of the estimate."""


def row_tag(value: Any) -> str:
    """Distinguish the kinds of rows by fields that only one of them has."""
    if isinstance(value, dict):
        if "estimate_id" in value:
            return "(stored)"
        return "(figure)" if value.keys() & {"hours", "kind", "scaled_from", "factor"} else "(estimate)"
    if isinstance(value, StoredEstimate):
        return "(stored)"
    return "(figure)" if isinstance(value, PublishedFigure) else "(estimate)"


KeptRow: TypeAlias = Annotated[
    Annotated[EstimateRequest, Tag("(estimate)")] | Annotated[PublishedFigure, Tag("(figure)")],
    Discriminator(row_tag),
]

RowRequest: TypeAlias = Annotated[
    Annotated[EstimateRequest, Tag("(estimate)")]
    | Annotated[PublishedFigure, Tag("(figure)")]
    | Annotated[StoredEstimate, Tag("(stored)")],
    Discriminator(row_tag),
]


class ComparisonRequest(Schema):
    """Options to compare side by side."""

    title: Name | None = Field(None, max_length=200, description="Title; if omitted, the labels of the rows.")
    locale: Locale = Field("en", description="Display language of the comparison.")
    currency: Currency = Field("USD", description="Currency of every estimate in the comparison.")
    limits: Limits | None = Field(None, description="What the decision between the rows has to meet.")
    rows: list[RowRequest] = Field(
        min_length=1,
        max_length=MOST_ROWS,
        description="Estimate requests, stored estimates or published figures.",
    )


class ComparisonOfState(StateRequest):
    """A state of a study to store as a comparison, for use in a proposal."""

    title: Name | None = Field(None, max_length=200, description="Title; if omitted, the name of the study.")
    locale: Locale = Field("en", description="Display language of the comparison.")


@patch_of
class ComparisonPatch(ComparisonRequest):
    """Fields of a comparison to change, each as a whole. Omitted fields are unchanged."""
