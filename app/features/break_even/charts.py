"""Figures of a break-even: both sides by month, tornado, base and peak load."""

from __future__ import annotations

from collections.abc import Sequence

from app.estimating.schema import Quantity
from app.features.break_even.model import BreakEven, FleetMix
from app.platform.charts import figures
from app.platform.charts.figures import OWNED, RENTED, Figure, Trace, axis, curve, figure, reach
from app.platform.wording.voice import Voice

ROWS_SHOWN = 12
EDGE = 1.12
"""Multiple of the latest month at which infinite bars are cut off."""

NEVER_AT = 60.0
"""Month at which infinite bars are cut off if all are. [month]"""


def cash_flow(answer: BreakEven, voice: Voice) -> Figure:
    """Return the cumulative cost of both sides, the break-even and the horizon."""
    months = [point.month for point in answer.cash_flow]
    unit = answer.currency

    def amounts(side: str) -> list[Quantity]:
        sides = [
            [getattr(point, f"{side}{end}") for end in ("", "_low", "_high")] for point in answer.cash_flow
        ]
        return [
            Quantity(
                value=value,
                low=value if low is None else low,
                high=value if high is None else high,
                unit=unit,
            )
            for value, low, high in sides
        ]

    sides = (
        (voice.gettext("own cluster"), amounts("own"), OWNED),
        (voice.gettext("cloud"), amounts("cloud"), RENTED),
    )
    traces: list[Trace] = []
    for name, values, colour in sides:
        labels = [
            (voice.decimal(month, 1), f"{voice.full(amount.value, unit)} {voice.full_spread(amount)}")
            for month, amount in zip(months, values, strict=True)
        ]
        traces += curve(name, months, values, 1.0, colour, labels)
    if answer.months is not None and answer.months <= months[-1]:
        traces.append(_crossing(answer, answer.months, voice))
    extent = reach(amount for _, values, _ in sides for amount in values)
    traces.append(figures.limit(voice.gettext("horizon"), [answer.horizon_months] * 2, [0.0, max(extent)]))
    month, spend = voice.gettext("Months since purchase"), voice.gettext("Cumulative spend, discounted")
    across = axis(month, [*months, answer.horizon_months], voice.number, zero=True)
    return figure(traces, across, axis(spend, extent, voice.amount, unit=unit, zero=True), [month, spend])


def tornado(answer: BreakEven, voice: Voice) -> Figure:
    """Return the break-even month at a fifth less and more of each input; infinite bars are hatched."""
    rows = answer.tornado[:ROWS_SHOWN]
    ends = [end for row in rows for end in (row.low, row.high) if end is not None]
    known = [*ends, *([answer.months] if answer.months is not None else [])]
    edge = EDGE * max(known) if known else NEVER_AT
    central = answer.months if answer.months is not None else edge
    never = voice.gettext("never")

    def side(name: str, values: Sequence[float | None]) -> tuple[str, Sequence[float], Sequence[str]]:
        months = [edge if end is None else end for end in values]
        return name, months, [never if end is None else voice.decimal(end, 1) for end in values]

    drawn = figures.tornado(
        central,
        1.0,
        [
            side(voice.gettext("20 % lower"), [row.low for row in rows]),
            side(voice.gettext("20 % higher"), [row.high for row in rows]),
        ],
        [voice.label(row.input) for row in rows],
        lambda values: axis(voice.gettext("Break-even (months)"), values, voice.number),
    )
    for trace, values in zip(
        drawn["data"], ([row.low for row in rows], [row.high for row in rows]), strict=True
    ):
        shapes = ["/" if end is None else "" for end in values]
        trace["marker"]["pattern"] = figures.hatched("") | {"shape": shapes}
        trace |= {"text": [never if end is None else "" for end in values], "textposition": "inside"}
    return drawn


def base_and_peak(mixed: FleetMix, currency: str, voice: Voice) -> Figure:
    """Return the cost by owned capacity: owned part, rented part, and their sum with its minimum."""
    shares = [100.0 * point.owned for point in mixed.points]
    series = (
        (voice.gettext("total"), [p.total for p in mixed.points], figures.PURPLE, "solid"),
        (voice.gettext("owned base load"), [p.own for p in mixed.points], OWNED, "dash"),
        (voice.gettext("rented peak load"), [p.rent for p in mixed.points], RENTED, "dot"),
    )
    traces = [
        figures.points(
            shares,
            costs,
            {"color": colour},
            [
                (voice.number(share), voice.full(cost, currency))
                for share, cost in zip(shares, costs, strict=True)
            ],
            name=name,
            mode="lines",
            line={"color": colour, "dash": dash, "width": 2},
        )
        for name, costs, colour, dash in series
    ]
    best = mixed.best
    label = voice.percent(best.owned), voice.full(best.total, currency)
    traces.append(_best(voice.gettext("lowest cost"), 100.0 * best.owned, best.total, label))
    share, cost = voice.gettext("Owned capacity (% of cluster)"), voice.gettext("Monthly cost")
    up = axis(cost, [point.total for point in mixed.points], voice.amount, unit=currency, zero=True)
    return figure(traces, axis(share, shares, voice.number, zero=True), up, [share, cost])


def _best(name: str, x: float, y: float, label: Sequence[str]) -> Trace:
    return figures.points(
        [x], [y], {"color": figures.GOOD, "size": 11, "symbol": "diamond"}, [label], name=name
    )


def _crossing(answer: BreakEven, month: float, voice: Voice) -> Trace:
    before = max((point for point in answer.cash_flow if point.month <= month), key=lambda point: point.month)
    after = min((point for point in answer.cash_flow if point.month >= month), key=lambda point: point.month)
    width = after.month - before.month
    share = (month - before.month) / width if width > 0 else 0.0
    spent = before.cloud + share * (after.cloud - before.cloud)
    label = voice.decimal(month, 1), voice.full(spent, answer.currency)
    return _best(voice.gettext("break-even"), month, spent, label)
