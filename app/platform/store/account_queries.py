"""Queries of accounts, invitations, sessions and sealed secrets, whichever workspace they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import func
from sqlmodel import Session, col, select

from app.platform.store.account_tables import (
    Account,
    AccountSession,
    ExternalIdentity,
    Invitation,
    LoginAttempt,
    Membership,
    PasswordLink,
    RecoveryCode,
    WebhookRecord,
)
from app.platform.store.queries import Statements
from app.platform.store.tables import WorkspaceRow
from app.platform.store.trail import made

HALF_A_DAY = 1440
"""Time steps of one-time codes in twelve hours; each takes 30 s (RFC 6238, 5.2)."""


def acceptable(moment: datetime) -> list[Any]:
    """Return the criteria of invitations that may be accepted: whoever invited is still an owner.

    Only owners invite, to any role.
    """
    inviter = (
        select(Membership.account_id)
        .join(Account, col(Account.id) == col(Membership.account_id))
        .where(
            col(Membership.account_id) == col(Invitation.inviter_id),
            col(Membership.workspace_id) == col(Invitation.workspace_id),
            Membership.role == "owner",
            col(Account.disabled).is_(False),
        )
    )
    return [
        col(Invitation.expires_at) > moment,
        col(Invitation.used_at).is_(None),
        col(Invitation.inviter_id).is_(None) | inviter.exists(),
    ]


class ExternalQueries(Statements):
    """People at a provider."""

    def account_of(self, issuer: str, subject: str) -> Account | None:
        query = (
            select(Account)
            .join(ExternalIdentity, col(ExternalIdentity.account_id) == col(Account.id))
            .where(ExternalIdentity.issuer == issuer, ExternalIdentity.subject == subject)
        )
        return self._session.exec(query).first()

    def has_other(self, account_id: str, issuer: str) -> bool:
        """Tell whether an account belongs to somebody at a provider already."""
        return self.exists(ExternalIdentity, account_id=account_id, issuer=issuer)

    def invitation_for(self, sought: str, moment: datetime) -> Invitation | None:
        """Return the newest invitation of an address that works at a moment, to whichever workspace."""
        newest_first = [col(Invitation.created_at).desc()]
        return self.first(Invitation, *acceptable(moment), order=newest_first, sought=sought)


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """A session with whose it is and what they may do where it stands."""

    session: AccountSession
    account: Account
    role: str
    workspace_name: str


ANY_ACCOUNT = sa.select(sa.literal(1)).select_from(Account).limit(1)


class IdentityQueries(Statements):
    """Accounts, their workspaces and links."""

    def account(self, identifier: str) -> Account | None:
        return self._session.get(Account, identifier)

    def hold_account(self, identifier: str) -> Account | None:
        """Return an account as it is now, and let nobody else change it until this transaction ends."""
        self.update_rows(Account, {"name": Account.name}, id=identifier)
        return self._session.get(Account, identifier, populate_existing=True)

    def account_of(self, sought: str) -> Account | None:
        """Return the account of an address, which is given without case."""
        return self.first(Account, sought=sought)

    def accounts(self) -> Sequence[Account]:
        """Return all accounts, the oldest first."""
        return self.every(Account, order=[col(Account.created_at), col(Account.id)])

    def set_password(self, account_id: str, password_hash: str | None) -> None:
        self.update_rows(Account, {"password_hash": password_hash}, id=account_id)
        self.note_change(account_id, "password")

    def note_change(self, account_id: str, field: str, **detail: Any) -> None:
        """Write down what was changed of an account in the trail of each of its workspaces."""
        for member, _ in self.memberships(account_id):
            details = {"fields": [field], **detail}
            self._session.add(made(member.workspace_id, "account.changed", "account", account_id, details))

    def count_failure(self, sought: str) -> None:
        """Count a wrong password or code of the account of an address, if there is one."""
        self.update_rows(Account, {"untold_failures": Account.untold_failures + 1}, sought=sought)

    def take_failures(self, account_id: str) -> int:
        """Return how many wrong passwords and codes no sign-in has told yet; this one tells them."""
        (untold,) = self.values(Account, Account.untold_failures, id=account_id)
        if untold:
            self.update_rows(Account, {"untold_failures": Account.untold_failures - untold}, id=account_id)
        return int(untold)

    def take_second_factor(self, account_id: str, sealed: str, step: int) -> bool:
        """Give an account a second factor; tell whether it had none, not even since a moment ago."""
        values = {"totp_sealed": sealed, "totp_step": step}
        taken = self.update_rows(Account, values, id=account_id, totp_sealed=None) == 1
        if taken:
            self.note_change(account_id, "second_factor", active=True)
        return taken

    def drop_second_factor(self, account_id: str) -> None:
        self.update_rows(Account, {"totp_sealed": None, "totp_step": None}, id=account_id)
        self.replace_recovery_codes(account_id, ())
        self.note_change(account_id, "second_factor", active=False)

    def take_step(self, account_id: str, step: int) -> bool:
        """Take the code of a time step; tell whether none as late has been taken before.

        One taken more than half a day later was taken while the clock was wrong; it shuts nobody out.
        """
        taken = col(Account.totp_step)
        earlier = taken.is_(None) | (taken < step) | (taken > step + HALF_A_DAY)
        return self.update_rows(Account, {"totp_step": step}, earlier, id=account_id) == 1

    def replace_recovery_codes(self, account_id: str, hashes: Sequence[str]) -> None:
        """Give an account other recovery codes; without any it has none."""
        self.delete_rows(RecoveryCode, account_id=account_id)
        self._session.add_all(
            RecoveryCode(account_id=account_id, code_sha256=code_sha256) for code_sha256 in hashes
        )

    def use_recovery_code(self, account_id: str, code_sha256: str, moment: datetime) -> bool:
        """Use a recovery code up; tell whether it was there."""
        unused = {"account_id": account_id, "code_sha256": code_sha256, "used_at": None}
        return self.update_rows(RecoveryCode, {"used_at": moment}, **unused) == 1

    def recovery_codes_left(self, account_id: str) -> int:
        return self.count_rows(RecoveryCode, account_id=account_id, used_at=None)

    def workspace(self, identifier: str) -> WorkspaceRow | None:
        return self._session.get(WorkspaceRow, identifier)

    def workspaces(self) -> Sequence[WorkspaceRow]:
        """Return all workspaces, the oldest first."""
        return self.every(WorkspaceRow, order=[col(WorkspaceRow.created_at)])

    def hold_workspace(self, identifier: str) -> None:
        """Let nobody else change the people of a workspace until this transaction ends."""
        self.update_rows(WorkspaceRow, {"name": WorkspaceRow.name}, id=identifier)

    def change_workspace(self, identifier: str, values: dict[str, Any]) -> None:
        self.update_rows(WorkspaceRow, values, id=identifier)
        self._session.add(made(identifier, "workspace.changed", "workspace", identifier, values))

    def membership(self, account_id: str, workspace_id: str) -> Membership | None:
        return self._session.get(Membership, (account_id, workspace_id))

    def memberships(self, account_id: str) -> Sequence[tuple[Membership, WorkspaceRow]]:
        """Return the workspaces of an account, that of the first membership first."""
        query = (
            select(Membership, WorkspaceRow)
            .join(WorkspaceRow, col(WorkspaceRow.id) == col(Membership.workspace_id))
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
        return self.count_rows(Membership, workspace_id=workspace_id)

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
        return sum(
            member.role == "owner" and not account.disabled for member, account in self.members(workspace_id)
        )

    def remove_membership(self, account_id: str, workspace_id: str) -> None:
        """End a membership, with the sessions that stand in the workspace."""
        for table in (Membership, AccountSession):
            self.delete_rows(table, account_id=account_id, workspace_id=workspace_id)

    def add_invitation(self, invitation: Invitation) -> None:
        """Keep an invitation; earlier ones of the same address to the same workspace end."""
        self.delete_rows(
            Invitation, workspace_id=invitation.workspace_id, sought=invitation.sought, used_at=None
        )
        self._session.add(invitation)

    def invitation(self, token_sha256: str, moment: datetime) -> Invitation | None:
        """Return the invitation of a token, if it works at a moment."""
        return self.first(Invitation, *acceptable(moment), token_sha256=token_sha256)

    def invitations(self, workspace_id: str, moment: datetime) -> Sequence[Invitation]:
        """Return the invitations to a workspace that work at a moment, the newest first."""
        newest_first = [col(Invitation.created_at).desc()]
        not_over = col(Invitation.expires_at) > moment
        return self.every(Invitation, not_over, order=newest_first, workspace_id=workspace_id, used_at=None)

    def use_link(self, table: type[Invitation | PasswordLink], token_sha256: str, moment: datetime) -> bool:
        """Use an invitation or a link to set a password up; tell whether it still worked."""
        not_over = col(table.expires_at) > moment
        used = {"used_at": moment}
        return self.update_rows(table, used, not_over, token_sha256=token_sha256, used_at=None) == 1

    def withdraw_invitation(self, workspace_id: str, identifier: str) -> bool:
        """Take an invitation back; tell whether there was one."""
        return self.delete_rows(Invitation, workspace_id=workspace_id, id=identifier, used_at=None) == 1

    def withdraw_invitations_of(self, inviter_id: str, workspace_id: str) -> None:
        """Take all open invitations back that somebody has sent to a workspace, each with its event."""
        for invitation in self.every(
            Invitation, workspace_id=workspace_id, inviter_id=inviter_id, used_at=None
        ):
            self._session.delete(invitation)

    def add_password_link(self, link: PasswordLink) -> None:
        """Keep a link to set a password; earlier ones of the account end."""
        self.end_password_links(link.account_id)
        self._session.add(link)

    def has_link(self, account_id: str, since: datetime) -> bool:
        """Tell whether an account has a link to set its password that was made since a moment."""
        made_since = col(PasswordLink.created_at) > since
        return self.exists(PasswordLink, made_since, account_id=account_id, used_at=None)

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

    def end_password_links(self, account_id: str) -> None:
        """Let no link of an account set its password any more."""
        self.delete_rows(PasswordLink, account_id=account_id)


class SessionQueries(Statements):
    """Sessions of browsers, and failed attempts to begin one."""

    def add(self, session: AccountSession) -> None:
        self._session.add(session)
        self._session.flush()

    def seated(self, token_sha256: str, moment: datetime, idle_since: datetime) -> ActiveSession | None:
        """Return whose a complete session is and what they may do; none where its time is over."""
        query = (
            select(AccountSession, Account, Membership.role, WorkspaceRow.name)
            .join(Account, col(Account.id) == col(AccountSession.account_id))
            .join(
                Membership,
                (col(Membership.account_id) == col(AccountSession.account_id))
                & (col(Membership.workspace_id) == col(AccountSession.workspace_id)),
            )
            .join(WorkspaceRow, col(WorkspaceRow.id) == col(AccountSession.workspace_id))
            .where(
                AccountSession.token_sha256 == token_sha256,
                col(AccountSession.complete).is_(True),
                col(AccountSession.expires_at) > moment,
                col(AccountSession.seen_at) > idle_since,
                col(Account.disabled).is_(False),
            )
        )
        row = self._session.exec(query).first()
        return None if row is None else ActiveSession(*row)

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

    def take_incomplete(self, token_sha256: str) -> bool:
        """End a session that owes the second factor; tell whether it was still there."""
        return self.delete_rows(AccountSession, token_sha256=token_sha256, complete=False) == 1

    def seen(self, token_sha256: str, moment: datetime, before: datetime) -> None:
        """Note that a session is in use, unless that has been noted since a moment."""
        long_ago = col(AccountSession.seen_at) <= before
        self.update_rows(AccountSession, {"seen_at": moment}, long_ago, token_sha256=token_sha256)

    def move(self, token_sha256: str, workspace_id: str) -> None:
        """Let a session stand in another workspace, whose trail then has it."""
        session = self._session.get(AccountSession, token_sha256)
        if session is not None and session.workspace_id != workspace_id:
            session.workspace_id = workspace_id
            self._session.add(made(workspace_id, "session.moved", "session", session.id, {}))

    def workspace_of(self, token_sha256: str) -> str | None:
        """Return the workspace in which a session stands."""
        session = self._session.get(AccountSession, token_sha256)
        return None if session is None else session.workspace_id

    def of_account(self, account_id: str, moment: datetime, idle_since: datetime) -> Sequence[AccountSession]:
        """Return the sessions of an account that work, the one used last first."""
        works = (col(AccountSession.expires_at) > moment, col(AccountSession.seen_at) > idle_since)
        used_last_first = [col(AccountSession.seen_at).desc()]
        return self.every(AccountSession, *works, order=used_last_first, account_id=account_id, complete=True)

    def end(self, token_sha256: str) -> None:
        session = self._session.get(AccountSession, token_sha256)
        if session is not None:
            self._session.delete(session)

    def end_all(self, account_id: str, *which: Any) -> int:
        """End all sessions of an account, or some of them, and return how many there were."""
        sessions = self.every(AccountSession, *which, account_id=account_id)
        for session in sessions:
            self._session.delete(session)
        return len(sessions)

    def attempts(self, subject_sha256: str) -> LoginAttempt | None:
        return self._session.get(LoginAttempt, subject_sha256, populate_existing=True)

    def take_attempt(self, attempt: LoginAttempt, failures: int) -> bool:
        """Count an attempt before it is looked at; tell whether nobody else has counted one meanwhile."""
        values = attempt.model_dump()
        if failures:
            subject = attempt.subject_sha256
            return self.update_rows(LoginAttempt, values, subject_sha256=subject, failures=failures) == 1
        first = self.insert(LoginAttempt).values(values).on_conflict_do_nothing()
        # How many rows an insertion made is not told alike by the databases; what it returns is.
        returned = self._session.execute(first.returning(col(LoginAttempt.subject_sha256)))
        return returned.first() is not None

    def forgive_attempt(self, subject_sha256: str, moment: datetime) -> None:
        """Take back the count of one attempt, which was right, and its pause."""
        self.delete_rows(LoginAttempt, col(LoginAttempt.failures) <= 1, subject_sha256=subject_sha256)
        values = {"failures": LoginAttempt.failures - 1, "blocked_until": moment}
        self.update_rows(LoginAttempt, values, subject_sha256=subject_sha256)

    def forget_attempts(self, subject_sha256: str) -> None:
        self.delete_rows(LoginAttempt, subject_sha256=subject_sha256)

    def purge(self, moment: datetime, idle_since: datetime, forgotten: datetime) -> int:
        """Delete what has had its time: sessions, links and failed attempts; return how many rows."""
        over = (col(AccountSession.expires_at) <= moment) | (col(AccountSession.seen_at) <= idle_since)
        return (
            self.delete_rows(AccountSession, over)
            + self.delete_rows(Invitation, col(Invitation.expires_at) <= moment)
            + self.delete_rows(PasswordLink, col(PasswordLink.expires_at) <= moment)
            + self.delete_rows(LoginAttempt, col(LoginAttempt.last_at) < forgotten)
        )


@dataclass(frozen=True, slots=True)
class SealedValue:
    """A secret as it is kept, and whose it is."""

    column: str
    """Name of table and column."""
    id: str
    owner: str
    """What the account or webhook is called."""
    sealed: str


SEALED: dict[str, tuple[Any, Any, Any]] = {
    "account.totp_sealed": (Account, Account.totp_sealed, Account.email),
    "webhook.sealed_secret": (WebhookRecord, WebhookRecord.sealed_secret, WebhookRecord.name),
    "webhook.previous_sealed": (WebhookRecord, WebhookRecord.previous_sealed, WebhookRecord.name),
}
"""Every column of sealed secrets, with its table and what its rows are called."""


def sealed_values(session: Session, moment: datetime) -> list[SealedValue]:
    """Return the sealed secrets that are still used at a moment."""
    # A webhook's secret of before is left where it is when its time is over.
    used = {"webhook.previous_sealed": col(WebhookRecord.previous_until) > moment}
    return [
        SealedValue(name, *row)
        for name, (table, column, owner) in SEALED.items()
        for row in session.execute(
            sa.select(col(table.id), col(owner), col(column)).where(
                col(column).is_not(None), used.get(name, sa.true())
            )
        )
    ]


def replace_sealed(session: Session, value: SealedValue, sealed: str) -> bool:
    """Keep a secret as it is sealed now; false where another has taken its place meanwhile."""
    table, column, _ = SEALED[value.column]
    values = {column.key: sealed}
    return Statements(session).update_rows(table, values, col(column) == value.sealed, id=value.id) > 0
