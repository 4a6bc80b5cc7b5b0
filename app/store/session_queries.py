"""Every query about signed-in browsers and failed attempts by name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, col, delete, select, update

from app.store.identity_queries import ActiveSession
from app.store.identity_tables import (
    Account,
    AccountSession,
    Invitation,
    LoginAttempt,
    Membership,
    PasswordLink,
)
from app.store.tables import Workspace
from app.store.trail import made


class SessionQueries:
    """The queries of one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, session: AccountSession) -> None:
        """Keep a new session."""
        self._session.add(session)
        self._session.flush()

    def seated(self, token_sha256: str, moment: datetime, idle_since: datetime) -> ActiveSession | None:
        """Return whose a complete session is and what they may do; none where its time is over."""
        query = (
            select(AccountSession, Account, Membership.role, Workspace.name)
            .join(Account, col(Account.id) == col(AccountSession.account_id))
            .join(
                Membership,
                (col(Membership.account_id) == col(AccountSession.account_id))
                & (col(Membership.workspace_id) == col(AccountSession.workspace_id)),
            )
            .join(Workspace, col(Workspace.id) == col(AccountSession.workspace_id))
            .where(
                AccountSession.token_sha256 == token_sha256,
                col(AccountSession.complete).is_(True),
                col(AccountSession.expires_at) > moment,
                col(AccountSession.seen_at) > idle_since,
                col(Account.disabled).is_(False),
            )
        )
        found = self._session.exec(query).first()
        return None if found is None else ActiveSession(*found)

    def incomplete(self, token_sha256: str, moment: datetime) -> tuple[AccountSession, Account] | None:
        """Return the session that still owes the second factor, with its account."""
        query = (
            select(AccountSession, Account)
            .join(Account, col(Account.id) == col(AccountSession.account_id))
            .where(
                AccountSession.token_sha256 == token_sha256,
                col(AccountSession.complete).is_(False),
                col(AccountSession.expires_at) > moment,
                col(Account.disabled).is_(False),
            )
        )
        return self._session.exec(query).first()

    def seen(self, token_sha256: str, moment: datetime, before: datetime) -> None:
        """Note that a session is in use, unless that has been noted since a moment."""
        self._session.execute(
            update(AccountSession)
            .where(col(AccountSession.token_sha256) == token_sha256, col(AccountSession.seen_at) <= before)
            .values(seen_at=moment)
        )

    def move(self, token_sha256: str, workspace_id: str) -> None:
        """Let a session stand in another workspace, whose trail then has it."""
        found = self._session.get(AccountSession, token_sha256)
        if found is not None and found.workspace_id != workspace_id:
            found.workspace_id = workspace_id
            self._session.add(made(workspace_id, "session.moved", "session", found.id, {}))

    def workspace_of(self, token_sha256: str) -> str | None:
        """Return the workspace in which a session stands."""
        found = self._session.get(AccountSession, token_sha256)
        return None if found is None else found.workspace_id

    def of_account(self, account_id: str, moment: datetime, idle_since: datetime) -> Sequence[AccountSession]:
        """Return the sessions of an account that work, the one used last first."""
        query = (
            select(AccountSession)
            .where(
                AccountSession.account_id == account_id,
                col(AccountSession.complete).is_(True),
                col(AccountSession.expires_at) > moment,
                col(AccountSession.seen_at) > idle_since,
            )
            .order_by(col(AccountSession.seen_at).desc())
        )
        return self._session.exec(query).all()

    def end(self, token_sha256: str) -> None:
        """End a session."""
        found = self._session.get(AccountSession, token_sha256)
        if found is not None:
            self._session.delete(found)

    def end_one(self, account_id: str, identifier: str) -> bool:
        """End the session of an account that has this identifier; tell whether there was one."""
        gone = self._session.execute(
            delete(AccountSession).where(
                col(AccountSession.account_id) == account_id, col(AccountSession.id) == identifier
            )
        )
        return gone.rowcount == 1  # type: ignore[attr-defined, no-any-return]

    def end_all(self, account_id: str) -> int:
        """End all sessions of an account, and return how many there were."""
        gone = self._session.execute(
            delete(AccountSession).where(col(AccountSession.account_id) == account_id)
        )
        return int(gone.rowcount)  # type: ignore[attr-defined]

    def attempts(self, subject_sha256: str) -> LoginAttempt | None:
        """Return the failed attempts of a subject."""
        return self._session.get(LoginAttempt, subject_sha256, populate_existing=True)

    def take_attempt(self, attempt: LoginAttempt, failures: int) -> bool:
        """Count an attempt before it is looked at; tell whether nobody else has counted one meanwhile."""
        values = attempt.model_dump()
        if failures == 0:
            insert = postgresql.insert if self._on_postgresql() else sqlite.insert
            made = (
                insert(LoginAttempt)
                .values(values)
                .on_conflict_do_nothing()
                .returning(col(LoginAttempt.subject_sha256))
            )
            # How many rows an insertion made is not told alike by the databases; what it returns is.
            return self._session.execute(made).first() is not None
        taken = self._session.execute(
            update(LoginAttempt)
            .where(
                col(LoginAttempt.subject_sha256) == attempt.subject_sha256,
                col(LoginAttempt.failures) == failures,
            )
            .values(values)
        )
        return taken.rowcount == 1  # type: ignore[attr-defined, no-any-return]

    def _on_postgresql(self) -> bool:
        return self._session.get_bind().dialect.name == "postgresql"

    def forgive_attempt(self, subject_sha256: str, moment: datetime) -> None:
        """Take back the count of one attempt, which was right, and its pause."""
        of_subject = col(LoginAttempt.subject_sha256) == subject_sha256
        self._session.execute(delete(LoginAttempt).where(of_subject, col(LoginAttempt.failures) <= 1))
        self._session.execute(
            update(LoginAttempt)
            .where(of_subject)
            .values(failures=LoginAttempt.failures - 1, blocked_until=moment)
        )

    def forget_attempts(self, subject_sha256: str) -> None:
        """Forget the failed attempts of a subject."""
        self._session.execute(delete(LoginAttempt).where(col(LoginAttempt.subject_sha256) == subject_sha256))

    def purge(self, moment: datetime, idle_since: datetime, forgotten: datetime) -> int:
        """Delete what has had its time: sessions, links and failed attempts; return how many rows."""
        statements = (
            delete(AccountSession).where(
                (col(AccountSession.expires_at) <= moment) | (col(AccountSession.seen_at) <= idle_since)
            ),
            delete(Invitation).where(col(Invitation.expires_at) <= moment),
            delete(PasswordLink).where(col(PasswordLink.expires_at) <= moment),
            delete(LoginAttempt).where(col(LoginAttempt.last_at) < forgotten),
        )
        results = [self._session.execute(one) for one in statements]
        return sum(one.rowcount for one in results)  # type: ignore[attr-defined]
