"""What is asked of serving a model, and what is answered for each system."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from app.estimating.documents import CheckWarning, Default, Memory, Part, SystemSummary, Text, TraceStep
from app.estimating.inference import ServingTerms
from app.estimating.money import Currency
from app.estimating.names import Name
from app.estimating.request import AssumptionsInput, ModelInput, SystemInput
from app.estimating.schema import Document, Quantity

MOST_SYSTEMS = 12


class ServingSystem(SystemInput):
    """A system to serve on."""

    label: Name | None = Field(None, max_length=200)
    """Name in the answer; if omitted, count and name of the system."""
    assumptions: AssumptionsInput | None = None
    """Assumptions of price and use for this system; if omitted, those of the request."""


class InferenceRequest(ServingTerms):
    """One model served on several systems."""

    model: ModelInput
    """Model to serve: a decoder transformer."""
    systems: Annotated[list[ServingSystem], Field(min_length=1, max_length=MOST_SYSTEMS)]
    """One to twelve systems; accelerators with memory of their own, not IPUs."""
    assumptions: AssumptionsInput = AssumptionsInput()
    """Assumptions of price, use and memory."""
    currency: Currency = "USD"
    """Currency of every price and cost."""


class ServedModel(Document):
    """Resolved model."""

    id: str
    """Identifier of the preset or profile."""
    name: str
    """Name."""
    parameters: float
    """Parameter count."""
    active_parameters: float
    """Parameters that one token uses; fewer than all in a mixture of experts."""
    cache_per_token: Quantity
    """Key-value cache that one token adds, over all layers and accelerators of one that is not divided."""
    prompt_flop: float
    """Compute of the forward pass of one prompt. [FLOP]"""


class ServingPoint(Document):
    """One batch."""

    batch: int
    """Sequences of one replica."""
    time_per_output_token: Quantity
    """Mean time from one output token to the next."""
    tokens_per_second_per_accelerator: Quantity
    """Output tokens per second, over all accelerators of the system."""
    cost_per_million_output_tokens: Quantity | None
    """Whole cost over output tokens; null if no price is known."""


class ServingFigures(Document):
    """What a system serves at the chosen batch."""

    tensor: int
    """Accelerators that share one replica."""
    replicas: int
    """Number of replicas on the system."""
    idle_accelerators: int
    """Number of accelerators that no replica uses."""
    batch: int
    """Sequences of one replica."""
    largest_batch: int
    """Most sequences of one replica whose caches fit."""
    concurrent: int
    """Sequences of all replicas."""
    meets_limits: bool
    """Whether central times keep the latency limits; true without limits."""
    time_to_first_token: Quantity
    """Time of the forward pass of one prompt, without waiting for a place or for another prompt."""
    decode_step: Quantity
    """Time of one step, in which every sequence of a replica gets one token."""
    time_per_output_token: Quantity
    """Mean time from one output token to the next, with the prompts of other sequences in between."""
    tokens_per_second: Quantity
    """Output tokens per second of the system."""
    tokens_per_second_per_accelerator: Quantity
    """The same over all accelerators of the system."""
    requests_per_second: Quantity
    """Prompts answered per second by the system."""
    cost_per_million_output_tokens: Quantity | None
    """Whole cost over output tokens, if the system is always in use; null if no price is known."""
    cost_per_million_tokens: Quantity | None
    """Whole cost over prompt and output tokens."""
    energy_per_million_output_tokens: Quantity
    """Energy at the meter, at the power of training. [J]"""
    breakdown: list[Part]
    """Components of one decode step."""
    curve: list[ServingPoint]
    """Batches from one sequence to the most that fit."""


class ServingAnswer(Document):
    """One system."""

    label: str
    """Name."""
    system: SystemSummary
    """Resolved system."""
    software: str
    """Identifier of the software profile whose efficiencies are used."""
    precision_used: str
    """Format of weights and products."""
    fits: bool
    """Whether the model and one sequence fit on accelerators that fast links join."""
    memory: Memory
    """Memory of one accelerator of a replica at the chosen batch."""
    cache_per_sequence: Quantity
    """Key-value cache of one whole sequence on one accelerator of a replica."""
    hourly: Quantity | None
    """Cost of an hour in use of the system; null if no price is known."""
    cost_basis: dict[str, JsonValue]
    """Basis of the cost: acquisition, utilisation, term and rates."""
    serving: ServingFigures | None
    """What the system serves; null if the model does not fit."""
    status: Literal["unvalidated"]
    """Whether the answer is covered by measured runs: not yet."""
    warnings: list[CheckWarning]
    """Warnings of this system."""
    trace: list[TraceStep]
    """Formulas with their inputs."""


class Inference(Document):
    """One model served on several systems."""

    engine_version: str
    """Version of the engine."""
    catalog_version: str
    """Version of the catalogue."""
    model: ServedModel
    """Resolved model."""
    request: InferenceRequest
    """Original request."""
    systems: list[ServingAnswer]
    """Systems in the order of the request."""
    assumptions: list[Text]
    """What is assumed of serving."""
    defaults: list[Default]
    """Default values used, and why."""
    warnings: list[CheckWarning]
    """Warnings to consider when reading the result."""
