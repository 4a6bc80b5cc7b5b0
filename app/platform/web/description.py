"""What the description of the API says more than once, said in one place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from app.platform.web.problems import BY_STATUS

Slot = tuple[Any, Any, str]
"""What holds a part of the description, where in it, and what the part is called."""


def share(openapi: dict[str, Any]) -> None:
    """Put parameters, headers, failures and examples that occur more than once among the components.

    Of parts that are called alike, the most frequent has the name; the others stay where they are.
    """
    operations = [operation for path in openapi["paths"].values() for operation in path.values()]
    for kind, slots in (
        ("examples", examples(operations)),
        ("parameters", parameters(operations)),
        ("responses", failures(operations)),
        ("headers", headers(operations)),
    ):
        shared = openapi["components"].setdefault(kind, {})
        slots_with_text = [(*slot, json.dumps(slot[0][slot[1]])) for slot in slots]
        counts = Counter((name, text) for _, _, name, text in slots_with_text)
        shared_text = {name: text for (name, text), count in reversed(counts.most_common()) if count > 1}
        for holder, key, name, text in slots_with_text:
            if shared_text.get(name) == text:
                shared[name] = holder[key]
                holder[key] = {"$ref": f"#/components/{kind}/{name}"}


def parameters(operations: list[dict[str, Any]]) -> Iterator[Slot]:
    for operation in operations:
        for index, parameter in enumerate(operation.get("parameters", ())):
            yield operation["parameters"], index, parameter["name"]


def headers(operations: list[dict[str, Any]]) -> Iterator[Slot]:
    for operation in operations:
        for response in operation["responses"].values():
            for name in response.get("headers", ()):
                yield response["headers"], name, name


def failures(operations: list[dict[str, Any]]) -> Iterator[Slot]:
    for operation in operations:
        for status in operation["responses"]:
            if int(status) in BY_STATUS:
                yield operation["responses"], status, BY_STATUS[int(status)].__name__


def examples(operations: list[dict[str, Any]]) -> Iterator[Slot]:
    """Give the examples of answers, each named for the schema that it is one of."""
    for operation in operations:
        for response in operation["responses"].values():
            for body in response.get("content", {}).values():
                name = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
                if name and "example" in body and name != "Problem":
                    body["examples"] = {"answer": {"value": body.pop("example")}}
                    yield body["examples"], "answer", name
