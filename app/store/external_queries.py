"""Accounts that sign in through a provider: by whom and as whom they are known there."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Field, Session, SQLModel, col, select

from app.store.identity_tables import Account, Invitation
from app.store.types import UtcDateTime


class ExternalIdentity(SQLModel, table=True):
    """A person at a provider and the account that is theirs."""

    __tablename__ = "external_identity"

    issuer: str = Field(primary_key=True, max_length=500)
    subject: str = Field(primary_key=True, max_length=255)
    account_id: str = Field(foreign_key="account.id", max_length=40, index=True)
    created_at: datetime = Field(sa_type=UtcDateTime)


class ExternalQueries:
    """The queries of one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def account_of(self, issuer: str, subject: str) -> Account | None:
        """Return the account of a person at a provider."""
        query = (
            select(Account)
            .join(ExternalIdentity, col(ExternalIdentity.account_id) == col(Account.id))
            .where(ExternalIdentity.issuer == issuer, ExternalIdentity.subject == subject)
        )
        return self._session.exec(query).first()

    def has_other(self, account_id: str, issuer: str) -> bool:
        """Tell whether an account belongs to somebody at a provider already."""
        query = select(ExternalIdentity.subject).where(
            ExternalIdentity.account_id == account_id, ExternalIdentity.issuer == issuer
        )
        return self._session.exec(query).first() is not None

    def invitation_for(self, sought: str, moment: datetime) -> Invitation | None:
        """Return the newest invitation of an address that works at a moment, to whichever workspace."""
        query = (
            select(Invitation)
            .where(
                Invitation.sought == sought,
                col(Invitation.used_at).is_(None),
                col(Invitation.expires_at) > moment,
            )
            .order_by(col(Invitation.created_at).desc())
        )
        return self._session.exec(query).first()

    def add(self, row: ExternalIdentity) -> None:
        """Keep whose account it is."""
        self._session.add(row)
