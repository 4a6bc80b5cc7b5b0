"""Sizings as forms and pages: which system, and how many of it, by deadline and budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.errors import AppError, BadInput, FieldError, Message
from app.features.estimates.pages import scaling_views
from app.features.estimates.service import create_estimate
from app.features.sizings import charts
from app.features.sizings.model import KINDS, BudgetKind, Sizing, SizingOption, SizingRequest, SizingSummary
from app.features.sizings.service import (
    OPTIONS,
    create_sizing,
    get_sizing,
    list_sizings,
    option_request,
    paged,
)
from app.features.sizings.words import sentences
from app.features.workloads import filling
from app.features.workloads.drafts import WORKLOAD_OF_PRESET, Draft, filled_draft
from app.platform.rates import CostClass
from app.platform.web import choices
from app.platform.web.choices import SystemGroup
from app.platform.web.contexts import Choice, ChoiceGroup, FigureView, Form, WarningGroup, grouped, view
from app.platform.web.deps import BenchDep, CursorQuery, WorkspaceDep
from app.platform.web.forms import FormDep, plain_number, typed
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingFormPage:
    """The form that asks for a sizing."""

    draft: Draft
    models: Sequence[ChoiceGroup]
    targets: Sequence[Choice]
    softwares: Sequence[ChoiceGroup]
    """Software profiles of GPUs, then of IPUs."""
    systems: Sequence[SystemGroup]
    earlier: Sequence[SizingSummary]
    """Sizings made before, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingPage:
    """Options by deadline and budget."""

    sizing: Sizing
    answer: Sequence[Message]
    """What was found, in sentences; the first stands out."""
    form: Form
    """Deadline, budget and probability as they can be changed."""
    mixed: bool
    """Whether the budget is held against the purchase of some and the rent of others."""
    sort: str
    """Column by which the options are sorted; empty for their own order."""
    sort_urls: Mapping[str, str]
    """Column → address of the table sorted by it."""
    options: Sequence[SizingOption]
    tied: Sequence[str]
    """Options that nothing separates from the best."""
    reasons: Mapping[str, str]
    """Warnings above the level of information, in words."""
    hidden: int
    """Options that are not shown yet."""
    limits_query: str
    """Query of the limits that are tried, which decide what options there are; may be empty."""
    all_url: str
    """Address that shows them."""
    frontier: FigureView
    scaling: Sequence[FigureView]
    warnings: Sequence[WarningGroup]


router = page_router()

UNITS = {"d": 86_400.0, "h": 3_600.0}
"""Units of a deadline → seconds."""

LIMITS = ("deadline", "budget", "budget_kind", "probability")

KEPT = (*LIMITS, "unit", "sort", "all")
"""Names of a query that a page of a sizing reads."""

EARLIER = 10

SHOWN = 40
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
"""Warnings of an option in few words; the full sentences stand in its estimate."""

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
    "probability": lambda option: (-(option.probability or 0.0), _money(option, "run")),
    "power": lambda option: (option.power.value, _money(option, "run")),
}


def limit_fields(values: Mapping[str, str]) -> dict[str, Any]:
    """Return deadline, budget with its kind, and probability as a request states them; empty is no limit."""
    found: dict[str, Any] = {}
    if "deadline" in values:
        found["deadline_s"] = _number(
            "deadline_s", values["deadline"], UNITS.get(values.get("unit", "d"), 1.0)
        )
    if "budget" in values:
        found["budget"] = _number("budget", values["budget"], 1.0)
    if "budget_kind" in values:
        kind = values["budget_kind"].strip()
        if kind and kind not in KINDS:
            raise BadInput.at("budget_kind", "choose one of {kinds}", kinds=", ".join(KINDS))
        found["budget_kind"] = kind or None
    if values.get("probability", "").strip():
        share = _number("probability", values["probability"].strip().removesuffix("%"), 1.0)
        found["probability"] = share / 100.0 if share is not None and share > 1 else share
    return found


def _number(field: str, text: str, factor: float) -> float | None:
    if not text.strip():
        return None
    try:
        return float(plain_number(text.strip())) * factor
    except ValueError:
        raise BadInput.at(field, "must be a number") from None


def form_page(request: Request, bench: Workbench, workspace: str, draft: Draft) -> SizingFormPage:
    """Return the form with what has been typed into it."""
    voice = voice_of(request)
    return SizingFormPage(
        draft=draft,
        models=choices.models(bench.catalogue, voice),
        targets=filling.targets(bench, workspace, draft.form.values),
        softwares=choices.softwares(bench, voice),
        systems=choices.systems(bench.catalogue),
        earlier=list_sizings(bench, workspace, EARLIER, None).items,
    )


def asked_sizing(values: Mapping[str, Sequence[str]]) -> SizingRequest:
    """Return the request that was typed."""
    first = {name: one[0] for name, one in values.items()}
    if not first.get("model.preset"):
        raise BadInput.at("model", "choose a preset")
    body = {"model": {"preset": first["model.preset"]}, **WORKLOAD_OF_PRESET.body(values)}
    limits = {name: value for name, value in limit_fields(first).items() if value is not None}
    systems = {"systems": list(values["system"])} if values.get("system") else {}
    software = {"software": first["software"]} if first.get("software") else {}
    return SizingRequest.model_validate(
        {**body, **limits, **systems, **software, "currency": first.get("currency", "USD")}
    )


