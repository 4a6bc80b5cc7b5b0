"""What is asked: the estimate request, one schema for JSON, HTML forms and files.

These models check presence and type (422). Whether a value makes sense is checked where it is
used, by name, with an error that says what is allowed (400, 404, 409).
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator
from datetime import date
from typing import Annotated, Literal, cast, get_args, get_origin

from pydantic import ConfigDict, Field, JsonValue, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticKnownError

from app.estimating.schema import Described

Number = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=False)]


class InPercent:
    """Marks a share that forms ask for in percent."""


Share = Annotated[float, Field(allow_inf_nan=False), InPercent()]


class Quoted(str):
    """Text out of a JSON body. It stands for no number there, as what is typed into a form does."""

    __slots__ = ()


class Schema(Described):
    """Base of every request: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def no_text_for_an_object(cls, value: object) -> object:
        """Refuse a text in the place of a request; pydantic would look for fields among its attributes."""
        if isinstance(value, Quoted):
            raise PydanticKnownError("model_type", {"class_name": cls.__name__})
        return value

    @field_validator("*", mode="before")
    @classmethod
    def no_stand_ins(cls, value: object, info: ValidationInfo) -> object:
        """Refuse what pydantic would take for another type: true for 1, 0 for false, “2” for 2."""
        if isinstance(value, bool | int | float | list | Quoted):
            kinds = _wanted(cast(Hashable, cls.model_fields[info.field_name or ""].annotation))
            for one in value if isinstance(value, list) else [value]:
                if type(one) in STAND_INS and kinds and not kinds & STAND_INS[type(one)]:
                    raise PydanticKnownError(_complaint(kinds))
        return value


STAND_INS: dict[type, frozenset[type]] = {
    bool: frozenset({bool}),
    int: frozenset({int, float, str}),
    float: frozenset({int, float, str}),
    Quoted: frozenset({str}),
}
"""Types that JSON tells apart, with the types of fields they may be given for. A number for a text is
left to pydantic, which says so better."""


def _complaint(kinds: frozenset[object]) -> Literal["int_type", "float_type", "bool_type"]:
    return "int_type" if int in kinds else "float_type" if float in kinds else "bool_type"


@functools.cache
def _wanted(annotation: Hashable) -> frozenset[object]:
    """Return the types an annotation takes, of one or of a list, where they are plain; else nothing."""
    kinds = frozenset(_kinds(annotation)) - {type(None)}
    return kinds if kinds & {bool, int, float} and kinds <= {bool, int, float, str} else frozenset()


