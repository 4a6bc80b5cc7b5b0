"""What the templates of calibrations are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import Message
from app.reports.wording.scales import Scale
from app.sizing.calibration_documents import CalibrationAnswer, GainAnswer, MovedFigure
from app.sizing.document import Quantity
from app.web.contexts import BasePage, Choice, FigureView, Form, WarningGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationFormPage(BasePage):
    """The forms that ask for a calibration, or for the gain of an alternative."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    estimates: Sequence[Choice]
    """Estimates that can be calibrated, the newest first, and the example."""
    systems: Sequence[Choice]
    """Systems that a run can be of."""
    rows: Sequence[int]
    """Numbers of the rows of runs, from 0."""
    more: bool
    """Whether rows can be added."""
    earlier: Sequence[Choice]
    """Calibrations made before, the newest first."""


@dataclass(frozen=True, slots=True)
class MovedView:
    """A figure before and after, written for reading."""

    figure: MovedFigure
    before: str
    before_range: str
    after: str
    after_range: str
    implausible: bool


@dataclass(frozen=True, slots=True)
class OutlookRow:
    """One number of the estimate, before and after."""

    name: str
    before: Quantity
    after: Quantity
    scale: Scale


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationPage(BasePage):
    """A software profile fitted to measured runs."""

    answer: CalibrationAnswer
    outlook: Sequence[OutlookRow]
    moved: Sequence[MovedView]
    figures: Sequence[FigureView]
    warnings: Sequence[WarningGroup]
    time_scale: Scale
    """One unit for the step times of all runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GainPage(BasePage):
    """Whether an alternative gains enough."""

    answer: GainAnswer
    worth: bool
    """Whether the alternative is recommended rather than the reference."""
    best: str
    """Label of the fastest alternative."""
    figure: FigureView
    warnings: Sequence[WarningGroup]
