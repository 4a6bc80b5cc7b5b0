"""From keys and webhooks to what their pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar, get_args

from fastapi import Request
from pydantic import BaseModel, ValidationError

from app.errors import AppError, Message
from app.features.integrations import keys, webhooks
from app.features.integrations.model import ApiKey, Delivery, KeyScope, NewApiKey, ProposalEventName, Webhook
from app.platform.json_bodies import from_validation
from app.platform.web.contexts import Choice, Form
from app.platform.web.documents import older
from app.platform.web.locale import voice_of
from app.platform.wording.voice import Voice
from app.platform.workbench import Workbench


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
class KeysPage:
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
class WebhooksPage:
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
class WebhookPage:
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


LINES = 50

Asked = TypeVar("Asked", bound=BaseModel)

MEANINGS: Mapping[str, Message] = {
    "read": Message("Read estimates, comparisons, proposals and the catalogue."),
    "estimate": Message("Compute and save estimates, sizings, comparisons, studies and uploads."),
    "propose": Message("Create, freeze and share proposals."),
}
"""What a scope allows."""


def scope_choices(speaker: Voice) -> list[Choice]:
    """Return what a key may be allowed."""
    scopes: Sequence[str] = get_args(KeyScope)
    return [Choice(one, speaker.label(one, "scope"), speaker.say(MEANINGS[one])) for one in scopes]


def event_choices(speaker: Voice) -> list[Choice]:
    """Return what a webhook may be told of."""
    return [
        Choice(one, speaker.label(one.rpartition(".")[2], "event"), one)
        for one in get_args(ProposalEventName)
    ]


def written(moment: datetime | None, speaker: Voice) -> str:
    """Return a moment as day and time; empty without one."""
    if moment is None:
        return ""
    return f"{speaker.date(moment.date().isoformat())} {moment:%H:%M} UTC"


def keys_page(
    request: Request,
    bench: Workbench,
    workspace: str,
    *,
    cursor: str | None = None,
    form: Form | None = None,
    message: Message | None = None,
    made: NewApiKey | None = None,
) -> KeysPage:
    """Return the page of keys."""
    speaker = voice_of(request)
    found = keys.list_keys(bench, workspace, LINES, cursor)
    return KeysPage(
        keys=[key_line(key, speaker) for key in found.items],
        next_url=older("/keys", found),
        scopes=scope_choices(speaker),
        form=form or Form({"scopes": ["read"], "expires_in_days": ["365"]}),
        message=message,
        secret=(made.secret or "") if made else "",
        name=made.name if made else "",
    )


def key_line(key: ApiKey, speaker: Voice) -> KeyLine:
    """Return one line of the list of keys."""
    return KeyLine(
        key=key,
        ends=written(key.ends_at, speaker),
        used=written(key.last_used_at, speaker),
        works=key.status in {"active", "replaced"},
    )


def webhooks_page(
    request: Request,
    bench: Workbench,
    workspace: str,
    form: Form | None = None,
    message: Message | None = None,
) -> WebhooksPage:
    """Return the page of webhooks."""
    speaker = voice_of(request)
    usual = {"events": ["proposal.frozen", "proposal.shared", "proposal.opened", "proposal.expired"]}
    return WebhooksPage(
        webhooks=[
            WebhookLine(one, written(one.succeeded_at, speaker))
            for one in webhooks.list_webhooks(bench, workspace, LINES, None).items
        ],
        events=event_choices(speaker),
        form=form or Form(usual),
        message=message,
    )


def webhook_page(
    request: Request,
    bench: Workbench,
    workspace: str,
    identifier: str,
    *,
    cursor: str | None = None,
    form: Form | None = None,
    message: Message | None = None,
    secret: str = "",
) -> WebhookPage:
    """Return the page of a webhook with its log."""
    speaker = voice_of(request)
    webhook = webhooks.get_webhook(bench, workspace, identifier)
    found = webhooks.list_deliveries(bench, workspace, identifier, LINES, cursor)
    return WebhookPage(
        webhook=webhook,
        arrived=written(webhook.succeeded_at, speaker),
        old_until=written(webhook.old_secret_until, speaker),
        events=event_choices(speaker),
        deliveries=[
            DeliveryLine(
                delivery=one,
                happened=written(one.created_at, speaker),
                tried=written(one.tried_at, speaker),
                next_try=written(one.next_try_at, speaker),
            )
            for one in found.items
        ],
        next_url=older(f"/webhooks/{identifier}", found),
        form=form or Form({"name": [webhook.name], "url": [webhook.url], "events": webhook.events}),
        message=message,
        secret=secret,
    )


def refusal(
    values: Mapping[str, Sequence[str]], error: AppError | ValidationError
) -> tuple[Form, Message, int]:
    """Return the form with what is wrong beside its fields, what to say above it, and the status."""
    known = from_validation(error.errors(include_url=False)) if isinstance(error, ValidationError) else error
    return Form(values, known.errors), known.message, known.status


def asked(schema: type[Asked], values: Mapping[str, Sequence[str | None]], lists: frozenset[str]) -> Asked:
    """Return what was typed as a schema reads it; fields in ``lists`` hold several values."""
    body = {name: list(one) if name in lists else one[0] for name, one in values.items()}
    return schema.model_validate({**{name: [] for name in lists}, **body})
