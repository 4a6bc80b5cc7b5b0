"""Every operation that the API describes has a method of its name that sends exactly that."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from rackline_client import AsyncRackline, Rackline
from rackline_client.calls import Call, File, Operation
from rackline_client.operations import Operations

from tools.client import names_in
from tools.description import document

STREAMS = {"follow_sweep"}
"""Operations whose answer is a stream: a method of each client of its own."""

NARROWED = {"fields", "view"}
"""Parameters that no method takes: ``narrowed`` of every method does."""


@pytest.fixture(scope="module")
def described(application: FastAPI) -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, operations in document(application.routes)["paths"].items()
        for method, operation in operations.items()
    }


def methods() -> Iterator[tuple[str, Operation[..., Any]]]:
    for name in dir(Operations):
        found = getattr(Operations, name)
        if isinstance(found, Operation):
            yield name, found


def call_of(found: Operation[..., Any]) -> tuple[Call[Any], set[str]]:
    """Return what a method sends when it is given the least, and the names of what it takes."""
    taken = list(inspect.signature(found.build).parameters.values())[1:]
    needed = [one for one in taken if one.default is inspect.Parameter.empty]
    values = [
        "x" if one.annotation == "str" else File("x", b"") if "File" in one.annotation else {}
        for one in needed
    ]
    return found.build(None, *values), {one.name for one in taken}


def test_every_operation_has_a_method(described: dict[str, Any]) -> None:
    assert described.keys() == {name for name, _ in methods()} | STREAMS
    assert all(hasattr(Rackline, name) and hasattr(AsyncRackline, name) for name in described)


def test_a_method_sends_what_is_described(described: dict[str, Any]) -> None:
    for name, found in methods():
        method, path, operation = described[name]
        call, taken = call_of(found)
        assert call.method == method, name
        assert call.path == re.sub(r"{\w+}", "x", path), name
        parameters = {one["name"]: one["in"] for one in operation.get("parameters", [])}
        in_query = {one for one, place in parameters.items() if place == "query"} - NARROWED
        assert call.keyed == ("Idempotency-Key" in parameters), name
        assert ("key" in taken) == call.keyed, name
        assert ("tag" in taken) == ("If-Match" in parameters), name
        assert in_query == set(call.query) or "asked" in taken, name
        assert bool(call.body is not None or call.file) == ("requestBody" in operation), name


def test_a_key_and_a_tag_travel_as_headers() -> None:
    changed = Operations.change_comparison.build(None, "cmp_x", {}, tag='"1-a"')
    assert changed.headers == {"If-Match": '"1-a"'}
    assert Operations.create_estimate.build(None, {}, key="quote-17").key == "quote-17"


@pytest.mark.parametrize("identifier", ["", ".", ".."])
def test_an_identifier_leads_nowhere_else(identifier: str) -> None:
    with pytest.raises(ValueError, match="identifier"):
        Operations.get_estimate.build(None, identifier)
    assert Operations.get_estimate.build(None, "../jobs/x?y").path == "/api/v1/estimates/..%2Fjobs%2Fx%3Fy"


def test_a_method_answers_the_class_that_is_described(described: dict[str, Any]) -> None:
    for name, found in methods():
        answers = (
            answer for status, answer in described[name][2]["responses"].items() if status.startswith("2")
        )
        answered = {one.removesuffix("Page") for one in names_in([*answers])} - {"Health"}
        returned = set(re.findall(r"\w+", inspect.signature(found.build).return_annotation))
        # A file may be a document, and is read byte for byte.
        assert returned == {"bytes"} or returned - {"Page", "Call", "None", "str", "Status"} == answered, name


def test_an_editor_sees_what_a_method_takes(rackline: Rackline) -> None:
    assert [*inspect.signature(rackline.create_profile).parameters] == ["model", "key"]
    kinds = {one.kind for one in inspect.signature(rackline.rows).parameters.values()}
    assert kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
