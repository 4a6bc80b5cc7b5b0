"""The generated parts of docs/api.md: endpoints, failures and warnings, from the code itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from app import routes
from app.features.operation.api import document
from app.platform.web.api import MEANINGS
from app.platform.web.problems import BY_STATUS

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
        (str(status), kind.title, MEANINGS.get(status, (kind.__doc__ or "").split("\n")[0]))
        for status, kind in sorted(BY_STATUS.items())
    ]
    return [("status", "title", "meaning"), *rows]


def warnings() -> list[tuple[str, ...]]:
    """Return every warning that the code can raise."""
    package = Path(__file__).parent
    found = {
        warning
        for path in package.rglob("*.py")
        for warning in raised(ast.parse(path.read_text(encoding="utf-8")))
    }
    rows = [(f"`{warning.code}`", warning.severity, warning.sentence) for warning in sorted(found)]
    return [("code", "severity", "sentence"), *rows]


def raised(tree: ast.AST) -> Iterator[WarningCode]:
    """Return the warnings of one module: calls of ``CheckWarning.of`` with literal codes."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        assigned = list(assigned_sentences(function))
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "CheckWarning.of":
                code, severity, message = node.args[:3]
                if isinstance(code, ast.Constant) and isinstance(severity, ast.Constant):
                    text = nearest(assigned, node) if isinstance(message, ast.Name) else sentence(message)
                    yield WarningCode(str(code.value), str(severity.value), text)


def assigned_sentences(function: ast.FunctionDef) -> Iterator[tuple[int, str, str]]:
    """Return the lines of a function that put a message into a variable, with its name and template."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and sentence(node.value):
            yield node.lineno, node.targets[0].id, sentence(node.value)


def nearest(assigned: Iterable[tuple[int, str, str]], call: ast.Call) -> str:
    """Return the message that a variable holds at a call: the last that it was given above."""
    name = ast.unparse(call.args[2])
    above = [(line, text) for line, variable, text in assigned if variable == name and line < call.lineno]
    return max(above, default=(0, ""))[1]


def sentence(node: ast.expr) -> str:
    """Return the template of ``Message("…")``; empty for anything else."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Message" and node.args:
        first = node.args[0]
        return str(first.value) if isinstance(first, ast.Constant) else ""
    return ""
