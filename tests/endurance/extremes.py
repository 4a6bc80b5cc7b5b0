"""Every number that the API takes, as small and as large as one can be: no answer may be a server's fault.

``python -m tests.endurance.extremes`` changes one number of one example at a time, also those that it leaves
out, and prints every case that was answered 5xx or with a number that is not finite.
"""

from __future__ import annotations

import copy
import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from app.main import create_app
from app.settings import Settings
from tests.conftest import run
from tests.endurance.fuzz_requests import complaint
from tests.endurance.request_seeds import JSON, Seed, seeds
from tests.support.direct import Request, send
from tools.description import document

EXTREMES = (5e-324, 1e-300, 1e-30, -1e-300, 0, -1, 1e15, 1e29, 1e300, -1e300)

NUMBERS = {"number", "integer"}

Place = tuple[str | int, ...]

DEEPEST = 5


def numbers(schemas: dict[str, Any], schema: Any, value: Any, place: Place = ()) -> Iterator[Place]:
    """Give the place of every number of a body: those it has, and those it may have within what it has."""
    schema = schemas.get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    kinds = [schema, *(one for part in ("anyOf", "oneOf", "allOf") for one in schema.get(part, ()))]
    if any(one.get("type") in NUMBERS for one in kinds):
        yield place
    for one in kinds:
        one = schemas.get(str(one.get("$ref", "")).rpartition("/")[2], one)
        if isinstance(value, list) and value and "items" in one:
            yield from numbers(schemas, one["items"], value[0], (*place, 0))
        if isinstance(value, dict) and len(place) < DEEPEST:
            for name, below in one.get("properties", {}).items():
                inner = value.get(name, {} if "$ref" in json.dumps(below) else None)
                yield from numbers(schemas, below, inner, (*place, name))


def put(body: Any, place: Place, number: float) -> Any:
    """Return a body with a number at a place."""
    changed = copy.deepcopy(body)
    found = changed
    for name, following in itertools.pairwise(place):
        if isinstance(found, dict):
            found = found.setdefault(name, [] if isinstance(following, int) else {})
        else:
            found = found[int(name)]
    found[place[-1]] = number
    return changed


async def ask(app: FastAPI) -> tuple[Counter[int], list[str]]:
    openapi = document(app.routes)
    schemas = openapi["components"]["schemas"]
    statuses: Counter[int] = Counter()
    wrong = []
    asked = [one for one in await seeds(app, pages=False) if isinstance(one.value, dict)]
    cases = [(seed, place) for seed in asked for place in places(openapi, schemas, seed)]
    for (seed, place), number in itertools.product(cases, EXTREMES):
        body = json.dumps(put(seed.value, place, number)).encode()
        answer = await send(app, Request(seed.method, seed.path.encode(), b"", JSON, body))
        statuses[answer.status] += 1
        if said := complaint(Request(seed.method, b"", b"", (), b""), answer):
            wrong.append(f"{seed.method} {seed.path} {'.'.join(map(str, place))} = {number}: {said}")
            print(wrong[-1], flush=True)
    return statuses, wrong


def places(openapi: dict[str, Any], schemas: dict[str, Any], seed: Seed) -> set[Place]:
    """Return the places of numbers in the body of a request."""
    own = seed.path.split("/")
    for path, methods in openapi["paths"].items():
        parts = path.split("/")
        alike = len(parts) == len(own) and all(
            one == other or one.startswith("{") for one, other in zip(parts, own, strict=True)
        )
        content = methods.get(seed.method.lower(), {}).get("requestBody", {}).get("content", {})
        if alike and "application/json" in content:
            return set(numbers(schemas, content["application/json"]["schema"], seed.value))
    return set()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        statuses, wrong = run(ask(create_app(Settings.at(Path(folder)))))
    print(f"{sum(statuses.values())} answers: {dict(statuses)}; failures: {len(wrong)}")


if __name__ == "__main__":
    main()
