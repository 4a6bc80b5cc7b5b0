"""What is answered about a study: one document for any of its states."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, JsonValue, field_validator, model_validator

from app.estimating.documents import CheckWarning, Estimate, Text
from app.estimating.request import (
    AssumptionsInput,
    Currency,
    Locale,
    ModelInput,
    Number,
    PlanInput,
    Schema,
    SystemInput,
    Whole,
    WorkloadInput,
)
from app.estimating.schema import Document, Quantity
from app.features.comparisons.model import LEAST_SHARE, MOST_HOURS, MOST_TIMES, BasisCost, ClaimKind, OneBasis

MAX_OPTIONS = 8

MAX_KNOBS = 120

MAX_NOTES = 10_000

FORMAT = "rackline-study"

FORMAT_VERSION = 1

Key = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9]{0,7}$",
        description="Short name of an option, used in URLs: a letter, then letters and digits.",
        examples=["a"],
    ),
]

Name = Annotated[str, Field(min_length=1, max_length=200)]

KnobValue: TypeAlias = str | float | int | None

Knobs = Annotated[
    dict[Annotated[str, Field(max_length=60)], Annotated[KnobValue, Field(union_mode="smart")]],
    Field(max_length=MAX_KNOBS),
]


class StudyBase(Schema):
    """What all options share; each may change parts of it."""

    model: ModelInput
    """Model to train."""
    workload: WorkloadInput = WorkloadInput()
    """How much to train, and in which batches."""
    software: str | None = None
    """Identifier of a software profile; left out, the usual one for the model on each chip."""
    assumptions: AssumptionsInput = AssumptionsInput()
    """Assumptions of the estimate."""
    currency: Currency = "USD"
    """Currency of every price and cost."""
    scaling_efficiency: Number = Field(
        1.0, gt=0, le=1, description="Share of linear scaling that scaled figures reach."
    )


class StatedFigure(Schema):
    """A time to train that somebody states; a linear one may be scaled from another option."""

    hours: Number | None = Field(
        None,
        ge=LEAST_SHARE,
        le=MOST_HOURS,
        description="Time to train; a linear figure may leave it out and scale another. [h]",
    )
    kind: ClaimKind = Field(description="Who says so; “linear” is an extrapolation.")
    scaled_from: Key | None = Field(None, description="Key of the option a linear figure is scaled from.")
    factor: Number | None = Field(
        None, ge=LEAST_SHARE, le=MOST_TIMES, description="How many times the hardware of that option."
    )
    system: str | None = Field(None, max_length=100, description="Identifier of a system.")


class StudyOption(Schema):
    """One system choice: an estimate that changes parts of the base, or a figure somebody states."""

    key: Key
    label: Name | None = None
    """What to call it; left out, count and system."""
    system: SystemInput | None = None
    """On what an estimate is made; left out for a stated figure."""
    workload: WorkloadInput = WorkloadInput()
    """What differs from the base's workload."""
    plan: PlanInput = PlanInput()
    """How the model is mapped to devices. Omitted fields are searched."""
    software: str | None = None
    """Software profile in place of the base's."""
    assumptions: AssumptionsInput = AssumptionsInput()
    """What differs from the base's assumptions."""
    figure: StatedFigure | None = None
    """A time that somebody states, in place of an estimate."""


class StudyContent(Schema):
    """A study: its name, its base, its options and notes."""

    name: Name = Field(description="What the study is called.", examples=["BERT-Large for Seoul"])
    base: StudyBase
    """What all options share."""
    options: list[StudyOption] = Field(
        min_length=1, max_length=MAX_OPTIONS, description="1 to 8 options; a key left out is given."
    )
    notes: str = Field("", max_length=MAX_NOTES, description="Notes on the question, in plain text.")

    @field_validator("name")
    @classmethod
    def not_blank(cls, name: str) -> str:
        """Refuse a name of spaces."""
        if not name.strip():
            raise ValueError("must not be blank")
        return name.strip()

    @model_validator(mode="before")
    @classmethod
    def keyed(cls, value: Any) -> Any:
        """Give a key to each option that has none."""
        options = value.get("options") if isinstance(value, dict) else None
        if not isinstance(options, list) or not all(isinstance(option, dict) for option in options):
            return value
        taken = {option.get("key") for option in options if isinstance(option.get("key"), str)}
        fresh = free_keys(taken)
        given = [option if "key" in option else {"key": next(fresh), **option} for option in options]
        return {**value, "options": given}


