"""An account as its person sees it: sessions, workspaces, what protects it."""

from __future__ import annotations

from datetime import datetime

from app.services.admission import Role
from app.services.identity import Identity
from app.services.second_factor import Enrolment, existing, existing_of, offer, renewed
from app.services.tokens import token_hash
from app.sizing.document import Document
from app.store.types import now


class SessionDocument(Document):
    """A browser that is signed in."""

    id: str
    """Identifier."""
    here: bool
    """Whether it is the one that asks."""
    address: str
    """Network address it signed in from."""
    user_agent: str
    """What the browser calls itself."""
    created_at: datetime
    """When it signed in."""
    seen_at: datetime
    """When it last asked for something, to the minute."""
    expires_at: datetime
    """When it ends at the latest."""
    failures: int
    """Passwords and codes that were wrong since the sign-in before."""


class Place(Document):
    """A workspace of the account."""

    id: str
    """Identifier."""
    name: str
    """What it is called."""
    role: Role
    """What the account may do there."""


class AccountDocument(Document):
    """The account of the person who asks."""

    id: str
    """Identifier."""
    name: str
    """What the person is called."""
    email: str
    """E-mail address."""
    second_factor: bool
    """Whether a second factor protects it."""
    recovery_codes: int
    """Recovery codes that are left."""
    workspaces: list[Place]
    """Workspaces it is a member of."""
    sessions: list[SessionDocument]
    """Browsers that are signed in, the one used last first."""


def get_account(identity: Identity, account_id: str, token: str) -> AccountDocument:
    """Return an account with its sessions; the token tells which of them asks."""
    moment, here = now(), token_hash(token)
    with identity.store.identity() as queries:
        account = existing(queries, account_id)
        return AccountDocument(
            id=account.id,
            name=account.name,
            email=account.email,
            second_factor=account.totp_sealed is not None,
            recovery_codes=queries.people.recovery_codes_left(account.id),
            workspaces=[
                Place(id=place.id, name=place.name, role=Role(member.role))
                for member, place in queries.people.memberships(account.id)
            ],
            sessions=[
                SessionDocument(
                    id=one.id,
                    here=one.token_sha256 == here,
                    address=one.address,
                    user_agent=one.user_agent,
                    created_at=one.created_at,
                    seen_at=one.seen_at,
                    expires_at=one.expires_at,
                    failures=one.failures,
                )
                for one in queries.sessions.of_account(account.id, moment, moment - identity.times.idle)
            ],
        )


def offer_second_factor(identity: Identity, account_id: str, sealed: str = "") -> Enrolment:
    """Return a new secret for an account, or the one that a form carries."""
    account = existing_of(identity, account_id)
    return renewed(identity, account, sealed) if sealed else offer(identity, account)
