"""Figures of a proposal."""

from __future__ import annotations

from app.reports.figures import palette
from app.reports.figures.comparisons import round_steps
from app.reports.figures.layout import Figure, axis, figure, legend_above, names
from app.reports.wording import Voice
from app.sizing.proposal.documents import Term


def term_cost(term: Term, currency: str, voice: Voice) -> Figure:
    """Return what each option costs over the term, part by part."""
    items = list(dict.fromkeys(line.item for one in term.options for line in one.lines if line.amount))
    traces = []
    for index, item in enumerate(items):
        amounts = [sum(line.amount for line in one.lines if line.item == item) for one in term.options]
        pattern = "/" if index >= len(palette.SERIES) else ""
        marker = {
            "color": palette.SERIES[index % len(palette.SERIES)],
            "pattern": palette.hatched(pattern),
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
