"""What is asked: the estimate request, one schema for JSON, HTML forms and files.

These models check presence and type (422). Whether a value makes sense is checked where it is
used, by name, with an error that says what is allowed (400, 404, 409).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Number = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=False)]


class Schema(BaseModel):
    """Base of every request: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TransformerInput(Schema):
    """A transformer by its dimensions."""

    layers: Whole
    hidden: Whole
    heads: Whole
    kv_heads: Whole | None = None
    ffn: Whole | None = None
    vocab: Whole | None = None
    seq_len: Whole
    kind: Literal["decoder", "encoder", "encoder-decoder"] = "decoder"
    gated: bool = False
    experts: Whole | None = None
    experts_per_token: Whole | None = None


class ModelInput(Schema):
    """The model: exactly one of the fields."""

    preset: str | None = Field(None, description="Identifier of a model preset.", examples=["gpt3-175b"])
    profile_id: str | None = Field(None, description="Identifier of an uploaded profile.")
    config: dict[str, JsonValue] | None = Field(None, description="A Hugging Face config.json object.")
    transformer: TransformerInput | None = None
    layers: list[dict[str, JsonValue]] | None = Field(None, description="A layer table.", max_length=10000)
    total_flop: Number | None = Field(None, description="Training compute, when that is all there is. [FLOP]")


class WorkloadInput(Schema):
    """What is to be trained."""

    workload_id: str | None = Field(None, description="Identifier of an uploaded sample of the data.")
    samples: Number | None = None
    tokens: Number | None = None
    epochs: Number | None = None
    dataset_samples: Number | None = None
    target: str | None = Field(None, description="A convergence preset.", examples=["mlperf-bert"])
    global_batch: Whole | None = None
    seq_len: Whole | None = None
    image_size: Whole | None = None
    mean_tokens: Number | None = None
    precision: Literal["bf16", "fp16", "tf32", "fp32", "fp16.16"] | None = None
    optimizer: Literal["sgd", "momentum", "adam", "lamb", "adafactor", "distributed-shampoo"] | None = None


class SystemInput(Schema):
    """The system: what is bought or rented, how many, and on which network."""

    id: str = Field(description="Identifier of a system.", examples=["dgx-a100-640gb"])
    count: Whole = 1
    fabric: str | None = None
    ports_per_node: Whole | None = None
    streaming_memory_gb: Number | None = Field(
        None, description="Streaming memory of each IPU machine where it is not the default. [GB]"
    )


class PlanInput(Schema):
    """How the model is laid over the devices; what is left out is searched."""

    tensor: Whole | None = None
    pipeline: Whole | None = None
    data: Whole | None = None
    micro_batch: Whole | None = None
    accumulation: Whole | None = None
    interleave: Whole | None = None
    recompute: Literal["none", "selective", "full"] | None = None
    sequence_parallel: bool | None = None
    sharding: Literal["none", "optimizer", "gradients", "parameters"] | None = None
    sharding_ranks: Whole | None = None
    offload: bool | None = None
    rts: Whole | None = None
    rts_optimizer: Whole | None = None
    phases: Whole | None = None


class AssumptionsInput(Schema):
    """What is taken for granted; each has a default in the catalogue."""

    failures_per_1000_node_days: Number | None = None
    restart_minutes: Number | None = None
    checkpoint_minutes: Number | None = None
    electricity_per_kwh: Number | None = Field(
        None, description="Tariff in the currency of the request. [currency/kWh]"
    )
    pue: Number | None = None
    peak: str | None = None
    peak_flops: Number | None = None
    utilization: Number | None = None
    acquisition: Literal["own", "rent"] | None = None
    amortisation_years: Number | None = None
    utilisation: Number | None = None
    include: list[Literal["hosts", "fabric", "storage", "power", "space", "staff", "support"]] | None = None
    price_book_id: str | None = None
    system_price: Number | None = Field(
        None, description="Price of one system in the currency of the request. [currency]"
    )
    hourly_price: Number | None = Field(
        None, description="Rent of one system in the currency of the request. [currency/h]"
    )
    input_samples_per_second: Number | None = Field(
        None, description="Rate at which storage and hosts can feed one node. [samples/s]"
    )
    memory_margin: Number | None = Field(None, description="Share of device memory left free.")


class EstimateRequest(Schema):
    """One estimate: model × workload × system × plan × software."""

    model: ModelInput
    workload: WorkloadInput = WorkloadInput()
    system: SystemInput
    plan: PlanInput = PlanInput()
    software: str | None = None
    assumptions: AssumptionsInput = AssumptionsInput()
    currency: Literal["USD", "KRW"] = "USD"
    label: str | None = Field(None, max_length=200)
