"""Parameters of an address that say how a page is shown, not what it shows."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from fastapi.staticfiles import StaticFiles
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from app.errors import NotFound
from app.platform.charts.still_files import figure_csv, rows_csv
from app.platform.charts.svg import written
from app.platform.web.contexts import DrawingView, FigureView
from app.platform.web.locale import PARAMETER as LANGUAGE

VERSIONED = ("fonts/", "vendor/")
"""Folders of static files whose names or folders carry a version."""

KEPT = "public, max-age=31536000, immutable"
"""For a file whose address changes with its content."""

ASKED_AGAIN = "no-cache"
"""For any other: kept, but asked for each time whether it changed."""


class Assets(StaticFiles):
    """Static files; those with a version in their address are kept for a year."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file with what browsers may do with it."""
        response = await super().get_response(path, scope)
        versioned = path.startswith(VERSIONED) or "v" in QueryParams(scope["query_string"])
        response.headers["Cache-Control"] = KEPT if versioned else ASKED_AGAIN
        return response


def folder(name: str) -> Path:
    """Return a folder beside the package: in the repository, or inside the installed package."""
    found = importlib.util.find_spec("app")
    assert found is not None and found.submodule_search_locations is not None
    package = Path(next(iter(found.submodule_search_locations)))
    bundled = package / "_bundled" / name
    return bundled if bundled.is_dir() else package.parent / name


PARAMETER = "chart"

DARK = "dark.svg"

TYPES = {"svg": "image/svg+xml", "png": "image/png", "csv": "text/csv; charset=utf-8", DARK: "image/svg+xml"}
"""Form of a file → its media type."""


@cache
def fonts() -> tuple[str, ...]:
    """Return the files of the letters that pictures are written with."""
    found = [
        path
        for name in ("Pretendard-*", "NotoSansCJKSC-*")
        for path in sorted(folder("static").glob(f"fonts/print/{name}.otf"))
    ]
    return tuple(str(path) for path in found)


def figures(value: Any) -> Iterator[FigureView | DrawingView]:
    """Give the charts and drawings of a page, wherever they stand in it."""
    if isinstance(value, FigureView | DrawingView):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from figures(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from figures(getattr(value, field.name))


def chart_file(page: object, asked: str) -> Response:
    """Answer with one chart of a page as SVG, PNG or CSV."""
    known = {f"{view.id}.{form}": view for view in figures(page) for form in forms(view)}
    view = known.get(asked)
    if view is None:
        raise NotFound.named("chart", asked, known, PARAMETER)
    form = asked.removeprefix(f"{view.id}.")
    content = drawn(view, form) if isinstance(view, DrawingView) else charted(view, form)
    return Response(
        content,
        media_type=TYPES[form],
        headers={"Content-Disposition": f'inline; filename="{asked}"', "Vary": "Accept-Language, Cookie"},
    )


def forms(view: FigureView | DrawingView) -> list[str]:
    """Return the forms a chart or a drawing can be had in: a drawing without rows has no table of its own."""
    if isinstance(view, FigureView):
        return list(TYPES)
    return [form for form in TYPES if form != DARK and (form != "csv" or view.rows)]


def charted(view: FigureView, form: str) -> bytes:
    """Return a chart as a file."""
    if form == "csv":
        return figure_csv(view.figure).encode("utf-8-sig")
    # Few requests draw, and what draws takes half a second to load.
    from app.platform.charts.stills import darkened, still

    if form == "png":
        return still(view.figure, "png", fonts())
    drawn = still(view.figure, "svg", fonts(), title=view.caption)
    return darkened(drawn) if form == DARK else drawn


def drawn(view: DrawingView, form: str) -> bytes:
    """Return a drawing as a file."""
    if form == "csv":
        return rows_csv(view.rows).encode("utf-8-sig")
    if form == "svg":
        return written(view.drawing, view.id).encode()
    from app.platform.charts.still_files import sketch

    return sketch(view.drawing, fonts())


def chart_address(request: Request, view: FigureView | DrawingView, form: str) -> str:
    """Return where a chart of a page can be had as a file."""
    address = request.url.include_query_params(**{PARAMETER: f"{view.id}.{form}"})
    return f"{address.path}?{address.query}"


DISPLAY_PARAMS = frozenset({LANGUAGE, PARAMETER})
"""The language, and the chart that is wanted as a file; no page may take them for a question."""
