"""What is answered about keys of the API and about webhooks."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from pydantic import Field

from app.estimating.documents import Text
from app.estimating.request import Schema
from app.estimating.schema import Document

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


KeyStatus = Literal["active", "replaced", "expired", "revoked"]

DeliveryStatus = Literal["waiting", "delivered", "failed", "dropped"]


class ApiKey(Document):
    """A key of the API, without its secret."""

    id: str = Field(description="Identifier of the key.")
    name: str = Field(description="What it is for.")
    prefix: str = Field(description="How it begins, by which it is told from others.")
    scopes: list[KeyScope] = Field(description="What it may do.")
    status: KeyStatus = Field(
        description="active; replaced: works until the grace is over; expired or revoked: works no longer."
    )
    created_at: datetime.datetime = Field(description="When it was made.")
    ends_at: datetime.datetime | None = Field(
        description="When it stops or stopped working; null where it does not."
    )
    last_used_at: datetime.datetime | None = Field(
        description="When it was last used, to the minute; null where it never was."
    )
    successor_id: str | None = Field(description="Identifier of the key in its place; null without one.")


class NewApiKey(ApiKey):
    """A key that was just made."""

    secret: str | None = Field(
        description=(
            "The whole key. It is told this once and not kept; null where a repeated request is answered."
        )
    )


class Webhook(Document):
    """An address that is told of events."""

    id: str = Field(description="Identifier of the webhook.")
    name: str = Field(description="What it is for.")
    url: str = Field(description="Where messages go.")
    events: list[str] = Field(description="What it is told of.")
    active: bool = Field(description="Whether it is told of anything.")
    disabled_because: Text | None = Field(
        description="Why it was switched off; null where it is on, or somebody has switched it off."
    )
    succeeded_at: datetime.datetime | None = Field(
        description="When a message last arrived; null where none has."
    )
    old_secret_until: datetime.datetime | None = Field(
        description="Until when messages carry a signature by the secret before as well; null without one."
    )
    created_at: datetime.datetime = Field(description="When it was made.")
    updated_at: datetime.datetime = Field(description="When it was last changed.")


class NewWebhook(Webhook):
    """A webhook that has a new secret."""

    secret: str | None = Field(
        description=(
            "What messages are signed with, whsec_ and base64. It is told this once; null where a repeated "
            "request is answered."
        )
    )


class Delivery(Document):
    """A message to a webhook and what came of it."""

    id: str = Field(description="Identifier of the message, sent as webhook-id at every try.")
    event: str = Field(description="What it tells of.")
    status: DeliveryStatus = Field(
        description="waiting to be sent, delivered, failed at every try, or dropped with its webhook."
    )
    attempts: int = Field(description="How often it was sent.")
    next_try_at: datetime.datetime | None = Field(description="When it is sent next; null at the end.")
    tried_at: datetime.datetime | None = Field(description="When it was last sent; null where it never was.")
    response_status: int | None = Field(description="HTTP status of the last answer; null without one.")
    response_text: str = Field(description="Beginning of the last answer.")
    reason: Text | None = Field(description="Why the last try failed; null where it did not.")
    body: str = Field(description="The message as it is signed and sent.")
    created_at: datetime.datetime = Field(description="When the event happened.")
