"""Ways to break a request: its JSON, its question, its form, its address and its headers."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from copy import deepcopy
from typing import Any
from urllib.parse import quote, quote_from_bytes

from tests.endurance.request_seeds import FORM, JSON, PAGE, Seed
from tests.endurance.upload_mutations import ODD, flipped
from tests.support.direct import Headers, Request

MORE: tuple[Any, ...] = (
    1e15, 1e12, 1e9, 1e6, 1e-6, 1e-12, 5e-324, 1.7e308, -1e308, 2**53 + 1, 2**64, 10**12, 0.1, 0.999999999,
    100, 1024, 65536, 10**6, "x" * 100_000, "\ufeff", "\u0000a", "ﷺ" * 200, "a\u0300" * 500, "\u1f60" * 50,
    "<script>alert(1)</script>", "{value}", "%s%n", "{{7*7}}", "١٢٣", "１２３", "1_000", "NaN", "Infinity",
    "2026-13-45", "0000-00-00", "9999-12-31", "0001-01-01", "dgx-a100-640gb", "ipu-pod64", "bow-pod1024",
    "gpt3-175b", "KRW", "USD", "EUR", "xx", "en", "ko",
    [0] * 10_000, [{}] * 1000, ["a"] * 1000, {str(index): index for index in range(2000)}, [None], {"": ""},
    {"__class__": "x", "__proto__": {}},
)  # fmt: skip
WORDS = (
    "", "NaN", "inf", "-inf", "1e400", "1e308", "-1", "0", "-0", "0.0", "1", "1e-300", "1e15", "9" * 400,
    "9" * 5000, "x" * 5000, "한국어", "١٢", "１２", "1_000", " 5 ", "1e5", "0x10", "+5", "true", "[]", "{}",
    "a.b", "../../etc", "\r\nX: y", "\ud800", "\U0001f600", "\u202e", "<script>", "'", '"', "{a}", "%s",
    "null", "None", "1,5", "1;5", "2026-13-45", "9999-99-99", "0001-01-01", "--", "en", "ko",
    "dgx-a100-640gb", "ipu-pod64", "bert-large", "USD", "KRW", "a:b:c", ":", ",,,,", "1" + "0" * 300,
    "0." + "0" * 300 + "1", "\ufeff5", "AAAA" * 60, "eyJhIjoxfQ==",
)  # fmt: skip
CONTENT_TYPES = (
    b"application/json; charset=utf-16", b"application/json;charset=latin-1", b"application/merge-patch+json",
    b"application/json-seq", b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data",
    b"multipart/form-data; boundary=", b"multipart/form-data; boundary=" + b"b" * 300, b"APPLICATION/JSON",
    b"", b"application/json, text/plain", b"\xff\xfe", b"application/x-ndjson",
    b"application/x-www-form-urlencoded; charset=utf-7",
    b"multipart/form-data; boundary=a; charset=unicode_escape",
)  # fmt: skip
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"accept-language", b"ko;q=999,en;q=-1,*;q=abc"),
    (b"accept-language", b"a," * 3000),
    (b"accept-language", b"\xff\xfe;q=0.1"),
    (b"accept-encoding", b"gzip;q=x, br, " + b"y" * 500),
    (b"accept", b"*/*," * 2000),
    (b"accept", b"text/html"),
    (b"accept", b"text/event-stream"),
    (b"cookie", b"=;=;;rackline_language=\xff; a=" + b"b" * 4000),
    (b"cookie", b"language=xx; rackline_session=" + b"A" * 4000),
    (b"authorization", b"Bearer " + b"a" * 4000),
    (b"authorization", b"Basic \xff"),
    (b"if-match", b'"1"'),
    (b"if-match", b"W/" + b'"' * 500),
    (b"if-match", b'"' + b"9" * 5000 + b'"'),
    (b"if-match", '"١"'.encode()),
    (b"if-none-match", b'"x", "y", *'),
    (b"if-modified-since", b"Thu, 99 Foo 9999 99:99:99 GMT"),
    (b"range", b"bytes=0-0,1-1,2-2," + b"3-3," * 500),
    (b"range", b"bytes=-99999999999999999999"),
    (b"idempotency-key", b"k" * 5000),
    (b"idempotency-key", b"\xff\x00"),
    (b"idempotency-key", b"same"),
    (b"content-encoding", b"gzip"),
    (b"transfer-encoding", b"chunked"),
    (b"content-length", b"5"),
    (b"expect", b"100-continue"),
    (b"upgrade", b"websocket"),
    (b"hx-request", b"true"),
    (b"last-event-id", b"\xff" * 100),
)


def mutated(number: int, seeds: Sequence[Seed]) -> tuple[Seed, Request]:
    """Return a broken request; the number and the seeds decide everything about it."""
    chance = random.Random(f"rackline request {number}")
    # As often one kind as another, however many there are of each.
    kind = chance.choice(sorted({seed.kind for seed in seeds}))
    seed = chance.choice([seed for seed in seeds if seed.kind == kind])
    path = (
        respelled(seed.path, chance) if chance.random() < 0.05 else quote(seed.path, safe="/:~@!$&'()*+,;=")
    )
    query = encoded(seed.query, chance)
    headers: Headers = ()
    body = b""
    match seed.kind:
        case "json":
            headers, body = JSON, spoilt(seed.value, chance)
            query = encoded(requeried(seed.query, chance), chance) if chance.random() < 0.1 else query
        case "form":
            headers, body = FORM, encoded(requeried(seed.value, chance), chance)
        case _:
            headers = PAGE if seed.kind == "page" else ()
            query = encoded(requeried(seed.query, chance), chance)
            if seed.kind == "page" and chance.random() < 0.3 and "." not in path.rpartition("/")[2]:
                path = path.rstrip("/") + ".json" if path != "/" else "/index.json"
    if chance.random() < 0.1:
        headers = (*headers, chance.choice(HEADERS))
    if chance.random() < 0.03:
        headers = ((b"content-type", chance.choice(CONTENT_TYPES)), *headers[1:])
    if body and chance.random() < 0.05:
        body = flipped(body, chance)
    method = seed.method
    if chance.random() < 0.02:
        method = chance.choice(("PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "GET", "POST", "X"))
    return seed, Request(method, path.encode("ascii"), query, headers, body)


def respelled(path: str, chance: random.Random) -> str:
    """Return an address with an odd word in place of one of its parts."""
    parts = path.split("/")
    parts[chance.randrange(len(parts))] = chance.choice(
        (
            *map(spelled, WORDS),
            "..",
            "%2e%2e",
            "%2e%2e%2f",
            "..%5c",
            "%00",
            "%ff",
            "%u0041",
            "a" * 3000,
            ".json",
            ";",
        )
    )
    return "/".join(parts)[:4000] or "/"


def spelled(text: str) -> str:
    """Return a text as it stands in an address."""
    return quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe="")


def encoded(pairs: Sequence[tuple[str, str]], chance: random.Random) -> bytes:
    """Return fields as a query or the body of a form."""
    text = "&".join(f"{spelled(name)}={spelled(value)}" for name, value in pairs)
    if pairs and chance.random() < 0.03:
        text += chance.choice(("&", "&&=", "&%zz=%", "&a", "&=b", "&%ff=%fe", ";a=1", "&" + "a=1&" * 1500))
    return text.encode("ascii")


def requeried(pairs: Sequence[tuple[str, str]], chance: random.Random) -> list[tuple[str, str]]:
    """Return fields with odd values, and some that are missing, repeated or called otherwise."""
    changed = list(pairs)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        if not changed:
            changed.append(
                (chance.choice(("q", "cursor", "limit", "sort", "page", "lang")), chance.choice(WORDS))
            )
            continue
        at = chance.randrange(len(changed))
        name, value = changed[at]
        match chance.randrange(10):
            case 0:
                del changed[at]
            case 1:
                changed.append((name, chance.choice(WORDS)))
            case 2:
                changed[at] = (
                    chance.choice((f"{name}.x", name.partition(".")[0], f"{name}[]", name.upper(),
                                   f"{name}.0", f"rows.{name}", "", "x" * 300, chance.choice(changed)[0])),
                    value,
                )  # fmt: skip
            case 3:
                changed[at] = (name, chance.choice(changed)[1])
            case 4:
                changed += [(name, value)] * chance.choice((2, 50))
            case 5 if value.replace(".", "", 1).isdecimal():
                factor = chance.choice((0.0, -1.0, 0.001, 0.5, 7.0, 1e3, 1e6, 1e12, 1e300))
                changed[at] = (name, repr(float(value) * factor))
            case _:
                changed[at] = (name, chance.choice(WORDS))
    return changed


def nodes(value: Any) -> list[tuple[Any, Any]]:
    """Return every object or list of a JSON value with each of its keys."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        parent = waiting.pop()
        keys = (
            list(parent)
            if isinstance(parent, dict)
            else range(len(parent))
            if isinstance(parent, list)
            else ()
        )
        for key in keys:
            found.append((parent, key))
            waiting.append(parent[key])
    return found


