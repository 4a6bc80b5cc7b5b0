"""Latency and size of every endpoint of the API, asked as the examples of its description ask.

``python -m tests.endurance.endpoints [FILE]`` prints a table; with a file of an earlier run, beside that.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from app.main import create_app
from app.settings import Settings
from tests.support.described import resolved

REPEATED = 5
LONG = 1.0
"""Beyond this, a request is timed once more and no further. [s]"""

STORED = (
    "comparisons",
    "price-books",
    "accelerators",
    "studies",
    "keys",
    "webhooks",
    "profiles",
    "estimates",
)
STORED += ("boms", "sizings", "sweeps", "calibrations")

UPLOADS = {"workloads": ("lengths.csv", b"length\n7\n9\n")}

Call = tuple[float, int, int]
"""Seconds, bytes of the answer, status."""


class Api:
    """An application in this process, with one of everything kept."""

    def __init__(self, app: FastAPI) -> None:
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=600
        )
        self.kept: dict[str, str] = {}

    async def call(self, method: str, path: str, **values: Any) -> tuple[httpx.Response, float]:
        began = time.perf_counter()
        answer = await self.client.request(method, path, **values)
        return answer, time.perf_counter() - began

    async def prepare(self, paths: dict[str, Any]) -> None:
        for name in STORED:
            await self.keep(name, json=examples(paths[f"/api/v1/{name}"]["post"])[0])
        for name, file in UPLOADS.items():
            await self.keep(name, files={"file": file})
        await self.keep("proposals", json=self.proposal())
        for suffix in ("freeze", "share"):
            await self.call("POST", f"/api/v1/proposals/{self.kept['proposals']}/{suffix}")

    async def keep(self, name: str, **values: Any) -> None:
        answer, _ = await self.call("POST", f"/api/v1/{name}", **values)
        assert answer.is_success, (name, answer.text[:300])
        self.kept[name] = answer.json()["id"]

    def proposal(self) -> dict[str, str]:
        return {"comparison_id": self.kept["comparisons"], "customer": "Example"}


def examples(operation: dict[str, Any]) -> list[Any]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    found = [content["example"]] if "example" in content else []
    found += [one["value"] for one in content.get("examples", {}).values()]
    return [*found, *content.get("schema", {}).get("examples", [])]


def address(api: Api, path: str, operation: dict[str, Any]) -> str:
    """Return an address with identifiers of what is kept, or of the examples."""
    collection = path.split("/")[3] if path.count("/") > 2 else ""
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            stated = [*parameter["schema"].get("examples", []), *parameter.get("examples", [])]
            stated += [parameter["example"]] if "example" in parameter else []
            value = api.kept.get(collection) if parameter["name"] == "id" else None
            path = path.replace(f"{{{parameter['name']}}}", str(value or (stated or ["1"])[0]))
    return path


def query(api: Api, operation: dict[str, Any]) -> dict[str, Any]:
    """Return the query parameters that are required."""
    wanted = [one for one in operation.get("parameters", []) if one["in"] == "query" and one.get("required")]
    return {one["name"]: (one["schema"].get("examples") or one.get("examples") or ["1"])[0] for one in wanted}


def requests(
    api: Api, described: dict[str, Any]
) -> Iterator[tuple[str, str, Callable[[], dict[str, Any]], str]]:
    """Give method, path, what is sent and where to; changes and what removes come last."""
    order = ["get", "post", "patch", "put", "delete"]
    found = [
        (method, path, operation)
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    ]
    for method, path, operation in sorted(found, key=lambda one: order.index(one[0])):
        values: dict[str, Any] = {"params": query(api, operation)}
        name = path.removeprefix("/api/v1/")
        if name in UPLOADS and method == "post":
            values["files"] = {"file": UPLOADS[name]}
        elif bodies := examples(operation):
            values["json"] = api.proposal() if name == "proposals" else bodies[0]
        yield method.upper(), path, lambda values=values: values, address(api, path, operation)


async def measured(app: FastAPI) -> dict[str, Call]:
    api = Api(app)
    described = resolved((await api.call("GET", "/api/v1/openapi.json"))[0].json())
    await api.prepare(described["paths"])
    found: dict[str, Call] = {}
    answer, seconds = await api.call("GET", "/api/v1/openapi.json")
    found["GET /api/v1/openapi.json"] = seconds, len(answer.content), answer.status_code
    for method, path, values, place in requests(api, described):
        if path.endswith("/events") and "proposals" not in path:
            # A stream lasts until the work has ended.
            continue
        times = []
        for _ in range(1 if method in {"DELETE", "PATCH"} else REPEATED):
            answer, seconds = await api.call(method, place, **values())
            times.append(seconds)
            if len(times) > 1 and seconds > LONG:
                break
        found[f"{method} {path}"] = statistics.median(times), len(answer.content), answer.status_code
    await api.client.aclose()
    return found


def table(now: dict[str, Call], before: dict[str, Call]) -> Iterator[str]:
    yield f"{'endpoint':58} {'ms':>9} {'kB':>9} status {'ms then':>9} {'kB then':>9}"
    for name, (seconds, size, status) in sorted(now.items(), key=lambda one: -one[1][0]):
        line = f"{name:58} {seconds * 1e3:9.1f} {size / 1e3:9.1f} {status:6}"
        if name in before:
            line += f" {before[name][0] * 1e3:9.1f} {before[name][1] / 1e3:9.1f}"
        yield line
    for words, calls in (("now", now), ("then", before)):
        if calls:
            seconds, size = (sum(one[place] for one in calls.values()) for place in (0, 1))
            yield f"{len(calls)} endpoints {words}: {seconds:.2f} s, {size / 1e6:.2f} MB"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings.at(Path(folder)))
        now = asyncio.run(measured(app))
    kept = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    before = json.loads(kept.read_text()) if kept and kept.is_file() else {}
    print("\n".join(table(now, before)))
    if kept and not before:
        kept.write_text(json.dumps(now))


if __name__ == "__main__":
    main()
