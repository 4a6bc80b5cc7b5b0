"""What is answered: the estimate as one document that page, JSON, CSV and PDF all render."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, JsonValue

from app.errors import Message
from app.estimating.money import Cost
from app.estimating.schema import Document, Quantity, SourceRef

Severity = Literal["info", "caution", "serious"]


class Text(Document):
    """A sentence in English, with what a translation needs."""

    template: str
    """The sentence with named places, the key of its translations."""
    values: dict[str, JsonValue] = Field(default_factory=dict)
    """What stands in the places."""
    message: str
    """The sentence in English."""

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


class CheckWarning(Document):
    """A named check that found something."""

    code: str
    """Name of the check."""
    severity: Severity
    """How much it matters."""
    message: str
    """The sentence in English."""
    fields: list[str]
    """Fields of the request or the answer that it concerns."""
    text: Text
    """The sentence with what a translation needs."""

    @classmethod
    def of(cls, code: str, severity: Severity, message: Message, *fields: str) -> CheckWarning:
        return cls(
            code=code, severity=severity, message=str(message), fields=list(fields), text=Text.of(message)
        )


def serious(code: str, fields: str | Sequence[str], template: str, **values: object) -> CheckWarning:
    return _warning(code, "serious", fields, Message(template, values))


def caution(code: str, fields: str | Sequence[str], template: str, **values: object) -> CheckWarning:
    return _warning(code, "caution", fields, Message(template, values))


def info(code: str, fields: str | Sequence[str], template: str, **values: object) -> CheckWarning:
    return _warning(code, "info", fields, Message(template, values))


def _warning(code: str, severity: Severity, fields: str | Sequence[str], message: Message) -> CheckWarning:
    return CheckWarning.of(code, severity, message, *([fields] if isinstance(fields, str) else fields))


class Default(Document):
    """A value that was not asked for, and why it was taken."""

    field: str
    """Dotted path of the field in the request."""
    value: JsonValue
    """The value taken."""
    why: str
    """The reason in English."""
    text: Text
    """The reason with what a translation needs."""

    @classmethod
    def of(cls, field: str, value: JsonValue, message: Message) -> Default:
        return cls(field=field, value=value, why=str(message), text=Text.of(message))


class MemoryPart(Document):
    """One part of the memory of a device."""

    part: str
    """Name of the part."""
    value: float
    """Bytes of it on the fullest device. [B]"""


class Memory(Document):
    """Memory of the fullest device."""

    per_device: Quantity
    """Filled on the fullest device."""
    capacity: Quantity
    """Memory of one device."""
    usable: Quantity | None = None
    """What a plan may fill of it; the rest is left free for what no formula counts."""
    parts: list[MemoryPart]
    """Parts of what is filled."""
    streaming: Quantity | None
    """Kept in host or streaming memory per device."""
    streaming_capacity: Quantity | None
    """Host or streaming memory per device."""


class Part(Document):
    """One part of a run or of a step."""

    part: str
    """Name of the part."""
    seconds: float
    """Seconds of it. [s]"""


class RooflinePoint(Document):
    """One operator on the roofline."""

    operator: str
    """Name of the operator."""
    intensity: float
    """Operations per byte moved. [FLOP/B]"""
    attained: float
    """Rate it reaches. [FLOP/s]"""
    bound: Literal["compute", "memory", "exchange", "latency"]
    """What limits it."""
    seconds: float
    """Its time in one step. [s]"""


class Roofline(Document):
    """The roof the points stand under."""

    peak: float
    """Matrix peak of one device. [FLOP/s]"""
    bandwidth: float
    """Bandwidth of the slope. [B/s]"""
    bandwidth_name: str
    """What the slope stands for."""


class Sensitivity(Document):
    """What one uncertain input has of the range of the time to train, from the samples of that range."""

    input: str
    """The input; “residual” is what the figures of the software leave unexplained."""
    low: float
    """10th percentile if it alone were uncertain, within the range of the time. [s]"""
    high: float
    """90th percentile if it alone were uncertain. [s]"""
    share: float = 0.0
    """Share of the variance of the time; all shares add up to one."""
    effect: float | None = None
    """Relative change of the time with one standard deviation of the input; null for the residual."""


class NearestRun(Document):
    """A measured run close to the estimate."""

    id: str
    """Identifier of the measured run."""
    model: str
    """What was trained."""
    system: str
    """On what."""
    accelerators: int
    """On how many accelerators."""
    software: str
    """With which software."""
    distance: float
    """How far it is from the estimate; 0 is the same case."""
    family: str = ""
    """Family of its model."""
    metric: str = ""
    """What was measured, as a column of data/validation/predictions.csv names it."""
    measured: float | None = None
    """The measured value, in the unit of the metric."""
    predicted: float | None = None
    """What was predicted of that run; None where it was refused."""


class OutsideRun(Document):
    """A measured run of the same model, system and size that lies outside the range of the estimate."""

    id: str
    """Identifier of the measured run."""
    model: str
    """What was trained."""
    software: str
    """With which software, as the run states it."""
    profile: str | None
    """Software profile of the run, to ask for the estimate with it; null where it is that of the estimate."""
    title: str = ""
    """Name of that profile."""
    metric: str
    """What was measured, as a column of data/validation/predictions.csv names it."""
    measured: float
    """The measured value, in the unit of the metric."""
    range: Quantity
    """What the estimate says of it, in the same unit."""
    reasons: list[Literal["software", "global_batch", "plan"]]
    """What sets the run apart from the estimate; empty where nothing does."""


class Validation(Document):
    """How far the estimate is from anything measured."""

    nearest_measured: list[NearestRun]
    """Measured runs close to the estimate."""
    family_error: float | None
    """Median of |ln(predicted/measured)| over the family's measured runs on the chip, with the software
    of each run where it was named, with the default where it was presumed."""
    status: Literal["validated", "extrapolated", "unvalidated"]
    """Whether measured runs reach as far as the estimate."""
    software_presumed: bool = False
    """True where no software was named and the default stands in."""
    compared: int = 0
    """Measured runs of the same model, system and size that can be held against the estimate."""
    outside_count: int = 0
    """Those of them that lie outside its range."""
    contradicted: bool = False
    """True where more than one in five lies outside at a like batch, of the runs of the software that was
    named, or of all where it is presumed."""
    outside: list[OutsideRun] = Field(default_factory=list)
    """One of them of each software, that which least else sets apart, the furthest first; at most three."""


class TraceStep(Document):
    """One formula with its inputs, value and sources."""

    name: str
    """What is computed."""
    formula: str
    """The formula."""
    inputs: dict[str, JsonValue]
    """Its inputs by name."""
    value: float
    """Its value."""
    unit: str
    """SI unit of the value."""
    reference: str
    """Where the formula is published."""
    source: list[SourceRef]
    """Where the inputs come from."""


class ModelSummary(Document):
    """The model as it was understood."""

    id: str
    """Identifier of the preset or profile."""
    name: str
    """Name."""
    family: str
    """Family whose measured runs come nearest."""
    parameters: float
    """Parameters, counted from the operators."""
    kind: str = "pretrain"
    """How it is trained: pretrain, continue, finetune, lora or qlora."""
    trained_parameters: float | None = None
    """Parameters that training changes: those of the adapters with lora and qlora, else all."""
    forward_flop_per_sample: float
    """Forward pass of one sample. [FLOP]"""
    seq_len: int | None
    """Length of a sample. [tokens]"""
    image_size: int | None
    """Side of an image. [pixels]"""
    assumptions: list[Text]
    """What was assumed where the description is silent."""


class SystemSummary(Document):
    """The system as it was understood."""

    id: str
    """Identifier."""
    name: str
    """Name."""
    count: int
    """How many."""
    machines: int
    """Machines in all."""
    devices: int
    """Accelerators in all."""
    chip: str
    """Identifier of the chip."""
    fabric: str
    """Identifier of the fabric."""
    ports_per_node: int | None
    """Fabric ports of one node."""
    generation: str
    """Generation of the chip."""
    power: Quantity | None
    """Power under the training load."""
    rack_units: float | None
    """Height in the rack. [U]"""


class PlanSummary(Document):
    """Every choice of the plan."""

    tensor: int
    """Devices that share each layer."""
    pipeline: int
    """Pipeline stages."""
    data: int
    """Copies of the model."""
    micro_batch: int
    """Samples of one micro-batch."""
    accumulation: int
    """Micro-batches per step and copy."""
    global_batch: int
    """Samples per step."""
    interleave: int
    """Model chunks per pipeline stage."""
    recompute: str
    """Which activations the backward pass computes again."""
    sequence_parallel: bool
    """Whether tensor ranks also split tokens."""
    sharding: str
    """What copies share instead of each holding it."""
    sharding_ranks: int
    """Copies that share one set of it."""
    expert: int = 1
    """Copies over which the experts of a layer are spread."""
    offload: bool
    """Whether the optimizer state lives off the device."""
    rts: int
    """IPU: copies over which weights are sharded."""
    rts_optimizer: int
    """IPU: copies over which optimizer state is sharded."""
    phases: int
    """IPU: phases of one stage."""
    stage_layers: list[int]
    """Layers of each stage."""
    idle_machines: int = 0
    """Machines of the system that the plan does not use."""
    searched: list[str]
    """Fields that were searched rather than given."""


class PipelineSchedule(Document):
    """How the micro-batches of one step go through the stages of the pipeline."""

    kind: Literal["one_forward_one_backward", "interleaved", "lockstep"]
    """Order of the passes: one forward one backward, the same interleaved, or supersteps in lockstep."""
    stages: int
    """Pipeline stages."""
    micro_batches: int
    """Micro-batches of the step."""
    chunks: int
    """Model chunks of each stage."""
    forward: float
    """Forward pass of one micro-batch on the slowest stage, with its share of transfers. [s]"""
    backward: float
    """Backward pass of one micro-batch on the slowest stage, recomputation included. [s]"""
    length: float
    """From the first forward pass to the end of the last backward pass. [s]"""
    bubble: float
    """What every stage idles of it while the pipeline fills and drains. [s]"""
    bubble_share: float
    """The same over the length of the schedule."""
    after: float
    """Rest of the step: gradients, update, fixed time, and whatever one stage alone does. [s]"""
    superstep: list[Part] | None
    """Parts of one forward and one backward superstep on IPUs; null where stages do not wait in lockstep."""


class Estimate(Document):
    """The answer for model × workload × system × plan × software."""

    id: str
    """Identifier."""
    label: str
    """What it is called."""
    engine_version: str
    """Version of the formulas."""
    catalog_version: str
    """Version of the figures."""
    model: ModelSummary
    """The model as it was understood."""
    system: SystemSummary
    """The system as it was understood."""
    plan: PlanSummary | None
    """Every choice of the plan; null for a bare division."""
    software: str | None
    """Identifier of the software profile."""
    precision_used: str | None
    """Number format the system runs."""
    defaults: list[Default]
    """Every value that was not asked for, and why it was taken."""
    fits: bool
    """Whether the plan fits the memory."""
    memory: Memory | None
    """Memory of the fullest device."""
    step_time: Quantity | None
    """Time of one step."""
    throughput: Quantity | None
    """Samples per second: global batch over step time."""
    tokens_per_second: Quantity | None
    """Tokens per second; null where samples have none."""
    mfu: Quantity | None
    """Model FLOP per second over the peak."""
    steps: int | None
    """Steps of the run, rounded up."""
    samples: float | None
    """Samples of the run."""
    trained: Text | None = None
    """What is trained, in words; null where only compute is stated."""
    time_to_train: Quantity | None
    """Time of the run with checkpoints, failures and evaluation."""
    time_samples: list[float] | None = None
    """Samples behind that range, in the order all estimates share: paired one by one, those of two estimates
    give the probability that one is faster. [s]"""
    startup: Quantity | None = None
    """From the start of the job to its first step, compilation included; beside the time to train."""
    goodput: Quantity | None = None
    """Share of the time to train that steps take."""
    all_in_device_hours: Quantity | None = None
    """Device hours that published projects of this length took, with failed runs and experiments."""
    energy: Quantity | None
    """Energy of the run."""
    cost: Cost | None
    """Cost of the run; null where no price is known."""
    breakdown: list[Part] | None
    """Parts that add up to the time to train."""
    schedule: PipelineSchedule | None = None
    """How the step goes through the pipeline; null where it has one stage."""
    roofline: list[RooflinePoint]
    """The heaviest operators on the roofline."""
    roof: Roofline | None
    """The roof they stand under."""
    sensitivity: list[Sensitivity]
    """What moves the time to train, the strongest first."""
    validation: Validation
    """How far the estimate is from anything measured."""
    warnings: list[CheckWarning]
    """What has to be known to read it."""
    trace: list[TraceStep]
    """How each number was computed."""
