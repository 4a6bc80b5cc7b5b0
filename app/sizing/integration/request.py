"""What is asked about keys of the API and about webhooks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.sizing.request import Schema

KeyScope = Literal["read", "estimate", "propose"]
ProposalEventName = Literal[
    "proposal.created",
    "proposal.changed",
    "proposal.frozen",
    "proposal.shared",
    "proposal.unshared",
    "proposal.opened",
    "proposal.replayed",
    "proposal.expired",
]

Name = Annotated[str, Field(min_length=1, max_length=100)]
Scopes = Annotated[list[KeyScope], Field(min_length=1, max_length=3)]
Events = Annotated[list[ProposalEventName], Field(min_length=1, max_length=8)]
Url = Annotated[str, Field(min_length=1, max_length=500)]

MOST_GRACE = 720
"""Longest time that an old secret works beside a new one. [h]"""


class KeyRequest(Schema):
    """A key of the API to make."""

    name: Name = Field(description="What it is for.", examples=["Quotes from the CRM"])
    scopes: Scopes = Field(
        ["read"],
        description="What it may do: read; estimate computes and keeps; propose makes and shares proposals.",
    )
    expires_in_days: int | None = Field(
        365, ge=1, le=3650, description="Days for which it works; null for ever."
    )


class RotationRequest(Schema):
    """A new secret to make in the place of another one."""

    grace_hours: int = Field(
        24, ge=0, le=MOST_GRACE, description="Hours for which the old one works beside it. [h]"
    )


class WebhookRequest(Schema):
    """An address to tell of events."""

    url: Url = Field(
        description="Where messages go: https, a public address, no user name in it.",
        examples=["https://crm.example.com/hooks/rackline"],
    )
    events: Events = Field(
        ["proposal.frozen", "proposal.shared", "proposal.opened", "proposal.expired"],
        description="What it is told of.",
    )
    name: Annotated[str, Field(max_length=100)] = Field("", description="What it is for; left out, its host.")


class WebhookPatch(Schema):
    """What to change of a webhook; what is left out stays."""

    url: Url | None = Field(None, description="Where messages go.")
    events: Events | None = Field(None, description="What it is told of.")
    name: Annotated[str, Field(max_length=100)] | None = Field(None, description="What it is for.")
    active: bool | None = Field(
        None, description="Whether it is told of anything; true brings back what was switched off."
    )
