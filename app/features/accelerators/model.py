"""What is asked and answered about the accelerators of a workspace."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from app.estimating.money import Currency
from app.estimating.names import Trimmed
from app.estimating.naming import FabricName
from app.estimating.request import Number, Schema, Whole, patch_of
from app.estimating.schema import Document, DocumentedModel
from app.platform.catalogue_model import CatalogueFigure

Link = Literal["nvswitch", "nvlink", "mesh", "torus", "pcie"]

Sparsity = Literal["none", "structured"]

NAME = 100

ShortName = Annotated[Trimmed, Field(min_length=1, max_length=NAME)]


class DataSheet(DocumentedModel):
    """What a data sheet states of an accelerator, of the machine that carries it and of its network."""

    name: ShortName = Field(description="Name of the accelerator.", examples=["Example X1"])
    maker: Trimmed = Field("", max_length=NAME, description="Manufacturer; empty if it is not to be named.")
    bf16_tflops: Number | None = Field(None, examples=[800])
    """Peak in bf16, if the chip has it; this or fp16_tflops is required. [TFLOP/s]"""
    fp16_tflops: Number | None = Field(None, description="Peak in fp16, if the chip has it. [TFLOP/s]")
    tf32_tflops: Number | None = Field(None, description="Peak in TF32, if the chip has it. [TFLOP/s]")
    fp32_tflops: Number | None = None
    """Peak in fp32 outside the matrix units; never with sparsity. [TFLOP/s]"""
    fp8_tflops: Number | None = Field(None, description="Peak in FP8, if the chip has it. [TFLOP/s]")
    fp4_tflops: Number | None = Field(None, description="Peak in FP4, if the chip has it. [TFLOP/s]")
    int8_tops: Number | None = Field(None, description="Peak in int8, if the chip has it. [TOP/s]")
    sparsity: Sparsity | None = None
    """Whether the peaks are dense (“none”) or with 2:4 structured sparsity, which are halved. Required where
    a peak looks like one with sparsity.
    """
    memory_gb: Number = Field(description="Memory of one device. [GB]", examples=[96])
    memory_gb_per_s: Number = Field(description="Bandwidth of that memory. [GB/s]", examples=[4000])
    power_w: Number = Field(description="Power limit of one device. [W]", examples=[600])
    link: Link = Field(examples=["nvswitch"])
    """How the devices of a machine are joined: by a switch, by direct NVLink, every pair by links of its own
    (mesh), neighbours alone (torus), or over PCIe.
    """
    link_gb_per_s: Number = Field(examples=[450])
    """Bandwidth of the fast links of one device to all others, one way: half of what data sheets give for
    both ways. [GB/s]
    """
    devices: Whole = Field(8, description="Devices of one machine.")
    linked_devices: Whole | None = None
    """Devices that the fast links join, if more than those of one machine."""
    fabric: FabricName = Field(max_length=60, examples=["ndr-infiniband"])
    """Network between machines, by its identifier in the catalogue: how fast a port is."""
    ports: Whole = Field(description="Network ports of one machine.", examples=[8])
    machine_price: Number | None = Field(None, description="Price of one machine. [currency]")
    hourly_rent: Number | None = Field(None, description="Rent of one device. [currency/h]")
    currency: Currency = Field("USD", description="Currency of the price or rent.")
    price_date: date | None = None
    """Date of the price or rent; if omitted, the day it is stated."""
    data_sheet: Trimmed = Field(
        min_length=1,
        max_length=300,
        description="Source of the figures: title or address of the data sheet.",
        examples=["Example X1 product brief, revision 3"],
    )
    data_sheet_date: date | None = Field(None, description="Date of the data sheet.")


class AcceleratorRequest(DataSheet, Schema):
    """An accelerator to add."""


@patch_of
class AcceleratorPatch(AcceleratorRequest):
    """Fields of an accelerator to change, of those it is added with; null empties one that may be omitted."""


class AcceleratorChange(Document):
    """One field changed by a version."""

    field: str = Field(description="Name of the field.")
    before: float | str | None = Field(description="Value before the change; null if it was omitted.")
    after: float | str | None = Field(description="Value after the change; null if it is omitted.")


class AcceleratorVersionSummary(Document):
    """One version of an accelerator."""

    version: int = Field(description="Version number, from 1.")
    created_at: datetime = Field(description="Creation time.")
    stated_by: str = Field(description="Who stated it; empty on a server without accounts.")
    changes: list[AcceleratorChange] = Field(description="Changes from the previous version.")


UseKind = Literal[
    "study", "estimate", "comparison", "sizing", "sweep", "bill", "calibration", "proposal", "price-book"
]


class AcceleratorUse(Document):
    """Something kept that was made with an accelerator."""

    kind: UseKind = Field(description="Kind of object.")
    id: str = Field(description="Identifier.")
    name: str = Field(description="Name.")


class Accelerator(DataSheet, Document):
    """One version of an accelerator of the workspace, with every figure that estimates use."""

    id: str
    """Identifier, for use as ``system.id``; also that of its chip and machine."""
    version: int = Field(description="Version shown.")
    newest: int = Field(description="Newest version, which estimates use and edits are based on.")
    stated_by: str = Field(description="Who stated this version; empty on a server without accounts.")
    created_at: datetime = Field(description="Creation time of the accelerator.")
    updated_at: datetime = Field(description="Time of the last change.")
    deleted_at: datetime | None = Field(description="Time of deletion; null if it is in use.")
    figures: list[CatalogueFigure]
    """Figures that estimates use: the stated ones, and what is usual where a data sheet says nothing."""
    used_by: list[AcceleratorUse] = Field(description="What was made with it, at most twenty of a kind.")
    versions: list[AcceleratorVersionSummary] = Field(description="Versions, newest first.")


class AcceleratorSummary(Document):
    """Summary of an accelerator in a list."""

    id: str = Field(description="Identifier.")
    name: str = Field(description="Name.")
    version: int = Field(description="Newest version.")
    created_at: datetime = Field(description="Creation time.")
    updated_at: datetime = Field(description="Time of the last change.")
