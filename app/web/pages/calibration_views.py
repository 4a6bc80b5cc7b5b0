"""From calibrations to what their pages show; no number is made here."""

from __future__ import annotations

from collections.abc import Sequence

from app.reports.figures import calibrations as figures
from app.reports.figures.comparisons import time_scale
from app.reports.wording import Voice
from app.sizing.calibration_documents import CalibrationAnswer, GainAnswer, MovedFigure
from app.web.calibration_contexts import CalibrationPage, GainPage, MovedView, OutlookRow
from app.web.pages.presenting import MOST_ROWS, grouped, view

IMPLAUSIBLE = 2.5
"""Standard deviations from which a figure's move is marked, as the check of the same name does."""


def calibration_page(
    answer: CalibrationAnswer, voice: Voice, documents: Sequence[tuple[str, str]]
) -> CalibrationPage:
    """Return the page of a calibration."""
    outlook = [
        OutlookRow(name, before, after, time_scale([before]))
        for name, before, after in (
            (voice.gettext("Time to train"), answer.before.time_to_train, answer.after.time_to_train),
            (voice.gettext("Time of one step"), answer.before.step_time, answer.after.step_time),
        )
        if before is not None and after is not None
    ]
    size = f"rows-{min(len(answer.runs) + 2, MOST_ROWS)}"
    drawn = figures.gaps(answer, voice)
    views = [view("gaps", voice.gettext("Gap of each run before and after"), size, drawn, "runs")]
    if outlook:
        one = outlook[0]
        drawn = figures.outlook(one.before, one.after, one.name, voice)
        views.append(
            view("outlook", voice.gettext("The estimate before and after"), "rows-3", drawn, "outlook")
        )
    return CalibrationPage(
        data_url=f"/calibrations/{answer.id}.json",
        documents=documents,
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


def gain_page(answer: GainAnswer, voice: Voice, documents: Sequence[tuple[str, str]]) -> GainPage:
    """Return the page of measured alternatives."""
    others = [one for one in answer.options if one.label != answer.reference]
    drawn = figures.alternatives(answer, voice)
    size = f"rows-{min(len(answer.options) + 1, MOST_ROWS)}"
    return GainPage(
        data_url=f"/calibrations/{answer.id}.json",
        documents=documents,
        answer=answer,
        worth=answer.recommendation != answer.reference,
        best=max(others, key=lambda one: one.mean).label,
        figure=view("alternatives", voice.gettext("Measured throughput"), size, drawn, "alternatives"),
        warnings=grouped(("", one) for one in answer.warnings),
    )
