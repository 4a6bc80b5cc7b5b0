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
from app.platform.sessions import Started, start
from app.platform.store.account_tables import Account, Membership, PasswordLink
from app.platform.store.database import IdentityStore
from app.platform.store.queries import new_id, now
from app.platform.store.tables import Workspace
from app.platform.workbench import LOCAL_WORKSPACE

LINK_WORKS = timedelta(days=2)
"""How long a link to set a password works."""

MOST_MEMBERS = 1000
"""Members of one workspace."""


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account that the operator made."""

    account: Account
    workspace: Workspace
    role: Role
    link: str | None
    """Where its password is set; none where one was given."""


def any_account(identity: Identity) -> bool:
    """Tell whether the server has accounts; without one it serves this machine alone."""
    with identity.store.identity() as queries:
        return queries.people.any_account()


def add_account(
    identity: Identity,
    email: str,
    name: str,
    *,
    role: Role | None = None,
    workspace: str | None = None,
    password: str | None = None,
) -> NewAccount:
    """Make an account and a member of it.

    The first account of a server is given the local workspace, with what is in it, as its owner.
    """
    address, shown = checked_email(email), checked_name(name or email.partition("@")[0])
    if password is not None:
        check_password(password, email=address, name=shown)
    kept = None if password is None else hashed(password)
    with identity.store.identity() as queries:
        place = workspace_of(queries, workspace)
        queries.people.hold_workspace(place.id)
        if queries.people.account_of(folded(address)) is not None:
            raise Conflict.at("email", "an account with this address already exists")
        account = new_account(queries, address, shown, kept)
        first = queries.people.owners(place.id) == 0
        given = role or (Role.OWNER if first else Role.CONSULTANT)
        if first and given is not Role.OWNER:
            raise BadInput.at("role", "the first member of a workspace must be its owner")
        join(queries, account, place.id, given)
        link = None if kept else password_link(queries, account)
    return NewAccount(account, place, given, link and identity.address_of(link))


def workspace_of(queries: IdentityStore, named: str | None) -> Workspace:
    """Return a workspace by its identifier or name; unnamed, the local one or the only one."""
    known = queries.people.workspaces()
    if named is None:
        if not queries.people.any_account():
            known = [place for place in known if place.id == LOCAL_WORKSPACE] or known
        if len(known) == 1:
            return known[0]
        names = ", ".join(place.name for place in known[:10])
        raise BadInput.at("workspace", "there are several workspaces; choose one of {names}", names=names)
    meant = [place for place in known if named in (place.id, place.name)]
    if len(meant) > 1:
        raise BadInput.at("workspace", "several workspaces have this name; use the identifier")
    if not meant:
        raise NotFound.named("workspace", named, [place.name for place in known], "workspace")
    return meant[0]


def new_account(queries: IdentityStore, email: str, name: str, password_hash: str | None) -> Account:
    account = Account(
        id=new_id("acc"), email=email, sought=folded(email), name=name, password_hash=password_hash
    )
    queries.people.keep(account)
    return account


def check_room(queries: IdentityStore, workspace_id: str) -> None:
    count = queries.people.count_members(workspace_id)
    if count >= MOST_MEMBERS:
        raise Conflict(
            Message(
                "the workspace has reached its limit of {count} members; an owner must remove one first",
                {"count": count},
            )
        )


def join(queries: IdentityStore, account: Account, workspace_id: str, role: Role) -> None:
    check_room(queries, workspace_id)
    queries.people.keep(Membership(account_id=account.id, workspace_id=workspace_id, role=role))


def add_workspace(identity: Identity, name: str) -> Workspace:
    """Make a workspace, which has no member yet."""
    made = Workspace(id=new_id("ws"), name=checked_name(name))
    with identity.store.identity() as queries:
        if any(one.name == made.name for one in queries.people.workspaces()):
            raise Conflict.at("name", "a workspace with this name already exists")
        queries.people.keep(made)
    return made


def list_workspaces(identity: Identity) -> list[tuple[Workspace, int]]:
    with identity.store.identity() as queries:
        return [(one, len(queries.people.members(one.id))) for one in queries.people.workspaces()]


def list_accounts(identity: Identity) -> list[tuple[Account, list[tuple[str, str]]]]:
    with identity.store.identity() as queries:
        return [
            (one, [(place.name, member.role) for member, place in queries.people.memberships(one.id)])
            for one in queries.people.accounts()
        ]


def named_account(queries: IdentityStore, email: str) -> Account:
    account = queries.people.account_of(folded(email))
    if account is None:
        raise NotFound.named("account", email, [one.email for one in queries.people.accounts()], "email")
    return account


def set_disabled(identity: Identity, email: str, disabled: bool) -> None:
    """Let an account in no more, ending its sessions, or let it in again."""
    with identity.store.identity() as queries:
        account = named_account(queries, email)
        account.disabled = disabled
        if disabled:
            queries.sessions.end_all(account.id)
            queries.people.end_password_links(account.id)


def reset_password(identity: Identity, email: str) -> str:
    """Return a link by which an account sets another password; until then the present one works."""
    with identity.store.identity() as queries:
        account = named_account(queries, email)
        if account.disabled:
            raise Conflict.at("email", "the account is disabled; enable it first")
        return identity.address_of(password_link(queries, account))


def reset_second_factor(identity: Identity, email: str) -> None:
    """Take the second factor of an account away and end its sessions."""
    with identity.store.identity() as queries:
        account = named_account(queries, email)
        queries.people.drop_second_factor(account.id)
        queries.sessions.end_all(account.id)


def password_link(queries: IdentityStore, account: Account) -> str:
    """Return the path of a new link by which an account sets its password; earlier ones end."""
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


def send_reset(identity: Identity, email: str, language: str) -> None:
    """Send a link to set a password to the address of an account; where there is none, nothing happens.

    Whoever asks is told the same either way, and before this is done, so that the time tells nothing.
    """
    with identity.store.identity() as queries:
        account = queries.people.account_of(folded(email[:300]))
        if account is None or account.disabled:
            return
        link = identity.address_of(password_link(queries, account))
    send(
        identity,
        account.email,
        language,
        Message("Your Rackline password"),
        Message("Someone requested a new password for your account. Set it here:"),
        link,
        Message("The link works once, within two days. If you did not request it, no action is needed."),
    )


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
) -> Started | None:
    """Set a password by a link: the link is used up, all sessions end and a new one starts.

    Returns None where the account has a second factor, which the link does not stand in for: it signs in.
    """
    account = led_to(identity, token)
    check_password(password, email=account.email, name=account.name)
    kept = hashed(password)
    with identity.store.identity() as queries:
        if not queries.people.use_link(PasswordLink, token_hash(token), now()):
            raise no_link()
        queries.people.set_password(account.id, kept)
        queries.sessions.end_all(account.id)
        places = queries.people.memberships(account.id)
        if account.totp_sealed is not None or not places:
            return None
        return start(queries, identity, account, places[0][1].id, visitor, replaces=earlier)


def change_password(
    identity: Identity, account_id: str, present: str, password: str, visitor: Visitor, earlier: str
) -> Started:
    """Change a password; all other sessions end, and this browser's is renewed."""
    account = second_factor.confirm(identity, account_id, present, "present")
    check_password(password, email=account.email, name=account.name)
    kept = hashed(password)
    with identity.store.identity() as queries:
        workspace = queries.sessions.workspace_of(token_hash(earlier))
        places = queries.people.memberships(account.id)
        queries.people.set_password(account.id, kept)
        queries.people.end_password_links(account.id)
        queries.sessions.end_all(account.id)
        return start(queries, identity, account, workspace or places[0][1].id, visitor)