def free_keys(taken: set[Any]) -> Iterator[str]:
    """Return keys that no option has: a, b, c … then a1, b1 …"""
    for number in itertools.count():
        for letter in string.ascii_lowercase:
            key = letter if number == 0 else f"{letter}{number}"
            if key not in taken:
                yield key


class StudyPatch(Schema):
    """What to change of a study; what is left out stays. Every change makes a version."""

    name: Name | None = Field(None, description="New name.")
    notes: str | None = Field(None, max_length=MAX_NOTES, description="New notes.")
    base: StudyBase | None = Field(None, description="New base in place of the old one.")
    options: list[StudyOption] | None = Field(
        None, min_length=1, max_length=MAX_OPTIONS, description="New options in place of all there are."
    )
    knobs: Knobs = Field(
        default={},
        description="Knobs to turn on what there is, as an address holds them, before it is kept.",
        examples=[{"count.a": 4, "batch": 1024}],
    )


class StateRequest(Schema):
    """A state of a study: a version and the knobs that were turned on it."""

    knobs: Knobs = Field(
        default={},
        description="Knob name → value; “count.a” changes one option, “batch” all. An empty "
        "value means the default.",
        examples=[{"count.a": 4, "batch": 1024}],
    )
    version: Whole | None = Field(
        None, ge=1, description="Version to which the knobs apply; if omitted, the newest."
    )
    pair: list[Key] | None = Field(
        None, min_length=2, max_length=2, description="Two options to compare with each other."
    )


class ComparisonOfState(StateRequest):
    """A state of a study to store as a comparison, for use in a proposal."""

    title: str | None = Field(None, max_length=200, description="Title; if omitted, the name of the study.")
    locale: Locale = Field("en", description="Display language of the comparison.")


class DuplicateRequest(StateRequest):
    """A copy of a study, in any of its states."""

    name: Name | None = Field(
        None, description="Name of the copy; if omitted, the original name with a suffix."
    )


class StudyFile(Schema):
    """A study as one file."""

    format: Literal["rackline-study"] = Field(description="What the file is.")
    format_version: Literal[1] = Field(description="Version of the format.")
    engine_version: str = Field("", max_length=40, description="Version of the formulas it was written with.")
    catalog_version: str = Field("", max_length=100, description="Version of the catalogue.")
    study: StudyContent = Field(description="The study.")


def tree_of(content: StudyContent) -> dict[str, Any]:
    """Return a study as nested JSON with only what was stated, options as a list with their keys."""
    tree: dict[str, Any] = _stated(content.model_dump(mode="json", exclude_unset=True))
    return tree


OWN = {"config", "transformer", "layers"}
"""Models of the customer's own, in which a null may mean something."""


def _stated(value: Any) -> Any:
    """Return a JSON value without nulls: a field that is null has not been stated."""
    if isinstance(value, dict):
        return {name: one if name in OWN else _stated(one) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_stated(one) for one in value]
    return value


def leaves(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Give dotted paths and values; models of the customer's own are one value each."""
    for name, value in tree.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping) and path not in {"model.config", "model.transformer"}:
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def merged(base: Schema, change: Schema) -> dict[str, Any]:
    """Return the stated fields of one with those of another on top."""
    return {**stated(base), **stated(change)}


def stated(part: Schema) -> dict[str, Any]:
    """Return the fields of a part of a request that were stated; null states nothing."""
    found: Mapping[str, Any] = part.model_dump(exclude_unset=True)
    return {name: value for name, value in found.items() if value is not None}


Metric = Literal["time", "cost"]


