"""Documents of uploads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, model_validator

from app.errors import check_between
from app.estimating.documents import CheckWarning, Text
from app.estimating.money import Currency
from app.estimating.names import Name, Trimmed
from app.estimating.request import Schema, Sent, TransformerInput, Whole
from app.estimating.schema import Document, Quantity
from app.platform.catalogue_model import OperatorSummary
from app.profiles.model import ModelProfile
from app.profiles.readers.prices import COLUMNS, Chosen
from app.profiles.readers.recognition import Asked, Import
from app.profiles.samples import MOST_LENGTH

MOST_SIDE = 100_000
"""Largest side of an image. [pixels]"""


class UploadSummary(Document):
    """Summary of an upload in a list."""

    id: str = Field(description="Identifier.")
    name: str = Field(description="Name.")
    customer: str = Field("", description="Customer it belongs to; empty if none is named.")
    created_at: datetime = Field(description="Upload time.")
    size: int | None = None
    """Size of the stored file; null if none is stored, as for samples. [B]"""


class ProfileDocument(Document):
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
    def of(cls, profile: ModelProfile, name: str = "", customer: str = "") -> ProfileDocument:
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


class WorkloadDocument(Document):
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


class ReadPrice(Document):
    """One line of a price list or quote."""

    item: str = Field(description="Item as the file names it.", examples=["p4d.24xlarge"])
    price: float = Field(description="Price of one unit, before the discount, in its currency.")
    currency: str = Field(examples=["USD"])
    """Currency (ISO 4217); empty if the file does not say."""
    unit: str = Field(description="Unit of the price, such as an hour; each for a piece.", examples=["hour"])
    count: float | None = Field(None, description="Quantity; null if none is stated.")
    discount: float | None = Field(None, description="Share taken off; null if none is stated.")
    region: str = Field("", description="Region of the price.")
    date: str = Field("", description="Date of the price; empty if the file does not say.")


class ReadParts(Document):
    """What was read, as the parts of an estimate request."""

    model: dict[str, Any] | None = None
    """Model of a request; null if the file describes none that fits into one."""
    workload: dict[str, Any] = Field(default_factory=dict, description="Fields of a workload.")
    plan: dict[str, Any] = Field(default_factory=dict, description="Fields of a plan.")
    prices: list[ReadPrice] = Field(default_factory=list, description="Lines of a price list or quote.")


class ImportDocument(Document):
    """What a file is and says, before anything is computed or stored."""

    kind: str = Field(description="Format that was recognised.", examples=["config"])
    recognised: Text = Field(description="What was recognised, in words.")
    read: ReadParts = Field(description="What was read.")
    parameters: float | None = Field(None, description="Parameter count of the model, if there is one.")
    forward_flop_per_sample: float | None = None
    """Compute of the forward pass of one sample at the asked sizes; null without a model. [FLOP]"""
    assumed: list[Text] = Field(description="What was assumed where the file gives no value.")
    missing: list[str] = Field(examples=[["workload.tokens"]])
    """Fields of a request that the file does not give."""
    not_understood: list[str] = Field(examples=[["moe_layer_freq"]])
    """Fields, columns or lines that were not understood."""
    columns: list[str] = Field(default_factory=list, examples=[["품명", "수량", "단가"]])
    """Columns of a table, of which those of prices can be chosen."""
    warnings: list[CheckWarning] = Field(description="What may make its figures wrong.")

    @classmethod
    def of(cls, found: Import) -> ImportDocument:
        lines = found.prices.lines if found.prices is not None else ()
        return cls(
            kind=found.kind,
            recognised=Text.of(found.recognised),
            read=ReadParts(
                model=found.model,
                workload=found.workload,
                plan=found.plan,
                prices=[ReadPrice.model_validate(asdict(line)) for line in lines],
            ),
            parameters=found.profile.parameters if found.profile is not None else None,
            forward_flop_per_sample=(
                found.profile.forward_flop_per_sample if found.profile is not None else None
            ),
            assumed=[Text.of(message) for message in found.assumed],
            missing=list(found.missing),
            not_understood=list(found.not_understood),
            columns=list(found.columns),
            warnings=[CheckWarning.of("not_understood", "serious", message) for message in found.doubts],
        )


UploadName = Annotated[Trimmed, Field(min_length=1, max_length=200)]


class UploadPatch(Schema):
    """Fields of an upload to change. Omitted fields are unchanged."""

    name: UploadName | None = Field(None, description="New name.", examples=["Qwen2-7B of Customer A"])
    customer: Trimmed | None = Field(None, max_length=200, examples=["Customer A"])
    """Customer; empty for none."""


class SampleFields(Schema):
    """What may come with a data sample."""

    seq_len: Whole | None = None
    """Row length; if omitted, enough for the longest sample."""


class ProfileFields(Schema):
    """What may come with the file of a model."""

    seq_len: Whole | None = None
    """Length of a sample, also for an ONNX graph that leaves it open. [tokens]"""
    image_size: Whole | None = None
    """Side of an image, also for an ONNX graph that leaves it open. [pixels]"""

    def check_sizes(self) -> None:
        """Refuse sizes that no sample has."""
        if self.seq_len is not None:
            check_between("seq_len", self.seq_len, 1, MOST_LENGTH)
        if self.image_size is not None:
            check_between("image_size", self.image_size, 1, MOST_SIDE)


ColumnName = Annotated[str, Field(min_length=1, max_length=200)]


class ImportFields(ProfileFields):
    """What may be asked of a file: sizes of its samples, and which columns of a table hold prices.

    Chosen columns are kept for the workspace: the next table of the same heading is read by them.
    """

    item_column: ColumnName | None = Field(None, examples=["품명"])
    """Column of the items, by its name in the table."""
    unit_price_column: ColumnName | None = Field(None, examples=["단가"])
    """Column of the price of one unit."""
    total_column: ColumnName | None = None
    """Column of the sum of a line; without a unit price it is divided by the quantity."""
    count_column: ColumnName | None = Field(None, description="Column of the quantity.")
    discount_column: ColumnName | None = Field(None, description="Column of the share or sum taken off.")
    currency_column: ColumnName | None = Field(None, description="Column of the currency.")
    date_column: ColumnName | None = Field(None, description="Column of the date.")
    unit_column: ColumnName | None = Field(None, description="Column of the unit of the price.")
    currency: Currency | None = Field(None, examples=["KRW"])
    """Currency (ISO 4217) where the table does not say."""

    def chosen(self) -> dict[str, str]:
        """Return the chosen columns by what they are."""
        names = {name: getattr(self, f"{name}_column") for name in COLUMNS}
        return {name: column for name, column in names.items() if column}

    def asked(self, kept: Mapping[str, Mapping[str, str]] | None = None) -> Asked:
        """Return what is asked of a file, with the columns kept for tables of a heading."""
        self.check_sizes()
        chosen = Chosen(columns=self.chosen(), kept=kept or {}, currency=self.currency or "")
        return Asked(seq_len=self.seq_len, image_size=self.image_size, chosen=chosen)


class ProfileRequest(Schema):
    """A model to store: exactly one of ``config``, ``transformer``, ``layers``.

    You can also send a Hugging Face configuration or a layer table directly.
    """

    name: Name | None = Field(None, max_length=200, description="Name.", examples=["our 7B"])
    seq_len: Whole | None = None
    """Length of a sample; if omitted, that of the model. [tokens]"""
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
