"""Estimates, searches, sizings and calibrations."""

from __future__ import annotations

from dataclasses import replace

import httpx
from pydantic import TypeAdapter

from app.client.calls import Call, Given, address, compute, document, get, operation, store
from app.estimating.documents import Estimate
from app.estimating.request import EstimateRequest
from app.features.calibration.model import (
    AnyCalibration,
    CalibrationAnswer,
    CalibrationRequest,
    CalibrationSummary,
    GainAnswer,
    GainRequest,
)
from app.features.estimates.model import EstimateSummary
from app.features.plans.model import Search, SearchRequest
from app.features.sizings.model import ScalingCurve, Sizing, SizingRequest, SizingSummary
from app.platform.listing import Page

CALIBRATION: TypeAdapter[CalibrationAnswer | GainAnswer] = TypeAdapter(AnyCalibration)


def calibration(response: httpx.Response) -> CalibrationAnswer | GainAnswer:
    """Read a calibration in either of its forms."""
    return CALIBRATION.validate_json(response.content)


class SizingOperations:
    """What a training run takes, and what it takes to keep a deadline."""

    @operation
    def create_estimate(self, request: EstimateRequest | Given, *, key: str | None = None) -> Call[Estimate]:
        """Estimate one model on one system; a model that does not fit is an answer with ``fits`` false."""
        return store(address("estimates"), document(Estimate), request, key)

    @operation
    def list_estimates(
        self, cursor: str | None = None, limit: int | None = None
    ) -> Call[Page[EstimateSummary]]:
        """List estimates, newest first."""
        return get(address("estimates"), document(Page[EstimateSummary]), cursor=cursor, limit=limit)

    @operation
    def get_estimate(self, identifier: str) -> Call[Estimate]:
        """Read an estimate as it was answered."""
        return get(address("estimates", identifier), document(Estimate))

    @operation
    def run_search(self, request: SearchRequest | Given) -> Call[Search]:
        """Search for the best plans of a model on a system."""
        return compute(address("searches"), document(Search), request)

    @operation
    def create_sizing(
        self, request: SizingRequest | Given, *, key: str | None = None, limit: int | None = None
    ) -> Call[Sizing]:
        """Find the systems that keep a deadline and a budget; a hundred options, or fewer by ``limit``."""
        made = store(address("sizings"), document(Sizing), request, key)
        return replace(made, query={"limit": limit})

    @operation
    def list_sizings(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[SizingSummary]]:
        """List sizings, newest first."""
        return get(address("sizings"), document(Page[SizingSummary]), cursor=cursor, limit=limit)

    @operation
    def get_sizing(
        self, identifier: str, cursor: str | None = None, limit: int | None = None
    ) -> Call[Sizing]:
        """Read a sizing as it was answered; with a cursor, the options that follow."""
        return get(address("sizings", identifier), document(Sizing), cursor=cursor, limit=limit)

    @operation
    def scale_system(self, request: SizingRequest | Given) -> Call[ScalingCurve]:
        """Follow one system over counts: time, cost and efficiency."""
        return compute(address("scalings"), document(ScalingCurve), request)

    @operation
    def create_calibration(
        self, request: CalibrationRequest | GainRequest | Given, *, key: str | None = None
    ) -> Call[CalibrationAnswer | GainAnswer]:
        """Calibrate with measured runs, or hold the runs of alternatives against each other."""
        return store(address("calibrations"), calibration, request, key)

    @operation
    def list_calibrations(
        self, cursor: str | None = None, limit: int | None = None
    ) -> Call[Page[CalibrationSummary]]:
        """List calibrations, newest first."""
        return get(address("calibrations"), document(Page[CalibrationSummary]), cursor=cursor, limit=limit)

    @operation
    def get_calibration(self, identifier: str) -> Call[CalibrationAnswer | GainAnswer]:
        """Read a calibration as it was answered."""
        return get(address("calibrations", identifier), calibration)
