"""Charts of a proposal, for its page and its document."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from app.estimating.schema import Quantity
from app.features.bills.drawings import power_feeds, rack_elevation, topology
from app.features.comparisons.model import Comparison, ComparisonRow
from app.features.estimates.charts import breakdown, roofline, sensitivity
from app.features.proposals.account import ProposalAccount
from app.features.proposals.model import ProposalContent, Term
from app.features.proposals.writing.deal import gantt
from app.features.proposals.writing.options import (
    charted,
    recommended_estimate,
    running_estimates,
)
from app.features.studies.charts import MapStar, decision_map
from app.platform.charts import figures, svg
from app.platform.charts.figures import LOGARITHMIC_FROM, Figure, axis, reach, time_scale, whiskers
from app.platform.charts.svg import Drawing
from app.platform.fonts import printable
from app.platform.wording.scales import Scale
from app.platform.wording.voice import MISSING, Voice


def proposal_figures(content: ProposalContent, voice: Voice) -> dict[str, Figure]:
    """Return the figures that have something to show, by name."""
    shown, estimates, best = charted(content), running_estimates(content), recommended_estimate(content)
    makers: dict[str, Callable[[], Figure | None]] = {
        "time": lambda: time_to_train(content.comparison, voice),
        "map": lambda: map_of(content, voice),
        "breakdown": lambda: breakdown(estimates, voice),
        "sensitivity": lambda: None if best is None else sensitivity(best, voice),
        "roofline": lambda: None if best is None else roofline([(best.name, best)], voice),
        "break-even": lambda: outlay_by_runs(content.account, content.currency, voice),
        "term": lambda: None if content.term is None else term_cost(content.term, content.currency, voice),
    }
    made = {name: make() for name, make in makers.items() if name in shown}
    return {name: drawn for name, drawn in made.items() if drawn is not None}


MOST_RUNS_DRAWN = 2.5
"""Length of the curves of outlay, in numbers of runs at which both cost the same."""

CURVE_POINTS = 60


def time_to_train(comparison: Comparison, voice: Voice) -> Figure:
    """Draw a horizontal bar per option, coloured by its kind; points if values span decades."""
    quantities = [row.time for row in comparison.rows]
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


def outlay_by_runs(account: ProposalAccount | None, currency: str, voice: Voice) -> Figure | None:
    """Draw the outlay of the best bought and the best rented option over the number of runs."""
    if account is None or account.break_even is None:
        return None
    found = account.break_even
    middle = found.runs or float(account.runs)
    most = min(max(MOST_RUNS_DRAWN * middle, float(account.runs) * 1.1, 2.0), max(found.most_runs, 2.0))
    runs = [most * step / CURVE_POINTS for step in range(CURVE_POINTS + 1)]
    traces, highest = [], []
    for name, colour in ((found.owned, figures.BLUE), (found.rented, figures.LIMIT)):
        outlay = account.of(name)
        assert outlay is not None, "the account has what it compares"
        amounts = [outlay.of_runs(count) for count in runs]
        highest.append(max(amounts))
        traces.append(figures.line(runs, amounts, {"color": colour}, name=figures.plain(name)))
    shapes = [] if found.runs is None else [figures.upright(found.runs)]
    return figures.figure(
        traces,
        axis(voice.gettext("Number of runs"), [0.0, most], voice.number, zero=True),
        axis(voice.gettext("Outlay"), [0.0, *highest], voice.amount, unit=currency, zero=True),
        [voice.gettext("Number of runs"), voice.gettext("Outlay")],
        shapes=shapes,
    )


def map_of(content: ProposalContent, voice: Voice) -> Figure | None:
    """Draw time against money with the limits; None without a decision."""
    decision = content.decision
    if decision is None:
        return None
    stars = [
        MapStar(row.label, row.kind, row.time)
        for row in content.comparison.rows
        if row.estimate is None and row.hours is not None
    ]
    names = {option.id: option.id for option in decision.options}
    return decision_map(decision, names, stars, voice)


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
    times = [row.time for row in rows]
    if "time" in charts:
        _write_values(charts["time"], rows, times, time_scale(times), voice)
    estimate = recommended_estimate(content)
    if "sensitivity" in charts and estimate is not None:
        strongest = sorted(estimate.sensitivity, key=lambda effect: -abs(effect.high - effect.low))[
            :MOST_INPUTS
        ]
        charts["sensitivity"] = sensitivity(estimate.model_copy(update={"sensitivity": strongest}), voice)
    if "term" in charts and content.term is not None:
        term = content.term.model_copy(update={"options": content.term.asked})
        charts["term"] = term_cost(term, content.currency, voice)
    for chart in charts.values():
        labels = chart["layout"]["yaxis"]
        labels["ticktext"] = [printable(text) for text in labels.get("ticktext") or ()]
    drawn = {name: str(svg.written(each, name)) for name, each in drawings(content, voice).items()}
    # Printed rims lie over the letters that they should stand behind.
    rimless = {name: RIM.sub("", text) for name, text in drawn.items()}
    return {name: printed(chart) for name, chart in charts.items()} | rimless


def drawings(content: ProposalContent, voice: Voice) -> dict[str, Drawing]:
    """Return the drawings of schedule, racks, their power feeds and the network, by name."""
    drawn = {"gantt": gantt(content, voice)}
    layout = content.layout
    if layout is not None and layout.racks:
        drawn["racks"] = rack_elevation(layout.racks, voice)
        drawn["feeds"] = power_feeds(layout.racks, voice)
    if layout is not None and layout.network is not None:
        drawn["network"] = topology(layout.network, voice)
    return {name: drawing for name, drawing in drawn.items() if drawing is not None}


RIM = re.compile(r' stroke="[^"]*" stroke-width="7"[^>]*?paint-order="stroke"')


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
