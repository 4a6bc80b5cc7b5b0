"""What is answered about keys of the API and about webhooks."""

from __future__ import annotations

import datetime
from typing import Literal

from pydantic import Field

from app.sizing.document import Document, Text
from app.sizing.integration.request import KeyScope

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
