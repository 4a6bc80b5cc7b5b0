"""The estimate request, one schema for JSON, HTML forms and files.

These models check presence and type (422). Whether a value makes sense is checked where it is
used, by name, with an error that says what is allowed (400, 404, 409).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Hashable, Iterator
from datetime import date
from itertools import islice
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, cast, get_args, get_origin

from pydantic import (
    ConfigDict,
    Field,
    JsonValue,
    SkipValidation,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticKnownError

from app.estimating.money import Currency
from app.estimating.names import Name
from app.estimating.naming import FabricName, ModelName, SoftwareName, SystemName
from app.estimating.schema import DocumentedModel

Number = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=False)]
Degree = Annotated[int, Field(strict=False, ge=1, le=1_000_000)]


class PercentInput:
    """Marks a share that forms ask for in percent."""


Sent: TypeAlias = SkipValidation[JsonValue]
"""A value of a body, which has been read as JSON: large ones are not walked through once more."""

Share = Annotated[float, Field(allow_inf_nan=False), PercentInput()]


class JsonString(str):
    """A string of a JSON body, which is not accepted as a number, unlike the input of a form."""

    __slots__ = ()


MOST_NAMES = 60
"""Names of an object that nobody knows of which is told: more than one answer holds."""


class Schema(DocumentedModel):
    """Base of every request: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def no_text_for_an_object(cls, value: object) -> object:
        """Refuse a string in place of a request; pydantic would look for fields among its attributes."""
        if isinstance(value, JsonString):
            raise PydanticKnownError("model_type", {"class_name": cls.__name__})
        return value

    @model_validator(mode="before")
    @classmethod
    def enough_to_refuse(cls, value: object) -> object:
        """Leave out most of the names that an object has too many: each unknown one costs an error."""
        if isinstance(value, dict) and len(value) > MOST_NAMES:
            unknown = islice((name for name in value if name not in cls.model_fields), MOST_NAMES)
            return {name: value[name] for name in (*cls.model_fields, *unknown) if name in value}
        return value

    @field_validator("*", mode="before")
    @classmethod
    def no_stand_ins(cls, value: object, info: ValidationInfo) -> object:
        """Refuse what pydantic would coerce: true for 1, 0 for false, “2” for 2, 0 for a day of 1970."""
        if isinstance(value, bool | int | float | list | JsonString):
            kinds = _wanted(cast(Hashable, cls.model_fields[info.field_name or ""].annotation))
            for item in value if isinstance(value, list) else [value]:
                if type(item) in STAND_INS and kinds and not kinds & STAND_INS[type(item)]:
                    raise PydanticKnownError(next(error for kind, error in MISTAKEN.items() if kind in kinds))
        return value


Patch = TypeVar("Patch", bound=Schema)


def patch_of(model: type[Patch]) -> type[Patch]:
    """Decorate a request so that every field it inherits may be omitted or null."""
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name in inspect.get_annotations(model):
            continue
        kind = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        texts = {"description": field.description, "examples": field.examples}
        fields[name] = (kind | None, Field(None, **texts))  # type: ignore[operator, call-overload]
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **fields)


STAND_INS: dict[type, frozenset[type]] = {
    bool: frozenset({bool}),
    int: frozenset({int, float, str}),
    float: frozenset({int, float, str}),
    JsonString: frozenset({str, date}),
}
"""Field types that each JSON type is accepted for. A number for a string is left to pydantic."""

MISTAKEN: dict[object, Literal["int_type", "float_type", "date_type", "bool_type"]] = {
    int: "int_type",
    float: "float_type",
    date: "date_type",
    bool: "bool_type",
}
"""Field type → what is wrong where something else stands."""


@functools.cache
def _wanted(annotation: Hashable) -> frozenset[object]:
    """Return the plain types that an annotation accepts, of one or of a list; else nothing."""
    kinds = frozenset(_kinds(annotation)) - {type(None)}
    return kinds if kinds & MISTAKEN.keys() and kinds <= {*MISTAKEN, str} else frozenset()


