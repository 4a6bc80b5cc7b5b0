"""Request of a sweep: lists of models, systems, prices and scenarios to combine."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.estimating.money import Currency
from app.estimating.names import Name
from app.estimating.naming import SoftwareName
from app.estimating.request import (
    AssumptionsInput,
    CostItem,
    ModelInput,
    Number,
    PlanInput,
    Schema,
    Whole,
    WorkloadInput,
)

MOST_POINTS = 20_000
"""Most combinations of one sweep."""
MOST_COUNTS = 64
"""Most counts of one system."""
MOST_ENTRIES = 1_000
"""Most entries of one list."""
Label = Annotated[Name, Field(min_length=1, max_length=200)]


class SweepModel(Schema):
    """A model with its workload."""

    label: Label | None = None
    """Label; if omitted, the identifier of its preset or profile."""
    model: ModelInput = Field(description="Model to train.")
    workload: WorkloadInput = Field(WorkloadInput(), description="How much to train, and in which batches.")


class SweepSystem(Schema):
    """A system at one or several counts."""

    label: Label | None = Field(None, description="Label; if omitted, the identifier of the system.")
    id: str = Field(description="Identifier of a system.", examples=["dgx-a100-640gb"])
    count: Whole | None = Field(None, description="Number of systems; if omitted, 1.")
    counts: list[Whole] | None = Field(None, min_length=1, max_length=MOST_COUNTS)
    """Several counts, instead of one."""
    fabric: str | None = Field(None, description="Identifier of a fabric; if omitted, the system's default.")
    ports_per_node: Whole | None = None
    """Number of fabric ports per node; if omitted, the default of the system."""
    streaming_memory_gb: Number | None = None
    """Streaming memory of each IPU machine, if not the default. [GB]"""
    software: SoftwareName | None = None
    """Identifier of a software profile for this system; if omitted, the usual one for the model on its
    chip.
    """


class Prices(Schema):
    """Prices and cost settings, in the currency of the sweep. Omitted fields come from the catalogue."""

    acquisition: Literal["own", "rent"] | None = None
    """Whether the system is bought or rented."""
    system_price: Number | None = None
    """Price of one system, in the currency of the sweep. [currency]"""
    hourly_price: Number | None = None
    """Hourly price of one rented system, in the currency of the sweep. [currency/h]"""
    electricity_per_kwh: Number | None = None
    """Electricity tariff, in the currency of the sweep. [currency/kWh]"""
    amortisation_years: Number | None = Field(None, description="Amortisation period of a bought system. [a]")
    utilisation: Number | None = Field(None, description="Share of the time a bought system is in use.")
    include: list[CostItem] | None = Field(None, description="Cost items to include besides the machines.")
    price_book_id: str | None = Field(None, description="Identifier of a price book of the workspace.")


class SweepPrices(Prices):
    """One price list: prices for all systems, and exceptions by system."""

    label: Label = Field(description="Name.")
    by_system: dict[str, Prices] = Field(default={}, max_length=MOST_ENTRIES)
    """Prices of individual systems by identifier; they take precedence over those for all systems."""


class SweepScenario(Schema):
    """One scenario. Its values take precedence over those of models, systems and prices."""

    label: Label = Field(description="Name.")
    workload: WorkloadInput = Field(WorkloadInput(), description="Differences in the workload.")
    plan: PlanInput = Field(PlanInput(), description="Plan of the models; omitted fields are searched.")
    software: SoftwareName | None = Field(None, description="Identifier of a software profile.")
    assumptions: AssumptionsInput = Field(AssumptionsInput(), description="Assumptions of the estimate.")


class SweepRequest(Schema):
    """Estimates of every combination of the lists, in order; the last list varies fastest."""

    title: Name | None = Field(None, max_length=200, description="Title of the sweep.")
    study_id: str | None = Field(None, max_length=60)
    """Identifier of the study that the sweep belongs to."""
    models: list[SweepModel] = Field(min_length=1, max_length=MOST_ENTRIES)
    """Models with their workloads."""
    systems: list[SweepSystem] = Field(min_length=1, max_length=MOST_ENTRIES)
    """Systems and their counts."""
    prices: list[SweepPrices] = Field(default=[], max_length=MOST_ENTRIES)
    """Price lists; if omitted, only the catalogue's prices."""
    scenarios: list[SweepScenario] = Field(default=[], max_length=MOST_ENTRIES)
    """Scenarios; if omitted, only the default one."""
    currency: Currency = Field("USD", description="Currency of every price and cost.")
