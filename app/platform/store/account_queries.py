"""Queries of accounts, invitations, sessions and external identities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Field, Session, SQLModel, col, delete, select, update

from app.platform.store.account_tables import (
    Account,
    AccountSession,
    Invitation,
    LoginAttempt,
    Membership,
    PasswordLink,
    RecoveryCode,
)
from app.platform.store.tables import Workspace
from app.platform.store.trail import made
from app.platform.store.types import UtcDateTime


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


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """A session with whose it is and what they may do where it stands."""

    session: AccountSession
    account: Account
    role: str
    workspace_name: str


class IdentityQueries:
    """The queries of one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def any_account(self) -> bool:
        """Tell whether there is an account at all."""
        return self._session.exec(select(Account.id).limit(1)).first() is not None

    def add_account(self, account: Account) -> None:
        """Keep a new account."""
        self._session.add(account)
        self._session.flush()

    def account(self, identifier: str) -> Account | None:
        """Return an account."""
        return self._session.get(Account, identifier)

    def account_of(self, sought: str) -> Account | None:
        """Return the account of an address, which is given without case."""
        return self._session.exec(select(Account).where(Account.sought == sought)).first()

    def accounts(self) -> Sequence[Account]:
        """Return all accounts, the oldest first."""
        return self._session.exec(select(Account).order_by(col(Account.created_at), col(Account.id))).all()

    def set_password(self, account_id: str, password_hash: str) -> None:
        """Give an account another password."""
        self._session.execute(
            update(Account).where(col(Account.id) == account_id).values(password_hash=password_hash)
        )

    def count_failure(self, sought: str) -> None:
        """Count a wrong password or code of the account of an address, if there is one."""
        self._session.execute(
            update(Account)
            .where(col(Account.sought) == sought)
            .values(untold_failures=Account.untold_failures + 1)
        )

    def take_failures(self, account_id: str) -> int:
        """Return how many wrong passwords and codes no sign-in has told yet; this one tells them."""
        untold = self._session.exec(select(Account.untold_failures).where(Account.id == account_id)).one()
        if untold:
            self._session.execute(
                update(Account)
                .where(col(Account.id) == account_id)
                .values(untold_failures=Account.untold_failures - untold)
            )
        return untold

    def take_step(self, account_id: str, step: int) -> bool:
        """Take the code of a time step; tell whether none as late has been taken before."""
        taken = self._session.execute(
            update(Account)
            .where(
                col(Account.id) == account_id,
                col(Account.totp_step).is_(None) | (col(Account.totp_step) < step),
            )
            .values(totp_step=step)
        )
        return taken.rowcount == 1  # type: ignore[attr-defined, no-any-return]

    def replace_recovery_codes(self, account_id: str, hashes: Sequence[str]) -> None:
        """Give an account other recovery codes; without any it has none."""
        self._session.execute(delete(RecoveryCode).where(col(RecoveryCode.account_id) == account_id))
        self._session.add_all(
            RecoveryCode(account_id=account_id, code_sha256=one, used_at=None) for one in hashes
        )

    def use_recovery_code(self, account_id: str, code_sha256: str, moment: datetime) -> bool:
        """Use a recovery code up; tell whether it was there."""
        used = self._session.execute(
            update(RecoveryCode)
            .where(
                col(RecoveryCode.account_id) == account_id,
                col(RecoveryCode.code_sha256) == code_sha256,
                col(RecoveryCode.used_at).is_(None),
            )
            .values(used_at=moment)
        )
        return used.rowcount == 1  # type: ignore[attr-defined, no-any-return]

    def recovery_codes_left(self, account_id: str) -> int:
        """Return how many recovery codes an account still has."""
        query = (
            select(func.count())
            .select_from(RecoveryCode)
            .where(RecoveryCode.account_id == account_id, col(RecoveryCode.used_at).is_(None))
        )
        return self._session.exec(query).one()

    def add_workspace(self, workspace: Workspace) -> None:
        """Keep a new workspace."""
        self._session.add(workspace)
        self._session.flush()

    def workspace(self, identifier: str) -> Workspace | None:
        """Return a workspace."""
        return self._session.get(Workspace, identifier)

    def workspaces(self) -> Sequence[Workspace]:
        """Return all workspaces, the oldest first."""
        return self._session.exec(select(Workspace).order_by(col(Workspace.created_at))).all()

    def hold_workspace(self, identifier: str) -> None:
        """Let nobody else change the people of a workspace until this transaction ends."""
        self._session.execute(
            update(Workspace).where(col(Workspace.id) == identifier).values(name=Workspace.name)
        )

    def rename_workspace(self, identifier: str, name: str) -> None:
        """Call a workspace something else."""
        self._session.execute(update(Workspace).where(col(Workspace.id) == identifier).values(name=name))

    def add_membership(self, membership: Membership) -> None:
        """Make an account a member of a workspace."""
        self._session.add(membership)
        self._session.flush()

    def membership(self, account_id: str, workspace_id: str) -> Membership | None:
        """Return what an account may do in a workspace."""
        return self._session.get(Membership, (account_id, workspace_id))

    def memberships(self, account_id: str) -> Sequence[tuple[Membership, Workspace]]:
        """Return the workspaces of an account, that of the first membership first."""
        query = (
            select(Membership, Workspace)
            .join(Workspace, col(Workspace.id) == col(Membership.workspace_id))
            .where(Membership.account_id == account_id)
            .order_by(col(Membership.created_at), col(Membership.workspace_id))
        )
        return self._session.exec(query).all()

    def members(self, workspace_id: str) -> Sequence[tuple[Membership, Account]]:
        """Return the people of a workspace, the first member first."""
        query = (
            select(Membership, Account)
            .join(Account, col(Account.id) == col(Membership.account_id))
            .where(Membership.workspace_id == workspace_id)
            .order_by(col(Membership.created_at), col(Membership.account_id))
        )
        return self._session.exec(query).all()

    def count_members(self, workspace_id: str) -> int:
        """Return how many people a workspace has."""
        query = select(func.count()).select_from(Membership).where(Membership.workspace_id == workspace_id)
        return self._session.exec(query).one()

    def last_seen(self, workspace_id: str) -> dict[str, datetime]:
        """Return when each account was last seen in a workspace, of those with a session."""
        query = (
            select(AccountSession.account_id, func.max(col(AccountSession.seen_at)))
            .where(AccountSession.workspace_id == workspace_id, col(AccountSession.complete).is_(True))
            .group_by(col(AccountSession.account_id))
        )
        return dict(self._session.exec(query).all())

    def owners(self, workspace_id: str) -> int:
        """Return how many owners a workspace has who can sign in."""
        query = (
            select(func.count())
            .select_from(Membership)
            .join(Account, col(Account.id) == col(Membership.account_id))
            .where(
                Membership.workspace_id == workspace_id,
                Membership.role == "owner",
                col(Account.disabled).is_(False),
            )
        )
        return self._session.exec(query).one()

    def remove_membership(self, account_id: str, workspace_id: str) -> None:
        """End a membership, with the sessions that stand in the workspace."""
        self._session.execute(
            delete(Membership).where(
                col(Membership.account_id) == account_id, col(Membership.workspace_id) == workspace_id
            )
        )
        self._session.execute(
            delete(AccountSession).where(
                col(AccountSession.account_id) == account_id,
                col(AccountSession.workspace_id) == workspace_id,
            )
        )

    def add_invitation(self, invitation: Invitation) -> None:
        """Keep an invitation; earlier ones of the same address to the same workspace end."""
        self._session.execute(
            delete(Invitation).where(
                col(Invitation.workspace_id) == invitation.workspace_id,
                col(Invitation.sought) == invitation.sought,
                col(Invitation.used_at).is_(None),
            )
        )
        self._session.add(invitation)

    def invitation(self, token_sha256: str, moment: datetime) -> Invitation | None:
        """Return the invitation of a token, if it works at a moment."""
        query = select(Invitation).where(
            Invitation.token_sha256 == token_sha256,
            col(Invitation.used_at).is_(None),
            col(Invitation.expires_at) > moment,
        )
        return self._session.exec(query).first()

    def invitations(self, workspace_id: str, moment: datetime) -> Sequence[Invitation]:
        """Return the invitations to a workspace that work at a moment, the newest first."""
        query = (
            select(Invitation)
            .where(
                Invitation.workspace_id == workspace_id,
                col(Invitation.used_at).is_(None),
                col(Invitation.expires_at) > moment,
            )
            .order_by(col(Invitation.created_at).desc())
        )
        return self._session.exec(query).all()

    def use_invitation(self, token_sha256: str, moment: datetime) -> bool:
        """Use an invitation up; tell whether it still worked."""
        used = self._session.execute(
            update(Invitation)
            .where(
                col(Invitation.token_sha256) == token_sha256,
                col(Invitation.used_at).is_(None),
                col(Invitation.expires_at) > moment,
            )
            .values(used_at=moment)
        )
        return used.rowcount == 1  # type: ignore[attr-defined, no-any-return]

    def withdraw_invitation(self, workspace_id: str, identifier: str) -> bool:
        """Take an invitation back; tell whether there was one."""
        gone = self._session.execute(
            delete(Invitation).where(
                col(Invitation.workspace_id) == workspace_id,
                col(Invitation.id) == identifier,
                col(Invitation.used_at).is_(None),
            )
        )
        return gone.rowcount == 1  # type: ignore[attr-defined, no-any-return]

    def add_password_link(self, link: PasswordLink) -> None:
        """Keep a link to set a password; earlier ones of the account end."""
        self._session.execute(delete(PasswordLink).where(col(PasswordLink.account_id) == link.account_id))
        self._session.add(link)

    def password_link(self, token_sha256: str, moment: datetime) -> Account | None:
        """Return whose password a link sets, if it works at a moment."""
        query = (
            select(Account)
            .join(PasswordLink, col(PasswordLink.account_id) == col(Account.id))
            .where(
                PasswordLink.token_sha256 == token_sha256,
                col(PasswordLink.used_at).is_(None),
                col(PasswordLink.expires_at) > moment,
                col(Account.disabled).is_(False),
            )
        )
        return self._session.exec(query).first()

    def use_password_link(self, token_sha256: str, moment: datetime) -> bool:
        """Use a link to set a password up; tell whether it still worked."""
        used = self._session.execute(
            update(PasswordLink)
            .where(
                col(PasswordLink.token_sha256) == token_sha256,
                col(PasswordLink.used_at).is_(None),
                col(PasswordLink.expires_at) > moment,
            )
            .values(used_at=moment)
        )
        return used.rowcount == 1  # type: ignore[attr-defined, no-any-return]

    def end_password_links(self, account_id: str) -> None:
        """Let no link of an account set its password any more."""
        self._session.execute(delete(PasswordLink).where(col(PasswordLink.account_id) == account_id))


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
