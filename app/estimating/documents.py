"""What is answered: the estimate as one document that page, JSON, CSV and PDF all render."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from app.errors import Message
from app.estimating.money import Cost
from app.estimating.schema import Document, Quantity, SourceRef

Severity = Literal["info", "caution", "serious"]

SEVERITIES: tuple[Severity, ...] = ("serious", "caution", "info")
"""The gravest first."""


class Text(Document):
    """A sentence in English, with its template and values for translation."""

    template: str
    """Template of the sentence with named placeholders; the key of its translations."""
    values: dict[str, JsonValue] = Field(default_factory=dict)
    """Values of the placeholders."""
    message: str
    """Sentence in English."""

    @classmethod
    def of(cls, message: Message) -> Text:
        """Return the sentence of a message; nested messages become their own text."""
        values: dict[str, JsonValue] = {}
        for name, value in message.values.items():
            if isinstance(value, Message):
                values[name] = cls.of(value).model_dump()
            elif isinstance(value, bool | int | float):
                values[name] = value
            else:
                values[name] = str(value)
        return cls(template=message.template, values=values, message=str(message))

    def as_message(self) -> Message:
        """Return the sentence as a message, its nested texts too."""
        nested = {
            name: Text.model_validate(value).as_message() if isinstance(value, dict) else value
            for name, value in self.values.items()
        }
        return Message(self.template, nested)


class CheckWarning(Document):
    """Result of a named check."""

    code: str
    """Name of the check."""
    severity: Severity
    """Severity."""
    message: str
    """Sentence in English."""
    fields: list[str]
    """Fields of the request or the answer to which it applies."""
    text: Text
    """Sentence with its template and values, for translation."""

    @classmethod
    def of(cls, code: str, severity: Severity, message: Message, *fields: str) -> CheckWarning:
        text = Text.of(message)
        return cls(code=code, severity=severity, message=text.message, fields=list(fields), text=text)


def serious(code: str, fields: str | Sequence[str], template: str, **values: object) -> CheckWarning:
    return _warning(code, "serious", fields, Message(template, values))


def caution(code: str, fields: str | Sequence[str], template: str, **values: object) -> CheckWarning:
    return _warning(code, "caution", fields, Message(template, values))


def info(code: str, fields: str | Sequence[str], template: str, **values: object) -> CheckWarning:
    return _warning(code, "info", fields, Message(template, values))


def _warning(code: str, severity: Severity, fields: str | Sequence[str], message: Message) -> CheckWarning:
    return CheckWarning.of(code, severity, message, *([fields] if isinstance(fields, str) else fields))


class Default(Document):
    """A default value that was used, and why."""

    field: str
    """Dotted path of the field in the request."""
    value: JsonValue
    """Value used."""
    why: str
    """Reason, in English."""
    text: Text
    """Reason with its template and values, for translation."""

    @classmethod
    def of(cls, field: str, value: JsonValue, message: Message) -> Default:
        text = Text.of(message)
        return cls(field=field, value=value, why=text.message, text=text)


class MemoryPart(Document):
    """One component of device memory."""

    part: str
    """Name of the part."""
    value: float
    """Size of the component on the fullest device. [B]"""


class Memory(Document):
    """Memory of the fullest device."""

    per_device: Quantity
    """Memory in use on the fullest device."""
    capacity: Quantity
    """Memory of one device."""
    usable: Quantity | None = None
    """Memory of one device that a plan may use; the rest is reserved for what no formula covers."""
    parts: list[MemoryPart]
    """Components of the memory in use."""
    streaming: Quantity | None
    """Host or streaming memory in use per device."""
    streaming_capacity: Quantity | None
    """Host or streaming memory available per device."""


class Part(Document):
    """One component of a run or of a step."""

    part: str
    """Name of the part."""
    seconds: float
    """Duration of the component. [s]"""


class RooflinePoint(Document):
    """One operator on the roofline."""

    operator: str
    """Name of the operator."""
    intensity: float
    """Arithmetic intensity: operations per byte moved. [FLOP/B]"""
    attained: float
    """Attained rate. [FLOP/s]"""
    bound: Literal["compute", "memory", "exchange", "latency"]
    """What limits it."""
    seconds: float
    """Time of the operator in one step. [s]"""


class Roofline(Document):
    """Roofline of a device."""

    peak: float
    """Matrix peak of one device. [FLOP/s]"""
    bandwidth: float
    """Bandwidth that sets the slope. [B/s]"""
    bandwidth_name: str
    """Name of the bandwidth that sets the slope."""


class Sensitivity(Document):
    """Contribution of one uncertain input to the range of the time to train, from the same samples."""

    input: str
    """Name of the input; “residual” is what the figures of the software profile do not explain."""
    low: float
    """10th percentile if only this input were uncertain, within the range of the time. [s]"""
    high: float
    """90th percentile if only this input were uncertain. [s]"""
    share: float = 0.0
    """Share of the variance of the time; all shares add up to one."""
    effect: float | None = None
    """Relative change of the time per standard deviation of the input; null for the residual."""


class NearestRun(Document):
    """A measured run close to the estimate."""

    id: str
    """Identifier of the measured run."""
    model: str
    """Name of the model."""
    system: str
    """System that the model is trained on."""
    accelerators: int
    """Number of accelerators."""
    software: str
    """Software of the run."""
    distance: float
    """Distance from the estimate; 0 for the same case."""
    family: str = ""
    """Model family."""
    metric: str = ""
    """Measured quantity, named as in the columns of data/validation/predictions.csv."""
    measured: float | None = None
    """Measured value, in the unit of the metric."""
    predicted: float | None = None
    """Predicted value for that run; null if the run was refused."""


class OutsideRun(Document):
    """A measured run of the same model, system and size that lies outside the range of the estimate."""

    id: str
    """Identifier of the measured run."""
    model: str
    """Name of the model."""
    software: str
    """Software as stated by the run."""
    profile: str | None
    """Software profile of the run, for requesting the estimate with it; null if the estimate already
    uses it.
    """
    title: str = ""
    """Name of that profile."""
    metric: str
    """Measured quantity, named as in the columns of data/validation/predictions.csv."""
    measured: float
    """Measured value, in the unit of the metric."""
    range: Quantity
    """Range of the estimate, in the same unit."""
    reasons: list[Literal["software", "global_batch", "plan"]]
    """Differences between the run and the estimate; empty if there are none."""


Basis = Literal["own_runs", "measured_here", "software_elsewhere", "chip_elsewhere", "data_sheet"]


class BasisError(Document):
    """Error of comparable measured runs that were left out of the fit in the way that fits the basis."""

    left_out: Literal["laboratory", "chip"]
    """What was left out with each run: all runs of its laboratory, or all runs of its chip."""
    families: Literal["core", "other"]
    """Runs of the families with the most measured runs (BERT, GPT, LLaMA, ResNet-50), or of the others."""
    chips: Literal["fitted", "newer"]
    """Runs of the chips that software figures are fitted on (A100 and IPUs), or of the others."""
    runs: int
    """Number of runs."""
    groups: int
    """Number of groups of equal machines; each counts once."""
    median: float
    """Median of |ln(predicted/measured)|."""
    ninetieth: float
    """90th percentile of |ln(predicted/measured)|."""


class ThreeSteps(Document):
    """What three measured steps of one's own make of the range."""

    now: float
    """Half the range of the time to train, over its value."""
    after: float
    """The same once three steps of this plan have been measured and calibrated with."""
    text: Text | None = None
    """Advice to measure them; null in answers of version 0.1.0."""