def _kinds(annotation: object) -> Iterator[object]:
    """Yield the plain types of an annotation, with the types of the values of literals."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        yield from {type(part) for part in parts}
        return
    if not parts or origin is dict:
        yield annotation
        return
    for part in parts[:1] if origin is Annotated else parts:
        yield from _kinds(part)


CostItem: TypeAlias = Literal["hosts", "fabric", "storage", "power", "space", "staff", "support", "licences"]


Region: TypeAlias = Literal["korea", "us", "eu", "japan"]


class TransformerInput(Schema):
    """A transformer defined by its dimensions."""

    layers: Whole
    """Number of layers; with two stacks, that of the encoder."""
    hidden: Whole
    """Model width (hidden size)."""
    heads: Whole
    """Number of attention heads."""
    kv_heads: Whole | None = None
    """Number of key and value heads; if omitted, equal to the number of heads."""
    ffn: Whole | None = None
    """Feed-forward width; if omitted, the usual multiple of the model width."""
    vocab: Whole | None = None
    """Vocabulary size; if omitted, that of the best-known model of the kind."""
    seq_len: Whole
    """Sequence length of a sample. [tokens]"""
    kind: Literal["decoder", "encoder", "encoder-decoder"] = "decoder"
    """Stacks of the model."""
    gated: bool = False
    """True for gated feed-forward blocks, as in LLaMA."""
    tied_embeddings: bool | None = None
    """Whether the output layer shares the weights of the embedding; if omitted, unless gated."""
    experts: Whole | None = None
    """Number of experts per layer of a mixture of experts."""
    experts_per_token: Whole | None = None
    """Number of experts that process one token."""


class ModelInput(Schema):
    """The model; give exactly one of the fields."""

    preset: ModelName | None = Field(None, examples=["gpt3-175b"])
    """Identifier of a model preset."""
    profile_id: str | None = Field(None, description="Identifier of an uploaded profile.")
    config: dict[str, Sent] | None = Field(None, description="A Hugging Face config.json object.")
    transformer: TransformerInput | None = None
    """A transformer defined by its dimensions."""
    layers: list[dict[str, Sent]] | None = Field(None, description="A layer table.", max_length=10000)
    total_flop: Number | None = Field(None, description="Training compute, if nothing else is known. [FLOP]")

    @property
    def named(self) -> str:
        """Identifier of the preset or the uploaded model; empty where the model stands in the request."""
        return self.preset or self.profile_id or ""


class WorkloadInput(Schema):
    """Training workload."""

    kind: Literal["pretrain", "continue", "finetune", "lora", "qlora", "dpo", "ppo", "grpo"] = "pretrain"
    """Kind of training: from scratch, continued, fine-tuning of all weights, or of adapters only, next
    to frozen weights, which qlora holds in 4 bit; or from preferences beside frozen models: dpo on pairs of
    answers, ppo and grpo on answers of the model itself.
    """
    base_format: Literal["int8", "nf4"] | None = None
    """Format in which lora and qlora store the frozen weights of the layers; if omitted, that of the products
    for lora and nf4 for qlora.
    """
    master_weights: bool | None = None
    """Whether half-precision weights have a single-precision copy; if omitted, true. Without one, gradients
    and optimizer state have the format of the weights too.
    """
    lora_rank: Whole | None = None
    """Rank of the adapters of lora and qlora; if omitted, that of the method's paper."""
    lora_modules: str | list[str] | None = Field(None, examples=["all"])
    """Matrix products with adapters: attention, all, or a list of q_proj, k_proj, v_proj, o_proj, gate_proj,
    up_proj and down_proj; if omitted, those of the method's paper.
    """
    workload_id: str | None = Field(None, description="Identifier of an uploaded data sample.")
    samples: Number | None = None
    """Number of samples to train on."""
    tokens: Number | None = None
    """Number of tokens to train on."""
    epochs: Number | None = None
    """Number of passes over the data; requires dataset_samples."""
    dataset_samples: Number | None = None
    """Number of samples in the data set."""
    target: str | None = Field(None, description="A convergence preset.", examples=["mlperf-bert"])
    global_batch: Whole | None = None
    """Samples per step over all devices; if omitted, chosen for the shortest time."""
    seq_len: Whole | None = None
    """Sequence length of a batch row; if omitted, that of the target or model. [tokens]"""
    image_size: Whole | None = None
    """Side length of an image; if omitted, that of the target or model. [pixels]"""
    mean_tokens: Number | None = None
    """Mean number of real tokens per sample, if padding is removed or rows are packed."""
    expert_imbalance: Number | None = None
    """Tokens of the busiest device over the mean, for mixtures whose experts are spread over devices; if
    omitted, 1: routing is balanced. A capacity factor bounds it.
    """
    evaluation_interval: Number | None = None
    """Samples trained on between two evaluations on held-out data; if omitted, that of the target, else the
    run is not evaluated. Requires evaluated_samples.
    """
    evaluated_samples: Number | None = None
    """Held-out samples of one evaluation, on the devices that train; requires evaluation_interval."""
    precision: Literal["bf16", "fp16", "tf32", "fp32", "fp16.16", "fp8", "mxfp8", "nvfp4"] | None = None
    """Requested number format; each system uses the nearest one that it supports."""
    optimizer: (
        Literal[
            "sgd", "momentum", "adam", "adamw", "adam-bf16", "adam-8bit", "paged-adam", "paged-adam-8bit",
            "lamb", "adafactor", "lion", "muon", "distributed-shampoo",
        ]
        | None
    ) = None  # fmt: skip
    """Optimizer; if omitted, that of the target or of published recipes."""


