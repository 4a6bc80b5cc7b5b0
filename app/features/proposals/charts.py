"""Charts of a proposal, for its page and its document."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.estimating.schema import Quantity
from app.features.comparisons.charts import cost_to_train, hours_of, time_to_train
from app.features.comparisons.model import ComparisonRow
from app.features.estimates.charts import breakdown, sensitivity
from app.features.proposals.model import ProposalContent, Term
from app.features.proposals.writing.options import recommended_estimate, running_estimates
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, time_scale
from app.platform.fonts import printable
from app.platform.wording.scales import Scale
from app.platform.wording.voice import MISSING, Voice


def proposal_figures(content: ProposalContent, voice: Voice) -> dict[str, Figure]:
    estimates = running_estimates(content)
    charts = {"time": time_to_train(content.comparison, voice)}
    if any(estimate.cost for _, estimate in estimates):
        charts["cost"] = cost_to_train(content.comparison, voice)
    if estimates:
        charts["breakdown"] = breakdown(estimates, voice)
    estimate = recommended_estimate(content)
    if estimate is not None and estimate.sensitivity:
        charts["sensitivity"] = sensitivity(estimate, voice)
    if content.term is not None:
        charts["term"] = term_cost(content.term, content.currency, voice)
    return charts


def term_cost(term: Term, currency: str, voice: Voice) -> Figure:
    items = list(dict.fromkeys(line.item for option in term.options for line in option.lines if line.amount))
    traces = []
    for index, item in enumerate(items):
        amounts = [sum(line.amount for line in option.lines if line.item == item) for option in term.options]
        style = figures.SERIES[index % len(figures.SERIES)], "/" if index >= len(figures.SERIES) else ""
        texts = [voice.value(amount, currency) for amount in amounts]
        traces.append(figures.bar(voice.label(item, "cost"), amounts, range(len(amounts)), style, texts))
    totals = [sum(line.amount for line in option.lines) for option in term.options]
    across = axis(voice.gettext("Cost over the term"), totals, voice.amount, unit=currency, zero=True)
    return figures.stacked(traces, [option.label for option in term.options], across)


MOST_INPUTS = 8
"""Inputs that the document shows; those with the largest effect."""

POINT = 8
"""Diameter of a point. [px]"""

VALUE_ROOM = 0.18
"""Room for the value beside the longest bar, as a share of the axis."""


def printed_charts(content: ProposalContent, voice: Voice) -> dict[str, str]:
    """Return the charts of the document as SVG, by name.

    They are those of the page with values beside the bars, since paper has no tooltips, and with each option
    paid for in its own way only.
    """
    # Loading the drawing library takes half a second, and few requests need it.
    from app.platform.charts.stills import printed

    charts = proposal_figures(content, voice)
    rows = content.comparison.rows
    times = [hours_of(row) for row in rows]
    _write_values(charts["time"], rows, times, time_scale(times), voice)
    if "cost" in charts:
        _write_values(charts["cost"], rows, [row.run_cost for row in rows], None, voice)
    estimate = recommended_estimate(content)
    if "sensitivity" in charts and estimate is not None:
        strongest = sorted(estimate.sensitivity, key=lambda effect: -abs(effect.high - effect.low))[
            :MOST_INPUTS
        ]
        charts["sensitivity"] = sensitivity(estimate.model_copy(update={"sensitivity": strongest}), voice)
    if content.term is not None:
        term = content.term.model_copy(update={"options": content.term.asked})
        charts["term"] = term_cost(term, content.currency, voice)
    for chart in charts.values():
        labels = chart["layout"]["yaxis"]
        labels["ticktext"] = [printable(text) for text in labels["ticktext"]]
    return {name: printed(chart) for name, chart in charts.items()}


def _write_values(
    chart: Figure,
    rows: Sequence[ComparisonRow],
    quantities: Sequence[Quantity | None],
    scale: Scale | None,
    voice: Voice,
) -> None:
    """Add the value of each row beside its range, or why it has none."""
    across, size = chart["layout"]["xaxis"], 1.0 if scale is None else scale.size
    low, high = across["range"]
    across["range"] = [low, high + VALUE_ROOM * (high - low)]
    for trace in chart["data"]:
        if trace["type"] == "scatter":
            trace["marker"] |= {"size": POINT}
        if not trace["x"]:
            # The legend lists a kind even if none of its rows has a value.
            trace |= {"x": [math.nan], "y": [0]}
    ends, texts = [], []
    for row, quantity in zip(rows, quantities, strict=True):
        if quantity is None:
            ends.append(10.0**low if across["type"] == "log" else 0.0)
            texts.append(voice.gettext("does not fit") if row.hours is None else MISSING)
        else:
            ends.append(quantity.high / size)
            texts.append(voice.central(quantity, scale))
    values = {"x": ends, "y": list(range(len(rows))), "text": texts, "textposition": "middle right"}
    chart["data"].append({"type": "scatter", "mode": "text", **values})
