"""From calibrations to what their pages show; no number is made here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.estimating.schema import Quantity
from app.features.calibration import charts as figures
from app.features.calibration.fitting import IMPLAUSIBLE
from app.features.calibration.model import CalibrationAnswer, GainAnswer, MovedFigure
from app.platform.charts.figures import time_scale
from app.platform.web.contexts import FigureView, WarningGroup, grouped, view
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice


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
class CalibrationPage:
    """A software profile fitted to measured runs."""

    answer: CalibrationAnswer
    outlook: Sequence[OutlookRow]
    moved: Sequence[MovedView]
    figures: Sequence[FigureView]
    warnings: Sequence[WarningGroup]
    time_scale: Scale
    """One unit for the step times of all runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GainPage:
    """Whether an alternative gains enough."""

    answer: GainAnswer
    worth: bool
    """Whether the alternative is recommended rather than the reference."""
    best: str
    """Label of the fastest alternative."""
    figure: FigureView
    warnings: Sequence[WarningGroup]


def calibration_page(answer: CalibrationAnswer, voice: Voice) -> CalibrationPage:
    """Return the page of a calibration."""
    outlook = [
        OutlookRow(name, before, after, time_scale([before]))
        for name, before, after in (
            (voice.gettext("Training time"), answer.before.time_to_train, answer.after.time_to_train),
            (voice.gettext("Step time"), answer.before.step_time, answer.after.step_time),
        )
        if before is not None and after is not None
    ]
    drawn = figures.gaps(answer, voice)
    views = [view("gaps", voice.gettext("Deviation of each run before and after"), drawn, table="runs")]
    if outlook:
        one = outlook[0]
        drawn = figures.outlook(one.before, one.after, one.name, voice)
        caption = voice.gettext("Estimate before and after calibration")
        views.append(view("outlook", caption, drawn, table="outlook"))
    return CalibrationPage(
        answer=answer,
        outlook=outlook,
        moved=[moved_view(one, voice) for one in answer.moved],
        figures=views,
        warnings=grouped(("", one) for one in answer.warnings),
        time_scale=time_scale([run.before for run in answer.runs]),
    )


def moved_view(figure: MovedFigure, voice: Voice) -> MovedView:
    """Return a figure before and after as it is read: times in their unit, the rest as bare numbers."""

    def written(value: float) -> str:
        return voice.value(value, "s") if figure.unit == "s" else voice.number(value)

    def span(low: float, high: float) -> str:
        return f"({written(low)} – {written(high)})"

    return MovedView(
        figure=figure,
        before=written(figure.prior),
        before_range=span(figure.prior_low, figure.prior_high),
        after=written(figure.posterior),
        after_range=span(figure.posterior_low, figure.posterior_high),
        implausible=abs(figure.deviations) > IMPLAUSIBLE,
    )


def gain_page(answer: GainAnswer, voice: Voice) -> GainPage:
    """Return the page of measured alternatives."""
    others = [one for one in answer.options if one.label != answer.reference]
    drawn = figures.alternatives(answer, voice)
    return GainPage(
        answer=answer,
        worth=answer.recommendation != answer.reference,
        best=max(others, key=lambda one: one.mean).label,
        figure=view("alternatives", voice.gettext("Measured throughput"), drawn, table="alternatives"),
        warnings=grouped(("", one) for one in answer.warnings),
    )
