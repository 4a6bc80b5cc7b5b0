"""What is asked and answered about measured runs: a calibration, or whether a gain is worth it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, JsonValue, Tag

from app.estimating.documents import CheckWarning, PlanSummary
from app.estimating.request import EstimateRequest, Number, PlanInput, Schema, SystemInput, Whole
from app.estimating.schema import Document, Quantity

MOST_RUNS = 20
LONGEST_NOTE = 500


class RunSystem(Schema):
    """The system of a run: on its own where ``id`` is given, else the estimate's with changes."""

    id: str | None = Field(
        None, description="Identifier of a system; left out, the estimate's.", examples=["dgx-a100-640gb"]
    )
    count: Whole | None = Field(None, description="How many of the system.", examples=[1])
    fabric: str | None = Field(None, description="Identifier of a fabric.")
    ports_per_node: Whole | None = Field(None, description="Fabric ports of one node.")
    streaming_memory_gb: Number | None = Field(None, description="Streaming memory per IPU machine. [GB]")


class RunWorkload(Schema):
    """What of the workload a run had otherwise than the estimate."""

    global_batch: Whole | None = Field(None, description="Samples per step over all devices.")
    seq_len: Whole | None = Field(None, description="Length of a row of the batch. [tokens]")
    image_size: Whole | None = Field(None, description="Side of an image. [pixels]")
    mean_tokens: Number | None = Field(None, description="Real tokens of a sample where rows are packed.")
    precision: Literal["bf16", "fp16", "tf32", "fp32", "fp16.16"] | None = Field(
        None, description="Number format."
    )


class CalibrationRun(Schema):
    """One measured run of the customer's model and code: a step time or a throughput."""

    samples_per_s: Number | None = Field(
        None,
        ge=1e-6,
        le=1e12,
        description="Measured throughput; this or step_time_s. [samples/s]",
        examples=[1440.0],
    )
    step_time_s: Number | None = Field(
        None,
        ge=1e-6,
        le=1e7,
        description="Measured time of one step; this or samples_per_s. [s]",
        examples=[0.71],
    )
    system: RunSystem | str | None = Field(
        None, description="Where it ran: an identifier, or what was different; left out, as the estimate."
    )
    workload: RunWorkload = RunWorkload()
    """What of the workload was different; left out, as the estimate."""
    plan: PlanInput | None = None
    """How the model was laid out; left out, as the estimate on as many devices, else searched."""
    note: str | None = Field(None, max_length=LONGEST_NOTE, description="Who measured it, and how.")


class CalibrationRequest(Schema):
    """An estimate and the runs that say how good it is."""

    estimate: EstimateRequest = Field(description="What the runs are to make more certain.")
    runs: list[CalibrationRun] = Field(
        min_length=1, max_length=MOST_RUNS, description="1 to 20 measured runs of the same model and code."
    )
    label: str | None = Field(None, max_length=200, description="What to call the calibration.")


Rate = Annotated[Number, Field(ge=1e-6, le=1e12)]
"""A throughput somebody measured; beyond these ends it is a slip of the pen. [samples/s]"""


class GainRequest(Schema):
    """Measured runs on alternatives of a system, such as two fabrics: is the dearer one worth it?"""

    system: SystemInput | str = Field(
        description="The system they ran on, or its identifier.", examples=["dgx-a100-640gb"]
    )
    reference: str = Field(
        max_length=100, description="Label of the runs that others are held against.", examples=["roce"]
    )
    threshold: Number = Field(0.05, ge=0, le=10, description="Gain below which the reference is recommended.")
    runs: dict[str, Annotated[list[Rate], Field(min_length=1, max_length=1000)]] = Field(
        min_length=2, max_length=8, description="Measured throughputs by label. [samples/s]"
    )
    label: str | None = Field(None, max_length=200, description="What to call the answer.")


def form_of(value: Any) -> str:
    """Tell the two forms apart: runs by label belong to a gain, runs with an estimate calibrate."""
    if isinstance(value, dict):
        gain = "estimate" not in value and ("reference" in value or isinstance(value.get("runs"), dict))
        return "(gain)" if gain else "(calibration)"
    return "(gain)" if isinstance(value, GainRequest) else "(calibration)"


AnyCalibrationRequest: TypeAlias = Annotated[
    Annotated[CalibrationRequest, Tag("(calibration)")] | Annotated[GainRequest, Tag("(gain)")],
    Discriminator(form_of),
]


