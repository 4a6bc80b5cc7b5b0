"""Documents of uploads."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from app.estimating.documents import CheckWarning
from app.estimating.names import Name
from app.estimating.request import Schema, Sent, TransformerInput, Whole
from app.estimating.schema import Document, Quantity
from app.platform.catalogue_model import OperatorSummary
from app.profiles.model import ModelProfile


class UploadSummary(Document):
    """Summary of an upload in a list."""

    id: str = Field(description="Identifier.")
    name: str = Field(description="Name.")
    customer: str = Field("", description="Customer it belongs to; empty if none is named.")
    created_at: datetime = Field(description="Upload time.")
    size: int | None = None
    """Size of the stored file; null if none is stored, as for samples. [B]"""


class KeptProfile(Document):
    """A stored model profile."""

    id: str = Field(description="Identifier, for use as ``model.profile_id``.")
    kind: str = Field(description="Format the profile was read from: config, onnx, layers or transformer.")
    name: str = Field(description="Name.")
    customer: str = Field("", description="Customer it belongs to; empty if none is named.")
    parameters: float = Field(description="Parameter count, summed over the operators.")
    forward_flop_per_sample: float = Field(description="Compute of the forward pass of one sample. [FLOP]")
    seq_len: int | None = Field(description="Default sequence length of a sample. [tokens]")
    image_size: int | None = Field(description="Default image size, as the length of a side. [pixels]")
    operators: list[OperatorSummary] = Field(description="Operators of the model.")
    warnings: list[CheckWarning] = Field(description="Assumptions made where the file gives no value.")

    @classmethod
    def of(cls, profile: ModelProfile, name: str = "", customer: str = "") -> KeptProfile:
        """Return a model as it was understood, under the name and customer it was given since."""
        return cls(
            id=profile.id,
            kind=profile.origin,
            name=name or profile.name,
            customer=customer,
            parameters=profile.parameters,
            forward_flop_per_sample=profile.forward_flop_per_sample,
            seq_len=profile.usual_seq_len,
            image_size=profile.default_image_size,
            operators=[OperatorSummary.model_validate(row) for row in profile.summary()],
            warnings=[
                *(CheckWarning.of("not_understood", "serious", message) for message in profile.doubts),
                *(CheckWarning.of("assumed", "info", message) for message in profile.assumptions),
            ],
        )


class Bin(Document):
    """One bin of a histogram of sample lengths."""

    low: int = Field(description="Shortest sample length in the bin. [tokens]")
    high: int = Field(description="Longest sample length in the bin. [tokens]")
    samples: int = Field(description="Number of samples in the bin.")


class KeptWorkload(Document):
    """Statistics of an uploaded data sample; the text itself is not stored."""

    id: str = Field(description="Identifier, for use as ``workload.workload_id``.")
    name: str = Field(description="Name; that of the file until it is changed.")
    customer: str = Field("", description="Customer it belongs to; empty if none is named.")
    samples: int = Field(description="Number of samples.")
    tokens: int = Field(description="Number of tokens.")
    mean_tokens: Quantity = Field(description="Mean sample length; the range is that of the counting rule.")
    p50: int = Field(description="Median sample length. [tokens]")
    p95: int = Field(description="P95 sample length: 95 % of the samples do not exceed it. [tokens]")
    max: int = Field(description="Length of the longest sample. [tokens]")
    seq_len: int = Field(description="Row length to which the shares refer. [tokens]")
    padding_share: float = Field(description="Share of padding in padded rows.")
    packing_factor: float = Field(description="Samples per row with packing.")
    histogram: list[Bin] = Field(description="Histogram of sample lengths.")
    warnings: list[CheckWarning] = Field(description="Assumptions made.")


UploadName = Annotated[Name, Field(min_length=1, max_length=200)]


class UploadPatch(Schema):
    """Fields of an upload to change. Omitted fields are unchanged."""

    name: UploadName | None = Field(None, description="New name.", examples=["Qwen2-7B of Customer A"])
    customer: Name | None = Field(
        None, max_length=200, description="Customer; empty for none.", examples=["Customer A"]
    )

    @field_validator("name", "customer")
    @classmethod
    def without_spaces_around(cls, text: str | None) -> str | None:
        return None if text is None else text.strip()


class SampleFields(Schema):
    """What may come with a data sample."""

    seq_len: Whole | None = None
    """Row length; if omitted, enough for the longest sample."""


class ProfileRequest(Schema):
    """A model to store: exactly one of ``config``, ``transformer``, ``layers``.

    You can also send a Hugging Face configuration or a layer table directly.
    """

    name: Name | None = Field(None, max_length=200, description="Name.", examples=["our 7B"])
    config: dict[str, Sent] | None = Field(None, description="A Hugging Face config.json object.")
    transformer: TransformerInput | None = Field(None, description="A transformer defined by its dimensions.")
    layers: list[dict[str, Sent]] | None = Field(None, max_length=10_000, description="A layer table.")

    @model_validator(mode="before")
    @classmethod
    def as_it_stands(cls, value: Any) -> Any:
        """Take a configuration or a layer table that is not wrapped."""
        if isinstance(value, list):
            return {"layers": value}
        if isinstance(value, dict) and value.keys() & {"model_type", "architectures"}:
            return {"config": value}
        return value
