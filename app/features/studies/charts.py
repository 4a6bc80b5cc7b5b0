"""Figures of a study: parts of the time of each option, sensitivity of the best, and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.features.studies.model import PartAcross, StudyOptionAnswer, Swing, Tornado
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice

SHADES = (0.97, 0.9, 0.75, 0.6)
"""Least probability of each shade, the strongest first."""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One cell of the matrix: a probability, if known, and its shade, from 0 for the strongest."""

    probability: float | None
    shade: int | None


def cell(probability: float | None) -> MatrixCell:
    if probability is None:
        return MatrixCell(None, None)
    shade = next((index for index, least in enumerate(SHADES) if probability >= least), None)
    return MatrixCell(probability, shade)


def parts(
    rows: Sequence[PartAcross], options: Sequence[StudyOptionAnswer], scale: Scale, voice: Voice
) -> Figure:
    """Draw the parts of the time to train of each option, stacked, with its range at the end."""
    shown = [option for option in options if any(option.key in row.seconds for row in rows)]
    indices = range(len(shown))
    traces = []
    by_name = {row.part: row for row in rows}
    for part, style in figures.PARTS.items():
        row = by_name.get(part)
        if row is None:
            continue
        seconds, name = [row.seconds.get(option.key, 0.0) for option in shown], voice.label(part, "part")
        texts = [
            f"{voice.value(value, 's', exact=False)} ({voice.share(row.share.get(option.key, 0.0))})"
            for value, option in zip(seconds, shown, strict=True)
        ]
        traces.append(figures.bar(name, [value / scale.size for value in seconds], indices, style, texts))
    if shown and traces:
        times = [option.time for option in shown]
        traces.append(
            figures.points(
                [time.value / scale.size if time else None for time in times],
                indices,
                {"size": 1, "color": figures.GUIDE},
                [voice.quantity(time, scale) for time in times],
                name=voice.gettext("Training time"),
                showlegend=False,
                error_x=figures.whiskers(times, scale.size),
            )
        )
    ends = figures.reach([option.time for option in shown], scale.size)
    title, unit = voice.gettext("Training time"), voice.gettext(scale.unit)
    across = axis(title, ends, voice.number, unit=unit, zero=True)
    return figures.stacked(traces, [option.label for option in shown], across)


def tornado(answer: Tornado, voice: Voice) -> Figure:
    """Draw the effect of each input alone on the lead of the best option, which is overtaken at 1."""

    def side(name: str, ends: Sequence[float]) -> tuple[str, Sequence[float], Sequence[str]]:
        return name, ends, [voice.ratio(end) for end in ends]

    return figures.tornado(
        answer.lead,
        1.0,
        [
            side(voice.gettext("input lower"), [swing.low for swing in answer.swings]),
            side(voice.gettext("input higher"), [swing.high for swing in answer.swings]),
        ],
        [swing_name(swing, voice) for swing in answer.swings],
        lambda ends: axis(
            voice.gettext("Lead of first over second place"), [1.0, *ends], voice.number, unit="×"
        ),
        shapes=[figures.upright(1)],
    )


def swing_name(swing: Swing, voice: Voice) -> str:
    """Return the label of an input, with the key of its option."""
    name = voice.label(swing.input)
    return name if swing.option is None else f"{name} ({swing.option})"
