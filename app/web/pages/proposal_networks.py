"""Networks in a proposal: the address of a choice of networks is its state, and names it here too."""

from __future__ import annotations

import re
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import QueryParams

from app.errors import AppError, BadInput, FieldError
from app.services.estimates import get_estimate_request
from app.services.evidence import compare_networks
from app.services.workbench import Workbench
from app.web.deps import BenchDep, WorkspaceDep
from app.web.locale import language_of
from app.web.pages.fabric_choices import OF_ESTIMATE
from app.web.pages.fabric_choices_asked import asked, placed, read_query, written_query
from app.web.routers import page_router

router = page_router()

PAGE = re.compile(r"/estimates/(?P<estimate>[a-z0-9_-]{1,40})/fabrics(?:\.json)?/?")
LONGEST = 4_000
"""Letters of an address that is pasted."""


def named_networks(bench: Workbench, workspace: str, address: str) -> dict[str, Any]:
    """Return the choice of networks that an address asks for, as a proposal names it."""
    try:
        parts = urlsplit(address[:LONGEST])
    except ValueError:
        raise not_an_address() from None
    found = PAGE.fullmatch(parts.path)
    if found is None:
        raise not_an_address()
    try:
        kept = get_estimate_request(bench, workspace, found["estimate"])
        choice = asked(read_query(QueryParams(parts.query)), kept)
    except AppError as error:
        error.errors = (FieldError("networks", error.message),)
        raise
    return choice.model_dump(mode="json", exclude_unset=True)


def not_an_address() -> BadInput:
    """Return the error for text that is no address of a choice of networks."""
    return BadInput.at("networks", "is no address of a choice of networks; copy that of its page")


@router.post(f"{OF_ESTIMATE}/proposal")
def propose_networks(request: Request, bench: BenchDep, workspace: WorkspaceDep, identifier: str) -> Response:
    """Compare the network taken with the one it is held against, and go on to the form of a proposal."""
    values = read_query(request.query_params)
    try:
        choice = asked(values, get_estimate_request(bench, workspace, identifier))
    except AppError as error:
        raise placed(error) from None
    locale: Literal["ko", "en"] = "ko" if language_of(request) == "ko" else "en"
    made = compare_networks(bench, workspace, choice, locale)
    path, query = OF_ESTIMATE.format(identifier=identifier), written_query(values)
    address = {"comparison": made.id, "networks": f"{path}?{query}" if query else path}
    return RedirectResponse(f"/proposals/new?{urlencode(address)}", 303)
