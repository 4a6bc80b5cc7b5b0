"""Entity tags: which version of a document an answer holds, and exactly which bytes (RFC 9110, 8.8.3).

A tag is ``"3-9f86d081884c7d65"``: the version a change is checked against, and a digest of the answer,
because the same version reads differently at another scaling efficiency or over another catalogue.
"""

from __future__ import annotations

import hashlib
from typing import Annotated

from fastapi import Depends, Header, Request
from starlette.responses import Response

from app.errors import BadInput

DIGEST = 16
"""Digits of the digest in a tag."""

MOST = 1000
"""Characters of a header with tags that are read."""


def write_tag(version: int) -> str:
    """Return a version as an ETag, to which :func:`conditional` adds the digest."""
    return f'"{version}"'


def read_tag(tag: str | None) -> int | None:
    """Return the version in an ETag; None where any will do.

    >>> read_tag('"3-9f86d081884c7d65"')
    3
    """
    if tag is None or tag.strip() == "*":
        return None
    version = tag.strip().removeprefix("W/").strip('"').partition("-")[0]
    if not (version.isascii() and version.isdecimal()) or len(version) > 9:
        raise BadInput.at("If-Match", "send the ETag of an earlier response")
    return int(version)


def conditional(request: Request, response: Response) -> Response:
    """Return an answer with its digest in the ETag, or 304 where the caller has these very bytes."""
    tag = response.headers.get("etag")
    if tag is None or response.status_code >= 300:
        return response
    digest = hashlib.sha256(response.body).hexdigest()[:DIGEST]
    tag = f'{tag[:-1]}-{digest}"'
    response.headers["ETag"] = tag
    if request.method in {"GET", "HEAD"} and knows(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers={"ETag": tag})
    return response


def knows(header: str, tag: str) -> bool:
    """Tell whether If-None-Match names a tag; weak tags count (RFC 9110, 13.1.2)."""
    named = [one.strip().removeprefix("W/") for one in header[:MOST].split(",")]
    return tag in named or "*" in named


def remember(
    tag: Annotated[
        str | None,
        Header(
            alias="If-None-Match",
            max_length=MOST,
            description="ETags of cached responses; returns 304 if one of them is still current.",
        ),
    ] = None,
) -> None:
    """Describe the header that :func:`conditional` reads."""


REMEMBER = [Depends(remember)]

MatchHeader = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=60,
        description="ETag last read; returns 412 if there has been another change since.",
        examples=["*"],
    ),
]
