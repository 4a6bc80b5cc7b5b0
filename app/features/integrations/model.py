"""Documents of API keys and webhooks."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal, get_args

from pydantic import Field

from app.estimating.documents import Text
from app.estimating.names import Name
from app.estimating.request import Schema, patch_of
from app.estimating.schema import Document

KeyScope = Literal["read", "estimate", "propose", "approve", "webhooks"]

EventName = Literal[
    "*",
    "proposal.created", "proposal.changed", "proposal.submitted", "proposal.returned", "proposal.frozen",
    "proposal.shared", "proposal.unshared", "proposal.sent", "proposal.accepted", "proposal.declined",
    "proposal.asked", "proposal.replied", "proposal.opened", "proposal.replayed", "proposal.expired",
    "study.created", "study.saved", "study.changed", "study.archived", "study.restored", "study.deleted",
    "sizing.created",
    "sweep.created", "sweep.done", "sweep.failed", "sweep.cancelled", "sweep.deleted",
]  # fmt: skip
"""Events of webhooks; * stands for all, also future ones."""

KeyName = Annotated[Name, Field(min_length=1, max_length=100)]

Scopes = Annotated[list[KeyScope], Field(min_length=1, max_length=len(get_args(KeyScope)))]

Events = Annotated[list[EventName], Field(min_length=1, max_length=len(get_args(EventName)))]

Url = Annotated[str, Field(min_length=1, max_length=500)]

MOST_GRACE = 720
"""Longest grace period of an old secret. [h]"""


class KeyRequest(Schema):
    """An API key to create."""

    name: KeyName = Field(description="Purpose.", examples=["Quotes from the CRM"])
    scopes: Scopes = Field(["read"])
    """Scopes of the key: read; estimate computes and stores; propose creates and shares proposals; webhooks
    manages webhooks.
    """
    expires_in_days: int | None = Field(365, ge=1, le=3650)
    """Days until the key expires; null for no expiry."""


class RotationRequest(Schema):
    """A new secret that replaces an existing one."""

    grace_hours: int = Field(
        24, ge=0, le=MOST_GRACE, description="Grace period during which the old secret also works. [h]"
    )


class WebhookRequest(Schema):
    """A URL to which event messages are sent."""

    url: Url = Field(examples=["https://crm.example.com/hooks/rackline"])
    """URL to which messages are sent: https, a public address or a host that the server allows, no user name
    in it.
    """
    events: Events = Field(["proposal.frozen", "proposal.shared", "proposal.opened", "proposal.expired"])
    """Events for which the webhook receives messages; “*” for all."""
    name: Annotated[Name, Field(max_length=100)] = ""
    """Purpose; if omitted, the host of the URL."""


@patch_of
class WebhookPatch(WebhookRequest):
    """Fields of a webhook to change. Omitted fields are unchanged."""

    active: bool | None = None
    """Whether the webhook receives events; true re-enables one that was switched off."""


KeyStatus = Literal["active", "replaced", "expired", "revoked"]

DeliveryStatus = Literal["waiting", "delivered", "failed", "dropped"]


class ApiKey(Document):
    """An API key, without its secret."""

    id: str = Field(description="Identifier of the key.")
    name: str = Field(description="Purpose.")
    prefix: str = Field(description="First characters of the key, by which to identify it.")
    scopes: list[KeyScope] = Field(description="Allowed scopes.")
    status: KeyStatus
    """Status: active; replaced (works until the grace period ends); expired or revoked (no longer works)."""
    created_at: datetime.datetime = Field(description="Creation time.")
    expires_at: datetime.datetime | None
    """Time at which the key stops or stopped working; null if it does not expire."""
    last_used_at: datetime.datetime | None
    """Time of last use, to the minute; null if never used."""
    successor_id: str | None
    """Identifier of the key that replaces it; null if there is none."""


class NewApiKey(ApiKey):
    """A newly created API key."""

    secret: str | None
    """The full key. It is returned only once and is not stored; null in the answer to a repeated request."""


class Webhook(Document):
    """A URL that receives event messages."""

    id: str = Field(description="Identifier of the webhook.")
    name: str = Field(description="Purpose.")
    url: str = Field(description="URL to which messages are sent.")
    events: list[str] = Field(description="Events for which the webhook receives messages.")
    active: bool = Field(description="Whether the webhook receives events.")
    disabled_because: Text | None
    """Why the webhook was disabled; null if it is active or was disabled by a user."""
    succeeded_at: datetime.datetime | None
    """Time of the last successful delivery; null if there is none."""
    old_secret_until: datetime.datetime | None
    """Time until which messages are also signed with the previous secret; null if there is none."""
    created_at: datetime.datetime = Field(description="Creation time.")
    updated_at: datetime.datetime = Field(description="Time of the last change.")


class NewWebhook(Webhook):
    """A webhook with a new secret."""

    secret: str | None
    """Signing secret of the messages: whsec_ followed by base64. It is returned only once; null in the answer
    to a repeated request.
    """


class Delivery(Document):
    """A message to a webhook and its delivery status."""

    id: str = Field(description="Identifier of the message, sent as webhook-id with every attempt.")
    event: str = Field(description="Type of the event.")
    status: DeliveryStatus
    """Status: waiting to be sent, delivered, failed at every attempt, or dropped with its webhook."""
    attempts: int = Field(description="Number of delivery attempts.")
    next_try_at: datetime.datetime | None
    """Time of the next attempt; null if there will be none."""
    tried_at: datetime.datetime | None = Field(description="Time of the last attempt; null if never sent.")
    response_status: int | None
    """HTTP status of the last response; null if there was none."""
    response_text: str = Field(description="Beginning of the last response body.")
    reason: Text | None = Field(description="Why the last attempt failed; null if it did not.")
    body: str = Field(description="Body of the message, as signed and sent.")
    created_at: datetime.datetime = Field(description="Time of the event.")
