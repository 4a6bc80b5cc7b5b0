"""The view of a study that compares all systems and counts under its limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from anyio.to_thread import run_sync
from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import QueryParams

from app.errors import AppError, FieldError, Message, NotFound
from app.estimating.documents import Text
from app.estimating.request import BudgetKind
from app.features.estimates.pages import scaling_views
from app.features.sizings import charts
from app.features.sizings.finding import (
    KINDS,
    Filters,
    SearchState,
    SystemQuestion,
    WatchedSearch,
    question_of,
)
from app.features.sizings.model import Sizing, SizingOption
from app.features.sizings.service import OPTIONS, paged
from app.features.studies.frame import OpenView, StudyFrame, open_view
from app.features.studies.knobs import knob_text
from app.features.studies.states import state_of
from app.platform.listing import counted
from app.platform.rates import CostClass
from app.platform.web import choices, event_stream
from app.platform.web.auth import get_principal
from app.platform.web.choices import SystemGroup
from app.platform.web.contexts import FigureView, Form, view
from app.platform.web.deps import CursorQuery, GoneDep, WorkspaceDep
from app.platform.web.locale import voice_of
from app.platform.web.rendering import environment, render
from app.platform.web.requirements import requires
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice

router = page_router()

VIEW = "systems"

PATH = "/studies/{identifier}/systems"

LIMITS = ("deadline", "budget", "budget_kind", "power", "runs", "probability")
"""Knobs of the study with a field in the view."""

FILTERS = ("kind", "system", "accelerators")

LISTED = ("kind", "system")
"""Filters that hold several values."""

SHOWN = 10
"""Options shown before all are asked for."""

REASONS = {
    "batch_not_divisible": "batch adjusted",
    "devices_unused": "accelerators idle",
    "does_not_fit": "does not fit",
    "family_error_large": "poorly predicted family",
    "input_bound": "input-bound",
    "memory_borderline": "memory borderline",
    "memory_margin_thin": "memory nearly full",
    "phased_execution": "weights streamed in phases",
    "price_is_estimate": "price estimated",
    "price_unknown": "no published price",
    "restart_outlasts_failures": "failures outpace restarts",
}
"""Short texts of an option's warnings; its estimate has the full sentences."""

UNKNOWN = float("inf")


def _money(option: SizingOption, kind: BudgetKind) -> float:
    amount = getattr(option.costs, kind)
    return UNKNOWN if amount is None else float(amount.value)


def _time(option: SizingOption) -> float:
    return UNKNOWN if option.time_to_train is None else option.time_to_train.value