class CalibratedRun(Document):
    """A measured run beside what is predicted of it before and after."""

    system: str = Field(description="Identifier of the system.")
    system_name: str = Field(description="Its name.")
    count: int = Field(description="How many of it.")
    devices: int = Field(description="Accelerators used.")
    fabric: str = Field(description="Identifier of the fabric.")
    global_batch: int = Field(description="Samples per step over all devices.")
    plan: PlanSummary = Field(description="How the model was taken to be laid out.")
    measured: float = Field(description="Measured step time. [s]")
    samples_per_s: float = Field(description="Measured throughput. [samples/s]")
    before: Quantity = Field(description="Step time predicted before.")
    after: Quantity = Field(description="Step time predicted after.")
    gap_before: float = Field(
        description="Logarithm of predicted over measured step time before; above 0 predicts too slow."
    )
    gap_after: float = Field(description="The same after.")
    note: str | None = Field(description="Note of who measured it.")


class MovedFigure(Document):
    """A figure before and after; low and high are the 10th and 90th percentile."""

    parameter: str = Field(
        description="Name of the figure; “offset” is the factor on every step that no figure explains.",
        examples=["matrix_efficiency"],
    )
    unit: str = Field(description="SI unit.")
    prior: float = Field(description="Central value before.")
    prior_low: float = Field(description="10th percentile before.")
    prior_high: float = Field(description="90th percentile before.")
    posterior: float = Field(description="Central value after.")
    posterior_low: float = Field(description="10th percentile after.")
    posterior_high: float = Field(description="90th percentile after.")
    deviations: float = Field(description="How far it moved, in standard deviations of the prior.")
    narrowed: float = Field(description="Standard deviation after over before.")


class Outlook(Document):
    """What the estimate says with one software profile."""

    software: str = Field(description="Identifier of the profile.")
    step_time: Quantity | None = Field(description="Time of one step; null where the model does not fit.")
    time_to_train: Quantity | None = Field(description="Time of the run; null where it does not fit.")


class CalibrationAnswer(Document):
    """A software profile fitted to measured runs, and what it changes."""

    kind: Literal["calibration"] = "calibration"
    """Which of the two forms was asked."""
    id: str
    """Identifier."""
    label: str
    """What it is called."""
    engine_version: str
    """Version of the formulas."""
    catalog_version: str
    """Version of the figures."""
    software: str
    """Identifier of the fitted profile, to name in any request: that of the calibration."""
    prior_software: str
    """Identifier of the profile it started from."""
    estimate: dict[str, JsonValue]
    """The request of the estimate that was asked about."""
    gap_before: float
    """Mean over the runs of |ln(predicted / measured)| before; near 0, the relative difference."""
    gap_after: float
    """The same after."""
    moved: list[MovedFigure]
    """Figures that the runs tell something about, the furthest moved first."""
    runs: list[CalibratedRun]
    """The runs with what is predicted of them."""
    before: Outlook
    """The estimate as it was."""
    after: Outlook
    """The estimate with the fitted profile."""
    effective_parameters: float
    """How many figures the runs determine."""
    spread_before: float
    """Log-deviation of the runs' predicted times that uncertain figures make, before."""
    spread_after: float
    """The same after."""
    warnings: list[CheckWarning]
    """What has to be known to use it."""


class GainOption(Document):
    """The runs under one label."""

    label: str
    """The label."""
    runs: list[float]
    """Measured throughputs. [samples/s]"""
    mean: float
    """Their mean. [samples/s]"""
    deviation: float | None
    """Their standard deviation; null for a single run. [samples/s]"""
    gain: float
    """Mean over that of the reference, less one."""


class GainAnswer(Document):
    """Whether an alternative gains enough over the reference."""

    kind: Literal["gain"] = "gain"
    """Which of the two forms was asked."""
    id: str
    """Identifier."""
    label: str
    """What it is called."""
    system: str
    """Identifier of the system."""
    reference: str
    """Label that others are held against."""
    threshold: float
    """Gain below which the reference is recommended."""
    relative_gain: float
    """Gain of the means of the fastest alternative over the reference."""
    gain_deviation: float | None
    """Standard deviation of that gain from the scatter of the runs; null with single runs."""
    recommendation: str
    """The label that is recommended."""
    options: list[GainOption]
    """Means and gains by label."""
    warnings: list[CheckWarning]
    """What has to be known to use it."""


AnyCalibration: TypeAlias = Annotated[CalibrationAnswer | GainAnswer, Field(discriminator="kind")]


class CalibrationSummary(Document):
    """One line of the list of calibrations."""

    id: str = Field(description="Identifier of the calibration.")
    label: str = Field(description="Its name.")
    kind: Literal["calibration", "gain"] = Field(description="Which of the two forms was asked.")
    software: str | None = Field(description="Profile to name in a request; null where none was fitted.")
    created_at: datetime = Field(description="When it was made.")
