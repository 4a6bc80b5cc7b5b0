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
        description="Share of linear scaling that published figures reach which were scaled up, not run.",
        examples=[0.85],
    )
    dgx_per_pod64: Number | None = Field(
        None,
        description="DGX A100 that one IPU-POD64 equals in price and in power; the article says 3.",
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
        None, max_length=80, description="Identifier of a workspace's own prices.", examples=[None]
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
    """A claim estimated with software of one time."""

    era: Era
    """Software nearest to the time of the claim, or the best later one."""
    claimed: ClaimSide
    """The side that is claimed to be faster."""
    baseline: ClaimSide
    """What it is compared with, as the claim states it."""
    whole: ClaimSide
    """The baseline in whole systems, as they are bought."""
    footings: list[FootingRatio]
    """The ratio on each footing."""


class VendorClaim(Document):
    """One published ratio and what becomes of it."""

    id: str
    """Identifier."""
    statement: Text
    """What is claimed."""
    quote: str
    """Sentence as published, in Chinese."""
    ratio: float
    """The ratio as published."""
    also: float | None
    """The same ratio as its hours give it, or as it is printed elsewhere in the source."""
    restated: float | None
    """The ratio at the scaling efficiency asked for; null where nothing was scaled."""
    metric: Literal["time_to_train", "training_throughput", "unstated_throughput", "inference_throughput"]
    """What is compared."""
    model: str
    """What is run."""
    base: Text
    """What is set against what."""
    software_era: str
    """Software of the claim."""
    unclear: Text
    """What the source leaves open."""
    source: SourceRef
    """Source of the claim."""
    others: list[SourceRef]
    """What else is known of it."""
    as_of: str
    """Date of the claim."""
    verdict: Verdict
    """Verdict on the claim."""
    sentence: Text
    """The verdict in a sentence."""
    readings: list[Reading]
    """Estimates of both sides, in a list those with software of the time; empty where there is none."""
    warnings: list[CheckWarning]
    """Warnings."""


class PublishedHours(Document):
    """One time to train as it was published, scaled or derived from what was."""

    label: str
    """What ran, or would have run."""
    kind: Literal["vendor", "linear"]
    """Who says so; linear is an extrapolation."""
    hours: float
    """Time to train. [h]"""
    ceiling: bool
    """True for a best case of the vendor: “up to”."""
    system: str
    """Identifier of the system."""
    count: int
    """Number of units."""
    ours: Quantity | None
    """The estimate; null where there is none."""
    ratio: float
    """Its hours over those of the claimed system."""


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
    """The claims in the order of the catalogue."""
    next: str | None = None
    """The list is short: there is never a next part."""
    hours: list[PublishedHours]
    """The published times to train side by side."""
    parity: Parity
    """Equal price and power, looked at."""
    assumptions: ClaimsRequest
    """What was asked to be assumed."""
    catalog_version: str
    """Version of the catalogue."""
    warnings: list[CheckWarning]
    """What to beware of in all of them."""
