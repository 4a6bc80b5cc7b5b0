"""Documents of studies: what is stated, and what is answered about any of their states."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue

from app.errors import Message
from app.estimating.decision import Decision
from app.estimating.documents import CheckWarning, Estimate, Text
from app.estimating.names import Name, Trimmed
from app.estimating.naming import SoftwareName
from app.estimating.request import (
    AssumptionsInput,
    Limits,
    ModelInput,
    Number,
    PlanInput,
    Schema,
    SystemInput,
    TrainingRequest,
    Whole,
    WorkloadInput,
    patch_of,
)
from app.estimating.schema import Document, Quantity
from app.features.studies.options import (
    BasisCost,
    ClaimKind,
    CommonBasis,
    DemandAnswer,
    Key,
    StatedFigure,
)

MAX_OPTIONS = 8
MAX_KNOBS = 120
MAX_NOTES = 10_000

Tag = Annotated[Name, Field(min_length=1, max_length=40)]

Label = Annotated[Name, Field(min_length=1, max_length=200)]

KnobValue: TypeAlias = str | float | int | None

Knobs = Annotated[
    dict[Annotated[str, Field(max_length=60)], Annotated[KnobValue, Field(union_mode="smart")]],
    Field(max_length=MAX_KNOBS),
]


class StudyBase(TrainingRequest):
    """Fields shared by all options; each option can change some of them."""

    scaling_efficiency: Number = Field(1.0, gt=0, le=1)
    """Scaling efficiency of scaled figures, as a share of linear scaling."""


VIEWS: Mapping[str, Message] = {
    "": Message("Compare"),
    "systems": Message("Find a system"),
    "rent": Message("Build or rent"),
    "costs": Message("Cost items"),
    "bill": Message("Bill"),
    "plan": Message("Plan"),
    "roofline": Message("Roofline"),
    "network": Message("Network"),
    "serving": Message("Serving"),
    "partitions": Message("Partitions"),
    "runs": Message("Measured runs"),
    "assumptions": Message("Assumptions"),
    "proposal": Message("Proposal"),
}
"""Views of a study in the order of its menu: last part of the address → name."""

GROUPS: tuple[tuple[Message, tuple[str, ...]], ...] = (
    (Message("Answer"), ("", "systems")),
    (Message("Cost"), ("rent", "costs", "bill")),
    (Message("Engineering"), ("plan", "roofline", "network", "serving", "partitions")),
    (Message("Evidence"), ("runs", "assumptions")),
    (Message("Proposal"), ("proposal",)),
)
"""Groups of the menu, each with its views."""

ViewFields = Annotated[
    dict[Annotated[str, Field(max_length=60)], Annotated[str, Field(max_length=2_000)]],
    Field(max_length=MAX_KNOBS),
]

Views = Annotated[dict[Annotated[str, Field(pattern=r"^[a-z-]{1,20}$")], ViewFields], Field(max_length=20)]


def omissible_key(schema: dict[str, Any]) -> None:
    """Mark the key of an option as optional in its schema, because it is assigned if omitted."""
    schema["required"].remove("key")
    if not schema["required"]:
        del schema["required"]


class StudyOption(Schema):
    """One system choice: an estimate that changes parts of the base, or a stated figure."""

    model_config = ConfigDict(json_schema_extra=omissible_key)

    key: Key
    label: Label | None = None
    """Label; if omitted, count and system."""
    model: ModelInput | None = None
    """Model to train instead of that of the base."""
    system: SystemInput | None = None
    """System of the estimate; omitted for a stated figure."""
    workload: WorkloadInput = WorkloadInput()
    """Differences from the workload of the base."""
    plan: PlanInput = PlanInput()
    """How the model is mapped to devices. Omitted fields are searched."""
    software: SoftwareName | None = None
    """Software profile to use instead of that of the base."""
    assumptions: AssumptionsInput = AssumptionsInput()
    """Differences from the assumptions of the base."""
    figure: StatedFigure | None = None
    """A stated time to train, instead of an estimate."""


def free_keys(used: set[Any]) -> Iterator[str]:
    """Yield keys that are not in use: a, b, c … then a1, b1 …"""
    for number in itertools.count():
        for letter in string.ascii_lowercase:
            key = letter if number == 0 else f"{letter}{number}"
            if key not in used:
                yield key


def with_keys(options: Any) -> Any:
    """Assign a key to each option without one."""
    if not isinstance(options, list) or not all(isinstance(option, dict) for option in options):
        return options
    keys = free_keys({option.get("key") for option in options if isinstance(option.get("key"), str)})
    return [option if "key" in option else {"key": next(keys), **option} for option in options]


StudyOptions = Annotated[list[StudyOption], BeforeValidator(with_keys)]


class StudyContent(Schema):
    """A study: its name, its base, its options and notes."""

    name: Annotated[Trimmed, Field(min_length=1, max_length=200)] = Field(examples=["BERT-Large for Seoul"])
    """Name of the study."""
    base: StudyBase
    """Base shared by all options."""
    options: StudyOptions = Field(min_length=1, max_length=MAX_OPTIONS)
    """1 to 8 options; omitted keys are assigned."""
    notes: str = Field("", max_length=MAX_NOTES, description="Notes on the question, in plain text.")
    customer: Name = Field("", max_length=200, description="Customer who asks.", examples=["하이퍼커넥트"])
    owner: Name = Field("", max_length=200, description="Person in charge of the study.")
    tags: list[Tag] = Field(default=[], max_length=10, description="Words by which studies are grouped.")
    limits: Limits = Field(default=Limits(), description="What an answer has to meet.")
    baseline: Key | None = None
    """Option that the others are compared with; if omitted, the best one."""
    views: Views = Field(default={})
    """What the views of the study ask beyond the question, by view, as their forms hold it."""


@patch_of
class StudyPatch(StudyContent):
    """Fields of a study to change, each as a whole. Every change creates a version."""

    knobs: Knobs = Field(default={}, examples=[{"count.a": 4, "batch": 1024}])
    """Knobs to apply to the study before it is stored, as written in a URL."""


class StateRequest(Schema):
    """A state of a study: a version and the knobs applied to it."""

    knobs: Knobs = Field(default={}, examples=[{"count.a": 4, "batch": 1024}])
    """Knob name → value; “count.a” changes one option, “batch” all. An empty value means the default."""
    version: Whole | None = Field(None, ge=1)
    """Version to which the knobs apply; if omitted, the newest."""
    pair: list[Key] | None = Field(None, min_length=2, max_length=2)
    """Two options to compare with each other."""


class DuplicateRequest(StateRequest):
    """A copy of a study, in any of its states."""

    name: Name | None = None
    """Name of the copy; if omitted, the original name with a suffix."""


class StudyFile(Schema):
    """A study as a single file."""

    format: Literal["rackline-study"] = Field(description="Format of the file.")
    format_version: Literal[1] = Field(description="Version of the format.")
    engine_version: str = Field("", max_length=40)
    """Version of the engine with which the file was written."""
    catalog_version: str = Field("", max_length=100, description="Version of the catalogue.")
    study: StudyContent = Field(description="The study.")


def tree_of(content: StudyContent) -> dict[str, Any]:
    """Return a study as nested JSON of its stated fields only."""
    tree: dict[str, Any] = _stated(content.model_dump(mode="json", exclude_unset=True))
    return tree


CUSTOM_MODELS = {"config", "transformer", "layers"}
"""Fields of the customer's own models, in which a null may have a meaning."""


