"""What each page's template is given: one typed record per page, nothing beside it.

A template reads ``page.…`` and fails on a name that is not here; a test holds that every field is
read by its template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.errors import FieldError, Message
from app.reports.drawings.schedule import StageTimes
from app.reports.drawings.svg import Drawing
from app.reports.figures import MemoryBar, RangeBar, Segment
from app.reports.figures.layout import Figure
from app.reports.wording.scales import Scale
from app.sizing.document import (
    BasisCost,
    CheckWarning,
    Comparison,
    ComparisonRow,
    Estimate,
    Memory,
    ModelSummary,
    NearestRun,
    OutsideRun,
    Quantity,
    SourceRef,
    Text,
)
from app.sizing.kept.documents import ComparisonSummary, EstimateSummary
from app.sizing.questions import Mapping as IpuMapping


@dataclass(frozen=True, slots=True, kw_only=True)
class BasePage:
    """What every page has."""

    data_url: str = ""
    """Address of the same data as JSON; empty where there is none."""
    documents: Sequence[tuple[str, str]] = ()
    """Address and title of the documents that can be read here, for the foot of the page."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a list to choose from."""

    id: str
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionsPage(BasePage):
    """The tools around the hardware, by what they decide; each has its address as identifier."""

    groups: Sequence[ChoiceGroup]


@dataclass(frozen=True, slots=True)
class ChoiceGroup:
    """Entries under one heading."""

    name: str
    choices: Sequence[Choice]


@dataclass(frozen=True, slots=True)
class SystemChoice:
    """One system that can be ticked."""

    id: str
    name: str
    detail: str
    fabrics: Sequence[Choice]
    default_fabric: str


@dataclass(frozen=True, slots=True)
class SystemGroup:
    """Systems under one heading; ``common`` groups are shown open."""

    name: str
    common: bool
    systems: Sequence[SystemChoice]


@dataclass(frozen=True, slots=True)
class Example:
    """A ready-made comparison that one click opens."""

    id: str
    title: str
    summary: str


