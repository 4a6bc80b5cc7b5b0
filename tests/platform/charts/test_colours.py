"""Colours of data have one home, app/platform/charts; the style sheet repeats them in one block."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from app.features.tenancy.drawings import COLOURS
from app.platform.charts import figures, svg
from app.profiles.presets import beside

STYLES = (beside("static") / "css" / "rackline.css").read_text(encoding="utf-8")

HEADING = "/* Colours of data: those of app/platform/charts, which a test compares */\n"

HATCHED = 0.6
"""Opacity of a part of the time that charts hatch, for bars too small for a pattern."""

PALETTE = {value for value in vars(figures).values() if isinstance(value, str) and re.match("#.{6}$", value)}


def faces() -> Iterator[tuple[str, str, float]]:
    """Give classes with their colours and opacities."""
    for prefix, table in (("fill", figures.KINDS), ("part", figures.PARTS), ("memory", figures.MEMORY)):
        for name, (colour, pattern) in table.items():
            yield f".{prefix}-{name}", colour, HATCHED if prefix == "part" and pattern else 1.0
    for name, colour in svg.BOXES.items():
        yield f".box-{name}", colour, 1.0
    for index, (colour, opacity) in enumerate(svg.TENANTS):
        yield f".tenant-{index}", colour, opacity


def rules() -> str:
    """Return the block of the style sheet, a rule for each colour."""
    selectors: dict[str, list[str]] = defaultdict(list)
    for name, colour, opacity in faces():
        selectors[f"fill: {colour};" + (f" fill-opacity: {opacity};" if opacity < 1 else "")].append(name)
    return "".join(f"{', '.join(names)} {{ {style} }}\n" for style, names in selectors.items())


def test_styles_have_the_colours_of_the_charts() -> None:
    assert STYLES.partition(HEADING)[2].partition("\n\n")[0] + "\n" == rules()


def test_colours_stand_nowhere_else() -> None:
    paths = [
        *beside("app").rglob("*.py"),
        *beside("templates").rglob("*.html"),
        *beside("static/js").glob("*.js"),
    ]
    texts = {str(path): path.read_text(encoding="utf-8").lower() for path in paths}
    texts["rackline.css"] = STYLES.replace(rules(), "")
    found = {name for name, text in texts.items() if any(colour in text for colour in PALETTE)}
    assert found == {figures.__file__}


def test_every_team_of_a_drawing_has_a_colour() -> None:
    assert len(svg.TENANTS) == COLOURS
