"""The drawing of a pod as one that can be saved: its colours and its key stand in the picture itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.features.tenancy.model import PartitionPlan, Placement
from app.platform.charts.svg import Box, Drawing, Label
from app.platform.wording.voice import Voice

CELL = 34.0

NODE_CELL = 64.0

NODE_HEIGHT = 34.0

GAP = 4.0

MACHINE_GAP = 7.0
"""More room between machines, so that they can be told apart."""

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


@dataclass(frozen=True, slots=True)
class Shape:
    """A rectangle of the drawing."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    """Class that gives it its colour."""
    pattern: str
    """Pattern laid over the colour; empty for none."""
    title: str


@dataclass(frozen=True, slots=True)
class PodLabel:
    """Text of the drawing."""

    x: float
    y: float
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """What a colour with its pattern stands for."""

    kind: str
    pattern: str
    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class PodDrawing:
    """Shapes of a plan, and what it says in words."""

    width: float
    height: float
    shapes: Sequence[Shape]
    labels: Sequence[PodLabel]
    key: Sequence[KeyEntry]
    description: str
    drawn: int
    """Devices in the drawing."""


@dataclass(frozen=True, slots=True)
class DeviceGrid:
    """Where a device lies."""

    columns: int
    rows: int
    machine: int
    cell: float
    height: float

    @classmethod
    def of(cls, plan: PartitionPlan) -> DeviceGrid:
        """Return the grid of one pod: as wide as high; of a node: one row."""
        size, machine = plan.devices_per_pod, plan.devices_per_machine
        if not plan.ipus:
            return cls(size, 1, size, NODE_CELL if size <= 8 else CELL, NODE_HEIGHT)
        columns = min(size, 8)
        while columns * columns < size:
            columns *= 2
        return cls(columns, -(-size // columns), machine, CELL, CELL)

    def across(self, column: int) -> float:
        """Return the left edge of a column."""
        return SIDE + column * (self.cell + GAP) + column // self.machine * MACHINE_GAP

    @property
    def tall(self) -> float:
        """Height of one pod."""
        return self.rows * (self.height + GAP) - GAP

    def place(self, top: float, device: int) -> tuple[float, float]:
        """Return the corner of a device."""
        return self.across(device % self.columns), top + device // self.columns * (self.height + GAP)

    def box(self, top: float, first: int, devices: int) -> tuple[float, float, float, float]:
        """Return the rectangle that holds a stretch of devices."""
        x, y = self.place(top, first)
        last_x, last_y = self.place(top, first + devices - 1)
        if last_y > y:
            x, last_x = self.across(0), self.across(self.columns - 1)
        return x, y, last_x - x + self.cell, last_y - y + self.height


def pod_drawing(plan: PartitionPlan, voice: Voice) -> PodDrawing:
    """Return who sits where, as far as it can be drawn."""
    grid = DeviceGrid.of(plan)
    most = max(1, min(MOST_NODES if grid.rows == 1 else plan.pods, MOST_DEVICES // plan.devices_per_pod))
    pods = min(plan.pods, most)
    step = grid.tall + (GAP + MACHINE_GAP if grid.rows == 1 else POD_GAP)
    tops = [1.0 + pod * step for pod in range(pods)]
    teams = list(dict.fromkeys(one.team for one in sorted(plan.placements, key=lambda one: one.request)))
    looks = {team: (f"tenant-{at % COLOURS}", pattern_of(at)) for at, team in enumerate(teams)}
    name = voice.gettext("pod") if plan.ipus else voice.gettext("node")
    shapes: list[Shape] = []
    labels = [
        PodLabel(0.0, top + min(grid.tall, grid.height) / 2 + 4, f"{name} {pod}", "side")
        for pod, top in enumerate(tops)
    ]
    held = {
        (one.pod, device)
        for one in plan.placements
        for device in range(one.first_device, one.first_device + one.devices)
    }
    for pod, top in enumerate(tops):
        for device in range(plan.devices_per_pod):
            if (pod, device) not in held:
                x, y = grid.place(top, device)
                free = voice.gettext("free")
                shapes.append(
                    Shape(x, y, grid.cell, grid.height, "idle", "", f"{name} {pod}, {device}: {free}")
                )
    cut: set[tuple[int, int]] = set()
    for one in plan.placements:
        if one.pod >= pods:
            continue
        kind, pattern = looks[one.team]
        if one.slice is None:
            add_block(one, grid, tops[one.pod], kind, pattern, shapes, labels, name)
        else:
            x, y = grid.place(tops[one.pod], one.first_device)
            if (one.pod, one.first_device) not in cut:
                cut.add((one.pod, one.first_device))
                shapes.append(
                    Shape(x, y, grid.cell, grid.height, "idle", "", f"{name} {one.pod}, {one.first_device}")
                )
            part = grid.cell / 8.0
            left, wide = x + part * (one.first_slice or 0), part * (one.memory_slices or 1)
            title = f"{one.team}: {one.slice}, {name} {one.pod}, {one.first_device}"
            shapes.append(Shape(left + 0.6, y, wide - 1.2, grid.height, kind, pattern, title))
    return PodDrawing(
        width=grid.across(grid.columns - 1) + grid.cell + 1.0,
        height=tops[-1] + grid.tall + 1.0,
        shapes=shapes,
        labels=labels,
        key=key_of(plan, teams, looks),
        description=described(plan, voice),
        drawn=pods * plan.devices_per_pod,
    )


def pattern_of(at: int) -> str:
    """Return the pattern of the n-th team: neighbours differ in colour and in pattern."""
    pattern = (at + at // COLOURS) % PATTERNS
    return f"weave-{pattern}" if pattern else ""


def add_block(
    one: Placement,
    grid: DeviceGrid,
    top: float,
    kind: str,
    pattern: str,
    shapes: list[Shape],
    labels: list[PodLabel],
    name: str,
) -> None:
    """Draw the devices of a block, and its team over them."""
    last = one.first_device + one.devices - 1
    for device in range(one.first_device, last + 1):
        x, y = grid.place(top, device)
        title = f"{one.team}: {name} {one.pod}, {device}"
        shapes.append(Shape(x, y, grid.cell, grid.height, kind, pattern, title))
    x, y, width, height = grid.box(top, one.first_device, one.devices)
    text = f"{one.team} · {one.devices}"
    if width_of(text) > width - 6.0:
        text = fitted(one.team, width - 4.0)
    if text:
        plate = width_of(text) + 10.0
        middle = x + width / 2
        shapes.append(Shape(middle - plate / 2, y + height / 2 - 10.0, plate, 20.0, "plate", "", ""))
        labels.append(PodLabel(middle, y + height / 2 + 4.3, text, "team"))


def width_of(text: str) -> float:
    """Return about how wide a label is."""
    return sum(WIDE_LETTER if letter >= WIDE_FROM else LETTER for letter in text)


def fitted(text: str, width: float) -> str:
    """Return a label, shortened where it has to be; nothing where not even two letters fit."""
    if width_of(text) <= width:
        return text
    while len(text) > 2 and width_of(text) + LETTER > width:
        text = text[:-1]
    return f"{text.rstrip()}…" if len(text) > 2 else ""


def key_of(plan: PartitionPlan, teams: Iterable[str], looks: dict[str, tuple[str, str]]) -> list[KeyEntry]:
    """Return what each colour stands for, with what the team holds."""
    found = []
    for team in teams:
        mine = [one for one in plan.placements if one.team == team]
        whole = sum(one.devices for one in mine if one.slice is None)
        kinds = dict.fromkeys(one.slice for one in mine if one.slice is not None)
        details = [str(whole)] if whole else []
        details += [f"{sum(one.slice == kind for one in mine)} × {kind}" for kind in kinds]
        found.append(KeyEntry(*looks[team], team, " + ".join(details)))
    return found


def described(plan: PartitionPlan, voice: Voice) -> str:
    """Return the drawing in a sentence."""
    template = voice.gettext("{allocated} of {devices} accelerators allocated, {free} free")
    return template.format(
        allocated=voice.number(plan.allocated),
        devices=voice.number(plan.devices),
        free=voice.number(plan.free),
    )


ROW = 22.0
"""Height of a row of the key. [px]"""

SWATCH, HIGH = 20.0, 14.0

MARGIN = 14.0

NARROWEST = 420.0
"""Width that leaves room for a name in the key. [px]"""

BETWEEN = 26.0

HEAD = ("team", "pod", "first_device", "devices", "slice")


def pod_file(drawn: PodDrawing, title: str) -> Drawing:
    """Return the drawing with its key below it."""
    shapes: list[Box | Label] = [
        Box(one.x + MARGIN, one.y + MARGIN, one.width, one.height, one.kind, one.title)
        for one in drawn.shapes
    ]
    shapes += [
        Label(one.x + MARGIN, one.y + MARGIN, one.text, anchor="middle" if one.kind == "team" else "start")
        for one in drawn.labels
    ]
    width = max(drawn.width, NARROWEST) + 2 * MARGIN
    x, y = MARGIN, drawn.height + 2 * MARGIN
    for entry in drawn.key:
        text = f"{entry.name} · {entry.detail}" if entry.detail else entry.name
        wide = SWATCH + 8.0 + width_of(text)
        if x > MARGIN and x + wide > width - MARGIN:
            x, y = MARGIN, y + ROW
        shapes.append(Box(x, y, SWATCH, HIGH, entry.kind))
        shapes.append(Label(x + SWATCH + 8.0, y + HIGH - 2.5, text, anchor="start"))
        x += wide + BETWEEN
    return Drawing(width, y + HIGH + MARGIN, title, drawn.description, tuple(shapes))


def placement_rows(plan: PartitionPlan, voice: Voice) -> Sequence[Sequence[str | int | None]]:
    """Return who sits where as rows, their head first."""
    head = [voice.gettext(word) for word in ("Team", "Pod", "First device", "Devices", "Slice")]
    return [head, *([getattr(one, name) for name in HEAD] for one in plan.placements)]
