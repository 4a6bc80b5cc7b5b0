"""What a study states: a base that all options share, and what each option changes of it."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, field_validator, model_validator

from app.sizing.questions import LEAST_SHARE, MOST_HOURS, MOST_TIMES, ClaimKind, Currency, Locale
from app.sizing.request import (
    AssumptionsInput,
    ModelInput,
    Number,
    PlanInput,
    Schema,
    SystemInput,
    Whole,
    WorkloadInput,
)

MAX_OPTIONS = 8
MAX_KNOBS = 120
MAX_NOTES = 10_000
FORMAT = "rackline-study"
FORMAT_VERSION = 1

Key = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9]{0,7}$",
        description="Short name of an option, used in addresses: a letter, then letters and digits.",
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
    """What is trained."""
    workload: WorkloadInput = WorkloadInput()
    """How much of it, in which batches."""
    software: str | None = None
    """Identifier of a software profile; left out, the usual one for the model on each chip."""
    assumptions: AssumptionsInput = AssumptionsInput()
    """What is taken for granted."""
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
    """How the model is laid over the devices; what is left out is searched."""
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
        description="Name → value; “count.a” turns one option, “batch” all. An empty value is the default.",
        examples=[{"count.a": 4, "batch": 1024}],
    )
    version: Whole | None = Field(
        None, ge=1, description="Version they are turned on; the newest if left out."
    )
    pair: list[Key] | None = Field(
        None, min_length=2, max_length=2, description="Two options to hold against each other."
    )


class ComparisonOfState(StateRequest):
    """A state of a study to be kept as a comparison, for a proposal."""

    title: str | None = Field(None, max_length=200, description="Left out, the name of the study.")
    locale: Locale = Field("en", description="Language the comparison is shown in.")


class DuplicateRequest(StateRequest):
    """A copy of a study, in any of its states."""

    name: Name | None = Field(None, description="Name of the copy; left out, the name with a mark.")


class StudyFile(Schema):
    """A study as one file."""

    format: Literal["rackline-study"] = Field(description="What the file is.")
    format_version: Literal[1] = Field(description="Version of the format.")
    engine_version: str = Field("", max_length=40, description="Version of the formulas it was written with.")
    catalog_version: str = Field("", max_length=100, description="Version of the figures.")
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


def merged(base: Schema, change: Schema) -> dict[str, Any]:
    """Return the stated fields of one with those of another on top."""
    return {**stated(base), **stated(change)}


def stated(part: Schema) -> dict[str, Any]:
    """Return the fields of a part of a request that were stated; null states nothing."""
    found: Mapping[str, Any] = part.model_dump(exclude_unset=True)
    return {name: value for name, value in found.items() if value is not None}
