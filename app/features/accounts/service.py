"""Signing in: password, then the second factor where there is one. All failures look alike."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from app.errors import AppError, BadInput, Conflict, Message, NotFound
from app.features.accounts import second_factor
from app.features.accounts.mailing import send
from app.platform.admission import Role
from app.platform.identity import (
    Identity,
    Visitor,
    checked_email,
    checked_name,
    folded,
    new_token,
    token_hash,
)
from app.platform.passwords import (
    begin_attempt,
    check_password,
    hashed,
    note_failure,
    of_account,
    of_address,
    of_second_factor,
    password_is_right,
    succeed,
)
from app.platform.sessions import NewSession, start
from app.platform.store.account_tables import Account, Invitation, Membership, PasswordLink
from app.platform.store.database import IdentityStore
from app.platform.store.queries import new_id, now
from app.platform.store.tables import WorkspaceRow
from app.platform.workspace import LOCAL_WORKSPACE

LINK_WORKS = timedelta(days=2)
MOST_MEMBERS = 1000
"""Most members of one workspace."""


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account created by the operator."""

    account: Account
    workspace: WorkspaceRow
    role: Role
    link: str | None
    """Address to set its password; None if one was given."""


def add_account(
    identity: Identity,
    email: str,
    name: str,
    *,
    role: Role | None = None,
    workspace: str | None = None,
    password: str | None = None,
) -> NewAccount:
    """Create an account that is a member of a workspace.

    The first account of a server becomes the owner of the local workspace.
    """
    address, display_name = checked_email(email), checked_name(name or email.partition("@")[0])
    if password is not None:
        check_password(password, email=address, name=display_name)
    password_hash = None if password is None else hashed(password)
    with identity.store.identity() as queries:
        home = workspace_of(queries, workspace)
        queries.people.hold_workspace(home.id)
        account = new_account(queries, address, display_name, password_hash)
        first = queries.people.owners(home.id) == 0
        granted = role or (Role.OWNER if first else Role.CONSULTANT)
        if first and granted is not Role.OWNER:
            raise BadInput.at("role", "the first member of a workspace must be its owner")
        join(queries, account, home.id, granted)
        link = None if password_hash else password_link(queries, account)
    return NewAccount(account, home, granted, link and identity.address_of(link))


def workspace_of(queries: IdentityStore, name: str | None) -> WorkspaceRow:
    """Return a workspace by identifier or name; without a name, the local one or the only one."""
    known = queries.people.workspaces()
    if name is None:
        if not queries.people.exists(Account):
            known = [candidate for candidate in known if candidate.id == LOCAL_WORKSPACE] or known
        if len(known) == 1:
            return known[0]
        names = ", ".join(candidate.name for candidate in known[:10])
        raise BadInput.at("workspace", "there are several workspaces; choose one of {names}", names=names)
    matching = [candidate for candidate in known if name in (candidate.id, candidate.name)]
    if len(matching) > 1:
        raise BadInput.at("workspace", "several workspaces have this name; use the identifier")
    if not matching:
        raise NotFound.named("workspace", name, [candidate.name for candidate in known], "workspace")
    return matching[0]


def new_account(queries: IdentityStore, email: str, name: str, password_hash: str | None) -> Account:
    account = Account(
        id=new_id("acc"), email=email, sought=folded(email), name=name, password_hash=password_hash
    )
    if not queries.people.is_first(account):
        raise Conflict.at("email", "an account with this address already exists")
    return account


def same_mailbox(email: str, other: str) -> bool:
    """Tell whether two addresses are one mailbox: servers ignore only the case of ASCII letters.

    >>> same_mailbox("Kim@Example.com", "kim@example.com"), same_mailbox("straße@a.kr", "strasse@a.kr")
    (True, False)
    """
    return email == other or (email.isascii() and other.isascii() and email.lower() == other.lower())


def waiting_invitation(queries: IdentityStore, email: str) -> Invitation | None:
    """Return the newest invitation to a mailbox, for who has proven that it is theirs."""
    found = queries.external.invitation_for(folded(email), now())
    return found if found is not None and same_mailbox(email, found.email) else None


def accept(queries: IdentityStore, account: Account, invitation: Invitation) -> bool:
    """Use an invitation up and join its workspace; tell whether it still worked."""
    used = queries.people.use_link(Invitation, invitation.token_sha256, now())
    if used and queries.people.membership(account.id, invitation.workspace_id) is None:
        join(queries, account, invitation.workspace_id, Role(invitation.role))
    return used


def check_room(queries: IdentityStore, workspace_id: str) -> None:
    count = queries.people.count_members(workspace_id)
    if count >= MOST_MEMBERS:
        template = "the workspace has reached its limit of {count} members; an owner must remove one first"
        raise Conflict.at("email", template, count=count)


