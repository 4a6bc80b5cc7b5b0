"""Passwords: what is asked of one, and what is kept of it (argon2id, RFC 9106)."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from app.errors import BadInput, TooMany

LEAST = 12
"""Fewest characters of a password."""
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
    """Return the error for a sign-in while too many others sign in."""
    return TooMany("too many people sign in at once; try again in a moment", retry_after=5)


def prepared(password: str) -> str:
    """Return a password in the form that is hashed: the same characters, however a keyboard composes them."""
    return unicodedata.normalize("NFKC", password)


def hashed(password: str) -> str:
    """Return what is kept of a password."""
    with turn():
        return HASHER.hash(prepared(password))


STAND_IN = "$argon2id$v=19$m=47104,t=1,p=1$C/JWJbwojDk6cTxYqSKM6Q$zF2UyTgC7nIhZdMfU/2NMf4Qd8IOlr1Rgu7FyhHyhbE"
"""A hash like those of :func:`make_hasher`, of no password anybody has: compared against where there is no
password, so that the answer takes as long. Written down, since to make one takes as long as a sign-in."""


def matches(password: str, kept: str | None) -> bool:
    """Tell whether a password is the one of a hash; without a hash it takes as long and is not."""
    with turn():
        right = HASHER.verify(prepared(password)[:MOST], kept or STAND_IN)
    return right and kept is not None


def check_password(password: str, *, email: str, name: str = "", field: str = "password") -> None:
    """Refuse a password that is too short or is what everybody knows of its owner."""
    if len(prepared(password)) < LEAST:
        raise BadInput.at(field, "must have at least {least} characters", least=LEAST)
    if len(prepared(password)) > MOST:
        raise BadInput.at(field, "must have at most {most} characters", most=MOST)
    folded = prepared(password).casefold()
    known = {email.casefold(), email.casefold().partition("@")[0], name.casefold()} - {""}
    if folded in known or len(set(folded)) < LEAST // 3:
        raise BadInput.at(field, "is too easy to guess; take several words that only you would put together")
