"""Requests drawn from the description of the API, each with one fault."""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

MOST_ITEMS = 200
"""Longest list that is made longer than it may be."""

HANGUL = re.compile("[가-힣]")

Node = tuple[tuple[str | int, ...], dict[str, Any], Any]
"""Path in a body, its schema, and the value of the example; None where it has none."""


def written(path: tuple[str | int, ...]) -> str:
    """Return a path as problems write it."""
    found = ""
    for part in path:
        found += f"[{part}]" if isinstance(part, int) else f".{part}" if found else part
    return found


class Description:
    """The description of the API, with what its examples hold."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    def schema(self, of: dict[str, Any]) -> dict[str, Any]:
        """Return a schema without references, and without null where it may be null."""
        while "$ref" in of:
            of = self.document["components"]["schemas"][of["$ref"].rpartition("/")[2]]
        kinds = [one for one in of.get("anyOf", []) if one.get("type") != "null"]
        return self.schema(kinds[0]) if len(kinds) == 1 else of

    def nodes(self, schema: dict[str, Any], value: Any, path: tuple[str | int, ...] = ()) -> Iterator[Node]:
        """Give every part of an example whose schema is plain."""
        schema = self.schema(schema)
        yield path, schema, value
        if isinstance(value, dict):
            for name, inner in schema.get("properties", {}).items():
                yield from self.nodes(inner, value.get(name), (*path, name))
        elif isinstance(value, list) and "items" in schema:
            for place, item in enumerate(value):
                yield from self.nodes(schema["items"], item, (*path, place))

    def bodies(self) -> Iterator[tuple[str, str, dict[str, Any], Any]]:
        """Give every request with a JSON object: method, address, schema and example."""
        for address, operations in self.document["paths"].items():
            for method, operation in operations.items():
                content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                schema = self.schema(content.get("schema", {}))
                examples = [content.get("example"), *content.get("schema", {}).get("examples", [])]
                examples += [one.get("value") for one in content.get("examples", {}).values()]
                for example in examples:
                    # A configuration may be sent as it stands, whatever it holds.
                    if isinstance(example, dict) and example.keys() <= schema.get("properties", {}).keys():
                        yield method.upper(), address, schema, example


def put(body: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Return a body with another value at a path."""
    changed = copy.deepcopy(body)
    place = changed
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return changed


def without(body: Any, path: tuple[str | int, ...]) -> Any:
    changed = copy.deepcopy(body)
    place = changed
    for part in path[:-1]:
        place = place[part]
    del place[path[-1]]
    return changed


Fault = tuple[str, str, str]
"""Body as text, path of the fault, and its code."""


def faults(description: Description, schema: dict[str, Any], example: Any) -> Iterator[Fault]:
    """Give an example with one fault, in every way and at every place."""
    for path, kind, value in description.nodes(schema, example):
        if isinstance(value, dict) and "properties" in kind and not kind.get("additionalProperties"):
            extra = (*path, "no_such_field")
            yield json.dumps(put(example, extra, 1)), written(extra), "unknown_field"
            for name in kind.get("required", []):
                if name in value:
                    yield json.dumps(without(example, (*path, name))), written((*path, name)), "missing_field"
        if not path:
            name = next(iter(example))
            text = json.dumps(example)
            twice = f"{{{json.dumps(name)}: {json.dumps(example[name])}, {text[1:]}"
            yield twice, name, "repeated_name"
        elif "enum" in kind or "const" in kind:
            other = 98765 if kind.get("type") == "integer" else "no such value"
            yield json.dumps(put(example, path, other)), written(path), "not_a_choice"
        elif kind.get("type") in {"integer", "number"}:
            yield json.dumps(put(example, path, {"a": 1})), written(path), "wrong_type"
            yield json.dumps(put(example, path, float("nan"))), written(path), "not_finite"
            least = kind.get("minimum", kind.get("exclusiveMinimum"))
            if least is not None:
                yield json.dumps(put(example, path, least - 1)), written(path), "out_of_range"
        elif kind.get("type") == "string":
            yield json.dumps(put(example, path, 7)), written(path), "wrong_type"
            yield json.dumps(put(example, path, "a\0")), written(path), "unreadable_text"
            if "pattern" in kind:
                yield json.dumps(put(example, path, "?!")), written(path), "wrong_form"
            elif "maxLength" in kind:
                yield (
                    json.dumps(put(example, path, "x" * (kind["maxLength"] + 1))),
                    written(path),
                    "wrong_length",
                )
            if "minLength" in kind:
                yield json.dumps(put(example, path, "")), written(path), "wrong_length"
        elif kind.get("type") in {"boolean", "array"}:
            yield json.dumps(put(example, path, {"a": 1})), written(path), "wrong_type"
            if kind.get("minItems"):
                yield json.dumps(put(example, path, [])), written(path), "wrong_length"
            if isinstance(value, list) and 0 < len(value) < kind.get("maxItems", 0) < MOST_ITEMS:
                many = [value[0]] * (kind["maxItems"] + 1)
                yield json.dumps(put(example, path, many)), written(path), "wrong_length"


