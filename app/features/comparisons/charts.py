"""Figures of several options side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.engine.units import HOUR
from app.estimating.schema import Quantity
from app.features.comparisons.model import Comparison, ComparisonRow
from app.platform.charts import figures
from app.platform.charts.figures import LOGARITHMIC_FROM, Figure, axis, reach, time_scale, whiskers
from app.platform.wording.scales import Scale
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
    unit, title = voice.gettext(scale.unit), voice.gettext("Training time")
    return _bars(comparison, quantities, scale, (title, unit, voice.number), voice)


def cost_to_train(comparison: Comparison, voice: Voice) -> Figure:
    quantities = [row.run_cost for row in comparison.rows]
    named = (voice.gettext("Cost per run"), comparison.currency, voice.amount)
    return _bars(comparison, quantities, Scale(1.0, ""), named, voice)


def _bars(
    comparison: Comparison,
    quantities: Sequence[Quantity | None],
    scale: Scale,
    named: tuple[str, str, Callable[[float], str]],
    voice: Voice,
) -> Figure:
    """Return one horizontal bar per option, coloured by who claims it; points where values span decades.

    The axis is named by its title, its unit, and how its numbers are written.
    """
    values = [one.value for one in quantities if one is not None]
    spread = bool(values) and min(values) > 0 and max(values) / min(values) > LOGARITHMIC_FROM
    kinds = [kind for kind in figures.KINDS if any(row.kind == kind for row in comparison.rows)]
    traces = []
    for kind in kinds:
        rows = enumerate(zip(comparison.rows, quantities, strict=True))
        shown = [(index, one) for index, (row, one) in rows if row.kind == kind and one is not None]
        places, drawn = [index for index, _ in shown], [one for _, one in shown]
        texts = [voice.quantity(one, scale if one.unit == "s" else None) for one in drawn]
        name, x, ranges = (
            voice.label(kind),
            [one.value / scale.size for one in drawn],
            whiskers(drawn, scale.size),
        )
        if spread:
            marker = {"color": figures.KINDS[kind][0], "size": 12}
            traces.append(figures.points(x, places, marker, texts, name=name, error_x=ranges))
        else:
            traces.append(figures.bar(name, x, places, figures.KINDS[kind], texts, error_x=ranges))
    title, unit, write = named
    across = axis(title, reach(quantities, scale.size), write, unit=unit, log=spread, zero=not spread)
    return figures.lying(traces, [row.label for row in comparison.rows], across)
