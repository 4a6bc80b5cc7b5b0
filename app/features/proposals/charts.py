"""Figures of a proposal."""

from __future__ import annotations

from app.features.proposals.model import Term
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, legend_above, names, round_steps
from app.platform.wording.voice import Voice


def term_cost(term: Term, currency: str, voice: Voice) -> Figure:
    """Return what each option costs over the term, part by part."""
    items = list(dict.fromkeys(line.item for one in term.options for line in one.lines if line.amount))
    traces = []
    for index, item in enumerate(items):
        amounts = [sum(line.amount for line in one.lines if line.item == item) for one in term.options]
        pattern = "/" if index >= len(figures.SERIES) else ""
        marker = {
            "color": figures.SERIES[index % len(figures.SERIES)],
            "pattern": figures.hatched(pattern),
        }
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": voice.label(item, "cost"),
                "y": list(range(len(term.options))),
                "x": amounts,
                "width": 0.56,
                "marker": marker,
                "hovertext": [
                    f"{voice.label(item, 'cost')}: {voice.value(one, currency)}" for one in amounts
                ],
                "hoverinfo": "text",
            }
        )
    ticks = round_steps(max((one.over_term.value for one in term.options), default=0.0))
    labels = [one.label for one in term.options]
    return figure(
        traces,
        barmode="stack",
        showlegend=True,
        legend=legend_above() | {"traceorder": "normal"},
        xaxis=axis(
            f"{voice.gettext('Cost over the term')} ({currency})",
            rangemode="tozero",
            tickmode="array",
            tickvals=ticks,
            ticktext=[voice.tick(tick, currency) for tick in ticks],
        ),
        yaxis=names(labels) | {"type": "linear", "range": [len(labels) - 0.5, -0.5], "autorange": False},
    )