@dataclass
class FaultKind:
    """What was asked with faults of one code, and what was answered."""

    asked: int = 0
    operations: set[str] = field(default_factory=set)
    statuses: Counter[int] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    """Answers that name path and code, by language."""


@dataclass
class Draw:
    kinds: dict[str, FaultKind]
    wrong: list[tuple[Any, ...]]
    """Requests whose fault was not named, or not in the language that was asked for."""

    def table(self) -> str:
        lines = [
            "| code | requests | operations | status | named in English | in Korean |",
            "|" + " --- |" * 6,
        ]
        for code, kind in sorted(self.kinds.items()):
            statuses = ", ".join(str(status) for status in sorted(kind.statuses))
            told = f"{kind.named['en']} | {kind.named['ko']}"
            lines.append(f"| `{code}` | {kind.asked} | {len(kind.operations)} | {statuses} | {told} |")
        total = sum(kind.asked for kind in self.kinds.values())
        return "\n".join(
            [*lines, f"{total} requests, each in both languages; {len(self.wrong)} wrong answers"]
        )


def draw(ask: Callable[..., httpx.Response], description: Description, count: int) -> Draw:
    """Send requests with a fault each, as many of each code, in English and in Korean."""
    drawn = random.Random(17)
    found: dict[str, list[tuple[str, str, Fault]]] = {}
    for method, address, schema, example in description.bodies():
        for fault in faults(description, schema, example):
            found.setdefault(fault[2], []).append((method, address, fault))
    for address, operations in description.document["paths"].items():
        if address.startswith("/api/"):
            named = ("", "no_such", "unknown_parameter")
            more = [(method.upper(), f"{address}?no_such=1", named) for method in operations]
            found.setdefault("unknown_parameter", []).extend(more)
    told = Draw({code: FaultKind() for code in found}, [])
    left = count
    # The rarest first: what they lack, the others make up for.
    for place, (code, choices) in enumerate(sorted(found.items(), key=lambda one: len(one[1]))):
        share = min(len(choices), left // (len(found) - place))
        left -= share
        kind = told.kinds[code]
        for method, address, (text, path, _) in drawn.sample(choices, share):
            kind.asked += 1
            kind.operations.add(f"{method} {address}")
            for language in ("en", "ko"):
                headers = {"content-type": "application/json", "accept-language": language}
                answer = ask(method, re.sub(r"{\w+}", "none", address), content=text, headers=headers)
                said = answer.json()
                kind.statuses[answer.status_code] += 1
                named = {(one["field"], one["code"]) for one in said.get("errors", [])}
                spoken = [said.get("detail", ""), *(one["message"] for one in said.get("errors", []))]
                if (path, code) in named and all(
                    bool(HANGUL.search(one)) == (language == "ko") for one in spoken
                ):
                    kind.named[language] += 1
                else:
                    told.wrong.append(
                        (method, address, path, code, language, answer.status_code, spoken, named)
                    )
    return told
