"""Secrets that must be read again are sealed: encrypted with a key that is not in the database."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import BadInput

if TYPE_CHECKING:
    from joserfc.jwk import OctKey


SECRET_FILE = "secret"
"""Name of the file with the server's secret in the data directory."""

SECRET_BYTES = 32

HEADER = {"alg": "dir", "enc": "A256GCM"}
"""One key, authenticated encryption (RFC 7518, 4.5 and 5.3)."""


class Unsealable(Exception):
    """The sealed text is of another secret or another purpose, or was changed."""


class Sealer:
    """Seals and opens texts; each purpose has a key of its own, derived from the server's secret.

    Its fallbacks are secrets of before, or of a moment later on other servers: they open, and seal nothing.
    """

    def __init__(self, read_secret: Callable[[], bytes], fallbacks: Sequence[bytes] = ()) -> None:
        self._read_secret = read_secret
        self._fallbacks = fallbacks

    @cached_property
    def _secret(self) -> bytes:
        return self._read_secret()

    def seal(self, purpose: str, text: str) -> str:
        """Return a text sealed for a purpose, such as ``totp:acc_…``, for which alone it opens."""
        from joserfc import jwe

        return jwe.encrypt_compact(dict(HEADER), text.encode(), key_of(self._secret, purpose))

    def open(self, purpose: str, sealed: str) -> str:
        for secret in (self._secret, *self._fallbacks):
            text = opened(secret, purpose, sealed)
            if text is not None:
                return text
        raise Unsealable

    def resealed(self, purpose: str, sealed: str) -> str:
        """Return what no fallback is needed to open: the same text unless it was sealed with one."""
        if opened(self._secret, purpose, sealed) is not None:
            return sealed
        return self.seal(purpose, self.open(purpose, sealed))

    def mark(self, purpose: str, text: str) -> str:
        """Return by what a text is known again that is not kept; without the secret nobody can try guesses.

        >>> sealer = Sealer(lambda: b"s" * 32)
        >>> sealer.mark("share:prp_a", "sesame") == sealer.mark("share:prp_a", "open sesame")
        False
        """
        return hmac.new(derived(self._secret, purpose), text.encode(), hashlib.sha256).hexdigest()


def derived(secret: bytes, purpose: str) -> bytes:
    return hmac.new(secret, purpose.encode(), hashlib.sha256).digest()


def key_of(secret: bytes, purpose: str) -> OctKey:
    from joserfc.jwk import OctKey

    return OctKey.import_key(derived(secret, purpose))


def opened(secret: bytes, purpose: str, sealed: str) -> str | None:
    """Return a sealed text as one secret opens it; None where that is not the one."""
    from joserfc import jwe
    from joserfc.errors import JoseError

    try:
        content = jwe.decrypt_compact(sealed, key_of(secret, purpose), algorithms=list(HEADER.values()))
    except (JoseError, ValueError, TypeError):
        # A head that was made up may hold a list or a number where the library looks for a name.
        return None
    return (content.plaintext or b"").decode()


def stored_secret(directory: Path) -> bytes:
    """Return the secret of a data directory, made on first use and readable by its owner alone."""
    path = directory / SECRET_FILE
    try:
        if not path.exists():
            make_secret(path)
        secret = path.read_bytes().strip()
    except OSError as error:
        raise BadInput.at(
            "RACKLINE_SECRET",
            "{path} cannot be used: {reason}",
            path=str(path),
            reason=error.strerror or type(error).__name__,
        ) from None
    if len(secret) < SECRET_BYTES:
        raise BadInput.at("RACKLINE_SECRET", "{path} is too short to be a secret", path=str(path))
    return secret


def make_secret(path: Path) -> None:
    """Write a new secret; where two servers start at once, the first one's is kept."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_urlsafe(SECRET_BYTES).encode())
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
