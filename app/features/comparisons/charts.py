"""Figures of several options side by side."""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.units import HOUR
from app.estimating.schema import Quantity
from app.features.comparisons.model import Comparison, ComparisonRow
from app.platform.charts import figures
from app.platform.charts.figures import (
    LOGARITHMIC_FROM,
    Figure,
    axis,
    round_steps,
    time_scale,
    whiskers,
)
from app.platform.wording.voice import Voice


def hours_of(row: ComparisonRow) -> Quantity | None:
    """Return the time of a row in seconds, where there is one."""
    if row.hours is None:
        return None
    low = row.hours if row.low is None else row.low
    high = row.hours if row.high is None else row.high
    return Quantity(value=row.hours * HOUR, low=low * HOUR, high=high * HOUR, unit="s")


def time_to_train(comparison: Comparison, voice: Voice) -> Figure:
    quantities = [hours_of(row) for row in comparison.rows]
    scale = time_scale(quantities)
    title = f"{voice.gettext('Training time')} ({voice.gettext(scale.unit)})"
    return _bars(comparison, quantities, scale.size, title, voice)


def cost_to_train(comparison: Comparison, voice: Voice) -> Figure:
    quantities = [row.run_cost for row in comparison.rows]
    title = f"{voice.gettext('Cost per run')} ({comparison.currency})"
    drawn = _bars(comparison, quantities, 1.0, title, voice)
    highest = max((one.high for one in quantities if one is not None), default=0.0)
    if drawn["layout"]["xaxis"].get("type") != "log":
        ticks = round_steps(highest)
        written = [voice.tick(tick, comparison.currency) for tick in ticks]
        drawn["layout"]["xaxis"] |= {"tickmode": "array", "tickvals": ticks, "ticktext": written}
    return drawn


def _bars(
    comparison: Comparison, quantities: Sequence[Quantity | None], size: float, title: str, voice: Voice
) -> Figure:
    """Return one horizontal bar per option, coloured by who claims it; points where values span decades."""
    values = [one.value for one in quantities if one is not None]
    spread = bool(values) and min(values) > 0 and max(values) / min(values) > LOGARITHMIC_FROM
    kinds = [kind for kind in figures.KINDS if any(row.kind == kind for row in comparison.rows)]
    scale = time_scale(quantities)
    traces = []
    for kind in kinds:
        rows = enumerate(zip(comparison.rows, quantities, strict=True))
        shown = [(index, one) for index, (row, one) in rows if row.kind == kind and one is not None]
        places, drawn = [index for index, _ in shown], [one for _, one in shown]
        colour, pattern = figures.KINDS[kind]
        texts = [voice.quantity(one, scale if one.unit == "s" else None) for one in drawn]
        name, x, ranges = voice.label(kind), [one.value / size for one in drawn], whiskers(drawn, size)
        if spread:
            marker = {"color": colour, "size": 12}
            traces.append(figures.points(x, places, marker, texts, name=name, error_x=ranges))
        else:
            traces.append(figures.bar(name, x, places, (colour, pattern), texts, error_x=ranges))
    labels = [row.label for row in comparison.rows]
    across = axis(title, type="log") if spread else axis(title, rangemode="tozero")
    return figures.lying(traces, labels, across, showlegend=len(kinds) > 1)
