"""Measured runs as forms, and the calibrations that come of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from app.errors import AppError, BadInput, FieldError, Message
from app.estimating.request import EstimateRequest
from app.features.calibration.model import (
    MOST_RUNS,
    CalibrationAnswer,
    CalibrationRequest,
    GainAnswer,
    GainRequest,
)
from app.features.calibration.service import create_calibration, get_calibration, list_calibrations
from app.features.calibration.views import CalibrationFormPage, calibration_page, gain_page
from app.features.estimates.service import create_estimate, get_estimate_request, list_estimates
from app.platform.rates import CostClass
from app.platform.web.contexts import Choice, Form
from app.platform.web.deps import BenchDep, WorkspaceDep
from app.platform.web.examples import CALIBRATION, FABRIC_GAIN
from app.platform.web.forms import nested, plain_number, read_form, refused, typed, whole
from app.platform.web.locale import voice_of
from app.platform.web.needs import Right, needs
from app.platform.web.rendering import render
from app.platform.web.rights import page_router
from app.platform.workbench import Workbench

router = page_router()

FormDep = Annotated[FormData, Depends(read_form)]

EXAMPLE = "example"
"""What is chosen instead of the identifier of an estimate."""

ROWS = 3
"""Rows of an empty form."""

OFFERED = 50

EARLIER = 10

NUMBERS = ("system.count", "workload.global_batch", "workload.seq_len")

WORDS = ("system.id", "note")

ALTERNATIVES = ("reference", "alternative")

SEPARATOR = re.compile(r"[\s,;]+")


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


def row_count(values: Mapping[str, Sequence[str]]) -> int:
    """Return how many rows of runs a form has."""
    stated = values.get("rows", ["0"])[0]
    used = [int(found[1]) for name in values if (found := re.match(r"runs\.(\d{1,2})\.", name))]
    wanted = whole(stated, 2) or 0
    return min(max(ROWS, wanted, *(place + 1 for place in used), 0), MOST_RUNS)


def form_page(
    bench: Workbench, workspace: str, form: Form, message: Message | None = None
) -> CalibrationFormPage:
    """Return the page of the forms with what has been typed into them."""
    kept = list_estimates(bench, workspace, OFFERED, None).items
    made = list_calibrations(bench, workspace, EARLIER, None).items
    offered = [Choice(one.id, one.label) for one in kept]
    chosen = form.get("estimate")
    if chosen and chosen != EXAMPLE and all(one.id != chosen for one in offered):
        offered.append(Choice(chosen, chosen))
    rows = row_count(form.values)
    systems = bench.catalogue.systems.documents.values()
    return CalibrationFormPage(
        form=form,
        message=message,
        estimates=offered,
        systems=[Choice(one.id, one.name) for one in systems],
        rows=range(rows),
        more=rows < MOST_RUNS,
        earlier=[Choice(one.id, one.label, one.created_at.date().isoformat()) for one in made],
    )


def asked_estimate(bench: Workbench, workspace: str, identifier: str) -> EstimateRequest:
    """Return the request of the estimate that a form chose."""
    if identifier == EXAMPLE:
        return EstimateRequest.model_validate(CALIBRATION["estimate"])
    if not identifier:
        raise BadInput.at("estimate", "choose an estimate")
    return get_estimate_request(bench, workspace, identifier)


UNITS = ("samples_per_s", "step_time_s")


def asked_runs(values: Mapping[str, Sequence[str]]) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the runs that were typed, and the rows they stand in; empty rows are left out."""
    runs, rows = [], []
    for row in range(row_count(values)):
        field = {
            name: values[f"runs.{row}.{name}"][0]
            for name in ("value", *NUMBERS, *WORDS)
            if f"runs.{row}.{name}" in values
        }
        if not field:
            continue
        unit = values.get(f"runs.{row}.unit", [UNITS[0]])[0]
        if unit not in UNITS:
            raise BadInput.at(
                f"runs.{row}.unit", "“{unit}” is not one of {units}", unit=unit[:40], units=", ".join(UNITS)
            )
        stated = {name: plain_number(field[name]) for name in NUMBERS if name in field}
        stated |= {name: field[name] for name in WORDS if name in field}
        if "value" in field:
            stated[unit] = plain_number(field["value"])
        runs.append(nested(stated))
        rows.append(row)
    return runs, rows


