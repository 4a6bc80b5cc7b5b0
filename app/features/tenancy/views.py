"""What the templates of partitions and queues are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import Message
from app.features.tenancy.drawings import PodDrawing
from app.features.tenancy.model import PartitionPlan, QueueAnswer
from app.platform.web.contexts import (
    Choice,
    ChoiceGroup,
    DrawingView,
    FigureView,
    Form,
    WarningGroup,
)
from app.platform.wording.scales import Scale


@dataclass(frozen=True, slots=True)
class PlacedTeam:
    """What one request got, in one line."""

    team: str
    devices: int
    slice: str
    places: Sequence[tuple[int, int, int]]
    """Pod or node, first and last device of each block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsPage:
    """Teams side by side on one system."""

    form: Form
    message: Message | None
    """What is wrong with what was asked, as a whole."""
    rows: Sequence[int]
    """Numbers of the rows of the form."""
    systems: Sequence[ChoiceGroup]
    slices: Sequence[str]
    """MIG profiles of the chosen system; none where it has no MIG."""
    pinned: bool
    """Whether any row names a place."""
    examples: Sequence[Choice]
    plan: PartitionPlan | None
    stale: bool
    """Whether the result is that of an earlier question."""
    previous: str
    """Query of the last plan that was possible, kept in the form."""
    drawing: PodDrawing | None
    picture: DrawingView | None
    """The same as a file."""
    placed: Sequence[PlacedTeam]
    warnings: Sequence[WarningGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuesPage:
    """Teams whose jobs share machines over time."""

    form: Form
    message: Message | None
    """What is wrong with what was asked, as a whole."""
    rows: Sequence[int]
    """Numbers of the rows of the form."""
    systems: Sequence[ChoiceGroup]
    examples: Sequence[Choice]
    answer: QueueAnswer | None
    stale: bool
    """Whether the result is that of an earlier question."""
    previous: str
    """Query of the last question that was answered, kept in the form."""
    scale: Scale
    """One unit for all waits."""
    figures: Sequence[FigureView]
    warnings: Sequence[WarningGroup]
    serious: Sequence[WarningGroup]
    """Warnings that stand above the result."""
