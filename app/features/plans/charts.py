"""Figures of a plan search: the map over degrees, why one plan wins, time against memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.engine.units import GIGABYTE
from app.estimating.documents import Part
from app.features.plans.model import MapCell, Search
from app.platform.charts import figures
from app.platform.charts.figures import WIDTH, Figure, axis, figure, legend_above, names, plain
from app.platform.wording.scales import scale_of
from app.platform.wording.voice import Voice

SHADES = (0.02, 0.05, 0.10, 0.25, 0.50)
"""How far a cell may be behind the fastest to have this shade or a darker one; more is palest."""

LINE = "rgba(128,136,148,0.9)"

LONGEST = 2.0
"""Step time up to which the front is drawn, over the shortest; the table goes on."""

HEADROOM = 1.08
"""How far the axis of memory reaches beyond the capacity."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One tensor and pipeline degree of the map."""

    cell: MapCell
    behind: float | None
    """Step time above that of the fastest cell; none where nothing fits."""
    shade: int
    """0 for the fastest, one more for each of :data:`SHADES` it is behind."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Best step time of every tensor degree, one row each, and pipeline degree, one column each."""

    tensor: Sequence[int]
    pipeline: Sequence[int]
    rows: Sequence[Sequence[HeatCell | None]]
    """None where no plan is legal."""


def heat_map(cells: Sequence[MapCell]) -> HeatMap:
    """Return the map of a search as rows of shaded cells."""
    tensor = sorted({cell.tensor for cell in cells})
    pipeline = sorted({cell.pipeline for cell in cells})
    known = {(cell.tensor, cell.pipeline): cell for cell in cells}
    fastest = min((cell.step_time for cell in cells if cell.step_time is not None), default=None)
    rows = [[_heat_cell(known.get((rank, stage)), fastest) for stage in pipeline] for rank in tensor]
    return HeatMap(tensor, pipeline, rows)


def _heat_cell(cell: MapCell | None, fastest: float | None) -> HeatCell | None:
    if cell is None:
        return None
    if cell.step_time is None or fastest is None:
        return HeatCell(cell, None, len(SHADES))
    behind = cell.step_time / fastest - 1.0
    return HeatCell(cell, behind, sum(behind > limit for limit in SHADES))


@dataclass(frozen=True, slots=True)
class FilledBar:
    """Memory of a plan on a bar as long as the memory of the device, or as its need where that is more."""

    filled: float
    limit: float
    """Where a plan has to end."""
    capacity: float
    over: bool


def filled_bar(share: float, limit: float) -> FilledBar:
    """Return the memory of a plan as a bar; shares are of the memory of the device."""
    full = max(share, 1.0)
    return FilledBar(WIDTH * share / full, WIDTH * limit / full, WIDTH / full, share > limit)


def differences(more: Sequence[Part], title: str, voice: Voice) -> Figure:
    """Return by how much each part of another plan's step is longer than the first's, and their sum."""
    largest = max((abs(part.seconds) for part in more), default=0.0)
    total = sum(part.seconds for part in more)
    scale = scale_of(max(largest, abs(total)), "s")
    rows = [(voice.label(part.part, "part"), part.seconds) for part in more]
    rows.append((voice.gettext("Total"), total))

    def side(name: str, style: tuple[str, str], wanted: Sequence[tuple[int, float]]) -> dict[str, Any]:
        colour, pattern = style
        return {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": [row for row, _ in wanted],
            "x": [seconds / scale.size for _, seconds in wanted],
            "width": 0.6,
            "marker": {"color": colour, "pattern": figures.hatched(pattern)},
            "hovertext": [
                f"{rows[row][0]}: {signed(seconds, voice.value(abs(seconds), 's', scale, exact=False))}"
                for row, seconds in wanted
            ],
            "hoverinfo": "text",
        }

    places = list(enumerate(seconds for _, seconds in rows))
    saved = [(row, seconds) for row, seconds in places if seconds > 0]
    paid = [(row, seconds) for row, seconds in places if seconds < 0]
    data = [
        side(voice.gettext("saved by the first plan"), (figures.BLUE, ""), saved),
        side(voice.gettext("added by the first plan"), (figures.ORANGE, "/"), paid),
    ]
    return figure(
        [trace for trace in data if trace["x"]],
        barmode="overlay",
        showlegend=True,
        legend=legend_above(),
        xaxis=axis(f"{title} ({voice.gettext(scale.unit)})", zeroline=True, zerolinecolor=LINE),
        yaxis=names([label for label, _ in rows])
        | {"type": "linear", "range": [len(rows) - 0.5, -0.5], "autorange": False},
    )


def signed(value: float, written: str) -> str:
    """Return a written size with the sign of its value.

    >>> signed(-0.2, "0.2 s"), signed(0.2, "0.2 s")
    ('−0.2 s', '+0.2 s')
    """
    return f"{'−' if value < 0 else '+'}{written}"


def time_and_memory(search: Search, plans: Sequence[str], points: Sequence[str], voice: Voice) -> Figure:
    """Return step time against memory of the best plans, and of those that no other beats in both."""
    times = [plan.step_time.value for plan in search.plans] + [point.step_time for point in search.pareto]
    scale = scale_of(min(times), "s")
    ends = _with_room([time / scale.size for time in times if time <= LONGEST * min(times)])
    capacity, limit = search.memory_capacity.value / GIGABYTE, search.memory_limit.value / GIGABYTE
    front: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": voice.gettext("Pareto front (time, memory)"),
        "x": [point.step_time / scale.size for point in search.pareto],
        "y": [point.memory / GIGABYTE for point in search.pareto],
        "line": {"color": figures.SILVER, "width": 1.5, "shape": "hv"},
        "marker": {"color": figures.GREY, "size": 6},
        "hovertext": [plain(one) for one in points],
        "hoverinfo": "text",
    }
    best: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers+text",
        "name": voice.gettext("best distinct plans"),
        "x": [plan.step_time.value / scale.size for plan in search.plans],
        "y": [plan.memory.value / GIGABYTE for plan in search.plans],
        "text": [str(place) for place in range(1, len(search.plans) + 1)],
        "textposition": "top center",
        "marker": {"color": figures.BLUE, "size": 9, "symbol": "diamond"},
        "hovertext": [plain(one) for one in plans],
        "hoverinfo": "text",
    }
    lines = [
        _level(capacity, ends, voice.gettext("device memory"), "solid"),
        _level(limit, ends, voice.gettext("memory available to a plan"), "dot"),
    ]
    highest = max([capacity, *front["y"], *best["y"]])
    return figure(
        [*lines, front, best],
        showlegend=True,
        legend=legend_above() | {"traceorder": "reversed"},
        hovermode="closest",
        xaxis=axis(f"{voice.gettext('Step time')} ({voice.gettext(scale.unit)})", range=ends),
        yaxis=axis(f"{voice.gettext('Memory per device')} (GB)", range=[0.0, HEADROOM * highest]),
    )


def _level(value: float, ends: list[float], name: str, dash: str) -> dict[str, Any]:
    """Return a line across the plot."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": ends,
        "y": [value, value],
        "line": {"color": LINE, "width": 1.4, "dash": dash},
        "hoverinfo": "skip",
    }


def _with_room(values: Sequence[float]) -> list[float]:
    """Return the ends of an axis with a little room on both sides of its values."""
    least, most = min(values), max(values)
    room = 0.06 * (most - least) or 0.1 * most
    return [least - room, most + room]
