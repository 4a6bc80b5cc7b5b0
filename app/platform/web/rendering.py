"""Templates to pages, their pictures and files, and the page that asks before something is deleted."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import Markup
from starlette.datastructures import QueryParams
from starlette.types import Scope

import app
from app.errors import AppError, Conflict, Message, NotFound
from app.platform.admission import Principal
from app.platform.caches import LruCache
from app.platform.charts.figure_tables import figure_csv, figure_table, rows_csv
from app.platform.charts.figures import Figure
from app.platform.charts.legends import legend_keys
from app.platform.charts.svg import written
from app.platform.web import locale
from app.platform.web.auth import reach_of
from app.platform.web.contexts import DrawingView, FigureView, grouped
from app.platform.web.locale import PARAMETER as LANGUAGE
from app.platform.web.rights import may
from app.platform.wording.voice import LABELS, LANGUAGES, agree, voice
from app.platform.wording.voice import written as written_value
from app.profiles.presets import beside

VERSIONED = ("fonts/", "vendor/")
"""Folders of static files whose names or folders carry a version."""

KEPT = "public, max-age=31536000, immutable"
"""For a file whose address changes with its content."""

ASKED_AGAIN = "no-cache"
"""For any other: kept, but asked for each time whether it changed."""


class Assets(StaticFiles):
    """Static files; those with a version in their address are kept for a year."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        versioned = path.startswith(VERSIONED) or "v" in QueryParams(scope["query_string"])
        response.headers["Cache-Control"] = KEPT if versioned else ASKED_AGAIN
        return response


PARAMETER = locale.CHART

DARK = "dark.svg"

TYPES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    DARK: "image/svg+xml",
}
"""Form of a file → its media type."""


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


def chart_file(page: object, name: str) -> Response:
    """Answer with one chart of a page as SVG, PNG, CSV or JSON."""
    known = {f"{view.id}.{form}": view for view in figures(page) for form in forms(view)}
    view = known.get(name)
    if view is None:
        raise NotFound.named("chart", name, known, PARAMETER)
    form = name.removeprefix(f"{view.id}.")
    content = drawn(view, form) if isinstance(view, DrawingView) else charted(view, form)
    return Response(
        content,
        media_type=TYPES[form],
        headers={"Content-Disposition": f'inline; filename="{name}"', **locale.VARIES},
    )


def forms(view: FigureView | DrawingView) -> list[str]:
    """Return the forms a chart or a drawing can be had in: a drawing without rows has no table of its own."""
    if isinstance(view, FigureView):
        return list(TYPES)
    return [form for form in TYPES if form not in (DARK, "json") and (form != "csv" or view.rows)]


def charted(view: FigureView, form: str) -> bytes:
    if form == "csv":
        return figure_csv(view.figure).encode("utf-8-sig")
    if form == "json":
        return written_figure(view.figure).encode()
    # Few requests draw, and what draws takes half a second to load.
    from app.platform.charts.stills import darkened, still

    if form == "png":
        return still(view.figure, "png")
    image = still(view.figure, "svg", title=view.caption)
    return darkened(image) if form == DARK else image


def drawn(view: DrawingView, form: str) -> bytes:
    if form == "csv":
        return rows_csv(view.rows).encode("utf-8-sig")
    if form == "svg":
        return written(view.drawing, view.id).encode()
    from app.platform.charts.still_files import sketch

    return sketch(view.drawing)


def chart_address(request: Request, view: FigureView | DrawingView, form: str) -> str:
    address = request.url.include_query_params(**{PARAMETER: f"{view.id}.{form}"})
    return f"{address.path}?{address.query}"


DISPLAY_PARAMS = frozenset({LANGUAGE, PARAMETER})
"""The language, and the chart that is wanted as a file; no page may take them for a question."""


def displayed(request: Request) -> list[tuple[str, str]]:
    """Return what an address says of how a page is shown."""
    return [(name, text) for name, text in request.query_params.multi_items() if name in DISPLAY_PARAMS]


@functools.cache
def asset(pattern: str) -> str:
    """Return the address of a file under static/; a pattern finds the version in a vendored name.

    Files without a version in their name or folder carry that of Rackline as a query, so that an update is
    not read from a browser's store.
    """
    root = beside("static")
    files = sorted(root.glob(pattern))
    path = files[-1].relative_to(root).as_posix() if files else pattern
    return f"/static/{path}" if path.startswith(VERSIONED) else f"/static/{path}?v={app.__version__}"


