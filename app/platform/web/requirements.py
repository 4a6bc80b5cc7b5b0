"""What a route asks of who comes, and who may ask how often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.platform.admission import Principal
from app.platform.rates import ClientKind, CostClass, Rates


class Right(StrEnum):
    """What an address asks of who comes."""

    READ = "read"
    """Look at what is there."""
    ASK = "ask"
    """Have something computed of which nothing is kept."""
    MAKE = "make"
    """Keep something new, or change what is kept."""
    PROPOSE = "propose"
    """Make, freeze and share what a customer is given."""
    HOOK = "hook"
    """Decide which events are sent where."""
    MANAGE = "manage"
    """Decide on people and keys, and read who did what."""
    OWN = "own"
    """What concerns nobody but the person who asks: password, second factor, sessions."""


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """The most that is taken of a JSON body."""

    size: int
    """[B]"""
    values: int
    """Members of objects and entries of lists."""


SMALL_BODY = BodyLimit(256_000, 25_000)
"""Fields that people fill in, and a year of hourly prices."""

LARGE_BODY = BodyLimit(2_000_000, 150_000)
"""A configuration, a layer table of ten thousand rows, a list of prices, a logo."""


@dataclass(frozen=True, slots=True)
class RouteRequirements:
    """What a route asks of who comes, and how much work it is."""

    right: Right | None
    """None where the method says it: who may read may GET."""
    cost: CostClass | None
    """None for what is usual: reading for a GET of the API, else an estimate."""
    body: BodyLimit = SMALL_BODY


Endpoint = TypeVar("Endpoint", bound=Callable[..., object])


def requires(
    right: Right | None = None, cost: CostClass | None = None, body: BodyLimit = SMALL_BODY
) -> Callable[[Endpoint], Endpoint]:
    """Say of a route which right it needs, unless it only reads, whether it takes long, and large bodies."""

    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, MARK, RouteRequirements(right, cost, body))
        return endpoint

    return mark


MARK = "__requirements__"


def requirements_of(endpoint: object) -> RouteRequirements:
    attached: RouteRequirements = getattr(endpoint, MARK, RouteRequirements(None, None))
    return attached


def right_of(method: str, endpoint: object) -> Right | None:
    """Return the right that a route needs; None where nobody may, since nothing was said of it."""
    right = requirements_of(endpoint).right
    return Right.READ if right is None and method in {"GET", "HEAD"} else right


STATE = "rate_headers"


def cost_of(method: str, path: str, endpoint: object) -> CostClass:
    """Return what kind a request is of; pages compute at each opening, also where they only show."""
    cost = requirements_of(endpoint).cost
    if cost is not None:
        return cost
    return CostClass.READ if path.startswith("/api/") and method in {"GET", "HEAD"} else CostClass.ESTIMATE


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
    cost = cost_of(request.method, request.url.path, request.scope.get("endpoint"))
    allowance = rates.count(principal.workspace_id, asker, identifier, cost)
    setattr(request.state, STATE, allowance.headers() if asker is ClientKind.KEY else {})
    allowance.check()
    if cost is CostClass.SEARCH:
        rates.check_processor(principal.workspace_id)


def count_reading(request: Request, workspace_id: str, link: str) -> None:
    """Count a reading of what a link shows, and refuse it beyond the link's quota."""
    rates: Rates = request.app.state.rates
    rates.count(workspace_id, ClientKind.LINK, link, CostClass.ESTIMATE).check()


class RateHeaders:
    """ASGI middleware: puts what is left to a key into every answer to it, refusals included."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(scope.get("state", {}).get(STATE, {}))
            await send(message)

        await self.app(scope, receive, send_with_headers)
