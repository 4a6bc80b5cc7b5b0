"""Figures of a network choice: gains against the threshold, what is exposed, and where it turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.engine.units import GIGABYTE
from app.features.networks.model import EXPOSED, AccumulationPoint, FabricChoice, Rung
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, legend_above, names
from app.platform.wording.scales import scale_of
from app.platform.wording.voice import Voice

APART = 1.3
"""Ratio of two bandwidths from which both are written under the axis."""


def gains(choice: FabricChoice, voice: Voice) -> Figure:
    """Return the gain of each network over the reference with its range, and the threshold as a line."""
    labels = {option.id: option.label for option in choice.options}
    taken = choice.advice.recommendation if choice.advice else None
    rows = len(choice.gains)
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": voice.gettext("Gain, 80 % interval"),
        "x": [100.0 * one.gain.value for one in choice.gains],
        "y": list(range(rows)),
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [100.0 * (one.gain.high - one.gain.value) for one in choice.gains],
            "arrayminus": [100.0 * (one.gain.value - one.gain.low) for one in choice.gains],
            "thickness": 2,
            "width": 5,
            "color": figures.SILVER,
        },
        "marker": {
            "color": [figures.BLUE if one.option == taken else figures.GREY for one in choice.gains],
            "size": 10,
            "symbol": ["diamond" if one.basis == "measured" else "circle" for one in choice.gains],
        },
        "hovertext": [f"{labels[one.option]}<br>{voice.quantity(one.gain)}" for one in choice.gains],
        "hoverinfo": "text",
    }
    reference = labels.get(choice.reference or "", "")
    title = voice.gettext("Gain over {reference}").format(reference=reference)
    return figure(
        [points, _threshold([100.0 * choice.threshold] * 2, [-0.5, rows - 0.5], choice.threshold, voice)],
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(f"{title} (%)", zeroline=True, zerolinecolor=figures.SILVER),
        yaxis=_rows([labels[one.option] for one in choice.gains]),
    )


def exposed(choice: FabricChoice, voice: Voice) -> Figure:
    """Return the communication of a step that is not hidden on each network, by kind."""
    shown = [option.exposed for option in choice.options]
    most = max((one.tensor + one.pipeline + one.data for one in shown), default=0.0)
    scale = scale_of(most, "s")
    bars = []
    for kind, part in EXPOSED.items():
        values = [float(getattr(one, kind)) for one in shown]
        if not any(value > 0 for value in values):
            continue
        colour, pattern = figures.PARTS[part]
        bars.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": voice.label(part, "part"),
                "y": list(range(len(values))),
                "x": [value / scale.size for value in values],
                "marker": {"color": colour, "pattern": figures.hatched(pattern)},
                "hovertext": [voice.value(value, "s", exact=False) for value in values],
                "hoverinfo": "text+name",
            }
        )
    title = f"{voice.gettext('Exposed communication per step')} ({voice.gettext(scale.unit)})"
    return figure(
        bars,
        barmode="stack",
        bargap=0.35,
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(title, rangemode="tozero"),
        yaxis=_rows([option.label for option in choice.options]),
    )


def ladder(rungs: Sequence[Rung], threshold: float, voice: Voice) -> Figure:
    """Return what is left to gain over the bandwidth of a machine, and the threshold."""
    bandwidths = [rung.node_bandwidth / GIGABYTE for rung in rungs]
    ticks: list[float] = []
    for value in bandwidths:
        # Labels do not run into the one before.
        if not ticks or value > APART * ticks[-1]:
            ticks.append(value)
    return _turning(
        bandwidths,
        [rung.left_to_gain for rung in rungs],
        [rung.label for rung in rungs],
        threshold,
        voice.gettext("Gain of the fastest network over this one"),
        axis(
            f"{voice.gettext('Bandwidth per machine')} (GB/s)",
            type="log",
            tickvals=ticks,
            ticktext=[voice.number(float(f"{value:.3g}")) for value in ticks],
        ),
        voice,
    )


def accumulation(points: Sequence[AccumulationPoint], threshold: float, voice: Voice) -> Figure:
    """Return what the fastest network gains over the slowest by accumulation, and the threshold."""
    counts = [float(point.accumulation) for point in points]
    return _turning(
        counts,
        [point.ladder_gain for point in points],
        [voice.number(point.global_batch) for point in points],
        threshold,
        voice.gettext("Gain of the fastest network over the slowest"),
        axis(
            voice.gettext("Micro-batches per step"),
            type="log",
            tickvals=counts,
            ticktext=[voice.number(count) for count in counts],
        ),
        voice,
    )


def _turning(
    x: Sequence[float],
    y: Sequence[float],
    labels: Sequence[str],
    threshold: float,
    name: str,
    across: dict[str, Any],
    voice: Voice,
) -> Figure:
    hover = [f"{label}<br>{voice.percent(value, 2)}" for label, value in zip(labels, y, strict=True)]
    points = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(x),
        "y": [100.0 * value for value in y],
        "line": {"color": figures.BLUE, "width": 2},
        "marker": {"color": figures.BLUE, "size": 8},
        "hovertext": hover,
        "hoverinfo": "text",
    }
    return figure(
        [points, _threshold([min(x), max(x)], [100.0 * threshold] * 2, threshold, voice)],
        showlegend=True,
        legend=legend_above(),
        xaxis=across,
        yaxis=axis(f"{voice.gettext('Gain')} (%)", rangemode="tozero"),
    )


def _rows(labels: list[str]) -> dict[str, Any]:
    return names(labels) | {"type": "linear", "range": [len(labels) - 0.5, -0.5], "autorange": False}


def _threshold(x: list[float], y: list[float], threshold: float, voice: Voice) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{voice.gettext('Threshold')} {voice.percent(threshold)}",
        "x": x,
        "y": y,
        "line": {"color": figures.VERMILION, "width": 2, "dash": "dash"},
        "hoverinfo": "name",
    }