def at_rows(
    error: AppError | ValidationError, values: Mapping[str, Sequence[str]], rows: Sequence[int]
) -> Form:
    """Return a form with errors at the rows as they stand on the page."""
    form = refused(values, error, ())
    placed = []
    for one in form.errors:
        found = re.match(r"runs\.(\d+)\.?", one.field)
        if found and int(found[1]) < len(rows):
            rest = one.field[found.end() :]
            rest = "value" if rest in {"samples_per_s", "step_time_s", ""} else rest
            placed.append(FieldError(f"runs.{rows[int(found[1])]}.{rest}", one.message))
        else:
            placed.append(one)
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
    return render(request, "calibration/calibration_form.html", form_page(bench, workspace, Form(values)))


@router.post("/calibrations/new", response_class=HTMLResponse)
@needs(Right.MAKE, CostClass.SEARCH)
def calibrate(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Make a calibration of what was typed, or return the form with its errors beside the fields."""
    values = typed(form)
    if "more" in values:
        values["rows"] = [str(row_count(values) + ROWS)]
        return render(request, "calibration/calibration_form.html", form_page(bench, workspace, Form(values)))
    runs, rows = asked_runs(values)
    try:
        if not runs:
            raise BadInput.at("runs", "enter at least one measured run")
        asked = asked_estimate(bench, workspace, values.get("estimate", [""])[0])
        body = {"estimate": asked, "runs": runs, "label": values.get("label", [None])[0]}
        made = create_calibration(bench, workspace, CalibrationRequest.model_validate(body))
    except (AppError, ValidationError) as error:
        return _refusal(request, bench, workspace, at_rows(error, values, rows), error)
    return RedirectResponse(f"/calibrations/{made.id}", 303)


@router.post("/calibrations/gain", response_class=HTMLResponse)
@needs(Right.MAKE)
def hold(request: Request, bench: BenchDep, workspace: WorkspaceDep, form: FormDep) -> Response:
    """Hold two alternatives against each other, or return the form with its errors."""
    values = typed(form)
    try:
        made = create_calibration(bench, workspace, asked_gain(values))
    except (AppError, ValidationError) as error:
        found = refused(values, error, ())
        return _refusal(request, bench, workspace, Form(values, gain_errors(found.errors, values)), error)
    return RedirectResponse(f"/calibrations/{made.id}", 303)


def asked_gain(values: Mapping[str, Sequence[str]]) -> GainRequest:
    """Return the request of the second form; its threshold is in per cent."""
    labels = {name: values.get(f"gain.{name}", [""])[0] for name in ALTERNATIVES}
    for name, label in labels.items():
        if not label:
            raise BadInput.at(name, "enter a name")
    if labels["reference"] == labels["alternative"]:
        raise BadInput.at("alternative", "enter two different names")
    runs = {
        label: [
            plain_number(one)
            for one in SEPARATOR.split(values.get(f"gain.{name}_runs", [""])[0].strip())
            if one
        ]
        for name, label in labels.items()
    }
    body: dict[str, Any] = {
        "system": values.get("gain.system", [""])[0],
        "reference": labels["reference"],
        "runs": runs,
    }
    threshold = values.get("gain.threshold", [""])[0].removesuffix("%").strip()
    if threshold:
        try:
            body["threshold"] = float(threshold.replace(",", ".")) / 100.0
        except ValueError:
            raise BadInput.at("threshold", "must be a number") from None
    return GainRequest.model_validate(body)


def gain_errors(errors: Sequence[FieldError], values: Mapping[str, Sequence[str]]) -> list[FieldError]:
    """Return errors of the second form at its fields."""
    labels = {values.get(f"gain.{name}", [""])[0]: name for name in ALTERNATIVES}
    placed = []
    for one in errors:
        field = one.field
        if field.startswith("runs."):
            label = field.removeprefix("runs.").split(".")[0]
            field = f"{labels.get(label, 'alternative')}_runs"
        placed.append(FieldError(f"gain.{field}", one.message))
    return placed


def _refusal(
    request: Request, bench: Workbench, workspace: str, form: Form, error: AppError | ValidationError
) -> Response:
    message = error.message if isinstance(error, AppError) else Message("some fields are invalid")
    page = form_page(bench, workspace, form, message)
    status = error.status if isinstance(error, AppError) else 422
    return render(request, "calibration/calibration_form.html", page, status=status)


@router.get("/calibrations/{identifier}.json")
def show_calibration_data(
    bench: BenchDep, workspace: WorkspaceDep, identifier: str
) -> CalibrationAnswer | GainAnswer:
    """Return the calibration of the page of the same address."""
    return get_calibration(bench, workspace, identifier)


@router.get("/calibrations/{identifier}", response_class=HTMLResponse)
def show_calibration(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Show a calibration, or measured alternatives."""
    found = get_calibration(bench, workspace, identifier)
    voice = voice_of(request)
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
