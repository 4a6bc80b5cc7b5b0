"""What is asked and answered about measured runs: a calibration, or whether a gain is worth it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, JsonValue, Tag

from app.estimating.documents import CheckWarning, PlanSummary, Text
from app.estimating.names import Name
from app.estimating.naming import FabricName, SystemName
from app.estimating.request import EstimateRequest, Number, PlanInput, Schema, SystemInput, Whole
from app.estimating.schema import Document, Quantity

MOST_RUNS = 20
LONGEST_NOTE = 500


class RunSystem(Schema):
    """System of a run: a separate one if ``id`` is given, otherwise the estimate's with changes."""

    id: SystemName | None = Field(None, examples=["dgx-a100-640gb"])
    """Identifier of a system; if omitted, the estimate's."""
    count: Whole | None = Field(None, description="Number of systems.", examples=[1])
    fabric: FabricName | None = Field(None, description="Identifier of a fabric.")
    ports_per_node: Whole | None = Field(None, description="Number of fabric ports per node.")
    streaming_memory_gb: Number | None = Field(None, description="Streaming memory per IPU machine. [GB]")


class RunWorkload(Schema):
    """Differences in the workload of a run from that of the estimate."""

    global_batch: Whole | None = Field(None, description="Samples per step over all devices.")
    seq_len: Whole | None = Field(None, description="Sequence length of a batch row. [tokens]")
    image_size: Whole | None = Field(None, description="Image size, as the length of a side. [pixels]")
    mean_tokens: Number | None = None
    """Mean number of real tokens per sample, if rows are packed."""
    precision: Literal["bf16", "fp16", "tf32", "fp32", "fp16.16"] | None = None
    """Number format."""


class CalibrationRun(Schema):
    """One measured run of the customer's model and code, as a step time or a throughput."""

    samples_per_s: Number | None = Field(None, ge=1e-6, le=1e12, examples=[1440.0])
    """Measured throughput; give exactly one measurement. [samples/s]"""
    step_time_s: Number | None = Field(
        None,
        ge=1e-6,
        le=1e7,
        description="Measured step time; give exactly one measurement. [s]",
        examples=[0.71],
    )
    step_time_ms: Number | None = Field(None, ge=1e-3, le=1e10, examples=[710.0])
    """Measured step time in milliseconds. [ms]"""
    tokens_per_s: Number | None = Field(None, ge=1e-6, le=1e15)
    """Measured tokens per second over all accelerators. [tokens/s]"""
    samples_per_s_per_device: Number | None = Field(None, ge=1e-6, le=1e12)
    """Measured throughput of one accelerator. [samples/s]"""
    tokens_per_s_per_device: Number | None = Field(None, ge=1e-6, le=1e12)
    """Measured tokens per second of one accelerator. [tokens/s]"""
    system: RunSystem | SystemName | None = None
    """System of the run: an identifier, or the differences from the estimate; if omitted, the system of the
    estimate.
    """
    workload: RunWorkload = RunWorkload()
    """Differences in workload from the estimate; if omitted, the workload of the estimate."""
    plan: PlanInput | None = None
    """Differences in the plan of the run from that of the estimate; if omitted, that of the estimate on the
    same number of devices, otherwise searched.
    """
    note: str | None = Field(None, max_length=LONGEST_NOTE, description="Who measured it and how.")

    @property
    def stated(self) -> list[str]:
        """Names of the measurements that are given."""
        return [name for name in MEASUREMENTS if getattr(self, name) is not None]

    def seconds(self, batch: float, tokens: float, devices: float) -> float:
        """Return the step time of a batch of samples of so many tokens on so many devices. [s]

        >>> run = CalibrationRun(tokens_per_s_per_device=1000.0)
        >>> run.seconds(batch=64.0, tokens=2000.0, devices=8.0)
        16.0
        """
        (name,) = self.stated
        value = float(getattr(self, name))
        if name.startswith("step_time"):
            return value / 1000.0 if name.endswith("_ms") else value
        work = batch * tokens if name.startswith("tokens") else batch
        return work / (value * (devices if name.endswith("_device") else 1.0))


