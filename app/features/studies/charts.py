"""Figures of a study: where the time goes over its options, what would change the best, how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.features.studies.model import PartAcross, StudyOptionAnswer, Swing, Tornado
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, legend_above, names
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice

GUIDE = "rgba(128,136,148,0.9)"

SHADES = (0.97, 0.9, 0.75, 0.6)
"""Probabilities from which a cell is shaded, the surest first."""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One cell of the matrix: a probability and its shade, 0 the strongest; none where there is none."""

    probability: float | None
    shade: int | None


def cell(probability: float | None) -> MatrixCell:
    """Return a probability with its shade; one half and less has none."""
    if probability is None:
        return MatrixCell(None, None)
    shade = next((index for index, least in enumerate(SHADES) if probability >= least), None)
    return MatrixCell(probability, shade)


def parts(
    rows: Sequence[PartAcross], options: Sequence[StudyOptionAnswer], scale: Scale, voice: Voice
) -> Figure:
    """Return the parts of the time to train of each option, stacked, with its range at the end."""
    shown = [option for option in options if any(option.key in row.seconds for row in rows)]
    traces: list[dict[str, Any]] = []
    by_name = {row.part: row for row in rows}
    for name, (colour, pattern) in figures.PARTS.items():
        row = by_name.get(name)
        if row is None:
            continue
        seconds = [row.seconds.get(option.key, 0.0) for option in shown]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": voice.label(name, "part"),
                "y": list(range(len(shown))),
                "x": [one / scale.size for one in seconds],
                "width": 0.56,
                "marker": {"color": colour, "pattern": figures.hatched(pattern)},
                "hovertext": [
                    f"{voice.label(name, 'part')}: {voice.value(one, 's', exact=False)}, "
                    f"{voice.share(row.share.get(option.key, 0.0))}"
                    for one, option in zip(seconds, shown, strict=True)
                ],
                "hoverinfo": "text",
            }
        )
    if shown and traces:
        traces.append(_ends(shown, scale, voice))
    labels = [option.label for option in shown]
    return figure(
        traces,
        barmode="stack",
        showlegend=True,
        legend=legend_above() | {"traceorder": "normal"},
        xaxis=axis(f"{voice.gettext('Training time')} ({voice.gettext(scale.unit)})", rangemode="tozero"),
        yaxis=_rows(labels),
    )


def _ends(options: Sequence[StudyOptionAnswer], scale: Scale, voice: Voice) -> dict[str, Any]:
    """Return the ranges of the times as whiskers at the ends of the stacks."""
    times = [option.time for option in options]
    return {
        "type": "scatter",
        "mode": "markers",
        "showlegend": False,
        "y": list(range(len(options))),
        "x": [one.value / scale.size if one else None for one in times],
        "marker": {"size": 1, "color": GUIDE},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [(one.high - one.value) / scale.size if one else 0.0 for one in times],
            "arrayminus": [(one.value - one.low) / scale.size if one else 0.0 for one in times],
            "thickness": 1.5,
            "width": 5,
        },
        "hovertext": [voice.quantity(one, scale) for one in times],
        "hoverinfo": "text",
    }


def tornado(found: Tornado, voice: Voice) -> Figure:
    """Return what each input alone does to the lead of the best option; at one it is overtaken."""
    swings = found.swings
    count = len(swings)

    def side(name: str, colour: str, pattern: str, ends: list[float]) -> dict[str, object]:
        return {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "base": found.lead,
            "y": list(range(count)),
            "x": [end - found.lead for end in ends],
            "width": 0.6,
            "marker": {"color": colour, "pattern": figures.hatched(pattern)},
            "hovertext": [f"{name}: {voice.ratio(end)}" for end in ends],
            "hoverinfo": "text",
        }

    data: list[dict[str, Any]] = [
        side(voice.gettext("input lower"), figures.BLUE, "", [one.low for one in swings]),
        side(voice.gettext("input higher"), figures.ORANGE, "/", [one.high for one in swings]),
    ]
    return figure(
        data,
        barmode="overlay",
        showlegend=True,
        legend=legend_above(),
        shapes=[
            {
                "type": "line",
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "x0": 1,
                "x1": 1,
                "line": {"width": 1.6, "color": figures.VERMILION, "dash": "dash"},
            }
        ],
        xaxis=axis(f"{voice.gettext('Lead of first over second place')} (×)"),
        yaxis=_rows([swing_name(one, voice) for one in swings]),
    )


def swing_name(swing: Swing, voice: Voice) -> str:
    """Return what an input is called beside its bar, with the key of its option."""
    name = voice.label(swing.input)
    return name if swing.option is None else f"{name} ({swing.option})"


def _rows(labels: Sequence[str]) -> dict[str, Any]:
    return names(list(labels)) | {
        "type": "linear",
        "range": [len(labels) - 0.5, -0.5],
        "autorange": False,
    }
