"""Routers that know the whole address of what is in them, and who may come.

What FastAPI includes from router to router it builds anew each time: its routes, the signatures of what they
depend on, the schemas of their bodies. Built whole they are put into applications as they are.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute

from app.errors import Message, NotFound
from app.platform.admission import Principal, Role, Scope, actor_of, holds, through_link
from app.platform.store.trail import acting
from app.platform.web.auth import address_of, get_principal
from app.platform.web.deps import workbench_of
from app.platform.web.problems import NotAllowed


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
    MANAGE = "manage"
    """Decide on people, keys and webhooks, and read who did what."""
    OWN = "own"
    """What concerns nobody but the person who asks: password, second factor, sessions."""


@dataclass(frozen=True, slots=True)
class Needed:
    """What a right needs."""

    role: Role
    """The least role."""
    scope: Scope | None
    """The scope of a key; none where no key may."""


NEEDED: Mapping[Right, Needed] = {
    Right.READ: Needed(Role.VIEWER, Scope.READ),
    Right.ASK: Needed(Role.VIEWER, Scope.ESTIMATE),
    Right.MAKE: Needed(Role.CONSULTANT, Scope.ESTIMATE),
    Right.PROPOSE: Needed(Role.CONSULTANT, Scope.PROPOSE),
    Right.MANAGE: Needed(Role.OWNER, None),
    Right.OWN: Needed(Role.VIEWER, None),
}

RANK = {role: place for place, role in enumerate(Role)}
"""Roles by how much they may: each may what those before it may."""

READING: Mapping[str, Right] = {
    **dict.fromkeys(
        (
            "", "accuracy", "boms", "breakevens", "calibrations", "catalog", "claims", "comparisons", "costs",
            "decisions", "estimates", "fabric-choices", "fabrics", "index", "jobs", "mappings", "methodology",
            "partitions", "plans", "price-books", "profiles", "proposals", "queues", "sizings", "studies",
            "sweeps", "uploads", "workloads",
        ),
        Right.READ,
    ),
    **dict.fromkeys(("audit", "audit-events", "keys", "people", "webhooks"), Right.MANAGE),
    "account": Right.OWN,
}  # fmt: skip
"""First part of an address → the right to read there (GET)."""

CHANGING: Mapping[str, Right] = {
    **dict.fromkeys(
        (
            "POST /searches", "POST /scalings", "POST /mappings", "POST /checks", "POST /partitions",
            "POST /queues", "POST /fabrics", "POST /breakevens", "POST /fabric-choices",
            "POST /studies/{}/answers",
        ),
        Right.ASK,
    ),
    **dict.fromkeys(
        (
            "POST /", "POST /examples/{}",
            "POST /profiles", "POST /workloads", "DELETE /profiles/{}", "DELETE /workloads/{}",
            "POST /uploads/{}/delete", "DELETE /studies/{}", "POST /studies/{}/delete",
            "POST /estimates", "POST /estimates/{}/costs", "POST /estimates/{}/plans", "POST /plans",
            "POST /estimates/{}/software",
            "POST /sizings", "POST /sizings/new", "POST /sizings/{}/options/{}/estimate",
            "POST /comparisons", "PATCH /comparisons/{}",
            "POST /claims/{}/comparison", "POST /claims/published", "POST /fabric-choices/new",
            "POST /calibrations", "POST /calibrations/new", "POST /calibrations/gain",
            "POST /calibrations/{}/estimate",
            "POST /studies", "POST /studies/new", "POST /studies/import", "PATCH /studies/{}",
            "POST /studies/{}/comparison", "POST /studies/{}/duplicate", "POST /studies/{}/archive",
            "POST /studies/{}/restore", "POST /studies/{}/edit", "POST /studies/{}/versions",
            "POST /sweeps", "POST /sweeps/{}/cancel", "POST /sweeps/{}/resume",
            "POST /price-books", "POST /price-books/{}", "PUT /price-books/{}", "PATCH /price-books/{}",
            "POST /boms", "POST /boms/new",
        ),
        Right.MAKE,
    ),
    **dict.fromkeys(
        (
            "POST /proposals", "POST /proposals/new", "PATCH /proposals/{}", "POST /proposals/{}/edit",
            "POST /estimates/{}/fabrics/proposal",
            "POST /proposals/{}/freeze", "POST /proposals/{}/replay", "POST /proposals/{}/share",
            "DELETE /proposals/{}/share", "POST /proposals/{}/unshare",
        ),
        Right.PROPOSE,
    ),
    **dict.fromkeys(
        (
            "POST /people/invitations", "POST /people/invitations/{}/withdraw", "POST /people/members/{}",
            "POST /people/members/{}/remove", "POST /people/workspace",
            "POST /keys", "DELETE /keys/{}", "POST /keys/{}/rotate", "POST /keys/{}/revoke",
            "POST /webhooks", "POST /webhooks/{}", "PATCH /webhooks/{}", "DELETE /webhooks/{}",
            "POST /webhooks/{}/rotate", "POST /webhooks/{}/switch", "POST /webhooks/{}/test",
            "POST /webhooks/{}/remove", "POST /webhooks/{}/deliveries/{}/resend",
        ),
        Right.MANAGE,
    ),
    **dict.fromkeys(
        (
            "POST /account", "POST /account/password", "POST /account/second-factor",
            "POST /account/second-factor/off", "POST /account/recovery-codes",
            "POST /account/sessions/{}/end", "POST /account/sign-out-everywhere", "POST /workspace",
        ),
        Right.OWN,
    ),
}  # fmt: skip
"""Method and address, identifiers left out → the right it needs; pages and API are one where they agree."""

API = "/api/v1"

PLACE = re.compile(r"{\w+}")

REASONS: Mapping[Right, Message] = {
    Right.READ: Message("reading with an API key requires the scope “read”"),
    Right.ASK: Message("computing with an API key requires the scope “estimate”"),
    Right.MAKE: Message(
        "creating and changing require the consultant role, and for an API key the scope “estimate”"
    ),
    Right.PROPOSE: Message("proposals require the consultant role, and for an API key the scope “propose”"),
    Right.MANAGE: Message("only signed-in owners of the workspace can do this, not an API key"),
    Right.OWN: Message("only a signed-in person can do this, not an API key"),
}
"""What is missing where a right is refused."""


def right_of(method: str, path: str) -> Right | None:
    """Return the right that an address needs; None where the table does not name it.

    >>> right_of("GET", "/studies/{identifier}.json"), right_of("PATCH", "/api/v1/studies/{id}")
    (<Right.READ: 'read'>, <Right.MAKE: 'make'>)
    """
    bare = PLACE.sub("{}", path.removeprefix(API))
    if method in {"GET", "HEAD"}:
        return READING.get(bare.split("/")[1].partition(".")[0])
    return CHANGING.get(f"{method} {bare}")


def allows(principal: Principal, right: Right) -> bool:
    """Tell whether role and scopes of who asks allow something."""
    needed = NEEDED[right]
    if RANK[principal.role] < RANK[needed.role]:
        return False
    if principal.key_id is None:
        return True
    return needed.scope is not None and needed.scope in principal.scopes


def may(request: Request, right: str) -> bool:
    """Tell a page whether its reader may do something; nobody may where nobody is known."""
    # Only a page that is for members has asked who comes.
    principal: Principal | None = getattr(request.state, "principal", None)
    return principal is not None and allows(principal, Right(right))


def entitled(request: Request) -> Principal:
    """Return who asks, if the table allows what the address is for."""
    principal = get_principal(request)
    right = right_of(request.method, request.scope["route"].path)
    if right is not None and allows(principal, right):
        return principal
    bench = workbench_of(request)
    for identifier in request.path_params.values():
        if not holds(bench, principal.workspace_id, str(identifier)):
            raise NotFound(Message("nothing found at {path}", {"path": request.url.path[:200]}))
    raise NotAllowed(REASONS[right] if right is not None else Message("nobody may do this"))


async def admitted(request: Request) -> AsyncIterator[Principal]:
    """Let in who may do what the address is for; what follows is done in their name."""
    # Dependencies of its own would be looked through for each of three hundred addresses.
    principal = await run_in_threadpool(entitled, request)
    with acting(actor_of(principal, address_of(request), request.state.request_id)):
        yield principal


async def with_link(request: Request) -> AsyncIterator[None]:
    """Let in whoever has a link; what follows is done through it."""
    with acting(through_link(address_of(request), request.state.request_id)):
        yield


def name_of(route: APIRoute) -> str:
    """Return what an operation is called: as its function."""
    return route.name


def page_router() -> APIRouter:
    """Return a router of pages for members only."""
    return APIRouter(include_in_schema=False, dependencies=[Depends(admitted)])


def routes_of(routers: Iterable[APIRouter]) -> list[BaseRoute]:
    """Return the routes of routers, in their order."""
    return [route for router in routers for route in router.routes]