def _stated(value: Any) -> Any:
    """Return a JSON value without the fields that are null, which have not been stated."""
    if isinstance(value, dict):
        return {
            name: part if name in CUSTOM_MODELS else _stated(part)
            for name, part in value.items()
            if part is not None
        }
    if isinstance(value, list):
        return [_stated(item) for item in value]
    return value


def leaves(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield dotted paths with their values; a model of the customer's own is one value."""
    for name, value in tree.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping) and path not in {"model.config", "model.transformer"}:
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def merged(base: Schema, change: Schema) -> dict[str, Any]:
    """Return the stated fields of ``base``, overridden by those of ``change``."""
    return {**stated(base), **stated(change)}


AMOUNTS = ("tokens", "samples", "epochs", "target")
"""Fields of a workload that say how long to train."""


def training_of(content: StudyContent) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return model and workload of a study; its first estimated option fills in what its base omits."""
    base = content.base
    model, workload = stated(base.model), stated(base.workload)
    first = next((option for option in content.options if option.system is not None), None)
    if first is not None:
        model = model or (stated(first.model) if first.model else {})
        if not any(name in workload for name in AMOUNTS):
            workload = merged(first.workload, base.workload)
    return model, workload


def stated(part: Schema) -> dict[str, Any]:
    """Return the fields of a part of a request that were stated and are not null."""
    fields = part.model_dump(exclude_unset=True)
    return {name: value for name, value in fields.items() if value is not None}


Metric = Literal["time", "cost"]


class StudyChange(Document):
    """One field that differs between two versions, or between a state and its version."""

    field: str = Field(description="Dotted path of the field within the base or the option.")
    option: str | None = Field(description="Key of the option; null for a field shared by all options.")
    knob: str | None = Field(description="Knob for the field; null if there is none.")
    before: JsonValue = Field(description="Value before the change; null if omitted.")
    after: JsonValue = Field(description="Value after the change; null if omitted.")
    message: str = Field(description="The change as a sentence in English.")
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
    """Result of one option in one state."""

    key: str = Field(description="Key of the option.")
    label: str = Field(description="Name.")
    kind: ClaimKind = Field(description="Origin of the figure; estimates are modelled.")
    system: str | None = Field(description="Identifier of the system.")
    time: Quantity | None
    """Time to train; null if it does not fit or cannot be estimated."""
    cost: Quantity | None
    """Cost of the run on the basis shared by all options; null if no cost is known."""
    costs: list[BasisCost] = Field(default=[])
    """Cost on the basis shared by all options, for each way of paying; the option's own way first."""
    time_against_best: Delta | None = Field(description="Comparison with the fastest option.")
    cost_against_best: Delta | None = Field(description="Comparison with the cheapest option.")
    time_against_baseline: Delta | None = None
    """Comparison with the baseline in time; null if the study names none."""
    cost_against_baseline: Delta | None = None
    """Comparison with the baseline in cost; null if the study names none."""
    refusal: Text | None = Field(description="Why the option cannot run or be estimated; null if it can.")
    estimate: Estimate | None = Field(description="Full estimate, if the option is an estimate.")


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
    """One component in which the times of two options differ."""

    part: str = Field(description="Name of the part.")
    first: float = Field(description="Duration for the first option. [s]")
    second: float = Field(description="Duration for the second option. [s]")
    difference: float = Field(description="Second option minus first. [s]")
    text: Text = Field(description="Explanation in one sentence.")


