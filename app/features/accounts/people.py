"""People of a workspace, invitations, and the account of a signed-in person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.errors import Conflict, Message
from app.estimating.schema import Document, filled
from app.features.accounts.mailing import send
from app.features.accounts.second_factor import Enrolment, existing, existing_of, offer, renewed
from app.features.accounts.service import accept, check_room, no_link
from app.platform.admission import Principal, Role
from app.platform.identity import Identity, checked_email, checked_name, folded, new_token, token_hash
from app.platform.references import no_such
from app.platform.store.account_tables import Invitation
from app.platform.store.database import IdentityStore
from app.platform.store.queries import new_id, now

INVITATION_WORKS = timedelta(days=7)

MOST_INVITATIONS = 100
"""Most pending invitations of one workspace."""


class Member(Document):
    """A person of a workspace."""

    id: str
    name: str
    email: str
    role: Role
    """What the person may do here."""
    disabled: bool
    """Whether the account may not sign in."""
    second_factor: bool
    """Whether a second factor protects the account."""
    last_seen: datetime | None
    """Last request of a session that still works; null without one."""


class PendingInvitation(Document):
    """An invitation that waits."""

    id: str
    email: str
    role: Role
    """What the person will be able to do."""
    expires_at: datetime
    """Until when the link works."""


class People(Document):
    """Who works in a workspace."""

    workspace_id: str
    workspace: str
    second_approval: bool
    """Whether a proposal is approved by another person or key than its author."""
    members: list[Member]
    """Members, the first one first."""
    invitations: list[PendingInvitation]
    """Invitations that wait, the newest first."""


@dataclass(frozen=True, slots=True)
class NewInvitation:
    """A new invitation."""

    link: str
    """Its link, which is not stored."""
    mailed: bool
    """Whether it was sent."""


@dataclass(frozen=True, slots=True)
class InvitationView:
    """An invitation as shown to who follows its link."""

    email: str
    role: Role
    workspace: str


def list_people(identity: Identity, workspace_id: str) -> People:
    with identity.store.identity() as queries:
        workspace = queries.people.workspace(workspace_id)
        seen = queries.people.last_seen(workspace_id)
        members = [
            filled(
                Member,
                account,
                role=Role(member.role),
                second_factor=account.totp_sealed is not None,
                last_seen=seen.get(account.id),
            )
            for member, account in queries.people.members(workspace_id)
        ]
        invitations = [
            filled(PendingInvitation, row) for row in queries.people.invitations(workspace_id, now())
        ]
    return People(
        workspace_id=workspace_id,
        workspace=workspace.name if workspace else "",
        second_approval=workspace is not None and workspace.second_approval,
        members=members,
        invitations=invitations,
    )


def invite(
    identity: Identity, principal: Principal, email: str, role: Role, language: str, asked_at: str = ""
) -> NewInvitation:
    """Invite somebody by a link; an earlier link for the same address ends."""
    address, moment, token = checked_email(email), now(), new_token()
    workspace_id = principal.workspace_id
    with identity.store.identity() as queries:
        queries.people.hold_workspace(workspace_id)
        account = queries.people.account_of(folded(address))
        if account is not None and queries.people.membership(account.id, workspace_id) is not None:
            raise Conflict.at("email", "is already a member")
        check_room(queries, workspace_id)
        waiting = len(queries.people.invitations(workspace_id, moment))
        if waiting >= MOST_INVITATIONS:
            raise Conflict.at("email", "{count} invitations are pending; revoke some first", count=waiting)
        queries.people.add_invitation(
            Invitation(
                token_sha256=token_hash(token),
                id=new_id("inv"),
                workspace_id=workspace_id,
                email=address,
                sought=folded(address),
                role=role,
                inviter_id=principal.account_id,
                created_at=moment,
                expires_at=moment + INVITATION_WORKS,
            )
        )
        workspace = queries.people.workspace(workspace_id)
    path = f"/invitations/{token}"
    name = workspace.name if workspace else ""
    mailed = send(
        identity,
        address,
        language,
        Message("Invitation to {workspace} on Rackline", {"workspace": name}),
        Message("{name} invites you to work in {workspace}.", {"name": principal.name, "workspace": name}),
        identity.address_of(path),
        Message("The link works once, within seven days."),
    )
    return NewInvitation(identity.address_of(path, asked_at), mailed)


def withdraw(identity: Identity, workspace_id: str, identifier: str) -> None:
    with identity.store.identity() as queries:
        if not queries.people.withdraw_invitation(workspace_id, identifier):
            raise no_such("invitation", identifier)


def change_role(identity: Identity, workspace_id: str, account_id: str, role: Role) -> None:
    with identity.store.identity() as queries:
        queries.people.hold_workspace(workspace_id)
        member = queries.people.membership(account_id, workspace_id)
        if member is None:
            raise no_such("member", account_id)
        if role is not Role.OWNER:
            keep_an_owner(queries, workspace_id, account_id)
            queries.people.withdraw_invitations_of(account_id, workspace_id)
        member.role = role


def remove(identity: Identity, workspace_id: str, account_id: str) -> None:
    """End a membership; what the person made stays with the workspace, except for open invitations."""
    with identity.store.identity() as queries:
        queries.people.hold_workspace(workspace_id)
        if queries.people.membership(account_id, workspace_id) is None:
            raise no_such("member", account_id)
        keep_an_owner(queries, workspace_id, account_id)
        queries.people.withdraw_invitations_of(account_id, workspace_id)
        queries.people.remove_membership(account_id, workspace_id)


def keep_an_owner(queries: IdentityStore, workspace_id: str, leaving: str) -> None:
    if not any(
        member.role == Role.OWNER and not account.disabled and account.id != leaving
        for member, account in queries.people.members(workspace_id)
    ):
        raise Conflict.at("role", "the last owner cannot be removed; make someone else an owner first")


def change_workspace(identity: Identity, workspace_id: str, name: str, second_approval: bool) -> None:
    values = {"name": checked_name(name), "second_approval": second_approval}
    with identity.store.identity() as queries:
        queries.people.change_workspace(workspace_id, values)


def open_invitation(identity: Identity, token: str) -> InvitationView:
    """Return what the page of an invitation tells, whether its address has an account or not."""
    with identity.store.identity() as queries:
        invitation = queries.people.invitation(token_hash(token), now())
        workspace = None if invitation is None else queries.people.workspace(invitation.workspace_id)
    if invitation is None or workspace is None:
        raise no_link()
    return InvitationView(invitation.email, Role(invitation.role), workspace.name)


def join_by(identity: Identity, token: str, account_id: str, session: str) -> None:
    """Accept an invitation with the signed-in account, and switch its session to the workspace."""
    with identity.store.identity() as queries:
        account = queries.people.account(account_id)
        invitation = queries.people.invitation(token_hash(token), now())
        if (
            account is None
            or invitation is None
            or account.sought != folded(invitation.email)
            or not accept(queries, account, invitation)
        ):
            raise no_link()
        queries.sessions.move(token_hash(session), invitation.workspace_id)


class SessionDocument(Document):
    """A browser that is signed in."""

    id: str
    here: bool
    """Whether it is the one that asks."""
    address: str
    """Network address it signed in from."""
    user_agent: str
    """What the browser calls itself."""
    created_at: datetime
    seen_at: datetime
    """When it last asked for something, to the minute."""
    expires_at: datetime
    """When it ends at the latest."""
    failures: int
    """Passwords and codes that were wrong since the sign-in before."""


class Place(Document):
    """A workspace of the account."""

    id: str
    name: str
    role: Role
    """What the account may do there."""


class AccountDocument(Document):
    """The account of the person who asks."""

    id: str
    name: str
    email: str
    password: bool
    """Whether it has one; who signs in through a provider needs none."""
    second_factor: bool
    """Whether a second factor protects it."""
    recovery_codes: int
    """Recovery codes that are left."""
    workspaces: list[Place]
    """Workspaces it is a member of."""
    sessions: list[SessionDocument]
    """Browsers that are signed in, the one used last first."""


def get_account(identity: Identity, account_id: str, token: str) -> AccountDocument:
    """Return an account with its sessions; the token marks the current one."""
    moment, here = now(), token_hash(token)
    with identity.store.identity() as queries:
        account = existing(queries, account_id)
        return filled(
            AccountDocument,
            account,
            password=account.password_hash is not None,
            second_factor=account.totp_sealed is not None,
            recovery_codes=queries.people.recovery_codes_left(account.id),
            workspaces=[
                Place(id=workspace.id, name=workspace.name, role=Role(member.role))
                for member, workspace in queries.people.memberships(account.id)
            ],
            sessions=[
                filled(SessionDocument, row, here=row.token_sha256 == here)
                for row in queries.sessions.of_account(account.id, moment, moment - identity.times.idle)
            ],
        )


def offer_second_factor(identity: Identity, account_id: str, sealed: str = "") -> Enrolment:
    """Return a new secret for an account, or the one that a form carries."""
    account = existing_of(identity, account_id)
    return renewed(identity, account, sealed) if sealed else offer(identity, account)
