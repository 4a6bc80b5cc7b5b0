"""A provider of sign-ins (OpenID Connect Core 1.0): what it publishes, the exchange of a code, its tokens.

The code flow with PKCE (RFC 7636, S256). A token's signature is verified with the provider's published
keys before its claims are read; redirects are not followed, answers are bounded in time and size.
"""

from __future__ import annotations

import hmac
import json
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2
from authlib.integrations.httpx_client import OAuth2Client, OAuthError
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from app.errors import AppError

logger = logging.getLogger("rackline.oidc")

ALGORITHMS = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "Ed25519",
    "EdDSA",
)
"""Asymmetric signatures only: neither “none” nor shared secrets."""

SECONDS = 5.0
"""Longest time until an answer begins, and between two parts of it. [s]"""

MOST_BYTES = 256_000
"""Largest answer of a provider. [B]"""

KEPT_SECONDS = 3600.0
"""How long the provider's addresses and keys are cached. [s]"""

REFRESH_SECONDS = 10.0
"""Shortest time between two fetches of the keys, when a token names an unknown one. [s]"""

LEEWAY = 60
"""Largest difference of the clocks. [s]"""

MOST_SUBJECT = 255
"""Longest subject (OpenID Connect Core 1.0, 2)."""

METADATA = "/.well-known/openid-configuration"

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class ProviderDown(AppError):
    """The provider does not answer, or not as OpenID Connect requires."""

    status = 503
    slug = "sign-in-provider-unreachable"
    title = "Sign-in provider unreachable"


class TokenRefused(AppError):
    """The provider's answer does not prove who signs in."""

    status = 403
    slug = "sign-in-refused"
    title = "Sign-in refused"


class TransportLimit(httpx2.HTTPTransport):
    """A transport that limits the size of answers."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        body = b""
        try:
            assert isinstance(response.stream, httpx2.SyncByteStream)
            for piece in response.stream:
                body += piece
                if len(body) > MOST_BYTES:
                    raise httpx2.ReadError("the answer is too large", request=request)
        finally:
            response.close()
        return httpx2.Response(response.status_code, headers=response.headers, stream=httpx2.ByteStream(body))


@dataclass(frozen=True, slots=True)
class Addresses:
    """Published endpoints of a provider."""

    authorization: str
    token: str
    keys: str
    by_post: bool
    """Whether the client's secret is accepted only in the body."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person authenticated by a provider."""

    subject: str
    email: str
    """Empty unless verified by the provider."""
    name: str