class Change(Document):
    """One field that differs between two versions, or between a state and its version."""

    field: str = Field(description="Dotted path of the field inside the base or the option.")
    option: str | None = Field(description="Key of the option; null for what all share.")
    knob: str | None = Field(description="Knob that turns it; null where none does.")
    before: JsonValue = Field(description="Value before; null where it was left out.")
    after: JsonValue = Field(description="Value after; null where it is left out.")
    message: str = Field(description="The change as an English sentence.")
    text: Text = Field(description="Sentence with its template and values, for translation.")


class Delta(Document):
    """An option compared with the best one."""

    ratio: float = Field(description="Ratio to the best option; 1 for the best itself.")
    low: float | None = Field(description="10th percentile of the ratio, from paired samples.")
    high: float | None = Field(description="90th percentile.")
    difference: Quantity = Field(description="Difference from the best option.")
    best: bool = Field(description="True for the best option, unless another ties with it.")
    tie: bool = Field(False, description="True if the option is too close to the best to call.")


class StudyOptionAnswer(Document):
    """One option in one state."""

    key: str = Field(description="Key of the option.")
    label: str = Field(description="Name.")
    kind: ClaimKind = Field(description="Origin of the figure; estimates are modelled.")
    system: str | None = Field(description="Identifier of the system.")
    time: Quantity | None = Field(description="Time to train; null where it does not fit or cannot be made.")
    cost: Quantity | None = Field(
        description="Cost of the run on the basis of all options; null where none is known."
    )
    costs: list[BasisCost] = Field(
        default=[], description="What it costs on the basis of all options, each way to pay; its own first."
    )
    time_against_best: Delta | None = Field(description="Against the fastest option.")
    cost_against_best: Delta | None = Field(description="Against the cheapest option.")
    refusal: Text | None = Field(description="Why it cannot run or cannot be estimated; null where it can.")
    estimate: Estimate | None = Field(description="The whole estimate, where the option is one.")


class Contest(Document):
    """Probability that one option beats another."""

    first: str = Field(description="Key of the first option.")
    second: str = Field(description="Key of the second option.")
    metric: Metric = Field(description="Metric compared.")
    probability: float | None = Field(
        description="Share of the paired samples in which the first option is lower, counting "
        "ties as half; null if neither has a range."
    )


class PartAcross(Document):
    """One component of the time to train, across all options."""

    part: str = Field(description="Name of the part.")
    seconds: dict[str, float] = Field(description="Duration by key of the option. [s]")
    share: dict[str, float] = Field(description="Share of the time to train, by key of the option.")


class WhyPart(Document):
    """One part in which the times of two options differ."""

    part: str = Field(description="Name of the part.")
    first: float = Field(description="Seconds of the first option. [s]")
    second: float = Field(description="Seconds of the second option. [s]")
    difference: float = Field(description="Second less first. [s]")
    text: Text = Field(description="The same as a sentence.")


class Why(Document):
    """Why one option and not another."""

    first: str = Field(description="Key of the option that is held against the other.")
    second: str = Field(description="Key of the other.")
    difference: float | None = Field(description="Time of the second less that of the first. [s]")
    parts: list[WhyPart] = Field(description="Parts that differ, the largest first; they add up to that.")
    sentences: list[Text] = Field(description="What it comes to, the time first, then the cost.")


class Swing(Document):
    """What one input alone does to the lead of the best option."""

    input: str = Field(description="Input that is off.")
    option: str | None = Field(description="Key of the option it belongs to; null for all.")
    basis: Literal["assumed", "model"] = Field(
        description="“assumed”: off by the share looked at; “model”: its share of the range of the lead."
    )
    low: float = Field(description="Lead with the input at its low end.")
    high: float = Field(description="Lead with the input at its high end.")
    overtaken_by: str | None = Field(
        description="Key of the option that is then the best; null where none is."
    )
    text: Text = Field(description="The same as a sentence.")


