"""The drawing of a pod as one that can be saved: its colours and its key stand in the picture itself."""

from __future__ import annotations

from collections.abc import Sequence

from app.reports.drawings.pod import PodDrawing, width_of
from app.reports.drawings.svg import Box, Drawing, Label
from app.reports.wording import Voice
from app.sizing.tenancy.documents import PartitionPlan

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
