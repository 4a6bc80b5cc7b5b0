"""The numbers of a figure as a table for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from app.reports.figures.layout import Figure
from app.reports.stills.traces import listed
from app.reports.sweeps import written

Cell = str | int | float | bool | None

HEAD = ("series", "x", "y", "x_low", "x_high", "y_low", "y_high", "note")


def figure_csv(figure: Figure) -> str:
    """Return the points and bars of a figure as CSV (RFC 4180): one row each, with the ends of its range.

    Guides that say nothing themselves are left out.

    The second line names the axes with their units.
    """
    lines = io.StringIO()
    writer = csv.writer(lines)
    writer.writerow(HEAD)
    layout = figure["layout"]
    titles = [layout.get(f"{name}axis", {}).get("title", {}).get("text", "") for name in ("x", "y")]
    writer.writerow(["", *(written(title) for title in titles), "", "", "", "", ""])
    names = {name: _names(layout.get(f"{name}axis", {})) for name in ("x", "y")}
    for trace in figure["data"]:
        if trace.get("hoverinfo") == "skip":
            continue
        x, y = listed(trace.get("x")), listed(trace.get("y"))
        notes = listed(trace.get("hovertext")) or [""] * len(x)
        ends = [*_ends(trace, "x", x), *_ends(trace, "y", y)]
        for place, (across, up) in enumerate(zip(x, y, strict=True)):
            if across is None or up is None:
                continue
            cells = [
                trace.get("name", ""),
                names["x"].get(across, across),
                names["y"].get(up, up),
                *(end[place] for end in ends),
                notes[place].replace("<br>", " · "),
            ]
            writer.writerow([written(cell) for cell in cells])
    return lines.getvalue()


def rows_csv(rows: Sequence[Sequence[Cell]]) -> str:
    """Return rows as CSV (RFC 4180)."""
    lines = io.StringIO()
    csv.writer(lines).writerows([written(cell) for cell in row] for row in rows)
    return lines.getvalue()


def _names(axis: dict[str, Any]) -> dict[Any, str]:
    """Return what stands at the ticks of an axis of names; ticks of an axis of numbers are not names."""
    if axis.get("type") == "log" or not axis.get("ticktext"):
        return {}
    names = dict(zip(axis["tickvals"], (text.replace("<br>", " ") for text in axis["ticktext"]), strict=True))
    return names if list(names) == list(range(len(names))) else {}


def _ends(trace: dict[str, Any], name: str, values: list[Any]) -> list[list[Any]]:
    bars = trace.get(f"error_{name}")
    if not bars or not bars.get("array"):
        return [[None] * len(values)] * 2
    above, below = bars["array"], bars.get("arrayminus") or bars["array"]
    low = [value - (less or 0.0) for value, less in zip(values, below, strict=True)]
    return [low, [value + (more or 0.0) for value, more in zip(values, above, strict=True)]]
