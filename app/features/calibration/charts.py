"""Figures of measured runs: gaps before and after, the narrower range, alternatives side by side."""

from __future__ import annotations

from collections.abc import Sequence

from app.estimating.schema import Quantity
from app.features.calibration.model import CalibrationAnswer, GainAnswer
from app.platform.charts import figures
from app.platform.charts.figures import AFTER, BEFORE, Figure, axis, time_scale, whiskers
from app.platform.web.contexts import FigureView, view
from app.platform.wording.scales import Scale, scale_of
from app.platform.wording.voice import Voice

WIDTH = 0.36

Outlooks = Sequence[tuple[str, Quantity, Quantity, Scale]]
"""Times of an estimate by name: before, after, and one unit for both."""


def outlooks(answer: CalibrationAnswer, voice: Voice) -> Outlooks:
    before, after = answer.before, answer.after
    times = (
        (voice.gettext("Training time"), before.time_to_train, after.time_to_train),
        (voice.gettext("Step time"), before.step_time, after.step_time),
    )
    return [(name, first, second, time_scale([first])) for name, first, second in times if first and second]


def views(answer: CalibrationAnswer | GainAnswer, times: Outlooks, voice: Voice) -> list[FigureView]:
    if isinstance(answer, GainAnswer):
        drawn = alternatives(answer, voice)
        return [view("alternatives", voice.gettext("Measured throughput"), drawn, table="alternatives")]
    caption = voice.gettext("Deviation of each run before and after")
    charts = [view("gaps", caption, gaps(answer, voice), table="runs")]
    if times:
        name, before, after, _ = times[0]
        caption = voice.gettext("Estimate before and after calibration")
        charts.append(view("outlook", caption, outlook(before, after, name, voice), table="outlook"))
    return charts


def gaps(answer: CalibrationAnswer, voice: Voice) -> Figure:
    """Return predicted over measured step time of each run, before and after, in per cent."""
    rows = range(len(answer.runs))
    before, after = [run.gap_before for run in answer.runs], [run.gap_after for run in answer.runs]
    traces = [
        figures.bar(
            name,
            [100.0 * value for value in values],
            [row + shift for row in rows],
            style,
            [voice.percent(value) for value in values],
            width=WIDTH,
        )
        for name, style, shift, values in (
            (voice.gettext("before"), BEFORE, -WIDTH / 2, before),
            (voice.gettext("after"), AFTER, WIDTH / 2, after),
        )
    ]
    values = [0.0, *(100.0 * gap for gap in (*before, *after))]
    across = axis(voice.gettext("Predicted over measured step time"), values, voice.number, unit="%")
    return figures.lying(traces, [run_name(row + 1, voice) for row in rows], across)


def run_name(number: int, voice: Voice) -> str:
    """Return the name of a run in chart and table."""
    return f"{voice.gettext('Measurement')} {number}"


def outlook(before: Quantity, after: Quantity, title: str, voice: Voice) -> Figure:
    """Return a time of the estimate before and after, with ranges."""
    scale = scale_of(before.value, "s")
    traces = [
        figures.bar(
            "",
            [time.value / scale.size],
            [row],
            style,
            [voice.quantity(time, scale)],
            error_x=whiskers([time], scale.size),
        )
        for row, (time, style) in enumerate(((before, BEFORE), (after, AFTER)))
    ]
    ends = figures.reach((before, after), scale.size)
    across = axis(title, ends, voice.number, unit=voice.gettext(scale.unit), zero=True)
    return figures.lying(traces, [voice.gettext("before"), voice.gettext("after")], across)


def alternatives(answer: GainAnswer, voice: Voice) -> Figure:
    """Draw the mean throughput of each alternative with its runs."""
    traces = [
        figures.bar(
            "",
            [option.mean],
            [row],
            AFTER if option.label == answer.recommendation else BEFORE,
            [voice.value(option.mean, "samples/s")],
        )
        for row, option in enumerate(answer.options)
    ]
    runs = [(row, run) for row, option in enumerate(answer.options) for run in option.runs]
    traces.append(
        figures.points(
            [run for _, run in runs],
            [row for row, _ in runs],
            {"color": figures.ORANGE, "size": 9, "symbol": "diamond"},
            [voice.value(run, "samples/s") for _, run in runs],
            name=voice.gettext("Measured runs"),
        )
    )
    values = [*(option.mean for option in answer.options), *(run for _, run in runs)]
    across = axis(
        voice.gettext("Throughput"), values, voice.number, unit=voice.gettext("samples/s"), zero=True
    )
    return figures.lying(traces, [option.label for option in answer.options], across)