class SystemInput(Schema):
    """System to buy or rent, with its count and network."""

    id: SystemName = Field(description="Identifier of a system.", examples=["dgx-a100-640gb"])
    count: Whole = 1
    """Number of systems."""
    accelerators: Whole | None = None
    """Number of accelerators used, where they are fewer than the machines hold."""
    fabric: FabricName | None = None
    """Identifier of a fabric; if omitted, the system's default."""
    ports_per_node: Whole | None = None
    """Number of fabric ports per node; if omitted, the default of the system."""
    streaming_memory_gb: Number | None = None
    """Streaming memory of each IPU machine, or host memory of each GPU machine, if not the default. [GB]"""


class NamedSystem(Schema):
    """A request that names its system and count side by side; one object of both says the same."""

    @model_validator(mode="before")
    @classmethod
    def one_object(cls, value: object) -> object:
        """Take a system as estimates have it, `{"id", "count"}`, apart."""
        if isinstance(value, dict) and isinstance(system := value.get("system"), dict):
            others = {name: part for name, part in value.items() if name != "system"}
            return others | {"system" if name == "id" else name: part for name, part in system.items()}
        return value


class PlanInput(Schema):
    """How the model is mapped to devices. Omitted fields are searched.

    Devices used are tensor × pipeline × data × context; a step trains micro_batch × accumulation × data
    samples. In the words of Megatron-LM: accumulation is the number of micro-batches of a step
    (global-batch-size over micro-batch-size and data-parallel size), interleave the number of virtual
    pipeline stages of a device (num-layers-per-virtual-pipeline-stage sets it), context its
    context-parallel-size. Expert-parallel ranks are taken from the data-parallel ones, so that expert
    divides data × context and uses no further devices.
    """

    tensor: Degree | None = None
    """Tensor-parallel degree: devices that share each layer."""
    pipeline: Degree | None = None
    """Number of pipeline stages."""
    data: Degree | None = None
    """Data-parallel degree: replicas of the model."""
    micro_batch: Degree | None = None
    """Samples per micro-batch."""
    accumulation: Degree | None = None
    """Micro-batches per step and replica (gradient accumulation)."""
    interleave: Degree | None = None
    """Model chunks per pipeline stage (interleaving)."""
    recompute: Literal["none", "modules", "selective", "full"] | None = None
    """Activations that the backward pass recomputes: none, those of norms and activation functions
    (modules), of attention (selective), or of whole layers (full).
    """
    recompute_layers: Degree | None = None
    """Layers whose activations are recomputed whole; those of the others are kept, or attention alone is
    recomputed where no fused kernel does so. All of them if omitted; GPU only.
    """
    sequence_parallel: bool | None = None
    """Whether tensor ranks also split the tokens between tensor-parallel blocks (sequence
    parallelism).
    """
    sharding: Literal["none", "optimizer", "gradients", "parameters"] | None = None
    """State that replicas shard instead of each holding a full copy (ZeRO 1 to 3)."""
    sharding_ranks: Degree | None = None
    """Number of replicas that share one sharded copy of the state."""
    expert: Degree | None = None
    """Expert-parallel degree: replicas over which the experts of a layer are distributed."""
    context: Degree | None = None
    """Context-parallel degree: devices beside tensor, pipeline and data that share the tokens of a sample."""
    offload: bool | None = None
    """Whether the optimizer state is offloaded to host or streaming memory."""
    offload_parameters: bool | None = None
    """Whether the weights are offloaded to host memory, from which they come layer by layer; GPU only."""
    offload_activations: bool | None = None
    """Whether the activations that wait for the backward pass are offloaded to host memory; GPU only."""
    rts: Degree | None = None
    """IPU: number of replicas over which weights are sharded (replicated tensor sharding)."""
    rts_optimizer: Degree | None = None
    """IPU: number of replicas over which the optimizer state is sharded."""
    phases: Degree | None = None
    """IPU: number of phases per stage; 1 keeps the stage in the processor."""


