"""Pages of vendor claims; the assumptions are in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qsl, urlencode

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from app.errors import AppError
from app.features.claims import charts
from app.features.claims.model import ClaimsRequest, VendorClaim, VendorClaims
from app.features.claims.service import get_claim, list_claims, study_of_claim, study_of_published
from app.features.comparisons.pages import PARAMETER, share_of
from app.features.studies.forms import address as study_address
from app.platform.json_bodies import checked
from app.platform.rates import CostClass
from app.platform.web.contexts import FigureView, Form, view
from app.platform.web.deps import QueryDep, WorkspaceDep, workspace_of
from app.platform.web.forms import FormDep, refused, typed
from app.platform.web.locale import voice_of
from app.platform.web.query_forms import FormFields
from app.platform.web.requirements import Right, requires
from app.platform.web.resources import resource
from app.platform.web.rights import page_router
from app.platform.wording.voice import Voice

router = page_router()

FIELDS = FormFields(ClaimsRequest)

Values = Mapping[str, Sequence[str]]


def assumptions(values: Values) -> ClaimsRequest:
    body = FIELDS.body({name: texts for name, texts in values.items() if name != PARAMETER})
    if values.get(PARAMETER):
        body[PARAMETER] = share_of(values[PARAMETER][0])
    return checked(ClaimsRequest, body)


def assumed(request: Request) -> ClaimsRequest:
    return assumptions(typed(request.query_params))


AssumedDep = Annotated[ClaimsRequest, Depends(assumed)]


def canonical(values: Values, request: ClaimsRequest) -> str:
    """Return the canonical query: the efficiency as a share, omitted if it is 1."""
    fields = {name: texts[0] for name, texts in values.items() if name != PARAMETER}
    if request.scaling_efficiency != 1:
        fields[PARAMETER] = f"{request.scaling_efficiency:.6g}"
    return urlencode({name: fields[name] for name in FIELDS if name in fields})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsPage:
    """Vendor claims with their verdicts."""

    form: Form
    query: str
    """Query of the assumptions with its question mark; may be empty."""
    found: VendorClaims
    placeholders: Mapping[str, str]
    """Field → value in use where it is empty."""
    article_url: str
    """Address with price and power equal as in the article."""
    plain_url: str
    """Address without any assumption."""
    chart: FigureView


EQUAL = "dgx_per_pod64"


def claims_page(claims: VendorClaims, form: Form, query: str, voice: Voice) -> ClaimsPage:
    kept = {name: value for name, value in parse_qsl(query) if name not in (EQUAL, "pod64_price")}
    return ClaimsPage(
        form=form,
        query=ending(query),
        found=claims,
        placeholders=placeholders(claims, voice),
        article_url=f"/claims?{urlencode({**kept, EQUAL: f'{claims.parity.count:g}'})}",
        plain_url=f"/claims{ending(urlencode(kept))}",
        chart=view(
            "claims",
            voice.gettext("Published ratio and our range by footing"),
            charts.claims(claims.items, voice),
            voice.gettext("The line marks 1, where both sides are equally fast. Bars are 80 % intervals."),
            "claims",
        ),
    )


def ending(query: str) -> str:
    return f"?{query}" if query else ""


def placeholders(claims: VendorClaims, voice: Voice) -> Mapping[str, str]:
    prices = {
        side.system: side.price.value
        for claim in claims.items
        for reading in claim.readings
        for side in (reading.claimed, reading.baseline)
    }
    values = {
        "pod64_price": prices["ipu-pod64"],
        "dgx_price": prices["dgx-a100-320gb"],
        "m2000_price": prices["ipu-m2000"],
        EQUAL: prices["ipu-pod64"] / prices["dgx-a100-320gb"],
    }
    return {name: voice.number(value) for name, value in values.items()}


def shown_claims(request: Request, claims: VendorClaims) -> object:
    """Return the page; an efficiency in percent is sent to the address that holds it as a share."""
    values = FIELDS.known(typed(request.query_params))
    body = assumptions(values)
    query = canonical(values, body)
    if query != urlencode(
        [(name, text) for name, text in request.query_params.multi_items() if name in FIELDS]
    ):
        return RedirectResponse(f"/claims{ending(query)}", 303)
    form = Form({**values, PARAMETER: [f"{body.scaling_efficiency * 100:.4g}"]})
    return claims_page(claims, form, query, voice_of(request))


def refused_claims(request: Request, error: AppError) -> ClaimsPage:
    """Return the claims under the catalogue's figures, with the errors beside the assumptions."""
    values = FIELDS.known(typed(request.query_params))
    claims = list_claims(workspace_of(request), ClaimsRequest())
    return claims_page(claims, refused(values, error, ()), "", voice_of(request))


@resource(
    router, "/claims", "claims/claims.html", shown_claims, cost=CostClass.SEARCH, refused=refused_claims
)
def show_claims(workspace: WorkspaceDep, query: QueryDep) -> VendorClaims:
    return list_claims(workspace, assumptions(FIELDS.known(typed(query))))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPage:
    """One vendor claim with both estimates."""

    claim: VendorClaim
    query: str
    """Query of the assumptions with its question mark; may be empty."""


def claim_page(request: Request, claim: VendorClaim) -> ClaimPage:
    query = canonical(FIELDS.known(typed(request.query_params)), assumed(request))
    return ClaimPage(claim=claim, query=ending(query))


@resource(router, "/claims/{identifier}", "claims/claim.html", claim_page, cost=CostClass.SEARCH)
def show_claim(workspace: WorkspaceDep, identifier: str, assumed: AssumedDep) -> VendorClaim:
    return get_claim(workspace, identifier, assumed)


@router.post("/claims/{identifier}/comparison")
@requires(Right.MAKE, CostClass.SEARCH)
def open_claim(workspace: WorkspaceDep, identifier: str, phase: int = 0) -> Response:
    """Make the estimates of a claim, keep them side by side and go there."""
    return RedirectResponse(study_address(study_of_claim(workspace, identifier, phase).id, ()), 303)


@router.post("/claims/published")
@requires(Right.MAKE, CostClass.SEARCH)
def open_published(workspace: WorkspaceDep, form: FormDep) -> Response:
    """Keep the published hours side by side and go there, at the scaling efficiency of the page."""
    share = share_of(str(form.get(PARAMETER, "")))
    query = [] if share == 1 else [(PARAMETER, f"{share:.6g}")]
    return RedirectResponse(study_address(study_of_published(workspace).id, query), 303)
