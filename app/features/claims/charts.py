"""Figure of vendor claims: the published ratio against our range on every footing."""

from __future__ import annotations

from collections.abc import Sequence

from app.features.claims.model import VendorClaim
from app.platform.charts import figures
from app.platform.charts.figures import Figure, Trace, axis, reach, whiskers
from app.platform.wording.voice import Voice

STYLES = {
    "as_claimed": (figures.GREY, "circle"),
    "per_chip": (figures.BLUE, "square"),
    "per_dollar": (figures.GREEN, "triangle-up"),
    "per_watt_typical": (figures.PURPLE, "diamond"),
}
"""Footing, from the top down → colour and symbol."""

STEP = 0.19
"""Distance of two footings of one claim. [rows]"""

ROW = 80


def claims(items: Sequence[VendorClaim], voice: Voice) -> Figure:
    """Return claims as rows: what was published, and our ratio with its range on each footing."""
    modelled = [claim for claim in items if claim.readings]
    traces = [_series(name, modelled, voice) for name in STYLES]
    published = [claim.restated or claim.ratio for claim in modelled]
    traces.append(
        figures.points(
            published,
            range(len(modelled)),
            {
                "color": figures.VERMILION,
                "size": 30,
                "symbol": "line-ns",
                "line": {"color": figures.VERMILION, "width": 3},
            },
            [voice.ratio(ratio) for ratio in published],
            name=voice.gettext("Vendor figure"),
        )
    )
    labels = [f"{claim.model} {voice.number(claim.ratio)}×" for claim in modelled]
    ends = reach(footing.ours for claim in modelled for footing in claim.readings[0].footings)
    across = axis(voice.gettext("Speed ratio (log scale)"), [*ends, *published], voice.number, log=True)
    height = ROW * len(modelled) + figures.AROUND_ROWS
    return figures.lying(traces, labels, across, shapes=[figures.upright(1, figures.GUIDE)], height=height)


def _series(name: str, modelled: Sequence[VendorClaim], voice: Voice) -> Trace:
    """Return the ratios of all claims on one footing, offset from the other footings."""
    ratios = [
        next(ratio.ours for ratio in claim.readings[0].footings if ratio.footing == name)
        for claim in modelled
    ]
    colour, symbol = STYLES[name]
    offset = (list(STYLES).index(name) - (len(STYLES) - 1) / 2) * STEP
    return figures.points(
        [ours.value for ours in ratios],
        [row + offset for row in range(len(modelled))],
        {"color": colour, "symbol": symbol},
        [f"{voice.ratio(ours.value)} ({voice.ratio(ours.low)}–{voice.ratio(ours.high)})" for ours in ratios],
        name=voice.label(name, "footing"),
        error_x=whiskers(ratios, 1.0),
    )
