"""What the author of a proposal states of the deal: its kind, tax, dates and conditions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.estimating.request import Number, Schema
from app.estimating.schema import Document
from app.features.bills.model import FabricPlan, Rack

DocumentKind = Literal["offer", "estimate"]

Clause = Annotated[str, Field(max_length=1_000)]

Weeks = Annotated[Number, Field(ge=0, le=260)]


class Conditions(Schema):
    """Conditions of the deal; the document says of each that is left out that it is to be agreed."""

    vat_rate: Annotated[Number, Field(ge=0, le=1)] | None = None
    """Rate of the value-added tax; if omitted, the catalogue's where one rate holds in the whole region."""
    lead_weeks: Weeks | None = Field(None, description="Weeks from the order to the delivery. [week]")
    installation_weeks: Weeks | None = None
    """Weeks from the delivery to the start of the acceptance. [week]"""
    acceptance_weeks: Weeks | None = Field(None, description="Weeks of the acceptance procedure. [week]")
    payment: Clause | None = Field(None, description="Payment terms.", examples=["30 days after acceptance"])
    warranty: Clause | None = Field(None, description="Warranty.")
    service_level: Clause | None = Field(None, description="Service level: times to respond and to repair.")
    delay_penalty: Clause | None = Field(None, description="Penalty for delay.")
    support_end: Clause | None = Field(None, description="End of the manufacturer's support.")
    references: Clause | None = Field(None, description="Projects of the sender that may be asked about.")
    supersedes: Annotated[str, Field(max_length=60)] | None = None
    """Reference number of the proposal that this one replaces."""


class SiteLayout(Document):
    """How the offered option is racked and joined."""

    racks: list[Rack] = Field(description="Racks; identical racks are grouped.")
    network: FabricPlan | None = Field(description="Compute network; null if no switches connect it.")
