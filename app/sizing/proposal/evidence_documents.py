"""What a proposal says of the customer's own measured runs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.sizing.document import Document, Quantity, SourceRef, Text


class WeighedOption(Document):
    """One alternative or network that was measured, or held against one."""

    label: str = Field(description="What it is called.")
    fabric: str | None = Field(description="Identifier of its fabric; null where only a label is known.")
    runs: list[float] = Field(description="Measured throughputs. [samples/s]")
    mean: float | None = Field(description="Their mean; null without runs. [samples/s]")
    deviation: float | None = Field(description="Their standard deviation; null below two. [samples/s]")
    predicted: Quantity | None = Field(description="Throughput predicted without the runs.")
    gap: float | None = Field(description="Logarithm of predicted over measured throughput.")
    gain: float = Field(description="Throughput over that of the reference, less one.")
    price: Quantity | None = Field(description="What the network costs to buy; null where not known.")
    switches: int | None = Field(description="Switches of the network.")
    cables: int | None = Field(description="Cables of the network.")


class PartLeftOut(Document):
    """A part of the network that is not bought."""

    item: str = Field(description="Identifier in the catalogue.")
    name: str = Field(description="Name.")
    count: int = Field(description="How many.")
    unit_price: Quantity | None = Field(description="Price of one; null where nobody publishes one.")
    source: SourceRef | None = Field(description="Where the price comes from.")


class GainFound(Document):
    """Whether an alternative gains enough to be worth its price, and the runs that say so."""

    basis: Literal["runs", "networks"] = Field(
        description="“runs”: measured alternatives alone; “networks”: with the networks' parts and prices."
    )
    label: str = Field(description="What was weighed.")
    calibration_id: str | None = Field(description="Identifier of the measured runs; null for networks.")
    system: str = Field(description="Identifier of the system.")
    reference: str = Field(description="Label that gains are stated over.")
    taken: str = Field(description="Label that is recommended.")
    against: str | None = Field(description="Label it is held against; null where nothing else was weighed.")
    worth: bool = Field(description="Whether the dearer or faster one gains the threshold.")
    threshold: float = Field(description="Gain below which it is not worth it.")
    gain: Quantity | None = Field(description="Gain of the one over the other.")
    sentence: Text = Field(description="The advice in one sentence.")
    more: list[Text] = Field(description="What else has to be said.")
    options: list[WeighedOption] = Field(description="What was weighed, with its runs.")
    money_saved: Quantity | None = Field(description="Price of the network not taken over that taken.")
    switches_saved: int | None = Field(description="Switches that are not bought.")
    cables_saved: int | None = Field(description="Cables that are not bought.")
    left_out: list[PartLeftOut] = Field(description="Parts of the network not taken.")


class FittedRun(Document):
    """A measured run beside what is predicted of it."""

    label: str = Field(description="Where it ran.")
    note: str | None = Field(description="Who measured it, and how.")
    measured: float = Field(description="Measured time of a step. [s]")
    samples_per_s: float = Field(description="Measured throughput. [samples/s]")
    before: Quantity = Field(description="Time of a step predicted before.")
    after: Quantity = Field(description="Time of a step predicted after.")
    gap_before: float = Field(description="Logarithm of predicted over measured time before.")
    gap_after: float = Field(description="The same after.")


class FitFound(Document):
    """A software profile fitted to the customer's runs."""

    calibration_id: str = Field(description="Identifier of the calibration.")
    label: str = Field(description="What it is called.")
    prior_software: str = Field(description="Identifier of the profile it started from.")
    gap_before: float = Field(description="Mean over the runs of |ln(predicted / measured)| before.")
    gap_after: float = Field(description="The same after.")
    runs: list[FittedRun] = Field(description="The runs.")


class Evidence(Document):
    """The customer's own runs, and what follows from them."""

    gains: list[GainFound] = Field(description="Whether alternatives are worth their price.")
    fit: FitFound | None = Field(description="A profile fitted to runs; null where none is named.")
