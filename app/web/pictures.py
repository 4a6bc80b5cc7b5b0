"""Charts of a page as files: the address of the page with a chart and its form, ``?chart=frontier.svg``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.errors import NotFound
from app.reports.stills import figure_csv, still
from app.web.contexts import FigureView, Page
from app.web.folders import folder

PARAMETER = "chart"
TYPES = {"svg": "image/svg+xml", "png": "image/png", "csv": "text/csv; charset=utf-8"}
"""Form of a file → its media type."""


@cache
def fonts() -> tuple[str, ...]:
    """Return the files of the letters that pictures are written with."""
    return tuple(str(path) for path in sorted(folder("static").glob("fonts/print/Pretendard-*.otf")))


def figures(value: Any) -> Iterator[FigureView]:
    """Give the charts of a page, wherever they stand in it."""
    if isinstance(value, FigureView):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from figures(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from figures(getattr(value, field.name))


def chart_file(page: Page, asked: str) -> Response:
    """Answer with one chart of a page as SVG, PNG or CSV.

    Raises
    ------
    NotFound
        Where the page has no such chart, or charts have no such form.
    """
    known = {f"{view.id}.{form}": view for view in figures(page) for form in TYPES}
    view = known.get(asked)
    if view is None:
        raise NotFound.named("chart", asked, known, PARAMETER)
    form = asked.rpartition(".")[2]
    if form == "csv":
        content = figure_csv(view.figure).encode("utf-8-sig")
    else:
        content = still(view.figure, "svg" if form == "svg" else "png", fonts(), title=view.caption)
    return Response(
        content,
        media_type=TYPES[form],
        headers={"Content-Disposition": f'inline; filename="{asked}"', "Vary": "Accept-Language, Cookie"},
    )


def chart_address(request: Request, view: FigureView, form: str) -> str:
    """Return where a chart of a page can be had as a file."""
    address = request.url.include_query_params(**{PARAMETER: f"{view.id}.{form}"})
    return f"{address.path}?{address.query}"
