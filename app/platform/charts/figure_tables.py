"""The numbers of a figure as a table, for readers and for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from app.platform.charts.figures import Figure
from app.platform.tables import written

Cell = str | int | float | bool | None

HEAD = ("series", "x", "y", "x_low", "x_high", "y_low", "y_high", "note")


def figure_csv(figure: Figure) -> str:
    """Return the points and bars of a figure as CSV (RFC 4180): one row each, with the ends of its range.

    Guides that say nothing themselves are left out. The second line names the axes with their units.
    """
    lines = io.StringIO()
    writer = csv.writer(lines)
    writer.writerow(HEAD)
    layout = figure["layout"]
    titles = [layout[f"{name}axis"].get("title", {}).get("text", "") for name in ("x", "y")]
    writer.writerow(["", *(written(title) for title in titles), "", "", "", "", ""])
    labels = dict(enumerate(layout["meta"].get("rows", ())))
    for trace in figure["data"]:
        x, y = trace["x"], trace["y"]
        ends = [*_ends(trace, "x", x), *_ends(trace, "y", y)]
        for index, texts in enumerate(trace.get("customdata", ())):
            if x[index] is None or y[index] is None:
                continue
            cells = [
                trace.get("name", ""),
                x[index],
                labels.get(y[index], y[index]),
                *(end[index] for end in ends),
                " · ".join(texts),
            ]
            writer.writerow([written(cell) for cell in cells])
    return lines.getvalue()


def figure_table(figure: Figure) -> tuple[list[str], list[list[str]]]:
    """Return what a figure says as a table to read: its head, and its rows with a name each.

    Named rows have a column for each kind of value; points have the columns of the figure.
    """
    traces = [trace for trace in figure["data"] if trace.get("customdata")]
    labels = figure["layout"]["meta"].get("rows")
    names = list(dict.fromkeys(trace.get("name", "") for trace in traces))
    if labels is None:
        rows = [[trace.get("name", ""), *cells] for trace in traces for cells in trace["customdata"]]
        return ["", *figure["layout"]["meta"]["columns"]], rows
    cells_by_row: dict[tuple[int, str], list[str]] = {}
    for trace in traces:
        for row, (text,) in zip(trace["y"], trace["customdata"], strict=True):
            cells_by_row.setdefault((round(row), trace.get("name", "")), []).append(text)
    title = figure["layout"]["xaxis"]["title"]["text"]
    heads = [title] if len(names) == 1 else [name or title for name in names]
    cells = [
        [" · ".join(cells_by_row.get((row, name), ["–"])) for name in names] for row in range(len(labels))
    ]
    # The longer of both stands down the side.
    if len(heads) > len(labels):
        return ["", *labels], [
            [head, *row] for head, row in zip(heads, zip(*cells, strict=True), strict=True)
        ]
    return ["", *heads], [[label, *row] for label, row in zip(labels, cells, strict=True)]


def rows_csv(rows: Sequence[Sequence[Cell]]) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows([written(cell) for cell in row] for row in rows)
    return lines.getvalue()


def _ends(trace: dict[str, Any], name: str, values: list[Any]) -> list[list[Any]]:
    bars = trace.get(f"error_{name}")
    if not bars or not bars.get("array"):
        return [[None] * len(values)] * 2
    above, below = bars["array"], bars.get("arrayminus") or bars["array"]
    low = [value - (less or 0.0) for value, less in zip(values, below, strict=True)]
    return [low, [value + (more or 0.0) for value, more in zip(values, above, strict=True)]]
