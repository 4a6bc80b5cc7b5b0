"""Who may do what, and routers that let in nobody else.

What FastAPI includes from router to router it builds anew each time: its routes, the signatures of what they
depend on, the schemas of their bodies. Built whole they are put into applications as they are.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute

from app.errors import Message, NotFound
from app.platform.admission import Principal, Role, Scope, actor_of, holds, through_link
from app.platform.store.trail import acting
from app.platform.web.auth import address_of, get_principal
from app.platform.web.deps import workspace_of
from app.platform.web.problems import Forbidden
from app.platform.web.requirements import Right, right_of


@dataclass(frozen=True, slots=True)
class AccessRule:
    """What a right needs."""

    role: Role
    """The least role."""
    scope: Scope | None
    """The scope of a key; none where no key may."""


ACCESS_RULES: Mapping[Right, AccessRule] = {
    Right.READ: AccessRule(Role.VIEWER, Scope.READ),
    Right.ASK: AccessRule(Role.VIEWER, Scope.ESTIMATE),
    Right.MAKE: AccessRule(Role.CONSULTANT, Scope.ESTIMATE),
    Right.PROPOSE: AccessRule(Role.CONSULTANT, Scope.PROPOSE),
    Right.HOOK: AccessRule(Role.OWNER, Scope.WEBHOOKS),
    Right.MANAGE: AccessRule(Role.OWNER, None),
    Right.OWN: AccessRule(Role.VIEWER, None),
}

RANK = {role: place for place, role in enumerate(Role)}
"""Roles by how much they may: each may what those before it may."""

REASONS: Mapping[Right, Message] = {
    Right.READ: Message("reading with an API key requires the scope “read”"),
    Right.ASK: Message("computing with an API key requires the scope “estimate”"),
    Right.MAKE: Message(
        "creating and changing require the consultant role, and for an API key the scope “estimate”"
    ),
    Right.PROPOSE: Message("proposals require the consultant role, and for an API key the scope “propose”"),
    Right.HOOK: Message("webhooks require the owner role, and for an API key the scope “webhooks”"),
    Right.MANAGE: Message("only signed-in owners of the workspace can do this, not an API key"),
    Right.OWN: Message("only a signed-in person can do this, not an API key"),
}
"""What is missing where a right is refused."""


def allows(principal: Principal, right: Right) -> bool:
    """Tell whether role and scopes of who asks allow something."""
    rule = ACCESS_RULES[right]
    if principal.key_id is not None:
        # What an owner has given to a key needs no role besides.
        return rule.scope is not None and rule.scope in principal.scopes
    return RANK[principal.role] >= RANK[rule.role]


def may(request: Request, right: str) -> bool:
    """Tell a page whether its reader may do something; nobody may where nobody is known."""
    # Only a page that is for members has asked who comes.
    principal: Principal | None = getattr(request.state, "principal", None)
    return principal is not None and allows(principal, Right(right))


def entitled(request: Request) -> Principal:
    """Return who asks, if they may do what the route is for."""
    principal = get_principal(request)
    right = right_of(request.method, request.scope["endpoint"])
    if right is not None and allows(principal, right):
        return principal
    workspace = workspace_of(request)
    for identifier in request.path_params.values():
        if not holds(workspace, str(identifier)):
            raise NotFound(Message("nothing found at {path}", {"path": request.url.path[:200]}))
    raise Forbidden(REASONS[right] if right is not None else Message("nobody may do this"))


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
    return route.name


def page_router() -> APIRouter:
    return APIRouter(include_in_schema=False, dependencies=[Depends(admitted)])


def routes_of(routers: Iterable[APIRouter]) -> list[BaseRoute]:
    return [route for router in routers for route in router.routes]
