"""Vendor claims with their verdicts, and the estimates behind them as comparisons to keep."""

from __future__ import annotations

import threading

from app.errors import NotFound
from app.estimating.request import EstimateRequest, Locale
from app.features.claims.deciding import claim_of, claims_of
from app.features.claims.estimates import Estimates
from app.features.claims.model import ClaimsRequest, VendorClaim, VendorClaims
from app.features.comparisons.model import Comparison, ComparisonRequest, PublishedFigure
from app.features.comparisons.service import create_comparison
from app.platform.workbench import Workbench

_MAKING = threading.Lock()
"""Held while estimates may be made, so that two readers do not make the same ones."""


def estimates(bench: Workbench) -> Estimates:
    """Return the estimates of claims, each made once for a version of the catalogue."""
    made: Estimates = bench.pages.get(
        ("claims", bench.published.catalog.version), lambda: Estimates(bench.published)
    )
    return made


def list_claims(bench: Workbench, workspace_id: str, asked: ClaimsRequest) -> VendorClaims:
    context = bench.context(workspace_id).priced(asked.price_book_id)
    with _MAKING:
        return claims_of(context.catalog, estimates(bench), asked)


def get_claim(bench: Workbench, workspace_id: str, claim_id: str, asked: ClaimsRequest) -> VendorClaim:
    context = bench.context(workspace_id).priced(asked.price_book_id)
    with _MAKING:
        return claim_of(claim_id, context.catalog, estimates(bench), asked)


def compare_estimates(
    bench: Workbench, workspace_id: str, claim_id: str, phase: int, locale: Locale
) -> Comparison:
    """Keep the estimates of one phase of a claim side by side, with the software of both times."""
    claim = get_claim(bench, workspace_id, claim_id, ClaimsRequest())
    phases = len(claim.readings[0].claimed.phases) if claim.readings else 0
    if not 0 <= phase < phases:
        known = [str(number) for number in range(phases)]
        raise NotFound.named("phase", str(phase), known, "phase")
    rows: dict[str, EstimateRequest | PublishedFigure] = {}
    for reading in claim.readings:
        for side in (reading.claimed, reading.baseline):
            estimate = side.phases[phase]
            label = f"{side.count} × {side.name} ({side.devices}), {estimate.software}"
            rows[label] = EstimateRequest.model_validate({**estimate.request, "label": label})
    title = f"{claim.model}, {claim.ratio:g}×, {claim.readings[0].claimed.phases[phase].phase}"
    return create_comparison(
        bench, workspace_id, ComparisonRequest(title=title, locale=locale, rows=list(rows.values()))
    )


def compare_published(bench: Workbench, workspace_id: str, locale: Locale) -> Comparison:
    """Keep the published times to train side by side; what is scaled up stays so, for every efficiency."""
    found = list_claims(bench, workspace_id, ClaimsRequest()).hours
    rows: list[EstimateRequest | PublishedFigure] = []
    for one in found:
        base = next((other for other in found if other.system == one.system and other.kind == "vendor"), None)
        if one.kind == "linear" and base is not None:
            rows.append(
                PublishedFigure(
                    label=one.label,
                    kind="linear",
                    system=one.system,
                    scaled_from=base.label,
                    factor=one.count,
                )
            )
        else:
            label = f"{one.label} (≤)" if one.ceiling else one.label
            rows.append(PublishedFigure(label=label, kind="vendor", hours=one.hours, system=one.system))
    title = "BERT-Large"
    return create_comparison(bench, workspace_id, ComparisonRequest(title=title, locale=locale, rows=rows))
