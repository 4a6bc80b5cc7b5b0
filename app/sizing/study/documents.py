"""What is answered about a study: one document for any of its states."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from app.sizing.document import BasisCost, CheckWarning, Document, Estimate, OneBasis, Quantity, Text
from app.sizing.questions import ClaimKind
from app.sizing.study.request import StudyContent

Metric = Literal["time", "cost"]


class Change(Document):
    """One field that differs between two versions, or between a state and its version."""

    field: str = Field(description="Dotted path of the field inside the base or the option.")
    option: str | None = Field(description="Key of the option; null for what all share.")
    knob: str | None = Field(description="Knob that turns it; null where none does.")
    before: JsonValue = Field(description="Value before; null where it was left out.")
    after: JsonValue = Field(description="Value after; null where it is left out.")
    message: str = Field(description="The change as an English sentence.")
    text: Text = Field(description="The sentence with what a translation needs.")


class Delta(Document):
    """An option against the best one."""

    ratio: float = Field(description="Over the best; 1 for the best itself.")
    low: float | None = Field(description="10th percentile of the ratio, from paired samples.")
    high: float | None = Field(description="90th percentile.")
    difference: Quantity = Field(description="What it is more than the best.")
    best: bool = Field(description="True for the best itself, where nothing ties with it.")
    tie: bool = Field(False, description="True for options that nothing separates from the best.")


class StudyOptionAnswer(Document):
    """One option in one state."""

    key: str = Field(description="Key of the option.")
    label: str = Field(description="What it is called.")
    kind: ClaimKind = Field(description="Who says so; estimates are modelled.")
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
    """How surely one option beats another."""

    first: str = Field(description="Key of one option.")
    second: str = Field(description="Key of another.")
    metric: Metric = Field(description="What is held against each other.")
    probability: float | None = Field(
        description="Share of the common samples in which the first is less, ties half; null where neither "
        "has a range."
    )


class PartAcross(Document):
    """One part of the time to train over all options."""

    part: str = Field(description="Name of the part.")
    seconds: dict[str, float] = Field(description="Seconds by key of the option. [s]")
    share: dict[str, float] = Field(description="Share of the time to train by key.")


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
    options: list[StudyOptionAnswer] = Field(description="The options in their order.")
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
    warnings: list[CheckWarning] = Field(description="What to beware of when reading them side by side.")


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
    created_at: datetime = Field(description="When it was made.")
    changes: list[Change] = Field(description="What differs from the version before.")


class StudyVersions(Document):
    """Every version of a study, the newest first."""

    id: str = Field(description="Identifier of the study.")
    items: list[StudyVersion] = Field(description="The newest first.")


class StudySummary(Document):
    """One line of the list of studies."""

    id: str = Field(description="Identifier.")
    name: str = Field(description="Its name.")
    version: int = Field(description="Newest version.")
    options: int = Field(description="Options it has.")
    archived: bool = Field(description="Whether it has been put away.")
    created_at: datetime = Field(description="When it was made.")
    updated_at: datetime = Field(description="When it was last changed.")


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
