"""Who may ask how often: which kind a request is of, and the header fields that say what is left."""

from __future__ import annotations

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.platform.admission import Principal
from app.platform.rates import ClientKind, CostClass, Rates

SEARCHING = frozenset(
    {
        "answer_study",
        "change_comparison",
        "change_proposal",
        "change_study",
        "choose_fabric",
        "compare_study",
        "create_calibration",
        "create_comparison",
        "create_proposal",
        "create_sizing",
        "create_study",
        "create_sweep",
        "duplicate_study",
        "find_break_even",
        "freeze_proposal",
        "get_claim",
        "import_study",
        "list_claims",
        "proposal_pdf",
        "proposal_workbook",
        "replay_proposal",
        "resume_sweep",
        "run_search",
        "scale_system",
        "simulate_queue",
    }
)
"""Names of the operations that take longest: they search plans, compute many estimates or set documents."""

TWINS = frozenset(
    {
        "POST /",
        "POST /examples/{identifier}",
        *("GET /plans", "GET /plans.json"),
        *("GET /estimates/{identifier}/plans", "GET /estimates/{identifier}/plans.json"),
        *("GET /estimates/{identifier}/fabrics", "GET /estimates/{identifier}/fabrics.json"),
        "POST /estimates/{identifier}/fabrics/proposal",
        *("GET /comparisons/{identifier}/scaling", "GET /comparisons/{identifier}/scaling.json"),
        "POST /sizings/new",
        "POST /calibrations/new",
        *("POST /sweeps", "POST /sweeps/{identifier}/resume"),
        *("GET /queues", "GET /queues.json"),
        *("GET /breakevens", "GET /breakevens.json", "GET /breakevens.csv"),
        *("GET /claims", "GET /claims.json", "GET /claims/{identifier}", "GET /claims/{identifier}.json"),
        *("POST /claims/{identifier}/comparison", "POST /claims/published"),
        *("POST /proposals/new", "POST /proposals/{identifier}/edit", "POST /proposals/{identifier}/freeze"),
        *("GET /proposals/{identifier}.pdf", "GET /proposals/{identifier}.xlsx"),
        *("GET /proposals/{identifier}/replay", "GET /proposals/{identifier}/replay.json"),
        *("POST /studies/new", "POST /studies/import", "POST /studies/{identifier}/versions"),
        *("POST /studies/{identifier}/duplicate", "POST /studies/{identifier}/comparison"),
    }
)
"""Pages behind which the same work is done: method and template of the address."""

STATE = "rate_headers"


def effort_of(method: str, path: str, template: str, name: str) -> CostClass:
    """Return what kind a request is of; pages compute at each opening, also where they only show."""
    if path.startswith("/api/"):
        quick = CostClass.READ if method in {"GET", "HEAD"} else CostClass.ESTIMATE
        return CostClass.SEARCH if name in SEARCHING else quick
    return CostClass.SEARCH if f"{method} {template}" in TWINS else CostClass.ESTIMATE


def count_request(request: Request, principal: Principal) -> None:
    """Count a request of a key or a person, once, and refuse it beyond their quota.

    Who sits at a server without accounts is not counted: nobody else waits. What is left is told to keys.
    """
    if hasattr(request.state, STATE):
        return
    if principal.key_id is not None:
        asker, identifier = ClientKind.KEY, principal.key_id
    elif principal.account_id is not None:
        asker, identifier = ClientKind.PERSON, principal.account_id
    else:
        return
    rates: Rates = request.app.state.rates
    route = request.scope.get("route")
    template, name = getattr(route, "path", ""), getattr(route, "name", "")
    effort = effort_of(request.method, request.url.path, template, name)
    allowance = rates.count(principal.workspace_id, asker, identifier, effort)
    setattr(request.state, STATE, allowance.headers() if asker is ClientKind.KEY else {})
    allowance.check()


def count_reading(request: Request, workspace_id: str, link: str) -> None:
    """Count a reading of what a link shows, and refuse it beyond the link's quota."""
    rates: Rates = request.app.state.rates
    rates.count(workspace_id, ClientKind.LINK, link, CostClass.ESTIMATE).check()


class RateHeaders:
    """ASGI middleware: puts what is left to a key into every answer to it, refusals included."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add the header fields."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(scope.get("state", {}).get(STATE, {}))
            await send(message)

        await self.app(scope, receive, send_with_headers)
