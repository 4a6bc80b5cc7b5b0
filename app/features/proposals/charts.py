"""The charts of a proposal: those of its page, and the same for its document."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.estimating.documents import Estimate
from app.estimating.schema import Quantity
from app.features.comparisons.charts import cost_to_train, hours_of, time_to_train
from app.features.comparisons.model import ComparisonRow
from app.features.estimates.charts import breakdown, sensitivity
from app.features.proposals.model import ProposalContent, Term
from app.features.proposals.writing.options import running, weighed
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, time_scale
from app.platform.fonts import printable
from app.platform.wording.scales import Scale
from app.platform.wording.voice import MISSING, Voice


def proposal_figures(content: ProposalContent, voice: Voice) -> dict[str, Figure]:
    estimates = running(content)
    found = {"time": time_to_train(content.comparison, voice)}
    if any(estimate.cost for _, estimate in estimates):
        found["cost"] = cost_to_train(content.comparison, voice)
    if estimates:
        found["breakdown"] = breakdown(estimates, voice)
    shown = weighed(content)
    if shown is not None and shown.sensitivity:
        found["sensitivity"] = sensitivity(shown, voice)
    if content.term is not None:
        found["term"] = term_cost(content.term, content.currency, voice)
    return found


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
"""Inputs that the document shows, the strongest."""

POINT = 8
"""Diameter of a point. [px]"""

VALUE_ROOM = 0.18
"""Room for the value beside the longest bar, as a share of the axis."""


def printed_charts(content: ProposalContent, voice: Voice) -> dict[str, str]:
    """Return the charts of the document as SVG, by name.

    They are those of the page with values beside the bars, which nobody can point at on paper, and with
    options as they are had alone.
    """
    # What draws takes half a second to load, and few requests print.
    from app.platform.charts.stills import printed

    drawn = proposal_figures(content, voice)
    rows = content.comparison.rows
    times = [hours_of(row) for row in rows]
    _write_values(drawn["time"], rows, times, time_scale(times), voice)
    if "cost" in drawn:
        _write_values(drawn["cost"], rows, [row.run_cost for row in rows], None, voice)
    shown = weighed(content)
    if "sensitivity" in drawn and shown is not None:
        drawn["sensitivity"] = sensitivity(_strongest(shown), voice)
    if content.term is not None:
        asked = content.term.model_copy(update={"options": content.term.asked})
        drawn["term"] = term_cost(asked, content.currency, voice)
    for chart in drawn.values():
        labels = chart["layout"]["yaxis"]
        labels["ticktext"] = [printable(text) for text in labels["ticktext"]]
    return {name: printed(chart) for name, chart in drawn.items()}


def _strongest(estimate: Estimate) -> Estimate:
    ranked = sorted(estimate.sensitivity, key=lambda one: -abs(one.high - one.low))
    return estimate.model_copy(update={"sensitivity": ranked[:MOST_INPUTS]})


def _write_values(
    chart: Figure,
    rows: Sequence[ComparisonRow],
    quantities: Sequence[Quantity | None],
    scale: Scale | None,
    voice: Voice,
) -> None:
    """Write the value of each row behind its range, or why it has none."""
    across, size = chart["layout"]["xaxis"], 1.0 if scale is None else scale.size
    low, high = across["range"]
    across["range"] = [low, high + VALUE_ROOM * (high - low)]
    for trace in chart["data"]:
        if trace["type"] == "scatter":
            trace["marker"] |= {"size": POINT}
        if not trace["x"]:
            # The legend names a kind even where none of its rows has a value.
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