def rename(identity: Identity, account_id: str, name: str) -> None:
    shown = checked_name(name)
    with identity.store.identity() as queries:
        second_factor.existing(queries, account_id).name = shown


def no_link() -> NotFound:
    """Return the error for a link that does not work, whatever the reason."""
    return NotFound(Message("this link is not valid: it was used, has expired or never existed"))


MOST_TYPED = 300


class SignInRefused(AppError):
    """Address and password are not those of an account."""

    status = 403
    slug = "sign-in-refused"
    title = "Sign-in refused"


def sign_in(
    identity: Identity, email: str, password: str, visitor: Visitor, earlier: str | None = None
) -> Started:
    sought = folded(email[:MOST_TYPED])
    subject, place = of_account(sought), of_address(visitor.address)
    moment = now()
    with identity.store.identity() as queries:
        account = queries.people.account_of(sought)
    kept = None if account is None else account.password_hash
    right = password_is_right(identity.store, password, kept, sought, (subject, place), moment)
    if account is None or not right or account.disabled:
        raise SignInRefused("e-mail address or password is wrong")
    succeed(identity.store, subject, (place,), moment)
    with identity.store.identity() as queries:
        places = queries.people.memberships(account.id)
        if not places:
            raise SignInRefused("your account belongs to no workspace; ask a workspace owner to invite you")
        whole = account.totp_sealed is None
        return start(queries, identity, account, places[0][1].id, visitor, complete=whole, replaces=earlier)


def give_code(identity: Identity, token: str, code: str, visitor: Visitor) -> Started:
    """Complete a session by a code of the second factor, or by a recovery code."""
    moment = now()
    with identity.store.identity() as queries:
        found = queries.sessions.incomplete(token_hash(token), moment)
    if found is None:
        raise SignInRefused("the code was entered too late; sign in again")
    session, account = found
    subject, place = of_second_factor(account.id), of_address(visitor.address)
    begin_attempt(identity.store, (subject, place), moment)
    if not second_factor.takes(identity, account, code):
        note_failure(identity.store, account.sought)
        raise BadInput.at("code", "this code is wrong or was already used; wait for the next one")
    succeed(identity.store, subject, (place,), moment)
    with identity.store.identity() as queries:
        return start(queries, identity, account, session.workspace_id, visitor, replaces=token)
