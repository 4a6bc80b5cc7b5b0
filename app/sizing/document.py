"""What is answered: the estimate as one document that page, JSON, CSV and PDF all render."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from app.errors import Message


class Document(BaseModel):
    """Base of every answer."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null")


class Quantity(Document):
    """A value with its 80 % range and its unit; low and high equal it where it is exact."""

    value: float
    low: float
    high: float
    unit: str

    @classmethod
    def exact(cls, value: float, unit: str) -> Quantity:
        """Return a quantity without a range."""
        return cls(value=value, low=value, high=value, unit=unit)


class Text(Document):
    """A sentence in English, with what a translation needs."""

    template: str
    values: dict[str, JsonValue] = {}
    message: str

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
    severity: Literal["info", "caution", "serious"]
    message: str
    fields: list[str]
    text: Text

    @classmethod
    def of(
        cls, code: str, severity: Literal["info", "caution", "serious"], message: Message, *fields: str
    ) -> CheckWarning:
        """Return the warning."""
        return cls(
            code=code, severity=severity, message=str(message), fields=list(fields), text=Text.of(message)
        )


class Default(Document):
    """A value that was not asked for, and why it was taken."""

    field: str
    value: JsonValue
    why: str
    text: Text

    @classmethod
    def of(cls, field: str, value: JsonValue, message: Message) -> Default:
        """Return the default."""
        return cls(field=field, value=value, why=str(message), text=Text.of(message))


class SourceRef(Document):
    """Where a figure comes from."""

    id: str
    kind: str
    title: str
    publisher: str
    published: str
    url: str


class MemoryPart(Document):
    """One part of the memory of a device."""

    part: str
    value: float


class Memory(Document):
    """Memory of the fullest device."""

    per_device: Quantity
    capacity: Quantity
    parts: list[MemoryPart]
    streaming: Quantity | None
    streaming_capacity: Quantity | None


class Part(Document):
    """One part of the time to train."""

    part: str
    seconds: float


class RooflinePoint(Document):
    """One operator on the roofline."""

    operator: str
    intensity: float
    attained: float
    bound: Literal["compute", "memory", "exchange", "latency"]
    seconds: float


class Roofline(Document):
    """The roof the points stand under."""

    peak: float
    bandwidth: float
    bandwidth_name: str


class Cost(Document):
    """What the run costs, on a stated basis."""

    run: Quantity
    capex: Quantity | None
    hourly: Quantity
    basis: dict[str, JsonValue]
    lines: list[CostLine]


class CostLine(Document):
    """One line of the hourly cost."""

    item: str
    hourly: float


class Sensitivity(Document):
    """Time to train at the low and the high end of one input."""

    input: str
    low: float
    high: float


class NearestRun(Document):
    """A measured run close to the estimate."""

    id: str
    model: str
    system: str
    accelerators: int
    software: str
    distance: float


class Validation(Document):
    """How far the estimate is from anything measured."""

    nearest_measured: list[NearestRun]
    family_error: float | None
    status: Literal["validated", "extrapolated", "unvalidated"]


class TraceStep(Document):
    """One formula with its inputs, value and sources."""

    name: str
    formula: str
    inputs: dict[str, JsonValue]
    value: float
    unit: str
    reference: str
    source: list[SourceRef]


class ModelSummary(Document):
    """The model as it was understood."""

    id: str
    name: str
    family: str
    parameters: float
    forward_flop_per_sample: float
    seq_len: int | None
    image_size: int | None
    assumptions: list[Text]


class SystemSummary(Document):
    """The system as it was understood."""

    id: str
    name: str
    count: int
    machines: int
    devices: int
    chip: str
    fabric: str
    ports_per_node: int | None
    generation: str
    power: Quantity | None
    rack_units: float | None


class PlanSummary(Document):
    """Every choice of the plan."""

    tensor: int
    pipeline: int
    data: int
    micro_batch: int
    accumulation: int
    global_batch: int
    interleave: int
    recompute: str
    sequence_parallel: bool
    sharding: str
    sharding_ranks: int
    offload: bool
    rts: int
    rts_optimizer: int
    phases: int
    stage_layers: list[int]
    searched: list[str]


class Estimate(Document):
    """The answer for model × workload × system × plan × software."""

    id: str
    label: str
    engine_version: str
    catalog_version: str
    model: ModelSummary
    system: SystemSummary
    plan: PlanSummary | None
    software: str | None
    precision_used: str | None
    defaults: list[Default]
    fits: bool
    memory: Memory | None
    step_time: Quantity | None
    throughput: Quantity | None
    tokens_per_second: Quantity | None
    mfu: Quantity | None
    steps: int | None
    samples: float | None
    time_to_train: Quantity | None
    energy: Quantity | None
    cost: Cost | None
    breakdown: list[Part] | None
    roofline: list[RooflinePoint]
    roof: Roofline | None
    sensitivity: list[Sensitivity]
    validation: Validation
    warnings: list[CheckWarning]
    trace: list[TraceStep]


class ComparisonRow(Document):
    """One option of a comparison: an estimate or a published figure."""

    label: str
    kind: Literal["vendor", "published", "measured", "modelled", "linear"]
    hours: float | None
    low: float | None
    high: float | None
    system: str | None
    scaled_from: str | None
    factor: float | None
    estimate: Estimate | None


class Ratio(Document):
    """Hours of one row over those of another."""

    slower: str
    faster: str
    ratio: float


class Comparison(Document):
    """Options side by side."""

    id: str
    title: str
    locale: str
    currency: str
    scaling_efficiency: float
    rows: list[ComparisonRow]
    ratios: list[Ratio]
    warnings: list[CheckWarning]


Cost.model_rebuild()
