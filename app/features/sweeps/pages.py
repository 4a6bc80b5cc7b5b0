"""Sweeps of a study: the form that starts one, and its results as they arrive."""

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
from app.features.sweeps.asking import ManyForm, SweepChoices, offer_of, request_of
from app.features.sweeps.charts import time_against_cost
from app.features.sweeps.model import MOST_POINTS, SweepRequest
from app.features.sweeps.points import counts_of
from app.features.sweeps.rows import SweepAnswer, SweepRow, SweepState
from app.platform.charts.figures import time_scale
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web import event_stream
from app.platform.web.contexts import FigureView, Form
from app.platform.web.deps import WorkspaceDep, workspace_of
from app.platform.web.forms import FormDep
from app.platform.web.locale import voice_of
from app.platform.web.rendering import DISPLAY_PARAMS, environment, render
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice
from app.platform.workspace import Workspace

router = page_router()

VIEW, TAB = "many", "systems"

PATH = "/studies/{identifier}/many"

EARLIER = 20
"""Earlier sweeps that the form lists."""

ROWS = 50
"""Rows of the table."""

REFRESH_ROWS = 24
"""New rows after which the table is read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyPage:
    """The form for a sweep of a study, and the earlier sweeps."""

    frame: StudyFrame
    form: ManyForm
    errors: Form
    """Errors by field."""
    message: Message | None
    """Error that belongs to no field of the form."""
    action: str
    own: str
    """Name of the study's model; empty if it has none."""
    offer: SweepChoices
    most: int
    """Most points of one sweep."""
    earlier: Sequence[tuple[SweepState, str]]
    """Earlier sweeps of the study with their addresses, newest first."""


def open_many(request: Request, workspace: Workspace, identifier: str) -> OpenView:
    return open_view(request, workspace, identifier, VIEW, None, part_of=TAB)


def view_of(request: Request) -> OpenView:
    return open_many(request, workspace_of(request), request.path_params["identifier"])


def many_page(
    view: OpenView, form: ManyForm, earlier: Page[SweepState], error: AppError | None = None
) -> ManyPage:
    frame = view.frame
    errors = () if error is None else error.errors
    fields = {"model", "system", "counts", "batches"}
    at_field = any(field_error.field.partition(".")[0] in fields for field_error in errors)
    content = view.state.content
    modelled = stated(content.base.model) or any(option.model for option in content.options)
    return ManyPage(
        frame=frame,
        form=form,
        errors=Form({}, errors),
        message=None if error is None or at_field else error.message,
        action=frame.url(VIEW),
        own=frame.question[0] if modelled else "",
        offer=offer_of(view.workspace),
        most=MOST_POINTS,
        earlier=[(sweep, frame.url(f"{VIEW}/{sweep.id}")) for sweep in earlier.items],
    )


def form_page(request: Request, earlier: Page[SweepState]) -> ManyPage:
    """Return the form, filled with the options of the study."""
    view = view_of(request)
    return many_page(view, ManyForm.of_study(view.workspace, view.state.content), earlier)


@resource(router, PATH, "sweeps/many.html", form_page)
def show_many(workspace: WorkspaceDep, identifier: str) -> Page[SweepState]:
    """Return the sweeps of a study."""
    get_study(workspace, identifier)
    return sweeps.list_sweeps(workspace, EARLIER, None, identifier)


@router.post(PATH, response_class=HTMLResponse)
@requires(Right.MAKE, CostClass.SEARCH)
def ask_for_sweep(request: Request, workspace: WorkspaceDep, identifier: str, sent: FormDep) -> Response:
    """Create a sweep and go to it, or return the form with its errors."""
    view, form = open_many(request, workspace, identifier), ManyForm.of(sent)
    try:
        body = request_of(workspace, view.state.content, form, identifier, own_name=view.frame.question[0])
        sweep = sweeps.create_sweep(workspace, body)
    except AppError as error:
        page = many_page(view, form, show_many(workspace, identifier), error)
        return render(request, "sweeps/many.html", page, status=error.status)
    return RedirectResponse(view.frame.url(f"{VIEW}/{sweep.id}"), 303)