class Why(Document):
    """Explanation of the difference between two options."""

    first: str = Field(description="Key of the first option.")
    second: str = Field(description="Key of the second option.")
    difference: float | None = Field(description="Time of the second option minus that of the first. [s]")
    parts: list[WhyPart]
    """Components that differ, largest first; they add up to the difference."""
    sentences: list[Text] = Field(description="Explanation in sentences, time first, then cost.")


class Swing(Document):
    """Effect of one input alone on the lead of the best option."""

    input: str = Field(description="Input that is varied.")
    option: str | None
    """Key of the option to which the input belongs; null if it applies to all options."""
    basis: Literal["assumed", "model"]
    """“assumed”: varied by the assumed share; “model”: its share of the range of the lead."""
    low: float = Field(description="Lead at the low end of the input.")
    high: float = Field(description="Lead at the high end of the input.")
    overtaken_by: str | None
    """Key of the option that is then the best; null if there is none."""
    text: Text = Field(description="Explanation in one sentence.")


class Tornado(Document):
    """What would change which option is the best."""

    metric: Metric = Field(description="Metric in which the option is best.")
    best: str = Field(description="Key of the best option.")
    runner_up: str = Field(description="Key of the runner-up.")
    lead: float
    """Ratio of the runner-up to the best option; at 1, the best option is overtaken."""
    low: float | None = None
    """10th percentile of the lead, from paired samples; null if nothing has a range."""
    high: float | None = Field(None, description="90th percentile.")
    share: float = Field(description="Share by which each assumed input is varied.")
    swings: list[Swing] = Field(description="Inputs, widest swing first.")