class Validation(Document):
    """How closely measured runs support the estimate."""

    nearest_measured: list[NearestRun]
    """Measured runs close to the estimate."""
    family_error: float | None
    """Median of |ln(predicted/measured)| over the family's measured runs on the chip, using the
    software of each run if it was named, and the default if it was presumed.
    """
    status: Literal["validated", "extrapolated", "unvalidated"]
    """Whether the estimate is covered by measured runs."""
    basis: Basis | None = None
    """What the estimate rests on: own_runs (calibrated with runs of the workspace), measured_here (runs of
    this family on this series of chips with this software), software_elsewhere (runs of the software, but not
    of this family on this chip), chip_elsewhere (runs of the chip, but not with this software, or none is
    named) or data_sheet (no run of the chip); null if only the compute is given.
    """
    basis_text: Text | None = None
    """The basis and its error as a sentence."""
    basis_error: BasisError | None = None
    """Error of comparable runs; null for own_runs, which have their own."""
    three_steps: ThreeSteps | None = None
    """What three measured steps gain; null where the range narrows by a fifth or less."""
    software_presumed: bool = False
    """True if no software was given and the default is used."""
    compared: int = 0
    """Number of measured runs of the same model, system and size that can be compared with the
    estimate.
    """
    outside_count: int = 0
    """Number of these runs that lie outside the range of the estimate."""
    contradicted: bool = False
    """True if more than one in five at a similar batch lies outside, among the runs of the software
    that was given, or among all runs if it is presumed.
    """
    outside: list[OutsideRun] = Field(default_factory=list)
    """One run outside the range for each software, the one that differs least in other ways, furthest
    first; at most three.
    """


