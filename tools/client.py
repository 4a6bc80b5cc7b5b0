"""client/rackline_client/documents.py: the classes of the Python client, from the description of the API.

The client is a package of its own that knows nothing of the server, so it cannot share its classes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from app import routes
from tools.description import document

MODULE = "client/rackline_client/documents.py"

HEAD = '''"""Requests and answers of the API, written by ``python -m tools documents``."""

import datetime
from typing import Any, Literal, TypeAlias

from pydantic import Field

from rackline_client.base import Document, Request
'''

PLAIN = {"string": "str", "number": "float", "integer": "int", "boolean": "bool", "null": "None"}
FORMATS = {"date-time": "datetime.datetime", "date": "datetime.date", "binary": "bytes"}
WIDTH = 110

Schema = Mapping[str, Any]


def client_documents() -> str:
    """Return the module with a class for every object that is asked with or answered."""
    described = document(routes.API_ROUTES)
    schemas = described["components"]["schemas"]
    written: dict[str, str] = {}
    for name in sorted(set(asked_or_answered(described))):
        add_class(name, schemas, written, ())
    return "\n\n".join([HEAD, *written.values()])


def asked_or_answered(described: Schema) -> Iterator[str]:
    """Yield the names of the objects in bodies of requests and of answers that are no refusal."""
    for methods in described["paths"].values():
        for operation in methods.values():
            yield from names_in(operation.get("requestBody"))
            yield from (
                name
                for status, answer in operation["responses"].items()
                if status.startswith("2")
                for name in names_in(answer)
            )


def names_in(schema: object) -> Iterator[str]:
    """Yield the names of the objects that a description refers to."""
    if isinstance(schema, Mapping):
        if str(schema.get("$ref", "")).startswith("#/components/schemas/"):
            yield name_of(schema)
        for part in schema.values():
            yield from names_in(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from names_in(part)


def name_of(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def add_class(name: str, schemas: Schema, written: dict[str, str], inside: tuple[str, ...]) -> None:
    """Write a class behind those that it is made of; pages are generic and described by hand."""
    schema = schemas[name]
    for part in dict.fromkeys(names_in(schema.get("properties"))):
        if part not in written and part not in (*inside, name):
            add_class(part, schemas, written, (*inside, name))
    if "properties" in schema and not name.endswith("Page") and name not in written:
        written[name] = class_text(name, schema, written)
    elif not schema:
        written[name] = f"{name}: TypeAlias = Any\n"


def class_text(name: str, schema: Schema, written: Mapping[str, str]) -> str:
    base = "Request" if schema.get("additionalProperties") is False else "Document"
    lines = [f"class {name}({base}):", *text_lines(schema.get("description", name))]
    required = schema.get("required", ())
    for field, inner in schema["properties"].items():
        kind = type_text(inner)
        default = "" if field in required else default_text(inner)
        if default == " = None" and "None" not in kind:
            kind += " | None"
        # What comes further down, in a circle of classes, is named in quotes.
        ahead = any(inner_name not in written for inner_name in names_in(inner))
        lines.append(f'    {field}: "{kind}"{default}' if ahead else f"    {field}: {kind}{default}")
        lines += text_lines(inner.get("description", ""))
    return "\n".join(lines) + "\n"


def text_lines(text: str) -> list[str]:
    """Return the text below a class or a field."""
    escaped = re.sub(r"\s+", " ", text).replace("\\", "\\\\").replace('"', '\\"')
    if not escaped:
        return []
    wrapped = textwrap.wrap(f'"""{escaped}', WIDTH - 8, break_long_words=False, break_on_hyphens=False)
    ending = ['"""'] if len(wrapped) > 1 else []
    if not ending:
        wrapped[0] += '"""'
    return [f"    {line}" for line in [*wrapped, *ending]]


def type_text(schema: Schema) -> str:
    """Return the type of a value; bounds are left to the server, which says so better."""
    if "$ref" in schema:
        return name_of(schema)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " | ".join(dict.fromkeys(type_text(option) for option in schema[several]))
    if "const" in schema or "enum" in schema:
        # Equal sets of values are one type to Python, in the order in which any module named them first.
        values = sorted(schema.get("enum", [schema.get("const")]), key=str)
        return f"Literal[{', '.join(map(repr, values))}]"
    kind = schema.get("type")
    if kind == "array":
        return f"list[{type_text(schema.get('items', {}))}]"
    if kind == "object":
        patterns = list(schema.get("patternProperties", {}).values())
        inner = schema.get("additionalProperties") or (patterns[0] if patterns else {})
        return f"dict[str, {type_text(inner) if isinstance(inner, Mapping) else 'Any'}]"
    return FORMATS.get(schema.get("format", ""), PLAIN.get(str(kind), "Any"))


def default_text(schema: Schema) -> str:
    """Return what a field is where it is left out."""
    default = schema.get("default")
    if "$ref" in schema and isinstance(default, Mapping):
        arguments = ", ".join(f"{name}={value!r}" for name, value in default.items())
        return f" = Field(default_factory=lambda: {name_of(schema)}({arguments}))"
    return f" = {default!r}"
