"""Requests as they should be: the examples of the API, and what the pages link to and ask for."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from bs4 import BeautifulSoup
from fastapi import FastAPI

from app.platform.web import examples
from tests.support.direct import Request, send
from tools.description import document

JSON = ((b"content-type", b"application/json"),)

PAGE = ((b"accept", b"text/html"),)

FORM = ((b"content-type", b"application/x-www-form-urlencoded"), (b"accept", b"text/html"))

FOLLOWED = 250
"""Most pages that are opened in search of links and forms."""

LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 40"><defs><linearGradient id="g">'
    '<stop offset="0%" stop-color="#f00"/></linearGradient></defs><g transform="translate(2 3)">'
    '<path d="M0 0L10 10z" fill="url(#g)"/><circle cx="20" cy="20" r="9"/></g></svg>'
)


@dataclass(frozen=True, slots=True)
class Seed:
    """One request as it should be."""

    method: str
    path: str
    kind: str
    value: Any = None
    """A JSON body, or the fields of a form. [-]"""
    query: tuple[tuple[str, str], ...] = ()


async def seeds(app: FastAPI, *, pages: bool = True) -> list[Seed]:
    """Return requests of every kind, for what has been made on the way."""
    described = document(app.routes)
    found = [seed async for seed in stored(app, described)]
    if pages:
        found += [seed async for seed in linked(app, found)]
    return found


async def stored(app: FastAPI, described: dict[str, Any]) -> AsyncIterator[Seed]:
    """Send the examples of the API and return them, with the addresses of what they made."""
    made: dict[str, str] = {}
    later: list[tuple[str, str, dict[str, Any]]] = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if "{" not in path and method == "post":
                for value in bodies(operation):
                    value = renamed(value, made)
                    answer = await send(app, Request("POST", path.encode(), b"", JSON, dumped(value)))
                    if answer.status in {200, 201, 202}:
                        identifier = json.loads(answer.body).get("id")
                        if identifier:
                            made[path] = identifier
                    yield Seed("POST", path, "json", value)
            elif method in {"get", "post", "put", "patch"}:
                later.append((method.upper(), path, operation))
    for method, path, operation in later:
        place = placed(path, made)
        query = tuple((one["name"], "20") for one in operation.get("parameters", ()) if one["in"] == "query")
        if method == "GET":
            yield Seed("GET", place, "query", query=query)
        else:
            for value in bodies(operation) or [{}]:
                yield Seed(method, place, "json", renamed(value, made), query)


def bodies(operation: dict[str, Any]) -> list[Any]:
    """Return the examples of an operation's JSON body."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    found = [
        *content.get("schema", {}).get("examples", []),
        *(example["value"] for example in content.get("examples", {}).values()),
    ]
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    if name == "ProposalRequest":
        import base64

        drawn = {"media_type": "image/svg+xml", "data": base64.b64encode(LOGO.encode()).decode()}
        found.append({**examples.PROPOSAL, "branding": {"logo": drawn}})
    return found


def renamed(value: Any, made: dict[str, str]) -> Any:
    """Return a body whose comparison is one that was made."""
    if isinstance(value, dict) and "comparison_id" in value and "/api/v1/comparisons" in made:
        return {**value, "comparison_id": made["/api/v1/comparisons"], "options": [], "recommended": None}
    return value


def placed(path: str, made: dict[str, str]) -> str:
    """Return an address with the identifier of something that was made, where there is one."""
    parent = path.partition("/{")[0]
    identifier = made.get(parent) or ("dgx-a100-640gb" if "systems" in path else "bert-large")
    return re.sub(r"\{[^}]*\}", identifier, path, count=1).replace("{", "").replace("}", "")


def dumped(value: Any) -> bytes:
    """Return a body as JSON."""
    return json.dumps(value).encode()


async def linked(app: FastAPI, known: list[Seed]) -> AsyncIterator[Seed]:
    """Open pages and what they link to; return addresses with their questions, and forms."""
    waiting = ["/", *examples_of_pages(known)]
    seen: set[str] = set()
    shapes: set[tuple[str, ...]] = set()
    while waiting and len(seen) < FOLLOWED:
        address = waiting.pop(0)
        parts = urlsplit(address)
        shape = (
            re.sub(r"[a-z]{3}_\w{16}", "{}", parts.path),
            *sorted({k for k, _ in parse_qsl(parts.query)}),
        )
        if shape in shapes:
            continue
        shapes.add(shape)
        seen.add(address)
        path = parts.path.encode("ascii", "ignore")
        answer = await send(app, Request("GET", path, parts.query.encode(), PAGE))
        yield Seed("GET", parts.path, "page", query=tuple(parse_qsl(parts.query)))
        if answer.status != 200 or "text/html" not in answer.headers.get("content-type", ""):
            continue
        soup = BeautifulSoup(answer.body, "html.parser")
        waiting += [
            str(link["href"])
            for link in soup.select("a[href]")
            if str(link["href"]).startswith("/") and not str(link["href"]).startswith("/static")
        ]
        for form in soup.select("form"):
            action = str(form.get("action") or parts.path)
            fields = tuple(fields_of(form))
            target = urlsplit(action)
            if form.get("method", "get").lower() == "post":
                yield Seed("POST", target.path, "form", fields, tuple(parse_qsl(target.query)))
            else:
                waiting.append(f"{target.path}?{urlencode(fields)}")


def shape_of(path: str, query: str) -> tuple[str, ...]:
    """Return what addresses of one kind have in common: one of each is enough."""
    kind = re.sub(r"[a-z]{3}_\w{16}|(?<=/options/)[^/]*|(?<=/catalog/)(\w+)/[^/.]*", r"\1{}", path)
    asked = {re.sub(r"\..*", "", name) for name, _ in parse_qsl(query)}
    return kind, *sorted(asked - {"lang"})


def examples_of_pages(known: list[Seed]) -> list[str]:
    """Return addresses of pages of what the API made."""
    found = {
        seed.path.removeprefix("/api/v1")
        for seed in known
        if seed.method == "GET" and re.search(r"[a-z]{3}_\w{16}$", seed.path)
    }
    return sorted(found)


def fields_of(form: Any) -> list[tuple[str, str]]:
    """Return the fields of a form as a browser would send them."""
    found: list[tuple[str, str]] = []
    for field in form.select("input[name], select[name], textarea[name]"):
        if field.name == "select":
            chosen = field.select_one("option[selected]") or field.select_one("option")
            value = chosen.get("value", chosen.text) if chosen else ""
        elif field.name == "textarea":
            value = field.text
        elif field.get("type") in {"checkbox", "radio"} and not field.has_attr("checked"):
            continue
        else:
            value = field.get("value", "")
        found.append((str(field["name"]), str(value)))
    return found