def join(queries: IdentityStore, account: Account, workspace_id: str, role: Role) -> None:
    queries.people.hold_workspace(workspace_id)
    check_room(queries, workspace_id)
    queries.people.keep(Membership(account_id=account.id, workspace_id=workspace_id, role=role))


def add_workspace(identity: Identity, name: str) -> WorkspaceRow:
    workspace = WorkspaceRow(id=new_id("ws"), name=checked_name(name))
    with identity.store.identity() as queries:
        if any(other.name == workspace.name for other in queries.people.workspaces()):
            raise Conflict.at("name", "a workspace with this name already exists")
        queries.people.keep(workspace)
    return workspace


def list_workspaces(identity: Identity) -> list[tuple[WorkspaceRow, int]]:
    with identity.store.identity() as queries:
        return [
            (workspace, len(queries.people.members(workspace.id)))
            for workspace in queries.people.workspaces()
        ]


def list_accounts(identity: Identity) -> list[tuple[Account, list[tuple[str, str]]]]:
    with identity.store.identity() as queries:
        return [
            (account, [(space.name, member.role) for member, space in queries.people.memberships(account.id)])
            for account in queries.people.accounts()
        ]


def named_account(queries: IdentityStore, email: str) -> Account:
    account = queries.people.account_of(folded(email))
    if account is None:
        raise NotFound.named("account", email, [other.email for other in queries.people.accounts()], "email")
    return account


def set_disabled(identity: Identity, email: str, disabled: bool) -> None:
    """Disable an account, ending its sessions, or enable it again."""
    with identity.store.identity() as queries:
        account = named_account(queries, email)
        account.disabled = disabled
        if disabled:
            queries.sessions.end_all(account.id)
            queries.people.end_password_links(account.id)


def reset_password(identity: Identity, email: str) -> str:
    """Return a link to set a new password; until it is used the present one works."""
    with identity.store.identity() as queries:
        account = named_account(queries, email)
        if account.disabled:
            raise Conflict.at("email", "the account is disabled; enable it first")
        return identity.address_of(password_link(queries, account))


def reset_second_factor(identity: Identity, email: str) -> None:
    with identity.store.identity() as queries:
        account = named_account(queries, email)
        queries.people.drop_second_factor(account.id)
        queries.sessions.end_all(account.id)


def password_link(queries: IdentityStore, account: Account) -> str:
    """Return the path of a new link to set a password; earlier links end."""
    moment, token = now(), new_token()
    queries.people.add_password_link(
        PasswordLink(
            token_sha256=token_hash(token),
            account_id=account.id,
            created_at=moment,
            expires_at=moment + LINK_WORKS,
        )
    )
    return f"/password/{token}"


MAILED_AGAIN = timedelta(minutes=5)
"""How long after one link the next is mailed: until then the mail that is there will do."""


def send_reset(identity: Identity, email: str, language: str) -> None:
    """Send a link to set a password, if there is such an account; who is invited is given one.

    Runs after the answer, which is the same either way, so that timing does not reveal accounts.
    """
    typed = email[:MOST_TYPED].strip()
    try:
        with identity.store.identity() as queries:
            found, invitation = queries.people.account_of(folded(typed)), waiting_invitation(queries, typed)
            if found is None and invitation is not None:
                found = new_account(queries, invitation.email, invitation.email.partition("@")[0], None)
            account = found and queries.people.hold_account(found.id)
            since = now() - MAILED_AGAIN
            if account is None or account.disabled or queries.people.has_link(account.id, since):
                return
            link = identity.address_of(password_link(queries, account))
    except Conflict:
        # Asked for twice at once: the other one sends the link.
        return
    sent = send(
        identity,
        account.email,
        language,
        Message("Your Rackline password"),
        Message("Someone requested a new password for your account. Set it here:"),
        link,
        Message("The link works once, within two days. If you did not request it, no action is needed."),
    )
    if not sent:
        # Whoever asks again shall not wait for a mail that never comes.
        with identity.store.identity() as queries:
            queries.people.end_password_links(account.id)


def begin_reset(identity: Identity, visitor: Visitor) -> None:
    begin_attempt(identity.store, (of_address(visitor.address),), now())


def led_to(identity: Identity, token: str) -> Account:
    with identity.store.identity() as queries:
        account = queries.people.password_link(token_hash(token), now())
    if account is None:
        raise no_link()
    return account