MEASUREMENTS = (
    *("samples_per_s", "step_time_s", "step_time_ms", "tokens_per_s"),
    *("samples_per_s_per_device", "tokens_per_s_per_device"),
)
"""Fields of a run that say how fast it was, of which it gives one."""


class CalibrationRequest(Schema):
    """An estimate and the measured runs to calibrate it with."""

    estimate: EstimateRequest = Field(description="Estimate to calibrate.")
    runs: list[CalibrationRun] = Field(min_length=1, max_length=MOST_RUNS)
    """1 to 20 measured runs of the same model and code."""
    label: Name | None = Field(None, max_length=200, description="Name of the calibration.")
    study_id: str | None = Field(None, max_length=40)
    """Identifier of a study whose option was measured."""


Rate = Annotated[Number, Field(ge=1e-6, le=1e12)]
"""A throughput somebody measured; beyond these ends it is a slip of the pen. [samples/s]"""


class GainRequest(Schema):
    """Measured runs on alternatives of a system, such as two fabrics: is the dearer worth its price?"""

    system: SystemInput | SystemName = Field(examples=["dgx-a100-640gb"])
    """System of the runs, or its identifier."""
    reference: str = Field(max_length=100, examples=["roce"])
    """Label of the runs with which the others are compared."""
    threshold: Number = Field(0.05, ge=0, le=10, description="Gain below which the reference is recommended.")
    runs: dict[str, Annotated[list[Rate], Field(min_length=1, max_length=1000)]] = Field(
        min_length=2, max_length=8, description="Measured throughputs by label. [samples/s]"
    )
    label: Name | None = Field(None, max_length=200, description="Name of the result.")


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
    """A measured run with its predictions before and after the fit."""

    system: str = Field(description="Identifier of the system.")
    system_name: str = Field(description="Name.")
    count: int = Field(description="Number of systems.")
    devices: int = Field(description="Number of accelerators used.")
    fabric: str = Field(description="Identifier of the fabric.")
    global_batch: int = Field(description="Samples per step over all devices.")
    plan: PlanSummary = Field(description="Plan assumed for the run.")
    measured: float = Field(description="Measured step time. [s]")
    samples_per_s: float = Field(description="Measured throughput. [samples/s]")
    before: Quantity = Field(description="Predicted step time before the fit.")
    after: Quantity = Field(description="Predicted step time after the fit.")
    gap_before: float
    """Logarithm of predicted over measured step time before the fit; above 0 if the prediction is too slow.
    """
    gap_after: float = Field(description="The same, after the fit.")
    note: str | None = Field(description="Note on who measured it.")


IMPLAUSIBLE = 2.5
"""Prior standard deviations beyond which a figure or the mean gap is suspect (one in eighty by chance)."""


class MovedFigure(Document):
    """A figure before and after the fit; low and high are the 10th and 90th percentile."""

    parameter: str = Field(examples=["matrix_efficiency"])
    """Name of the figure; “offset” is the factor on every step that no figure explains."""
    unit: str = Field(description="SI unit.")
    prior: float = Field(description="Central value before the fit.")
    prior_low: float = Field(description="10th percentile before the fit.")
    prior_high: float = Field(description="90th percentile before the fit.")
    posterior: float = Field(description="Central value after the fit.")
    posterior_low: float = Field(description="10th percentile after the fit.")
    posterior_high: float = Field(description="90th percentile after the fit.")
    deviations: float = Field(description="Shift of the figure, in standard deviations of the prior.")
    narrowed: float = Field(description="Standard deviation after the fit relative to that before.")

    @property
    def implausible(self) -> bool:
        return abs(self.deviations) > IMPLAUSIBLE


class CalibrationCause(Document):
    """A cause of the gap between measured and predicted steps, with the number that it would need."""

    cause: Literal["software", "network", "input", "clocks", "layout", "batch", "slow_node"]
    """What would be other than stated."""
    text: Text
    """The cause with its number, and what to measure next, as a sentence."""
    needs: Quantity | None = None
    """What it would have to be: rate of the links of one machine, samples per second that the input of one
    machine feeds, share of the clock, factor on the batch, or how many times as slow one machine is.
    """
    usual: Quantity | None = None
    """What it is taken to be."""
    misfit: float
    """Chi-square of the runs with it, with a penalty for rare causes; the least is the most plausible."""


