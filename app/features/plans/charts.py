"""Figures of a plan search: the map over degrees, why one plan wins, time against memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.engine.units import GIGABYTE
from app.estimating.documents import Part
from app.features.plans.model import MapCell, Search
from app.platform.charts import figures
from app.platform.charts.figures import WIDTH, Figure, axis, figure, plain
from app.platform.wording.scales import scale_of
from app.platform.wording.voice import Voice

SHADES = (0.02, 0.05, 0.10, 0.25, 0.50)
"""Distance from the fastest cell up to which a cell has each shade, darkest first."""

LONGEST = 2.0
"""Longest step time of the axis, relative to the shortest; the table has all points."""


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
    """Memory of a plan on a bar of the device's memory, or of the plan's if that is more."""

    filled: float
    limit: float
    """Where a plan has to end."""
    capacity: float
    over: bool


def filled_bar(share: float, limit: float) -> FilledBar:
    full = max(share, 1.0)
    return FilledBar(WIDTH * share / full, WIDTH * limit / full, WIDTH / full, share > limit)


def differences(more: Sequence[Part], title: str, voice: Voice) -> Figure:
    """Draw how much longer each part of another plan's step is than the first's, and their sum."""
    largest = max((abs(part.seconds) for part in more), default=0.0)
    total = sum(part.seconds for part in more)
    scale = scale_of(max(largest, abs(total)), "s")
    rows = [(voice.label(part.part, "part"), part.seconds) for part in more]
    rows.append((voice.gettext("Total"), total))
    traces = []
    for name, style, sign in (
        (voice.gettext("saved by the first plan"), figures.AFTER, 1),
        (voice.gettext("added by the first plan"), figures.HIGHER, -1),
    ):
        drawn = {index: seconds for index, (_, seconds) in enumerate(rows) if sign * seconds > 0}
        texts = [
            signed(seconds, voice.value(abs(seconds), "s", scale, exact=False)) for seconds in drawn.values()
        ]
        lengths = [seconds / scale.size for seconds in drawn.values()]
        if drawn:
            traces.append(figures.bar(name, lengths, list(drawn), style, texts))
    values = [0.0, *(seconds / scale.size for _, seconds in rows)]
    across = axis(title, values, voice.number, unit=voice.gettext(scale.unit))
    return figures.lying(traces, [label for label, _ in rows], across)


def signed(value: float, written: str) -> str:
    """Return a written size with the sign of its value.

    >>> signed(-0.2, "0.2 s"), signed(0.2, "0.2 s")
    ('−0.2 s', '+0.2 s')
    """
    return f"{'−' if value < 0 else '+'}{written}"


def time_and_memory(search: Search, plans: Sequence[str], points: Sequence[str], voice: Voice) -> Figure:
    """Return step time against memory of the best plans, and of those that no other beats in both.

    Both have names: the plans, and the points of the front.
    """
    times = [plan.step_time.value for plan in search.plans] + [point.step_time for point in search.pareto]
    scale = scale_of(min(times), "s")
    across = axis(
        voice.gettext("Step time"),
        [time / scale.size for time in times if time <= LONGEST * min(times)],
        voice.number,
        unit=voice.gettext(scale.unit),
    )
    capacity, limit = search.memory_capacity.value / GIGABYTE, search.memory_limit.value / GIGABYTE

    def tips(name: str, seconds: float, memory: float) -> tuple[str, str, str]:
        return name, voice.value(seconds, "s", exact=False), voice.value(memory, "B", exact=False)

    front = figures.points(
        [point.step_time / scale.size for point in search.pareto],
        [point.memory / GIGABYTE for point in search.pareto],
        {"color": figures.GREY, "size": 6},
        [tips(name, plan.step_time, plan.memory) for name, plan in zip(points, search.pareto, strict=True)],
        mode="lines+markers",
        name=voice.gettext("Pareto front (time, memory)"),
        line={"color": figures.SILVER, "width": 1.5, "shape": "hv"},
    )
    best = figures.points(
        [plan.step_time.value / scale.size for plan in search.plans],
        [plan.memory.value / GIGABYTE for plan in search.plans],
        {"color": figures.BLUE, "size": 9, "symbol": "diamond"},
        [
            tips(f"{rank} · {plain(name)}", plan.step_time.value, plan.memory.value)
            for rank, (name, plan) in enumerate(zip(plans, search.plans, strict=True), 1)
        ],
        name=voice.gettext("best distinct plans"),
    )
    lines = [
        figures.limit(voice.gettext("memory available to a plan"), across["range"], [limit] * 2),
        figures.line(
            across["range"],
            [capacity] * 2,
            {"color": figures.GUIDE, "width": 1.4},
            name=voice.gettext("device memory"),
        ),
    ]
    memory = [0.0, capacity, *front["y"], *best["y"]]
    return figure(
        [best, front, *lines],
        across,
        axis(voice.gettext("Memory per device"), memory, voice.number, unit="GB", zero=True),
        [voice.gettext("Plan"), voice.gettext("Step time"), voice.gettext("Memory per device")],
    )
