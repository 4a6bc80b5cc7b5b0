"""The description of the API: complete, and every example in it works."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from tests.support.application import Ask
from tests.support.described import KINDS, resolved

MOST_CHARACTERS = 1_000_000
"""Of the whole description: what a program reads once to make a client."""


@pytest.fixture(scope="module")
def openapi(ask: Ask) -> dict[str, Any]:
    return resolved(ask("GET", "/api/v1/openapi.json").json())


def operations(openapi: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def examples(operation: dict[str, Any]) -> list[Any]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return [
        *content.get("schema", {}).get("examples", []),
        *(e["value"] for e in content.get("examples", {}).values()),
    ]


def test_every_endpoint_says_what_it_does(openapi: dict[str, Any]) -> None:
    tags = {tag["name"] for tag in openapi["tags"]}
    for method, path, operation in operations(openapi):
        assert tags.issuperset(operation["tags"]), (method, path)
        assert operation["summary"], (method, path)
        assert operation["description"], (method, path)
        for parameter in operation.get("parameters", []):
            assert parameter["description"], (method, path, parameter["name"])


def test_every_field_is_described(openapi: dict[str, Any]) -> None:
    schemas = openapi["components"]["schemas"]

    def described(body: dict[str, Any]) -> bool:
        # A field that says no more than its own schema does refers to that.
        return bool(body.get("description") or schemas[body["$ref"].rpartition("/")[2]]["description"])

    silent = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, body in schema.get("properties", {}).items()
        if not described(body)
    ]
    assert silent == []


def test_every_answer_has_an_example_that_its_schema_allows(openapi: dict[str, Any]) -> None:
    components = {"components": openapi["components"]}
    shown = 0
    for method, path, operation in operations(openapi):
        for status, response in operation["responses"].items():
            content = response.get("content", {}).get("application/json", {})
            # A file of the customer's may hold anything.
            if status.startswith("2") and content.get("schema"):
                checked = Draft202012Validator({**content["schema"], **components}, validate_formats=True)
                named = [one["value"] for one in content.get("examples", {}).values()]
                (example,) = named or [content["example"]]
                wrong = [error.message for error in checked.iter_errors(example)]
                assert not wrong, (method, path, wrong[:3])
                shown += 1
    assert shown > 80


def test_every_file_is_of_one_kind_and_every_text_has_an_example(openapi: dict[str, Any]) -> None:
    for method, path, operation in operations(openapi):
        for status, response in operation["responses"].items():
            if not status.startswith("2"):
                continue
            for kind, body in response.get("content", {}).items():
                binary = body.get("schema", {}).get("format") == "binary"
                assert binary or body.get("example") or body.get("examples"), (method, path, kind)
                assert not binary or len(response["content"]) == 1, (method, path)


def test_what_is_said_more_than_once_stands_in_one_place(ask: Ask) -> None:
    openapi = ask("GET", "/api/v1/openapi.json").json()
    assert len(json.dumps(openapi)) < MOST_CHARACTERS
    for kind in KINDS:
        text = json.dumps(openapi)
        unused = [name for name in openapi["components"][kind] if text.count(f'/{kind}/{name}"') < 2]
        assert unused == [], kind


def test_every_answer_names_its_headers(openapi: dict[str, Any]) -> None:
    for method, path, operation in operations(openapi):
        if not path.startswith("/api/"):
            continue
        answers = operation["responses"]
        assert "Retry-After" in answers["429"]["headers"], (method, path)
        assert "WWW-Authenticate" in answers["401"]["headers"], (method, path)
        done = [answer for status, answer in answers.items() if status.startswith("2")]
        assert all("RateLimit" in answer["headers"] for answer in done), (method, path)


def test_every_failure_has_a_meaning_and_an_example(openapi: dict[str, Any]) -> None:
    for method, path, operation in operations(openapi):
        for status, response in operation["responses"].items():
            if status.startswith("4"):
                example = response["content"]["application/problem+json"]["example"]
                assert example["status"] == int(status), (method, path)
                assert response["description"]
    assert "HTTPValidationError" not in openapi["components"]["schemas"]


def test_no_schema_is_named_after_a_module(openapi: dict[str, Any]) -> None:
    """Two documents of one name would be told apart by where they lie in the code, which moves."""
    assert [name for name in openapi["components"]["schemas"] if "__" in name] == []


def test_every_reference_leads_somewhere(ask: Ask) -> None:
    openapi = ask("GET", "/api/v1/openapi.json").json()

    def references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for child in value.values():
                yield from references(child)
        elif isinstance(value, list):
            for child in value:
                yield from references(child)

    known = {
        f"#/components/{kind}/{name}" for kind in ("schemas", *KINDS) for name in openapi["components"][kind]
    }
    assert set(references(openapi)) <= known


def test_every_example_of_a_body_works(ask: Ask, openapi: dict[str, Any]) -> None:
    made = {}
    for collection in (
        "/api/v1/comparisons",
        "/api/v1/price-books",
        "/api/v1/accelerators",
        "/api/v1/studies",
        "/api/v1/keys",
        "/api/v1/webhooks",
        "/api/v1/profiles",
    ):
        body = examples(openapi["paths"][collection]["post"])[0]
        made[f"{collection}/{{id}}"] = ask("POST", collection, json=body).json()["id"]
    sample = ask("POST", "/api/v1/workloads", files={"file": ("lengths.csv", b"length\n7\n9\n")}).json()
    made["/api/v1/workloads/{id}"] = sample["id"]
    comparison = made["/api/v1/comparisons/{id}"]
    body = {"comparison_id": comparison, "customer": "Example"}
    draft, frozen, asked = (ask("POST", "/api/v1/proposals", json=body).json()["id"] for _ in range(3))
    assert ask("POST", f"/api/v1/proposals/{frozen}/freeze").is_success
    sealed = ask("POST", f"/api/v1/proposals/{asked}/freeze").json()["sha256"]
    link = ask("POST", f"/api/v1/proposals/{asked}/share", json={}).json()["path"]
    question = {"act": "ask", "sha256": sealed, "text": "When is it delivered?"}
    assert ask("POST", f"{link}/answer", data=question).status_code == 303
    made |= {"/api/v1/proposals/{id}": draft, "/api/v1/proposals/{id}/share": frozen}
    made["/api/v1/proposals/{id}/replies"] = asked
    tried = 0
    for method, path, operation in operations(openapi):
        for example in examples(operation):
            kept = made.get(path) or made.get(f"{path.partition('/{id}')[0]}/{{id}}", "")
            address = path.replace("{id}", kept)
            body = example | {"comparison_id": comparison} if "comparison_id" in example else example
            response = ask(method.upper(), address, json=body)
            assert response.is_success, (method, path, response.text[:300])
            tried += 1
    assert tried >= 9


def test_every_body_has_an_example(openapi: dict[str, Any]) -> None:
    for method, path, operation in operations(openapi):
        if "application/json" in operation.get("requestBody", {}).get("content", {}):
            assert examples(operation), (method, path)


def test_every_example_of_a_catalogue_identifier_exists(ask: Ask, openapi: dict[str, Any]) -> None:
    for method, path, operation in operations(openapi):
        if path.startswith("/api/v1/catalog/") and path.endswith("{id}"):
            (parameter,) = (entry for entry in operation["parameters"] if entry["name"] == "id")
            (identifier,) = parameter["schema"].get("examples") or parameter["examples"]
            assert ask(method.upper(), path.replace("{id}", identifier)).status_code == 200, path
