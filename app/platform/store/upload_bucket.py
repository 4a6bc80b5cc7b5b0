"""Uploaded files in a bucket that speaks S3: one place for the servers and workers of several machines.

A request carries the SHA-256 of its body, which the other side checks, and puts an object there whole or not
at all. What the client library says of a failure names addresses; only our own words leave this module.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO

from app.errors import BadInput, Unavailable, need
from app.platform.store.upload_files import NAME

if TYPE_CHECKING:
    from obstore.store import S3Store

logger = logging.getLogger("rackline.uploads")

PATIENCE = timedelta(seconds=15)
"""How long a request that fails is tried again."""

TRIES = 3


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """Where a bucket is and how it is opened."""

    bucket: str
    prefix: str = ""
    endpoint: str = ""
    """Address of the service; that of AWS where empty."""
    region: str = "us-east-1"
    access_key_id: str = field(default="", repr=False)
    """Without it the machine's own credentials are used: its role, or those of the environment."""
    secret_access_key: str = field(default="", repr=False)

    @classmethod
    def read(cls, url: str, endpoint: str, region: str, key: str, secret: str) -> BucketAddress:
        """Return the address in ``s3://BUCKET/PREFIX``."""
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        if bool(key) != bool(secret):
            name = "RACKLINE_S3_ACCESS_KEY_ID" if secret else "RACKLINE_S3_SECRET_ACCESS_KEY"
            raise BadInput.at(name, "give both halves of the key of the bucket, or none")
        return cls(bucket, prefix.strip("/"), endpoint, region, key, secret)


class FileBucket:
    """Files as objects of a bucket, under a prefix."""

    def __init__(self, address: BucketAddress) -> None:
        need("obstore", "s3")
        self._address = address

    @cached_property
    def _store(self) -> S3Store:
        return self._opened("120s", TRIES)

    @cached_property
    def _hurried(self) -> S3Store:
        """The same for who only wants to know whether it answers."""
        return self._opened("3s", 0)

    def _opened(self, seconds: str, tries: int) -> S3Store:
        from obstore.store import S3Store

        address = self._address
        options = {
            "endpoint": address.endpoint,
            "access_key_id": address.access_key_id,
            "secret_access_key": address.secret_access_key,
        }
        return S3Store(
            address.bucket,
            prefix=address.prefix or None,
            region=address.region,
            checksum_algorithm="SHA256",
            disable_bulk_delete=True,
            client_options={"allow_http": True, "connect_timeout": "3s", "timeout": seconds},
            retry_config={"max_retries": tries, "retry_timeout": PATIENCE},
            **{name: value for name, value in options.items() if value},  # type: ignore[arg-type]
        )

    def put(self, name: str, content: bytes) -> None:
        with answered():
            # In one request: of one in parts that breaks off, parts may stay that no list shows.
            self._store.put(name, content, use_multipart=False)

    def size(self, name: str) -> int | None:
        with answered():
            try:
                return self._store.head(name)["size"]
            except FileNotFoundError:
                return None

    def open(self, name: str) -> BinaryIO | None:
        with answered():
            try:
                content = self._store.get(name).bytes()
            except FileNotFoundError:
                return None
        return io.BytesIO(memoryview(content))

    def delete(self, name: str) -> None:
        with answered():
            self._store.delete(name)

    def names(self) -> Iterator[str]:
        """Return the names of our own objects: what else lies in a bucket is somebody else's."""
        with answered():
            for some in self._store.list():
                yield from (entry["path"] for entry in some if NAME.fullmatch(entry["path"]))

    def place(self, name: str) -> str:
        prefix = f"{self._address.prefix}/" if self._address.prefix else ""
        return f"s3://{self._address.bucket}/{prefix}{name}"

    def check(self) -> None:
        with answered():
            next(iter(self._hurried.list(chunk_size=1)), None)


@contextmanager
def answered() -> Iterator[None]:
    """Turn what the library raises into our own error; its words hold addresses and what was answered."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError) as error:
        logger.warning("the store of uploaded files cannot be used", extra={"error": type(error).__name__})
        message = "the store of uploaded files cannot be reached; nothing was saved, try again in a moment"
        raise Unavailable(message) from None
