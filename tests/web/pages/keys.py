"""Every string a reader may meet: keys of the catalogues, collected from what produces them."""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator
from pathlib import Path

from babel.messages.extract import extract_from_file

from app.reports.wording.labels import LABELS

ROOT = Path(__file__).parents[3]

POSITIONS = {"Message": 0, "gettext": 0, "at": 1, "named": 0, "no_such": 0, "sentence": 0}
"""Callee → position of the key among its arguments."""

ERRORS = {"AppError", "BadInput", "Unprocessable", "NotFound", "Conflict", "TooLarge"}


def of_templates() -> set[str]:
    """Return the keys of the templates."""
    found: set[str] = set()
    options = {"extensions": "jinja2.ext.i18n", "trimmed": "true", "silent": "false"}
    for path in sorted((ROOT / "templates").glob("*.html")):
        for _, key, _, _ in extract_from_file("jinja2.ext:babel_extract", path, options=options):
            found |= {key} if isinstance(key, str) else set(key)
    return found


def of_source() -> set[str]:
    """Return the templates of messages, and what is given to gettext, in the source."""
    found: set[str] = set()
    for path in sorted((ROOT / "app").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        kinds = ERRORS | {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) and any(_name(base) in ERRORS for base in node.bases)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                found |= set(_keys_of_call(node, kinds))
            if isinstance(node, ast.ClassDef):
                found |= set(_titles(node, kinds))
    return found


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _keys_of_call(call: ast.Call, kinds: set[str]) -> Iterator[str]:
    name = _name(call.func)
    if name == "_" or name in kinds:
        position = 0
    elif name in POSITIONS:
        position = POSITIONS[name]
    else:
        return
    if (
        name == "at"
        and _name(call.func.value if isinstance(call.func, ast.Attribute) else call.func) not in kinds
    ):
        return
    if len(call.args) > position:
        yield from _strings(call.args[position])


def _strings(node: ast.expr) -> Iterator[str]:
    """Return a string, or both branches of a conditional one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node.value:
            yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _strings(node.body)
        yield from _strings(node.orelse)


def _titles(node: ast.ClassDef, kinds: set[str]) -> Iterator[str]:
    if node.name not in kinds:
        return
    for statement in node.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if any(_name(target) == "title" for target in targets) and isinstance(statement, ast.Assign):
            yield from _strings(statement.value)


def of_catalogue() -> set[str]:
    """Return what fields mean and why claims were rejected."""
    with (ROOT / "data" / "fields.csv").open(encoding="utf-8", newline="") as file:
        found = {row["description"] for row in csv.DictReader(file)}
    for path in sorted((ROOT / "data").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            found |= {row.get("note", "") for row in csv.DictReader(file) if row.get("status") == "rejected"}
    return found - {""}


def every() -> set[str]:
    """Return every key."""
    return of_templates() | of_source() | set(LABELS.values()) | of_catalogue()
