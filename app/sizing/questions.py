"""What else is asked and answered: comparisons, IPU mappings, checks of a plan."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, JsonValue, Tag, model_validator

from app.sizing.document import CheckWarning, Document
from app.sizing.request import EstimateRequest, Number, Schema, TransformerInput, Whole

Locale = Literal["en", "ko", "zh"]
Currency = Literal["USD", "KRW"]
ClaimKind = Literal["vendor", "published", "measured", "modelled", "linear"]

MOST_ROWS = 8
"""Rows of a comparison."""

MOST_HOURS = 1e9
"""Longest time to train that is taken, more than a hundred millennia. [h]"""

MOST_TIMES = 1e6
"""Most times the hardware of another row."""

LEAST_SHARE = 1e-6
"""Least of either. Within these bounds no ratio leaves what a number can say."""


class PublishedFigure(Schema):
    """A time to train that somebody states; a linear one is scaled from another row."""

    label: str = Field(min_length=1, max_length=200, description="Name of the row; no two are alike.")
    hours: Number | None = Field(
        None,
        ge=LEAST_SHARE,
        le=MOST_HOURS,
        description="Time to train. A linear row may leave it out and scale another row. [h]",
    )
    kind: ClaimKind = Field(description="Who says so; “linear” is an extrapolation.")
    scaled_from: str | None = Field(
        None, description="Label of the row a linear one is scaled from.", examples=["1 × DGX A100"]
    )
    factor: Number | None = Field(
        None,
        ge=LEAST_SHARE,
        le=MOST_TIMES,
        description="How many times the hardware of that row a linear one has.",
    )
    system: str | None = Field(None, description="Identifier of a system.", examples=["ipu-pod64"])


def row_tag(value: Any) -> str:
    """Tell published figures from estimate requests by the fields only the former have."""
    if isinstance(value, dict):
        return "(figure)" if value.keys() & {"hours", "kind", "scaled_from", "factor"} else "(estimate)"
    return "(figure)" if isinstance(value, PublishedFigure) else "(estimate)"


RowRequest: TypeAlias = Annotated[
    Annotated[EstimateRequest, Tag("(estimate)")] | Annotated[PublishedFigure, Tag("(figure)")],
    Discriminator(row_tag),
]


class ComparisonRequest(Schema):
    """Options to put side by side."""

    title: str | None = Field(None, max_length=200, description="Left out, the labels of the rows.")
    locale: Locale = Field("en", description="Language the comparison is shown in.")
    currency: Currency = Field("USD", description="Currency of every estimate in it.")
    rows: list[RowRequest] = Field(
        min_length=1, max_length=MOST_ROWS, description="Estimate requests or published figures."
    )


class ComparisonPatch(Schema):
    """What to change of a comparison; what is left out stays."""

    title: str | None = Field(None, max_length=200, description="New title.")
    locale: Locale | None = Field(None, description="New language.")
    currency: Currency | None = Field(None, description="New currency; estimates are made anew.")
    rows: list[RowRequest] | None = Field(
        None, min_length=1, max_length=MOST_ROWS, description="New rows in place of all there are."
    )


class MappingRequest(Schema):
    """How a model is to be laid over the IPUs of a pod."""

    system: str = Field(description="Identifier of an IPU system.", examples=["ipu-pod256"])
    parameters: Number = Field(gt=0, le=1e15, description="Parameters of the model.")
    layers: Whole = Field(ge=1, le=100_000, description="Layers of the model.")
    tensor: Whole = Field(1, ge=1, le=1_000_000, description="IPUs that share each layer.")
    pipeline: Whole = Field(1, ge=1, le=1_000_000, description="Pipeline stages.")
    replicas: Whole = Field(1, ge=1, le=1_000_000, description="Copies of the model.")
    replica_batch: Whole = Field(1, ge=1, le=1_000_000_000, description="Samples per replica and step.")
    replicated_tensor_sharding: Whole = Field(
        1, ge=1, le=1_000_000, description="Replicas over which one copy of weights and state is spread."
    )


class Mapping(Document):
    """What a mapping comes to."""

    system: str = Field(description="Identifier of the system.")
    devices: int = Field(description="IPUs used: tensor × pipeline × replicas.")
    devices_available: int = Field(description="IPUs of the system.")
    devices_per_replica: int = Field(description="tensor × pipeline.")
    global_batch: int = Field(description="replica_batch × replicas.")
    weight_fraction: float = Field(description="Share of the weights one IPU works on, 1/(t·p).")
    resident_weight_fraction: float = Field(description="Share one IPU keeps, 1/(t·p·rts).")
    layers_per_stage: float = Field(description="Layers of one stage; the mean where they differ.")
    weights_per_device: float = Field(description="fp16 weights one IPU works on. [B]")
    memory_per_device: float = Field(
        description="In-processor memory as the vendor rounds it, against which weights alone are held. [B]"
    )
    memory_of_chip: float | None = Field(
        None, description="In-processor memory, tiles × memory of a tile; estimates and plans use it. [B]"
    )
    needs_phased_execution: bool = Field(description="True where these weights exceed that memory.")
    minimum_phases: int = Field(
        description="Lower bound for weights alone; sharding does not lower it, each phase gathers its share."
    )
    planned_phases: int | None = Field(
        description="Phases of training over the memory that is really free; null where none is."
    )
    warnings: list[CheckWarning] = Field(description="What to beware of.")


class ChecksRequest(Schema):
    """A plan to check by arithmetic alone, before anything is estimated."""

    devices: Whole = Field(ge=1, le=1_000_000, description="Accelerators.")
    global_batch: Whole = Field(ge=1, le=10**12, description="Samples per step over all devices.")
    tensor: Whole = Field(1, ge=1, le=10_000_000, description="Accelerators that share each layer.")
    pipeline: Whole = Field(1, ge=1, le=10_000_000, description="Pipeline stages.")
    micro_batch: Whole = Field(1, ge=1, le=10**9, description="Samples per micro-batch.")
    devices_per_node: Whole | None = Field(None, ge=1, le=10_000, description="Accelerators per node.")
    layers: Whole | None = Field(None, ge=1, le=100_000, description="Layers of the model.")
    heads: Whole | None = Field(None, ge=1, le=100_000, description="Attention heads of the model.")


class Checks(Document):
    """What the checks found."""

    warnings: list[CheckWarning] = Field(description="Empty where nothing was found.")
    suggested_devices: int | None = Field(
        description="Most devices, not above those given, over which the batch divides; null where none are."
    )


class ProfileRequest(Schema):
    """A model to keep: exactly one of ``config``, ``transformer``, ``layers``.

    A Hugging Face configuration or a layer table may also be sent as it stands.
    """

    name: str | None = Field(None, max_length=200, description="What to call it.", examples=["our 7B"])
    config: dict[str, JsonValue] | None = Field(None, description="A Hugging Face config.json object.")
    transformer: TransformerInput | None = Field(None, description="A transformer by its dimensions.")
    layers: list[dict[str, JsonValue]] | None = Field(None, max_length=10_000, description="A layer table.")

    @model_validator(mode="before")
    @classmethod
    def as_it_stands(cls, value: Any) -> Any:
        """Take a configuration or a layer table that is not wrapped."""
        if isinstance(value, list):
            return {"layers": value}
        if isinstance(value, dict) and value.keys() & {"model_type", "architectures"}:
            return {"config": value}
        return value
