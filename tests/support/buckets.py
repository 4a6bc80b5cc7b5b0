"""A server that speaks enough of S3 to keep uploaded files, and is strict about it.

It refuses what is not signed with its key (Signature Version 4) and a body that differs from its hashes, and
lists few objects at a time. Another server is used where TEST_BUCKET_URL names one:
``http://KEY:SECRET@HOST:PORT/BUCKET``.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

from app.platform.store.upload_bucket import BucketAddress, FileBucket

GIVEN = "TEST_BUCKET_URL"

AT_ONCE = 3
"""Objects of one page of a list, so that lists have several."""


@dataclass
class Bucket:
    """A bucket of a server that runs."""

    name: str
    endpoint: str
    key: str = "AKIATESTOFFILES"
    secret: str = field(default_factory=lambda: secrets.token_hex(20))
    objects: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Method and status of every request."""
    away: bool = False
    """Whether it answers nothing but 503."""

    @property
    def settings(self) -> dict[str, str]:
        """Settings of a server of ours that keeps its files here."""
        return {
            "uploads": f"s3://{self.name}/kept",
            "s3_endpoint": self.endpoint,
            "s3_access_key_id": self.key,
            "s3_secret_access_key": self.secret,
        }

    def storage(self, prefix: str = "kept", secret: str = "") -> FileBucket:
        key = self.key, secret or self.secret
        return FileBucket(BucketAddress(self.name, prefix, self.endpoint, "us-east-1", *key))


class BucketHandler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def do_GET(self) -> None:
        path, query = self.path.partition("?")[::2]
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        key = unquote(path).removeprefix(f"/{self.bucket.name}").removeprefix("/")
        objects = self.bucket.objects
        if self.bucket.away:
            self.answer(HTTPStatus.SERVICE_UNAVAILABLE)
        elif not self.is_signed(path, query) or self.is_changed(body):
            self.answer(HTTPStatus.FORBIDDEN)
        elif path.split("/")[1] != self.bucket.name:
            self.answer(HTTPStatus.NOT_FOUND)
        elif self.command == "PUT":
            objects[key] = body
            self.answer(HTTPStatus.OK)
        elif self.command == "DELETE":
            objects.pop(key, None)
            self.answer(HTTPStatus.NO_CONTENT)
        elif not key:
            self.answer(HTTPStatus.OK, self.page(dict(parse_qsl(query))))
        elif key not in objects:
            self.answer(HTTPStatus.NOT_FOUND)
        else:
            self.answer(HTTPStatus.OK, objects[key])

    do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815

    def page(self, query: dict[str, str]) -> bytes:
        """List objects behind the one a page ended with (ListObjectsV2)."""
        after, prefix = query.get("continuation-token", ""), query.get("prefix", "")
        names = [name for name in sorted(self.bucket.objects) if name.startswith(prefix) and name > after]
        items = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(self.bucket.objects[name])}</Size>"
            "<LastModified>2026-11-01T00:00:00.000Z</LastModified><ETag>e</ETag></Contents>"
            for name in names[:AT_ONCE]
        )
        if more := len(names) > AT_ONCE:
            items += f"<NextContinuationToken>{escape(names[AT_ONCE - 1])}</NextContinuationToken>"
        truncated = f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        return f"<ListBucketResult>{truncated}{items}</ListBucketResult>".encode()

    def is_signed(self, path: str, query: str) -> bool:
        """Tell whether a request bears the signature of the key (AWS Signature Version 4)."""
        kind, _, rest = self.headers.get("Authorization", "").partition(" ")
        stated = dict(part.strip().split("=", 1) for part in rest.split(",")) if rest else {}
        if kind != "AWS4-HMAC-SHA256" or not stated.get("Credential", "").startswith(f"{self.bucket.key}/"):
            return False
        names = stated["SignedHeaders"].split(";")
        pairs = sorted(parse_qsl(query, keep_blank_values=True))
        asked = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in pairs)
        headers = "".join(f"{name}:{self.headers[name].strip()}\n" for name in names)
        request = "\n".join(
            (self.command, path, asked, headers, ";".join(names), self.headers["x-amz-content-sha256"])
        )
        scope = stated["Credential"].split("/", 1)[1]
        text = "\n".join(
            (kind, self.headers["x-amz-date"], scope, hashlib.sha256(request.encode()).hexdigest())
        )
        signing = b"AWS4" + self.bucket.secret.encode()
        for part in (*scope.split("/"), text):
            signing = hmac.digest(signing, part.encode(), "sha256")
        return hmac.compare_digest(signing.hex(), stated["Signature"])

    def is_changed(self, body: bytes) -> bool:
        """Tell whether a body is another than the one that was signed, or came without a checksum."""
        digest = hashlib.sha256(body)
        checked = self.headers.get("x-amz-checksum-sha256")
        if self.command == "PUT" and checked != base64.b64encode(digest.digest()).decode():
            return True
        return self.headers["x-amz-content-sha256"] != digest.hexdigest()

    def answer(self, status: HTTPStatus, body: bytes = b"") -> None:
        self.bucket.asked.append((self.command, str(status.value)))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"e"')
        self.send_header("Last-Modified", "Sun, 01 Nov 2026 00:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, form: str, *values: object) -> None:
        pass


@contextmanager
def bucket_server() -> Iterator[Bucket]:
    """Give an empty bucket of a server that runs."""
    if given := os.environ.get(GIVEN):
        parts = urlsplit(given)
        endpoint = f"{parts.scheme}://{parts.hostname}:{parts.port}"
        yield Bucket(parts.path.strip("/"), endpoint, parts.username or "", parts.password or "")
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), BucketHandler) as server:
        bucket = Bucket(f"rackline-{secrets.token_hex(4)}", f"http://127.0.0.1:{server.server_port}")
        server.RequestHandlerClass = type("Answering", (BucketHandler,), {"bucket": bucket})
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield bucket
        server.shutdown()
