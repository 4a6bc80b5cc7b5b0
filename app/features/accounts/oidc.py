"""Sign in through a provider: who is admitted, and to which account."""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.errors import AppError, BadInput, Conflict
from app.features.accounts.service import (
    SignInRefusal,
    accept,
    join,
    new_account,
    same_mailbox,
    start_session,
    waiting_invitation,
    workspace_of,
)
from app.platform.admission import Role
from app.platform.identity import MOST_NAME, Identity, Visitor, checked_email, folded, token_hash
from app.platform.passwords import begin_attempt, forgive, of_address
from app.platform.sealing import Unsealable
from app.platform.sessions import NewSession
from app.platform.store.account_tables import Account, ExternalIdentity
from app.platform.store.database import IdentityStore
from app.platform.store.queries import now

if TYPE_CHECKING:
    from app.features.accounts.oidc_provider import Provider


PURPOSE = "oidc"
TWICE = "start the sign-in again; you signed in elsewhere at the same moment"

LASTS = 600
"""Longest time that a browser may take at the provider. [s]"""

CALLBACK = "/sign-in/oidc/callback"


class ProviderDown(AppError):
    """The provider does not answer, or not as OpenID Connect requires."""

    status = 503
    slug = "sign-in-provider-unreachable"
    title = "Sign-in provider unreachable"


@dataclass(frozen=True, slots=True)
class Person:
    """A person authenticated by a provider."""

    subject: str
    email: str
    """Empty unless verified by the provider."""
    name: str


@dataclass(frozen=True, slots=True)
class SingleSignOn:
    """The provider of a server, and the e-mail domains admitted without an invitation."""

    provider: Provider
    domains: frozenset[str] = frozenset()


def begin(identity: Identity, single: SingleSignOn, following: str) -> tuple[str, str]:
    """Return where a browser signs in, and the sealed state that it keeps until it returns."""
    leaving = single.provider.authorization(identity.address_of(CALLBACK))
    address = leaving.pop("url")
    fields = {**leaving, "next": following, "at": now().timestamp()}
    return address, identity.sealer.seal(PURPOSE, json.dumps(fields))


def complete(
    identity: Identity,
    single: SingleSignOn,
    sealed: str,
    state: str,
    code: str,
    visitor: Visitor,
    earlier: str | None = None,
) -> tuple[NewSession, str]:
    """Start a session for the person whom the provider authenticated; return it and where they go on."""
    kept = opened(identity, sealed)
    if not hmac.compare_digest(state.encode("utf-8", "replace"), kept["state"].encode()) or not code:
        raise SignInRefusal("start the sign-in again; it was started elsewhere or too long ago")
    source, moment = of_address(visitor.address), now()
    begin_attempt(identity.store, (source,), moment)
    try:
        person = single.provider.person(
            identity.address_of(CALLBACK), code, kept["code_verifier"], kept["nonce"]
        )
    except ProviderDown:
        # Not a failed attempt: others behind the same address must not have to wait.
        forgive(identity.store, (source,), moment)
        raise
    with identity.store.identity() as queries:
        current = queries.sessions.seated(token_hash(earlier or ""), moment, moment - identity.times.idle)
        found = let_in(queries, single, person, current.account.id if current else "")
        account = queries.people.hold_account(found.id)
        if account is None or account.disabled:
            raise SignInRefusal("this account is disabled; contact the server operator")
        started = start_session(queries, identity, account, visitor, earlier)
    forgive(identity.store, (source,), moment)
    return started, kept["next"]


def opened(identity: Identity, sealed: str) -> dict[str, str]:
    """Return the state of a browser that returned in time."""
    try:
        kept: dict[str, Any] = json.loads(identity.sealer.open(PURPOSE, sealed))
    except (Unsealable, ValueError):
        kept = {}
    if not 0 <= now().timestamp() - kept.get("at", 0.0) <= LASTS:
        raise SignInRefusal("start the sign-in again; it was started elsewhere or too long ago")
    return kept


def let_in(queries: IdentityStore, single: SingleSignOn, person: Person, proven: str = "") -> Account:
    """Return the account of a person; at the first sign-in it is found by address or created.

    Only verified addresses count, and of them those with an account, an invitation or an admitted domain.
    ``proven`` is the account that is already signed in in the browser.
    """
    issuer = single.provider.issuer
    known = queries.external.account_of(issuer, person.subject)
    if known is not None:
        return known
    refusal = SignInRefusal("you do not have access yet; ask a workspace owner to invite you")
    try:
        email = checked_email(person.email)
    except BadInput:
        raise refusal from None
    account, invitation = queries.people.account_of(folded(email)), waiting_invitation(queries, email)
    # It is found by the case-folded address, which two different mailboxes may share.
    if account is not None and not same_mailbox(email, account.email):
        raise refusal
    if account is None:
        # As it is stated: other letters that fold to those of a domain are of another one.
        if invitation is None and email.rpartition("@")[2].lower() not in single.domains:
            raise refusal
        try:
            account = new_account(queries, email, display_name(person.name, email), None)
        except Conflict:
            raise SignInRefusal(TWICE) from None
        if invitation is None:
            join(queries, account, sole_workspace(queries, refusal), Role.VIEWER)
    else:
        account = queries.people.hold_account(account.id)
        if account is None:
            raise refusal
        if queries.external.has_other(account.id, issuer):
            known = queries.external.account_of(issuer, person.subject)
            if known is None:
                # Somebody else at the provider has this address now: an operator must decide whose account
                # it is.
                raise refusal
            return known
        if account.id != proven:
            # The provider vouches for the address; whoever chose the password may never have proved it. From
            # now on that password must not open this account, nor what was set up with it.
            queries.people.set_password(account.id, None)
            if account.totp_sealed is not None:
                queries.people.drop_second_factor(account.id)
            queries.people.end_password_links(account.id)
            queries.sessions.end_all(account.id)
    if invitation is not None:
        accept(queries, account, invitation)
    theirs = ExternalIdentity(issuer=issuer, subject=person.subject, account_id=account.id, created_at=now())
    if not queries.external.is_first(theirs):
        raise SignInRefusal(TWICE)
    return account


def sole_workspace(queries: IdentityStore, refusal: SignInRefusal) -> str:
    """Return the workspace that people of an admitted domain join; with several, they need an invitation."""
    try:
        return workspace_of(queries, None).id
    except BadInput:
        raise refusal from None


def display_name(name: str, email: str) -> str:
    printable = "".join(filter(str.isprintable, " ".join(name.split())))[:MOST_NAME]
    return printable or email.partition("@")[0]
