"""Who may ask how often: which kind a request is of, and the header fields that say what is left."""

from __future__ import annotations

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.services.admission import Principal
from app.services.rates import Asker, Effort, Rates

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
"""Names of the routes that take longest: they search plans, compute many estimates or set documents."""

STATE = "rate_headers"


def effort_of(method: str, path: str, name: str) -> Effort:
    """Return what kind a request is of; pages compute at each opening, also where they only show.

    >>> effort_of("GET", "/api/v1/estimates", "list_estimates"), effort_of("GET", "/plans", "show_plans")
    (<Effort.READ: 'read'>, <Effort.ESTIMATE: 'estimate'>)
    """
    if name in SEARCHING:
        return Effort.SEARCH
    return Effort.READ if method in {"GET", "HEAD"} and path.startswith("/api/") else Effort.ESTIMATE


def count_request(request: Request, principal: Principal) -> None:
    """Count a request of a key or a person, once, and refuse it beyond their quota.

    Who sits at a server without accounts is not counted: nobody else waits. What is left is told to keys.
    """
    if hasattr(request.state, STATE):
        return
    if principal.key_id is not None:
        asker, identifier = Asker.KEY, principal.key_id
    elif principal.account_id is not None:
        asker, identifier = Asker.PERSON, principal.account_id
    else:
        return
    rates: Rates = request.app.state.rates
    effort = effort_of(request.method, request.url.path, getattr(request.scope.get("route"), "name", ""))
    allowance = rates.count(principal.workspace_id, asker, identifier, effort)
    setattr(request.state, STATE, allowance.headers() if asker is Asker.KEY else {})
    allowance.check()


def count_reading(request: Request, workspace_id: str, link: str) -> None:
    """Count a reading of what a link shows, and refuse it beyond the link's quota."""
    rates: Rates = request.app.state.rates
    rates.count(workspace_id, Asker.LINK, link, Effort.ESTIMATE).check()


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
