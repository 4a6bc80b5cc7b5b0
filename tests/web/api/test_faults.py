"""Requests drawn from the description of the API, each with one fault: it is named by path and code."""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from app.platform.web.problems import BY_STATUS, FAULTS
from tests.described import resolved
from tests.web.api.conftest import Ask

DRAWN = 560

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
        elif kind.get("type") in {"boolean", "array"}:
            yield json.dumps(put(example, path, {"a": 1})), written(path), "wrong_type"


@pytest.fixture(scope="module")
def description(ask: Ask) -> Description:
    return Description(resolved(ask("GET", "/api/v1/openapi.json").json()))


def test_a_fault_of_a_body_is_named_by_path_and_code(ask: Ask, description: Description) -> None:
    drawn = random.Random(17)
    kinds: dict[str, list[tuple[str, str, Fault]]] = {}
    for method, address, schema, example in description.bodies():
        for fault in faults(description, schema, example):
            kinds.setdefault(fault[2], []).append((method, address, fault))
    count: Counter[str] = Counter()
    wrong = []
    for code, found in sorted(kinds.items()):
        for method, address, (text, path, _) in drawn.sample(found, min(len(found), DRAWN // len(kinds))):
            place = re.sub(r"{\w+}", "none", address)
            for language in ("en", "ko"):
                headers = {"content-type": "application/json", "accept-language": language}
                answer = ask(method, place, content=text, headers=headers)
                said = answer.json()
                named = {(one["field"], one["code"]) for one in said.get("errors", [])}
                spoken = [said.get("detail", ""), *(one["message"] for one in said.get("errors", []))]
                right = (path, code) in named and all(
                    bool(HANGUL.search(one)) == (language == "ko") for one in spoken
                )
                if not right:
                    wrong.append((method, address, path, code, language, answer.status_code, spoken, named))
            count[code] += 1
    assert not wrong, (len(wrong), wrong[:10])
    assert set(count) >= {
        *("missing_field", "unknown_field", "wrong_type", "not_a_choice", "not_finite", "out_of_range"),
        *("repeated_name", "unreadable_text"),
    }


def test_every_operation_refuses_a_query_parameter_that_it_does_not_know(
    ask: Ask, description: Description
) -> None:
    asked = 0
    for address, operations in description.document["paths"].items():
        for method in operations:
            if not address.startswith("/api/v1/"):
                continue
            answer = ask(method.upper(), re.sub(r"{\w+}", "none", address), params={"no_such": "1"})
            said = answer.json()
            assert answer.status_code == 422, (method, address, said)
            assert [(one["field"], one["code"]) for one in said["errors"]] == [
                ("no_such", "unknown_parameter")
            ]
            asked += 1
    assert asked > 80


def test_a_misspelt_parameter_is_answered_with_the_right_one(ask: Ask) -> None:
    said = ask("GET", "/api/v1/claims", params={"scaling_eficiency": "0.9"}).json()
    assert said["errors"] == [
        {
            "field": "scaling_eficiency",
            "code": "unknown_parameter",
            "message": "unknown query parameter; allowed: scaling_efficiency",
        }
    ]
    korean = ask("GET", "/api/v1/claims", params={"scaling_eficiency": "0.9", "lang": "ko"})
    assert korean.headers["content-language"] == "ko" and HANGUL.search(korean.json()["detail"])


@pytest.mark.parametrize(
    ("written", "close"),
    [
        ("dgx-a100", {"dgx-a100-320gb", "dgx-a100-640gb"}),
        ("DGX A100", {"dgx-a100-320gb", "dgx-a100-640gb"}),
        ("ipu-pod-16", {"ipu-pod16", "ipu-pod64", "ipu-pod256"}),
    ],
)
def test_the_nearest_systems_are_offered(ask: Ask, written: str, close: set[str]) -> None:
    body = {
        "model": {"preset": "gpt2-355m"},
        "workload": {"samples": 1e6},
        "system": {"id": written},
    }
    said = ask("POST", "/api/v1/estimates", json=body).json()
    assert set(said["detail"].partition("closest matches: ")[2].split(", ")) == close


def test_an_unknown_identifier_has_one_status_and_code(ask: Ask, description: Description) -> None:
    asked = 0
    for address, operations in description.document["paths"].items():
        if "{" not in address or "get" not in operations:
            continue
        for language in ("en", "ko"):
            place = re.sub(r"{\w+}", "no_such", address)
            required = {
                parameter["name"]: "no_such"
                for parameter in operations["get"].get("parameters", [])
                if parameter["in"] == "query" and parameter.get("required")
            }
            answer = ask("GET", place, params=required, headers={"accept-language": language})
            said = answer.json()
            assert (answer.status_code, said["code"]) == (404, "not_found"), (address, said)
            assert bool(HANGUL.search(said["detail"])) == (language == "ko"), (address, said["detail"])
            asked += 1
    assert asked > 50


def test_every_kind_of_problem_has_a_page(ask: Ask) -> None:
    for kind in BY_STATUS.values():
        for language in ("en", "ko"):
            page = ask("GET", f"/problems/{kind.slug}", headers={"accept-language": language})
            assert page.status_code == 200 and kind.slug in page.text
    assert ask("GET", "/problems/no-such").status_code == 404
    assert all(code in ask("GET", "/problems").text for code in FAULTS)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"model": {"total_flop": 1e21}, "plan": {"tensor": 8, "data": 2}}, ["plan.tensor", "plan.data"]),
        (
            {"model": {"preset": "resnet50"}, "workload": {"samples": 1e6, "seq_len": 512}},
            ["workload.seq_len"],
        ),
        ({"plan": {"pipeline": 1, "interleave": 2}}, ["plan.interleave"]),
    ],
)
def test_what_would_have_no_effect_is_refused(ask: Ask, change: dict[str, Any], field: list[str]) -> None:
    body = {
        "model": {"preset": "gpt2-355m"},
        "workload": {} if "total_flop" in change.get("model", {}) else {"samples": 1e6},
        "system": {"id": "dgx-a100-640gb", "count": 2},
    }
    answer = ask("POST", "/api/v1/estimates", json=body | change)
    assert answer.status_code == 400
    assert [one["field"] for one in answer.json()["errors"]] == field


def test_a_search_gives_what_is_interleaved_more_than_one_stage(ask: Ask) -> None:
    body = {
        "model": {"preset": "gpt2-355m"},
        "workload": {"samples": 1e6},
        "system": {"id": "dgx-a100-640gb", "count": 2},
        "plan": {"interleave": 2},
    }
    plan = ask("POST", "/api/v1/estimates", json=body).json()["plan"]
    assert plan["interleave"] == 2 and plan["pipeline"] > 1


def test_a_parameter_sent_twice_is_not_read_once(ask: Ask) -> None:
    answer = ask("GET", "/api/v1/studies", params=[("limit", "1"), ("limit", "2"), ("limt", "3")])
    assert answer.status_code == 422
    assert {(one["field"], one["code"]) for one in answer.json()["errors"]} == {
        ("limit", "repeated_name"),
        ("limt", "unknown_parameter"),
    }
