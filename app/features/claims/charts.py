"""Figure of vendor claims: the published ratio against our range on every footing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.features.claims.model import VendorClaim
from app.platform.charts import figures
from app.platform.charts.figures import Figure, axis, figure, legend_above, plain, wrapped
from app.platform.wording.voice import Voice

STYLES = {
    "as_claimed": (figures.GREY, "circle"),
    "per_chip": (figures.BLUE, "square"),
    "per_dollar": (figures.GREEN, "triangle-up"),
    "per_watt_typical": (figures.PURPLE, "diamond"),
}
"""Footings that are drawn, from the top down → colour and symbol."""

STEP = 0.19
"""Distance of two footings of one claim. [rows]"""

TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)


def claims(found: Sequence[VendorClaim], voice: Voice) -> Figure:
    """Return claims as rows: what was published, and our ratio with its range on each footing."""
    shown = [claim for claim in found if claim.readings]
    traces = [_series(name, shown, voice) for name in STYLES]
    traces.append(_published(shown, voice))
    labels = [wrapped(f"{plain(claim.model)} {voice.number(claim.ratio)}×") for claim in shown]
    ends = [value for trace in traces for value in trace["x"]]
    ticks = [tick for tick in TICKS if not ends or min(ends) / 2 <= tick <= max(ends) * 2]
    return figure(
        traces,
        showlegend=True,
        legend=legend_above(),
        margin={"l": 8, "r": 16, "t": 8, "b": 48},
        xaxis=axis(
            voice.gettext("Speed ratio (log scale)"),
            type="log",
            tickmode="array",
            tickvals=ticks,
            ticktext=[voice.number(tick) for tick in ticks],
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


def _series(name: str, shown: Sequence[VendorClaim], voice: Voice) -> dict[str, Any]:
    """Return the ratios of all claims on one footing, a step apart from those on the others."""
    ratios = [
        next(ratio.ours for ratio in claim.readings[0].footings if ratio.footing == name) for claim in shown
    ]
    colour, symbol = STYLES[name]
    offset = (list(STYLES).index(name) - (len(STYLES) - 1) / 2) * STEP
    label = voice.label(name, "footing")
    return {
        "type": "scatter",
        "mode": "markers",
        "name": label,
        "x": [ours.value for ours in ratios],
        "y": [row + offset for row in range(len(shown))],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [ours.high - ours.value for ours in ratios],
            "arrayminus": [ours.value - ours.low for ours in ratios],
            "thickness": 1.5,
            "width": 3,
        },
        "marker": {"color": colour, "size": 8, "symbol": symbol},
        "hovertext": [
            f"{plain(claim.model)}<br>{label}: {voice.ratio(ours.value)} "
            f"({voice.ratio(ours.low)}–{voice.ratio(ours.high)})"
            for claim, ours in zip(shown, ratios, strict=True)
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