class MeasuredEffect(Document):
    """Factor on the time of a step from what measured runs take beyond what is computed."""

    kind: str
    """What the runs have in common: architecture, chip, software or family."""
    name: str
    """Architecture, chip, software profile or model family."""
    factor: float
    """Measured time over computed time, all else alike."""
    deviation: float
    """Log-deviation of the factor."""
    runs: int
    """Number of measured runs it rests on."""
    groups: int
    """Number of groups of equal machines among them."""
    text: Text
    """The factor as a sentence."""
    source: SourceRef
    """Source of the factor."""


class Amount(Document):
    """A value with its unit."""

    value: float
    """Value in the unit."""
    unit: str
    """SI unit; of money, in the currency's code, such as USD/s."""


class TraceStep(Document):
    """One formula with its inputs, value and sources."""

    name: str
    """Name of the computed figure."""
    formula: str
    """The formula."""
    inputs: dict[str, JsonValue]
    """Inputs, by name, in the units in which the catalogue and the request state them."""
    quantities: dict[str, Amount] = Field(default_factory=dict)
    """The same inputs in SI units, where they are numbers."""
    value: float
    """Value."""
    unit: str
    """SI unit of the value."""
    reference: str
    """Publication that contains the formula."""
    source: list[SourceRef]
    """Sources of the inputs."""


class ModelSummary(Document):
    """Resolved model."""

    id: str
    """Identifier of the preset or profile."""
    name: str
    """Name."""
    family: str
    """Model family with the closest measured runs."""
    parameters: float
    """Parameter count, summed over the operators."""
    kind: str = "pretrain"
    """Kind of training: pretrain, continue, finetune, lora, qlora, dpo, ppo or grpo."""
    trained_parameters: float | None = None
    """Number of trained parameters: those of the adapters for lora and qlora, otherwise all."""
    forward_flop_per_sample: float
    """Compute of the forward pass of one sample. [FLOP]"""
    seq_len: int | None
    """Sequence length of a sample. [tokens]"""
    image_size: int | None
    """Image size, as the length of a side. [pixels]"""
    assumptions: list[Text]
    """Assumptions made where the description gives no value."""


class SystemSummary(Document):
    """Resolved system."""

    id: str
    """Identifier."""
    name: str
    """Name."""
    count: int
    """Number of units."""
    machines: int
    """Total number of machines."""
    devices: int
    """Total number of accelerators."""
    chip: str
    """Identifier of the chip."""
    fabric: str
    """Identifier of the fabric."""
    ports_per_node: int | None
    """Number of fabric ports per node."""
    generation: str
    """Generation of the chip."""
    power: Quantity | None
    """Power under the training load."""
    rack_units: float | None
    """Total height in the rack. [U]"""


