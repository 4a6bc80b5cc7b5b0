"""Sweeps: the form that asks for one, and its results as they come."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from app.errors import AppError, BadInput, Conflict, FieldError, Message, TooLarge
from app.estimating.schema import Quantity
from app.features.sweeps import service as sweeps
from app.features.sweeps.charts import called, cost_of, time_against_cost, time_of
from app.features.sweeps.model import MOST_POINTS, SweepRequest
from app.features.sweeps.rows import SweepAnswer, SweepRow, SweepState
from app.platform.charts.figures import time_scale
from app.platform.json_bodies import as_app_error, read_json
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web import event_stream
from app.platform.web.contexts import FigureView, Form
from app.platform.web.deps import USUAL, BenchDep, WorkspaceDep
from app.platform.web.examples import FLEET_PLAN, PRICE_BOOK
from app.platform.web.forms import FormDep
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import environment, render
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench

router = page_router()

EXAMPLES = {"prices": PRICE_BOOK, "fleet": FLEET_PLAN}

EARLIER = 20

MOST_BYTES = 8_000_000
"""Largest file with a request. [B]"""

ROWS = 50
"""Rows of the table."""

REFRESH_ROWS = 24
"""Rows that must have come before the table is read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepsPage:
    """The form that asks for a sweep, and those asked for before."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    most: int
    """Points that one sweep may have."""
    earlier: Sequence[SweepState]
    """Sweeps asked for before, the newest first."""


def form_page(
    found: Page[SweepState], text: str, message: Message | None = None, errors: Sequence[FieldError] = ()
) -> SweepsPage:
    """Return the page of the form with what has been typed into it."""
    form = Form({"request": [text]}, errors)
    return SweepsPage(form=form, message=message, most=MOST_POINTS, earlier=found.items[:EARLIER])


def example_page(request: Request, found: Page[SweepState]) -> SweepsPage:
    """Return the page of the form, filled with an example."""
    asked = EXAMPLES.get(request.query_params.get("example", ""), PRICE_BOOK)
    return form_page(found, json.dumps(asked, ensure_ascii=False, indent=2))


@resource(router, "/sweeps", "sweeps/sweeps.html", example_page)
def show_sweeps(bench: BenchDep, workspace: WorkspaceDep) -> Page[SweepState]:
    return sweeps.list_sweeps(bench, workspace, USUAL, None)


@router.post("/sweeps", response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def ask_for_sweep(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Keep a sweep and go to it, or return the form with what is wrong."""
    text = ""
    try:
        text = asked_text(form)
        made = sweeps.create_sweep(bench, workspace, SweepRequest.model_validate(read_json(text.encode())))
    except (AppError, ValidationError) as error:
        known = as_app_error(error)
        page = form_page(show_sweeps(bench, workspace), text, known.message, known.errors)
        return render(request, "sweeps/sweeps.html", page, status=known.status)
    return RedirectResponse(f"/sweeps/{made.id}", 303)


def asked_text(form: FormData) -> str:
    """Return the request of a form: its file where there is one, else what was typed."""
    file = form.get("file")
    if isinstance(file, UploadFile) and file.filename:
        content = file.file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise TooLarge(Message("the file is larger than {limit} bytes", {"limit": MOST_BYTES}))
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise BadInput.at("file", "{file} is not text in UTF-8", file=file.filename[:200]) from None
    typed = form.get("request")
    if not isinstance(typed, str) or not typed.strip():
        raise BadInput.at("request", "paste a request or choose a file")
    return typed


class RowParameters:
    """Which rows a page shows: parameters of its address."""

    def __init__(
        self,
        model: Annotated[str, Query(max_length=200)] = "",
        system: Annotated[str, Query(max_length=200)] = "",
        price: Annotated[str, Query(max_length=200)] = "",
        scenario: Annotated[str, Query(max_length=200)] = "",
        order: sweeps.RowOrder = "position",
        first: Annotated[int, Query(ge=1, le=MOST_POINTS)] = 1,
    ) -> None:
        self.labels = sweeps.stated(model, system, price, scenario)
        self.order = order
        self.first = first


RowsDep = Annotated[RowParameters, Depends()]


@router.get("/sweeps/{identifier}.json")
def show_sweep_data(
    bench: BenchDep, workspace: WorkspaceDep, identifier: str, params: RowsDep
) -> SweepAnswer:
    """Return a sweep with the rows that its page shows."""
    return sweeps.get_sweep(
        bench,
        workspace,
        identifier,
        limit=ROWS,
        offset=params.first - 1,
        order=params.order,
        labels=params.labels,
    )