class Outlook(Document):
    """Result of the estimate with one software profile."""

    software: str = Field(description="Identifier of the profile.")
    step_time: Quantity | None = Field(description="Time per step; null if the model does not fit.")
    time_to_train: Quantity | None = Field(description="Time to train; null if the model does not fit.")


class CalibrationAnswer(Document):
    """A software profile fitted to measured runs, and its effect on the estimate."""

    kind: Literal["calibration"] = Field("calibration", description="Form of the request.")
    id: str = Field(description="Identifier.")
    name: str = Field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])
    engine_version: str = Field(description="Version of the engine.")
    catalog_version: str = Field(description="Version of the catalogue.")
    software: str
    """Identifier of the fitted profile, the same as that of the calibration. Usable as software in any
    request.
    """
    prior_software: str = Field(description="Identifier of the profile used as the prior.")
    estimate: dict[str, JsonValue] = Field(description="Request of the estimate to calibrate.")
    study_id: str | None = None
    """Identifier of the study whose option was measured; null if none was named."""
    gap_before: float
    """Mean of |ln(predicted / measured)| over the runs before the fit; if small, the relative
    difference.
    """
    gap_after: float = Field(description="The same, after the fit.")
    moved: list[MovedFigure]
    """Figures on which the runs give information, largest change first."""
    runs: list[CalibratedRun] = Field(description="Measured runs with their predictions.")
    before: Outlook = Field(description="Result before the fit.")
    after: Outlook = Field(description="Result with the fitted profile.")
    effective_parameters: float = Field(description="Effective number of figures that the runs determine.")
    spread_before: float
    """Standard deviation of the logarithm of the runs' predicted times due to uncertain figures,
    before the fit.
    """
    spread_after: float = Field(description="The same, after the fit.")
    causes: list[CalibrationCause] = Field(default_factory=list)
    """What explains the runs, the most plausible first; the software alone if it does."""
    warnings: list[CheckWarning] = Field(description="Warnings to consider when using the result.")


class GainOption(Document):
    """Measured runs under one label."""

    label: str = Field(description="Label of the alternative.")
    runs: list[float] = Field(description="Measured throughputs. [samples/s]")
    mean: float = Field(description="Mean of the runs. [samples/s]")
    deviation: float | None
    """Standard deviation of the runs; null for a single run. [samples/s]"""
    gain: float = Field(description="Mean throughput relative to that of the reference, minus one.")


class GainAnswer(Document):
    """Whether the gain of an alternative over the reference reaches the threshold."""

    kind: Literal["gain"] = Field("gain", description="Form of the request.")
    id: str = Field(description="Identifier.")
    name: str = Field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])
    system: str = Field(description="Identifier of the system.")
    reference: str = Field(description="Label of the reference, with which the others are compared.")
    threshold: float = Field(description="Gain below which the reference is recommended.")
    relative_gain: float
    """Gain of the fastest alternative over the reference, from mean throughputs."""
    gain_deviation: float | None
    """Standard deviation of that gain from the scatter of the runs; null if there are only single
    runs.
    """
    recommendation: str = Field(description="Label of the recommended alternative.")
    options: list[GainOption] = Field(description="Mean throughput and gain by label.")
    warnings: list[CheckWarning] = Field(description="Warnings to consider when using the result.")


AnyCalibration: TypeAlias = Annotated[CalibrationAnswer | GainAnswer, Field(discriminator="kind")]


class CalibrationSummary(Document):
    """Summary of a calibration in a list."""

    id: str = Field(description="Identifier of the calibration.")
    name: str = Field(description="Name.", examples=["BERT-large on 4 × IPU-POD64"])
    kind: Literal["calibration", "gain"] = Field(description="Form of the request.")
    software: str | None
    """Identifier of the fitted profile, for use in a request; null if none was fitted."""
    created_at: datetime = Field(description="Creation time.")


class StudyRuns(Document):
    """Measured runs of a study: its calibrations, and one of them in full."""

    study: str = Field(description="Identifier of the study.")
    option: str | None = Field(description="Key of the option that is measured; null if none can be.")
    calibrations: list[CalibrationSummary] = Field(description="Calibrations of the study, newest first.")
    fit: AnyCalibration | None = Field(description="Calibration that is shown; null if none is.")
