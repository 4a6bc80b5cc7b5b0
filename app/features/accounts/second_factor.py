"""The second factor: time-based codes (RFC 6238) and recovery codes."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass

import pyotp
from pyotp.exceptions import OTPVerificationError

from app.errors import BadInput, Conflict
from app.platform.identity import Identity
from app.platform.passwords import of_account, password_is_right, succeed
from app.platform.references import no_such
from app.platform.sealing import Unsealable
from app.platform.store.account_tables import Account
from app.platform.store.database import IdentityStore
from app.platform.store.queries import now

ISSUER = "Rackline"

DIGITS = 6

WINDOW = 1
"""Steps of 30 s accepted before and after the present one, for clocks that differ."""

RECOVERY_CODES = 10

RECOVERY_BYTES = 10
"""80 bits each: enough for a fast hash."""

MOST_CODE = 40


@dataclass(frozen=True, slots=True)
class Enrolment:
    """A secret that is offered and not yet confirmed."""

    secret: str
    """In base 32, for typing."""
    uri: str
    """Content of the QR code."""
    sealed: str
    """The secret, sealed for the form."""


def offer(identity: Identity, account: Account) -> Enrolment:
    """Return a new secret for an account; it is stored once a code of it is entered."""
    secret = pyotp.random_base32(32)
    return offered(account, secret, identity.sealer.seal(f"enrolment:{account.id}", secret))


def offered(account: Account, secret: str, sealed: str) -> Enrolment:
    if account.password_hash is None:
        # Nothing proves that it is not a stolen session that shuts the owner out.
        raise Conflict.at("code", "you sign in through a provider; turn on two-factor authentication there")
    uri = pyotp.TOTP(secret).provisioning_uri(name=account.email, issuer_name=ISSUER)
    return Enrolment(secret, uri, sealed)


def renewed(identity: Identity, account: Account, sealed: str) -> Enrolment:
    """Return the same offer again, after a wrong code."""
    try:
        secret = identity.sealer.open(f"enrolment:{account.id}", sealed[:1000])
    except Unsealable:
        raise BadInput.at("code", "the form is incomplete; open the page again") from None
    return offered(account, secret, sealed)


def turn_on(identity: Identity, account_id: str, password: str, sealed: str, code: str) -> list[str]:
    """Store the offered secret if password and code are right, and return the recovery codes."""
    account = confirm(identity, account_id, password)
    secret = renewed(identity, account, sealed).secret
    step = time_step(secret, code)
    if step is None:
        raise BadInput.at("code", "this is not the current one-time code; check the clock of the device")
    with identity.store.identity() as queries:
        hold_confirmed(queries, account)
        sealed = identity.sealer.seal(purpose(account.id), secret)
        if not queries.people.take_second_factor(account_id, sealed, step):
            raise Conflict.at("code", "two-factor authentication is already on; turn it off first")
        return new_recovery_codes(queries, account_id)


def turn_off(identity: Identity, account_id: str, password: str) -> None:
    account = confirm(identity, account_id, password)
    with identity.store.identity() as queries:
        hold_confirmed(queries, account)
        queries.people.drop_second_factor(account_id)


def other_recovery_codes(identity: Identity, account_id: str, password: str) -> list[str]:
    account = confirm(identity, account_id, password)
    with identity.store.identity() as queries:
        if hold_confirmed(queries, account).totp_sealed is None:
            raise Conflict.at("password", "two-factor authentication is off; turn it on first")
        queries.people.note_change(account_id, "recovery_codes")
        return new_recovery_codes(queries, account_id)


def new_recovery_codes(queries: IdentityStore, account_id: str) -> list[str]:
    codes = [recovery_code() for _ in range(RECOVERY_CODES)]
    queries.people.replace_recovery_codes(account_id, [code_hash(code) for code in codes])
    return codes


def takes(identity: Identity, account: Account, code: str) -> bool:
    """Use a code of an account; tell whether it is right and was not used before."""
    plain = normalized_code(code)
    if len(plain) == DIGITS and plain.isdecimal():
        try:
            secret = identity.sealer.open(purpose(account.id), account.totp_sealed or "")
        except Unsealable:
            return False
        step = time_step(secret, plain)
        if step is None:
            return False
        with identity.store.identity() as queries:
            return queries.people.take_step(account.id, step)
    with identity.store.identity() as queries:
        return queries.people.use_recovery_code(account.id, code_hash(plain), now())


def time_step(secret: str, code: str) -> int | None:
    """Return the time step of a code; None if it is of none near the present one."""
    plain = normalized_code(code)
    if len(plain) != DIGITS or not plain.isascii():
        return None
    try:
        step: int = pyotp.TOTP(secret).verify_and_get_timecode(plain, for_time=now(), valid_window=WINDOW)
    except OTPVerificationError:
        return None
    return step


def confirm(identity: Identity, account_id: str, password: str, field: str = "password") -> Account:
    """Check the password again before a sensitive change, and return the account."""
    account = existing_of(identity, account_id)
    moment, subject = now(), of_account(account.sought)
    if not password_is_right(
        identity.store, password, account.password_hash, account.sought, (subject,), moment
    ):
        raise wrong_password(field)
    succeed(identity.store, subject, (), moment)
    return account


def wrong_password(field: str) -> BadInput:
    return BadInput.at(field, "the password is wrong")


def hold_confirmed(queries: IdentityStore, account: Account, field: str = "password") -> Account:
    """Hold an account whose password was checked, unless another one has been set meanwhile."""
    held = hold_unchanged(queries, account)
    if held is None:
        raise wrong_password(field)
    return held


def hold_unchanged(queries: IdentityStore, account: Account) -> Account | None:
    """Hold an account and return it as it is now; None if its password was changed or it was disabled.

    To check a password takes long enough for either to happen.
    """
    held = queries.people.hold_account(account.id)
    if held is None or held.disabled or held.password_hash != account.password_hash:
        return None
    return held


def existing(queries: IdentityStore, account_id: str) -> Account:
    account = queries.people.account(account_id)
    if account is None:
        raise no_such("account", account_id)
    return account


def existing_of(identity: Identity, account_id: str) -> Account:
    with identity.store.identity() as queries:
        return existing(queries, account_id)


def purpose(account_id: str) -> str:
    """Return the sealing purpose of the secret of an account: moved to another account it does not open."""
    return f"totp:{account_id}"


def recovery_code() -> str:
    text = base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def normalized_code(code: str) -> str:
    """Normalize a code: without spaces and hyphens, in lower case.

    >>> normalized_code(" 123 456 "), normalized_code("ABCD-efgh-ijkl-mnop")
    ('123456', 'abcdefghijklmnop')
    """
    return "".join(code[:MOST_CODE].split()).replace("-", "").lower()


def code_hash(code: str) -> str:
    """Hash a recovery code; it is long and random, so that a fast hash is enough."""
    return hashlib.sha256(normalized_code(code).encode("utf-8", "replace")).hexdigest()