@router.get("/sweeps/{identifier}", response_class=HTMLResponse)
def show_sweep(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, params: RowsDep
) -> Response:
    """Show how far a sweep is, and its rows."""
    answer = show_sweep_data(bench, workspace, identifier, params)
    pictured = sweeps.best_rows(bench, workspace, identifier, MOST_PICTURED, params.order, params.labels)
    page = sweep_page(answer, pictured, params, voice_of(request))
    return render(request, "sweeps/sweep.html", page)


@dataclass(frozen=True, slots=True)
class RowView:
    """One row with what its line shows."""

    row: SweepRow
    system: str
    """The system with its count."""
    time: Quantity | None
    cost: Quantity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPage:
    """A sweep: how far it is, and its rows."""

    answer: SweepAnswer
    axes: Sequence[str]
    """Lists of more than one entry: in words, and how many."""
    chosen: Mapping[str, str]
    """What the rows are narrowed by."""
    order: str
    rows: Sequence[RowView]
    time_scale: Scale
    """One unit for the times of all rows that are shown."""
    figure: FigureView | None
    """Time against cost; none where no row has both."""
    first: int
    """Number of the first row shown, from 1."""
    address: str
    """Address of the page as it is narrowed."""
    before: str
    """Address of the rows before; empty at the beginning."""
    after: str
    """Address of the rows after; empty at the end."""


MOST_PICTURED = 400
"""Most points of the picture."""

AXES = {
    "model": "{count} models",
    "system": "{count} systems",
    "price": "{count} price lists",
    "scenario": "{count} scenarios",
}
"""What is combined, and how many there are of it."""


def sweep_page(
    answer: SweepAnswer, pictured: Sequence[SweepRow], params: RowParameters, voice: Voice
) -> SweepPage:
    chosen = {str(name): label for name, label in params.labels.items()}
    query = chosen | ({"order": params.order} if params.order != "position" else {})
    rows = [RowView(row, called(row), time_of(row), cost_of(row)) for row in answer.rows]
    first = params.first
    return SweepPage(
        answer=answer,
        axes=[
            voice.say(Message(AXES[name], {"count": count}))
            for name, count in answer.sizes.items()
            if count > 1
        ],
        chosen=chosen,
        order=params.order,
        rows=rows,
        time_scale=time_scale([row.time for row in rows]),
        figure=picture(pictured, answer.matching, voice),
        first=first,
        address=address(answer.id, query, first),
        before=address(answer.id, query, max(1, first - ROWS)) if first > 1 else "",
        after=address(answer.id, query, first + len(rows)) if answer.next else "",
    )


def address(identifier: str, query: Mapping[str, str], first: int) -> str:
    """Return the address of a stretch of the rows."""
    stated = dict(query) | ({"first": str(first)} if first > 1 else {})
    return f"/sweeps/{identifier}" + (f"?{urlencode(stated)}" if stated else "")


def picture(rows: Sequence[SweepRow], matching: int, voice: Voice) -> FigureView | None:
    """Return time against cost, where rows have both."""
    if not any(row.cost is not None for row in rows):
        return None
    notes = [voice.gettext("Colours are systems, symbols are models; lower left is better.")]
    if MOST_PICTURED <= len(rows) < matching:
        notes.append(
            voice.gettext("Showing {shown} of {matching} points.").format(
                shown=voice.number(len(rows)), matching=voice.number(matching)
            )
        )
    caption, drawn = voice.gettext("Time versus cost"), time_against_cost(rows, voice)
    return FigureView("time-against-cost", caption, drawn, " ".join(notes), "points")


@router.get("/sweeps/{identifier}/events")
def follow_sweep(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Send how far a sweep is as a piece of the page, whenever it changes."""
    voice = voice_of(request)
    template = environment(voice.language).get_template("sweeps/_sweep_state.html")
    shown = 0

    def write(state: SweepState, before: SweepState | None) -> str:
        nonlocal shown
        events = event_stream.event(template.render(state=state).strip())
        if before is not None and state.done - shown >= REFRESH_ROWS:
            shown = state.done
            events += event_stream.event(str(state.done), "rows")
        return events

    return event_stream.response(request, partial(sweeps.get_state, bench, workspace, identifier), write)


@router.post("/sweeps/{identifier}/cancel")
@needs(Right.MAKE)
def cancel_sweep(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Stop a sweep and show it; one that has ended meanwhile is shown as it is."""
    return _changed(sweeps.cancel_sweep, bench, workspace, identifier)


@router.post("/sweeps/{identifier}/resume")
@needs(Right.MAKE, CostClass.SEARCH)
def resume_sweep(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Go on with a sweep and show it; one that has ended meanwhile is shown as it is."""
    return _changed(sweeps.resume_sweep, bench, workspace, identifier)


def _changed(
    change: Callable[[Workbench, str, str], SweepState], bench: Workbench, workspace: str, identifier: str
) -> Response:
    with contextlib.suppress(Conflict):
        change(bench, workspace, identifier)
    return RedirectResponse(f"/sweeps/{identifier}", 303)
