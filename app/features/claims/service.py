"""Vendor claims with verdicts, and their estimates as studies."""

from __future__ import annotations

import threading

from app.errors import NotFound
from app.estimating.request import EstimateRequest
from app.features.claims.deciding import claim_of, claims_of
from app.features.claims.estimates import Estimates
from app.features.claims.model import ClaimsRequest, VendorClaim, VendorClaims
from app.features.comparisons.service import study_of
from app.features.studies.model import Study
from app.features.studies.options import PublishedFigure
from app.features.studies.service import create_study
from app.features.studies.side_by_side import OptionEntry
from app.platform.workspace import Installation, Workspace

_ESTIMATING = threading.Lock()
"""Held while estimating, so that concurrent requests do not compute the same estimates."""


def estimates(installation: Installation) -> Estimates:
    """Return the cached estimates of a version of the catalogue."""
    sizing = installation.sizing
    cached: Estimates = installation.pages.get(("claims", sizing.catalog.version), lambda: Estimates(sizing))
    return cached


def list_claims(workspace: Workspace, assumptions: ClaimsRequest) -> VendorClaims:
    context = workspace.context().priced(assumptions.price_book_id)
    with _ESTIMATING:
        return claims_of(context.catalog, estimates(workspace.installation), assumptions)


def get_claim(workspace: Workspace, claim_id: str, assumptions: ClaimsRequest) -> VendorClaim:
    context = workspace.context().priced(assumptions.price_book_id)
    with _ESTIMATING:
        return claim_of(claim_id, context.catalog, estimates(workspace.installation), assumptions)


def study_of_claim(workspace: Workspace, claim_id: str, phase: int) -> Study:
    """Store a study of the estimates of one phase of a claim, with the software of both eras."""
    claim = get_claim(workspace, claim_id, ClaimsRequest())
    phases = len(claim.readings[0].claimed.phases) if claim.readings else 0
    if not 0 <= phase < phases:
        raise NotFound.named("phase", str(phase), map(str, range(phases)), "phase")
    rows: dict[str, EstimateRequest | PublishedFigure] = {}
    for reading in claim.readings:
        for side in (reading.claimed, reading.baseline):
            estimate = side.phases[phase]
            label = f"{side.count} × {side.name} ({side.devices}), {estimate.software}"
            rows[label] = EstimateRequest.model_validate({**estimate.request, "label": label})
    title = f"{claim.model}, {claim.ratio:g}×, {claim.readings[0].claimed.phases[phase].phase}"
    return create_study(workspace, study_of([*map(OptionEntry, rows.values())], title))


def study_of_published(workspace: Workspace) -> Study:
    """Store a study of the published times to train; scaled ones stay scaled."""
    published = list_claims(workspace, ClaimsRequest()).hours
    rows: list[EstimateRequest | PublishedFigure] = []
    for hours in published:
        base = next(
            (other for other in published if other.system == hours.system and other.kind == "vendor"), None
        )
        if hours.kind == "linear" and base is not None:
            rows.append(
                PublishedFigure(
                    label=hours.label,
                    kind="linear",
                    system=hours.system,
                    scaled_from=base.label,
                    factor=hours.count,
                )
            )
        else:
            label = f"{hours.label} (≤)" if hours.ceiling else hours.label
            rows.append(PublishedFigure(label=label, kind="vendor", hours=hours.hours, system=hours.system))
    return create_study(workspace, study_of([*map(OptionEntry, rows)], "BERT-Large"))
