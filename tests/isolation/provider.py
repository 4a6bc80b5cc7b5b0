"""A small OpenID Connect provider on this machine, which does what a test tells it to."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT = "rackline-test"
SECRET = "a secret of the client's"


def encoded(data: bytes) -> str:
    """Return bytes as they stand in a token."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class LocalProvider:
    """The provider: its keys, whom it vouches for, and how it misbehaves."""

    issuer: str = ""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "first"}))
    person: dict[str, Any] = field(
        default_factory=lambda: {
            "sub": "person-1", "email": "minji@example.com", "email_verified": True, "name": "Minji Kim",
        }
    )  # fmt: skip
    claims: dict[str, Any] = field(default_factory=dict)
    """Claims said in place of the right ones; those that are None are left out."""
    metadata: dict[str, Any] = field(default_factory=dict)
    sign: str = "RS256"
    redirect_to: str = ""
    """Where every address leads instead of answering."""
    too_long: bool = False
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def consent(self, address: str) -> dict[str, str]:
        """Do what the page of the provider does: return the parameters the browser comes back with."""
        query = {name: one[0] for name, one in parse_qs(urlsplit(address).query).items()}
        assert query["code_challenge_method"] == "S256"
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return {"code": code, "state": query["state"]}

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """Answer the exchange of a code."""
        expected = base64.b64encode(f"{CLIENT}:{SECRET.replace(' ', '+')}".encode()).decode()
        plain = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        query = self.codes.pop(form.get("code", ""), None)
        if query is None or authorization not in {f"Basic {expected}", f"Basic {plain}"}:
            return 400, {"error": "invalid_grant"}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        if challenge.rstrip(b"=").decode() != query["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        if form["redirect_uri"] != query["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        return 200, {"access_token": "a", "token_type": "Bearer", "id_token": self.id_token(query["nonce"])}

    def id_token(self, nonce: str) -> str:
        """Return a token for the person."""
        moment = int(time.time())
        claims = {
            "iss": self.issuer, "aud": CLIENT, "iat": moment, "exp": moment + 300, "nonce": nonce,
            **self.person, **self.claims,
        }  # fmt: skip
        stated = {name: value for name, value in claims.items() if value is not None}
        if self.sign in {"none", "HS256"}:
            header = {"alg": self.sign, "kid": str(self.key.kid), "typ": "JWT"}
            signed = ".".join(encoded(json.dumps(one).encode()) for one in (header, stated))
            # The public key as a shared secret: what a careless verifier takes (RFC 8725, 2.1).
            secret = self.key.as_pem(private=False)
            mac = hmac.digest(secret, signed.encode(), "sha256") if self.sign == "HS256" else b""
            return f"{signed}.{encoded(mac)}"
        return jwt.encode({"alg": self.sign, "kid": str(self.key.kid)}, stated, self.key)

    def published(self) -> dict[str, Any]:
        """Return what the provider says of itself."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            **self.metadata,
        }


@contextmanager
def running() -> Iterator[LocalProvider]:
    """Give a provider that answers."""
    provider = LocalProvider()

    class Answers(BaseHTTPRequestHandler):
        def answer(self, status: int, document: Any) -> None:
            body = json.dumps(document).encode()
            if provider.too_long:
                body += b" " * 1_000_000
            self.send_response(302 if provider.redirect_to else status)
            if provider.redirect_to:
                self.send_header("location", provider.redirect_to)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            provider.asked.append(self.path)
            if self.path.endswith("/.well-known/openid-configuration"):
                self.answer(200, provider.published())
            elif self.path == "/keys":
                self.answer(200, {"keys": [provider.key.as_dict(private=False)]})
            else:
                self.answer(404, {})

        def do_POST(self) -> None:
            provider.asked.append(self.path)
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: one[0] for name, one in parse_qs(body).items()}
            self.answer(*provider.token(form, self.headers.get("authorization", "")))

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