class StudyAnswer(Document):
    """Results of a study in one state."""

    id: str = Field(description="Identifier of the study.")
    version: int = Field(description="Version to which the knobs apply.")
    latest: int = Field(description="Newest version.")
    archived: bool = Field(description="Whether the study is archived.")
    saved: bool = Field(True, description="Whether somebody has saved the study.")
    content: StudyContent = Field(description="The study with the knobs applied.")
    knobs: dict[str, str] = Field(description="Knobs that differ from the version, as written in a URL.")
    changes: list[StudyChange] = Field(description="Differences from the version, as fields and sentences.")
    options: list[StudyOptionAnswer] = Field(description="Options, in order.")
    decision: Decision = Field(description="What is recommended under the limits, for the demanded work.")
    by_demand: list[DemandAnswer]
    """What is recommended for one run, for ten a year, and for systems that are always busy."""
    fastest: str | None = Field(description="Key of the fastest option; null if options tie.")
    cheapest: str | None = Field(description="Key of the cheapest option; null if options tie.")
    fastest_tied: list[str] = Field(default=[])
    """Keys of the options that tie for the shortest time."""
    cheapest_tied: list[str] = Field(default=[])
    """Keys of the options that tie for the lowest cost."""
    one_basis: CommonBasis | None = None
    """Basis shared by the costs of all options; null if no cost is known."""
    contests: list[Contest]
    """Comparison of every option with every other, in time and in cost."""
    where_time_goes: list[PartAcross] = Field(description="Components of the time to train, largest first.")
    why: Why | None
    """Explanation of the difference between two options; null with fewer than two."""
    tornados: list[Tornado] = Field(description="What would change the best option, in time and in cost.")
    warnings: list[CheckWarning] = Field(description="Warnings to consider when comparing the options.")


class Study(Document):
    """A stored study."""

    id: str = Field(description="Identifier.")
    saved: bool = True
    """False for an answer that nobody has saved; it is deleted after some time."""
    version: int = Field(description="Number of this version.")
    latest: int = Field(description="Newest version.")
    archived: bool = Field(description="Whether the study is archived.")
    created_at: datetime = Field(description="Creation time of the study.")
    updated_at: datetime = Field(description="Time of the last change: creation time of this version.")
    content: StudyContent = Field(description="Content of the study.")


class StudyVersion(Document):
    """One version and its changes."""

    version: int = Field(description="Version number, from 1.")
    created_at: datetime = Field(description="Creation time.")
    changes: list[StudyChange] = Field(description="Differences from the previous version.")


class StudyVersions(Document):
    """All versions of a study, newest first."""

    id: str = Field(description="Identifier of the study.")
    items: list[StudyVersion] = Field(description="Versions, newest first.")
    next: str | None = Field(None, description="Always null: the list is whole.")


class StudySummary(Document):
    """Summary of a study in a list."""

    id: str = Field(description="Identifier.")
    name: str = Field(description="Name.")
    customer: Name = Field("", description="Customer who asks.")
    version: int = Field(description="Newest version.")
    options: int = Field(description="Number of options.")
    archived: bool = Field(description="Whether the study is archived.")
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
    version: int = Field(description="Version to which the knobs apply.")
    name: str = Field(description="Name of the study.")
    knobs: dict[str, str] = Field(description="Knobs that were turned.")
    labels: dict[str, str] = Field(description="Name of each estimated option by its key.")
    rows: list[AssumptionRow] = Field(description="Defaults first, then what was stated.")
    model: list[Text] = Field(description="What was assumed where the model's description is silent.")
