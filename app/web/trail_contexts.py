"""What the template of the audit trail is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.web.contexts import BasePage, Choice, Form


@dataclass(frozen=True, slots=True)
class TrailLine:
    """An event as a line of the table."""

    at: str
    action: str
    actor: str
    """Name, or what kind of actor it is."""
    actor_kind: str
    named: bool
    """Whether the actor is known by more than its kind."""
    object_kind: str
    object_id: str
    object_url: str
    """Where the object is looked at; empty where it is not."""
    address: str
    detail: str
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailPage(BasePage):
    """The audit trail, perhaps narrowed."""

    form: Form
    actions: Sequence[str]
    lines: Sequence[TrailLine]
    next: Choice | None
    """Address of older events."""
    csv_url: str
