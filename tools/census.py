"""What app/ consists of, and how many functions the ways of a question pass.

``python3 dev.py census`` prints lines by kind and by room, and for an estimate, a knob of a study and a
frozen proposal how many functions of how many files run, and how deep.
"""

from __future__ import annotations

import ast
import asyncio
import io
import itertools
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import httpx

from app.main import create_app
from app.settings import Settings

ROOT = Path(__file__).parents[1]
APP = ROOT / "app"

ESTIMATE: dict[str, Any] = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e7, "global_batch": 1024, "seq_len": 128},
    "system": {"id": "dgx-a100-640gb"},
}
OTHER = ESTIMATE | {"system": {"id": "bow-pod16"}}
STUDY: dict[str, Any] = {
    "name": "BERT",
    "base": {"model": ESTIMATE["model"], "workload": ESTIMATE["workload"], "currency": "USD"},
    "options": [{"system": {"id": "dgx-a100-640gb"}}, {"system": {"id": "bow-pod16"}}],
}


def kinds_of(text: str) -> Counter[str]:
    """Return how many lines of a module are of which kind."""
    tree, lines = ast.parse(text), text.splitlines()
    kind = dict.fromkeys(range(1, len(lines) + 1), "module tables")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            mark(kind, node, "imports")
        elif isinstance(node, ast.ClassDef):
            mark(kind, node, "class fields")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            mark(kind, node, "statements")
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            for line in range(first, node.body[0].lineno):
                kind[line] = "signatures"
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else ():
            if (
                isinstance(one, ast.Expr)
                and isinstance(one.value, ast.Constant)
                and isinstance(one.value.value, str)
            ):
                mark(kind, one, "docstrings")
    docstrings = {line for line, name in kind.items() if name == "docstrings"}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and lines[token.start[0] - 1].lstrip().startswith("#"):
            kind[token.start[0]] = "comments"
    for line, content in enumerate(lines, 1):
        if line in docstrings:
            continue
        if not content.strip():
            kind[line] = "blank"
        elif not content.strip(" ()[]{},:"):
            kind[line] = "lone brackets"
    return Counter(kind.values())


def mark(kind: dict[int, str], node: ast.stmt, name: str) -> None:
    """Say of what kind the lines of a statement are."""
    for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
        kind[line] = name


def census() -> Iterator[str]:
    """Yield the lines of a table: kinds, then rooms."""
    by_kind: Counter[str] = Counter()
    by_room: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in sorted(APP.rglob("*.py")):
        found = kinds_of(path.read_text(encoding="utf-8"))
        parts = path.relative_to(APP).parts
        room = "/".join(parts[: min(len(parts) - 1, 2)]) or "."
        by_kind += found
        by_room[room] += found.total()
        files[room] += 1
    total = by_kind.total()
    yield f"{total:,} lines in {files.total()} modules"
    yield from (f"  {name:15} {count:7,} {count / total:4.0%}" for name, count in by_kind.most_common())
    yield from (f"  {room:28} {count:7,} {files[room]:4}" for room, count in by_room.most_common())


@dataclass(slots=True)
class Way:
    """Functions of app/ that ran."""

    functions: set[tuple[str, str]] = field(default_factory=set)
    depth: int = 0

    def watch(self, frame: FrameType, event: str, argument: object) -> None:
        """Take down a call, as :func:`threading.setprofile` tells of it."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(APP)) or code.co_name.startswith("<"):
            return
        self.functions.add((code.co_filename, code.co_qualname))
        depth, above = 0, frame
        while above is not None:
            depth += above.f_code.co_filename.startswith(str(APP))
            if above.f_back is None:
                break
            above = above.f_back
        self.depth = max(self.depth, depth)

    def __str__(self) -> str:
        files = len({name for name, _ in self.functions})
        return f"{len(self.functions):4} functions in {files:3} files, {self.depth} deep"


async def ways() -> None:
    """Print the ways of requests, each of a question that was not asked before, of a server that is warm."""
    watching: list[Way] = []

    def everywhere(frame: FrameType, event: str, argument: object) -> None:
        for way in watching:
            way.watch(frame, event, argument)

    # Requests are answered in threads, which take what is set when they begin.
    threading.setprofile(everywhere)
    application = create_app(Settings.at(Path(tempfile.mkdtemp())))
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:

        async def told(name: str, method: str, address: str, body: object = None) -> Any:
            way = Way()
            watching.append(way)
            answered = await client.request(method, address, json=body)
            watching.remove(way)
            answered.raise_for_status()
            if name:
                print(f"  {name:24} {way}")
            return answered.json() if "json" in answered.headers["content-type"] else None

        for batch, names in ((512, itertools.repeat("")), (1024, iter(NAMES))):
            asked = [
                one | {"workload": one["workload"] | {"global_batch": batch}} for one in (ESTIMATE, OTHER)
            ]
            made = await told(next(names), "POST", "/api/v1/estimates", asked[0])
            await told(next(names), "GET", f"/estimates/{made['id']}")
            base = STUDY["base"] | {"workload": asked[0]["workload"]}
            study = await told(next(names), "POST", "/api/v1/studies", STUDY | {"base": base})
            await told(next(names), "GET", f"/studies/{study['id']}?utilisation=0.{batch}")
            comparison = await told(next(names), "POST", "/api/v1/comparisons", {"rows": asked})
            wanted = {"comparison_id": comparison["id"], "customer": "A customer", "locale": "en"}
            proposal = await told(next(names), "POST", "/api/v1/proposals", wanted)
            await told(next(names), "POST", f"/api/v1/proposals/{proposal['id']}/freeze")


NAMES = (
    *("an estimate", "the page of an estimate", "a study", "one knob", "a comparison"),
    *("a proposal", "freezing it"),
)


if __name__ == "__main__":
    print("\n".join(census()))
    asyncio.run(ways())
