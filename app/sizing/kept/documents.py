"""What lists and uploads are answered with."""

from __future__ import annotations

from datetime import date, datetime
from typing import Generic, Literal, TypeVar

from pydantic import Field

from app.sizing.catalogue.documents import OperatorSummary
from app.sizing.document import CheckWarning, Document, Quantity

Item = TypeVar("Item", bound=Document)


class Page(Document, Generic[Item]):
    """A stretch of a list."""

    items: list[Item] = Field(description="Newest first; the catalogue in its own order.")
    next: str | None = Field(description="Cursor of the next stretch; null at the end.")


class EstimateSummary(Document):
    """One line of the list of estimates."""

    id: str = Field(description="Identifier of the estimate.")
    label: str = Field(description="Its name.")
    model: str | None = Field(
        None, description="Name of the preset or upload; null for a model that stood in the request itself."
    )
    system: str = Field(description="Name of the system.")
    count: int = Field(description="How many of it.")
    created_at: datetime = Field(description="When it was made.")


class SizingSummary(Document):
    """One line of the list of sizings."""

    id: str = Field(description="Identifier of the sizing.")
    label: str = Field(description="Its name.")
    created_at: datetime = Field(description="When it was made.")


class ComparisonSummary(Document):
    """One line of the list of comparisons."""

    id: str = Field(description="Identifier of the comparison.")
    title: str = Field(description="Its title.")
    labels: list[str] = Field(description="What its options are called, in their order.")
    created_at: datetime = Field(description="When it was made.")
    updated_at: datetime = Field(description="When it was last changed.")


class CalibrationSummary(Document):
    """One line of the list of calibrations."""

    id: str = Field(description="Identifier of the calibration.")
    label: str = Field(description="Its name.")
    kind: Literal["calibration", "gain"] = Field(description="Which of the two forms was asked.")
    software: str | None = Field(description="Profile to name in a request; null where none was fitted.")
    created_at: datetime = Field(description="When it was made.")


class BillSummary(Document):
    """One line of the list of bills."""

    id: str = Field(description="Identifier of the bill.")
    label: str = Field(description="Its name.")
    created_at: datetime = Field(description="When it was made.")


class ProposalSummary(Document):
    """One line of the list of proposals."""

    id: str = Field(description="Identifier of the proposal.")
    title: str = Field(description="Its title.")
    customer: str = Field(description="Whom it is for.")
    status: str = Field(description="draft, frozen or expired.")
    sha256: str | None = Field(description="Hash of the frozen content; null for a draft.")
    valid_until: date | None = Field(description="Last day on which it holds.")
    created_at: datetime = Field(description="When it was made.")
    updated_at: datetime = Field(description="When it was last changed.")


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
