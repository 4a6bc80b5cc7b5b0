"""The generated parts of docs/api.md: endpoints, failures, warnings and answers, from the code itself."""

from __future__ import annotations

import ast
import asyncio
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import httpx
from fastapi import FastAPI

from app.catalog.books import LIMITS, PRICED_KINDS, RENTALS, RENTED_KINDS, units_of
from app.catalog.catalog import Catalog
from app.estimating.documents import Severity
from app.platform.web.problems import BY_STATUS, FAULTS, MEANINGS
from tools.markdown import filled, table

APP = Path(__file__).parents[1] / "app"


@dataclass(frozen=True, slots=True, order=True)
class WarningCode:
    """A warning as the code raises it."""

    code: str
    severity: str
    sentence: str


ANSWER = re.compile(
    r"(<!-- answer: POST (?P<path>\S+) (?P<fields>\S+) -->\n).*?(?P<end><!-- end -->)",
    re.DOTALL,
)
"""Where an answer is printed: of which endpoint, and which of its fields."""

REQUEST = re.compile(r"```json\n(.*?)```|-d '(.*?)'\n?```", re.DOTALL)
"""A request as it is printed; an answer is that to the one above it."""


def api_page(text: str, app: FastAPI, openapi: dict[str, Any]) -> str:
    """Return the page about the API with its generated parts brought up to date."""
    parts = {
        "endpoints": endpoints(openapi),
        "problems": failures(),
        "faults": faults(),
        "warnings": warnings(),
        "prices": book_parameters(app.state.installation.sizing.catalog),
    }
    text = filled(text, {name: table(head, rows) for name, (head, *rows) in parts.items()}, "docs/api.md")
    return asyncio.run(with_answers(app, text))


async def with_answers(app: FastAPI, text: str) -> str:
    """Return a page with the answers that a server gives to the requests printed in it."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=None) as client:
        found = list(ANSWER.finditer(text))
        for match in reversed(found):
            *_, above = REQUEST.finditer(text, 0, match.start())
            answer = await client.post(
                f"/api/v1{match['path']}",
                params={"fields": match["fields"]},
                json=json.loads(above[1] or above[2]),
            )
            answer.raise_for_status()
            shown = {name: value for name, value in answer.json().items() if name != "next"}
            text = text[: match.end(1)] + printed(shown) + text[match.start("end") :]
    return text


MOST = 3
"""Entries of a list that are printed."""


def printed(answer: dict[str, Any]) -> str:
    """Return an answer as a block of text, a field in each line and long lists cut."""
    lines = [f"{json.dumps(name)}: {shortened(value)}" for name, value in answer.items()]
    inner = ",\n ".join(lines)
    return f"```text\n{{{inner}}}\n```\n"


def shortened(value: Any) -> str:
    """Return a value as JSON, figures with four digits."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {shortened(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join([*map(shortened, value[:MOST]), *(["…"] if len(value) > MOST else [])]) + "]"
    if isinstance(value, float):
        rounded = float(f"{value:.4g}")
        value = int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
    return json.dumps(value, ensure_ascii=False)


