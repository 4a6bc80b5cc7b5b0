"""Calibrations: measured runs make estimates more certain, or say that a gain is not worth it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path

from app.features.calibration import service as calibrations
from app.features.calibration.model import AnyCalibration, AnyCalibrationRequest, CalibrationSummary
from app.platform.listing import Page
from app.platform.rates import CostClass
from app.platform.web.api import ASK, LIST, READ, api_router
from app.platform.web.deps import ID, KeyHeader, ListDep, WorkspaceDep
from app.platform.web.examples import CALIBRATION, FABRIC_GAIN
from app.platform.web.requirements import LARGE_BODY, Right, requires

router = api_router("calibrations", "/calibrations")


@router.post("", status_code=201, summary="Calibrate with measured runs", responses=ASK)
@requires(Right.MAKE, CostClass.SEARCH, body=LARGE_BODY)
def create_calibration(
    workspace: WorkspaceDep,
    body: Annotated[AnyCalibrationRequest, Body(examples=[CALIBRATION, FABRIC_GAIN])],
    key: KeyHeader = None,
) -> AnyCalibration:
    """Fit a software profile to measured runs, or compare the runs of alternatives with each other.

    The returned identifier can be used as ``software`` in any estimate, comparison or search. With
    ``reference`` and runs by label, nothing is fitted: the gain of the means is compared with
    ``threshold``.
    """
    return calibrations.create_calibration(workspace, body, key)


@router.get("", summary="List calibrations", responses=LIST)
def list_calibrations(workspace: WorkspaceDep, listed: ListDep) -> Page[CalibrationSummary]:
    """List identifiers and names, newest first."""
    return calibrations.list_calibrations(workspace, listed.limit, listed.cursor, wanted=listed.wanted)


@router.get("/{id}", summary="Retrieve a calibration", responses=READ)
def get_calibration(
    workspace: WorkspaceDep,
    identifier: Annotated[str, Path(alias="id", description=ID, examples=["cal_a2b3c4d5e6f7g2h3"])],
) -> AnyCalibration:
    """Return the result as computed when the calibration was created."""
    return calibrations.get_calibration(workspace, identifier)
