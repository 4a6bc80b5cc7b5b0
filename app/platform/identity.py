"""What every use case about people works with, and what tokens and addresses are kept as."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from app.errors import BadInput, FieldError, Message
from app.estimating.names import name_error
from app.platform.sealing import Sealer
from app.platform.store.database import Store

TOKEN_BYTES = 32

MOST_TOKEN = 100
"""Characters of a token that are looked at; ours are shorter."""


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_hash(token: str) -> str:
    """Return what is kept of a token; it is long and random, so that a fast hash will do.

    Rows are found by it, so that no comparison of a secret takes longer the more of it is right.
    """
    return hashlib.sha256(token[:MOST_TOKEN].encode("utf-8", "replace")).hexdigest()


MOST_EMAIL = 254
"""Longest address that can be written to (RFC 5321, 4.5.3.1.3)."""

MOST_NAME = 200

EMAIL = re.compile(r"(?!.*=\?)[^@\s<>,;:\"()\[\]\\]{1,64}@[^@\s<>,;:\"()\[\]\\]{1,255}")

LOCAL_URL = "http://localhost:8000"
"""Where a server answers that was told nothing else."""

Mailer = Callable[[str, str, str], bool]
"""Sends a text: address, subject, text; tells whether it was taken over."""


@dataclass(frozen=True, slots=True)
class SessionTimes:
    """How long a session works."""

    idle: timedelta = timedelta(hours=12)
    """Without a request."""
    absolute: timedelta = timedelta(days=14)
    """From the sign-in on, whatever is asked."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The accounts of one server."""

    store: Store
    sealer: Sealer
    times: SessionTimes = SessionTimes()
    mail: Mailer | None = None
    """How links are sent; without it they are shown to whoever made them."""
    public_url: str = ""
    """Address of the server as people write it, without a slash at the end."""

    def address_of(self, path: str, asked_at: str = "") -> str:
        """Return a path as a link that works outside of the page."""
        return (self.public_url or asked_at.rstrip("/") or LOCAL_URL) + path


@dataclass(frozen=True, slots=True)
class Visitor:
    """Where a request came from."""

    address: str = ""
    user_agent: str = ""


def folded(email: str) -> str:
    """Return an address as it is looked up.

    >>> folded("First.Last@Example.COM")
    'first.last@example.com'
    """
    return unicodedata.normalize("NFKC", email.strip()).casefold()


def checked_email(email: str, field: str = "email") -> str:
    """Return an address that can be written to, and looked up."""
    address = email.strip()
    forms = (address, folded(address))
    if not address.isprintable() or not all(
        len(form) <= MOST_EMAIL and EMAIL.fullmatch(form) for form in forms
    ):
        raise BadInput.at(field, "enter an e-mail address, such as name@example.com")
    return address


def checked_name(name: str) -> str:
    """Return a name that can be shown."""
    text = " ".join(name.split())
    fault = name_error(text)
    if len(text) > MOST_NAME:
        fault = Message("must have at most {max_length} characters", {"max_length": MOST_NAME})
    if fault is not None:
        raise BadInput(fault, [FieldError("name", fault)])
    return text