def spoilt(value: Any, chance: random.Random) -> bytes:
    """Return JSON with a few things wrong in it."""
    changed = deepcopy(value)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        places = nodes(changed)
        if not places:
            changed = deepcopy(chance.choice((*ODD, *MORE)))
            continue
        parent, key = chance.choice(places)
        old = parent[key]
        match chance.randrange(11):
            case 0:
                del parent[key]
            case 1:
                parent[key] = [old]
            case 2 if isinstance(parent, dict):
                parent[chance.choice(("x", "", "id", f"{key} ", str(key).upper(), "a" * 300))] = parent.pop(
                    key
                )
            case 3:
                other, place = chance.choice(places)
                parent[key] = deepcopy(other[place]) if other[place] is not parent else None
            case 4 if isinstance(old, list):
                parent[key] = old * chance.choice((2, 30, 300))
            case 5 | 6 if isinstance(old, int | float) and not isinstance(old, bool) and abs(old) < 1e300:
                factor = chance.choice((-1, 0, 0.5, 0.001, 3, 17, 1e3, 1e6, 1e9, 1e12, 1e300, 1 / 3))
                scaled = old * factor
                parent[key] = int(scaled) if isinstance(old, int) and abs(scaled) < 1e300 else scaled
            case 7 if isinstance(old, str):
                parent[key] = old + chance.choice((" ", "\u200b", "\n", "x", "/", "'"))
            case _:
                parent[key] = deepcopy(chance.choice((*ODD, *MORE)))
    text = json.dumps(changed, ensure_ascii=chance.random() < 0.7)
    body = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.25:
        body = rewritten(text, body, chance)
    return body[:7_000_000]


