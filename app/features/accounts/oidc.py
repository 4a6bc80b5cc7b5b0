"""Signing in through a provider: who is let in, and whose account it is."""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.errors import BadInput
from app.features.accounts.service import SignInRefused, join, new_account, workspace_of
from app.platform.admission import Role
from app.platform.identity import MOST_NAME, Identity, Visitor, checked_email, folded, token_hash
from app.platform.passwords import begin_attempt, forgive, of_address
from app.platform.sealing import Unsealable
from app.platform.sessions import Started, start
from app.platform.store.account_tables import Account, ExternalIdentity, Invitation
from app.platform.store.database import IdentityStore
from app.platform.store.queries import now

if TYPE_CHECKING:
    from app.features.accounts.oidc_provider import Person, Provider


PURPOSE = "oidc"
"""What the state of a browser on its way is sealed for."""

LASTS = 600
"""How long a browser may stay at the provider. [s]"""

CALLBACK = "/sign-in/oidc/callback"

SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class SingleSignOn:
    """The provider of a server, and whose addresses it may let in without an invitation."""

    provider: Provider
    domains: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Leaving:
    """A browser about to go to the provider."""

    address: str
    """Where it goes."""
    sealed: str
    """What it keeps until it comes back: only this server can read it."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A browser that came back, and where it wanted to go."""

    started: Started
    following: str


def begin(identity: Identity, single: SingleSignOn, following: str) -> Leaving:
    """Return where a browser signs in, with a secret of its own for the way."""
    state, nonce, verifier = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(3))
    address = single.provider.address(identity.address_of(CALLBACK), state, nonce, verifier)
    kept = {"state": state, "nonce": nonce, "verifier": verifier, "next": following, "at": now().timestamp()}
    return Leaving(address, identity.sealer.seal(PURPOSE, json.dumps(kept)))


def complete(
    identity: Identity,
    single: SingleSignOn,
    sealed: str,
    state: str,
    code: str,
    visitor: Visitor,
    earlier: str | None = None,
) -> Arrived:
    """Start a session for whom the provider vouches for."""
    from app.features.accounts.oidc_provider import ProviderDown

    kept = opened(identity, sealed)
    if not hmac.compare_digest(state.encode("utf-8", "replace"), kept["state"].encode()) or not code:
        raise SignInRefused("start the sign-in again; it was started elsewhere or too long ago")
    place, moment = of_address(visitor.address), now()
    begin_attempt(identity.store, (place,), moment)
    try:
        person = single.provider.person(
            identity.address_of(CALLBACK), code[:2000], kept["verifier"], kept["nonce"]
        )
    except ProviderDown:
        # That is no failure of whoever signs in: others behind the same address would wait for it.
        forgive(identity.store, (place,), moment)
        raise
    with identity.store.identity() as queries:
        here = queries.sessions.seated(token_hash(earlier or ""), moment, moment - identity.times.idle)
        account = let_in(queries, single, person, here.account.id if here else "")
        if account.disabled:
            raise SignInRefused("this account is disabled; contact the server operator")
        places = queries.people.memberships(account.id)
        if not places:
            raise SignInRefused("your account belongs to no workspace; ask a workspace owner to invite you")
        whole = account.totp_sealed is None
        started = start(
            queries, identity, account, places[0][1].id, visitor, complete=whole, replaces=earlier
        )
    forgive(identity.store, (place,), moment)
    return Arrived(started, kept["next"])


def opened(identity: Identity, sealed: str) -> dict[str, str]:
    """Return what a browser kept while it was away, if it was not away too long."""
    try:
        kept = json.loads(identity.sealer.open(PURPOSE, sealed))
    except (Unsealable, ValueError):
        kept = None
    if not isinstance(kept, dict) or not 0 <= now().timestamp() - kept["at"] <= LASTS:
        raise SignInRefused("start the sign-in again; it was started elsewhere or too long ago")
    return kept


def let_in(queries: IdentityStore, single: SingleSignOn, person: Person, proven: str = "") -> Account:
    """Return the account of a person; at the first sign-in it is found by address or made.

    Only an address that the provider has verified counts, and only one that has an account or an invitation
    or is of a domain that was set. ``proven`` is the account that is signed in in the person's browser.
    """
    issuer = single.provider.issuer
    known = queries.external.account_of(issuer, person.subject)
    if known is not None:
        return known
    refusal = SignInRefused("you do not have access yet; ask a workspace owner to invite you")
    try:
        email = checked_email(person.email)
    except BadInput:
        raise refusal from None
    sought, moment = folded(email), now()
    account = queries.people.account_of(sought)
    invitation = queries.external.invitation_for(sought, moment)
    # They are found by what is alike in print, which may be the mailboxes of two people.
    if not all(same_mailbox(email, found.email) for found in (account, invitation) if found is not None):
        raise refusal
    if account is None:
        if invitation is None and sought.rpartition("@")[2] not in single.domains:
            raise refusal
        account = new_account(queries, email, shown_name(person.name, email), None)
        if invitation is None:
            join(queries, account, sole_workspace(queries, refusal), Role.VIEWER)
    elif queries.external.has_other(account.id, issuer):
        # Somebody else at the provider has this address now; whose account it is an operator must say.
        raise refusal
    elif account.id != proven:
        # Nobody has verified the address of who chose the password: an invitation's link is shown to whoever
        # invites. It opens nothing any more that the person is let into from now on.
        queries.people.set_password(account.id, None)
        queries.people.end_password_links(account.id)
        queries.sessions.end_all(account.id)
    if invitation is not None:
        used = queries.people.use_link(Invitation, invitation.token_sha256, moment)
        if used and queries.people.membership(account.id, invitation.workspace_id) is None:
            join(queries, account, invitation.workspace_id, Role(invitation.role))
    queries.external.add(
        ExternalIdentity(issuer=issuer, subject=person.subject, account_id=account.id, created_at=moment)
    )
    return account


def same_mailbox(email: str, other: str) -> bool:
    """Tell whether two addresses are one: servers pass over the case of ASCII letters and over nothing else.

    >>> same_mailbox("Kim@Example.com", "kim@example.com"), same_mailbox("straße@a.kr", "strasse@a.kr")
    (True, False)
    """
    return email == other or (email.isascii() and other.isascii() and email.lower() == other.lower())


def sole_workspace(queries: IdentityStore, refusal: SignInRefused) -> str:
    """Return the workspace that people of a domain come into; with several an owner must invite them."""
    try:
        return workspace_of(queries, None).id
    except BadInput:
        raise refusal from None


def shown_name(name: str, email: str) -> str:
    """Return what a new account is called."""
    printable = "".join(one for one in " ".join(name.split()) if one.isprintable())[:MOST_NAME]
    return printable or email.partition("@")[0]
