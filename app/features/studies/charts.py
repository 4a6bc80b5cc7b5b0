"""Figures of a study: where the time goes over its options, what would change the best, how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.features.studies.model import PartAcross, StudyOptionAnswer, Swing, Tornado
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice

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
    places = range(len(shown))
    traces = []
    by_name = {row.part: row for row in rows}
    for part, style in figures.PARTS.items():
        row = by_name.get(part)
        if row is None:
            continue
        seconds, name = [row.seconds.get(option.key, 0.0) for option in shown], voice.label(part, "part")
        texts = [
            f"{voice.value(one, 's', exact=False)} ({voice.share(row.share.get(option.key, 0.0))})"
            for one, option in zip(seconds, shown, strict=True)
        ]
        traces.append(figures.bar(name, [one / scale.size for one in seconds], places, style, texts))
    if shown and traces:
        times = [option.time for option in shown]
        traces.append(
            figures.points(
                [one.value / scale.size if one else None for one in times],
                places,
                {"size": 1, "color": figures.GUIDE},
                [voice.quantity(one, scale) for one in times],
                name=voice.gettext("Training time"),
                showlegend=False,
                error_x=figures.whiskers(times, scale.size),
            )
        )
    ends = figures.reach([option.time for option in shown], scale.size)
    title, unit = voice.gettext("Training time"), voice.gettext(scale.unit)
    across = axis(title, ends, voice.number, unit=unit, zero=True)
    return figures.stacked(traces, [option.label for option in shown], across)


def tornado(found: Tornado, voice: Voice) -> Figure:
    """Return what each input alone does to the lead of the best option; at one it is overtaken."""

    def side(name: str, ends: Sequence[float]) -> tuple[str, Sequence[float], Sequence[str]]:
        return name, ends, [voice.ratio(end) for end in ends]

    return figures.tornado(
        found.lead,
        1.0,
        [
            side(voice.gettext("input lower"), [swing.low for swing in found.swings]),
            side(voice.gettext("input higher"), [swing.high for swing in found.swings]),
        ],
        [swing_name(swing, voice) for swing in found.swings],
        lambda ends: axis(
            voice.gettext("Lead of first over second place"), [1.0, *ends], voice.number, unit="×"
        ),
        shapes=[figures.upright(1)],
    )


def swing_name(swing: Swing, voice: Voice) -> str:
    """Return what an input is called beside its bar, with the key of its option."""
    name = voice.label(swing.input)
    return name if swing.option is None else f"{name} ({swing.option})"
