"""The drawing of a pod, also as a file with its key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from app.features.tenancy.model import PartitionPlan, TeamPlacement
from app.platform.charts.svg import Box, Drawing, Label
from app.platform.wording.voice import Voice

CELL = 34.0
NODE_CELL = 64.0
NODE_HEIGHT = 34.0
GAP = 4.0
MACHINE_GAP = 7.0
"""Additional gap between machines."""

SIDE = 58.0
"""Room for the name of a pod or node to the left."""

POD_GAP = 26.0
LETTER, WIDE_LETTER = 6.9, 12.5
"""Width of a Latin and of a Korean or Chinese letter in a label."""

WIDE_FROM = "\u1100"

COLOURS, PATTERNS = 8, 4
MOST_NODES = 40
MOST_DEVICES = 1024
"""Devices drawn at most; the table has them all."""

KEY_ROW = 22.0
"""Height of a row of the key. [px]"""

SWATCH, SWATCH_HEIGHT = 20.0, 14.0
MARGIN = 14.0
NARROWEST = 420.0
"""Width that leaves room for a name in the key. [px]"""

BETWEEN = 26.0
"""Between two entries of the key. [px]"""

COLUMNS = {
    "team": "Team",
    "pod": "Pod",
    "first_device": "First device",
    "devices": "Devices",
    "slice": "Slice",
}
"""Field of a placement → head of its column."""


@dataclass(frozen=True, slots=True)
class PatternBox(Box):
    """A rectangle with a pattern laid over its colour; empty for none."""

    pattern: str = ""


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """Colour, pattern and name of a team in the key."""

    kind: str
    pattern: str
    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class DeviceGrid:
    """Position of each device of a pod or node."""

    columns: int
    rows: int
    machine: int
    cell: float
    height: float

    @classmethod
    def of(cls, plan: PartitionPlan) -> DeviceGrid:
        """Return the grid of a pod, about square, or of a node, one row."""
        size, machine = plan.devices_per_pod, plan.devices_per_machine
        if not plan.ipus:
            return cls(size, 1, size, NODE_CELL if size <= 8 else CELL, NODE_HEIGHT)
        columns = min(size, 8)
        while columns * columns < size:
            columns *= 2
        return cls(columns, -(-size // columns), machine, CELL, CELL)

    def across(self, column: int) -> float:
        return SIDE + column * (self.cell + GAP) + column // self.machine * MACHINE_GAP

    @property
    def tall(self) -> float:
        return self.rows * (self.height + GAP) - GAP

    def corner(self, top: float, device: int) -> tuple[float, float]:
        return self.across(device % self.columns), top + device // self.columns * (self.height + GAP)

    def box(self, top: float, first: int, devices: int) -> tuple[float, float, float, float]:
        """Return the rectangle that holds a stretch of devices."""
        x, y = self.corner(top, first)
        last_x, last_y = self.corner(top, first + devices - 1)
        if last_y > y:
            x, last_x = self.across(0), self.across(self.columns - 1)
        return x, y, last_x - x + self.cell, last_y - y + self.height


@dataclass(frozen=True, slots=True)
class PodDrawing:
    """Shapes of a plan, its key and its description."""

    width: float
    height: float
    shapes: Sequence[PatternBox]
    labels: Sequence[Label]
    key: Sequence[KeyEntry]
    description: str
    drawn: int
    """Number of devices drawn."""


Look = tuple[str, str]
"""Class that gives a team its colour, and its pattern."""


def pod_drawing(plan: PartitionPlan, voice: Voice) -> PodDrawing:
    """Return the placements of a plan, up to the largest number of devices drawn."""
    grid = DeviceGrid.of(plan)
    most = max(1, min(MOST_NODES if grid.rows == 1 else plan.pods, MOST_DEVICES // plan.devices_per_pod))
    step = grid.tall + (GAP + MACHINE_GAP if grid.rows == 1 else POD_GAP)
    tops = [1.0 + pod * step for pod in range(min(plan.pods, most))]
    teams = dict.fromkeys(placement.team for placement in sorted(plan.placements, key=attrgetter("request")))
    looks = {team: (f"tenant-{index % COLOURS}", pattern_of(index)) for index, team in enumerate(teams)}
    name = voice.gettext("pod") if plan.ipus else voice.gettext("node")
    middle = min(grid.tall, grid.height) / 2 + 4
    labels = [
        Label(0.0, top + middle, f"{name} {pod}", anchor="start", kind="side") for pod, top in enumerate(tops)
    ]
    shapes = list(free_devices(plan, grid, tops, name, voice.gettext("free")))
    cut: set[tuple[int, int]] = set()
    for placement in plan.placements:
        if placement.pod >= len(tops):
            continue
        top, look = tops[placement.pod], looks[placement.team]
        if placement.slice is None:
            shapes += [
                device(grid, top, number, look, f"{placement.team}: {name} {placement.pod}, {number}")
                for number in range(placement.first_device, placement.first_device + placement.devices)
            ]
            box = grid.box(top, placement.first_device, placement.devices)
            text = fitted(f"{placement.team} · {placement.devices}", placement.team, box[2])
            if text:
                shapes.append(plate(text, box))
                labels.append(Label(box[0] + box[2] / 2, box[1] + box[3] / 2 + 4.3, text, kind="team"))
            continue
        gpu = (placement.pod, placement.first_device)
        if gpu not in cut:
            cut.add(gpu)
            title = f"{name} {placement.pod}, {placement.first_device}"
            shapes.append(device(grid, top, placement.first_device, ("idle", ""), title))
        shapes.append(instance(placement, grid, top, look, name))
    template = voice.gettext("{allocated} of {devices} accelerators allocated, {free} free")
    return PodDrawing(
        width=grid.across(grid.columns - 1) + grid.cell + 1.0,
        height=tops[-1] + grid.tall + 1.0,
        shapes=shapes,
        labels=labels,
        key=[KeyEntry(*look, team, devices_of_team(team, plan)) for team, look in looks.items()],
        description=template.format(
            allocated=voice.number(plan.allocated),
            devices=voice.number(plan.devices),
            free=voice.number(plan.free),
        ),
        drawn=len(tops) * plan.devices_per_pod,
    )


def pattern_of(index: int) -> str:
    """Return the pattern of the n-th team: neighbours differ in colour and in pattern."""
    pattern = (index + index // COLOURS) % PATTERNS
    return f"weave-{pattern}" if pattern else ""


def device(grid: DeviceGrid, top: float, number: int, look: Look, title: str) -> PatternBox:
    return PatternBox(*grid.corner(top, number), grid.cell, grid.height, look[0], title, look[1])


def free_devices(
    plan: PartitionPlan, grid: DeviceGrid, tops: Sequence[float], name: str, free: str
) -> Iterator[PatternBox]:
    allocated = {
        (placement.pod, number)
        for placement in plan.placements
        for number in range(placement.first_device, placement.first_device + placement.devices)
    }
    for pod, top in enumerate(tops):
        for number in range(plan.devices_per_pod):
            if (pod, number) not in allocated:
                yield device(grid, top, number, ("idle", ""), f"{name} {pod}, {number}: {free}")


def instance(placement: TeamPlacement, grid: DeviceGrid, top: float, look: Look, name: str) -> PatternBox:
    x, y = grid.corner(top, placement.first_device)
    part = grid.cell / 8.0
    left, wide = x + part * (placement.first_slice or 0), part * (placement.memory_slices or 1)
    title = f"{placement.team}: {placement.slice}, {name} {placement.pod}, {placement.first_device}"
    return PatternBox(left + 0.6, y, wide - 1.2, grid.height, look[0], title, look[1])


def plate(text: str, box: tuple[float, float, float, float]) -> PatternBox:
    x, y, width, height = box
    wide = width_of(text) + 10.0
    return PatternBox(x + width / 2 - wide / 2, y + height / 2 - 10.0, wide, 20.0, "plate")


def width_of(text: str) -> float:
    return sum(WIDE_LETTER if letter >= WIDE_FROM else LETTER for letter in text)


def fitted(text: str, short: str, width: float) -> str:
    """Return the longer label that fits, the short one truncated if needed; empty below two letters."""
    if width_of(text) <= width - 6.0:
        return text
    if width_of(short) <= width - 4.0:
        return short
    while len(short) > 2 and width_of(short) + LETTER > width - 4.0:
        short = short[:-1]
    return f"{short.rstrip()}…" if len(short) > 2 else ""


def devices_of_team(team: str, plan: PartitionPlan) -> str:
    """Return what a team holds: whole accelerators, and instances by their profile."""
    mine = [placement for placement in plan.placements if placement.team == team]
    whole = sum(placement.devices for placement in mine if placement.slice is None)
    profiles = Counter(placement.slice for placement in mine if placement.slice is not None)
    details = [str(whole)] if whole else []
    return " + ".join([*details, *(f"{count} × {profile}" for profile, count in profiles.items())])


def pod_file(drawn: PodDrawing, title: str) -> Drawing:
    shapes: list[Box | Label] = [replace(box, x=box.x + MARGIN, y=box.y + MARGIN) for box in drawn.shapes]
    shapes += [replace(label, x=label.x + MARGIN, y=label.y + MARGIN, kind="label") for label in drawn.labels]
    width = max(drawn.width, NARROWEST) + 2 * MARGIN
    x, y = MARGIN, drawn.height + 2 * MARGIN
    for entry in drawn.key:
        text = f"{entry.name} · {entry.detail}" if entry.detail else entry.name
        wide = SWATCH + 8.0 + width_of(text)
        if x > MARGIN and x + wide > width - MARGIN:
            x, y = MARGIN, y + KEY_ROW
        shapes.append(Box(x, y, SWATCH, SWATCH_HEIGHT, entry.kind))
        shapes.append(Label(x + SWATCH + 8.0, y + SWATCH_HEIGHT - 2.5, text, anchor="start"))
        x += wide + BETWEEN
    return Drawing(width, y + SWATCH_HEIGHT + MARGIN, title, drawn.description, tuple(shapes))


def placement_rows(plan: PartitionPlan, voice: Voice) -> Sequence[Sequence[str | int | None]]:
    head = [voice.gettext(word) for word in COLUMNS.values()]
    return [head, *([getattr(placement, name) for name in COLUMNS] for placement in plan.placements)]
