"""Sweeps of a study: the form that asks for one, and its results as they come."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.errors import AppError, Conflict, Message
from app.features.studies.frame import OpenView, StudyFrame, led, open_view, view_address
from app.features.studies.model import MAX_OPTIONS, stated
from app.features.studies.service import get_study
from app.features.sweeps import service as sweeps
from app.features.sweeps.api import FilterDep
from app.features.sweeps.asking import ManyForm, Offer, offer_of, request_of
from app.features.sweeps.charts import time_against_cost
from app.features.sweeps.model import MOST_POINTS, SweepRequest
from app.features.sweeps.points import counts_of
from app.features.sweeps.rows import SweepAnswer, SweepRow, SweepState
from app.platform.charts.figures import time_scale
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web import event_stream
from app.platform.web.contexts import FigureView, Form
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.forms import FormDep
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import DISPLAY_PARAMS, environment, render
from app.platform.web.rights import page_router
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench

router = page_router()

VIEW, TAB = "many", "systems"

PATH = "/studies/{identifier}/many"

EARLIER = 20

ROWS = 50
"""Rows of the table."""

REFRESH_ROWS = 24
"""Rows that must have come before the table is read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyPage:
    """The form that asks for a sweep over what a study asks, and those asked for before."""

    frame: StudyFrame
    form: ManyForm
    errors: Form
    """What is wrong, by field."""
    message: Message | None
    """What is wrong that belongs to no field."""
    action: str
    own: str
    """What the model of the study is called; empty where it has none."""
    offer: Offer
    most: int
    """Points that one sweep may have."""
    earlier: Sequence[tuple[SweepState, str]]
    """Sweeps the study has asked for before, the newest first, with their addresses."""


def opened(request: Request, bench: Workbench, workspace: str, identifier: str) -> OpenView:
    return open_view(request, bench, workspace, identifier, VIEW, None, part_of=TAB)


def many_page(view: OpenView, form: ManyForm, error: AppError | None = None) -> ManyPage:
    study, frame = view.state.study, view.frame
    wrong = () if error is None else error.errors
    placed = {"model", "system", "counts", "batches"}
    unplaced = error is not None and not any(one.field.partition(".")[0] in placed for one in wrong)
    earlier = sweeps.list_sweeps(view.bench, view.workspace, EARLIER, None, study.id).items
    content = view.state.content
    modelled = stated(content.base.model) or any(option.model for option in content.options)
    return ManyPage(
        frame=frame,
        form=form,
        errors=Form({}, wrong),
        message=error.message if error is not None and unplaced else None,
        action=frame.url(VIEW),
        own=frame.question[0] if modelled else "",
        offer=offer_of(view.bench, view.workspace),
        most=MOST_POINTS,
        earlier=[(one, frame.url(f"{VIEW}/{one.id}")) for one in earlier],
    )


