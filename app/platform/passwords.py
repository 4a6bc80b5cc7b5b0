"""Failed attempts to sign in make the next one wait: per account, per address, kept in the database."""

from __future__ import annotations

import hashlib
import ipaddress
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from app.errors import BadInput, Message, TooMany
from app.platform.store.account_tables import LoginAttempt
from app.platform.store.database import Store

LEAST = 12
"""Fewest characters of a password."""

LEAST_LETTERS = 8
"""Fewest characters of a password or passphrase that are not spaces."""

MOST = 200
"""Most characters of a password: longer ones cost time to hash."""


def make_hasher() -> PasswordHash:
    """Return what hashes passwords: 46 MiB and one pass for each guess.

    That is the first of the settings that OWASP's Password Storage Cheat Sheet recommends for argon2id.
    """
    return PasswordHash((Argon2Hasher(time_cost=1, memory_cost=46 * 1024, parallelism=1),))


HASHER = make_hasher()

AT_ONCE = 2
"""Hashes computed at the same time, since each takes 46 MiB."""

PATIENCE = 10.0
"""How long somebody waits for their turn. [s]"""

WAITING = 6
"""How many wait for their turn: each holds a thread that others' requests would be answered by."""

_turns = threading.BoundedSemaphore(AT_ONCE)

_places = threading.BoundedSemaphore(AT_ONCE + WAITING)


@contextmanager
def turn() -> Iterator[None]:
    """Wait for one of the places in which hashes are computed."""
    if not _places.acquire(blocking=False):
        raise crowded()
    try:
        if not _turns.acquire(timeout=PATIENCE):
            raise crowded()
        try:
            yield
        finally:
            _turns.release()
    finally:
        _places.release()


def crowded() -> TooMany:
    return TooMany("too many people are signing in at once; try again in a moment", retry_after=5)


def prepared(password: str) -> str:
    """Return a password in the form that is hashed: the same characters, however a keyboard composes them."""
    return unicodedata.normalize("NFKC", password)


def hashed(password: str) -> str:
    with turn():
        return HASHER.hash(prepared(password))


STAND_IN = "$argon2id$v=19$m=47104,t=1,p=1$C/JWJbwojDk6cTxYqSKM6Q$zF2UyTgC7nIhZdMfU/2NMf4Qd8IOlr1Rgu7FyhHyhbE"
"""A hash like those of :func:`make_hasher`, of no password anybody has: compared against where there is no
password, so that the answer takes as long. Written down, since to make one takes as long as a sign-in."""


def matches(password: str, stored: str | None) -> bool:
    """Tell whether a password is the one of a hash; without a hash it takes as long and is not."""
    with turn():
        right = HASHER.verify(prepared(password)[:MOST], stored or STAND_IN)
    return right and stored is not None


def check_password(password: str, *, email: str, name: str) -> None:
    """Refuse a password that is too short or is what everybody knows of its owner."""
    if len(prepared(password)) < LEAST:
        raise BadInput.at("password", "must have at least {least} characters", least=LEAST)
    check_not_blank(password)
    if len(prepared(password)) > MOST:
        raise BadInput.at("password", "must have at most {most} characters", most=MOST)
    folded = prepared(password).casefold()
    known = {email.casefold(), email.casefold().partition("@")[0], name.casefold()} - {""}
    if folded in known or len(set(folded)) < LEAST // 3:
        raise BadInput.at("password", "is too easy to guess; use several words that only you would combine")


def check_not_blank(password: str, field: str = "password") -> None:
    """Refuse a password or passphrase that is nearly all spaces."""
    if sum(not character.isspace() for character in prepared(password)) < LEAST_LETTERS:
        raise BadInput.at(
            field, "must have at least {least} characters that are not spaces", least=LEAST_LETTERS
        )


LONGEST = timedelta(minutes=15)
"""Longest pause between two attempts."""

FORGOTTEN = timedelta(days=1)
"""Failures are forgotten after so long without another one."""

TRIES = 5
"""How often a count is tried to be raised while others raise it too."""


