"""What all figures share."""

from __future__ import annotations

import textwrap
from typing import Any

Figure = dict[str, Any]
"""A Plotly figure as JSON: ``data`` and ``layout``."""

FONT = "Rackline Sans, Pretendard Variable, Pretendard, system-ui, sans-serif"
LABEL_WIDTH = 24


def figure(data: list[dict[str, Any]], **layout: Any) -> Figure:
    """Return a figure on a transparent ground, without a title: the page gives it a caption."""
    base: dict[str, Any] = {
        "font": {"family": FONT, "size": 13},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 8, "b": 40},
        "dragmode": False,
        "hoverlabel": {"font": {"family": FONT}},
        "showlegend": False,
    }
    return {"data": data, "layout": base | layout}


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """Return an axis that makes room for its labels."""
    base: dict[str, Any] = {"automargin": True, "zeroline": False, "fixedrange": True, "ticks": "outside"}
    if title:
        base["title"] = {"text": title, "standoff": 10}
    return base | more


def names(labels: list[str]) -> dict[str, Any]:
    """Return the axis of named rows, first on top, long names over several lines."""
    return axis(
        type="category",
        autorange="reversed",
        ticks="",
        tickmode="array",
        tickvals=list(range(len(labels))),
        ticktext=[wrapped(label) for label in labels],
    )


def plain(label: str) -> str:
    """Return a label without what Plotly would read as markup."""
    return label.replace("<", "‹").replace(">", "›").replace("&", "+")


def wrapped(label: str) -> str:
    """Break a long label over several lines."""
    return "<br>".join(textwrap.wrap(plain(label), LABEL_WIDTH)) or "–"


def legend_above() -> dict[str, Any]:
    """Return a legend in rows above the plot, where it never covers data."""
    return {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}}