@dataclass
class Provider:
    """A provider, and this server's registration with it."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._addresses: tuple[float, Addresses] | None = None
        self._keys: tuple[float, KeySet] | None = None

    @contextmanager
    def _client(self, **more: Any) -> Iterator[OAuth2Client]:
        # No proxy or certificates of the environment: only the configured issuer is trusted.
        client = OAuth2Client(
            client_id=self.client_id,
            client_secret=self.client_secret or None,
            scope="openid email profile",
            code_challenge_method="S256",
            transport=TransportLimit(),
            timeout=SECONDS,
            follow_redirects=False,
            trust_env=False,
            **more,
        )
        with client:
            yield client

    def address(self, redirect: str, state: str, nonce: str, verifier: str) -> str:
        addresses = self.addresses()
        with self._client(redirect_uri=redirect) as client:
            url, _ = client.create_authorization_url(
                addresses.authorization, state=state, code_verifier=verifier, nonce=nonce
            )
        return str(url)

    def person(self, redirect: str, code: str, verifier: str, nonce: str) -> Person:
        """Exchange a code for a token and return the person."""
        addresses = self.addresses()
        method = "none"
        if self.client_secret:
            method = "client_secret_post" if addresses.by_post else "client_secret_basic"
        try:
            with self._client(redirect_uri=redirect, token_endpoint_auth_method=method) as client:
                token = client.fetch_token(
                    addresses.token, grant_type="authorization_code", code=code, code_verifier=verifier
                )
        except OAuthError as error:
            logger.warning("the provider refused a code: %s", str(error.error)[:80])
            raise refused() from None
        except (httpx2.HTTPError, ValueError, KeyError) as error:
            raise down(error) from None
        id_token = token.get("id_token") if isinstance(token, Mapping) else None
        if not isinstance(id_token, str):
            raise refused()
        return self._person(self._claims(id_token), nonce)

    def _claims(self, token: str) -> dict[str, Any]:
        """Verify the signature of a token and return its claims."""
        for fresh in (False, True):
            try:
                return dict(jwt.decode(token, self._key_set(fresh), algorithms=list(ALGORITHMS)).claims)
            except (JoseError, ValueError) as error:
                # An unknown key may be newer than the cached keys.
                if fresh or not self._may_refresh():
                    logger.warning("a token was refused: %s", type(error).__name__)
                    break
        raise refused()

    def _person(self, claims: Mapping[str, Any], nonce: str) -> Person:
        """Return the person of valid claims: for this server, this time and this browser."""
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        moment = time.time()
        expires, issued = claims.get("exp"), claims.get("iat")
        subject = claims.get("sub")
        valid = (
            claims.get("iss") == self.issuer
            and self.client_id in audiences
            and (len(audiences) == 1 or claims.get("azp") == self.client_id)
            and claims.get("azp", self.client_id) == self.client_id
            and isinstance(expires, int | float)
            and expires > moment - LEEWAY
            and isinstance(issued, int | float)
            and issued < moment + LEEWAY
            and hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode())
            and isinstance(subject, str)
            and 0 < len(subject) <= MOST_SUBJECT
            and subject.isprintable()
        )
        if not valid:
            logger.warning("a token was refused: its claims are not for this sign-in")
            raise refused()
        verified = claims.get("email_verified") is True
        email, name = claims.get("email"), claims.get("name")
        return Person(
            subject=str(subject),
            email=email if verified and isinstance(email, str) else "",
            name=name if isinstance(name, str) else "",
        )

    def addresses(self) -> Addresses:
        with self._lock:
            known = self._addresses
        if known is not None and time.monotonic() - known[0] < KEPT_SECONDS:
            return known[1]
        document = self._read(self.issuer.rstrip("/") + METADATA)
        stated = [document.get(f"{name}_endpoint") for name in ("authorization", "token")]
        stated.append(document.get("jwks_uri"))
        if document.get("issuer") != self.issuer or not all(
            isinstance(address, str) and self._safe(address) for address in stated
        ):
            raise down(ValueError("metadata"))
        methods = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        by_post = isinstance(methods, list) and "client_secret_basic" not in methods
        authorization, token, keys = map(str, stated)
        addresses = Addresses(authorization, token, keys, by_post)
        with self._lock:
            self._addresses = (time.monotonic(), addresses)
        return addresses

    def _safe(self, address: str) -> bool:
        """Allow https; http only on this machine if the issuer is there too."""
        parts = urlsplit(address)
        local = parts.scheme == "http" and parts.hostname in LOOPBACK
        return (parts.scheme == "https" and bool(parts.hostname)) or (
            local and urlsplit(self.issuer).hostname in LOOPBACK
        )

    def _may_refresh(self) -> bool:
        with self._lock:
            return self._keys is None or time.monotonic() - self._keys[0] >= REFRESH_SECONDS

    def _key_set(self, fresh: bool) -> KeySet:
        with self._lock:
            known = self._keys
        if known is not None and not fresh and time.monotonic() - known[0] < KEPT_SECONDS:
            return known[1]
        document = self._read(self.addresses().keys)
        try:
            key_set = KeySet.import_key_set(document)  # type: ignore[arg-type]
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise down(error) from None
        with self._lock:
            self._keys = (time.monotonic(), key_set)
        return key_set

    def _read(self, address: str) -> dict[str, Any]:
        try:
            with httpx2.Client(
                transport=TransportLimit(), timeout=SECONDS, follow_redirects=False, trust_env=False
            ) as client:
                response = client.get(address, headers={"accept": "application/json"})
                if response.status_code != 200:
                    raise ValueError(f"status {response.status_code}")
                document = json.loads(response.content)
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            raise down(error) from None
        if not isinstance(document, dict):
            raise down(ValueError("no object"))
        return document


def refused() -> TokenRefused:
    """Return one error for every invalid answer; details are in the log."""
    return TokenRefused("the provider did not confirm the sign-in; try again")


def down(error: Exception) -> ProviderDown:
    logger.warning("the provider cannot be used: %s", type(error).__name__)
    return ProviderDown("the sign-in provider does not respond; try again later, or sign in with a password")