def set_password(
    identity: Identity, token: str, password: str, visitor: Visitor, earlier: str | None
) -> NewSession | None:
    """Set a password by a link, which is then used up; all sessions end and a new one starts.

    The link was mailed or came from the operator, so that who is of no workspace joins the one that invites.
    Returns None where the account has a second factor: the link does not replace it.
    """
    account = led_to(identity, token)
    check_password(password, email=account.email, name=account.name)
    password_hash = hashed(password)
    with identity.store.identity() as queries:
        held = queries.people.hold_account(account.id)
        if held is None or not queries.people.use_link(PasswordLink, token_hash(token), now()):
            raise no_link()
        queries.people.set_password(account.id, password_hash)
        queries.people.end_password_links(account.id)
        queries.sessions.end_all(account.id)
        if not queries.people.memberships(account.id):
            invitation = waiting_invitation(queries, account.email)
            if invitation is not None:
                accept(queries, held, invitation)
        memberships = queries.people.memberships(account.id)
        if held.totp_sealed is not None or not memberships:
            return None
        return start(queries, identity, held, memberships[0][1].id, visitor, replaces=earlier)


def change_password(
    identity: Identity, account_id: str, present: str, password: str, visitor: Visitor, earlier: str
) -> NewSession:
    """Change a password; all other sessions end, and this browser's is renewed."""
    account = second_factor.confirm(identity, account_id, present, "present")
    check_password(password, email=account.email, name=account.name)
    password_hash = hashed(password)
    with identity.store.identity() as queries:
        second_factor.hold_confirmed(queries, account, "present")
        workspace = queries.sessions.workspace_of(token_hash(earlier))
        memberships = queries.people.memberships(account.id)
        queries.people.set_password(account.id, password_hash)
        queries.people.end_password_links(account.id)
        queries.sessions.end_all(account.id)
        return start(queries, identity, account, workspace or memberships[0][1].id, visitor)


def rename(identity: Identity, account_id: str, name: str) -> None:
    display_name = checked_name(name)
    with identity.store.identity() as queries:
        second_factor.existing(queries, account_id).name = display_name


def no_link() -> NotFound:
    return NotFound(Message("this link is not valid: it was used, has expired or never existed"))


MOST_TYPED = 300


class SignInRefusal(AppError):
    """Address and password are not those of an account."""

    status = 403
    slug = "sign-in-refused"
    title = "Sign-in refused"


def sign_in(
    identity: Identity, email: str, password: str, visitor: Visitor, earlier: str | None = None
) -> NewSession:
    sought = folded(email[:MOST_TYPED])
    subject, source = of_account(sought), of_address(visitor.address)
    moment = now()
    with identity.store.identity() as queries:
        account = queries.people.account_of(sought)
    password_hash = None if account is None else account.password_hash
    right = password_is_right(identity.store, password, password_hash, sought, (subject, source), moment)
    wrong = SignInRefusal("e-mail address or password is wrong")
    if account is None or not right or account.disabled:
        raise wrong
    succeed(identity.store, subject, (source,), moment)
    with identity.store.identity() as queries:
        held = second_factor.hold_unchanged(queries, account)
        if held is None:
            raise wrong
        return start_session(queries, identity, held, visitor, earlier)


def start_session(
    queries: IdentityStore, identity: Identity, account: Account, visitor: Visitor, earlier: str | None
) -> NewSession:
    """Start a session in the first workspace of a held account, incomplete if it has a second factor."""
    memberships = queries.people.memberships(account.id)
    if not memberships:
        raise SignInRefusal("your account belongs to no workspace; ask a workspace owner to invite you")
    complete = account.totp_sealed is None
    return start(
        queries, identity, account, memberships[0][1].id, visitor, complete=complete, replaces=earlier
    )


def give_code(identity: Identity, token: str, code: str, visitor: Visitor) -> NewSession:
    """Complete a session with a code of the second factor or a recovery code."""
    moment = now()
    with identity.store.identity() as queries:
        incomplete = queries.sessions.incomplete(token_hash(token), moment)
    late = SignInRefusal("the code was entered too late; sign in again")
    if incomplete is None:
        raise late
    session, account = incomplete
    subject, source = of_second_factor(account.id), of_address(visitor.address)
    begin_attempt(identity.store, (subject, source), moment)
    if not second_factor.takes(identity, account, code):
        note_failure(identity.store, account.sought)
        raise BadInput.at("code", "this code is wrong or was already used; wait for the next one")
    succeed(identity.store, subject, (source,), moment)
    with identity.store.identity() as queries:
        held = queries.people.hold_account(account.id)
        ended = not queries.sessions.take_incomplete(session.token_sha256)
        if held is None or ended or held.totp_sealed != account.totp_sealed:
            raise late
        return start(queries, identity, held, session.workspace_id, visitor)
