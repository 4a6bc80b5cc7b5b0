"""Every string a reader may meet: keys of the catalogues, collected from what produces them.

``python -m tools.translations`` brings data/locale up to date: new keys come in untranslated, keys
that nothing uses any more go out. Korean has every key, Chinese those of proposals.
"""

from __future__ import annotations

import ast
import csv
import functools
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

from app.features.accuracy.predictions import reason_texts
from app.features.tenancy.partitions import GROUNDS, ISOLATED, POD_RULES
from app.platform.wording.voice import LABELS

ROOT = Path(__file__).parents[1]

POSITIONS = {
    "Message": (0,),
    "gettext": (0,),
    "_": (0,),
    "named": (0,),
    "no_such": (0,),
    "existing": (3,),
    "Example": (1, 2),
}
"""Callee → positions of keys among its arguments; functions with a parameter ``template`` add theirs."""

ERRORS = {"AppError", "EngineError", "BadInput", "Unprocessable", "NotFound", "Conflict", "TooLarge"}

TABLES = {
    "FOR_CUSTOMERS",
    "REASONS",
    "CAUSES",
    "SENTENCES",
    "DOUBTS",
    "AHEAD",
    "SECOND",
    "LEVEL",
    "TURNS",
    "PAYS",
    "AXES",
    "FORMULAS",
}
"""Dictionaries whose values are templates."""

SINGLE = {"RENTED", "OTHER", "ADDED", "SAME_SYSTEM"}
"""Constants that are shown."""

PROPOSED = (
    *(
        f"profiles/{name}"
        for name in ("config", "transformer", "layer_table", "summaries", "onnx_graph", "onnx_nodes")
    ),
    *(
        "estimating/*",
        "features/proposals/writing/*",
        "features/studies/side_by_side",
        "features/studies/common_basis",
    ),
    *(f"features/bills/{name}" for name in ("bill", "drawings", "fabric", "model", "racks", "service")),
    *(
        f"features/proposals/{name}"
        for name in (
            "advice",
            "branding",
            "charts",
            "content",
            "evidence",
            "lines",
            "model",
            "naming",
            "pdf",
            "public",
            "review",
            "sheets",
            "texts",
        )
    ),
    *("features/calibration/fitting", "features/calibration/gain"),
    *("features/networks/advice", "features/networks/checks"),
    *("features/plans/mapping", "features/plans/searching", "features/sizings/words"),
    "platform/wording/voice",
)
"""Where a proposal gets its sentences from: how it is written, and what can be said of an option in it."""

DRAWN = {
    *("Share of training time", "less time", "more time", "Achieved per device", "Arithmetic intensity"),
    *("Attained", "Limited by", "Operator", "What the budget pays for", "all operators", "ridge point"),
    *("attention", "measured: {model} on {count} × {system}", "Training time with start-up"),
}
"""What it says in charts of estimates, which on pages have more to say."""

LINKS = ("features/proposals/customers", "features/proposals/sharing", "platform/rates")
"""Where a link may be refused."""

PROPOSAL_TEMPLATES = (
    "_fragments.html",
    "proposals/_answer.html",
    "proposals/_proposal.html",
    "proposals/shared.html",
    "proposals/shared_locked.html",
)

REFUSALS = ("at", "existing", "named", "no_such", "too_large", "unreadable")
"""Functions that make an error, which answers a request and never stands in a proposal."""


def of_templates(names: Iterable[str] = ("*.html",)) -> set[str]:
    """Return the keys of the templates."""
    found: set[str] = set()
    options = {"extensions": "jinja2.ext.i18n", "trimmed": "true", "silent": "false"}
    for path in sorted(path for name in names for path in (ROOT / "templates").rglob(name)):
        for _, key, _, _ in extract_from_file("jinja2.ext:babel_extract", path, options=options):
            found |= {key} if isinstance(key, str) else set(key)
    return found


def of_source(places: Iterable[str] = ("**/*",), refusals: bool = True) -> set[str]:
    """Return the templates of messages, and what is given to gettext, in the source."""
    kinds, positions = _called()
    if not refusals:
        positions = {name: place for name, place in positions.items() if name not in {*kinds, *REFUSALS}}
    found: set[str] = set()
    for nodes in _modules(places):
        assigned = _assigned(nodes)
        for node in nodes:
            if isinstance(node, ast.Call):
                for position in positions.get(_name(node.func), ()):
                    if position < len(node.args):
                        found |= set(_strings(node.args[position], assigned))
            if refusals and isinstance(node, ast.ClassDef) and node.name in kinds:
                found |= set(_titles(node))
        for name in TABLES | SINGLE:
            for value in assigned.get(name, ()):
                entries = value.values if isinstance(value, ast.Dict) else [value]
                found |= {text for entry in entries for text in _strings(entry, {})}
    return {text for text in found if not text.endswith(".html")}


def _modules(places: Iterable[str]) -> list[list[ast.AST]]:
    """Return what is looked at of modules, by patterns of their paths below app."""
    paths = {path for place in places for path in (ROOT / "app").glob(f"{place}.py")}
    return [_nodes(path) for path in sorted(paths)]


LOOKED_AT = (ast.Module, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.Call)