class Tornado(Document):
    """What would change which option is the best."""

    metric: Metric = Field(description="What the best option is the best in.")
    best: str = Field(description="Key of the best option.")
    runner_up: str = Field(description="Key of the second.")
    lead: float = Field(description="The second over the best; it is overtaken at 1.")
    low: float | None = Field(
        None,
        description="10th percentile of the lead, from paired samples; null where nothing has a range.",
    )
    high: float | None = Field(None, description="90th percentile.")
    share: float = Field(description="How far off each assumed input is looked at.")
    swings: list[Swing] = Field(description="Inputs, the one with the widest swing first.")


class StudyAnswer(Document):
    """A study in one state."""

    id: str = Field(description="Identifier of the study.")
    version: int = Field(description="Version whose knobs were turned.")
    latest: int = Field(description="Newest version there is.")
    archived: bool = Field(description="Whether it has been put away.")
    content: StudyContent = Field(description="The study with its knobs turned.")
    knobs: dict[str, str] = Field(description="What differs from the version, as an address holds it.")
    changes: list[Change] = Field(description="The same as fields and sentences.")
    options: list[StudyOptionAnswer] = Field(description="Options, in order.")
    fastest: str | None = Field(description="Key of the fastest option; null where options tie.")
    cheapest: str | None = Field(description="Key of the cheapest option; null where options tie.")
    fastest_tied: list[str] = Field(
        default=[], description="Keys of the options that tie for the least time."
    )
    cheapest_tied: list[str] = Field(default=[], description="Keys of those that tie for the least cost.")
    one_basis: OneBasis | None = Field(
        None, description="What the costs of all options share; null where none is known."
    )
    contests: list[Contest] = Field(description="Every option against every other, in time and in cost.")
    where_time_goes: list[PartAcross] = Field(description="Parts of the time to train, the largest first.")
    why: Why | None = Field(description="Two options held against each other; null with fewer than two.")
    tornados: list[Tornado] = Field(description="What would change the best option, in time and in cost.")
    warnings: list[CheckWarning] = Field(description="Warnings to consider when comparing the options.")


class Study(Document):
    """A study as it is kept."""

    id: str = Field(description="Identifier.")
    version: int = Field(description="This version.")
    latest: int = Field(description="Newest version.")
    archived: bool = Field(description="Whether it has been put away.")
    created_at: datetime = Field(description="When the study was made.")
    changed_at: datetime = Field(description="When this version was made.")
    content: StudyContent = Field(description="What it states.")


class StudyVersion(Document):
    """One version and what changed with it."""

    version: int = Field(description="Number, from 1.")
    created_at: datetime = Field(description="Creation time.")
    changes: list[Change] = Field(description="What differs from the version before.")


class StudyVersions(Document):
    """Every version of a study, the newest first."""

    id: str = Field(description="Identifier of the study.")
    items: list[StudyVersion] = Field(description="The newest first.")


class StudySummary(Document):
    """One line of the list of studies."""

    id: str = Field(description="Identifier.")
    name: str = Field(description="Name.")
    version: int = Field(description="Newest version.")
    options: int = Field(description="Options it has.")
    archived: bool = Field(description="Whether it has been put away.")
    created_at: datetime = Field(description="Creation time.")
    updated_at: datetime = Field(description="Time of the last change.")


class AssumedValue(Document):
    """What one option takes for one field."""

    value: JsonValue = Field(description="The value.")
    default: bool = Field(description="True where nobody stated it.")
    text: Text | None = Field(description="Why it was taken; null where it was stated.")


class AssumptionRow(Document):
    """One field over all options."""

    field: str = Field(description="Dotted path of the field in an estimate request.")
    knob: str | None = Field(description="Knob that changes it for all options; null where none does.")
    values: dict[str, AssumedValue] = Field(description="What each option takes, by its key.")


class StudyAssumptions(Document):
    """Everything a study takes for granted, and what changes it."""

    id: str = Field(description="Identifier of the study.")
    version: int = Field(description="Version whose knobs were turned.")
    name: str = Field(description="Name of the study.")
    knobs: dict[str, str] = Field(description="Knobs that were turned.")
    labels: dict[str, str] = Field(description="Name of each estimated option by its key.")
    rows: list[AssumptionRow] = Field(description="Defaults first, then what was stated.")
    model: list[Text] = Field(description="What was assumed where the model's description is silent.")
