"""Documents of the measured runs that a proposal names."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.estimating.documents import Text
from app.estimating.schema import Document, Quantity, SourceRef


class WeighedOption(Document):
    """One alternative or network that was measured, or compared with a measured one."""

    label: str = Field(description="Name.")
    fabric: str | None = Field(description="Identifier of the fabric; null if only a label is known.")
    runs: list[float] = Field(description="Measured throughputs. [samples/s]")
    mean: float | None = Field(description="Mean of the measured throughputs; null without runs. [samples/s]")
    deviation: float | None
    """Standard deviation of the measured throughputs; null with fewer than two runs. [samples/s]"""
    predicted: Quantity | None = Field(description="Throughput predicted without the measured runs.")
    gap: float | None = Field(description="Logarithm of predicted over measured throughput.")
    gain: float = Field(description="Throughput relative to that of the reference, minus one.")
    price: Quantity | None = Field(description="Purchase price of the network; null if unknown.")
    switches: int | None = Field(description="Number of switches in the network.")
    cables: int | None = Field(description="Number of cables in the network.")


class OmittedPart(Document):
    """A part of the network that is not bought."""

    item: str = Field(description="Identifier of the item in the catalogue.")
    name: str = Field(description="Name.")
    count: int = Field(description="Number of units.")
    unit_price: Quantity | None = Field(description="Unit price; null if none is published.")
    source: SourceRef | None = Field(description="Source of the price.")


class GainFound(Document):
    """Whether the gain of an alternative justifies its price, and the runs behind the answer."""

    basis: Literal["runs", "networks"]
    """“runs”: measured alternatives only; “networks”: with the parts and prices of the networks."""
    label: str = Field(description="What was compared.")
    calibration_id: str | None
    """Identifier of the calibration with the measured runs; null for networks."""
    system: str = Field(description="Identifier of the system.")
    reference: str = Field(description="Label of the alternative relative to which gains are stated.")
    taken: str = Field(description="Label of the recommended alternative.")
    against: str | None
    """Label of the alternative it is compared with; null if nothing else was compared."""
    worth: bool
    """Whether the gain of the dearer or faster alternative reaches the threshold."""
    threshold: float = Field(description="Gain below which the alternative is not worth its price.")
    gain: Quantity | None = Field(description="Gain of one alternative over the other.")
    sentence: Text = Field(description="Recommendation in one sentence.")
    more: list[Text] = Field(description="Further remarks.")
    options: list[WeighedOption] = Field(description="Alternatives compared, with their runs.")
    money_saved: Quantity | None
    """Price of the network not recommended less that of the recommended one."""
    switches_saved: int | None = Field(description="Number of switches not bought.")
    cables_saved: int | None = Field(description="Number of cables not bought.")
    left_out: list[OmittedPart] = Field(description="Parts of the network that is not recommended.")


class FittedRun(Document):
    """A measured run with its predictions."""

    label: str = Field(description="System of the run.")
    note: str | None = Field(description="Who measured it and how.")
    measured: float = Field(description="Measured step time. [s]")
    samples_per_s: float = Field(description="Measured throughput. [samples/s]")
    before: Quantity = Field(description="Predicted step time before the fit.")
    after: Quantity = Field(description="Predicted step time after the fit.")
    gap_before: float = Field(description="Logarithm of predicted over measured step time before the fit.")
    gap_after: float = Field(description="The same, after the fit.")


class FitFound(Document):
    """A software profile fitted to the customer's runs."""

    calibration_id: str = Field(description="Identifier of the calibration.")
    label: str = Field(description="Name.")
    prior_software: str = Field(description="Identifier of the profile used as the prior.")
    gap_before: float = Field(description="Mean of |ln(predicted / measured)| over the runs before the fit.")
    gap_after: float = Field(description="The same, after the fit.")
    runs: list[FittedRun] = Field(description="Measured runs.")


class Evidence(Document):
    """The customer's own runs and the conclusions from them."""

    gains: list[GainFound] = Field(description="Whether alternatives are worth their price.")
    fit: FitFound | None = Field(description="Profile fitted to the runs; null if none is named.")