@dataclass(frozen=True, slots=True)
class Form:
    """What was typed into a form, and what is wrong with it."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    errors: Sequence[FieldError] = ()

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a field."""
        values = self.values.get(name, ())
        return values[0] if values else default

    @property
    def firsts(self) -> dict[str, str]:
        """The first value of each field."""
        return {name: values[0] for name, values in self.values.items() if values}

    def has(self, name: str, value: str) -> bool:
        """Tell whether a value was chosen."""
        return value in self.values.get(name, ())

    def wrong(self, *names: str) -> list[Message]:
        """Return what is wrong with any of these fields, or with what lies below them."""
        return [
            error.message
            for error in self.errors
            if any(error.field == name or error.field.startswith(f"{name}.") for name in names)
        ]

    def general(self, name: str, *, apart: Sequence[str]) -> list[Message]:
        """Return what is wrong with a field or what lies below it, apart from what is shown elsewhere."""
        shown = {f"{name}.{one}" for one in apart}
        return [
            error.message
            for error in self.errors
            if error.field not in shown and (error.field == name or error.field.startswith(f"{name}."))
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What a form holds of the training of its model."""

    model: str
    """Name of the model."""
    why: Message | None
    """The amount in words and where it comes from; None where nothing is known of it."""
    assumed: bool
    """Whether nobody published it."""
    global_batch: int | None
    """Batch of that training, which is left to the search. [samples]"""
    source: SourceRef | None
    """Where it was read."""
    fields: frozenset[str]
    """Names of the fields that hold what was filled in."""
    sequences: bool
    """Whether the model reads sequences of a stated length."""
    images: bool
    """Whether it reads images of a stated size."""
    limit: int | None
    """Positions that its configuration allows, where less is filled in. [tokens]"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPage(BasePage):
    """The form that asks for a comparison."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    models: Sequence[ChoiceGroup]
    filled: Filled | None
    """What the form holds of the training of its model; None where no model is chosen."""
    targets: Sequence[Choice]
    softwares: Sequence[ChoiceGroup]
    """Software profiles of GPUs, then of IPUs."""
    systems: Sequence[SystemGroup]
    examples: Sequence[Example]
    recent: Sequence[ComparisonSummary]
    """Comparisons made last."""
    profile: Choice | None
    """An uploaded model profile that the form holds on to."""
    sample: Choice | None
    """An uploaded data sample that the form holds on to."""


@dataclass(frozen=True, slots=True)
class OptionView:
    """One option of a comparison with what its row shows."""

    row: ComparisonRow
    time: Quantity | None
    time_bar: RangeBar | None
    cost: Quantity | None
    cost_bar: RangeBar | None
    against_best: float | None
    """Hours over those of the fastest option."""
    fastest: bool
    tie: bool
    """Whether it is one of several that nothing separates from the fastest."""
    cheapest: bool
    cheapest_tie: bool
    bound: str
    """Largest part of the time to train; empty where there is no breakdown."""
    refusal: CheckWarning | None
    """Why the option cannot run, and what would fit."""


@dataclass(frozen=True, slots=True)
class RatioView:
    """How many times as long one option takes as another."""

    ratio: float
    faster: str
    slower: str
    probability: float | None
    """How sure it is that the faster one is; none for figures without a range."""
    low: float | None
    high: float | None
    tie: bool
    """Whether nothing separates the two."""


@dataclass(frozen=True, slots=True)
class WarningLine:
    """A sentence of warning with the options it concerns."""

    text: Text
    options: Sequence[str]


@dataclass(frozen=True, slots=True)
class WarningGroup:
    """Everything one check found: one line per sentence, for its values may differ by option."""

    code: str
    severity: str
    lines: Sequence[WarningLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonsPage(BasePage):
    """The list of comparisons."""

    comparisons: Sequence[ComparisonSummary]
    next_url: str
    """Address of the next stretch; empty at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatesPage(BasePage):
    """The list of estimates."""

    estimates: Sequence[EstimateSummary]
    next_url: str
    """Address of the next stretch; empty at the end."""


PartRow = tuple[str, Sequence[tuple[float, float]]]
"""A part of the time to train, and per option its seconds and its share."""


@dataclass(frozen=True, slots=True)
class FigureView:
    """A chart: its identifier, caption, size and data, and the table that says the same."""

    id: str
    caption: str
    size: str
    figure: Figure
    table: str
    """Identifier of the element that holds the same numbers as text."""
    note: str = ""
    """How to read it."""


@dataclass(frozen=True, slots=True)
class DrawingView:
    """A drawing: its identifier, caption and shapes, and the table that says the same."""

    id: str
    caption: str
    drawing: Drawing
    table: str
    """Identifier of the element that holds the same as text; empty where there is none."""
    rows: Sequence[Sequence[str | int | float | bool | None]] = ()
    """The same for other programs, the head first; none where the page offers a file of its own."""
    note: str = ""
    """How to read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPage(BasePage):
    """Options side by side."""

    comparison: Comparison
    model: ModelSummary | None
    """The model, where all modelled rows share one."""
    trained: Text | None
    """What is trained, where all modelled rows train the same."""
    options: Sequence[OptionView]
    modelled: bool
    """Whether any row is an estimate; published figures have hours only."""
    time_scale: Scale
    """One unit for the times of all options."""
    ratios: Sequence[RatioView]
    basis_rows: Sequence[tuple[str, BasisCost]]
    """Options with what they cost on one basis, each way to pay."""
    basis_asked: Sequence[tuple[str, str]]
    """What the address states of that basis."""
    serious: Sequence[WarningGroup]
    """Warnings that stand above the options."""
    warnings: Sequence[WarningGroup]
    """All others."""
    figures: Sequence[FigureView]
    part_columns: Sequence[str]
    """Labels of the options that have a breakdown."""
    parts: Sequence[PartRow]
    memory_columns: Sequence[tuple[str, Memory]]
    """Options whose memory is known."""
    memory_parts: Sequence[tuple[str, Sequence[float]]]
    """Parts of the memory of a device, with their bytes by option."""
    has_linear: bool
    """Whether any row is scaled from another, so that scaling efficiency matters."""
    form: Form
    scaling_url: str
    """Address of the scaling curve; empty where no row is modelled."""


@dataclass(frozen=True, slots=True)
class ScalingRow:
    """One size of one option."""

    label: str
    count: int
    devices: int
    time: Quantity | None
    efficiency: Quantity | None
    """Speed over that of the smallest size times the growth in devices."""
    cost: Quantity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPage(BasePage):
    """Time to train over the number of machines."""

    comparison_id: str
    figures: Sequence[FigureView]
    table: str
    """Identifier of the table that says the same."""
    rows: Sequence[ScalingRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatePage(BasePage):
    """One estimate, down to its formulas."""

    estimate: Estimate
    fabric_name: str
    """What its network is called."""
    time_scale: Scale
    """One unit for all parts of the time to train."""
    memory: MemoryBar | None
    shares: Sequence[Segment]
    figures: Sequence[FigureView]
    schedule: DrawingView | None
    """Passes of one step; none where the pipeline has one stage."""
    stage_times: Sequence[StageTimes]
    """The same stage by stage."""
    superstep: Sequence[Segment]
    """Parts of one superstep; none where stages do not wait in lockstep."""
    refusal: CheckWarning | None
    """Why it cannot run, and what would fit."""
    warnings: Sequence[WarningGroup]
    """All others."""
    all_searched: bool
    """Whether no choice of the plan was asked for."""
    plan: Sequence[tuple[str, str]]
    """Choices of the plan: field and value as written."""
    basis: Sequence[tuple[str, str]]
    """What the cost rests on: field and value as written."""
    defaults: Sequence[tuple[str, str, Text]]
    """Values taken: field, value as written, and why."""
    nearest: Sequence[tuple[NearestRun, str]]
    """Measured runs close by, each with the unit of its metric as it stands after a number."""
    outside: Sequence[tuple[OutsideRun, str]]
    """Measured runs of the same case outside the range, each with its unit."""
    form: Form = field(default_factory=Form)
    """The software that is chosen."""
    software: Choice | None = None
    """Software it was estimated with, with its date and what it was fitted on; none of a bare figure."""
    softwares: Sequence[ChoiceGroup] = ()
    """What it can be estimated with instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemPage(BasePage):
    """Why a page cannot be shown, and where to go."""

    status: int
    title: str
    message: Message
    errors: Sequence[FieldError]
    request_id: str
    """Identifier of the request, by which the log tells more."""


@dataclass(frozen=True, slots=True)
class Contents:
    """One entry of a table of contents."""

    anchor: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage(BasePage):
    """A document of the project, such as its methodology."""

    title: str
    body: str
    """HTML made from our own Markdown, never from input."""
    contents: Sequence[Contents]


@dataclass(frozen=True, slots=True)
class Column:
    """Head of a column; numbers stand to the right."""

    name: str
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One line of a list of the catalogue, first column apart."""

    id: str
    name: str
    url: str
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class StatementView:
    """One figure as a source states it, written for reading."""

    parameter: str
    anchor: str
    condition: str
    description: str
    written: str
    range: str
    direction: str
    estimated: bool
    source: SourceRef
    as_of: str
    status: str
    note: str
    reason: str
    rejected: Sequence[StatementView] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A plain table."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogIndexPage(BasePage):
    """The kinds of things the catalogue knows."""

    kinds: Sequence[Choice]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogKindPage(BasePage):
    """Everything of one kind."""

    kind: str
    kinds: Sequence[str]
    columns: Sequence[Column]
    rows: Sequence[EntryRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogItemPage(BasePage):
    """One thing with all its figures."""

    kind: str
    id: str
    name: str
    maker: str
    facts: Sequence[tuple[str, str, str]]
    """Name, value as written, address or nothing."""
    figures: Sequence[StatementView]
    derived: Sequence[tuple[str, str, str]]
    """Name, value as written, formula."""
    tables: Sequence[Table]


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingPage(BasePage):
    """How a model is laid over a pod."""

    form: Form
    systems: Sequence[Choice]
    examples: Sequence[Choice]
    mapping: IpuMapping | None
    stale: bool
    """Whether the result is that of an earlier question."""
    previous: str
    """Query of the last mapping that was possible, kept in the form."""
    filled: float
    """Weights on the memory bar. [%]"""
    capacity: float
    """Memory on the memory bar. [%]"""
    warnings: Sequence[WarningGroup]
