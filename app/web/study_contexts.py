"""What the templates of studies are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.errors import FieldError, Message
from app.reports.figures import MemoryBar, RangeBar
from app.reports.figures.studies import MatrixCell
from app.reports.wording.scales import Scale
from app.services.study_trace import StudyTrace
from app.sizing.document import BasisCost, CostLine, Quantity, Text
from app.sizing.study.documents import (
    Change,
    PartAcross,
    StudyAnswer,
    StudyAssumptions,
    StudyOptionAnswer,
    StudySummary,
    StudyVersion,
    Swing,
    Tornado,
)
from app.web.contexts import (
    BasePage,
    Choice,
    ChoiceGroup,
    FigureView,
    Filled,
    Form,
    StatementView,
    SystemGroup,
    WarningGroup,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiesPage(BasePage):
    """The list of studies."""

    studies: Sequence[StudySummary]
    sought: str
    archived: bool
    next_url: str
    """Address of the next stretch; empty at the end."""
    errors: Sequence[FieldError] = ()
    """What is wrong with a file that was to be imported."""
    message: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFormPage(BasePage):
    """The guided start: model, workload, systems."""

    form: Form
    message: Message | None
    featured: Sequence[Choice]
    models: Sequence[ChoiceGroup]
    model: Choice | None
    """The model that was chosen; the other steps open with it."""
    filled: Filled | None
    """What the form holds of the training of its model; None where no model is chosen."""
    targets: Sequence[Choice]
    softwares: Sequence[ChoiceGroup]
    """Software profiles of GPUs, then of IPUs."""
    systems: Sequence[SystemGroup]
    within: Message | None
    """Time within which the counts finish; None where one of each system does."""


@dataclass(frozen=True, slots=True)
class KnobView:
    """One knob as it is drawn."""

    name: str
    id: str
    label: str
    value: str
    taken: str
    """What is taken where the field is empty."""
    changed: bool
    """Whether it differs from the version."""
    choices: Sequence[Choice] = ()
    unit: str = ""
    less_url: str = ""
    """Address of the state with one less; empty where there is none."""
    more_url: str = ""


@dataclass(frozen=True, slots=True)
class OptionColumn:
    """One option with its knobs and what it comes to."""

    option: StudyOptionAnswer
    knobs: Mapping[str, KnobView]
    time_bar: RangeBar | None
    cost_bar: RangeBar | None
    memory: MemoryBar | None
    drop_url: str
    trace_url: str
    """Address of the traces of this option, to which the name of the figure is added."""
    hourly: Quantity | None = None
    """Cost of one useful hour on the basis of all options."""
    lines: Mapping[str, CostLine] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One thing that differs from the version, with the address of the state without it."""

    change: Change
    url: str


@dataclass(frozen=True, slots=True)
class PartLine:
    """One part of the time over all options that have it."""

    row: PartAcross
    keys: Sequence[str]


@dataclass(frozen=True, slots=True)
class Matrix:
    """How surely each option beats each other."""

    title: str
    labels: Sequence[str]
    rows: Sequence[tuple[str, Sequence[MatrixCell]]]


@dataclass(frozen=True, slots=True)
class TornadoView:
    """A tornado with its chart."""

    tornado: Tornado
    figure: FigureView
    best: str
    runner_up: str
    rows: Sequence[tuple[Swing, str, str]]
    """Swings, what they are called, and what the option is called that overtakes."""


@dataclass(frozen=True, slots=True)
class Clash:
    """What somebody else has changed meanwhile."""

    message: Message
    changes: Sequence[Text]
    apply_url: str
    """Address of the reader's own changes on the newest version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPage(BasePage):
    """The workspace of a study."""

    answer: StudyAnswer
    form: Form
    general: Sequence[Message]
    """What is wrong that belongs to no knob on the page."""
    stale: bool
    """Whether the result is that of an earlier state."""
    previous: str
    """Query of the last state that could be answered."""
    state: str
    """Query of this state."""
    query: str
    """The same with a question mark, empty where nothing differs."""
    clash: Clash | None
    shared: Sequence[KnobView]
    rows: Sequence[tuple[str, str]]
    """Rows of knobs: name of the knob and what it is called."""
    add: KnobView | None
    """Adds an option; none where there are as many as there may be."""
    add_groups: Sequence[ChoiceGroup]
    columns: Sequence[OptionColumn]
    changes: Sequence[ChangeView]
    fastest_tied: str
    """Options that tie for the least time; empty where one is the fastest."""
    cheapest_tied: str
    basis_rows: Sequence[tuple[str, BasisCost]]
    """Options with what they cost on one basis, each way to pay."""
    time_scale: Scale
    figures: Sequence[FigureView]
    part_labels: Sequence[str]
    parts: Sequence[PartLine]
    pair: tuple[str, str] | None
    pair_form: Sequence[tuple[str, str]]
    """Knobs that stay as they are when another pair is chosen."""
    why_labels: tuple[str, str]
    tornados: Sequence[TornadoView]
    matrices: Sequence[Matrix]
    cost_lines: Sequence[str]
    warnings: Sequence[WarningGroup]
    linear_bases: Sequence[Choice]
    model_name: str


@dataclass(frozen=True, slots=True)
class AssumedLine:
    """One assumption over the options: values that differ stand with their options."""

    field: str
    knob_url: str
    """Address of the knob that changes it; empty where none does."""
    values: Sequence[tuple[str, bool, str, Text | None]]
    """Value as written, whether it is a default, options it holds for, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAssumptionsPage(BasePage):
    """Everything a study takes for granted."""

    assumptions: StudyAssumptions
    back_url: str
    lines: Sequence[AssumedLine]
    catalog: str
    """Address of the catalogue's sources."""


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A figure of the catalogue that went in."""

    name: str
    address: str
    statement: StatementView


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTracePage(BasePage):
    """Where a figure comes from."""

    trace: StudyTrace
    back_url: str
    figures: Sequence[Choice]
    """The other figures of the option, by address."""
    claims: Sequence[ClaimView]
    panel: bool
    """Whether it is drawn beside the workspace."""
    rejected: int
    """Claims that were rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyVersionsPage(BasePage):
    """Every version of a study."""

    id: str
    name: str
    versions: Sequence[StudyVersion]
    archived: bool
