"""What uploads are answered with."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field, JsonValue, model_validator

from app.estimating.documents import CheckWarning
from app.estimating.request import Schema, TransformerInput
from app.estimating.schema import Document, Quantity
from app.platform.catalogue_model import OperatorSummary


class UploadSummary(Document):
    """One line of a list of uploads."""

    id: str = Field(description="Identifier.")
    name: str = Field(description="Its name.")
    created_at: datetime = Field(description="When it was uploaded.")
    size: int | None = Field(
        None, description="Size of the file that is kept; null where none is, as of samples. [B]"
    )


class KeptProfile(Document):
    """A model profile as it was understood."""

    id: str = Field(description="Identifier, for ``model.profile_id``.")
    kind: str = Field(description="What it was read from: config, onnx, layers or transformer.")
    name: str = Field(description="Its name.")
    parameters: float = Field(description="Parameters, counted from the operators.")
    forward_flop_per_sample: float = Field(description="Forward pass of one sample. [FLOP]")
    seq_len: int | None = Field(description="Default length of a sample. [tokens]")
    image_size: int | None = Field(description="Default side of an image. [pixels]")
    operators: list[OperatorSummary] = Field(description="Its operators.")
    warnings: list[CheckWarning] = Field(description="What was assumed where the file is silent.")


class Bin(Document):
    """One bin of a histogram of lengths."""

    low: int = Field(description="Shortest length of the bin. [tokens]")
    high: int = Field(description="Longest length of the bin. [tokens]")
    samples: int = Field(description="Samples in it.")


class KeptWorkload(Document):
    """What was counted in a sample of the data; the text itself is not kept."""

    id: str = Field(description="Identifier, for ``workload.workload_id``.")
    name: str = Field(description="Name of the file.")
    samples: int = Field(description="Samples.")
    tokens: int = Field(description="Tokens.")
    mean_tokens: Quantity = Field(description="Mean length; the range is that of the counting rule.")
    p50: int = Field(description="Median length. [tokens]")
    p95: int = Field(description="Length that 95 % of the samples do not exceed. [tokens]")
    max: int = Field(description="Longest sample. [tokens]")
    seq_len: int = Field(description="Length of a row that the shares refer to. [tokens]")
    padding_share: float = Field(description="Share of padded rows that is padding.")
    packing_factor: float = Field(description="Samples that packing puts into one row.")
    histogram: list[Bin] = Field(description="How many samples have which length.")
    warnings: list[CheckWarning] = Field(description="What was assumed.")


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
