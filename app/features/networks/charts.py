"""Figures of a network choice: gains, exposed communication, and where the advice changes."""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.units import GIGABYTE
from app.features.networks.model import EXPOSED, AccumulationPoint, FabricChoice, Rung
from app.platform.charts import figures
from app.platform.charts.figures import Axis, Figure, axis, figure
from app.platform.wording.scales import scale_of
from app.platform.wording.voice import Voice


def gains(choice: FabricChoice, voice: Voice) -> Figure:
    """Draw the gain of each network over the reference with its range, and the threshold as a line."""
    labels = {option.id: option.label for option in choice.options}
    recommended = choice.advice.recommendation if choice.advice else None
    rows, threshold = len(choice.gains), 100.0 * choice.threshold
    values = [gain.gain for gain in choice.gains]
    points = figures.points(
        [100.0 * gain.value for gain in values],
        range(rows),
        {
            "color": [figures.BLUE if gain.option == recommended else figures.GREY for gain in choice.gains],
            "size": 10,
            "symbol": ["diamond" if gain.basis == "measured" else "circle" for gain in choice.gains],
        },
        [voice.quantity(gain) for gain in values],
        name=voice.gettext("Gain, 80 % interval"),
        error_x=figures.whiskers(values, 0.01),
    )
    reference = labels.get(choice.reference or "", "")
    title = voice.gettext("Gain over {reference}").format(reference=reference)
    across = axis(title, [0.0, threshold, *figures.reach(values, 0.01)], voice.number, unit="%")
    limit = _threshold([threshold] * 2, [-0.5, rows - 0.5], choice.threshold, voice)
    return figures.lying([points, limit], [labels[gain.option] for gain in choice.gains], across)


def exposed(choice: FabricChoice, voice: Voice) -> Figure:
    """Draw the exposed communication of a step on each network, by kind."""
    exposures = [option.exposed for option in choice.options]
    longest = max(
        (exposure.tensor + exposure.pipeline + exposure.data for exposure in exposures), default=0.0
    )
    scale = scale_of(longest, "s")
    bars = []
    for kind, part in EXPOSED.items():
        values = [float(getattr(exposure, kind)) for exposure in exposures]
        if any(value > 0 for value in values):
            texts = [voice.value(value, "s", exact=False) for value in values]
            lengths = [value / scale.size for value in values]
            positions = range(len(values))
            bars.append(
                figures.bar(voice.label(part, "part"), lengths, positions, figures.PARTS[part], texts)
            )
    across = axis(
        voice.gettext("Exposed communication per step"),
        [longest / scale.size],
        voice.number,
        unit=voice.gettext(scale.unit),
        zero=True,
    )
    labels = [option.label for option in choice.options]
    return figures.stacked(bars, labels, across, showlegend=bool(bars))


def ladder(rungs: Sequence[Rung], threshold: float, voice: Voice) -> Figure:
    """Draw the gain of the fastest network over the bandwidth of a machine, and the threshold."""
    bandwidths = [rung.node_bandwidth / GIGABYTE for rung in rungs]
    across = axis(
        voice.gettext("Bandwidth per machine"), bandwidths, voice.number, unit="GB/s", log=True, at=bandwidths
    )
    left = [rung.left_to_gain for rung in rungs]
    name = voice.gettext("Gain of the fastest network over this one")
    labels = voice.gettext("Network"), [rung.label for rung in rungs]
    return _turning(bandwidths, left, labels, threshold, name, across, voice)


def accumulation(points: Sequence[AccumulationPoint], threshold: float, voice: Voice) -> Figure:
    """Draw the gain of the fastest network over the slowest by accumulation, and the threshold."""
    counts = [float(point.accumulation) for point in points]
    across = axis(voice.gettext("Micro-batches per step"), counts, voice.number, log=True, at=counts)
    gained = [point.ladder_gain for point in points]
    name = voice.gettext("Gain of the fastest network over the slowest")
    labels = voice.gettext("Micro-batches per step"), [voice.number(count) for count in counts]
    return _turning(counts, gained, labels, threshold, name, across, voice)


def _turning(
    x: Sequence[float],
    y: Sequence[float],
    labelled: tuple[str, Sequence[str]],
    threshold: float,
    name: str,
    across: Axis,
    voice: Voice,
) -> Figure:
    """Draw a line of gains; ``labelled`` is the column with the labels of its points."""
    column, labels = labelled
    points = figures.points(
        x,
        [100.0 * value for value in y],
        {"color": figures.BLUE},
        [(label, voice.percent(value, 2)) for label, value in zip(labels, y, strict=True)],
        mode="lines+markers",
        name=name,
        line={"color": figures.BLUE, "width": 2},
    )
    limit = _threshold([min(x), max(x)], [100.0 * threshold] * 2, threshold, voice)
    gain = voice.gettext("Gain")
    up = axis(gain, [*points["y"], 100.0 * threshold], voice.number, unit="%", zero=True)
    return figure([points, limit], across, up, [column, gain])


def _threshold(x: Sequence[float], y: Sequence[float], threshold: float, voice: Voice) -> figures.Trace:
    return figures.limit(f"{voice.gettext('Threshold')} {voice.percent(threshold)}", x, y)