class PlanSummary(Document):
    """Complete plan, with every choice."""

    tensor: int
    """Tensor-parallel degree: devices that share each layer."""
    pipeline: int
    """Number of pipeline stages."""
    data: int
    """Data-parallel degree: replicas of the model."""
    micro_batch: int
    """Samples per micro-batch."""
    accumulation: int
    """Micro-batches per step and replica (gradient accumulation)."""
    global_batch: int
    """Samples per step."""
    interleave: int
    """Model chunks per pipeline stage (interleaving)."""
    recompute: str
    """Activations that the backward pass recomputes."""
    recompute_layers: int | None = None
    """Layers whose activations are recomputed whole, where that is a part of them."""
    sequence_parallel: bool
    """Whether tensor ranks also split the tokens (sequence parallelism)."""
    sharding: str
    """State that replicas shard instead of each holding a full copy."""
    sharding_ranks: int
    """Number of replicas that share one sharded copy."""
    expert: int = 1
    """Expert-parallel degree: replicas over which the experts of a layer are distributed."""
    context: int = 1
    """Context-parallel degree: devices that share the tokens of each sample."""
    offload: bool
    """Whether the optimizer state is offloaded from the device."""
    offload_parameters: bool = False
    """Whether the weights are offloaded to host memory."""
    offload_activations: bool = False
    """Whether the activations that wait for the backward pass are offloaded to host memory."""
    rts: int
    """IPU: number of replicas over which weights are sharded."""
    rts_optimizer: int
    """IPU: number of replicas over which the optimizer state is sharded."""
    phases: int
    """IPU: number of phases per stage."""
    stage_layers: list[int]
    """Number of layers of each stage."""
    idle_machines: int = 0
    """Number of machines in the system that the plan does not use."""
    searched: list[str]
    """Fields that were searched, not given in the request."""


class PipelineSchedule(Document):
    """Pipeline schedule of the micro-batches of one step."""

    kind: Literal["one_forward_one_backward", "interleaved", "lockstep"]
    """Order of the passes: one forward, one backward (1F1B); interleaved 1F1B; or supersteps in
    lockstep.
    """
    stages: int
    """Number of pipeline stages."""
    micro_batches: int
    """Number of micro-batches in the step."""
    chunks: int
    """Model chunks per stage (interleaving)."""
    forward: float
    """Forward pass of one micro-batch on the slowest stage, including its share of transfers. [s]"""
    backward: float
    """Backward pass of one micro-batch on the slowest stage, including recompute. [s]"""
    length: float
    """Time from the first forward pass to the end of the last backward pass. [s]"""
    bubble: float
    """Pipeline bubble: idle time of every stage while the pipeline fills and drains. [s]"""
    bubble_share: float
    """Pipeline bubble as a share of the length of the schedule."""
    after: float
    """Remaining time of the step: gradients, update, fixed time, and work of a single stage. [s]"""
    superstep: list[Part] | None
    """Components of one forward and one backward superstep on IPUs; null if stages do not run in
    lockstep.
    """


class WorkloadSummary(Document):
    """Resolved training workload."""

    kind: str
    """Kind of training: pretrain, continue, finetune, lora, qlora, dpo, ppo or grpo."""
    samples: float | None
    """Number of samples to train on."""
    tokens: float | None
    """Number of tokens to train on; null if samples have no tokens or it is not known."""
    global_batch: int | None
    """Samples per step."""
    seq_len: int | None
    """Sequence length of a sample. [tokens]"""
    image_size: int | None
    """Image size, as the length of a side. [pixels]"""
    mean_tokens: float | None
    """Mean number of real tokens per sample, where stated or taken by default."""
    precision: str | None
    """Number format that the system uses."""
    optimizer: str | None
    """Optimizer."""
    target: str | None
    """Convergence preset, if it was given."""


class Links(Document):
    """Where a document is."""

    self: str
    """URL in the API."""
    page: str
    """URL of the page."""
    pdf: str | None
    """URL of the PDF; null if there is none."""


