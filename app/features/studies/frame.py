"""Frame around the views of a study: its state in the address, its menu, and the option shown.

Fields that a view adds are stored with the state, so that addresses stay short and inputs are remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel
from starlette.datastructures import QueryParams

from app.errors import BadInput, FieldError, Message, NotFound, Unavailable
from app.estimating.request import EstimateRequest
from app.estimating.schema import Quantity
from app.features.studies.answering import State
from app.features.studies.forms import LONGEST_QUERY, UNDO, address, knobs_in, version_in
from app.features.studies.knobs import labels_of, request_of, unused_key
from app.features.studies.model import GROUPS, MAX_KNOBS, VIEWS, KnobValue, StudyContent, StudyOption, stated
from app.features.studies.options import PublishedFigure
from app.features.studies.service import NAME_LENGTH, get_study, unsaved_study
from app.features.studies.states import StoredState, state_of, store_state, stored_state
from app.platform.json_bodies import checked
from app.platform.rates import CostClass
from app.platform.web.deps import WorkspaceDep
from app.platform.web.locale import voice_of
from app.platform.web.query_forms import FormOutcome, QueryForm
from app.platform.web.rendering import DISPLAY_PARAMS, data_path, displayed, render
from app.platform.web.requirements import requires
from app.platform.wording.voice import Voice, written
from app.platform.workspace import Workspace

Body = TypeVar("Body", bound=BaseModel)

Result = TypeVar("Result")

EVIDENCE = (
    ("/accuracy", Message("Accuracy")),
    ("/accuracy/famous-runs", Message("Famous runs")),
    ("/claims", Message("Vendor claims")),
)
"""Pages that hold for every study, beside its own evidence."""

FRAME_PARAMS = (*DISPLAY_PARAMS, "state", "option", "previous")
"""Query parameters of the frame rather than of a view."""


def read_state(workspace: Workspace, identifier: str, query: QueryParams, *, plain: bool) -> State:
    """Return the state of an address; only a ``plain`` one may also hold knobs and a version.

    ``undo=count.a`` resets a knob; undoing an added option resets all of its knobs.
    """
    token = query.get("state", "")[:16]
    stored = stored_state(workspace, identifier, token) if token else StoredState()
    knobs: dict[str, KnobValue] = {**stored.knobs, **(knobs_in(query) if plain else {})}
    for name in query.getlist(UNDO):
        knobs.pop(name, None)
        if name.startswith("add."):
            knobs = {other: value for other, value in knobs.items() if other.partition(".")[2] != name[4:]}
    if len(knobs) > MAX_KNOBS:
        raise BadInput.at("knobs", "at most {most} settings can be changed at once", most=MAX_KNOBS)
    version = (version_in(query) if plain else None) or stored.version
    state = state_of(workspace, identifier, knobs, version, stored.views)
    if token and dict(state.variant.knobs) == dict(stored.knobs) and version == stored.version:
        return replace(state, token=token)
    return state


def state_query(workspace: Workspace, state: State, *, plain: bool = True) -> list[tuple[str, str]]:
    """Return the query that names a state: its knobs if they are short, otherwise a token."""
    study = state.study
    knobs = list(state.variant.knobs.items())
    if study.version != study.latest:
        knobs.append(("version", str(study.version)))
    if not knobs and not state.views:
        return []
    if plain and not state.views and len(urlencode(knobs)) <= LONGEST_QUERY:
        return knobs
    if state.token:
        return [("state", state.token)]
    stored = StoredState(study.version, dict(state.variant.knobs), state.views)
    try:
        return [("state", store_state(workspace, study.id, stored))]
    except Unavailable:
        # Nothing can be stored now: links of the page carry the knobs alone.
        return knobs


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    url: str
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFrame:
    """What surrounds every view of a study."""

    state: State
    query: Sequence[tuple[str, str]]
    """Query that names the state."""
    view: str
    option: str
    """Key of the option shown; empty if none is."""
    label: str
    question: Sequence[str]
    """What is trained and how, in words."""
    tabs: Sequence[Tab]
    """Groups of views."""
    views: Sequence[Tab]
    """Views of the group that is shown; empty where it has one."""
    options: Sequence[Tab]
    """Options that the view can show."""

    @property
    def base(self) -> str:
        return f"/studies/{self.state.study.id}"

    @property
    def path(self) -> str:
        """Address of the view, without the state."""
        return f"{self.base}/{self.view}" if self.view else self.base

    def url(self, view: str, **more: str) -> str:
        """Return the address of a view in this state."""
        return view_address(self.state.study.id, view, [*self.query, *more.items()])

    def here(self, **more: str) -> str:
        """Return the address of the view of the same option."""
        option = option_query(self.state.content, self.option)
        return view_address(self.state.study.id, self.view, [*self.query, *option, *more.items()])

    def url_with(self, knobs: Mapping[str, str]) -> str:
        """Return the address of the study with more knobs than those of the state."""
        return address(self.state.study.id, [*self.query, *knobs.items()])

    def added(self, system: str, count: int, **knobs: str) -> str:
        """Return the address of the study with one more option; empty if it has the most allowed."""
        key = unused_key(self.state.content, self.state.variant.knobs)
        knobs = {"add": system, "count": str(count), **knobs}
        return self.url_with({f"{name}.{key}": text for name, text in knobs.items()}) if key else ""

    def key_of(self, system: str, count: int) -> str:
        """Return the key of the option with a system in this number; empty if there is none."""
        for option in self.state.content.options:
            if option.system is not None and (option.system.id, option.system.count) == (system, count):
                return option.key
        return ""


def view_address(identifier: str, view: str, query: Sequence[tuple[str, str]]) -> str:
    return address(identifier, query, f"/{view}" if view else "")


def option_query(content: StudyContent, key: str) -> list[tuple[str, str]]:
    """Return the query that names an option; empty for the first, which is the default."""
    return [("option", key)] if key and key != content.options[0].key else []


def frame_of(
    workspace: Workspace, state: State, view: str, voice: Voice, *, key: str = "", suited: Sequence[str] = ()
) -> StudyFrame:
    """Return the frame of a view of the option ``key``, one of the ``suited``."""
    study, content = state.study, state.content
    query = state_query(workspace, state, plain=False)
    labels = labels_of(content, workspace.sizing.catalog)
    option = option_query(content, key)

    def url(path: str) -> str:
        return view_address(study.id, path, [*query, *option] if path else query)

    return StudyFrame(
        state=state,
        query=query,
        view=view,
        option=key,
        label=labels.get(key, ""),
        question=question_words(workspace, content, voice),
        tabs=[Tab(voice.say(name), url(inside[0]), view in inside) for name, inside in GROUPS],
        views=[
            Tab(voice.say(VIEWS[path]), url(path), path == view)
            for _, inside in GROUPS
            if view in inside and len(inside) > 1
            for path in inside
        ]
        + [Tab(voice.say(name), path, False) for path, name in beyond(view)],
        options=[
            Tab(labels[other], view_address(study.id, view, [*query, ("option", other)]), other == key)
            for other in suited
        ],
    )


def beyond(view: str) -> Sequence[tuple[str, Message]]:
    """Return the pages outside of a study that belong to the group of a view."""
    return EVIDENCE if any(view in inside and "assumptions" in inside for _, inside in GROUPS) else ()


def question_words(workspace: Workspace, content: StudyContent, voice: Voice) -> list[str]:
    """Return the model of a study, with the amount, batch, length and precision that it states."""
    base, workload = content.base, content.base.workload
    model = base.model
    if model.preset:
        known = workspace.catalogue.models.documents.get(model.preset)
        words = [known.name if known else model.preset]
    elif model.profile_id:
        try:
            words = [workspace.profile(model.profile_id).name]
        except NotFound:
            words = [voice.gettext("deleted model")]
    else:
        words = [voice.gettext("own model") if stated(model) else voice.gettext("stated figures only")]
    if workload.target:
        target = workspace.sizing.catalog.items.get(workload.target)
        words.append(voice.gettext("to {target}").format(target=target.name if target else workload.target))
    for name in ("tokens", "samples"):
        if (amount := getattr(workload, name)) is not None:
            words.append(f"{voice.count(amount)} {voice.gettext(name)}")
    if workload.epochs is not None:
        words.append(f"{voice.number(workload.epochs)} {voice.gettext('epochs')}")
    for field in ("global_batch", "seq_len", "image_size", "precision"):
        if (value := getattr(workload, field)) is not None:
            words.append(f"{voice.label(f'workload.{field}')} {written(value, voice)}")
    if workload.workload_id:
        try:
            mean = workspace.workload_sample(workload.workload_id).mean_tokens
            words.append(
                voice.gettext("own sample, {mean} tokens on average").format(mean=voice.number(mean))
            )
        except NotFound:
            words.append(voice.gettext("deleted sample"))
    limits = {"deadline_s": "s", "budget": base.currency, "power_w": "W"}
    for field, unit in limits.items():
        if (limit := getattr(content.limits, field)) is not None:
            exact = Quantity(value=limit, low=limit, high=limit, unit=unit)
            words.append(f"{voice.label(f'limits.{field}')} {voice.central(exact)}")
            if field == "budget":
                kind = content.limits.budget_kind or "purchase, or rented run"
                words[-1] += f" ({voice.label(kind, 'budget_kind')})"
    return words


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """Question that a view answers: a state of a study and one of its options."""

    workspace: Workspace
    state: State
    option: StudyOption
    label: str
    request: EstimateRequest | None
    """Estimate request of the option; None for a stated figure."""

    @property
    def content(self) -> StudyContent:
        return self.state.content


def question_of(workspace: Workspace, state: State, key: str) -> StudyQuestion:
    content = state.content
    option = next(option for option in content.options if option.key == key)
    label = labels_of(content, workspace.sizing.catalog)[key]
    request = request_of(content, option)
    estimate = None if isinstance(request, PublishedFigure) else request
    return StudyQuestion(workspace, state, option, label, estimate)


Suits = Callable[[Workspace, StudyOption], bool]


def is_estimate(_: Workspace, option: StudyOption) -> bool:
    return option.system is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenView:
    """A view of a study in the state and with the fields of its address."""

    workspace: Workspace
    state: State
    name: str
    question: StudyQuestion | None
    """None if no option suits the view."""
    frame: StudyFrame
    typed: Mapping[str, str]
    """Fields of the view in the address."""
    stored: Mapping[str, str]
    """Fields of the view in the state."""

    def redirect_with(self, fields: Mapping[str, str]) -> RedirectResponse:
        """Redirect to the short address of the view, with its fields stored in the state."""
        state, study = self.state, self.state.study
        views = {name: stored for name, stored in state.views.items() if name != self.name}
        if dict(fields) != dict(study.content.views.get(self.name, {})):
            views[self.name] = dict(fields)
        query = state_query(self.workspace, State(study, state.variant, views), plain=False)
        return self.redirect(query)

    def redirect(self, query: Sequence[tuple[str, str]]) -> RedirectResponse:
        """Redirect to the view in a state, or to its section of the page that it is part of."""
        tab = self.frame.view
        option = option_query(self.state.content, self.frame.option)
        url = view_address(self.state.study.id, tab, [*query, *option])
        return RedirectResponse(url if self.name == tab else f"{url}#{self.name}-title", 303)


def open_view(
    request: Request,
    workspace: Workspace,
    identifier: str,
    name: str,
    suits: Suits | None = is_estimate,
    part_of: str = "",
) -> OpenView:
    """Return a view of a study; without ``suits`` it shows no option in particular.

    A view that is ``part_of`` another appears on the page and under the tab of that one.
    """
    query = request.query_params
    state = read_state(workspace, identifier, query, plain=False)
    suited = [
        option.key for option in state.content.options if suits is not None and suits(workspace, option)
    ]
    key = query.get("option", "")
    if key not in suited:
        key = next(iter(suited), "")
    frame = frame_of(workspace, state, part_of or name, voice_of(request), key=key, suited=suited)
    subject = key or state.content.options[0].key
    question = question_of(workspace, state, subject) if key or suits is None else None
    return OpenView(
        workspace=workspace,
        state=state,
        name=name,
        question=question,
        frame=frame,
        typed={field: text for field, text in query.items() if field not in (*FRAME_PARAMS, UNDO)},
        stored=state.content.views.get(name, {}),
    )


def study_view(
    router: APIRouter,
    name: str,
    template: str,
    form: QueryForm[Body],
    document: Any,
    *,
    usual: Callable[[StudyQuestion], Mapping[str, str]],
    answer: Callable[[StudyQuestion, Body], Result],
    page: Callable[[Request, OpenView, FormOutcome[Result] | None], object],
    suits: Suits | None = is_estimate,
    asked: Callable[[Mapping[str, str]], bool] = bool,
    cost: CostClass | None = None,
    part_of: str = "",
    files: Mapping[str, Callable[[Request, Result], Response]] | None = None,
) -> Callable[[OpenView], FormOutcome[Result]]:
    """Serve a view of a study whose form holds a request: as a page, and its answer as JSON.

    ``usual`` returns the fields that the study fills in; only differences from them are stored. A page gets
    no answer if no option of the study suits the view, and one without a result until ``asked`` tells that
    the fields hold what only the reader can state.

    A view that is ``part_of`` another has its own form and data and appears on the page of the other, which
    gets its answer, for the fields in the state, from the returned function. ``files`` write the answer in
    other formats, by the extension of their address.
    """
    path = f"/studies/{{identifier}}/{name}"

    def fields_of(view: OpenView, question: StudyQuestion) -> tuple[dict[str, str], dict[str, str]]:
        """Return the fields with those of the address, and without."""
        before = {**usual(question), **view.stored}
        return form.filled({**before, **view.typed}), form.filled(before)

    def show_data(request: Request, workspace: WorkspaceDep, identifier: str) -> Any:
        view = open_view(request, workspace, identifier, name, suits, part_of)
        question = view.question
        if question is None:
            raise no_suited_option()
        fields, _ = fields_of(view, question)
        return answer(question, form.request(fields))

    def file_of(write: Callable[[Request, Result], Response]) -> Callable[..., Response]:
        def save(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
            return write(request, show_data(request, workspace, identifier))

        return save

    def show(request: Request, workspace: WorkspaceDep, identifier: str) -> Response:
        view = open_view(request, workspace, identifier, name, suits, part_of)
        question = view.question
        if part_of and (question is None or not view.typed):
            return view.redirect(view.frame.query)
        if question is None:
            return render(request, template, page(request, view, None))
        fields, before = fields_of(view, question)
        if not asked(fields):
            return render(request, template, page(request, view, FormOutcome(form.form(fields), None, "")))
        answered = form.answer(fields, before, lambda body: answer(question, body))
        if view.typed and not answered.stale:
            start = usual(question)
            return view.redirect_with(
                {name: text for name, text in fields.items() if text != start.get(name, "")}
            )
        # Without fields in the address, errors are not those of the reader.
        status = answered.status if view.typed else 200
        return render(request, template, page(request, view, answered), status=status)

    def answer_stored(view: OpenView) -> FormOutcome[Result]:
        question = view.question
        assert question is not None, "no option of the study suits the view"
        fields = form.filled({**usual(question), **view.state.content.views.get(name, {})})
        return form.answer(fields, None, lambda body: answer(question, body))

    mark = requires(cost=cost)
    router.add_api_route(data_path(path), mark(show_data), response_model=document)
    for ending, write in (files or {}).items():
        router.add_api_route(f"{path}.{ending}", mark(file_of(write)), response_class=Response)
    router.add_api_route(path, mark(show), response_class=HTMLResponse)
    return answer_stored


ViewState = tuple[Mapping[str, Any], Mapping[str, str]]
"""A study, and the fields of one of its views."""


def led(
    request: Request,
    workspace: Workspace,
    view: str,
    ending: str,
    state: ViewState,
    study: str | None = None,
    strict: bool = True,
) -> RedirectResponse:
    """Redirect to a view of ``study`` or, if it is None or deleted, of a new unsaved study.

    A ``strict`` study is refused if an option cannot be estimated.
    """
    body, fields = state
    if study is not None:
        try:
            get_study(workspace, study)
        except NotFound:
            study = None
    if study is None:
        study = unsaved_study(workspace, "unsaved", checked(StudyContent, body), strict=strict)
    query = [*fields.items(), *displayed(request)]
    return RedirectResponse(address(study, query, f"/{view}{ending}" if view else ending), 303)


def study_of(request: EstimateRequest, name: str) -> dict[str, Any]:
    """Return a study with the request of an estimate as its only option."""
    base = request.model_dump(mode="json", exclude_unset=True)
    option = {part: base.pop(part) for part in ("label", "system", "plan") if base.get(part)}
    return {"name": name[:NAME_LENGTH], "base": base, "options": [option]}


def no_suited_option() -> NotFound:
    message = Message("no option of this study suits this view")
    return NotFound(message, [FieldError("option", message)])
