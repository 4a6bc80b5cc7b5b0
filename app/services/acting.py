"""In whose name a request changes things."""

from __future__ import annotations

from app.services.admission import LOCAL, Principal
from app.store.trail import Actor, acting

__all__ = ["Actor", "acting", "actor_of", "through_link"]


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