def endpoints(openapi: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return every endpoint with its first sentence."""
    rows = [
        (f"`{method.upper()} {path}`", operation["summary"], operation["description"].split("\n")[0])
        for path, operations in openapi["paths"].items()
        for method, operation in operations.items()
    ]
    return [("endpoint", "what", "more"), *rows]


def failures() -> list[tuple[str, ...]]:
    """Return every kind of failure."""
    rows = [
        (f"`{kind.slug}`", str(status), str(MEANINGS[status])) for status, kind in sorted(BY_STATUS.items())
    ]
    return [("type", "status", "meaning"), *rows]


def faults() -> list[tuple[str, ...]]:
    """Return every code of a field."""
    return [("code", "meaning"), *((f"`{code}`", str(meaning)) for code, meaning in FAULTS.items())]


def book_parameters(catalog: Catalog) -> list[tuple[str, ...]]:
    """Return every parameter of a price book with its units, its limits and what it is stated of."""
    rows: list[tuple[str, ...]] = [("parameter", "meaning", "unit", "value", "item", "condition")]
    for parameter, (least, most) in LIMITS.items():
        keys = [key for key in catalog.accepted if key[1] == parameter]
        items = sorted({key[0] for key in keys})
        conditions = sorted({key[2] for key in keys} - {""})
        kinds = {"price": PRICED_KINDS, "price_hour": RENTED_KINDS}.get(parameter)
        if parameter == "discount":
            stated, meaning = "an item, `maker:…` or `kind:…`", "Share taken off the catalogue's prices"
        else:
            stated = f"any {', '.join(sorted(kinds))}" if kinds else listed(items)
            meaning = catalog.fields[parameter].description
        if parameter == "price_hour":
            conditions = [condition for condition in RENTALS.values() if condition]
        units = ", ".join(f"`{unit}`" for unit in units_of(catalog, parameter))
        limits = f"{least:g} to {most:g}"
        shown = "" if parameter == "price" else listed(conditions)
        rows.append((f"`{parameter}`", meaning, units, limits, stated, shown))
    return rows


def listed(names: list[str]) -> str:
    """Return names as code, the first of many."""
    more = ["…"] if len(names) > MOST + 1 else []
    return ", ".join([*(f"`{name}`" for name in names[: MOST if more else None]), *more])


CASE = "what was assumed where the file says nothing"
"""Sentence of a warning that is written where a file is read."""


def warnings() -> list[tuple[str, ...]]:
    """Return every warning that the code can raise."""
    known_warnings = {
        warning
        for path in APP.rglob("*.py")
        for warning in raised(ast.parse(path.read_text(encoding="utf-8")))
    }
    rows = [
        (f"`{warning.code}`", warning.severity, warning.sentence or CASE)
        for warning in sorted(known_warnings)
    ]
    return [("code", "severity", "sentence"), *rows]


def raised(tree: ast.AST) -> Iterator[WarningCode]:
    """Return the warnings of one module with literal codes, of every severity and sentence they may have."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        assigned = list(assigned_sentences(function))
        for node in ast.walk(function):
            if not isinstance(node, ast.Call) or len(node.args) < 3:
                continue
            name, (code, second, message) = ast.unparse(node.func), node.args[:3]
            if name == "self._concerning":
                stated = {word.arg: word.value for word in node.keywords}.get("severity")
                second, message = stated or ast.Constant("caution"), second
            elif name not in ("CheckWarning.of", *get_args(Severity)):
                continue
            severities = [name] if name in get_args(Severity) else literals(second)
            if isinstance(message, ast.Call) and message.args:
                message = message.args[0]
            found = (
                nearest(assigned, message.id, node) if isinstance(message, ast.Name) else literals(message)
            )
            for one, severity, text in itertools.product(literals(code), severities, found or [""]):
                yield WarningCode(one, severity, text)


def assigned_sentences(function: ast.FunctionDef) -> Iterator[tuple[int, str, list[str]]]:
    """Return the lines of a function that put a message into a variable, with its name and templates."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and literals(node.value):
            yield node.lineno, node.targets[0].id, literals(node.value)


def nearest(assigned: Iterable[tuple[int, str, list[str]]], name: str, call: ast.Call) -> list[str]:
    """Return the message that a variable holds at a call: the last that it was given above."""
    above = [(line, texts) for line, variable, texts in assigned if variable == name and line < call.lineno]
    return max(above, default=(0, []))[1]


def literals(node: ast.expr) -> list[str]:
    """Return the text of a literal or of ``Message("…")``, both of a choice between two.

    >>> literals(ast.parse("'caution' if thin else 'info'", mode="eval").body)
    ['caution', 'info']
    """
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Message" and node.args:
        return literals(node.args[0])
    if isinstance(node, ast.IfExp):
        return [*literals(node.body), *literals(node.orelse)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
