"""Measured runs as forms, and the calibrations that come of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.errors import AppError, BadInput, FieldError, Message
from app.estimating.request import EstimateRequest
from app.features.calibration.model import (
    MOST_RUNS,
    CalibrationAnswer,
    CalibrationRequest,
    CalibrationSummary,
    GainAnswer,
    GainRequest,
)
from app.features.calibration.service import create_calibration, get_calibration, list_calibrations
from app.features.calibration.views import calibration_page, gain_page
from app.features.estimates.service import create_estimate, get_estimate_request, list_estimates
from app.platform.rates import CostClass
from app.platform.web.contexts import Choice, Form
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.examples import CALIBRATION, FABRIC_GAIN
from app.platform.web.forms import FormDep, nested, plain_number, refusal, refused, typed, whole
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench

router = page_router()

EXAMPLE = "example"
"""What is chosen instead of the identifier of an estimate."""

ROWS = 3
"""Rows of an empty form."""

OFFERED = 50

EARLIER = 10

UNITS = ("samples_per_s", "step_time_s")

NUMBERS = ("system.count", "workload.global_batch", "workload.seq_len")

WORDS = ("system.id", "note")

ALTERNATIVES = ("reference", "alternative")

SEPARATOR = re.compile(r"[\s,;]+")


Typed = Mapping[str, Sequence[str]]


def example_values() -> dict[str, list[str]]:
    """Return the fields of the example as if they had been typed."""
    values = {"estimate": [EXAMPLE], "label": [str(CALIBRATION["label"])]}
    for position, run in enumerate(CALIBRATION["runs"]):
        unit = "samples_per_s" if "samples_per_s" in run else "step_time_s"
        values |= {f"runs.{position}.unit": [unit], f"runs.{position}.value": [str(run[unit])]}
        values[f"runs.{position}.system.count"] = [str(run["system"]["count"])]
        values[f"runs.{position}.workload.global_batch"] = [str(run["workload"]["global_batch"])]
        if "note" in run:
            values[f"runs.{position}.note"] = [run["note"]]
    return values


def gain_values() -> dict[str, list[str]]:
    """Return the fields of the example of two fabrics as if they had been typed."""
    reference = str(FABRIC_GAIN["reference"])
    other = next(label for label in FABRIC_GAIN["runs"] if label != reference)
    written = {label: " ".join(map(str, runs)) for label, runs in FABRIC_GAIN["runs"].items()}
    return {
        "gain.system": [FABRIC_GAIN["system"]["id"]],
        "gain.reference": [reference],
        "gain.reference_runs": [written[reference]],
        "gain.alternative": [other],
        "gain.alternative_runs": [written[other]],
        "gain.threshold": ["5"],
    }


def row_count(form: Form) -> int:
    """Return how many rows of runs a form has."""
    stated = whole(form.get("rows"), 2) or 0
    used = [int(row[1]) + 1 for name in form.values if (row := re.match(r"runs\.(\d{1,2})\.", name))]
    return min(max(ROWS, stated, *used), MOST_RUNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationFormPage:
    """The forms that ask for a calibration, or for the gain of an alternative."""

    form: Form
    message: Message | None
    """What is wrong with the form as a whole."""
    estimates: Sequence[Choice]
    """Estimates that can be calibrated, the newest first, and the example."""
    systems: Sequence[Choice]
    """Systems that a run can be of."""
    rows: Sequence[int]
    """Numbers of the rows of runs, from 0."""
    more: bool
    """Whether rows can be added."""
    earlier: Sequence[CalibrationSummary]
    """Calibrations made before, the newest first."""


def form_page(
    request: Request, bench: Workbench, workspace: str, form: Form, error: AppError | None = None
) -> Response:
    """Return the page of the forms with what has been typed into them, and what is wrong with it."""
    offered = [Choice(one.id, one.label) for one in list_estimates(bench, workspace, OFFERED, None).items]
    chosen = form.get("estimate")
    if chosen and chosen != EXAMPLE and all(one.id != chosen for one in offered):
        offered.append(Choice(chosen, chosen))
    rows = row_count(form)
    page = CalibrationFormPage(
        form=form,
        message=error.message if error else None,
        estimates=offered,
        systems=[Choice(one.id, one.name) for one in bench.catalogue.systems.documents.values()],
        rows=range(rows),
        more=rows < MOST_RUNS,
        earlier=list_calibrations(bench, workspace, EARLIER, None).items,
    )
    status = error.status if error else 200
    return render(request, "calibration/calibration_form.html", page, status=status)


def asked_estimate(bench: Workbench, workspace: str, identifier: str) -> EstimateRequest:
    """Return the request of the estimate that a form chose."""
    if identifier == EXAMPLE:
        return EstimateRequest.model_validate(CALIBRATION["estimate"])
    if not identifier:
        raise BadInput.at("estimate", "choose an estimate")
    return get_estimate_request(bench, workspace, identifier)


def asked_runs(form: Form) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the runs that were typed, and the rows they stand in; empty rows are left out."""
    runs, rows = [], []
    for row in range(row_count(form)):
        field = {
            name: text for name in ("value", *NUMBERS, *WORDS) if (text := form.get(f"runs.{row}.{name}"))
        }
        if not field:
            continue
        unit = form.get(f"runs.{row}.unit", UNITS[0])
        if unit not in UNITS:
            raise BadInput.at(
                f"runs.{row}.unit", "“{unit}” is not one of {units}", unit=unit[:40], units=", ".join(UNITS)
            )
        stated = {
            unit if name == "value" else name: text if name in WORDS else plain_number(text)
            for name, text in field.items()
        }
        runs.append(nested(stated))
        rows.append(row)
    return runs, rows