@functools.cache
def _nodes(path: Path) -> list[ast.AST]:
    """Return what is looked at of a module, which is read once and walked through once."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, LOOKED_AT)]


@functools.cache
def _called() -> tuple[frozenset[str], Mapping[str, tuple[int, ...]]]:
    """Return the kinds of errors, and whatever is given a key with the places of its keys."""
    modules = _modules(("**/*",))
    classes = [node for nodes in modules for node in nodes if isinstance(node, ast.ClassDef)]
    kinds = ERRORS | {node.name for node in classes if any(_name(base) in ERRORS for base in node.bases)}
    positions: dict[str, tuple[int, ...]] = POSITIONS | dict.fromkeys(kinds, (0,))
    for nodes in modules:
        positions |= dict(_takers(nodes))
    return frozenset(kinds), positions


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _takers(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, tuple[int]]]:
    """Return functions and classes that are given a template, with its position."""
    for scope in nodes:
        for node in getattr(scope, "body", ()) if isinstance(scope, ast.Module | ast.ClassDef) else ():
            if not isinstance(node, ast.FunctionDef):
                continue
            names = [argument.arg for argument in node.args.args]
            names = names[1:] if names[:1] in (["self"], ["cls"]) else names
            if "template" in names:
                owner = (
                    scope.name if isinstance(scope, ast.ClassDef) and node.name == "__init__" else node.name
                )
                yield owner, (names.index("template"),)


def _assigned(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return what names are set to, so that a template in a variable is found."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                found.setdefault(_name(target), []).append(node.value)
    return found


def _strings(node: ast.expr, assigned: dict[str, list[ast.expr]]) -> Iterator[str]:
    """Return a string, both branches of a conditional one, or what a variable was set to."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node.value:
            yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _strings(node.body, assigned)
        yield from _strings(node.orelse, assigned)
    elif isinstance(node, ast.Name):
        for value in assigned.get(node.id, ()):
            yield from _strings(value, {})


def _titles(node: ast.ClassDef) -> Iterator[str]:
    """Return what a kind of error is called."""
    for statement in node.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if any(_name(target) == "title" for target in targets) and isinstance(statement, ast.Assign):
            yield from _strings(statement.value, {})


def of_catalogue() -> set[str]:
    """Return meanings of fields, rejected and vendor claims, rules of partitions, reasons of runs, parts."""
    with (ROOT / "data" / "fields.csv").open(encoding="utf-8", newline="") as file:
        found = {row["description"] for row in csv.DictReader(file)}
    for path in sorted((ROOT / "data").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            found |= {row.get("note", "") for row in csv.DictReader(file) if row.get("status") == "rejected"}
    with (ROOT / "data" / "vendor_ratios.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found |= {row["statement"], row["unclear"], row["reason"]}
    rules = {*POD_RULES, ISOLATED, *(name for names in GROUNDS.values() for name in names)}
    with (ROOT / "data" / "claims.csv").open(encoding="utf-8", newline="") as file:
        found |= {row["statement"] for row in csv.DictReader(file) if row["claim"] in rules}
    found |= set(reason_texts(ROOT / "data").values())
    with (ROOT / "data" / "training.csv").open(encoding="utf-8", newline="") as file:
        amounts = [row for row in csv.DictReader(file) if row["parameter"] in ("tokens", "epochs", "samples")]
    found |= {row["note"] for row in amounts if row["source"] == "rackline-assumption"}
    with (ROOT / "data" / "validation" / "models.csv").open(encoding="utf-8", newline="") as file:
        found |= {row["refused"] for row in csv.DictReader(file)}
    return (found | of_parts()) - {""}


def of_parts() -> set[str]:
    """Return the names of parts, of kinds of models; machines keep those their makers give them."""
    with (ROOT / "data" / "items.csv").open(encoding="utf-8", newline="") as file:
        found = {row["name"] for row in csv.DictReader(file) if row["kinds"] in ("part", "rack", "switch")}
    with (ROOT / "data" / "software_defaults.csv").open(encoding="utf-8", newline="") as file:
        return found | {row["models"] for row in csv.DictReader(file)}


@functools.cache
def every() -> frozenset[str]:
    """Return every key."""
    return frozenset(of_templates() | of_source() | set(LABELS.values()) | of_catalogue())


@functools.cache
def of_proposals() -> frozenset[str]:
    """Return the keys of a proposal: document, workbook, shared page, and all that is said in them."""
    said = of_source(PROPOSED, refusals=False) | of_source(LINKS) | of_templates(PROPOSAL_TEMPLATES)
    labels = {text for code, text in LABELS.items() if not code.startswith(("glossary.", "term."))}
    return frozenset(said | DRAWN | of_parts() | labels)


def wanted(language: str) -> frozenset[str]:
    """Return the keys that the catalogue of a language has."""
    return of_proposals() if language == "zh" else every()


CHANGING = re.compile(r'^"(?!Language:|Plural|MIME|Content).*\\n"\n', re.MULTILINE)
"""Lines of a catalogue's head that change with every run."""


def update(path: Path) -> list[str]:
    """Bring one catalogue up to date and return what is left to translate."""
    with path.open("rb") as file:
        catalog = read_po(file, locale=path.parts[-3])
    known = {message.id for message in catalog if message.id}
    asked = wanted(path.parts[-3])
    for key in known - asked:
        catalog.delete(key)
    for key in asked - known:
        catalog.add(key, "")
    written = io.BytesIO()
    write_po(written, catalog, width=110, sort_output=True, no_location=True)
    head, rest = written.getvalue().decode().split("\n\n", 1)
    path.write_text(f"{CHANGING.sub('', head + chr(10))}\n{rest}", encoding="utf-8")
    return sorted(str(message.id) for message in catalog if message.id and not message.string)


if __name__ == "__main__":
    for found in sorted((ROOT / "data" / "locale").glob("*/LC_MESSAGES/messages.po")):
        print(found.relative_to(ROOT), *update(found), sep="\n  ")
