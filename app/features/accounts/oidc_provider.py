"""A provider of sign-ins (OpenID Connect Core 1.0), by Authlib's client: codes with PKCE, nonce."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx2
from anyio import from_thread
from authlib.integrations.starlette_client import OAuthError, StarletteIntegration, StarletteOAuth2App
from joserfc.errors import JoseError

from app.features.accounts.oidc import Person, ProviderDown
from app.features.accounts.service import SignInRefusal

logger = logging.getLogger("rackline.oidc")

ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"}
)
"""Asymmetric signatures only: neither “none” nor shared secrets."""

SECONDS = 5.0
"""Longest time until an answer begins, and between two parts of it. [s]"""

KEPT_SECONDS = 3600.0
"""How long the provider's addresses and keys are cached. [s]"""

LEEWAY = 60
"""Largest difference of the clocks. [s]"""

MOST_SUBJECT = 255
"""Longest subject (OpenID Connect Core 1.0, 2)."""

METADATA = "/.well-known/openid-configuration"

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Provider(StarletteOAuth2App):
    """A provider, and this server's registration with it; asked from the threads that answer requests."""

    def __init__(self, issuer: str, client_id: str, client_secret: str = "") -> None:
        super().__init__(
            StarletteIntegration("provider"),
            client_id=client_id,
            client_secret=client_secret or None,
            server_metadata_url=issuer.rstrip("/") + METADATA,
            # No proxy or certificates of the environment: only the configured issuer is trusted.
            client_kwargs={
                "scope": "openid email profile",
                "code_challenge_method": "S256",
                "timeout": SECONDS,
                "follow_redirects": False,
                "trust_env": False,
            },
        )
        self.issuer = issuer
        self.server_metadata: dict[str, Any] = {}

    async def load_server_metadata(self) -> dict[str, Any]:
        """Return what the provider publishes of itself: checked, no more than is used, for an hour."""
        if time.time() - self.server_metadata.get("_loaded_at", 0.0) < KEPT_SECONDS:
            return self.server_metadata
        self.server_metadata = {}
        stated = await super().load_server_metadata()
        self.server_metadata = {}
        used = {name: stated[name] for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
        if stated["issuer"] != self.issuer or not all(map(self._safe, used.values())):
            raise ValueError("metadata")
        algorithms = stated.get("id_token_signing_alg_values_supported", ["RS256"])
        methods = stated.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if self.client_secret and "client_secret_basic" not in methods:
            used["token_endpoint_auth_method"] = "client_secret_post"
        self.server_metadata = {
            **used,
            "id_token_signing_alg_values_supported": sorted(ALGORITHMS.intersection(algorithms)),
            "_loaded_at": stated["_loaded_at"],
        }
        return self.server_metadata

    def _safe(self, address: str) -> bool:
        """Allow https; http only on this machine if the issuer is there too."""
        parts = urlsplit(address)
        local = parts.scheme == "http" and {parts.hostname, urlsplit(self.issuer).hostname} <= LOOPBACK
        return (parts.scheme == "https" and bool(parts.hostname)) or local

    def authorization(self, redirect: str) -> dict[str, str]:
        """Return the address to go to with its state, nonce and verifier."""
        leaving: dict[str, str] = answered(partial(self.create_authorization_url, redirect))
        return leaving

    def person(self, redirect: str, code: str, verifier: str, nonce: str) -> Person:
        """Exchange a code for a token and return whom it is about."""

        async def exchanged() -> Any:
            exchange: Callable[..., Awaitable[Any]] = self.fetch_access_token
            token = await exchange(redirect, code=code, code_verifier=verifier)
            options = {
                "iss": {"essential": True, "value": self.issuer},
                "aud": {"essential": True, "value": self.client_id},
            }
            return await self.parse_id_token(token, nonce, claims_options=options, leeway=LEEWAY)

        claims = answered(exchanged) or {}
        subject, email, name = claims.get("sub"), claims.get("email"), claims.get("name")
        if not isinstance(subject, str) or not 0 < len(subject) <= MOST_SUBJECT or not subject.isprintable():
            raise refused("subject")
        verified = claims.get("email_verified") is True and isinstance(email, str)
        return Person(subject, str(email) if verified else "", name if isinstance(name, str) else "")


def answered(ask: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Ask the provider on the server's loop; its failures become the two errors that people see."""
    try:
        return from_thread.run(ask)
    except (OAuthError, JoseError) as error:
        raise refused(error.error) from None
    except (httpx2.HTTPError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        logger.warning("the provider cannot be used: %s", type(error).__name__)
        raise ProviderDown(
            "the sign-in provider does not respond; try again later, or sign in with a password"
        ) from None


def refused(reason: str) -> SignInRefusal:
    """Return one error for every invalid answer; the reason is in the log."""
    logger.warning("the provider did not confirm a sign-in: %s", reason[:80])
    return SignInRefusal("the provider did not confirm the sign-in; try again")
