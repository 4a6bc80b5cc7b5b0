"""Make, keep and find calibrations."""

from __future__ import annotations

from functools import partial

from pydantic import TypeAdapter
from sqlmodel import col

from app.estimating.calibrated import profile_to_json
from app.estimating.schema import filled
from app.features.calibration.fitting import calibrate
from app.features.calibration.gain import measured_gain
from app.features.calibration.model import (
    AnyCalibration,
    CalibrationAnswer,
    CalibrationRequest,
    CalibrationSummary,
    GainAnswer,
    GainRequest,
)
from app.features.studies.service import get_study
from app.platform.idempotency import IdempotentCall, Save, keep
from app.platform.listing import Page, page_of
from app.platform.references import existing
from app.platform.store.queries import EVERYTHING, ListFilter, new_id
from app.platform.store.tables import CalibrationRow
from app.platform.workspace import Workspace, found

ANSWER: TypeAdapter[CalibrationAnswer | GainAnswer] = TypeAdapter(AnyCalibration)


def create_calibration(
    workspace: Workspace, request: CalibrationRequest | GainRequest, key: str | None = None
) -> CalibrationAnswer | GainAnswer:
    """Fit a software profile to measured runs, or compare alternatives, and store the answer."""
    call = IdempotentCall.of("calibrations", key, request)
    stated = request.model_dump(mode="json", exclude_unset=True)

    def saving(answer: CalibrationAnswer | GainAnswer, profile: dict[str, object] | None) -> Save:
        document = answer.model_dump(mode="json")
        return lambda repository: repository.add(
            CalibrationRow(
                id=answer.id, label=answer.name[:300], request=stated, document=document, profile=profile
            )
        )

    if isinstance(request, GainRequest):

        def hold() -> tuple[GainAnswer, Save]:
            answer = measured_gain(request, workspace.sizing.catalog, new_id("cal"))
            return answer, saving(answer, None)

        return keep(workspace, call, GainAnswer, hold)

    def fit() -> tuple[CalibrationAnswer, Save]:
        if request.study_id is not None:
            found(partial(get_study, workspace), "study_id", request.study_id)
        calibration = calibrate(request, workspace.context(), new_id("cal"))
        return calibration.answer, saving(calibration.answer, profile_to_json(calibration.profile))

    return keep(workspace, call, CalibrationAnswer, fit)


def get_calibration(workspace: Workspace, identifier: str) -> CalibrationAnswer | GainAnswer:
    with workspace.transaction() as repository:
        row = existing(repository, CalibrationRow, identifier, "calibration")
        # Calibrations of before 0.1.0 have their name in the column alone.
        return ANSWER.validate_python({"name": row.label, **row.document})


def list_calibrations(
    workspace: Workspace,
    limit: int,
    cursor: str | None,
    study: str | None = None,
    wanted: ListFilter = EVERYTHING,
) -> Page[CalibrationSummary]:
    """Return calibrations, newest first, of one study if given."""

    def summary(row: CalibrationRow) -> CalibrationSummary:
        # Runs of one system make a profile; alternatives make a gain.
        fitted = row.profile is not None
        kind, software = ("calibration", row.id) if fitted else ("gain", None)
        return filled(CalibrationSummary, row, name=row.label, kind=kind, software=software)

    study_id = col(CalibrationRow.request)["study_id"].as_string()
    narrowed = [] if study is None else [study_id == study]
    with workspace.transaction() as repository:
        return page_of(repository, CalibrationRow, summary, limit, cursor, *narrowed, wanted=wanted)