@router.get(f"{PATH}.json")
def show_many_data(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Page[SweepState]:
    """Return the sweeps that a study has asked for."""
    get_study(bench, workspace, identifier)
    return sweeps.list_sweeps(bench, workspace, EARLIER, None, identifier)


@router.get(PATH, response_class=HTMLResponse)
def show_many(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show the form, filled with what the study compares."""
    view = opened(request, bench, workspace, identifier)
    return render(request, "sweeps/many.html", many_page(view, ManyForm.of_study(bench, view.state.content)))


@router.post(PATH, response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def ask_for_sweep(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, sent: FormDep
) -> Response:
    """Keep a sweep and go to it, or return the form with what is wrong."""
    view, form = opened(request, bench, workspace, identifier), ManyForm.of(sent)
    try:
        asked = request_of(
            bench, workspace, view.state.content, form, identifier, own_name=view.frame.question[0]
        )
        made = sweeps.create_sweep(bench, workspace, asked)
    except AppError as error:
        return render(request, "sweeps/many.html", many_page(view, form, error), status=error.status)
    return RedirectResponse(view.frame.url(f"{VIEW}/{made.id}"), 303)


@router.get("/sweeps", response_class=HTMLResponse)
def show_sweeps() -> Response:
    return RedirectResponse("/studies", 303)


@router.get("/sweeps/{identifier}", response_class=HTMLResponse)
@router.get("/sweeps/{identifier}.json")
def show_old_address(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Go to the sweep in its study; one that was asked for without a study gets an unsaved one."""
    asked = sweeps.get_request(bench, workspace, identifier)
    ending = ".json" if request.url.path.endswith(".json") else ""
    fields = {name: text for name, text in request.query_params.items() if name not in DISPLAY_PARAMS}
    placed = study_of_sweep(bench, asked), fields
    return led(
        request, bench, workspace, f"{VIEW}/{identifier}", ending, placed, asked.study_id, strict=False
    )


def study_of_sweep(bench: Workbench, asked: SweepRequest) -> Mapping[str, Any]:
    """Return a study of the first model of a sweep on its first systems."""
    first, known = asked.models[0], bench.catalogue.systems.documents
    base = {"model": stated(first.model), "workload": stated(first.workload), "currency": asked.currency}
    systems = [{"id": one.id, "count": counts_of(one)[0]} for one in asked.systems if one.id in known]
    options = [{"system": system} for system in systems[:MAX_OPTIONS] or [{"id": next(iter(known))}]]
    name = sweeps.title_of(asked) or first.label or "–"
    return {"name": name, "base": base, "options": options}


class RowParameters:
    """Which rows a page shows: parameters of its address."""

    def __init__(self, wanted: FilterDep, first: Annotated[int, Query(ge=1, le=MOST_POINTS)] = 1) -> None:
        self.labels = wanted.labels
        self.order = wanted.order
        self.first = first


RowsDep = Annotated[RowParameters, Depends()]


@router.get(f"{PATH}/{{sweep}}.json")
def show_sweep_data(
    bench: BenchDep, workspace: WorkspaceDep, identifier: str, sweep: str, params: RowsDep
) -> SweepAnswer:
    """Return a sweep with the rows that its page shows."""
    get_study(bench, workspace, identifier)
    return sweeps.get_sweep(
        bench,
        workspace,
        sweep,
        limit=ROWS,
        offset=params.first - 1,
        order=params.order,
        labels=params.labels,
    )


@router.get(f"{PATH}/{{sweep}}", response_class=HTMLResponse)
def show_sweep(
    request: Request,
    bench: BenchDep,
    workspace: WorkspaceDep,
    identifier: str,
    sweep: str,
    params: RowsDep,
) -> Response:
    """Show how far a sweep is, and its rows."""
    view = opened(request, bench, workspace, identifier)
    answer = show_sweep_data(bench, workspace, identifier, sweep, params)
    pictured = sweeps.best_rows(bench, workspace, sweep, MOST_PICTURED, params.order, params.labels)
    page = sweep_page(view, answer, pictured, params, voice_of(request))
    return render(request, "sweeps/sweep.html", page)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPage:
    """A sweep: how far it is, and its rows."""

    frame: StudyFrame
    answer: SweepAnswer
    axes: Sequence[str]
    """Lists of more than one entry: in words, and how many."""
    params: RowParameters
    address: Callable[[int], str]
    """Address of the rows from one on."""
    own: str | None
    """Model of the study, whose rows can become options of it."""
    batches: Mapping[str, int]
    """Scenario → the batch it asks for."""
    time_scale: Scale
    """One unit for the times of all rows that are shown."""
    figure: FigureView | None
    """Time against cost; none where no row has both."""


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
    view: OpenView,
    answer: SweepAnswer,
    pictured: Sequence[SweepRow],
    params: RowParameters,
    voice: Voice,
) -> SweepPage:
    frame, model = view.frame, view.state.content.base.model
    narrowed = dict(params.labels) | ({"order": params.order} if params.order != "position" else {})

    def address(first: int) -> str:
        return frame.url(f"{VIEW}/{answer.id}", **narrowed, **({"first": str(first)} if first > 1 else {}))

    scenarios = SweepRequest.model_validate(answer.request).scenarios
    return SweepPage(
        frame=frame,
        answer=answer,
        axes=[
            voice.say(Message(AXES[name], {"count": count}))
            for name, count in answer.sizes.items()
            if count > 1
        ],
        params=params,
        address=address,
        own=model.preset or model.profile_id,
        batches={one.label: batch for one in scenarios if (batch := one.workload.global_batch)},
        time_scale=time_scale([row.duration for row in answer.rows]),
        figure=picture(pictured, answer.matching, voice),
    )


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


@router.get(f"{PATH}/{{sweep}}/events")
def follow_sweep(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, sweep: str
) -> Response:
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

    return event_stream.response(request, partial(sweeps.get_state, bench, workspace, sweep), write)


@router.post(f"{PATH}/{{sweep}}/cancel")
@needs(Right.MAKE)
def cancel_sweep(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, sweep: str
) -> Response:
    """Stop a sweep and show it; one that has ended meanwhile is shown as it is."""
    with contextlib.suppress(Conflict):
        sweeps.cancel_sweep(bench, workspace, sweep)
    return to_sweep(request, identifier, sweep)


@router.post(f"{PATH}/{{sweep}}/resume")
@needs(Right.MAKE, CostClass.SEARCH)
def resume_sweep(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, sweep: str
) -> Response:
    """Go on with a sweep and show it; one that has ended meanwhile is shown as it is."""
    with contextlib.suppress(Conflict):
        sweeps.resume_sweep(bench, workspace, sweep)
    return to_sweep(request, identifier, sweep)


def to_sweep(request: Request, identifier: str, sweep: str) -> Response:
    place = view_address(identifier, f"{VIEW}/{sweep}", request.query_params.multi_items())
    return RedirectResponse(place, 303)
