"""Figures of measured runs: gaps before and after, the narrower range, alternatives side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.estimating.schema import Quantity
from app.features.calibration.model import CalibrationAnswer, GainAnswer
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, legend_above, names
from app.platform.wording.scales import scale_of
from app.platform.wording.voice import Voice

BEFORE = (figures.SILVER, "/")
AFTER = (figures.BLUE, "")
WIDTH = 0.36


def gaps(answer: CalibrationAnswer, voice: Voice) -> Figure:
    """Return predicted over measured step time of each run, before and after, in per cent."""
    count = len(answer.runs)

    def side(name: str, style: tuple[str, str], place: float, values: list[float]) -> dict[str, Any]:
        colour, pattern = style
        return {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": [row + place for row in range(count)],
            "x": [100.0 * value for value in values],
            "width": WIDTH,
            "marker": {"color": colour, "pattern": figures.hatched(pattern)},
            "hovertext": [voice.percent(value) for value in values],
            "hoverinfo": "text+name",
        }

    before = [run.gap_before for run in answer.runs]
    after = [run.gap_after for run in answer.runs]
    return figure(
        [
            side(voice.gettext("before"), BEFORE, -WIDTH / 2, before),
            side(voice.gettext("after"), AFTER, WIDTH / 2, after),
        ],
        barmode="overlay",
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(f"{voice.gettext('Predicted over measured step time')} (%)", zeroline=True),
        yaxis=_rows([run_name(number, voice) for number in range(1, count + 1)]),
    )


def run_name(number: int, voice: Voice) -> str:
    """Return what a run is called beside its bar and in its table."""
    return f"{voice.gettext('Measurement')} {number}"


def outlook(before: Quantity, after: Quantity, title: str, voice: Voice) -> Figure:
    """Return a time of the estimate before and after, with ranges."""
    scale = scale_of(before.value, "s")
    data = []
    for row, (one, (colour, pattern)) in enumerate(((before, BEFORE), (after, AFTER))):
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "y": [row],
                "x": [one.value / scale.size],
                "error_x": _whisker([one], scale.size),
                "width": 0.56,
                "marker": {"color": colour, "pattern": figures.hatched(pattern)},
                "hovertext": [voice.quantity(one, scale)],
                "hoverinfo": "text",
            }
        )
    return figure(
        data,
        barmode="overlay",
        xaxis=axis(f"{title} ({voice.gettext(scale.unit)})", rangemode="tozero"),
        yaxis=_rows([voice.gettext("before"), voice.gettext("after")]),
    )


def alternatives(answer: GainAnswer, voice: Voice) -> Figure:
    """Return the mean throughput under each label with the runs it is the mean of."""
    means: list[dict[str, Any]] = []
    for row, one in enumerate(answer.options):
        colour, pattern = AFTER if one.label == answer.recommendation else BEFORE
        means.append(
            {
                "type": "bar",
                "orientation": "h",
                "y": [row],
                "x": [one.mean],
                "width": 0.56,
                "marker": {"color": colour, "pattern": figures.hatched(pattern)},
                "hovertext": [voice.value(one.mean, "samples/s")],
                "hoverinfo": "text",
            }
        )
    points = {
        "type": "scatter",
        "mode": "markers",
        "y": [row for row, one in enumerate(answer.options) for _ in one.runs],
        "x": [run for one in answer.options for run in one.runs],
        "marker": {"color": figures.ORANGE, "size": 9, "symbol": "diamond"},
        "hovertext": [voice.value(run, "samples/s") for one in answer.options for run in one.runs],
        "hoverinfo": "text",
    }
    return figure(
        [*means, points],
        barmode="overlay",
        showlegend=False,
        xaxis=axis(f"{voice.gettext('Throughput')} ({voice.gettext('samples/s')})", rangemode="tozero"),
        yaxis=_rows([one.label for one in answer.options]),
    )


def _rows(labels: Sequence[str]) -> dict[str, Any]:
    return names(list(labels)) | {
        "type": "linear",
        "range": [len(labels) - 0.5, -0.5],
        "autorange": False,
    }


def _whisker(quantities: Sequence[Quantity], size: float) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [(one.high - one.value) / size for one in quantities],
        "arrayminus": [(one.value - one.low) / size for one in quantities],
        "thickness": 1.5,
        "width": 5,
    }
