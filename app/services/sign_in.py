"""Signing in: password, then the second factor where there is one. All failures look alike."""

from __future__ import annotations

from app.errors import AppError, BadInput
from app.services import second_factor
from app.services.identity import Identity, Visitor, folded
from app.services.sessions import Started, start
from app.services.throttling import (
    begin_attempt,
    note_failure,
    of_account,
    of_address,
    of_second_factor,
    password_is_right,
    succeed,
)
from app.services.tokens import token_hash
from app.store.types import now

MOST_TYPED = 300


class SignInRefused(AppError):
    """Address and password are not those of an account."""

    status = 403
    title = "Sign-in refused"


def sign_in(
    identity: Identity, email: str, password: str, visitor: Visitor, earlier: str | None = None
) -> Started:
    """Start a session for an address and its password."""
    sought = folded(email[:MOST_TYPED])
    subject, place = of_account(sought), of_address(visitor.address)
    moment = now()
    with identity.store.identity() as queries:
        account = queries.people.account_of(sought)
    kept = None if account is None else account.password_hash
    right = password_is_right(identity.store, password, kept, sought, (subject, place), moment)
    if account is None or not right or account.disabled:
        raise SignInRefused("e-mail address and password do not belong together")
    succeed(identity.store, subject, (place,), moment)
    with identity.store.identity() as queries:
        places = queries.people.memberships(account.id)
        if not places:
            raise SignInRefused("your account is in no workspace; ask an owner of one to invite you")
        whole = account.totp_sealed is None
        return start(queries, identity, account, places[0][1].id, visitor, complete=whole, replaces=earlier)


def give_code(identity: Identity, token: str, code: str, visitor: Visitor) -> Started:
    """Complete a session by a code of the second factor, or by a recovery code."""
    moment = now()
    with identity.store.identity() as queries:
        found = queries.sessions.incomplete(token_hash(token), moment)
    if found is None:
        raise SignInRefused("sign in again; the code was given too late")
    session, account = found
    subject, place = of_second_factor(account.id), of_address(visitor.address)
    begin_attempt(identity.store, (subject, place), moment)
    if not second_factor.takes(identity, account, code):
        note_failure(identity.store, account.sought)
        raise BadInput.at("code", "this code is wrong or was used before; wait for the next one")
    succeed(identity.store, subject, (place,), moment)
    with identity.store.identity() as queries:
        return start(queries, identity, account, session.workspace_id, visitor, replaces=token)
