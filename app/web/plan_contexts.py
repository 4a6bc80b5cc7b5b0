"""What the page of a plan search is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import Message
from app.reports.figures import RangeBar
from app.reports.figures.plans import FilledBar, HeatCell
from app.reports.wording.scales import Scale
from app.sizing.document import CheckWarning, Part, PlanSummary, Quantity
from app.sizing.search_documents import Search, SearchedPlan
from app.web.contexts import BasePage, Choice, ChoiceGroup, FigureView, Filled, Form, WarningGroup


@dataclass(frozen=True, slots=True)
class PlanFilter:
    """A field of the plans that can be narrowed."""

    field: str
    choices: Sequence[Choice]
    chosen: str
    """What it is narrowed to, as written in the address; empty where it is free."""


@dataclass(frozen=True, slots=True)
class FilterChip:
    """A filter that is on, and the address without it."""

    field: str
    written: str
    url: str


@dataclass(frozen=True, slots=True)
class MapLink:
    """A cell of the map with where it leads."""

    heat: HeatCell
    written: str
    """Step time in the unit of the map; memory over that of the device where nothing fits."""
    url: str
    chosen: bool
    """Whether the search is narrowed to it; its link then widens the search again."""
    best: bool
    """Whether the best plan stands in it."""


@dataclass(frozen=True, slots=True)
class MapRow:
    """All pipeline degrees of one tensor degree; nothing where no plan is legal."""

    tensor: int
    cells: Sequence[MapLink | None]


@dataclass(frozen=True, slots=True)
class MapView:
    """Step time of the best plan over tensor and pipeline degrees."""

    unit: str
    pipeline: Sequence[int]
    """Columns."""
    rows: Sequence[MapRow]


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One of the best plans with what its row shows."""

    place: int
    found: SearchedPlan
    options: Sequence[Message]
    """Its choices beside the degrees, in words."""
    time_bar: RangeBar | None
    memory_bar: FilledBar
    request: str
    """The plan as the form that opens its estimate sends it."""
    url: str
    """Address that holds the first plan against it; empty for the first."""
    compared: bool
    own: bool
    """Whether it is the plan of the estimate the search started from."""


@dataclass(frozen=True, slots=True)
class PlanReason:
    """Why the first plan wins over another."""

    place: int
    sentence: str
    uncertain: str
    """Why a plan with less central time stands behind; empty where the first is faster."""
    total: float
    """Seconds of a step the other takes more. [s]"""
    parts: Sequence[Part]
    scale: Scale
    largest: float
    """Largest difference of a part. [s]"""
    figure: FigureView


@dataclass(frozen=True, slots=True)
class PointRow:
    """A plan that no other beats in both time and memory."""

    written: str
    step_time: float
    memory: float


@dataclass(frozen=True, slots=True)
class HardwareAdvice:
    """What other hardware would change."""

    change: Message
    gain: float
    """Share of the time of a step saved; 0 where nothing would change."""
    step_time: float
    plan: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The estimate a search started from."""

    id: str
    label: str
    plan: PlanSummary | None
    step_time: Quantity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlansPage(BasePage):
    """The best plans of a model on a system, and why they win."""

    path: str
    query: str
    """What is asked, as in the address."""
    form: Form
    message: Message | None
    """What is wrong with the question as a whole."""
    origin: Origin | None
    filled: Filled | None
    """What the form holds of the training of its model; None where it is an estimate's."""
    models: Sequence[ChoiceGroup]
    systems: Sequence[ChoiceGroup]
    fabrics: Sequence[Choice]
    targets: Sequence[Choice]
    softwares: Sequence[ChoiceGroup]
    examples: Sequence[Choice]
    kept: Sequence[tuple[str, str]]
    """Fields of the address that the form does not show."""
    filters: Sequence[PlanFilter]
    chips: Sequence[FilterChip]
    search: Search | None
    best: str
    """The best plan in words."""
    one_step: bool
    """Whether estimates of the plans are of one step, as nobody said how much is to be trained."""
    refusal: CheckWarning | None
    warnings: Sequence[WarningGroup]
    map: MapView | None
    shades: Sequence[float]
    plans: Sequence[PlanRow]
    why: PlanReason | None
    front: FigureView | None
    points: Sequence[PointRow]
    advice: Sequence[HardwareAdvice]
