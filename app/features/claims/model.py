"""Vendor claims as they are answered."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from app.errors import BadInput, check_between
from app.estimating.documents import CheckWarning, Text
from app.estimating.request import Number, Schema
from app.estimating.schema import Document, Quantity, SourceRef
from app.features.studies.options import LEAST_SHARE

LEAST_MONEY = 1e-6
MOST_MONEY = 1e12
MOST_MACHINES = 1000.0

PRICES = {"m2000_price": "ipu-m2000", "pod64_price": "ipu-pod64", "dgx_price": "dgx-a100-320gb"}
"""Field → system whose price it states."""

POD, MACHINE = "ipu-pod64", "dgx-a100-320gb"
"""The two systems that are called equal in price and power."""


class ClaimsRequest(Schema):
    """Assumptions for evaluating vendor claims. Omitted fields come from the catalogue."""

    scaling_efficiency: Number = Field(
        1.0,
        description="Share of linear scaling that published figures reach if they were scaled up, not run.",
        examples=[0.85],
    )
    dgx_per_pod64: Number | None = Field(
        None,
        description="Number of DGX A100 that one IPU-POD64 equals in price and in power; the article says 3.",
        examples=[3],
    )
    pod64_price: Number | None = Field(
        None, description="Price of one IPU-POD64 with its hosts. [USD]", examples=[600_000]
    )
    dgx_price: Number | None = Field(None, description="Price of one DGX A100. [USD]", examples=[199_000])
    m2000_price: Number | None = Field(
        None, description="Price of one IPU-M2000 with its host. [USD]", examples=[57_450]
    )
    price_book_id: str | None = Field(
        None, max_length=80, description="Identifier of a price book of the workspace.", examples=[None]
    )


def check(assumptions: ClaimsRequest) -> None:
    """Refuse assumptions that cannot be, each at its field."""
    check_between("scaling_efficiency", assumptions.scaling_efficiency, LEAST_SHARE, 1)
    for name in PRICES:
        price = getattr(assumptions, name)
        if price is not None and not LEAST_MONEY <= price <= MOST_MONEY:
            raise BadInput.at(
                name,
                "the price must be above 0 and at most {most}, not {value}",
                value=price,
                most=MOST_MONEY,
            )
    if assumptions.dgx_per_pod64 is None:
        return
    check_between("dgx_per_pod64", assumptions.dgx_per_pod64, 1 / MOST_MACHINES, MOST_MACHINES)
    if assumptions.pod64_price is not None:
        raise BadInput.at(
            "pod64_price",
            "the equivalent number of DGX A100 already sets the price; leave one of the two empty",
        )


Verdict = Literal["survives", "shrinks", "does_not_survive", "not_comparable", "not_modelled"]

FootingVerdict = Literal["survives", "shrinks", "does_not_survive"]

FootingName = Literal[
    "as_claimed", "per_chip", "per_system", "per_dollar", "per_watt_typical", "per_watt_maximum"
]

Era = Literal["of_the_time", "later"]


class PhaseEstimate(Document):
    """Estimate of one training phase on one side of a claim."""

    phase: str = Field(description="Name of the phase.")
    samples: float = Field(description="Number of samples in the phase.")
    seq_len: int | None = Field(description="Sequence length of a sample. [tokens]")
    global_batch: int = Field(description="Samples per step over all accelerators.")
    micro_batch: int = Field(description="Samples per micro-batch.")
    precision: str = Field(description="Number format that the system uses.")
    software: str = Field(description="Identifier of the software profile.")
    throughput: Quantity = Field(description="Samples per second.")
    time: Quantity = Field(description="Duration of the phase.")
    validation: Literal["validated", "extrapolated", "unvalidated"]
    """Whether the estimate is covered by measured runs."""
    basis: str = Field(description="Basis for the batch, the precision and the number of samples.")
    source: SourceRef = Field(description="Source of these values.")
    request: dict[str, JsonValue] = Field(description="Request that reproduces the estimate.")


class ClaimSide(Document):
    """One side of a claim: its system, cost, power and training time."""

    system: str = Field(description="Identifier of the system.")
    name: str = Field(description="Name of the system.")
    count: int = Field(description="Number of units.")
    devices: int = Field(description="Number of accelerators in use.")
    chip: str = Field(description="Identifier of the chip.")
    time: Quantity = Field(description="Total time of all phases.")
    price: Quantity = Field(description="Price of one system, including hosts and switches.")
    power_typical: Quantity = Field(description="Power of one system under a training load.")
    power_maximum: Quantity = Field(description="Maximum power of one system.")
    published_hours: float | None
    """Time to train stated by the vendor; null if only a ratio is stated. [h]"""
    phases: list[PhaseEstimate] = Field(description="Estimates behind this side.")


class FootingRatio(Document):
    """Speed of the claimed side relative to the other, on one footing."""

    footing: FootingName = Field(description="What is held equal on both sides.")
    claimed: float = Field(description="Published ratio, restated on this footing by arithmetic alone.")
    ours: Quantity = Field(description="The estimated ratio.")
    exceeds_one: float = Field(description="Share of samples in which the claimed side is faster.")
    reaches_claim: float
    """Share of samples that reach the published ratio: restated for systems against systems, as
    published on the equal footings.
    """
    verdict: FootingVerdict
    """What the estimated range implies for the published ratio on this footing."""


class Reading(Document):
    """Estimate of a claim with software of one era."""

    era: Era = Field(description="Software era: nearest to the time of the claim, or the best later one.")
    claimed: ClaimSide = Field(description="Side that is claimed to be faster.")
    baseline: ClaimSide = Field(description="Side with which it is compared, as stated by the claim.")
    whole: ClaimSide = Field(description="Baseline in whole systems, as they are bought.")
    footings: list[FootingRatio] = Field(description="Ratio on each footing.")


class VendorClaim(Document):
    """A published ratio and the verdict on it."""

    id: str = Field(description="Identifier.")
    statement: Text = Field(description="Statement of the claim.")
    quote: str = Field(description="Sentence as published, in Chinese.")
    ratio: float = Field(description="Published ratio.")
    also: float | None
    """The same ratio as its hours imply, or as printed elsewhere in the source."""
    restated: float | None
    """The ratio at the requested scaling efficiency; null if nothing was scaled."""
    metric: Literal["time_to_train", "training_throughput", "unstated_throughput", "inference_throughput"]
    """Metric compared."""
    model: str = Field(description="Model that is run.")
    base: Text = Field(description="What is compared with what.")
    software_era: str = Field(description="Software behind the claim.")
    unclear: Text = Field(description="What the source leaves unclear.")
    source: SourceRef = Field(description="Source of the claim.")
    others: list[SourceRef] = Field(description="Other sources on the claim.")
    as_of: str = Field(description="Date of the claim.")
    verdict: Verdict = Field(description="Verdict on the claim.")
    sentence: Text = Field(description="Verdict in one sentence.")
    readings: list[Reading]
    """Estimates of both sides; in a list, only those with software of the time; empty if there are
    none.
    """
    warnings: list[CheckWarning] = Field(description="Warnings.")


class PublishedHours(Document):
    """A time to train, as published or as scaled or derived from a published one."""

    label: str = Field(description="System and count that ran, or would have run.")
    kind: Literal["vendor", "linear"] = Field(description="Origin of the figure; linear is an extrapolation.")
    hours: float = Field(description="Time to train. [h]")
    ceiling: bool = Field(description="True if it is the vendor's best case (“up to”).")
    system: str = Field(description="Identifier of the system.")
    count: int = Field(description="Number of units.")
    ours: Quantity | None = Field(description="Our estimate; null if there is none.")
    ratio: float = Field(description="Ratio of these hours to those of the claimed system.")


class ParityRow(Document):
    """Comparison of two allegedly equal systems in one quantity."""

    quantity: Literal["price", "power_typical", "power_maximum", "power_mixed"]
    """Quantity compared; mixed compares the typical power of one with the maximum power of the other."""
    claimed: Quantity = Field(description="Value for one IPU-POD64.")
    baseline: Quantity = Field(description="Value for three DGX A100.")
    ratio: Quantity = Field(description="Ratio of the first to the second.")
    holds: bool = Field(description="True if the range of the ratio contains 1.")


class Parity(Document):
    """Check of the claim “1 IPU-POD64 and 3 DGX A100 have about the same price and power”."""

    count: float = Field(description="Number of DGX A100 compared with one IPU-POD64.")
    assumed: bool = Field(description="True if the request assumes that they are equal.")
    rows: list[ParityRow] = Field(description="Price and power on each basis.")
    sentence: Text = Field(description="Verdict on the claim.")
    quote: str = Field(description="Sentence as published, in Chinese.")
    source: SourceRef = Field(description="Source of the claim.")


MeasuredVerdict = Literal["within_range", "above_range", "below_range"]


class MeasuredSide(Document):
    """One measured run of a ratio."""

    run: str = Field(description="Identifier of the measured run, as in the accuracy report.")
    system: str = Field(description="Identifier of the system.")
    name: str = Field(description="Name of the system.")
    measured_s: float = Field(description="Measured time to train. [s]")
    ours: Quantity = Field(description="Our estimate of the same run.")
    precision: str = Field(description="Number format of the products.")
    global_batch: int = Field(description="Samples per step over all accelerators.")
    software: str = Field(description="Identifier of the software profile.")
    software_used: str = Field(description="Software as the submission names it.")
    source: str = Field(description="Submission.")


class MeasuredRatio(Document):
    """Ratio of two measured submissions of one benchmark on as many accelerators."""

    id: str = Field(description="Identifier of the ratio.")
    model: str = Field(description="Benchmark that was run.")
    devices: int = Field(description="Number of accelerators on either side.")
    claimed: MeasuredSide = Field(description="Run whose speed is stated.")
    baseline: MeasuredSide = Field(description="Run it is compared with.")
    ratio: float = Field(description="Measured speed ratio, computed from both times.")
    ours: Quantity = Field(description="Our ratio of the same two runs, hence per chip.")
    per_dollar: Quantity | None = Field(description="Our ratio per dollar; null if a price is unknown.")
    per_watt_typical: Quantity | None = Field(description="Our ratio per watt of typical power.")
    verdict: MeasuredVerdict = Field(description="Where the measured ratio lies against our range.")


class VendorClaims(Document):
    """All vendor claims under one set of assumptions."""

    items: list[VendorClaim] = Field(description="Claims, in catalogue order.")
    measured: list[MeasuredRatio] = Field(description="Measured ratios.")
    next: str | None = Field(None, description="Always null: the list has only one page.")
    hours: list[PublishedHours] = Field(description="Published times to train, side by side.")
    parity: Parity = Field(description="Check of equal price and power.")
    assumptions: ClaimsRequest = Field(description="Requested assumptions.")
    catalog_version: str = Field(description="Version of the catalogue.")
    warnings: list[CheckWarning] = Field(description="Warnings that apply to all claims.")