def _kinds(annotation: object) -> Iterator[object]:
    """Yield the plain types of an annotation; objects are themselves, literals the types of their values."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        yield from {type(part) for part in parts}
        return
    if not parts or origin is dict:
        yield annotation
        return
    for part in parts[:1] if origin is Annotated else parts:
        yield from _kinds(part)


class TransformerInput(Schema):
    """A transformer by its dimensions."""

    layers: Whole
    """Layers; of the encoder where there are two stacks."""
    hidden: Whole
    """Width of the model."""
    heads: Whole
    """Attention heads."""
    kv_heads: Whole | None = None
    """Key and value heads; left out, as many as heads."""
    ffn: Whole | None = None
    """Width of the feed-forward part; left out, the usual multiple of the width."""
    vocab: Whole | None = None
    """Vocabulary; left out, that of the best-known model of the kind."""
    seq_len: Whole
    """Length of a sample. [tokens]"""
    kind: Literal["decoder", "encoder", "encoder-decoder"] = "decoder"
    """Which stacks there are."""
    gated: bool = False
    """True for gated feed-forward parts, as in LLaMA."""
    experts: Whole | None = None
    """Experts per layer of a mixture."""
    experts_per_token: Whole | None = None
    """Experts that one token passes through."""


class ModelInput(Schema):
    """The model: exactly one of the fields."""

    preset: str | None = Field(None, description="Identifier of a model preset.", examples=["gpt3-175b"])
    profile_id: str | None = Field(None, description="Identifier of an uploaded profile.")
    config: dict[str, JsonValue] | None = Field(None, description="A Hugging Face config.json object.")
    transformer: TransformerInput | None = None
    """A transformer by its dimensions."""
    layers: list[dict[str, JsonValue]] | None = Field(None, description="A layer table.", max_length=10000)
    total_flop: Number | None = Field(None, description="Training compute, when that is all there is. [FLOP]")


class WorkloadInput(Schema):
    """What is to be trained."""

    kind: Literal["pretrain", "continue", "finetune", "lora", "qlora"] = "pretrain"
    """Train from scratch, continue that, fine-tune all weights, or only adapters: beside frozen weights, with
    qlora in 4 bit."""
    lora_rank: Whole | None = Field(
        None, description="Rank of the adapters of lora and qlora; left out, that of the method's paper."
    )
    lora_modules: str | list[str] | None = Field(
        None,
        description="Products with adapters: attention, all, or a list of q_proj, k_proj, v_proj, o_proj, "
        "gate_proj, up_proj and down_proj; left out, those of the method's paper.",
        examples=["all"],
    )
    workload_id: str | None = Field(None, description="Identifier of an uploaded sample of the data.")
    samples: Number | None = None
    """Samples to train on."""
    tokens: Number | None = None
    """Tokens to train on."""
    epochs: Number | None = None
    """Passes over the data, with dataset_samples."""
    dataset_samples: Number | None = None
    """Samples of the data set."""
    target: str | None = Field(None, description="A convergence preset.", examples=["mlperf-bert"])
    global_batch: Whole | None = None
    """Samples per step over all devices; left out, chosen for least time."""
    seq_len: Whole | None = None
    """Length of a row of the batch; left out, that of the target or model. [tokens]"""
    image_size: Whole | None = None
    """Side of an image; left out, that of the target or model. [pixels]"""
    mean_tokens: Number | None = None
    """Real tokens of a sample where padding is removed or rows are packed."""
    precision: Literal["bf16", "fp16", "tf32", "fp32", "fp16.16"] | None = None
    """Number format asked for; each system runs the nearest it has."""
    optimizer: Literal["sgd", "momentum", "adam", "lamb", "adafactor", "distributed-shampoo"] | None = None
    """Optimizer; left out, that of the target or of published recipes."""


class SystemInput(Schema):
    """The system: what is bought or rented, how many, and on which network."""

    id: str = Field(description="Identifier of a system.", examples=["dgx-a100-640gb"])
    count: Whole = 1
    """How many of the system."""
    fabric: str | None = None
    """Identifier of a fabric; left out, what the system comes with."""
    ports_per_node: Whole | None = None
    """Fabric ports of one node; left out, what the system comes with."""
    streaming_memory_gb: Number | None = Field(
        None, description="Streaming memory of each IPU machine where it is not the default. [GB]"
    )


class PlanInput(Schema):
    """How the model is laid over the devices; what is left out is searched."""

    tensor: Whole | None = None
    """Devices that share each layer."""
    pipeline: Whole | None = None
    """Pipeline stages."""
    data: Whole | None = None
    """Copies of the model."""
    micro_batch: Whole | None = None
    """Samples of one micro-batch."""
    accumulation: Whole | None = None
    """Micro-batches per step and copy."""
    interleave: Whole | None = None
    """Model chunks per pipeline stage."""
    recompute: Literal["none", "selective", "full"] | None = None
    """Which activations the backward pass computes again."""
    sequence_parallel: bool | None = None
    """Whether tensor ranks also split tokens between tensor-parallel blocks."""
    sharding: Literal["none", "optimizer", "gradients", "parameters"] | None = None
    """What copies share instead of each holding it (ZeRO 1 to 3)."""
    sharding_ranks: Whole | None = None
    """Copies that share one set of what is sharded."""
    expert: Whole | None = None
    """Copies over which the experts of a layer are spread."""
    offload: bool | None = None
    """Whether the optimizer state lives in host or streaming memory."""
    rts: Whole | None = None
    """IPU: copies over which weights are sharded (replicated tensor sharding)."""
    rts_optimizer: Whole | None = None
    """IPU: copies over which optimizer state is sharded."""
    phases: Whole | None = None
    """IPU: phases of one stage; 1 keeps it in the processor."""


class AssumptionsInput(Schema):
    """What is taken for granted; each has a default in the catalogue."""

    failures_per_1000_node_days: Number | None = None
    """Failures that stop the run. [1/(1000 node·day)]"""
    restart_minutes: Number | None = None
    """Time from a failure to training again. [min]"""
    checkpoint_minutes: Number | None = None
    """Time between checkpoints; left out, the interval that loses least. [min]"""
    electricity_per_kwh: Number | None = Field(
        None, description="Tariff in the currency of the request. [currency/kWh]"
    )
    """Price of electricity, in the request's currency. [1/kWh]"""
    pue: Number | None = None
    """Power of the site over that of the machines."""
    peak: str | None = None
    """Which peak a bare division uses, as fp16_dense, fp16_sparse or tf32_dense."""
    peak_flops: Number | None = None
    """Peak of one system for a bare division. [FLOP/s]"""
    utilization: Number | None = None
    """Share of the peak that a bare division assumes."""
    acquisition: Literal["own", "rent"] | None = None
    """Whether the system is bought or rented."""
    amortisation_years: Number | None = None
    """Years over which a bought system is written off. [a]"""
    utilisation: Number | None = None
    """Share of the time a bought system is in use."""
    region: Literal["korea", "us", "eu"] | None = None
    """Whose tariff, salaries, space and grid count; left out, Korea for what is owned, else the US."""
    tariff_tier: str | None = Field(
        None, max_length=60, description="Tier of the region's tariff; left out, its first: large industry."
    )
    rental: Literal["on-demand", "reserved-1-year", "reserved-3-years", "spot"] | None = None
    """How a rented system is paid; owned ones do not read it."""
    spot_interruptions_per_month: Number | None = None
    """How often the provider takes one spot instance back. [1/month]"""
    price_date: date | None = None
    """Day as of which prices, rents, tariffs and rates are taken; left out, the newest known."""
    discount_rate: Number | None = None
    """Cost of capital. [1/a]"""
    residual_share: Number | None = None
    """What a bought system fetches when the term ends, over its price."""
    staff: Number | None = None
    """Full-time posts that run the system."""
    storage_tb: Number | None = None
    """Shared storage that is bought or rented with the system; counted where it is given. [TB]"""
    egress_gb: Number | None = Field(
        None, description="Data moved out of the cloud in a month, for rented systems. [GB/month]"
    )
    include: list[Literal["hosts", "fabric", "storage", "power", "space", "staff", "support"]] | None = None
    """What the cost counts beside the machines."""
    price_book_id: str | None = Field(
        None,
        max_length=60,
        description="Identifier of a workspace's own prices; with @ and a number, that version of them.",
        examples=["pbk_a2b3c4d5e6f7g2h3"],
    )
    system_price: Number | None = Field(
        None, description="Price of one system in the currency of the request. [currency]"
    )
    """Price of one system, in the request's currency."""
    hourly_price: Number | None = Field(
        None, description="Rent of one system in the currency of the request. [currency/h]"
    )
    """Rent of one system and hour, in the request's currency."""
    input_samples_per_second: Number | None = Field(
        None, description="Rate at which storage and hosts can feed one node. [samples/s]"
    )
    memory_margin: Number | None = Field(None, description="Share of device memory left free.")


class EstimateRequest(Schema):
    """One estimate: model × workload × system × plan × software."""

    model: ModelInput
    """What is trained."""
    workload: WorkloadInput = WorkloadInput()
    """How much of it, in which batches."""
    system: SystemInput
    """On what."""
    plan: PlanInput = PlanInput()
    """How the model is laid over the devices; what is left out is searched."""
    software: str | None = None
    """Identifier of a software profile; left out, the usual one for the model on the chip."""
    assumptions: AssumptionsInput = AssumptionsInput()
    """What is taken for granted."""
    currency: Literal["USD", "KRW"] = "USD"
    """Currency of every price and cost."""
    label: str | None = Field(None, max_length=200)
    """What to call the estimate."""


Locale = Literal["en", "ko", "zh"]
Currency = Literal["USD", "KRW"]
