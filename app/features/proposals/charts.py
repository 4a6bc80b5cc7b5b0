"""The charts of a proposal: those of its page, and the same for its document."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Callable, Sequence

from app.estimating.documents import Estimate
from app.estimating.schema import Quantity
from app.features.comparisons.charts import cost_to_train, hours_of, time_to_train
from app.features.comparisons.model import ComparisonRow
from app.features.estimates.charts import breakdown, sensitivity
from app.features.proposals.model import ProposalContent, Term
from app.features.proposals.writing.options import running, weighed
from app.platform.charts import figures
from app.platform.charts.figures import (
    MOST_STEPS,
    Figure,
    axis,
    figure,
    legend_above,
    names,
    round_steps,
    time_scale,
)
from app.platform.charts.svg import SOFT
from app.platform.fonts import printable
from app.platform.wording.scales import Scale
from app.platform.wording.voice import MISSING, Voice


def proposal_figures(content: ProposalContent, voice: Voice) -> dict[str, tuple[Figure, int]]:
    """Return the charts there is something to show in, by name, with the rows each takes on a page."""
    estimates = running(content)
    rows = len(content.comparison.rows) + 1
    found = {"time": (time_to_train(content.comparison, voice), rows)}
    if any(estimate.cost for _, estimate in estimates):
        found["cost"] = (cost_to_train(content.comparison, voice), rows)
    if estimates:
        found["breakdown"] = (breakdown(estimates, voice), len(estimates) + 3)
    shown = weighed(content)
    if shown is not None and shown.sensitivity:
        found["sensitivity"] = (sensitivity(shown, voice), len(shown.sensitivity) + 1)
    if content.term is not None:
        found["term"] = (term_cost(content.term, content.currency, voice), len(content.term.options) + 3)
    return found


def term_cost(term: Term, currency: str, voice: Voice) -> Figure:
    """Return what each option costs over the term, part by part."""
    items = list(dict.fromkeys(line.item for option in term.options for line in option.lines if line.amount))
    traces = []
    for index, item in enumerate(items):
        amounts = [sum(line.amount for line in option.lines if line.item == item) for option in term.options]
        label = voice.label(item, "cost")
        marker = {
            "color": figures.SERIES[index % len(figures.SERIES)],
            "pattern": figures.hatched("/" if index >= len(figures.SERIES) else ""),
        }
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": label,
                "y": list(range(len(term.options))),
                "x": amounts,
                "width": 0.56,
                "marker": marker,
                "hovertext": [f"{label}: {voice.value(amount, currency)}" for amount in amounts],
                "hoverinfo": "text",
            }
        )
    ticks = round_steps(max((option.over_term.value for option in term.options), default=0.0))
    labels = [option.label for option in term.options]
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


MOST_INPUTS = 8
"""Inputs that the document shows, the strongest."""

LABEL_WIDTH, LABEL_LINES = 30, 2

POINT = 8
"""Diameter of a point. [px]"""

VALUE_ROOM, LOG_ROOM = 1.18, 0.18
"""Room for the value beside the longest bar: a factor of its length, or a share of the decades."""


def printed_charts(content: ProposalContent, voice: Voice) -> dict[str, str]:
    """Return the charts of the document as SVG, by name.

    They are those of the page with values beside the bars, which nobody can point at on paper, and with
    options as they are had alone.
    """
    # What draws takes half a second to load, and few requests print.
    from app.platform.charts.stills import printed

    drawn = {name: chart for name, (chart, _) in proposal_figures(content, voice).items()}
    rows = content.comparison.rows
    names_of_rows = [row.label for row in rows]
    labels = {"time": names_of_rows, "cost": names_of_rows}
    times = [hours_of(row) for row in rows]
    _write_values(drawn["time"], rows, times, time_scale(times), voice.number, voice)
    if "cost" in drawn:
        costs = [row.run_cost for row in rows]
        _write_values(
            drawn["cost"], rows, costs, None, lambda cost: voice.tick(cost, content.currency), voice
        )
    if "breakdown" in drawn:
        labels["breakdown"] = [label for label, estimate in running(content) if estimate.breakdown]
        _set_ticks(drawn["breakdown"], round_steps(100.0), voice.number)
    shown = weighed(content)
    if "sensitivity" in drawn and shown is not None:
        shown = _strongest(shown)
        labels["sensitivity"] = [voice.label(one.input) for one in shown.sensitivity]
        drawn["sensitivity"] = sensitivity(shown, voice)
        central = drawn["sensitivity"]["data"][0]["base"]
        line = {"type": "line", "yref": "paper", "x0": central, "x1": central, "line": {"color": SOFT}}
        drawn["sensitivity"]["layout"]["shapes"] = [line]
    if content.term is not None:
        asked = content.term.model_copy(update={"options": content.term.asked})
        labels["term"] = [option.label for option in asked.options]
        drawn["term"] = term_cost(asked, content.currency, voice)
    for name, chart in drawn.items():
        ticks = [short(printable(label)) for label in labels[name]]
        chart["layout"]["yaxis"] |= {"ticktext": ticks, "showgrid": False}
    return {name: printed(chart) for name, chart in drawn.items()}


def _strongest(estimate: Estimate) -> Estimate:
    ranked = sorted(estimate.sensitivity, key=lambda one: -abs(one.high - one.low))
    return estimate.model_copy(update={"sensitivity": ranked[:MOST_INPUTS]})


def _write_values(
    chart: Figure,
    rows: Sequence[ComparisonRow],
    quantities: Sequence[Quantity | None],
    scale: Scale | None,
    write: Callable[[float], str],
    voice: Voice,
) -> None:
    """Write the value of each row behind its range, or why it has none."""
    size = 1.0 if scale is None else scale.size
    known = [quantity for quantity in quantities if quantity is not None]
    highest = max((quantity.high / size for quantity in known), default=1.0)
    logarithmic, start = chart["layout"]["xaxis"].get("type") == "log", 0.0
    if logarithmic:
        start = min(quantity.value for quantity in known) / size
        least, most = math.log10(start), math.log10(highest)
        room = LOG_ROOM * (most - least)
        chart["layout"]["xaxis"]["range"] = [least - room, most + room]
        powers = range(math.ceil(least - room), math.floor(most + room) + 1)
        _set_ticks(chart, [10.0**power for power in powers[:: math.ceil(len(powers) / MOST_STEPS)]], write)
    else:
        chart["layout"]["xaxis"]["range"] = [0.0, highest * VALUE_ROOM or 1.0]
        _set_ticks(chart, round_steps(highest), write)
    for trace in chart["data"]:
        if logarithmic:
            trace["marker"] |= {"size": POINT}
        if not trace["x"]:
            # The legend names a kind even where none of its rows has a value.
            trace |= {"x": [math.nan], "y": [0]}
    ends, texts = [], []
    for row, quantity in zip(rows, quantities, strict=True):
        if quantity is None:
            ends.append(start)
            texts.append(voice.gettext("does not fit") if row.hours is None else MISSING)
        else:
            ends.append(quantity.high / size)
            texts.append(voice.central(quantity, scale))
    values = {"x": ends, "y": list(range(len(rows))), "text": texts, "textposition": "middle right"}
    chart["data"].append({"type": "scatter", "mode": "text", **values})


def _set_ticks(chart: Figure, ticks: Sequence[float], write: Callable[[float], str]) -> None:
    texts = [write(tick) for tick in ticks]
    chart["layout"]["xaxis"] |= {"tickmode": "array", "tickvals": list(ticks), "ticktext": texts}


def short(label: str) -> str:
    """Return a label in at most two lines; the table beside the chart has it in full.

    >>> short("a" * 100) == "a" * 30 + chr(10) + "a" * 29 + "…"
    True
    """
    wide = any(unicodedata.east_asian_width(character) in {"W", "F"} for character in label)
    width = LABEL_WIDTH * 2 // 3 if wide else LABEL_WIDTH
    lines = textwrap.wrap(label, width) or ["–"]
    if len(lines) > LABEL_LINES:
        lines = [*lines[: LABEL_LINES - 1], f"{lines[LABEL_LINES - 1][: width - 1]}…"]
    return "\n".join(lines)
