"""What surrounds sizing: API keys, webhooks, and who did what."""

from __future__ import annotations

from datetime import datetime

from app.client.calls import Call, Given, address, change, delete, document, get, operation, store, text
from app.features.integrations.model import (
    ApiKey,
    Delivery,
    KeyRequest,
    NewApiKey,
    NewWebhook,
    RotationRequest,
    Webhook,
    WebhookPatch,
    WebhookRequest,
)
from app.features.trail.model import TrailEvent
from app.platform.listing import Page


class IntegrationOperations:
    """Who else may ask, who is told, and who did what."""

    @operation
    def create_key(self, request: KeyRequest | Given, *, key: str | None = None) -> Call[NewApiKey]:
        """Make an API key; its secret is told this once."""
        return store(address("keys"), document(NewApiKey), request, key)

    @operation
    def list_keys(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[ApiKey]]:
        """List keys, newest first; never a secret."""
        return get(address("keys"), document(Page[ApiKey]), cursor=cursor, limit=limit)

    @operation
    def get_key(self, identifier: str) -> Call[ApiKey]:
        """Read what a key may do and when it was last used."""
        return get(address("keys", identifier), document(ApiKey))

    @operation
    def revoke_key(self, identifier: str) -> Call[None]:
        """Make a key stop working at once."""
        return delete(address("keys", identifier))

    @operation
    def rotate_key(
        self, identifier: str, request: RotationRequest | Given | None = None, *, key: str | None = None
    ) -> Call[NewApiKey]:
        """Make a key in the place of this one, which works on for a grace."""
        return store(address("keys", identifier, "rotate"), document(NewApiKey), request or {}, key)

    @operation
    def create_webhook(self, request: WebhookRequest | Given, *, key: str | None = None) -> Call[NewWebhook]:
        """Have an address told of events; the secret that signs is told this once."""
        return store(address("webhooks"), document(NewWebhook), request, key)

    @operation
    def list_webhooks(self, cursor: str | None = None, limit: int | None = None) -> Call[Page[Webhook]]:
        """List webhooks, newest first; never a secret."""
        return get(address("webhooks"), document(Page[Webhook]), cursor=cursor, limit=limit)

    @operation
    def get_webhook(self, identifier: str) -> Call[Webhook]:
        """Read what a webhook is told of."""
        return get(address("webhooks", identifier), document(Webhook))

    @operation
    def change_webhook(self, identifier: str, patch: WebhookPatch | Given) -> Call[Webhook]:
        """Change address, events or name of a webhook, or switch it on or off."""
        return change("PATCH", address("webhooks", identifier), document(Webhook), patch, None)

    @operation
    def remove_webhook(self, identifier: str) -> Call[None]:
        """Forget a webhook, its secret and its log."""
        return delete(address("webhooks", identifier))

    @operation
    def rotate_webhook_secret(
        self, identifier: str, request: RotationRequest | Given | None = None, *, key: str | None = None
    ) -> Call[NewWebhook]:
        """Make a new secret; the old one signs as well for a grace."""
        return store(address("webhooks", identifier, "rotate"), document(NewWebhook), request or {}, key)

    @operation
    def send_webhook_test(self, identifier: str, *, key: str | None = None) -> Call[Delivery]:
        """Send a message that says no more than that it arrives."""
        return Call("POST", address("webhooks", identifier, "test"), document(Delivery), key=key, keyed=True)

    @operation
    def list_deliveries(
        self, identifier: str, cursor: str | None = None, limit: int | None = None
    ) -> Call[Page[Delivery]]:
        """List the messages of a webhook with what came of them, newest first."""
        path = address("webhooks", identifier, "deliveries")
        return get(path, document(Page[Delivery]), cursor=cursor, limit=limit)

    @operation
    def resend_delivery(self, identifier: str, message: str) -> Call[Delivery]:
        """Send a message that has ended once more."""
        path = address("webhooks", identifier, "deliveries", message, "resend")
        return Call("POST", path, document(Delivery))

    @operation
    def list_audit_events(
        self,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        action: str | None = None,
        actor_kind: str | None = None,
        actor_id: str | None = None,
        object_kind: str | None = None,
        object_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Call[Page[TrailEvent]]:
        """List what was done in the workspace, newest first; for owners, who sign in without a key."""
        return get(
            address("audit-events"),
            document(Page[TrailEvent]),
            cursor=cursor,
            limit=limit,
            action=action,
            actor_kind=actor_kind,
            actor_id=actor_id,
            object_kind=object_kind,
            object_id=object_id,
            since=since and since.isoformat(),
            until=until and until.isoformat(),
        )

    @operation
    def export_audit_events(
        self,
        *,
        action: str | None = None,
        actor_kind: str | None = None,
        actor_id: str | None = None,
        object_kind: str | None = None,
        object_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Call[str]:
        """Read the same as CSV."""
        return get(
            address("audit-events.csv"),
            text,
            action=action,
            actor_kind=actor_kind,
            actor_id=actor_id,
            object_kind=object_kind,
            object_id=object_id,
            since=since and since.isoformat(),
            until=until and until.isoformat(),
        )
