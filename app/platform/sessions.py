"""Signed-in browsers: sessions kept in the database, of whose tokens only hashes are known."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.exc import SQLAlchemyError

from app.errors import Unavailable
from app.platform.admission import Credentials, Principal, Role
from app.platform.identity import Identity, SessionTimes, Visitor, new_token, token_hash
from app.platform.passwords import FORGOTTEN
from app.platform.references import no_such
from app.platform.store.account_tables import Account, AccountSession
from app.platform.store.database import IdentityStore, Store
from app.platform.store.queries import new_id, now

logger = logging.getLogger("rackline.sessions")

SEEN_EVERY = timedelta(minutes=1)
"""How often is written down that a session is in use."""

OWED = timedelta(minutes=10)
"""How long a browser that has given its password may owe the second factor."""

MOST_AGENT = 200


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new session."""

    token: str
    complete: bool
    """False while the second factor is owed."""
    seconds: int
    """How long it works at most. [s]"""


class AccountsAdmission:
    """A server with accounts: who asks follows from the session's cookie."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    def principal(self, credentials: Credentials) -> Principal | None:
        """Return who asks; None where the session is unknown or its time is over."""
        if not credentials.session:
            return None
        moment = now()
        token = token_hash(credentials.session)
        with self._identity.store.identity() as queries:
            seat = queries.sessions.seated(token, moment, moment - self._identity.times.idle)
        if seat is None:
            return None
        if seat.session.seen_at <= moment - SEEN_EVERY:
            note_use(self._identity.store, seat.session, moment)
        return Principal(
            workspace_id=seat.session.workspace_id,
            name=seat.account.name,
            role=Role(seat.role),
            account_id=seat.account.id,
            workspace_name=seat.workspace_name,
        )


def note_use(store: Store, session: AccountSession, moment: datetime) -> None:
    """Write down that a session is in use; that it cannot be written does not stop the request."""
    try:
        with store.identity() as queries:
            queries.sessions.seen(session.token_sha256, moment, moment - SEEN_EVERY)
    except (SQLAlchemyError, Unavailable):
        logger.warning("the use of session %s could not be written down", session.id)


def start(
    queries: IdentityStore,
    identity: Identity,
    account: Account,
    workspace_id: str,
    visitor: Visitor,
    *,
    complete: bool = True,
    replaces: str | None = None,
) -> NewSession:
    """Start a session; the one whose token the browser came with ends, so that nobody can plant one.

    It tells how many passwords and codes were wrong since the one before it.
    """
    if replaces:
        queries.sessions.end(token_hash(replaces))
    moment, token = now(), new_token()
    lasts = identity.times.absolute if complete else min(OWED, identity.times.absolute)
    queries.sessions.add(
        AccountSession(
            token_sha256=token_hash(token),
            id=new_id("ses"),
            account_id=account.id,
            workspace_id=workspace_id,
            complete=complete,
            created_at=moment,
            seen_at=moment,
            expires_at=moment + lasts,
            address=visitor.address[:60],
            user_agent="".join(letter for letter in visitor.user_agent if letter.isprintable())[:MOST_AGENT],
            failures=queries.people.take_failures(account.id) if complete else 0,
        )
    )
    return NewSession(token, complete, int(lasts.total_seconds()))


def sign_out(identity: Identity, token: str) -> None:
    """End the session of a browser; where there is none, nothing happens."""
    with identity.store.identity() as queries:
        queries.sessions.end(token_hash(token))


def sign_out_everywhere(identity: Identity, account_id: str) -> int:
    """End all sessions of an account, and return how many there were."""
    with identity.store.identity() as queries:
        return queries.sessions.end_all(account_id)


def end_session(identity: Identity, account_id: str, identifier: str) -> None:
    with identity.store.identity() as queries:
        if not queries.sessions.end_all(account_id, AccountSession.id == identifier):
            raise no_such("session", identifier)


def switch_workspace(identity: Identity, account_id: str, token: str, workspace_id: str) -> None:
    with identity.store.identity() as queries:
        if queries.people.membership(account_id, workspace_id) is None:
            raise no_such("workspace", workspace_id)
        queries.sessions.move(token_hash(token), workspace_id)


def purge(store: Store, times: SessionTimes) -> int:
    """Delete sessions, links and failed attempts that have had their time; return how many rows."""
    moment = now()
    with store.identity() as queries:
        return queries.sessions.purge(moment, moment - times.idle, moment - FORGOTTEN)