@router.get("/sizings", response_class=HTMLResponse)
def show_sizings() -> Response:
    """Go to the form, which lists what was made before."""
    return RedirectResponse("/sizings/new", 303)


@router.get("/sizings/new", response_class=HTMLResponse)
def show_form(request: Request, bench: BenchDep, workspace: WorkspaceDep) -> Response:
    """Show the form; what the address names is filled in."""
    draft = filled_draft(bench, workspace, typed(request.query_params))
    return render(request, "sizings/sizing_form.html", form_page(request, bench, workspace, draft))


@router.post("/sizings/new", response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def make_sizing(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make a sizing of what was typed, or return the form with its errors beside the fields."""
    draft = filled_draft(bench, workspace, typed(form))
    try:
        made = create_sizing(bench, workspace, asked_sizing(draft.form.values))
    except (AppError, ValidationError) as error:
        page = form_page(request, bench, workspace, draft.refused(error))
        status = error.status if isinstance(error, AppError) else 422
        return render(request, "sizings/sizing_form.html", page, status=status)
    return RedirectResponse(f"/sizings/{made.id}", 303)


@router.get("/sizings/{identifier}.json")
def show_sizing_data(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str, cursor: CursorQuery = None
) -> Sizing:
    """Return the sizing of the page of the same address, a hundred options at a time."""
    found = get_sizing(bench, workspace, identifier, limit_fields(dict(request.query_params)))
    return paged(found, OPTIONS, cursor)


@router.get("/sizings/{identifier}", response_class=HTMLResponse)
def show_sizing(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show a sizing, judged under the limits of the query."""
    query = {name: request.query_params[name][:40] for name in KEPT if name in request.query_params}
    speaker = voice_of(request)
    errors: Sequence[FieldError] = ()

    def made() -> SizingPage:
        found = get_sizing(bench, workspace, identifier, limits)
        form = Form(_shown(found, query, bool(errors)), errors)
        return sizing_page(found, speaker, form, query)

    try:
        limits = limit_fields(query)
        if limits:
            page = made()
        else:
            page = bench.sizings.get((workspace, identifier, speaker.language, *query.items()), made)
    except BadInput as error:
        limits, errors = {}, error.errors
        page = made()
    return render(request, "sizings/sizing.html", page, status=400 if errors else 200)


def _shown(found: Sizing, query: Mapping[str, str], refused_ones: bool) -> dict[str, list[str]]:
    """Return the fields of the limits as they are shown: what was typed where it was refused."""
    asked = found.request
    usual = "h" if asked.deadline_s is not None and asked.deadline_s < 2 * UNITS["d"] else "d"
    unit = query.get("unit", usual)
    unit = unit if unit in UNITS else usual
    shown = {
        "deadline": "" if asked.deadline_s is None else f"{asked.deadline_s / UNITS[unit]:.6g}",
        "budget": "" if asked.budget is None else f"{asked.budget:.12g}",
        "budget_kind": asked.budget_kind or "",
        "probability": f"{100.0 * asked.probability:.4g}",
    }
    if refused_ones:
        shown |= {name: query[name] for name in LIMITS if name in query}
    return {"unit": [unit], **{name: [value] for name, value in shown.items() if value}}


@router.post("/sizings/{identifier}/options/{option}/estimate")
@needs(Right.MAKE)
def open_estimate(bench: BenchDep, workspace: WorkspaceDep, identifier: str, option: str) -> Response:
    """Make the estimate of an option and go there."""
    asked = option_request(bench, workspace, identifier, option)
    return RedirectResponse(f"/estimates/{create_estimate(bench, workspace, asked).id}", 303)


def sizing_page(sizing: Sizing, voice: Voice, form: Form, query: Mapping[str, str]) -> SizingPage:
    """Return the page of a sizing; the query says how it is sorted and which limits are tried."""
    sort, margin, curve = query.get("sort", ""), sizing.margin, sizing.scaling
    path = f"/sizings/{sizing.id}"
    options = sorted(sizing.options, key=SORTS[sort]) if sort in SORTS else sizing.options
    shown = options if query.get("all") else options[:SHOWN]
    scaling: Sequence[FigureView] = ()
    if curve is not None and len(curve.points) > 1:
        time, *cost = charts.curve(curve, voice)
        scaling = scaling_views(time, cost[0] if cost else None, voice)
    frontier = view(
        "frontier",
        voice.gettext("Time versus cost"),
        charts.frontier(sizing, voice),
        voice.gettext(
            "Ranges are drawn for the Pareto front only; options without a published price are left out."
        ),
        "options",
    )
    limits = {name: value for name, value in query.items() if name not in ("sort", "all")}
    return SizingPage(
        sizing=sizing,
        answer=sentences(sizing),
        form=form,
        mixed=len({option.budget_kind for option in sizing.options}) > 1,
        sort=sort,
        sort_urls={key: address(path, {**query, "sort": key}) for key in SORTS},
        options=shown,
        tied=[margin.option, *margin.tied] if margin is not None and margin.tie else [],
        reasons=REASONS,
        hidden=len(options) - len(shown),
        limits_query=address("", limits),
        all_url=address(path, {**query, "all": "1"}),
        frontier=frontier,
        scaling=scaling,
        warnings=grouped(("", warning) for warning in sizing.warnings),
    )


def address(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
