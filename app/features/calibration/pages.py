"""Measured runs as a view of a study: what was measured, and what it makes of the software profile."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from app.errors import AppError, BadInput, FieldError, Message, fields_at
from app.estimating.request import EstimateRequest
from app.estimating.schema import Quantity
from app.features.calibration import charts
from app.features.calibration.model import (
    MEASUREMENTS,
    MOST_RUNS,
    CalibrationAnswer,
    CalibrationRequest,
    CalibrationRun,
    CalibrationSummary,
    GainAnswer,
    StudyRuns,
)
from app.features.calibration.run_files import FILE, MAX_BYTES, RUN, read_runs
from app.features.calibration.service import create_calibration, get_calibration, list_calibrations
from app.features.studies.frame import OpenView, StudyFrame, led, open_view, study_of
from app.features.studies.knobs import labels_of
from app.platform.charts.figures import time_scale
from app.platform.rates import CostClass
from app.platform.web.contexts import FigureView, Form
from app.platform.web.deps import WorkspaceDep, workspace_of
from app.platform.web.examples import CALIBRATION
from app.platform.web.forms import FormDep, refusal, refused, typed, whole
from app.platform.web.locale import voice_of
from app.platform.web.rendering import render
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.scales import Scale
from app.platform.wording.voice import Voice

router = page_router()

VIEW = "runs"

ROWS = 3
"""Rows of an empty form."""

EARLIER = 20

UNITS = MEASUREMENTS

NUMBERS = ("system.count", "workload.global_batch", "workload.seq_len")

Typed = Mapping[str, Sequence[str]]


def row_count(form: Form) -> int:
    stated = whole(form.get("rows"), 2) or 0
    used = [int(row[1]) + 1 for name in form.values if (row := re.match(r"runs\.(\d{1,2})\.", name))]
    return min(max(ROWS, stated, *used), MOST_RUNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsPage:
    """Measured runs of an option, the calibrations of its study, and the details of one."""

    frame: StudyFrame
    form: Form
    message: Message | None
    """Error of the form as a whole."""
    rows: Sequence[int]
    """Numbers of the rows of runs, from 0."""
    more: bool
    """Whether rows can be added."""
    usual: Mapping[str, str]
    """Defaults of a row, from the study."""
    earlier: Sequence[CalibrationSummary]
    """Calibrations of the study, the newest first."""
    answer: CalibrationAnswer | GainAnswer | None
    """The calibration that the address names, or measured alternatives in its place."""
    outlook: Sequence[tuple[str, Quantity, Quantity, Scale]]
    """Times of the estimate before and after, each with its unit."""
    figures: Sequence[FigureView]
    time_scale: Scale | None
    """One unit for the step times of all runs."""
    use_url: str
    """Address of the study with the fitted profile; empty if no option can use it."""
    used_by: Sequence[str]
    """Options that would have the profile."""


def runs_page(
    view: OpenView, runs: StudyRuns, form: Form, voice: Voice, error: AppError | None = None
) -> RunsPage:
    answer, frame = runs.fit, view.frame
    rows, fit = row_count(form), answer if isinstance(answer, CalibrationAnswer) else None
    knobs = {} if fit is None else software_knobs(view, fit)
    outlook = [] if fit is None else charts.outlooks(fit, voice)
    labels = labels_of(view.state.content, view.workspace.sizing.catalog)
    return RunsPage(
        frame=frame,
        form=form,
        message=error.message if error else None,
        rows=range(rows),
        more=rows < MOST_RUNS,
        usual=usual_row(view),
        earlier=runs.calibrations,
        answer=answer,
        outlook=outlook,
        figures=[] if answer is None else charts.views(answer, outlook, voice),
        time_scale=None if fit is None else time_scale([run.before for run in fit.runs]),
        use_url=frame.url_with(knobs) if knobs else "",
        used_by=[labels[knob.partition(".")[2]] for knob in knobs],
    )


def usual_row(view: OpenView) -> dict[str, str]:
    """Return the defaults of a row of the form."""
    request = None if view.question is None else view.question.request
    if request is None:
        return dict.fromkeys(NUMBERS, "")
    known = (request.system.count, request.workload.global_batch, request.workload.seq_len)
    return {name: "" if value is None else str(value) for name, value in zip(NUMBERS, known, strict=True)}


def software_knobs(view: OpenView, answer: CalibrationAnswer) -> dict[str, str]:
    """Return the knobs that give the fitted profile to the options with the measured accelerator."""
    catalog = view.workspace.sizing.catalog
    chip = catalog.system(answer.runs[0].system).machine.chip.id
    return {
        f"software.{option.key}": answer.software
        for option in view.state.content.options
        if option.system is not None and catalog.system(option.system.id).machine.chip.id == chip
    }


def rows_of_form(form: Form) -> dict[int, dict[str, str]]:
    """Return what was typed into each row; empty rows are left out."""
    rows = {
        row: {name: text for name in ("value", *NUMBERS, "note") if (text := form.get(f"runs.{row}.{name}"))}
        for row in range(row_count(form))
    }
    return {row: fields for row, fields in rows.items() if fields}


def runs_of_form(form: Form, rows: Mapping[int, Mapping[str, str]]) -> list[dict[str, Any]]:
    """Return the runs of a form."""
    runs: list[dict[str, Any]] = []
    for row, fields in rows.items():
        unit = form.get(f"runs.{row}.unit", UNITS[0])
        if unit not in UNITS:
            raise BadInput.at(
                f"runs.{row}.unit", "“{unit}” is not one of {units}", unit=unit[:40], units=", ".join(UNITS)
            )
        stated = {unit if name == "value" else name: [text] for name, text in fields.items()}
        with fields_at(f"runs.{len(runs)}.{{}}".format):
            runs.append(RUN.body(stated))
    return runs


def runs_of_file(form: FormData) -> list[CalibrationRun]:
    """Return the runs of the file of a form; empty without a file."""
    file = form.get(FILE)
    if not isinstance(file, UploadFile) or not file.filename:
        return []
    return read_runs(file.file.read(MAX_BYTES + 1))


def at_rows(error: AppError, values: Typed, rows: Sequence[int]) -> Form:
    """Return a form with errors of runs at their rows, or at the file they came from."""
    placed = []
    for entry in refused(values, error, ()).errors:
        field = entry.field
        match = re.match(r"runs\.(\d+)\.?", field)
        if match and int(match[1]) < len(rows):
            rest = field[match.end() :]
            field = f"runs.{rows[int(match[1])]}.{rest if rest in (*NUMBERS, 'note') else 'value'}"
        elif match:
            field = FILE
        placed.append(FieldError(field, entry.message))
    return Form(values, placed)


RUNS_PATH = f"/studies/{{identifier}}/{VIEW}"


def view_of(request: Request, workspace: WorkspaceDep, identifier: str) -> OpenView:
    return open_view(request, workspace, identifier, VIEW)


ViewDep = Annotated[OpenView, Depends(view_of)]


def shown_runs(request: Request, runs: StudyRuns) -> RunsPage:
    """Return the form, filled with what the address names, and a calibration."""
    view = open_view(request, workspace_of(request), runs.study, VIEW)
    return runs_page(view, runs, Form(typed(request.query_params)), voice_of(request))


def runs_of(view: OpenView, fit: str = "") -> StudyRuns:
    """Return the calibrations of a study, and one of them in full."""
    workspace, study = view.workspace, view.state.study.id
    return StudyRuns(
        study=study,
        option=view.frame.option or None,
        calibrations=list_calibrations(workspace, EARLIER, None, study).items,
        fit=get_calibration(workspace, fit) if fit else None,
    )


@resource(router, RUNS_PATH, "calibration/runs.html", shown_runs)
def show_runs(view: ViewDep, fit: str = "") -> StudyRuns:
    """Return the calibrations of a study, and the one that the address names."""
    return runs_of(view, fit)


@router.post(RUNS_PATH, response_class=HTMLResponse)
@requires(Right.MAKE, CostClass.SEARCH)
def calibrate(request: Request, workspace: WorkspaceDep, identifier: str, form: FormDep) -> Response:
    """Fit a profile to what was typed, or return the form with its errors beside the fields."""
    view, values = open_view(request, workspace, identifier, VIEW), typed(form)

    def answer(form: Form, error: AppError | None = None) -> Response:
        shown = runs_of(view, request.query_params.get("fit", ""))
        page = runs_page(view, shown, form, voice_of(request), error)
        return render(request, "calibration/runs.html", page, status=error.status if error else 200)

    if "more" in values:
        values["rows"] = [str(row_count(Form(values)) + ROWS)]
        return answer(Form(values))
    rows = rows_of_form(Form(values))
    try:
        if view.question is None or view.question.request is None:
            raise BadInput.at("runs", "this study has no system that could have been measured")
        read = runs_of_form(Form(values), rows)
        runs = [*read, *(run.model_dump(exclude_unset=True) for run in runs_of_file(form))]
        if not runs:
            raise BadInput.at("runs", "enter at least one measured run")
        body = {
            "estimate": view.question.request,
            "runs": runs,
            "label": f"{view.state.content.name} · {view.frame.label}"[:200],
            "study_id": identifier,
        }
        calibration = create_calibration(workspace, CalibrationRequest.model_validate(body))
    except (AppError, ValidationError) as error:
        wrong = refusal(error)
        return answer(at_rows(wrong, values, list(rows)), wrong)
    return RedirectResponse(view.frame.here(fit=calibration.id), 303)


def in_study(request: Request, calibration: CalibrationAnswer | GainAnswer) -> Response:
    """Go to the study of a stored calibration, or to one that asks what it asked."""
    study, estimate = None, {**CALIBRATION["estimate"]}
    if isinstance(calibration, GainAnswer):
        estimate["system"] = {"id": calibration.system}
    else:
        study, estimate = calibration.study_id, calibration.estimate
    placed = study_of(EstimateRequest.model_validate(estimate), calibration.name), {"fit": calibration.id}
    return led(request, workspace_of(request), VIEW, "", placed, study)


@resource(router, "/calibrations/{identifier}", "", in_study, cost=CostClass.SEARCH)
def show_calibration(workspace: WorkspaceDep, identifier: str) -> CalibrationAnswer | GainAnswer:
    """Return a stored calibration."""
    return get_calibration(workspace, identifier)
