"""The tables of who may ask. Accounts stand beside the workspaces; a membership joins the two.

Of every token, password and code only a hash is kept, of a second factor's secret a sealed text.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from app.store.types import UtcDateTime


class Account(SQLModel, table=True):
    """A person."""

    id: str = Field(primary_key=True, max_length=40)
    email: str = Field(max_length=254)
    """As it was typed, to write to."""
    sought: str = Field(max_length=300, unique=True)
    """The address as it is looked up: without case."""
    name: str = Field(max_length=200)
    password_hash: str | None = Field(max_length=200)
    """None until a password has been set by link."""
    disabled: bool
    totp_sealed: str | None = Field(max_length=400)
    """Secret of the second factor, sealed; none without one."""
    totp_step: int | None
    """Time step of the last code that was taken, so that none is taken twice."""
    created_at: datetime = Field(sa_type=UtcDateTime)
    untold_failures: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    """Wrong passwords and codes that no sign-in has told yet."""


class RecoveryCode(SQLModel, table=True):
    """A code that stands in once for the second factor."""

    __tablename__ = "recovery_code"

    account_id: str = Field(foreign_key="account.id", primary_key=True, max_length=40)
    code_sha256: str = Field(primary_key=True, max_length=64)
    used_at: datetime | None = Field(sa_type=UtcDateTime)


class Membership(SQLModel, table=True):
    """What an account may do in a workspace."""

    __table_args__ = (Index("ix_membership_workspace", "workspace_id"),)

    account_id: str = Field(foreign_key="account.id", primary_key=True, max_length=40)
    workspace_id: str = Field(foreign_key="workspace.id", primary_key=True, max_length=40)
    role: str = Field(max_length=20)
    created_at: datetime = Field(sa_type=UtcDateTime)


class Invitation(SQLModel, table=True):
    """A link by which somebody becomes a member, once."""

    __table_args__ = (Index("ix_invitation_workspace", "workspace_id", "created_at"),)

    token_sha256: str = Field(primary_key=True, max_length=64)
    id: str = Field(unique=True, max_length=40)
    workspace_id: str = Field(foreign_key="workspace.id", max_length=40)
    email: str = Field(max_length=254)
    sought: str = Field(max_length=300)
    role: str = Field(max_length=20)
    created_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
    used_at: datetime | None = Field(sa_type=UtcDateTime)


class PasswordLink(SQLModel, table=True):
    """A link by which an account sets its password, once."""

    __tablename__ = "password_link"
    __table_args__ = (Index("ix_password_link_account", "account_id"),)

    token_sha256: str = Field(primary_key=True, max_length=64)
    account_id: str = Field(foreign_key="account.id", max_length=40)
    created_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
    used_at: datetime | None = Field(sa_type=UtcDateTime)


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
