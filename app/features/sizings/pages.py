"""Sizings as forms and pages: which system, and how many of it, by deadline and budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from app.errors import AppError, BadInput, FieldError, Message
from app.features.estimates.service import create_estimate
from app.features.sizings.model import KINDS, Sizing, SizingRequest
from app.features.sizings.service import (
    OPTIONS,
    create_sizing,
    get_sizing,
    list_sizings,
    option_request,
    paged,
)
from app.features.sizings.views import SizingFormPage, SizingPage, kinds, sizing_page
from app.features.workloads import filling
from app.features.workloads.drafts import WORKLOAD_OF_PRESET
from app.features.workloads.filling import fill
from app.platform.rates import CostClass
from app.platform.web import choices
from app.platform.web.contexts import Choice, Form
from app.platform.web.deps import BenchDep, CursorQuery, WorkspaceDep
from app.platform.web.forms import plain_number, read_form, refused, typed
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench

router = page_router()

FormDep = Annotated[FormData, Depends(read_form)]

UNITS = {"d": 86_400.0, "h": 3_600.0}
"""Units of a deadline → seconds."""

LIMITS = ("deadline", "budget", "budget_kind", "probability")

KEPT = (*LIMITS, "unit", "sort", "all")
"""Names of a query that a page of a sizing reads."""

EARLIER = 10


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


def form_page(
    request: Request, bench: Workbench, workspace: str, form: Form, message: Message | None = None
) -> SizingFormPage:
    """Return the form with what has been typed into it."""
    made = list_sizings(bench, workspace, EARLIER, None).items
    values, filled = fill(bench, workspace, form.values)
    return SizingFormPage(
        form=replace(form, values=values),
        message=message,
        models=choices.models(bench.catalogue, voice_of(request)),
        filled=filled,
        targets=filling.targets(bench, workspace, form.values),
        softwares=choices.softwares(bench, voice_of(request)),
        systems=choices.systems(bench.catalogue),
        kinds=kinds(voice_of(request)),
        earlier=[Choice(one.id, one.label, one.created_at.date().isoformat()) for one in made],
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
    return render(
        request,
        "sizings/sizing_form.html",
        form_page(request, bench, workspace, Form(typed(request.query_params))),
    )


@router.post("/sizings/new", response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def make_sizing(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make a sizing of what was typed, or return the form with its errors beside the fields."""
    values, _ = fill(bench, workspace, typed(form))
    try:
        made = create_sizing(bench, workspace, asked_sizing(values))
    except (AppError, ValidationError) as error:
        message = error.message if isinstance(error, AppError) else Message("some fields are invalid")
        page = form_page(request, bench, workspace, refused(values, error, ()), message)
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
