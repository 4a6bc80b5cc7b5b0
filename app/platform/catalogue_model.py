"""What is answered about the catalogue: every figure with unit, range, source, date and status."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.estimating.schema import Document, Quantity, SourceRef


class Statement(Document):
    """One figure as stated by a source, in SI units and as written."""

    parameter: str = Field(description="Name of the figure.", examples=["memory_bandwidth"])
    condition: str
    """Condition that distinguishes it from other figures of that name; usually empty."""
    value: float | None
    """Value in SI units; null for text and for figures that were not found."""
    low: float | None = Field(description="Low end of the range; equal to the value if none is stated.")
    high: float | None = Field(description="High end of the range; equal to the value if none is stated.")
    unit: str = Field(description="SI unit of the value.", examples=["B/s"])
    text: str = Field(description="The figure as written in its source, without the unit.")
    stated_unit: str = Field(description="Unit used by the source.", examples=["GB/s"])
    direction: str = Field(description="Direction convention of a bandwidth: one-way, both-ways or empty.")
    source: SourceRef = Field(description="Source of the figure.")
    as_of: str = Field(description="Date of the statement.", examples=["2021-06-01"])
    status: Literal["accepted", "rejected"]
    """Status of the figure. Rejected figures are shown but never used."""
    estimated: bool = Field(description="True if it was neither measured nor published.")
    note: str = Field(description="How the figure was read; for a rejected figure, why it is not used.")


class CatalogueFigure(Statement):
    """A figure in use, with the competing claims that were rejected."""

    description: str = Field(description="Meaning of the parameter.")
    rejected: list[Statement]
    """Competing claims for the same figure, with the reason for rejection."""


class DerivedFigure(Document):
    """A figure derived from others."""

    name: str = Field(description="Name of the figure.", examples=["fp16_dense"])
    value: float = Field(description="Value in SI units.")
    unit: str = Field(description="SI unit.")
    formula: str = Field(description="Formula, in words.")
    inputs: list[Statement] = Field(description="Input figures.")


class CatalogueEntry(Document):
    """Something the catalogue has figures of."""

    id: str = Field(description="Identifier.", examples=["a100-sxm-80gb"])
    name: str = Field(description="Name.")
    maker: str = Field(description="Manufacturer.")
    figures: list[CatalogueFigure] = Field(description="Figures in use.")
    rejected: list[Statement] = Field(description="All competing claims that are not used.")


class Chip(CatalogueEntry):
    """An accelerator."""

    kind: Literal["gpu", "ipu"] = Field(description="Architecture.")
    derived: list[DerivedFigure]
    """Derived figures: peaks, ridge points, on-chip bandwidths."""


class Machine(CatalogueEntry):
    """A node or an IPU machine."""

    chip: str = Field(description="Identifier of the chip.")
    devices: int = Field(description="Number of accelerators.")
    intra: str = Field(description="Interconnect between the accelerators of a machine.")


class BillOfSystem(Document):
    """Parts of one kind in a system."""

    item: str = Field(description="Identifier of the part.")
    name: str = Field(description="Name of the part.")
    count: int = Field(description="Number of units.")
    price: CatalogueFigure | None = Field(description="Unit price; null if not published.")
    power_typical: CatalogueFigure | None = Field(description="Power of one unit under load.")
    rack_units: CatalogueFigure | None = Field(description="Rack height of one unit.")


class System(CatalogueEntry):
    """A system that is bought or rented."""

    machine: str = Field(description="Identifier of the machine.")
    machines: int = Field(description="Number of machines.")
    devices: int = Field(description="Number of accelerators.")
    devices_per_machine: int = Field(description="Number of accelerators per machine.")
    chip: str = Field(description="Identifier of the chip.")
    chip_kind: Literal["gpu", "ipu"] = Field(description="Architecture of the chip.")
    intra: str = Field(description="Interconnect between the accelerators of a machine.")
    hosts: int = Field(description="Number of host servers required.")
    fabric: str = Field(description="Default fabric of the system.")
    ports_per_node: int = Field(description="Number of fabric ports per machine.")
    acquisition: Literal["own", "rent"] = Field(description="Whether the system is bought or rented.")
    availability: str = Field(description="Availability.")
    price: Quantity | None = Field(description="Total price of the parts; null if a part has no price.")
    price_hour: CatalogueFigure | None = Field(description="Latest on-demand hourly price.")
    power_typical: Quantity = Field(description="Power under a training load.")
    power_max: Quantity = Field(description="Maximum power.")
    rack_units: float = Field(description="Total height in the rack. [U]")
    bill: list[BillOfSystem] = Field(description="Parts of the system.")
    derived: list[DerivedFigure] = Field(description="Derived figures.")


class Fabric(CatalogueEntry):
    """A scale-out network, per port."""

    protocol: str = Field(description="Network protocol.")


class PublishedParameters(Document):
    """Parameter count published by the authors of a model."""

    parameters: float = Field(description="Published parameter count.")
    note: str = Field(description="How the authors count parameters, if different.")


class PublishedTraining(Document):
    """Training of a model as published; unpublished values are assumptions."""

    workload: dict[str, str | int | float] = Field(examples=[{"seq_len": 2048, "tokens": 300e9}])
    """Workload fields that reproduce the training."""
    seq_len: int | None = Field(description="Sequence length. [tokens]")
    image_size: int | None = Field(description="Image size, as the length of a side. [pixels]")
    tokens: float | None = Field(description="Number of training tokens.")
    samples: float | None = Field(description="Number of training samples.")
    target: str | None = Field(description="Convergence target at which the training stops.")
    global_batch: int | None = Field(description="Samples per step; a request can leave it to the search.")
    assumed: bool = Field(description="True if the length of the training was not published.")
    figures: list[CatalogueFigure] = Field(description="Figures, each with source, date, status and note.")


class ModelSource(Document):
    """Source of the dimensions of a model."""

    title: str = Field(description="Title.")
    url: str = Field(description="URL.")
    published: str = Field(description="Publication date; can be empty.")


class OperatorSummary(Document):
    """One operator of a model, for one sample."""

    name: str = Field(description="Name.")
    kind: str = Field(description="Kind of operator.")
    count: float = Field(description="Number of repeats.")
    parameters: float = Field(description="Parameter count over all repeats.")
    forward_flop: float = Field(description="Compute of the forward pass over all repeats. [FLOP]")
    elements: float = Field(description="Number of elements processed by memory-bound operators.")


class Model(Document):
    """A model preset."""

    id: str = Field(description="Identifier.", examples=["gpt3-175b"])
    name: str = Field(description="Name.")
    family: str = Field(description="Model family with the closest measured runs.")
    parameters: Quantity = Field(description="Parameter count, summed over the operators.")
    published: PublishedParameters | None = Field(description="Parameter count as published by the authors.")
    forward_flop_per_sample: Quantity
    """Compute of the forward pass of one sample at the default size."""
    seq_len: int | None = Field(description="Default sequence length of a sample. [tokens]")
    image_size: int | None = Field(description="Default image size, as the length of a side. [pixels]")
    hugging_face: list[str] = Field(default=[], examples=[["meta-llama/Llama-2-7b-hf"]])
    """Names of the same model on Hugging Face."""
    source: ModelSource | None = Field(description="Source of the dimensions.")
    training: PublishedTraining = Field(description="Training as published.")
    status: Literal["accepted"]
    """Status. Presets are checked against the published parameter count."""
    assumptions: list[str] = Field(description="Assumptions made beyond the publication.")


class ModelWithOperators(Model):
    """A model preset with its operators."""

    operators: list[OperatorSummary] = Field(description="Operators at the default size.")


class SoftwareFigure(Document):
    """One efficiency of a software profile."""

    parameter: str = Field(description="Name.", examples=["matrix_efficiency"])
    value: float = Field(description="Central value.")
    low: float = Field(description="10th percentile.")
    high: float = Field(description="90th percentile.")
    unit: str = Field(description="SI unit.")
    status: str = Field(description="Status: fitted to measured runs, or assumed.")
    note: str = Field(description="How the figure was determined.")
    profile: str = Field(description="Profile that states the figure; profiles can extend others.")
    source: SourceRef = Field(description="Source of the figure.")


class Software(Document):
    """A software profile: a named, dated, sourced set of a few efficiencies of a software stack."""

    id: str = Field(description="Identifier.", examples=["megatron-2022"])
    name: str = Field(description="Name.")
    kind: Literal["gpu", "ipu"] = Field(description="Architecture on which it runs.")
    preset: str = Field(description="Class of the profile: tuned, fused or eager.")
    as_of: str = Field(description="Date of the measured runs that it represents.")
    families: list[str] = Field(default_factory=list)
    """Model families of the measured runs that it represents."""
    runs: int = Field(0, description="Configurations of the measured runs that it represents.")
    figures: list[SoftwareFigure] = Field(description="Figures of the profile.")
    rejected: list[Statement] = Field(description="Competing claims; none are stored for software.")
