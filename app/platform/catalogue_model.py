"""What is answered about the catalogue: every figure with unit, range, source, date and status."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.estimating.schema import Document, Quantity, SourceRef


class Statement(Document):
    """One figure as a source states it, in SI units and as it was written."""

    parameter: str = Field(description="Name of the figure.", examples=["memory_bandwidth"])
    condition: str = Field(description="What tells it from others of that name; usually empty.")
    value: float | None = Field(description="In SI units; null for words and for what was not found.")
    low: float | None = Field(description="Low end of the range; the value where none is stated.")
    high: float | None = Field(description="High end of the range; the value where none is stated.")
    unit: str = Field(description="SI unit of the value.", examples=["B/s"])
    text: str = Field(description="The figure as written in its source, without its unit.")
    stated_unit: str = Field(description="Unit in which the source states it.", examples=["GB/s"])
    direction: str = Field(description="What a bandwidth counts: one-way, both-ways or empty.")
    source: SourceRef = Field(description="Where it was read.")
    as_of: str = Field(description="Date of the statement.", examples=["2021-06-01"])
    status: Literal["accepted", "rejected"] = Field(description="Rejected figures are shown, never used.")
    estimated: bool = Field(description="True where nobody measured or published it.")
    note: str = Field(description="How it was read; for a rejected figure, why it is not used.")


class CatalogueFigure(Statement):
    """A figure in use, with the competing claims that are not."""

    description: str = Field(description="What the parameter means.")
    rejected: list[Statement] = Field(description="Competing claims of the same figure, with the reason.")


class DerivedFigure(Document):
    """A figure that follows from others."""

    name: str = Field(description="Name of the figure.", examples=["fp16_dense"])
    value: float = Field(description="In SI units.")
    unit: str = Field(description="SI unit.")
    formula: str = Field(description="The formula in words.")
    inputs: list[Statement] = Field(description="The figures that went in.")


class CatalogueEntry(Document):
    """Something the catalogue has figures of."""

    id: str = Field(description="Identifier.", examples=["a100-sxm-80gb"])
    name: str = Field(description="Name.")
    maker: str = Field(description="Who makes it.")
    figures: list[CatalogueFigure] = Field(description="Figures in use.")
    rejected: list[Statement] = Field(description="All competing claims that are not used.")


class Chip(CatalogueEntry):
    """An accelerator."""

    kind: Literal["gpu", "ipu"] = Field(description="Architecture.")
    derived: list[DerivedFigure] = Field(description="What follows: peaks, ridge points, on-chip bandwidths.")


class Machine(CatalogueEntry):
    """A node or an IPU machine."""

    chip: str = Field(description="Identifier of its chip.")
    devices: int = Field(description="Accelerators.")
    intra: str = Field(description="How its accelerators reach each other.")


class BillOfSystem(Document):
    """Parts of one kind inside a system."""

    item: str = Field(description="Identifier of the part.")
    name: str = Field(description="Name of the part.")
    count: int = Field(description="How many.")
    price: CatalogueFigure | None = Field(description="Price of one; null where nobody publishes it.")
    power_typical: CatalogueFigure | None = Field(description="Power of one under load.")
    rack_units: CatalogueFigure | None = Field(description="Height of one.")


class System(CatalogueEntry):
    """What is bought or rented."""

    machine: str = Field(description="Identifier of its machine.")
    machines: int = Field(description="Machines.")
    devices: int = Field(description="Accelerators.")
    devices_per_machine: int = Field(description="Accelerators of one machine.")
    chip: str = Field(description="Identifier of its chip.")
    chip_kind: Literal["gpu", "ipu"] = Field(description="Architecture of its chip.")
    intra: str = Field(description="How accelerators of one machine reach each other.")
    hosts: int = Field(description="Host servers it needs.")
    fabric: str = Field(description="Fabric it comes with.")
    ports_per_node: int = Field(description="Fabric ports of one machine.")
    acquisition: Literal["own", "rent"] = Field(description="Whether it is bought or rented.")
    availability: str = Field(description="Whether it can still be had.")
    price: Quantity | None = Field(description="Sum of the bill; null where a part has no price.")
    price_hour: CatalogueFigure | None = Field(description="Newest rent on demand.")
    power_typical: Quantity = Field(description="Power under a training load.")
    power_max: Quantity = Field(description="Highest power.")
    rack_units: float = Field(description="Height in the rack. [U]")
    bill: list[BillOfSystem] = Field(description="What it consists of.")
    derived: list[DerivedFigure] = Field(description="What follows from the figures.")


class Fabric(CatalogueEntry):
    """A scale-out network, per port."""

    protocol: str = Field(description="What runs on it.")


class PublishedParameters(Document):
    """The parameter count a model's authors give."""

    parameters: float = Field(description="As published.")
    note: str = Field(description="How they count where that differs.")