@dataclass(frozen=True, slots=True)
class AttemptSubject:
    """What attempts are counted of."""

    kind: str
    name: str
    free: int
    """Failures without a pause."""

    @property
    def sha256(self) -> str:
        """What is kept of it: names that were mistyped, or passwords in their place, are not."""
        return hashlib.sha256(f"{self.kind}:{self.name}".encode()).hexdigest()

    def pause(self, failures: int) -> timedelta:
        """Return how long the next attempt waits: a second, then twice as long each time.

        >>> [AttemptSubject("account", "a", 5).pause(count).total_seconds() for count in (4, 5, 6, 14, 99)]
        [0.0, 1.0, 2.0, 512.0, 900.0]
        """
        beyond = failures - self.free
        return timedelta(0) if beyond < 0 else min(timedelta(seconds=2 ** min(beyond, 20)), LONGEST)


def of_account(sought: str) -> AttemptSubject:
    """Return the subject of an account, whether there is one of this address or not."""
    return AttemptSubject("account", sought, 5)


def of_address(address: str) -> AttemptSubject:
    """Return the subject of a network address; an office behind one address has many people."""
    return AttemptSubject("address", network_of(address), 30)


def of_second_factor(account_id: str) -> AttemptSubject:
    return AttemptSubject("second factor", account_id, 5)


def network_of(address: str) -> str:
    """Return what one subscriber has: an IPv4 address, or an IPv6 network of 64 bits.

    >>> network_of("192.0.2.7"), network_of("2001:db8::1:2:3:4"), network_of("?")
    ('192.0.2.7', '2001:db8::', '?')
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:60]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((int(parsed) >> 64 << 64, 64)).network_address)
    return str(parsed)


def begin_attempt(store: Store, subjects: Sequence[AttemptSubject], moment: datetime) -> None:
    """Count an attempt of each subject before it is looked at."""
    with store.identity() as queries:
        for subject in subjects:
            for _ in range(TRIES):
                attempts = queries.sessions.attempts(subject.sha256)
                failures = 0 if attempts is None else attempts.failures
                left = timedelta(0) if attempts is None else attempts.blocked_until - moment
                # A longer pause there is not: the clock was ahead when it was written, and is right again.
                if timedelta(0) < left <= LONGEST:
                    raise too_soon(left)
                stale = attempts is not None and attempts.last_at < moment - FORGOTTEN
                count = 1 if stale else failures + 1
                attempt = LoginAttempt(
                    subject_sha256=subject.sha256,
                    failures=count,
                    last_at=moment,
                    blocked_until=moment + subject.pause(count),
                )
                if queries.sessions.take_attempt(attempt, failures):
                    break
            else:
                raise too_soon(timedelta(seconds=1))


def note_failure(store: Store, sought: str) -> None:
    """Count a wrong password or code of an account, which its next sign-in tells.

    It is written for an address without an account, too, and finds nothing there: what took longer for those
    that have one would tell a stranger.
    """
    with store.identity() as queries:
        queries.people.count_failure(sought)


def password_is_right(
    store: Store,
    password: str,
    stored: str | None,
    sought: str,
    subjects: Sequence[AttemptSubject],
    moment: datetime,
) -> bool:
    """Count an attempt, look at its password, and note a wrong one to be told with the next sign-in."""
    begin_attempt(store, subjects, moment)
    try:
        right = matches(password, stored)
    except TooMany:
        # Nobody has looked at it: who was right must not wait for it.
        forgive(store, subjects, moment)
        raise
    if not right:
        note_failure(store, sought)
    return right


def succeed(
    store: Store, subject: AttemptSubject, others: Sequence[AttemptSubject], moment: datetime
) -> None:
    """Forget the failures of who proved right; of the others, such as an address, only this attempt."""
    with store.identity() as queries:
        queries.sessions.forget_attempts(subject.sha256)
    forgive(store, others, moment)


def forgive(store: Store, subjects: Sequence[AttemptSubject], moment: datetime) -> None:
    """Take back the count of an attempt that was right, or was not looked at."""
    with store.identity() as queries:
        for subject in subjects:
            queries.sessions.forgive_attempt(subject.sha256, moment)


def too_soon(left: timedelta) -> TooMany:
    seconds = int(left.total_seconds()) + 1
    return TooMany(
        Message("too many attempts; try again in {seconds} seconds", {"seconds": seconds}),
        retry_after=seconds,
    )
