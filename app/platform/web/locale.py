"""Answers that are files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from babel.core import negotiate_locale
from starlette.requests import Request
from starlette.responses import Response

from app.platform.wording.voice import LANGUAGES, Voice, voice

PARAMETER = "lang"

COOKIE = "rackline_language"

COOKIE_SECONDS = 365 * 24 * 3600


def asked_for(request: Request) -> str | None:
    """Return the language the address asks for, if it is one of ours."""
    language = request.query_params.get(PARAMETER, "")
    return language if language in LANGUAGES else None


CHART = "chart"
"""Query parameter that names a chart of a page to be had as a file."""


def language_of(request: Request, offered: Sequence[str] = LANGUAGES) -> str:
    """Return the language of a reader; the first of those offered where nothing is said or known.

    Programs that read tables say nothing of languages and rely on English heads.
    """
    is_table = (request.query_params.get(CHART) or request.url.path).endswith((".csv", ".xlsx"))
    remembered = request.cookies.get(COOKIE, "")
    return (
        asked_for(request)
        or (remembered if remembered in LANGUAGES else None)
        or negotiate_locale(preferred(request.headers.get("accept-language", "")), offered, sep="-")
        or ("en" if is_table else offered[0])
    )


def wanted_language(request: Request) -> str:
    """Return the language that a program asks for, by its address or its header; else English."""
    wanted = preferred(request.headers.get("accept-language", ""))
    return asked_for(request) or negotiate_locale(wanted, LANGUAGES, sep="-") or "en"


def voice_of(request: Request) -> Voice:
    return voice(language_of(request))


def preferred(header: str) -> list[str]:
    """Return the languages of an Accept-Language header, the most wanted first (RFC 9110, 12.5.4).

    >>> preferred("en;q=0.7, ko-KR, zh;q=0")
    ['ko-KR', 'en']
    """
    weighted: list[tuple[float, str]] = []
    for entry in header.split(",")[:20]:
        name, _, weight = entry.partition(";")
        try:
            quality = float(weight.strip().removeprefix("q=")) if weight else 1.0
        except ValueError:
            quality = 0.0
        if name.strip() and quality > 0:
            weighted.append((-quality, name.strip()))
    return [name for _, name in sorted(weighted, key=lambda pair: pair[0])]


PDF = "application/pdf"

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

CSV = "text/csv; charset=utf-8"


VARIES = {"Vary": "Accept-Language, Cookie"}
"""Header of what is written in the reader's language."""


def attachment(data: bytes, kind: str, name: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a file to be saved under a name; what is not ASCII in it is stated beside (RFC 6266, 4.3).

    >>> print(attachment(b"", PDF, "고객-12.pdf").headers["Content-Disposition"])
    attachment; filename="12.pdf"; filename*=UTF-8''%EA%B3%A0%EA%B0%9D-12.pdf
    """
    plain = name.encode("ascii", "ignore").decode().strip("-. ")
    disposition = f'attachment; filename="{plain}"'
    if plain != name:
        disposition += f"; filename*=UTF-8''{quote(name, safe='')}"
    return Response(data, media_type=kind, headers={"Content-Disposition": disposition, **(headers or {})})
