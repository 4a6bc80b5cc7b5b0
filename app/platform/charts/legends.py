"""The legend of a figure as HTML: it stands before a script runs, wraps as text does, and takes no plot."""

from __future__ import annotations

from math import cos, pi, sin

from markupsafe import Markup

from app.platform.charts.figures import BLUE, Figure, Trace, legend
from app.platform.charts.svg import attributes, number

WIDTH, HEIGHT, RADIUS = 22.0, 12.0, 4.5
"""Of a key, and of a symbol in it. [px]"""

CORNERS = {
    "square": (4, 0.125, 1.0),
    "diamond": (4, 0.0, 1.0),
    "triangle-up": (3, -0.25, 1.0),
    "triangle-down": (3, 0.25, 1.0),
    "star": (5, -0.25, 0.45),
}
"""Symbol → its corners, where the first stands in turns, and how far in the points between them are."""

DASHES = {"dash": "5 3", "dot": "1.5 2.5"}


def legend_keys(figure: Figure) -> list[tuple[str, Markup]]:
    """Return the names of a legend, each with a picture of what it names."""
    if not figure["layout"]["showlegend"]:
        return []
    return [(name, _picture(trace)) for name, trace in legend(figure["data"]).items()]


def _picture(trace: Trace) -> Markup:
    marker, line = trace.get("marker", {}), trace.get("line", {})
    colour = marker.get("color", BLUE)
    ink = colour[0] if isinstance(colour, list) else colour
    if trace["type"] == "bar":
        shapes = _box(ink)
        if marker.get("pattern", {}).get("shape") == "/":
            path = "M2 11L12 1M8 11L18 1M14 11L20 5M2 5L6 1"
            shapes += Markup("<path{}/>").format(attributes(d=path, stroke="#fff", stroke_width=1.2))
    elif "fill" in trace:
        shapes = _box(trace["fillcolor"])
    else:
        shapes = _stroke(line) if "lines" in trace["mode"] else Markup("")
        shapes += _symbol(marker, ink) if "markers" in trace["mode"] else Markup("")
    size = attributes(
        class_="key",
        viewBox=f"0 0 {number(WIDTH)} {number(HEIGHT)}",
        width=number(WIDTH),
        height=number(HEIGHT),
        aria_hidden="true",
        focusable="false",
    )
    return Markup("<svg{}>{}</svg>").format(size, shapes)


def _box(ink: str) -> Markup:
    return Markup("<rect{}/>").format(attributes(x=2, y=1, width=18, height=10, rx=1, fill=ink))


def _stroke(line: dict[str, str]) -> Markup:
    dash = DASHES.get(line.get("dash", ""), "none")
    known = attributes(d="M0 6H22", stroke=line["color"], stroke_width=2, stroke_dasharray=dash)
    return Markup("<path{}/>").format(known)


def _symbol(marker: dict[str, object], ink: str) -> Markup:
    symbol = marker.get("symbol", "circle")
    name = str(symbol[0] if isinstance(symbol, list) else symbol)
    shape, hollow = name.removesuffix("-open"), name.endswith("-open")
    paint = {"fill": "none", "stroke": ink, "stroke_width": 2} if hollow else {"fill": ink}
    if shape in CORNERS:
        return Markup("<path{}/>").format(attributes(d=_polygon(*CORNERS[shape]), **paint))
    if shape in STROKES:
        return Markup("<path{}/>").format(attributes(d=STROKES[shape], stroke=ink, stroke_width=3))
    middle = {"cx": WIDTH / 2, "cy": HEIGHT / 2, "r": RADIUS}
    return Markup("<circle{}/>").format(attributes(**middle, **paint))


STROKES = {"x": "M8 3L14 9M8 9L14 3", "cross": "M11 1.5V10.5M6.5 6H15.5", "line-ns": "M11 0V12"}
"""Symbol that is drawn with a pen → its path."""


def _polygon(corners: int, first: float, inner: float) -> str:
    """Return a path through corners on a circle; a star goes in between them."""
    radii = (RADIUS * 1.15,) if inner == 1.0 else (RADIUS * 1.15, RADIUS * inner)
    places = []
    for index in range(corners * len(radii)):
        turn, radius = 2 * pi * (first + index / (corners * len(radii))), radii[index % len(radii)]
        places.append(f"{number(WIDTH / 2 + radius * cos(turn))} {number(HEIGHT / 2 + radius * sin(turn))}")
    return f"M{'L'.join(places)}z"