class PublishedTraining(Document):
    """How a model was trained, as published; what nobody published is an assumption."""

    workload: dict[str, str | int | float] = Field(
        description="Fields of a workload that repeat it.", examples=[{"seq_len": 2048, "tokens": 300e9}]
    )
    seq_len: int | None = Field(description="Length of a sequence. [tokens]")
    image_size: int | None = Field(description="Side of an image. [pixels]")
    tokens: float | None = Field(description="Tokens trained on.")
    samples: float | None = Field(description="Samples trained on.")
    target: str | None = Field(description="Convergence target at which it stops.")
    global_batch: int | None = Field(description="Samples of one step; a request may leave it to the search.")
    assumed: bool = Field(description="True where nobody published how long it was trained.")
    figures: list[CatalogueFigure] = Field(description="Each figure with source, date, status and note.")


class ModelSource(Document):
    """Where the dimensions of a model were published."""

    title: str = Field(description="Title.")
    url: str = Field(description="Address.")
    published: str = Field(description="Date; may be empty.")


class OperatorSummary(Document):
    """One operator of a model, per sample."""

    name: str = Field(description="Name.")
    kind: str = Field(description="What it does.")
    count: float = Field(description="How often it occurs.")
    parameters: float = Field(description="Parameters of all repeats.")
    forward_flop: float = Field(description="Forward pass of all repeats. [FLOP]")
    elements: float = Field(description="Elements that memory-bound operators pass over.")


class Model(Document):
    """A model preset."""

    id: str = Field(description="Identifier.", examples=["gpt3-175b"])
    name: str = Field(description="Name.")
    family: str = Field(description="Family whose measured runs come nearest.")
    parameters: Quantity = Field(description="Parameters, counted from the operators.")
    published: PublishedParameters | None = Field(description="Parameters as its authors give them.")
    forward_flop_per_sample: Quantity = Field(description="Forward pass of one sample at the default size.")
    seq_len: int | None = Field(description="Default length of a sample. [tokens]")
    image_size: int | None = Field(description="Default side of an image. [pixels]")
    source: ModelSource | None = Field(description="Where its dimensions were published.")
    training: PublishedTraining = Field(description="How it was trained, as published.")
    status: Literal["accepted"] = Field(description="Presets are checked against the published count.")
    assumptions: list[str] = Field(description="What was assumed beyond the publication.")


class ModelWithOperators(Model):
    """A model preset with its operators."""

    operators: list[OperatorSummary] = Field(description="Its operators at the default size.")


class SoftwareFigure(Document):
    """One efficiency of a software profile."""

    parameter: str = Field(description="Name.", examples=["matrix_efficiency"])
    value: float = Field(description="Central value.")
    low: float = Field(description="10th percentile.")
    high: float = Field(description="90th percentile.")
    unit: str = Field(description="SI unit.")
    status: str = Field(description="fitted to measured runs, or assumed.")
    note: str = Field(description="How it was found.")
    profile: str = Field(description="Profile that states it; profiles extend others.")
    source: SourceRef = Field(description="Where it comes from.")


class Software(Document):
    """How good a software stack is: a named, dated, sourced set of a few efficiencies."""

    id: str = Field(description="Identifier.", examples=["megatron-2022"])
    name: str = Field(description="Name.")
    kind: Literal["gpu", "ipu"] = Field(description="Architecture it runs on.")
    preset: str = Field(description="Class: tuned, fused or eager.")
    as_of: str = Field(description="Date of the measured runs it stands for.")
    families: list[str] = Field(
        default_factory=list, description="Families of models of the measured runs it stands for."
    )
    runs: int = Field(0, description="Configurations of the measured runs it stands for.")
    figures: list[SoftwareFigure] = Field(description="Its figures.")
    rejected: list[Statement] = Field(description="Competing claims; none are kept for software.")
