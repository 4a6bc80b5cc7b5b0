"""What the templates of networks and bills of materials are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import Message
from app.sizing.bill.documents import Bill, BillComparison, BillLine, FabricPlan, GroupTotal, Rack
from app.web.contexts import BasePage, Choice, ChoiceGroup, DrawingView, Form, WarningGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPage(BasePage):
    """A network by its nodes and switches."""

    form: Form
    examples: Sequence[Choice]
    """Queries worth trying, by name."""
    plan: FabricPlan | None
    stale: bool
    """Whether the result is an earlier one, for what is asked now is refused."""
    previous: str
    """Query of the result that is shown."""
    drawing: DrawingView | None
    warnings: Sequence[WarningGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class BillFormPage(BasePage):
    """The form that asks for a bill of materials."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    systems: Sequence[ChoiceGroup]
    fabrics: Sequence[Choice]
    heights: Sequence[Choice]
    """Heights of racks."""
    currencies: Sequence[Choice]
    estimate: Choice | None
    """Estimate whose system is billed; the form asks for no system then."""
    earlier: Sequence[Choice]
    """Bills made before, the newest first."""


@dataclass(frozen=True, slots=True)
class BillSection:
    """The lines of one group with their sum."""

    total: GroupTotal
    lines: Sequence[BillLine]


@dataclass(frozen=True, slots=True)
class RackRow:
    """Racks that are filled alike, as the table names them."""

    name: str
    rack: Rack
    contents: str
    """What stands in one of them, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BillPage(BasePage):
    """A bill of materials with its racks and its network."""

    bill: Bill
    groups: Sequence[BillSection]
    racks: Sequence[RackRow]
    elevation: DrawingView | None
    topology: DrawingView | None
    fabric_query: str
    """Query of the page that plans the network alone."""
    change_query: str
    """Query that fills the form with what was asked."""
    warnings: Sequence[WarningGroup]
    others: Sequence[Choice]
    """Bills to compare with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BillComparisonPage(BasePage):
    """Two bills side by side."""

    comparison: BillComparison
    warnings: Sequence[WarningGroup]
