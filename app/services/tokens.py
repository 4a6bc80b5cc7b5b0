"""Secrets that are given out once: made here, kept as hashes alone."""

from __future__ import annotations

import hashlib
import secrets

TOKEN_BYTES = 32
MOST_TOKEN = 100
"""Characters of a token that are looked at; ours are shorter."""


def new_token() -> str:
    """Return a secret that cannot be guessed."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_hash(token: str) -> str:
    """Return what is kept of a token; it is long and random, so that a fast hash will do.

    Rows are found by it, so that no comparison of a secret takes longer the more of it is right.
    """
    return hashlib.sha256(token[:MOST_TOKEN].encode("utf-8", "replace")).hexdigest()
