"""Figure of vendor claims: the published ratio against our range on every footing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.features.claims.model import FootingRatio, VendorClaim
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, legend_above, plain, wrapped
from app.platform.wording.voice import Voice

SHOWN = ("as_claimed", "per_chip", "per_dollar", "per_watt_typical")
"""Footings that are drawn, from the top down."""

STYLES = {
    "as_claimed": (figures.GREY, "circle"),
    "per_chip": (figures.BLUE, "square"),
    "per_dollar": (figures.GREEN, "triangle-up"),
    "per_watt_typical": (figures.PURPLE, "diamond"),
}

STEP = 0.19
"""Distance of two footings of one claim. [rows]"""

TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)


def claims(found: Sequence[VendorClaim], voice: Voice) -> Figure:
    """Return claims as rows: what was published, and our ratio with its range on each footing."""
    shown = [claim for claim in found if claim.readings]
    traces = [_series(name, shown, voice) for name in SHOWN]
    traces.append(_published(shown, voice))
    labels = [wrapped(f"{plain(claim.model)} {voice.number(claim.ratio)}×") for claim in shown]
    ends = [value for trace in traces for value in trace["x"]]
    return figure(
        traces,
        showlegend=True,
        legend=legend_above(),
        margin={"l": 8, "r": 16, "t": 8, "b": 48},
        xaxis=axis(
            voice.gettext("Speed ratio (log scale)"),
            type="log",
            tickmode="array",
            tickvals=[tick for tick in TICKS if not ends or min(ends) / 2 <= tick <= max(ends) * 2],
            ticktext=[
                voice.number(tick) for tick in TICKS if not ends or min(ends) / 2 <= tick <= max(ends) * 2
            ],
        ),
        yaxis=axis(
            autorange="reversed",
            ticks="",
            tickmode="array",
            tickvals=list(range(len(shown))),
            ticktext=labels,
            showgrid=False,
        ),
        shapes=[
            {
                "type": "line",
                "xref": "x",
                "yref": "paper",
                "x0": 1,
                "x1": 1,
                "y0": 0,
                "y1": 1,
                "line": {"color": "rgba(128,136,148,0.9)", "width": 1.5, "dash": "dash"},
            }
        ],
    )


def _of(claim: VendorClaim, name: str) -> FootingRatio:
    return next(one for one in claim.readings[0].footings if one.footing == name)


def _series(name: str, shown: Sequence[VendorClaim], voice: Voice) -> dict[str, Any]:
    found = [_of(claim, name) for claim in shown]
    colour, symbol = STYLES[name]
    place = (SHOWN.index(name) - (len(SHOWN) - 1) / 2) * STEP
    return {
        "type": "scatter",
        "mode": "markers",
        "name": voice.label(name, "footing"),
        "x": [one.ours.value for one in found],
        "y": [row + place for row in range(len(shown))],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [one.ours.high - one.ours.value for one in found],
            "arrayminus": [one.ours.value - one.ours.low for one in found],
            "thickness": 1.5,
            "width": 3,
        },
        "marker": {"color": colour, "size": 8, "symbol": symbol},
        "hovertext": [
            f"{plain(claim.model)}<br>{voice.label(name, 'footing')}: {voice.ratio(one.ours.value)} "
            f"({voice.ratio(one.ours.low)}–{voice.ratio(one.ours.high)})"
            for claim, one in zip(shown, found, strict=True)
        ],
        "hoverinfo": "text",
    }


def _published(shown: Sequence[VendorClaim], voice: Voice) -> dict[str, Any]:
    ratios = [claim.restated or claim.ratio for claim in shown]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": voice.gettext("Vendor figure"),
        "x": ratios,
        "y": list(range(len(shown))),
        "marker": {
            "color": figures.VERMILION,
            "size": 30,
            "symbol": "line-ns",
            "line": {"color": figures.VERMILION, "width": 3},
        },
        "hovertext": [
            f"{plain(claim.model)}: {voice.ratio(ratio)}" for claim, ratio in zip(shown, ratios, strict=True)
        ],
        "hoverinfo": "text",
    }