@router.get("/sweeps/{identifier}", response_class=HTMLResponse)
@router.get("/sweeps/{identifier}.json")
def find_sweep(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    """Go to the sweep in its study, or in an unsaved study if it has none."""
    sweep = sweeps.get_request(workspace, identifier)
    ending = ".json" if request.url.path.endswith(".json") else ""
    fields = {name: text for name, text in request.query_params.items() if name not in DISPLAY_PARAMS}
    placed = study_of_sweep(workspace, sweep), fields
    return led(request, workspace, f"{VIEW}/{identifier}", ending, placed, sweep.study_id, strict=False)


def study_of_sweep(workspace: Workspace, sweep: SweepRequest) -> Mapping[str, Any]:
    """Return a study of the first model of a sweep on its first systems."""
    first, known = sweep.models[0], workspace.catalogue.systems.documents
    base = {"model": stated(first.model), "workload": stated(first.workload), "currency": sweep.currency}
    systems = [
        {"id": system.id, "count": counts_of(system)[0]} for system in sweep.systems if system.id in known
    ]
    options = [{"system": system} for system in systems[:MAX_OPTIONS] or [{"id": next(iter(known))}]]
    name = sweeps.title_of(sweep) or first.label or "–"
    return {"name": name, "base": base, "options": options}


class RowParameters:
    """Query parameters that select the rows of a page, which finds them beside its request."""

    def __init__(
        self, request: Request, wanted: FilterDep, first: Annotated[int, Query(ge=1, le=MOST_POINTS)] = 1
    ) -> None:
        request.state.rows = self
        self.labels = wanted.labels
        self.order = wanted.order
        self.first = first


RowsDep = Annotated[RowParameters, Depends()]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPage:
    """A sweep with its progress and rows."""

    frame: StudyFrame
    answer: SweepAnswer
    axes: Sequence[str]
    """Lists of more than one entry, with their lengths in words."""
    params: RowParameters
    address: Callable[[int], str]
    """Address of the page that starts at a row."""
    own: str | None
    """Model of the study; its rows can become options."""
    batches: Mapping[str, int]
    """Global batch by scenario."""
    time_scale: Scale
    """Unit of all times in the table."""
    figure: FigureView | None
    """Time against cost; None if no row has a cost."""


MOST_PLOTTED = 400
"""Most points of the figure."""

AXES = {
    "model": "{count} models",
    "system": "{count} systems",
    "price": "{count} price lists",
    "scenario": "{count} scenarios",
}
"""Length of each list in words."""


def sweep_page(request: Request, answer: SweepAnswer) -> SweepPage:
    """Return the progress of a sweep and its rows."""
    view, voice = view_of(request), voice_of(request)
    params: RowParameters = request.state.rows
    frame, model = view.frame, view.state.content.base.model
    plotted = sweeps.best_rows(view.workspace, answer.id, MOST_PLOTTED, params.order, params.labels)
    scenarios = SweepRequest.model_validate(answer.request).scenarios
    query = {**params.labels} | ({"order": params.order} if params.order != "position" else {})

    def address(first: int) -> str:
        return frame.url(f"{VIEW}/{answer.id}", **query, **({"first": str(first)} if first > 1 else {}))

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
        batches={
            scenario.label: batch for scenario in scenarios if (batch := scenario.workload.global_batch)
        },
        time_scale=time_scale([row.duration for row in answer.rows]),
        figure=time_cost_figure(plotted, answer.matching, voice),
    )


@resource(router, f"{PATH}/{{sweep}}", "sweeps/sweep.html", sweep_page)
def show_sweep(workspace: WorkspaceDep, identifier: str, sweep: str, params: RowsDep) -> SweepAnswer:
    """Return a sweep with the rows of the address."""
    get_study(workspace, identifier)
    offset, order, labels = params.first - 1, params.order, params.labels
    return sweeps.get_sweep(workspace, sweep, limit=ROWS, offset=offset, order=order, labels=labels)


def time_cost_figure(rows: Sequence[SweepRow], matching: int, voice: Voice) -> FigureView | None:
    """Return the figure of time against cost; None if no row has a cost."""
    if not any(row.cost is not None for row in rows):
        return None
    notes = [voice.gettext("Colours are systems, symbols are models; lower left is better.")]
    if MOST_PLOTTED <= len(rows) < matching:
        notes.append(
            voice.gettext("Showing {shown} of {matching} points.").format(
                shown=voice.number(len(rows)), matching=voice.number(matching)
            )
        )
    caption, figure = voice.gettext("Time versus cost"), time_against_cost(rows, voice)
    return FigureView("time-against-cost", caption, figure, " ".join(notes), "points")


@router.get(f"{PATH}/{{sweep}}/events")
def follow_sweep(request: Request, workspace: WorkspaceDep, identifier: str, sweep: str) -> Response:
    """Send the progress of a sweep as a fragment of the page, whenever it changes."""
    voice = voice_of(request)
    template = environment(voice.language).get_template("sweeps/_sweep_state.html")
    refreshed = 0

    def write(state: SweepState, before: SweepState | None) -> str:
        nonlocal refreshed
        events = event_stream.event(template.render(state=state).strip())
        if before is not None and state.done - refreshed >= REFRESH_ROWS:
            refreshed = state.done
            events += event_stream.event(str(state.done), "rows")
        return events

    return event_stream.response(request, partial(sweeps.get_state, workspace, sweep), write)


@router.post(f"{PATH}/{{sweep}}/cancel")
@requires(Right.MAKE)
def cancel_sweep(request: Request, workspace: WorkspaceDep, identifier: str, sweep: str) -> Response:
    """Cancel a sweep and show it; does nothing if it has ended in the meantime."""
    with contextlib.suppress(Conflict):
        sweeps.cancel_sweep(workspace, sweep)
    return to_sweep(request, identifier, sweep)


@router.post(f"{PATH}/{{sweep}}/resume")
@requires(Right.MAKE, CostClass.SEARCH)
def resume_sweep(request: Request, workspace: WorkspaceDep, identifier: str, sweep: str) -> Response:
    """Resume a sweep and show it; does nothing if it has ended in the meantime."""
    with contextlib.suppress(Conflict):
        sweeps.resume_sweep(workspace, sweep)
    return to_sweep(request, identifier, sweep)


def to_sweep(request: Request, identifier: str, sweep: str) -> Response:
    address = view_address(identifier, f"{VIEW}/{sweep}", request.query_params.multi_items())
    return RedirectResponse(address, 303)