def rewritten(text: str, body: bytes, chance: random.Random) -> bytes:
    """Return JSON that breaks the rules of JSON, of its encoding, or of good sense."""
    deep = chance.choice((20, 70, 500, 100_000))
    match chance.randrange(12):
        case 0:
            return b"\xef\xbb\xbf" + body
        case 1:
            return text.encode(chance.choice(("utf-16", "utf-16-le", "utf-32", "utf-7")), "replace")
        case 2:
            return body.replace(b"{", b'{"model": 1, "title": 2, "system": 3, ', 1)
        case 3:
            return body.replace(b"{", b'{"system": {"id": "ipu-pod64"}, ', 1)
        case 4:
            return body.replace(
                b": 1", chance.choice((b": NaN", b": -Infinity", b": 1e999", b": 1" + b"0" * 350)), 1
            )
        case 5:
            return b"[" * deep + body + b"]" * deep
        case 6:
            return b'{"model":' * deep + body + b"}" * deep
        case 7:
            return body[: chance.randrange(len(body) + 1)]
        case 8:
            return body + chance.choice((b"x", b"{}", b"\0", b" " * 100_000, b"//c"))
        case 9:
            return b" \t\r\n" * 1000 + body
        case 10:
            return body.replace(b'"', b"'")
        case _:
            return body.replace(b": ", b": " + b"-" * chance.choice((1, 1000)), 1)