SORTS: Mapping[str, Callable[[SizingOption], tuple[float | str, ...]]] = {
    "system": lambda option: (option.name, option.count),
    "accelerators": lambda option: (option.accelerators, _time(option)),
    "time": lambda option: (_time(option), _money(option, "run")),
    "purchase": lambda option: (_money(option, "purchase"), _time(option)),
    "cost": lambda option: (_money(option, "run"), _time(option)),
    "term": lambda option: (_money(option, "term"), _time(option)),
    "idle": lambda option: (option.idle_share or 0.0, _money(option, "term")),
    "probability": lambda option: (-(option.probability or 0.0), _money(option, "run")),
    "power": lambda option: (option.power.value, _money(option, "run")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemsPage:
    """All systems and counts for the question of a study."""

    frame: StudyFrame
    form: Form
    """Fields of limits and filters."""
    message: Message | None
    """What is wrong that belongs to no field."""
    groups: Sequence[SystemGroup]
    kinds: Sequence[str]
    """Kinds of systems that are considered."""
    named: Sequence[str]
    """Systems that are considered; empty for all."""
    asked: bool
    """Whether the study has a question to ask of systems."""
    sizing: Sizing | None
    """None during the search, or if nothing was found."""
    pending: bool
    """Whether the search is still to be made."""
    searching: bool
    """Whether the page starts the search."""
    display: Mapping[str, str]
    """Display of the table: its order, and whether it is shown in full."""
    answer: Sequence[Text]
    """Result in sentences; the first is emphasised."""
    options: Sequence[SizingOption]
    """Options that are shown."""
    reasons: Mapping[str, str]
    """Short texts of warnings."""
    hidden: int
    """Options that are not shown yet."""
    frontier: FigureView | None
    scaling: Sequence[FigureView]


def question_in(opened: OpenView) -> SystemQuestion | None:
    """Return the question of an opened view; None if its study has no model."""
    filters = Filters.of(opened.stored)
    return question_of(opened.workspace, opened.state.content, filters)


def typed_fields(query: QueryParams) -> dict[str, str]:
    """Return the limits and filters in an address; empty if it only names the state."""
    if not any(name in query for name in (*LIMITS, *FILTERS, "filter")):
        return {}
    fields = {name: query.get(name, "")[:200] for name in LIMITS if name in query}
    if "filter" in query or any(name in query for name in FILTERS):
        fields |= {name: ",".join(query.getlist(name))[:2_000] for name in LISTED}
        fields["accelerators"] = query.get("accelerators", "")[:40]
    return fields


def redirect_to_limits(opened: OpenView, fields: Mapping[str, str]) -> Response:
    """Redirect to the view with the changed limits and filters in its state."""
    state = opened.state
    knobs = dict(state.variant.knobs) | {name: fields[name] for name in LIMITS if name in fields}
    filters = {name: fields.get(name, opened.stored.get(name, "")) for name in FILTERS}
    if set(filters["kind"].split(",")) == set(KINDS):
        filters["kind"] = ""
    errors = list[AppError]()
    try:
        Filters.of(filters)
    except AppError as error:
        errors.append(error)
    try:
        state = state_of(opened.workspace, state.study.id, knobs, state.study.version, state.views)
    except AppError as error:
        errors.append(error)
    if errors:
        errors[0].errors = tuple(entry for error in errors for entry in error.errors)
        raise errors[0]
    return replace(opened, state=state).redirect_with({name: text for name, text in filters.items() if text})


@router.get(f"{PATH}.json")
@requires(cost=CostClass.SEARCH)
def show_systems_data(
    request: Request, workspace: WorkspaceDep, gone: GoneDep, identifier: str, cursor: CursorQuery = None
) -> Sizing:
    """Return all systems and counts for the question of a study, a hundred options at a time."""
    # Refuse an invalid cursor before searching.
    counted(cursor)
    question = question_in(open_view(request, workspace, identifier, VIEW, None))
    if question is None:
        message = Message("this study has no model to train")
        raise NotFound(message, [FieldError("model", message)])
    return paged(question.search(gone), OPTIONS, cursor)


@router.get(PATH, response_class=HTMLResponse)
@requires(cost=CostClass.SEARCH)
def show_systems(request: Request, workspace: WorkspaceDep, gone: GoneDep, identifier: str) -> Response:
    """Show the view: at once while the search is still to be made, which the page then follows.

    With ``run=wait`` it answers once the search is done, for browsers without scripts.
    """
    opened = open_view(request, workspace, identifier, VIEW, None)
    fields = typed_fields(request.query_params)
    outcome = Outcome(fields)
    try:
        if fields:
            return redirect_to_limits(opened, fields)
    except AppError as error:
        outcome.refuse(error)
    try:
        question = question_in(opened)
        outcome.has_question = question is not None
        if question is not None:
            wait = request.query_params.get("run") == "wait"
            outcome.sizing = question.search(gone) if wait else question.answer()
    except AppError as error:
        outcome.refuse(error)
    page = systems_page(request, opened, outcome)
    return render(request, "sizings/systems.html", page, status=outcome.status)


@dataclass
class Outcome:
    """Result of opening the view."""

    fields: Mapping[str, str]
    """Limits and filters that were typed."""
    has_question: bool = True
    """Whether the study has a question to ask of systems."""
    sizing: Sizing | None = None
    status: int = 200
    errors: Sequence[FieldError] = ()
    message: Message | None = None
    """What is wrong that belongs to no field."""

    def refuse(self, error: AppError) -> None:
        placed = [FieldError(entry.field.removesuffix("_s"), entry.message) for entry in error.errors]
        self.status, self.errors = error.status, [*self.errors, *placed]
        if not {entry.field for entry in placed} & {*LIMITS, *FILTERS}:
            self.message = error.message


def systems_page(request: Request, opened: OpenView, outcome: Outcome) -> SystemsPage:
    query, voice = request.query_params, voice_of(request)
    content, sizing = opened.state.content, outcome.sizing
    values = {name: text for name in LIMITS if (text := knob_text(content, name))}
    values |= {**opened.stored, **outcome.fields}
    display = {name: query[name][:20] for name in ("sort", "all") if name in query}
    options = [] if sizing is None else sizing.options
    if (sort := display.get("sort", "")) in SORTS:
        options = sorted(options, key=SORTS[sort])
    listed = options if display.get("all") else options[:SHOWN]
    pending = outcome.has_question and sizing is None and outcome.status == 200
    return SystemsPage(
        frame=opened.frame,
        form=Form({name: [text] for name, text in values.items()}, outcome.errors),
        message=outcome.message,
        groups=choices.systems(opened.workspace.catalogue),
        kinds=[kind for kind in KINDS if kind in values.get("kind", "").split(",")] or KINDS,
        named=[name for name in values.get("system", "").split(",") if name],
        asked=outcome.has_question,
        sizing=sizing,
        pending=pending,
        searching=pending and query.get("run") != "0",
        display=display,
        answer=[] if sizing is None else sizing.decision.sentences,
        options=listed,
        reasons=REASONS,
        hidden=len(options) - len(listed),
        frontier=None if sizing is None else frontier_view(sizing, voice),
        scaling=[] if sizing is None else curve_views(sizing, voice),
    )


def frontier_view(sizing: Sizing, voice: Voice) -> FigureView:
    note = voice.gettext(
        "Ranges are drawn for the Pareto front only; options without a published price are left out."
    )
    drawn = charts.frontier(sizing, voice)
    return view("frontier", voice.gettext("Time versus cost"), drawn, note, "options")


def curve_views(sizing: Sizing, voice: Voice) -> list[FigureView]:
    curve = sizing.scaling
    if curve is None or len(curve.points) < 2:
        return []
    time, *cost = charts.curve(curve, voice)
    return scaling_views(time, cost[0] if cost else None, voice)


@router.get(f"{PATH}/events")
@requires(cost=CostClass.SEARCH)
def follow_search(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
    """Search for as long as somebody follows, and send how far it is as a piece of the page."""
    question = question_in(open_view(request, workspace, identifier, VIEW, None))
    if question is None or request.headers.get("last-event-id") == event_stream.END:
        return Response(status_code=204)
    search = WatchedSearch(question)
    template = environment(voice_of(request).language).get_template("sizings/_search.html")

    def write(state: SearchState, before: object) -> str:
        # The search runs on meanwhile: announce the result once, with the state in which it is done.
        events = event_stream.event(template.render(state=state).strip())
        return events + (event_stream.event("", "found") if state.status == "done" else "")

    async def events() -> AsyncIterator[str]:
        task = asyncio.create_task(run_sync(search.run))
        try:
            stopping = request.app.state.stopping.is_set
            admitted = event_stream.still_admitted(request)
            async for text in event_stream.stream(lambda: search.state, write, stopping, admitted):
                yield text
            await task
        finally:
            search.stop()

    return event_stream.EventResponse(events(), request.app.state.streams, get_principal(request))
