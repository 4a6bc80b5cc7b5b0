"""Sweeps: the form that asks for one, and its results as they come."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from app.errors import AppError, BadInput, Conflict, FieldError, Message, TooLarge
from app.features.sweeps import event_stream
from app.features.sweeps import service as sweeps
from app.features.sweeps.model import MOST_POINTS, SweepRequest
from app.features.sweeps.rows import SweepAnswer, SweepState
from app.features.sweeps.views import MOST_PICTURED, SweepsPage, sweep_page
from app.platform.json_bodies import from_validation, read_json
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web.contexts import Form
from app.platform.web.deps import USUAL, BenchDep, WorkspaceDep
from app.platform.web.examples import FLEET_PLAN, PRICE_BOOK
from app.platform.web.forms import read_form
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import environment, render
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench

router = page_router()

FormDep = Annotated[FormData, Depends(read_form)]

EXAMPLES = {"prices": PRICE_BOOK, "fleet": FLEET_PLAN}

EARLIER = 20

MOST_BYTES = 8_000_000
"""Largest file with a request. [B]"""

ROWS = 50
"""Rows of the table."""

REFRESH_ROWS = 24
"""Rows that must have come before the table is read again."""


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


def form_page(
    bench: Workbench,
    workspace: str,
    text: str,
    message: Message | None = None,
    errors: Sequence[FieldError] = (),
) -> SweepsPage:
    """Return the page of the form with what has been typed into it."""
    return SweepsPage(
        form=Form({"request": [text]}, errors),
        message=message,
        most=MOST_POINTS,
        earlier=sweeps.list_sweeps(bench, workspace, EARLIER, None).items,
    )


@router.get("/sweeps.json")
def show_sweeps_data(bench: BenchDep, workspace: WorkspaceDep) -> Page[SweepState]:
    """Return the sweeps of the page of the same address."""
    return sweeps.list_sweeps(bench, workspace, USUAL, None)


@router.get("/sweeps", response_class=HTMLResponse)
def show_sweeps(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, example: str = "prices"
) -> Response:
    """Show the form, filled with an example, and what was asked for before."""
    asked = EXAMPLES.get(example, PRICE_BOOK)
    text = json.dumps(asked, ensure_ascii=False, indent=2)
    return render(request, "sweeps/sweeps.html", form_page(bench, workspace, text))


@router.post("/sweeps", response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def ask_for_sweep(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Keep a sweep and go to it, or return the form with what is wrong."""
    text = ""
    try:
        text = asked_text(form)
        made = sweeps.create_sweep(bench, workspace, SweepRequest.model_validate(read_json(text.encode())))
    except (AppError, ValidationError) as error:
        known = from_validation(error.errors()) if isinstance(error, ValidationError) else error
        page = form_page(bench, workspace, text, known.message, known.errors)
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


@router.get("/sweeps/{identifier}.json")
def show_sweep_data(
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: str,
    params: Annotated[RowParameters, Depends()],
) -> SweepAnswer:
    """Return the sweep of the page of the same address."""
    return found(bench, workspace, identifier, params)


@router.get("/sweeps/{identifier}", response_class=HTMLResponse)
def show_sweep(
    request: Request,
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: str,
    params: Annotated[RowParameters, Depends()],
) -> Response:
    """Show how far a sweep is, and its rows."""
    answer = found(bench, workspace, identifier, params)
    pictured = sweeps.best_rows(bench, workspace, identifier, MOST_PICTURED, params.order, params.labels)
    labels = {str(name): label for name, label in params.labels.items()}
    page = sweep_page(answer, pictured, labels, params.order, params.first, ROWS, voice_of(request))
    return render(request, "sweeps/sweep.html", page)


def found(bench: Workbench, workspace: str, identifier: str, params: RowParameters) -> SweepAnswer:
    """Return a sweep with the rows that a page shows."""
    return sweeps.get_sweep(
        bench,
        workspace,
        identifier,
        limit=ROWS,
        offset=params.first - 1,
        order=params.order,
        labels=params.labels,
    )


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
