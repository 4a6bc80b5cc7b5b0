"""Tables of accounts, sessions, keys and webhooks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKeyConstraint, Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from app.platform.store.queries import DOCUMENT, UtcDateTime, now
from app.platform.store.tables import OwnedRow


class Account(SQLModel, table=True):
    """A person."""

    id: str = Field(primary_key=True, max_length=40)
    email: str = Field(max_length=254)
    """As it was typed, to write to."""
    sought: str = Field(max_length=300, unique=True)
    """The address as it is looked up: without case."""
    name: str = Field(max_length=200)
    password_hash: str | None = Field(default=None, max_length=200)
    """None until a password has been set by link."""
    disabled: bool = False
    totp_sealed: str | None = Field(default=None, max_length=400)
    """Secret of the second factor, sealed; none without one."""
    totp_step: int | None = None
    """Time step of the last code that was taken, so that none is taken twice."""
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    untold_failures: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """Wrong passwords and codes that no sign-in has told yet."""


class RecoveryCode(SQLModel, table=True):
    """A code that stands in once for the second factor."""

    __tablename__ = "recovery_code"

    account_id: str = Field(foreign_key="account.id", primary_key=True, max_length=40)
    code_sha256: str = Field(primary_key=True, max_length=64)
    used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Membership(SQLModel, table=True):
    """What an account may do in a workspace."""

    __table_args__ = (Index("ix_membership_workspace", "workspace_id"),)

    account_id: str = Field(foreign_key="account.id", primary_key=True, max_length=40)
    workspace_id: str = Field(foreign_key="workspace.id", primary_key=True, max_length=40)
    role: str = Field(max_length=20)
    created_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class Invitation(SQLModel, table=True):
    """A link by which somebody becomes a member, once."""

    __table_args__ = (Index("ix_invitation_workspace", "workspace_id", "created_at"),)

    token_sha256: str = Field(primary_key=True, max_length=64)
    id: str = Field(unique=True, max_length=40)
    workspace_id: str = Field(foreign_key="workspace.id", max_length=40)
    email: str = Field(max_length=254)
    sought: str = Field(max_length=300)
    role: str = Field(max_length=20)
    inviter_id: str | None = Field(default=None, max_length=40)
    """Account of who invited; unknown of invitations made before there was this column."""
    created_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
    used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class PasswordLink(SQLModel, table=True):
    """A link by which an account sets its password, once."""

    __tablename__ = "password_link"
    __table_args__ = (Index("ix_password_link_account", "account_id"),)

    token_sha256: str = Field(primary_key=True, max_length=64)
    account_id: str = Field(foreign_key="account.id", max_length=40)
    created_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
    used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class AccountSession(SQLModel, table=True):
    """A browser that is signed in, or has given its password and still owes the second factor."""

    __tablename__ = "account_session"
    __table_args__ = (Index("ix_account_session_account", "account_id", "created_at"),)

    token_sha256: str = Field(primary_key=True, max_length=64)
    id: str = Field(unique=True, max_length=40)
    account_id: str = Field(foreign_key="account.id", max_length=40)
    workspace_id: str = Field(foreign_key="workspace.id", max_length=40)
    complete: bool
    """False while the second factor is owed; such a session opens nothing."""
    created_at: datetime = Field(sa_type=UtcDateTime)
    seen_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
    address: str = Field(max_length=60)
    user_agent: str = Field(max_length=200)
    failures: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """Wrong passwords and codes that it told: those since the sign-in before it."""


class ExternalIdentity(SQLModel, table=True):
    """A person at a provider and the account that is theirs."""

    __tablename__ = "external_identity"

    issuer: str = Field(primary_key=True, max_length=500)
    subject: str = Field(primary_key=True, max_length=255)
    account_id: str = Field(foreign_key="account.id", max_length=40, index=True)
    created_at: datetime = Field(sa_type=UtcDateTime)


class LoginAttempt(SQLModel, table=True):
    """Failed attempts in a row: of an account, of an address or of a second factor."""

    __tablename__ = "login_attempt"
    __table_args__ = (Index("ix_login_attempt_last", "last_at"),)

    subject_sha256: str = Field(primary_key=True, max_length=64)
    """Hash of what was tried, so that mistyped names and passwords in their place are not kept."""
    failures: int
    """Attempts since the last one that was right."""
    last_at: datetime = Field(sa_type=UtcDateTime)
    blocked_until: datetime = Field(sa_type=UtcDateTime)
    """Before this moment no attempt is looked at."""


class ApiKeyRecord(OwnedRow, table=True):
    """A key of the API; of its secret only the hash is kept."""

    __tablename__ = "api_key"
    __table_args__ = (Index("ix_api_key_listing", "workspace_id", "created_at", "id"),)

    name: str = Field(max_length=200)
    prefix: str = Field(max_length=20, unique=True)
    """Public part of the key, by which it is found."""
    secret_sha256: str = Field(max_length=64)
    scopes: list[str] = Field(sa_type=DOCUMENT)
    expires_at: datetime | None = Field(sa_type=UtcDateTime)
    last_used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    """Written at most once a minute."""
    revoked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    successor_id: str | None = Field(default=None, max_length=40)
    """Key that takes its place."""
    grace_ends_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    """Until when it still works beside its successor."""


class RateWindow(SQLModel, table=True):
    """Requests counted in one window of time; for servers that count together."""

    __tablename__ = "rate_window"
    __table_args__ = (Index("ix_rate_window_ends", "ends_at"),)

    workspace_id: str = Field(foreign_key="workspace.id", primary_key=True, max_length=40)
    name: str = Field(primary_key=True, max_length=200)
    """Whose requests, and of which kind."""
    position: int = Field(primary_key=True, sa_type=BigInteger)
    """Number of the window since 1970."""
    hits: int
    ends_at: datetime = Field(sa_type=UtcDateTime)
    """When it counts no longer."""


class WebhookRecord(OwnedRow, table=True):
    """A URL that receives event messages."""

    __tablename__ = "webhook"
    __table_args__ = (
        UniqueConstraint("workspace_id", "id"),
        Index("ix_webhook_listing", "workspace_id", "created_at", "id"),
    )

    name: str = Field(max_length=200)
    url: str = Field(max_length=500)
    events: list[str] = Field(sa_type=DOCUMENT)
    sealed_secret: str = Field(max_length=400)
    """What messages are signed with, encrypted with a key that is not in the database."""
    previous_sealed: str | None = Field(default=None, max_length=400)
    previous_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    """Until when messages are signed with the secret before it as well."""
    active: bool
    disabled: dict[str, Any] | None = Field(default=None, sa_type=DOCUMENT)
    """Why it was switched off, as a sentence with what a translation needs; none where people did it."""
    succeeded_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    """When a message last arrived."""
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class WebhookDelivery(OwnedRow, table=True):
    """A message to one webhook: written with the event it tells of, sent later."""

    __tablename__ = "webhook_delivery"
    __table_args__ = (
        # The key carries the workspace: a message cannot belong to another's webhook.
        ForeignKeyConstraint(["workspace_id", "webhook_id"], ["webhook.workspace_id", "webhook.id"]),
        Index("ix_webhook_delivery_listing", "workspace_id", "webhook_id", "created_at", "id"),
        Index("ix_webhook_delivery_due", "status", "next_try_at"),
    )

    webhook_id: str = Field(max_length=40)
    event: str = Field(max_length=40)
    body: str
    """Body of the message, as signed and sent."""
    status: str = Field(max_length=20)
    """waiting, delivered, failed or dropped."""
    attempts: int
    next_try_at: datetime | None = Field(sa_type=UtcDateTime)
    """When it is sent next; none when nothing more is tried."""
    leased_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    """Until when whoever sends it has it alone."""
    tried_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    response_status: int | None = Field(default=None)
    response_text: str = Field(default="", max_length=1000)
    """Beginning of the last response body."""
    reason: dict[str, Any] | None = Field(default=None, sa_type=DOCUMENT)
    """Why the last try failed, as a sentence with what a translation needs."""