def at_rows(error: AppError, values: Typed, rows: Sequence[int]) -> Form:
    """Return a form with errors at the rows as they stand on the page."""
    placed = []
    for one in refused(values, error, ()).errors:
        field = one.field
        found = re.match(r"runs\.(\d+)\.?", field)
        if found and int(found[1]) < len(rows):
            rest = field[found.end() :]
            field = f"runs.{rows[int(found[1])]}.{'value' if rest in (*UNITS, '') else rest}"
        placed.append(FieldError(field, one.message))
    return Form(values, placed)


@router.get("/calibrations", response_class=HTMLResponse)
def show_calibrations() -> Response:
    """Go to the forms, which list what was made before."""
    return RedirectResponse("/calibrations/new", 303)


@router.get("/calibrations/new", response_class=HTMLResponse)
def show_form(
    request: Request, bench: BenchDep, workspace: WorkspaceDep, estimate: str = "", example: str = ""
) -> Response:
    """Show the forms, filled with the example where it is asked for."""
    values = {"estimate": [estimate]} if estimate else {}
    values |= example_values() if example == "runs" else gain_values() if example == "gain" else {}
    return form_page(request, bench, workspace, Form(values))


@router.post("/calibrations/new", response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def calibrate(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make a calibration of what was typed, or return the form with its errors beside the fields."""
    values = typed(form)
    if "more" in values:
        values["rows"] = [str(row_count(Form(values)) + ROWS)]
        return form_page(request, bench, workspace, Form(values))
    asked = Form(values)
    runs, rows = asked_runs(asked)
    try:
        if not runs:
            raise BadInput.at("runs", "enter at least one measured run")
        estimate = asked_estimate(bench, workspace, asked.get("estimate"))
        body = {"estimate": estimate, "runs": runs, "label": asked.get("label") or None}
        made = create_calibration(bench, workspace, CalibrationRequest.model_validate(body))
    except (AppError, ValidationError) as error:
        wrong = refusal(error)
        return form_page(request, bench, workspace, at_rows(wrong, values, rows), wrong)
    return RedirectResponse(f"/calibrations/{made.id}", 303)


@router.post("/calibrations/gain", response_class=HTMLResponse)
@needs(Right.MAKE)
def hold(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Hold two alternatives against each other, or return the form with its errors."""
    values = typed(form)
    try:
        made = create_calibration(bench, workspace, asked_gain(Form(values)))
    except (AppError, ValidationError) as error:
        wrong = refusal(error)
        return form_page(request, bench, workspace, at_gain_fields(wrong, values), wrong)
    return RedirectResponse(f"/calibrations/{made.id}", 303)


def asked_gain(form: Form) -> GainRequest:
    """Return the request of the second form; its threshold is in per cent."""
    labels = {name: form.get(f"gain.{name}") for name in ALTERNATIVES}
    for name, label in labels.items():
        if not label:
            raise BadInput.at(name, "enter a name")
    if labels["reference"] == labels["alternative"]:
        raise BadInput.at("alternative", "enter two different names")
    runs = {
        label: [plain_number(one) for one in SEPARATOR.split(form.get(f"gain.{name}_runs")) if one]
        for name, label in labels.items()
    }
    body: dict[str, Any] = {"system": form.get("gain.system"), "reference": labels["reference"], "runs": runs}
    threshold = form.get("gain.threshold").removesuffix("%").strip()
    if threshold:
        try:
            body["threshold"] = float(threshold.replace(",", ".")) / 100.0
        except ValueError:
            raise BadInput.at("threshold", "must be a number") from None
    return GainRequest.model_validate(body)


def at_gain_fields(error: AppError, values: Typed) -> Form:
    """Return the second form with errors at its fields."""
    names = {values.get(f"gain.{name}", [""])[0]: name for name in ALTERNATIVES}
    placed = []
    for one in refused(values, error, ()).errors:
        field = one.field
        if field.startswith("runs."):
            field = f"{names.get(field.split('.')[1], 'alternative')}_runs"
        placed.append(FieldError(f"gain.{field}", one.message))
    return Form(values, placed)


@router.get("/calibrations/{identifier}.json")
def show_calibration_data(
    bench: BenchDep, workspace: WorkspaceDep, identifier: str
) -> CalibrationAnswer | GainAnswer:
    """Return the calibration of the page of the same address."""
    return get_calibration(bench, workspace, identifier)


@router.get("/calibrations/{identifier}", response_class=HTMLResponse)
def show_calibration(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show a calibration, or measured alternatives."""
    found, voice = get_calibration(bench, workspace, identifier), voice_of(request)
    if isinstance(found, GainAnswer):
        return render(request, "calibration/gain.html", gain_page(found, voice))
    return render(request, "calibration/calibration.html", calibration_page(found, voice))


@router.post("/calibrations/{identifier}/estimate")
@needs(Right.MAKE)
def use_calibration(bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Make the estimate again with the fitted profile and go there."""
    found = get_calibration(bench, workspace, identifier)
    if isinstance(found, GainAnswer):
        raise BadInput.at("software", "{id} has no calibrated software profile", id=identifier)
    asked = EstimateRequest.model_validate({**found.estimate, "software": found.software})
    return RedirectResponse(f"/estimates/{create_estimate(bench, workspace, asked).id}", 303)
