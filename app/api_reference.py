"""The generated parts of docs/api.md: endpoints, failures and warnings, from the code itself."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from fastapi import FastAPI

from app import routes
from app.estimating.documents import Severity
from app.features.operation.api import document
from app.platform.web.problems import BY_STATUS, FAULTS, MEANINGS

PAGE = "docs/api.md"

PART = re.compile(r"(<!-- generated: (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class WarningCode:
    """A warning as the code raises it."""

    code: str
    severity: str
    sentence: str


def with_reference(text: str) -> str:
    """Return the page about the API with its generated parts brought up to date."""
    app = FastAPI(routes=routes.API_ROUTES)
    parts = {
        "endpoints": endpoints(document(app)),
        "problems": failures(),
        "faults": faults(),
        "warnings": warnings(),
    }
    return PART.sub(lambda found: f"{found[1]}{table(parts[found['name']])}{found[3]}", text)


def table(rows: list[tuple[str, ...]]) -> str:
    """Return rows as a Markdown table; the first holds the headings."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]) + "\n")
    return "".join(lines)


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


CASE = "what was assumed where the file says nothing"
"""Sentence of a warning that is written where a file is read."""


def warnings() -> list[tuple[str, ...]]:
    """Return every warning that the code can raise."""
    package = Path(__file__).parent
    found = {
        warning
        for path in package.rglob("*.py")
        for warning in raised(ast.parse(path.read_text(encoding="utf-8")))
    }
    rows = [(f"`{warning.code}`", warning.severity, warning.sentence or CASE) for warning in sorted(found)]
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
            if name not in ("CheckWarning.of", "_about", *get_args(Severity)):
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
