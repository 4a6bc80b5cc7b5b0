"""Vendor claims beside estimates of our own on equal footing."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from app.features.claims import service as claims
from app.features.claims.model import ClaimsRequest, VendorClaim, VendorClaims
from app.platform.rates import CostClass
from app.platform.web.api import READ, api_router
from app.platform.web.deps import ID, WorkspaceDep
from app.platform.web.requirements import requires

router = api_router("claims", "/claims")

ClaimId = Annotated[str, Path(alias="id", description=ID, examples=["bert-large-3-dgx"])]


@router.get("", summary="List vendor claims", responses=READ)
@requires(cost=CostClass.SEARCH)
def list_claims(workspace: WorkspaceDep, assumptions: Annotated[ClaimsRequest, Query()]) -> VendorClaims:
    """Return published ratios with their base, our own per chip, dollar and watt, and a verdict by one
    rule.

    A claim that is not about training a network, or whose base is not stated, has no figure of ours.
    """
    return claims.list_claims(workspace, assumptions)


@router.get("/{id}", summary="Retrieve a vendor claim", responses=READ)
@requires(cost=CostClass.SEARCH)
def get_claim(
    workspace: WorkspaceDep, identifier: ClaimId, assumptions: Annotated[ClaimsRequest, Query()]
) -> VendorClaim:
    """Return estimates of both sides, with software of the time and later, and the request of each."""
    return claims.get_claim(workspace, identifier, assumptions)
