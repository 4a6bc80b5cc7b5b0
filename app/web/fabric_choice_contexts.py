"""What the templates of network choices are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import Message
from app.reports.figures import Segment
from app.sizing.fabric_choice.documents import FabricChoice, FabricGain, FabricOption
from app.sizing.kept.documents import EstimateSummary
from app.web.calibration_contexts import MovedView
from app.web.contexts import BasePage, Choice, Example, FigureView, Form, WarningGroup


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """One network as it is shown."""

    option: FabricOption
    gain: FabricGain | None
    """Over the reference; None for the reference itself."""
    exposed: Sequence[Segment]
    """Exposed communication by kind, on a scale that all networks share."""
    taken: bool
    against: bool


@dataclass(frozen=True, slots=True)
class RunsInput:
    """Where measured runs of one network are typed."""

    name: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricsPage(BasePage):
    """One workload on several networks."""

    estimate_id: str
    label: str
    path: str
    query: str
    """What the address asks besides; empty where nothing."""
    form: Form
    message: Message | None
    """What is wrong with the address as a whole."""
    asked_wrongly: bool
    """Whether another address would do; false where the estimate has no network to choose."""
    networks: Sequence[Choice]
    ratios: Sequence[Choice]
    """Oversubscriptions to choose from."""
    inputs: Sequence[RunsInput]
    some_measured: bool
    """Whether any runs were typed, so that their fields are shown open."""
    kept: Sequence[tuple[str, str]]
    """Parameters of the address that the form does not show."""
    choice: FabricChoice | None
    rows: Sequence[NetworkRow]
    reference: str
    """Label of the network that gains are stated over."""
    taken: FabricOption | None
    gains: FigureView | None
    exposed: FigureView | None
    ladder: FigureView | None
    accumulation: FigureView | None
    moved: Sequence[MovedView]
    warnings: Sequence[WarningGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricsNewPage(BasePage):
    """Where a workload is chosen."""

    examples: Sequence[Example]
    estimates: Sequence[EstimateSummary]
    """Estimates of the workspace, the newest first."""
