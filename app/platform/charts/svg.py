"""The few shapes our drawings are made of, and how they are written as SVG.

Colours stand in presentation attributes, so that a drawing saved as a file has them too; classes let the
page's own rules take over, dark scheme included. No style attribute: the content policy forbids it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from app.platform.charts.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SAND, SILVER, SKY, SLATE, VERMILION

INK, SOFT, RULE, PANEL, GROUND, ACCENT = "#14181f", "#4f5865", "#c3cad3", "#f6f7f9", "#ffffff", "#2447d6"

BOXES: Mapping[str, str] = {
    "machine": BLUE,
    "host": SKY,
    "switch": ORANGE,
    "management": SILVER,
    "storage": GREEN,
    "spare": SLATE,
    "leaf": SKY,
    "spine": ORANGE,
    "core": VERMILION,
    "forward": BLUE,
    "forward-light": SKY,
    "backward": ORANGE,
    "backward-light": SAND,
}
"""Class of a box → its colour."""

TENANTS = (
    (BLUE, 0.55),
    (ORANGE, 0.6),
    (GREEN, 0.55),
    (VERMILION, 0.55),
    (PURPLE, 0.6),
    (SKY, 0.6),
    (GREY, 0.55),
    (SILVER, 0.75),
)
"""Colour and opacity of the teams that share a pod."""


def on_white(colour: str, opacity: float) -> str:
    """Return what a colour that lets others through looks like on white.

    >>> on_white("#000000", 0.6)
    '#666666'
    """
    inks = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(255 - opacity * (255 - ink)):02x}" for ink in inks)


FILLS: Mapping[str, str] = {
    **BOXES,
    "nodes": PANEL,
    "frame": GROUND,
    "band": PANEL,
    "idle": "#e2e6eb",
    "gap": GROUND,
    "plate": GROUND,
    **{f"tenant-{index}": on_white(*tenant) for index, tenant in enumerate(TENANTS)},
}
"""Class of a box → its colour where no rule of the page says otherwise."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with a tip."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Area:
    """Many rectangles of one kind, too many to each have a tip: left, top, width, height."""

    boxes: tuple[tuple[float, float, float, float], ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line; heavier ones stand for more links."""

    x1: float
    y1: float
    x2: float
    y2: float
    weight: float = 1.0
    kind: str = "link"


@dataclass(frozen=True, slots=True)
class Label:
    """A piece of text."""

    x: float
    y: float
    text: str
    size: float = 12.0
    anchor: str = "middle"
    kind: str = "label"


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes in the order they are drawn, with what they show in words."""

    width: float
    height: float
    title: str
    description: str
    shapes: tuple[Box | Line | Label | Area, ...] = field(default=())


def number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def attributes(**values: object) -> Markup:
    """Write attributes; underscores become hyphens."""
    parts = [f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in values.items()]
    return Markup("".join(parts))


def shape(item: Box | Line | Label | Area) -> Markup:
    if isinstance(item, Box):
        known = attributes(
            class_=f"box-{item.kind}",
            x=number(item.x),
            y=number(item.y),
            width=number(item.width),
            height=number(item.height),
            rx=3 if min(item.width, item.height) > 8 else 1,
            fill=FILLS.get(item.kind, PANEL),
            stroke=RULE if item.kind in ("frame", "band", "nodes") else GROUND,
        )
        tip = Markup(f"<title>{escape(item.title)}</title>") if item.title else Markup("")
        return Markup(f"<rect{known}>{tip}</rect>")
    if isinstance(item, Area):
        path = "".join(
            f"M{number(x)} {number(y)}h{number(width)}v{number(height)}H{number(x)}z"
            for x, y, width, height in item.boxes
        )
        known = attributes(class_=f"box-{item.kind}", d=path, fill=FILLS.get(item.kind, PANEL))
        return Markup(f"<path{known}/>")
    if isinstance(item, Line):
        known = attributes(
            class_=f"line-{item.kind}",
            x1=number(item.x1),
            y1=number(item.y1),
            x2=number(item.x2),
            y2=number(item.y2),
            stroke=SOFT,
            stroke_width=number(item.weight),
            stroke_opacity="0.35",
        )
        return Markup(f"<line{known}/>")
    # Quiet text may lie over lines: a rim in the colour of the ground keeps it legible.
    rim = (
        {"stroke": GROUND, "stroke_width": 7, "stroke_linejoin": "round", "paint_order": "stroke"}
        if item.kind == "quiet"
        else {}
    )
    known = attributes(
        **rim,
        class_=f"text-{item.kind}",
        x=number(item.x),
        y=number(item.y),
        font_size=number(item.size),
        text_anchor=item.anchor,
        fill=GROUND if item.kind == "inside" else SOFT if item.kind == "quiet" else INK,
    )
    return Markup(f"<text{known}>{escape(item.text)}</text>")


def written(drawing: Drawing, identifier: str) -> Markup:
    """Return a drawing as an SVG element with a title and a description for those who do not see it."""
    size = f"0 0 {number(drawing.width)} {number(drawing.height)}"
    head = attributes(
        xmlns="http://www.w3.org/2000/svg",
        class_="drawing",
        viewBox=size,
        width=number(drawing.width),
        height=number(drawing.height),
        role="img",
        aria_labelledby=f"{identifier}-title {identifier}-text",
        font_family="Pretendard, system-ui, sans-serif",
    )
    words = Markup('<title id="{}-title">{}</title><desc id="{}-text">{}</desc>').format(
        identifier, drawing.title, identifier, drawing.description
    )
    return Markup("<svg{}>{}{}</svg>").format(head, words, joined(drawing.shapes))


def joined(shapes: Iterable[Box | Line | Label | Area]) -> Markup:
    return Markup("").join(shape(item) for item in shapes)