class Expectation(Document):
    """Times to train of published records and of what ordinary teams report."""

    headline: Literal["tuned", "reported"]
    """Which of the two the time to train, the cost and the decision take."""
    tuned: Quantity
    """Time as published records of this stack reach it."""
    reported: Quantity | None
    """Time as ordinary teams report it; null where nothing else is known than the records."""
    factor: float | None = None
    """Median time of ordinary runs of such a stack over that of published records."""
    runs: int | None = None
    """Public runs that the factor was fitted to."""
    text: Text | None = None
    """What the headline is, and what moves it, as a sentence; null without a second figure."""


class Estimate(Document):
    """The result for model × workload × system × plan × software."""

    id: str
    """Identifier."""
    created_at: datetime | None = None
    """Creation time; null in an answer that is not stored."""
    links: Links | None = None
    """Where it is; null in an answer that is not stored."""
    summary: list[str] = Field(default_factory=list)
    """What a list or a CRM shows of it, line by line, in the language of the request; empty in an answer
    that is not stored.
    """
    request: dict[str, JsonValue] | None = None
    """Request as stored, with the fields that were given; null in an answer that is not stored."""
    workload: WorkloadSummary | None = None
    """Resolved workload; null in an answer that is not stored."""
    assumptions: dict[str, JsonValue] | None = None
    """Assumptions used, given ones and defaults, in the units of the request; null in an answer that is not
    stored.
    """
    name: str
    """Name."""
    engine_version: str
    """Version of the engine."""
    catalog_version: str
    """Version of the catalogue."""
    model: ModelSummary
    """Resolved model."""
    system: SystemSummary
    """Resolved system."""
    plan: PlanSummary | None
    """Complete plan, with every choice; null for a compute-only estimate."""
    software: str | None
    """Identifier of the software profile."""
    precision_used: str | None
    """Number format that the system uses."""
    defaults: list[Default]
    """Default values used, and why."""
    fits: bool
    """Whether the plan fits in memory."""
    memory: Memory | None
    """Memory of the fullest device."""
    step_time: Quantity | None
    """Time per step."""
    throughput: Quantity | None
    """Samples per second: global batch over step time."""
    tokens_per_second: Quantity | None
    """Tokens per second; null if samples have no tokens."""
    mfu: Quantity | None
    """Model FLOPs utilization (MFU): model FLOP per second over the peak."""
    steps: int | None
    """Number of steps in the run, rounded up."""
    samples: float | None
    """Number of samples in the run."""
    trained: Text | None = None
    """What is trained, as a sentence; null if only the compute is given."""
    time_to_train: Quantity | None
    """Time to train, including checkpoints, failures and evaluation."""
    expectation: Expectation | None = None
    """Time of published records of this stack and of what ordinary teams report, and which of the two is the
    headline; null if only the compute is given or the plan does not fit.
    """
    time_samples: list[float] | None = None
    """Samples behind the range of the time to train, in an order shared by all estimates: comparing
    two estimates sample by sample gives the probability that one is faster. [s]
    """
    startup: Quantity | None = None
    """Time from the start of the job to its first step, including compilation; not part of the time to
    train.
    """
    goodput: Quantity | None = None
    """Share of the time to train spent in training steps."""
    all_in_device_hours: Quantity | None = None
    """Device hours of the whole project, including failed runs and experiments, estimated from
    published projects.
    """
    energy: Quantity | None
    """Energy use of the run."""
    cost: Cost | None
    """Cost of the run; null if no price is known."""
    breakdown: list[Part] | None
    """Components that add up to the time to train."""
    schedule: PipelineSchedule | None = None
    """Pipeline schedule of one step; null if there is only one stage."""
    roofline: list[RooflinePoint]
    """Most expensive operators, on the roofline."""
    roof: Roofline | None
    """Roofline of the device: peak and bandwidth."""
    effects: list[MeasuredEffect] = Field(default_factory=list)
    """What measured runs of the chip, the software and the model family take beyond what is computed; in
    every part of a step.
    """
    sensitivity: list[Sensitivity]
    """Inputs that drive the time to train, strongest first."""
    validation: Validation
    """How closely measured runs support the estimate."""
    warnings: list[CheckWarning]
    """Warnings to consider when reading the result."""
    trace: list[TraceStep]
    """Trace of the computation of each number."""
