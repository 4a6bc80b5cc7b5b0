"""What the templates of sizings are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import Message
from app.reports.wording.scales import Scale
from app.sizing.size.documents import ScalingCurve, Sizing, SizingOption
from app.web.contexts import (
    BasePage,
    Choice,
    ChoiceGroup,
    FigureView,
    Filled,
    Form,
    SystemGroup,
    WarningGroup,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingFormPage(BasePage):
    """The form that asks for a sizing."""

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
    kinds: Sequence[tuple[str, str]]
    """What a budget may have to pay, with its name; empty: as the system is had."""
    earlier: Sequence[Choice]
    """Sizings made before, the newest first."""


@dataclass(frozen=True, slots=True)
class SortLink:
    """Head of a column that sorts the table."""

    name: str
    url: str
    numeric: bool
    chosen: bool


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One option with its plan as it is written."""

    option: SizingOption
    plan: str
    warnings: Sequence[str]
    """Codes of warnings above the level of information, in words."""
    best: bool
    tied: bool
    """Whether nothing separates it from the other best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingPage(BasePage):
    """Options by deadline and budget."""

    sizing: Sizing
    answer: Sequence[Message]
    """What was found, in sentences; the first stands out."""
    form: Form
    """Deadline, budget and probability as they can be changed."""
    unit: str
    """Unit of the deadline in the form."""
    kinds: Sequence[tuple[str, str]]
    """What a budget may have to pay, with its name."""
    mixed: bool
    """Whether the budget is held against the purchase of some and the rent of others."""
    heads: Sequence[SortLink]
    rows: Sequence[OptionRow]
    hidden: int
    """Options that are not shown yet."""
    limits_query: str
    """Query of the limits that are tried, which decide what options there are; may be empty."""
    all_url: str
    """Address that shows them."""
    frontier: FigureView
    scaling: FigureView | None
    curve: ScalingCurve | None
    time_scale: Scale
    warnings: Sequence[WarningGroup]
