"""In whose name a request changes things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from app.platform.store.trail import Actor
from app.platform.workspace import LOCAL_WORKSPACE, Workspace


def holds(workspace: Workspace, identifier: str) -> bool:
    """Tell whether an identifier may be spoken of: an object of this workspace, or of no kind kept here."""
    with workspace.transaction() as repository:
        return repository.holds(identifier) is not False


class Role(StrEnum):
    """What a member of a workspace may do; each may do what those before it may."""

    VIEWER = "viewer"
    CONSULTANT = "consultant"
    OWNER = "owner"


class Scope(StrEnum):
    """What an API key may do."""

    READ = "read"
    ESTIMATE = "estimate"
    PROPOSE = "propose"
    APPROVE = "approve"
    WEBHOOKS = "webhooks"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request brings to say who it is."""

    session: str | None = field(default=None, repr=False)
    """Token of the session's cookie."""
    bearer: str | None = field(default=None, repr=False)
    """What follows ``Bearer`` in the Authorization header."""
    address: str = ""
    """Network address it came from."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks, in which workspace, and what they may do there."""

    workspace_id: str
    name: str
    role: Role
    account_id: str | None = None
    """Account of the person; none on a server without accounts and for a key."""
    key_id: str | None = None
    """API key that was used; none for a person."""
    scopes: frozenset[Scope] = frozenset(Scope)
    workspace_name: str = ""
    """What the workspace is called; empty on a server without accounts."""


class Admission(Protocol):
    """Finds the principal of a request."""

    def principal(self, credentials: Credentials) -> Principal | None:
        """Return who asks; None for nobody known."""


LOCAL = Principal(LOCAL_WORKSPACE, "Local", Role.OWNER)
"""Whoever reaches a server without accounts: it listens on this machine alone."""


class LocalAdmission:
    """A server without accounts: one workspace, which belongs to whoever sits at the machine.

    That ends with the first account, which another process makes: it is looked for at every request.
    """

    def __init__(self, any_account: Callable[[], bool], then: Admission) -> None:
        self._any_account = any_account
        self._then = then

    def principal(self, credentials: Credentials) -> Principal | None:
        return self._then.principal(credentials) if self._any_account() else LOCAL


def actor_of(principal: Principal, address: str, request_id: str) -> Actor:
    """Return who asks, as the trail has it."""
    if principal.key_id is not None:
        return Actor("key", principal.key_id, principal.name, address, request_id)
    if principal.account_id is None and principal.workspace_id == LOCAL.workspace_id:
        return Actor("local", "", principal.name, address, request_id)
    return Actor("person", principal.account_id or "", principal.name, address, request_id)


def through_link(address: str, request_id: str) -> Actor:
    """Return whoever has a link; which link is said by what is done."""
    return Actor("link", "", "", address, request_id)
