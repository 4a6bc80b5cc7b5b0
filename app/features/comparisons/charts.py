"""Figures of a comparison: time and cost of its options."""

from __future__ import annotations

from app.engine.units import HOUR
from app.estimating.schema import Quantity
from app.features.comparisons.model import Comparison, ComparisonRow
from app.platform.charts import figures
from app.platform.charts.figures import LOGARITHMIC_FROM, Figure, axis, reach, time_scale, whiskers
from app.platform.wording.voice import Voice


def hours_of(row: ComparisonRow) -> Quantity | None:
    """Return the time of a row in seconds, if known."""
    if row.hours is None:
        return None
    low = row.hours if row.low is None else row.low
    high = row.hours if row.high is None else row.high
    return Quantity(value=row.hours * HOUR, low=low * HOUR, high=high * HOUR, unit="s")


def time_to_train(comparison: Comparison, voice: Voice) -> Figure:
    """Return a horizontal bar per option, coloured by its kind; points if values span decades."""
    quantities = [hours_of(row) for row in comparison.rows]
    scale = time_scale(quantities)
    values = [quantity.value for quantity in quantities if quantity is not None]
    log = bool(values) and min(values) > 0 and max(values) / min(values) > LOGARITHMIC_FROM
    traces = []
    for kind, style in figures.KINDS.items():
        if not any(row.kind == kind for row in comparison.rows):
            continue
        rows = enumerate(zip(comparison.rows, quantities, strict=True))
        bars = [(index, quantity) for index, (row, quantity) in rows if row.kind == kind and quantity]
        x, y = [quantity.value / scale.size for _, quantity in bars], [index for index, _ in bars]
        texts = [voice.quantity(quantity, scale) for _, quantity in bars]
        name, ranges = voice.label(kind), whiskers([quantity for _, quantity in bars], scale.size)
        if log:
            marker = {"color": style[0], "size": 12}
            traces.append(figures.points(x, y, marker, texts, name=name, error_x=ranges))
        else:
            traces.append(figures.bar(name, x, y, style, texts, error_x=ranges))
    title, unit = voice.gettext("Training time"), voice.gettext(scale.unit)
    across = axis(title, reach(quantities, scale.size), voice.number, unit=unit, log=log, zero=not log)
    return figures.lying(traces, [row.label for row in comparison.rows], across)
