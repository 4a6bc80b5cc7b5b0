"""What the pages of keys and webhooks are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import Message
from app.sizing.integration.documents import ApiKey, Delivery, Webhook
from app.web.contexts import BasePage, Choice, Form


@dataclass(frozen=True, slots=True)
class KeyLine:
    """One key; moments as they are written."""

    key: ApiKey
    ends: str
    """Empty where it does not end."""
    used: str
    """Empty where it never was."""
    works: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysPage(BasePage):
    """Keys of the API, and how to make one."""

    keys: Sequence[KeyLine]
    next_url: str
    """Address of older ones; empty at the end."""
    scopes: Sequence[Choice]
    form: Form
    message: Message | None
    """What is wrong with what was sent."""
    secret: str
    """A key that was just made; empty otherwise."""
    name: str
    """What that key is for."""


@dataclass(frozen=True, slots=True)
class WebhookLine:
    """One webhook."""

    webhook: Webhook
    arrived: str
    """When a message last arrived, as written; empty where none has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhooksPage(BasePage):
    """Webhooks, and how to make one."""

    webhooks: Sequence[WebhookLine]
    events: Sequence[Choice]
    form: Form
    message: Message | None
    """What is wrong with what was sent."""


@dataclass(frozen=True, slots=True)
class DeliveryLine:
    """One message of the log; moments as they are written."""

    delivery: Delivery
    happened: str
    tried: str
    next_try: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookPage(BasePage):
    """One webhook with its log."""

    webhook: Webhook
    arrived: str
    old_until: str
    """Until when the secret before counts as well, as written; empty without one."""
    events: Sequence[Choice]
    deliveries: Sequence[DeliveryLine]
    next_url: str
    """Address of older messages; empty at the end."""
    form: Form
    message: Message | None
    """What is wrong with what was sent."""
    secret: str
    """A secret that was just made; empty otherwise."""