def written_figure(figure: Figure) -> str:
    return json.dumps(figure, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def embedded(figure: Figure) -> Markup:
    """Write a figure into a page as data; nothing in it can end the element it stands in."""
    text = written_figure(figure)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


HEADING = re.compile(r'<h2 id="([\w-]+-title)"(?! class="unseen")[^>]*>(.*?)</h2>', re.DOTALL)

TAG = re.compile(r"<[^>]+>")


def headings(body: str) -> list[tuple[str, Markup]]:
    """Return the visible headings of a page: identifier and text, without links beside it.

    >>> headings('<h2 id="plan-title">Plan <a class="beside" href="/">Other plans</a></h2>')
    [('plan-title', Markup('Plan'))]
    """
    # What is written is escaped already.
    return [
        (match[1], Markup(TAG.sub("", match[2].partition('<a class="beside"')[0]).strip()))
        for match in HEADING.finditer(body)
    ]


MEANING = "glossary."
"""Beginning of the labels that say what a term means."""

GLOSSARY = [code.removeprefix(MEANING) for code in LABELS if code.startswith(MEANING)]
"""Terms that are explained, in the order of the page that lists them."""

DOCUMENTS = {"methodology": "methodology", "accuracy": "accuracy.md"}
"""Name in the address → file, or folder of files, under docs/."""


@functools.cache
def documents() -> Mapping[str, Path]:
    """Return the documents that are there, for the foot of every page."""
    folder = beside("docs")
    return {name: path for name, file in DOCUMENTS.items() if (path := folder / file).exists()}


class Dedent(Extension):
    """Leaves indentation in the templates: pages with thousands of rows are a tenth lighter."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            yield token._replace(value=SPACE.sub(r"\1", token.value)) if token.type == "data" else token


SPACE = re.compile(r"([ \n])[ \n]+")


@functools.cache
def environment(language: str) -> Environment:
    """Return the templates in one language: strings through gettext, numbers through its voice."""
    speaker = voice(language)
    templates = Environment(
        loader=FileSystemLoader(beside("templates")),
        extensions=["jinja2.ext.i18n", Dedent],
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.install_gettext_callables(speaker.gettext, speaker.ngettext, newstyle=True)  # type: ignore[attr-defined]
    templates.policies["ext.i18n.trimmed"] = True
    templates.filters |= {
        "say": speaker.say,
        "sentence": speaker.sentence,
        "count": speaker.count,
        "label": speaker.label,
        "number": speaker.number,
        "decimal": speaker.decimal,
        "unit": speaker.unit,
        "written": partial(written_value, voice=speaker),
        "percent": speaker.percent,
        "chance": speaker.chance,
        "share": speaker.share,
        "part_time": speaker.part,
        "agree": agree if language == "ko" else str,
        "ratio": speaker.ratio,
        "quantity": speaker.quantity,
        "central": speaker.central,
        "spread": speaker.spread,
        "value": speaker.value,
        "money": speaker.full,
        "money_spread": speaker.full_spread,
        "date": speaker.date,
        "moment": speaker.moment,
        "grouped": lambda warnings: grouped(("", warning) for warning in warnings),
        "embedded": embedded,
        "headings": headings,
        "chart_table": figure_table,
        "legend_keys": legend_keys,
        "drawn": written,
    }
    templates.globals |= {
        "asset": asset,
        "documents": documents,
        "glossary": GLOSSARY,
        "language": language,
        "languages": LANGUAGES,
        "version": app.__version__,
    }
    return templates


def render(
    request: Request,
    template: str,
    page: object,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    lasting: LruCache[Any] | None = None,
    language: str | None = None,
) -> Response:
    """Answer with a page in the reader's language; an asked-for language is remembered."""
    language = language or locale.language_of(request)
    asked_chart = request.query_params.get(PARAMETER)
    if asked_chart and request.method == "GET" and status == 200:
        return chart_file(page, asked_chart)
    body = (
        environment(language)
        .get_template(template)
        .render(
            page=page,
            data_url=data_url(request) if status == 200 else "",
            here=request.url,
            reader=reader_of(request),
            may=partial(may, request),
            switch={code: address_in(request, code) for code in LANGUAGES},
            chart_address=partial(chart_address, request),
            chart_forms=forms,
            kept=partial(cached_part, lasting, f"{language} {request.url.path}?{request.url.query}"),
        )
    )
    response = HTMLResponse(body, status, headers=dict(headers or {}))
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Accept-Language, Cookie"
    if asked := locale.asked_for(request):
        secure, seconds = reach_of(request).https, locale.COOKIE_SECONDS
        response.set_cookie(
            locale.COOKIE, asked, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax"
        )
    return response


def data_url(request: Request) -> str:
    """Return the address of a page's data, its own with ``.json``; nothing where there is none."""
    path = getattr(request.scope.get("route"), "path", "")
    if request.method != "GET" or data_path(path) not in request.app.state.paths:
        return ""
    parameters = [entry for entry in request.query_params.multi_items() if entry[0] not in DISPLAY_PARAMS]
    return data_path(request.url.path) + (f"?{urlencode(parameters)}" if parameters else "")


def data_path(path: str) -> str:
    return "/index.json" if path == "/" else f"{path}.json"


def cached_part(lasting: LruCache[Any] | None, address: str, caller: Callable[[], Markup]) -> Markup:
    """Return a part of a page as it was written for who asked for the address before."""
    if lasting is None:
        return caller()
    # As plain text: what is kept is compared by nobody and escaped already.
    written: str = lasting.get(("written", address), lambda: str(caller()))
    return Markup(written)


def reader_of(request: Request) -> Principal | None:
    """Return the person who is signed in; None without accounts, and for pages that are open to all."""
    principal: Principal | None = getattr(request.state, "principal", None)
    return principal if principal is not None and principal.account_id is not None else None


def address_in(request: Request, language: str) -> str:
    """Return the address of this page in another language; of the start where it was posted to."""
    if request.method != "GET":
        return f"/?{locale.PARAMETER}={language}"
    address = request.url.include_query_params(**{locale.PARAMETER: language})
    # Two slashes at the start would name another site.
    return f"/{address.path.lstrip('/')}?{address.query}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePage:
    """The question whether something is really to be deleted."""

    title: Message
    name: str
    consequences: Sequence[Message]
    action: str
    """Where the answer goes."""
    back: str
    """Where somebody goes who thinks better of it."""
    refused: AppError | None = None
    """Why it was not deleted."""


def deleted(
    request: Request, delete: Callable[[], object], ask: Callable[[AppError], DeletePage], onward: str
) -> Response:
    """Delete and go on; what cannot be deleted now is asked about again, with the reason."""
    try:
        delete()
    except Conflict as error:
        return render(request, "delete.html", ask(error), status=error.status)
    return RedirectResponse(onward, 303)


FOR_GOOD = Message("This cannot be undone.")
