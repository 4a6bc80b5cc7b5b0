"""What an option of a study is asked, and what it costs beside the others, as documents."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from app.estimating.decision import Overturn
from app.estimating.deliberation import Deliberation
from app.estimating.money import CostLine
from app.estimating.names import Name
from app.estimating.naming import SystemName
from app.estimating.request import Demand, Number, Schema
from app.estimating.schema import Document, Quantity

ClaimKind = Literal["vendor", "published", "measured", "modelled", "linear"]


MOST_HOURS = 1e9
"""Longest time to train. [h]"""

MOST_TIMES = 1e6
"""Largest factor."""

LEAST_SHARE = 1e-6
"""Shortest time and smallest factor. Within these bounds ratios do not overflow."""


Key = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9]{0,7}$",
        description="Short name of an option, used in URLs: a letter, then letters and digits.",
        examples=["a"],
    ),
]


class StatedFigure(Schema):
    """A stated time to train; a linear one can be scaled from another option."""

    hours: Number | None = Field(
        None,
        ge=LEAST_SHARE,
        le=MOST_HOURS,
        description="Time to train; a linear figure can omit it and is then scaled from another. [h]",
    )
    kind: ClaimKind = Field(description="Origin of the figure; “linear” is an extrapolation.")
    scaled_from: Key | None = None
    """Key of the option from which a linear figure is scaled."""
    factor: Number | None = Field(None, ge=LEAST_SHARE, le=MOST_TIMES)
    """Hardware of this option as a multiple of that option's."""
    system: SystemName | None = Field(None, max_length=100, examples=["ipu-pod64"])
    """Identifier of a system."""


class PublishedFigure(StatedFigure):
    """A stated time to train with its label; a linear one is scaled from another row."""

    label: Name = Field(min_length=1, max_length=200, description="Label of the row; must be unique.")
    scaled_from: str | None = Field(None, examples=["1 × DGX A100"])
    """Label of the row from which a linear row is scaled."""


class BasisCost(Document):
    """Cost of an option on the basis shared by all options, for one way of paying."""

    acquisition: Literal["own", "rent"]
    """Whether the system is owned or rented."""
    rental: str | None
    """Rental pricing model; null if bought."""
    own: bool
    """Whether this is the way of paying given in the option's request."""
    run: Quantity
    """Cost per run."""
    hourly: Quantity
    """Cost per useful hour."""
    yearly: Quantity
    """Cost of the useful hours of one year."""
    over_term: Quantity
    """Cost of the useful hours over the term."""
    capex: Quantity | None
    """Price of the system; null if rented."""
    purchase: Quantity | None = None
    """Everything paid before the first run, with freight and installation; null if rented."""
    runs: float
    """Number of runs that fit into the useful hours of the term."""
    lines: list[CostLine]
    """Cost lines."""


class CommonBasis(Document):
    """Basis shared by the costs of all options."""

    utilisation: float
    """Utilisation of each option, as a share of calendar time."""
    term_years: float
    """Term over which all options are paid for. [a]"""
    useful_hours_per_year: float
    """Useful hours of work per year. [h/a]"""


class DemandAnswer(Document):
    """What is recommended for one demand."""

    demand: Demand
    """How often the work is done."""
    runs: int
    """Number of runs over the term."""
    busy: float | None = None
    """Share of the term that they take on the recommended option, or on the fastest; null if none fits."""
    recommended: str | None
    """Option that is recommended; null if none meets everything and has a price."""
    outlay: Quantity | None
    """Its outlay over the term; null if none is recommended."""
    overturn: Overturn | None
    """Number of runs over the term from which another way to pay is recommended; null if none is for choice.
    """

    @classmethod
    def of(cls, deliberation: Deliberation) -> DemandAnswer:
        weighed, columns = deliberation.weighed, deliberation.columns
        shares = weighed.runs * columns.seconds / columns.term
        chosen = None if weighed.recommended is None else deliberation.options[weighed.recommended]
        share = shares.min() if weighed.recommended is None else shares[weighed.recommended]
        return cls(
            demand=weighed.question.demand,
            runs=weighed.runs,
            busy=float(share) if math.isfinite(share) else None,
            recommended=chosen and chosen.id,
            outlay=chosen and chosen.outlay,
            overturn=deliberation.other_payment,
        )
