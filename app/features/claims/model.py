"""Vendor claims as they are answered."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from app.errors import BadInput
from app.estimating.documents import CheckWarning, Text
from app.estimating.request import Number, Schema
from app.estimating.schema import Document, Quantity, SourceRef
from app.features.comparisons.model import LEAST_SHARE

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


def check(asked: ClaimsRequest) -> None:
    """Refuse assumptions that cannot be, each at its field."""
    _check_bounds("scaling_efficiency", asked.scaling_efficiency, LEAST_SHARE, 1)
    for name in PRICES:
        price = getattr(asked, name)
        if price is not None and not LEAST_MONEY <= price <= MOST_MONEY:
            raise BadInput.at(
                name,
                "the price must be above 0 and at most {most}, not {value}",
                value=price,
                most=MOST_MONEY,
            )
    if asked.dgx_per_pod64 is None:
        return
    _check_bounds("dgx_per_pod64", asked.dgx_per_pod64, 1 / MOST_MACHINES, MOST_MACHINES)
    if asked.pod64_price is not None:
        raise BadInput.at(
            "pod64_price",
            "the equivalent number of DGX A100 already sets the price; leave one of the two empty",
        )


def _check_bounds(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise BadInput.at(
            name, "must be between {least} and {most}, not {value}", least=least, most=most, value=value
        )


Verdict = Literal["survives", "shrinks", "does_not_survive", "not_comparable", "not_modelled"]

FootingVerdict = Literal["survives", "shrinks", "does_not_survive"]

FootingName = Literal[
    "as_claimed", "per_chip", "per_system", "per_dollar", "per_watt_typical", "per_watt_maximum"
]

Era = Literal["of_the_time", "later"]


class PhaseEstimate(Document):
    """Estimate of one training phase on one side of a claim."""

    phase: str
    """Name of the phase."""
    samples: float
    """Number of samples in the phase."""
    seq_len: int | None
    """Sequence length of a sample. [tokens]"""
    global_batch: int
    """Samples per step over all accelerators."""
    micro_batch: int
    """Samples per micro-batch."""
    precision: str
    """Number format that the system uses."""
    software: str
    """Identifier of the software profile."""
    throughput: Quantity
    """Samples per second."""
    time: Quantity
    """Duration of the phase."""
    validation: Literal["validated", "extrapolated", "unvalidated"]
    """Whether the estimate is covered by measured runs."""
    basis: str
    """Basis for the batch, the precision and the number of samples."""
    source: SourceRef
    """Source of these values."""
    request: dict[str, JsonValue]
    """Request that reproduces the estimate."""


class ClaimSide(Document):
    """One side of a claim: its system, cost, power and training time."""

    system: str
    """Identifier of the system."""
    name: str
    """Name of the system."""
    count: int
    """Number of units."""
    devices: int
    """Number of accelerators in use."""
    chip: str
    """Identifier of the chip."""
    time: Quantity
    """Total time of all phases."""
    price: Quantity
    """Price of one system, including hosts and switches."""
    power_typical: Quantity
    """Power of one system under a training load."""
    power_maximum: Quantity
    """Maximum power of one system."""
    published_hours: float | None
    """Time to train stated by the vendor; null if only a ratio is stated. [h]"""
    phases: list[PhaseEstimate]
    """Estimates behind this side."""


class FootingRatio(Document):
    """Speed of the claimed side relative to the other, on one footing."""

    footing: FootingName
    """What is held equal on both sides."""
    claimed: float
    """Published ratio, restated on this footing by arithmetic alone."""
    ours: Quantity
    """The estimated ratio."""
    exceeds_one: float
    """Share of samples in which the claimed side is faster."""
    reaches_claim: float
    """Share of samples that reach the published ratio: restated for systems against systems, as
    published on the equal footings.
    """
    verdict: FootingVerdict
    """What the estimated range implies for the published ratio on this footing."""


class Reading(Document):
    """Estimate of a claim with software of one era."""

    era: Era
    """Software era: nearest to the time of the claim, or the best later one."""
    claimed: ClaimSide
    """Side that is claimed to be faster."""
    baseline: ClaimSide
    """Side with which it is compared, as stated by the claim."""
    whole: ClaimSide
    """Baseline in whole systems, as they are bought."""
    footings: list[FootingRatio]
    """Ratio on each footing."""


class VendorClaim(Document):
    """A published ratio and the verdict on it."""

    id: str
    """Identifier."""
    statement: Text
    """Statement of the claim."""
    quote: str
    """Sentence as published, in Chinese."""
    ratio: float
    """Published ratio."""
    also: float | None
    """The same ratio as its hours imply, or as printed elsewhere in the source."""
    restated: float | None
    """The ratio at the requested scaling efficiency; null if nothing was scaled."""
    metric: Literal["time_to_train", "training_throughput", "unstated_throughput", "inference_throughput"]
    """Metric compared."""
    model: str
    """Model that is run."""
    base: Text
    """What is compared with what."""
    software_era: str
    """Software behind the claim."""
    unclear: Text
    """What the source leaves unclear."""
    source: SourceRef
    """Source of the claim."""
    others: list[SourceRef]
    """Other sources on the claim."""
    as_of: str
    """Date of the claim."""
    verdict: Verdict
    """Verdict on the claim."""
    sentence: Text
    """Verdict in one sentence."""
    readings: list[Reading]
    """Estimates of both sides; in a list, only those with software of the time; empty if there are
    none.
    """
    warnings: list[CheckWarning]
    """Warnings."""


class PublishedHours(Document):
    """A time to train, as published or as scaled or derived from a published one."""

    label: str
    """System and count that ran, or would have run."""
    kind: Literal["vendor", "linear"]
    """Origin of the figure; linear is an extrapolation."""
    hours: float
    """Time to train. [h]"""
    ceiling: bool
    """True if it is the vendor's best case (“up to”)."""
    system: str
    """Identifier of the system."""
    count: int
    """Number of units."""
    ours: Quantity | None
    """Our estimate; null if there is none."""
    ratio: float
    """Ratio of these hours to those of the claimed system."""


class ParityRow(Document):
    """Comparison of two allegedly equal systems in one quantity."""

    quantity: Literal["price", "power_typical", "power_maximum", "power_mixed"]
    """Quantity compared; mixed compares the typical power of one with the maximum power of the other."""
    claimed: Quantity
    """Value for one IPU-POD64."""
    baseline: Quantity
    """Value for three DGX A100."""
    ratio: Quantity
    """Ratio of the first to the second."""
    holds: bool
    """True if the range of the ratio contains 1."""


class Parity(Document):
    """Check of the claim “1 IPU-POD64 and 3 DGX A100 have about the same price and power”."""

    count: float
    """Number of DGX A100 compared with one IPU-POD64."""
    assumed: bool
    """True if the request assumes that they are equal."""
    rows: list[ParityRow]
    """Price and power on each basis."""
    sentence: Text
    """Verdict on the claim."""
    quote: str
    """Sentence as published, in Chinese."""
    source: SourceRef
    """Source of the claim."""


class VendorClaims(Document):
    """All vendor claims under one set of assumptions."""

    items: list[VendorClaim]
    """Claims, in catalogue order."""
    next: str | None = None
    """Always null: the list has only one page."""
    hours: list[PublishedHours]
    """Published times to train, side by side."""
    parity: Parity
    """Check of equal price and power."""
    assumptions: ClaimsRequest
    """Requested assumptions."""
    catalog_version: str
    """Version of the catalogue."""
    warnings: list[CheckWarning]
    """Warnings that apply to all claims."""
