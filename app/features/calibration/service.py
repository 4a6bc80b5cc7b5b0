"""Make, keep and find calibrations."""

from __future__ import annotations

from functools import partial

from pydantic import TypeAdapter
from sqlmodel import col

from app.estimating.calibrated import profile_to_json
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
from app.platform.listing import Page, filled, page_of
from app.platform.store.queries import EVERYTHING, ListFilter, new_id
from app.platform.store.tables import CalibrationRow
from app.platform.workbench import Workbench, existing, found

ANSWER: TypeAdapter[CalibrationAnswer | GainAnswer] = TypeAdapter(AnyCalibration)


def create_calibration(
    bench: Workbench, workspace_id: str, request: CalibrationRequest | GainRequest, key: str | None = None
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
            answer = measured_gain(request, bench.sizing.catalog, new_id("cal"))
            return answer, saving(answer, None)

        return keep(bench, workspace_id, call, GainAnswer, hold)

    def fit() -> tuple[CalibrationAnswer, Save]:
        if request.study_id is not None:
            found(partial(get_study, bench), workspace_id, "study_id", request.study_id)
        calibration = calibrate(request, bench.context(workspace_id), new_id("cal"))
        return calibration.answer, saving(calibration.answer, profile_to_json(calibration.profile))

    return keep(bench, workspace_id, call, CalibrationAnswer, fit)


def get_calibration(bench: Workbench, workspace_id: str, identifier: str) -> CalibrationAnswer | GainAnswer:
    with bench.store.transaction(workspace_id) as repository:
        row = existing(repository, CalibrationRow, identifier, "calibration")
        # Calibrations of before 0.1.0 have their name in the column alone.
        return ANSWER.validate_python({"name": row.label, **row.document})


def list_calibrations(
    bench: Workbench,
    workspace_id: str,
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
    with bench.store.transaction(workspace_id) as repository:
        return page_of(repository, CalibrationRow, summary, limit, cursor, *narrowed, wanted=wanted)