BudgetKind = Literal["purchase", "run", "term"]
"""What a budget has to pay: everything before the first run; the share of ownership, or the rent, of one
run; all money that leaves over the term."""


class Demand(Schema):
    """How often the work is done; give exactly one of the fields."""

    runs: Number | None = None
    """Number of runs, one after the other."""
    runs_per_year: Number | None = None
    """Number of runs in each year of the term."""
    utilisation: Number | None = None
    """Share of the term in which the system is busy with work like this."""


class Limits(Schema):
    """What an answer has to meet."""

    deadline_s: Number | None = Field(
        None, description="Time within which one run has to be done. [s]", examples=[2_592_000]
    )
    budget: Number | None = None
    """Most that may be spent, in the currency of the request. [currency]"""
    budget_kind: BudgetKind | None = Field(None, examples=["purchase"])
    """What the budget pays for: purchase (machines, hosts, network, installation), run (share of ownership,
    or rent, of one run) or term (all money over the term, for the demanded runs). If omitted, purchase for
    owned systems and run for rented systems.
    """
    power_w: Number | None = None
    """Most power at the site while training, network and cooling included; rented systems take none. [W]"""
    probability: Number | None = None
    """Share of samples in which all limits must be met; if omitted, 0.8."""


class AssumptionsInput(Schema):
    """Assumptions; each has a default in the catalogue."""

    failures_per_1000_node_days: Number | None = None
    """Rate of failures that stop the run. [1/(1000 node·day)]"""
    restart_minutes: Number | None = None
    """Time from a failure until training resumes. [min]"""
    checkpoint_minutes: Number | None = None
    """Time between checkpoints; if omitted, the interval that loses the least time. [min]"""
    electricity_per_kwh: Number | None = Field(
        None, description="Electricity tariff, in the currency of the request. [currency/kWh]"
    )
    """Price of electricity, in the request's currency. [1/kWh]"""
    pue: Number | None = None
    """Power usage effectiveness (PUE): power of the site over that of the machines."""
    peak: str | None = None
    """Peak that a compute-only estimate divides by, such as fp16_dense, fp16_sparse or tf32_dense."""
    peak_flops: Number | None = None
    """Peak of one system for a compute-only estimate. [FLOP/s]"""
    utilization: Number | None = None
    """Share of the peak assumed in a compute-only estimate."""
    demand: Demand | None = None
    """How often the work is done; one run if omitted. Decisions charge every option for that many runs."""
    acquisition: Literal["own", "rent"] | None = None
    """Whether the system is bought or rented."""
    amortisation_years: Number | None = None
    """Amortisation period of a bought system. [a]"""
    utilisation: Number | None = None
    """Share of the time a bought system is in use."""
    region: Region | None = None
    """Region whose tariff, salaries, space and grid are used, and whose surcharge rented systems of large
    clouds bear; if omitted, Korea for owned systems, otherwise the US.
    """
    tariff_tier: str | None = Field(None, max_length=60)
    """Tier of the region's tariff, or a kind of customer (industrial, general) whose tier follows from the
    load of the site; if omitted, the first kind: industry.
    """
    rental: Literal["on-demand", "reserved-1-year", "reserved-3-years", "spot"] | None = None
    """Pricing model of a rented system; ignored for owned systems."""
    spot_interruptions_per_month: Number | None = None
    """Rate at which the provider interrupts one spot instance. [1/month]"""
    home_currency: Currency | None = None
    """Currency of the customer's own money: what is paid in others has the range of their exchange rates. If
    omitted, that of the request.
    """
    price_date: date | None = None
    """Date for which prices, rents, tariffs and rates are taken; if omitted, the newest known."""
    discount_rate: Number | None = None
    """Cost of capital. [1/a]"""
    residual_share: Number | None = None
    """Resale value of a bought system at the end of the term, as a share of its price."""
    staff: Number | None = None
    """Full-time positions that operate the system; if omitted, those that an owned site needs at least, and
    none for a rented system.
    """
    cloud_support: Literal["none", "business", "enterprise"] = "none"
    """Support plan of a rented system: a share of the monthly bill with a least price, as AWS sells it."""
    storage_tb: Number | None = None
    """Shared storage bought or rented with the system; counted only if given. [TB]"""
    egress_gb: Number | None = None
    """Data transferred out of the cloud per month, for rented systems. [GB/month]"""
    include: list[CostItem] | None = None
    """Cost items to include besides the machines: hosts with login and management nodes, the network between
    machines, shared storage, electricity, space with racks and power strips, staff, support, and licences
    (of the maker's enterprise software). If omitted, all but storage and licences.
    """
    price_book_id: str | None = Field(None, max_length=60, examples=["pbk_a2b3c4d5e6f7g2h3"])
    """Identifier of a price book of the workspace; append @ and a number for a specific version."""
    system_price: Number | None = Field(
        None, description="Price of one system, in the currency of the request. [currency]"
    )
    """Price of one system, in the request's currency."""
    hourly_price: Number | None = Field(
        None, description="Hourly price of one rented system, in the currency of the request. [currency/h]"
    )
    """Rent of one system and hour, in the request's currency."""
    input_samples_per_second: Number | None = None
    """Rate at which storage and hosts can feed one node. [samples/s]"""
    memory_margin: Number | None = Field(None, description="Share of device memory to leave free.")


class TrainingRequest(Schema):
    """What is trained, with which software and at which prices, on whatever system."""

    model: ModelInput
    """Model to train."""
    workload: WorkloadInput = WorkloadInput()
    """How much to train, and in which batches."""
    software: SoftwareName | None = None
    """Identifier of a software profile; if omitted, the usual one for the model on each chip."""
    assumptions: AssumptionsInput = AssumptionsInput()
    """Assumptions of the estimate."""
    currency: Currency = "USD"
    """Currency of every price, cost and budget."""

    @property
    def asked(self) -> dict[str, Any]:
        """What is trained, for a request of another kind."""
        return {name: getattr(self, name) for name in TrainingRequest.model_fields}


class EstimateRequest(TrainingRequest):
    """An estimate request: model × workload × system × plan × software."""

    system: SystemInput
    """System that the model is trained on."""
    plan: PlanInput = PlanInput()
    """How the model is mapped to devices. Omitted fields are searched."""
    label: Name | None = Field(None, max_length=200)
    """Name of the estimate."""


Locale = Literal["en", "ko", "zh"]
