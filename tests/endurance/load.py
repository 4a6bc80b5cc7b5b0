"""Real clients at a real server for as long as is asked: rates, waiting times, errors and memory.

``python -m tests.endurance.load [SECONDS] [CLIENTS] [PROCESSES]`` starts a server of its own and lets clients
in processes of their own ask it, each its next question as soon as the last is answered. What is
asked is a mix of estimates (new ones and the same again), searches, comparisons, pages and documents.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from tests.loops import run
from tests.serving import ROOT, serving

USUAL = (600, 8, 2)
"""Seconds, clients, processes of clients."""

MIX: dict[str, int] = {
    "new estimate": 30,
    "same estimate": 20,
    "estimate page": 10,
    "comparison": 8,
    "comparison page": 8,
    "study page": 6,
    "catalogue page": 6,
    "list": 4,
    "search": 6,
    "proposal drawn": 1,
    "proposal kept": 1,
}
"""How often each is asked, of all. [%]"""

SAMPLED = 0.5
"""How often the server's memory is looked at. [s]"""

MODELS = ("bert-large", "resnet50", "gpt2-1.5b", "vit-large", "t5-3b", "llama-7b")

SYSTEMS = ("dgx-a100-640gb", "dgx-a100-320gb", "aws-p4d", "bow-pod16", "ipu-pod64", "ipu-pod16")


@dataclass
class Report:
    """What the clients met, and what the server held meanwhile."""

    length: float
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """From question to the last byte of its answer, by kind. [s]"""
    errors: list[str] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    """Seconds since the start, and memory of the server with its children. [s, B]"""

    def settled(self) -> list[tuple[float, int]]:
        """Return the memory of the second half: what is kept for later is there by then."""
        return [(at, held) for at, held in self.memory if at >= self.length / 2]

    def slope(self) -> float:
        """Return how fast memory grows in the second half. [B/s]"""
        at, held = np.array(self.settled(), dtype=float).T
        return float(np.polyfit(at, held, 1)[0])

    def growth(self) -> float:
        """Return the least memory of the last tenth less the least of the tenth after the first half. [B]"""
        found = self.settled()
        part = max(len(found) // 5, 1)
        return float(min(held for _, held in found[-part:]) - min(held for _, held in found[:part]))

    def lines(self) -> Iterator[str]:
        """Write it all."""
        every = [one for seconds in self.seconds.values() for one in seconds]
        yield row("asked", every, self.length)
        estimates = [*self.seconds["new estimate"], *self.seconds["same estimate"]]
        yield row("estimates", estimates, self.length)
        for kind in MIX:
            yield row(kind, self.seconds[kind], self.length)
        held = [held for _, held in self.memory]
        start, most, end = (f"{value / 1e6:.0f} MB" for value in (held[0], max(held), held[-1]))
        yield f"memory: {start} at the start, {most} at most, {end} at the end"
        yield f"memory, second half: {self.slope() * 60 / 1e6:+.2f} MB a minute"
        yield f"errors: {len(self.errors)}"
        yield from self.errors[:20]


def row(name: str, seconds: Sequence[float], length: float) -> str:
    """Write one line of the table."""
    if not seconds:
        return f"{name:16} none"
    marks = "  ".join(f"p{mark} {1e3 * np.percentile(seconds, mark):7.1f} ms" for mark in (50, 95, 99))
    rate = f"{len(seconds):7}  {len(seconds) / length:7.1f} a second"
    return f"{name:16} {rate}  {marks}  max {max(seconds):6.2f} s"


def new_estimate(chance: random.Random) -> dict[str, Any]:
    """Return an estimate that nobody has asked for before."""
    return {
        "model": {"preset": chance.choice(MODELS)},
        "workload": {"samples": chance.randrange(10**6, 10**9), "global_batch": 2 ** chance.randrange(8, 13)},
        "system": {"id": chance.choice(SYSTEMS), "count": chance.choice((1, 1, 2, 4))},
        "assumptions": {"electricity_per_kwh": round(chance.uniform(0.04, 0.3), 6)},
    }


def search(chance: random.Random) -> dict[str, Any]:
    """Return a search of a thousand plans or so."""
    return {
        "model": {"preset": chance.choice(("bert-large", "gpt2-1.5b"))},
        "workload": {"samples": chance.randrange(10**6, 10**8), "global_batch": 1024},
        "system": {"id": chance.choice(("dgx-a100-640gb", "bow-pod16")), "count": chance.choice((1, 2))},
        "keep": 5,
        "what_if": False,
    }


async def prepared(client: httpx.AsyncClient) -> dict[str, Any]:
    """Make what the pages show; return their addresses, and bodies for questions."""
    # Not above: processes of clients start without the application.
    from app.platform.web.examples import GPT3, HEAD_TO_HEAD, MODELLED, PROPOSAL, RESNET, STUDY

    async def made(path: str, body: object) -> str:
        answer = await client.post(f"/api/v1/{path}", json=body)
        answer.raise_for_status()
        return str(answer.json()["id"])

    comparison = await made("comparisons", MODELLED)
    claimed = await made("comparisons", HEAD_TO_HEAD)
    drawn = await made("proposals", {**PROPOSAL, "comparison_id": claimed})
    kept = await made("proposals", {**PROPOSAL, "comparison_id": claimed})
    (await client.post(f"/api/v1/proposals/{kept}/freeze")).raise_for_status()
    return {
        "estimate page": f"/estimates/{await made('estimates', GPT3)}",
        "comparison page": f"/comparisons/{comparison}?scaling_efficiency=",
        "study page": f"/studies/{await made('studies', STUDY)}?utilisation=",
        "catalogue page": "/catalog/chips",
        "list": "/api/v1/estimates/" + await made("estimates", RESNET),
        "proposal drawn": f"/api/v1/proposals/{drawn}.pdf",
        "proposal kept": f"/api/v1/proposals/{kept}.pdf",
        "same estimate": [GPT3, RESNET],
        "comparison": [HEAD_TO_HEAD, MODELLED],
    }


def question(kind: str, places: dict[str, Any], chance: random.Random) -> tuple[str, str, object]:
    """Return method, address and body of one question."""
    match kind:
        case "new estimate":
            return "POST", "/api/v1/estimates", new_estimate(chance)
        case "same estimate":
            return "POST", "/api/v1/estimates", chance.choice(places[kind])
        case "search":
            return "POST", "/api/v1/searches", search(chance)
        case "comparison":
            return "POST", "/api/v1/comparisons", chance.choice(places[kind])
    place = places[kind]
    # As the page itself writes it: without zeros at the end, which it would send elsewhere.
    return "GET", place + (f"{chance.uniform(0.7, 0.99):.3g}" if place.endswith("=") else ""), None


async def client_of(
    client: httpx.AsyncClient, places: dict[str, Any], until: float, chance: random.Random, report: Report
) -> None:
    """Ask until the time is up."""
    kinds, weights = list(MIX), list(MIX.values())
    while time.monotonic() < until:
        kind = chance.choices(kinds, weights)[0]
        method, path, body = question(kind, places, chance)
        accept = "text/html" if kind.endswith("page") else "application/json"
        begun = time.perf_counter()
        try:
            answer = await client.request(method, path, json=body, headers={"accept": accept})
        except httpx.HTTPError as error:
            report.errors.append(f"{method} {path}: {type(error).__name__} {error}")
            continue
        report.seconds[kind].append(time.perf_counter() - begun)
        if answer.status_code not in {200, 201}:
            report.errors.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")


async def clients(base: str, places: dict[str, Any], length: float, count: int, seed: int) -> Report:
    """Let so many clients of one process ask at once."""
    report = Report(length)
    until = time.monotonic() + length
    limits = httpx.Limits(max_connections=count)
    async with httpx.AsyncClient(base_url=base, limits=limits, timeout=60, trust_env=False) as client:
        await asyncio.gather(
            *(
                client_of(client, places, until, random.Random(f"{seed} {place}"), report)
                for place in range(count)
            )
        )
    return report


def held_by(pid: int) -> int:
    """Return the memory of a process and its children. [B]"""
    total = 0
    for each in (pid, *children_of(pid)):
        try:
            pages = Path(f"/proc/{each}/statm").read_text().split()[1]
        except OSError:
            continue
        total += int(pages) * os.sysconf("SC_PAGE_SIZE")
    return total


def children_of(pid: int) -> list[int]:
    """Return the children of a process."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for each in threads for child in (each / "children").read_text().split()]
    except OSError:
        return []


def measured(length: float = 600, count: int = 8, processes: int = 2) -> Report:
    """Start a server, let clients at it, and look at its memory meanwhile."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (server, client):
        base = str(client.base_url)

        async def prepare() -> dict[str, Any]:
            async with httpx.AsyncClient(base_url=base, timeout=120, trust_env=False) as first:
                return await prepared(first)

        places = run(prepare())
        report = Report(length)
        shares = [count // processes + (index < count % processes) for index in range(processes)]
        asking = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.endurance.load", "ask", f"{folder}/told-{index}.json"],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for index in range(processes)
        ]  # fmt: skip
        for index, (process, share) in enumerate(zip(asking, shares, strict=True)):
            assert process.stdin is not None
            process.stdin.write(json.dumps([base, places, length, share, index]))
            process.stdin.close()
            assert process.stdout is not None
            process.stdout.readline()
        begun = time.monotonic()
        while any(process.poll() is None for process in asking) and time.monotonic() < begun + length + 90:
            if time.monotonic() - begun <= length:
                report.memory.append((time.monotonic() - begun, held_by(server.pid)))
            if length > 30 and report.memory and len(report.memory) % 60 == 0:
                print(f"{report.memory[-1][0]:.0f} s: {report.memory[-1][1] / 1e6:.0f} MB", file=sys.stderr)
            time.sleep(SAMPLED)
            if server.poll() is not None:
                report.errors.append("the server has ended")
                break
        for index, process in enumerate(asking):
            if process.poll() is None:
                process.kill()
            assert process.stdout is not None
            process.stdout.close()
            if process.wait():
                report.errors.append("a process of clients broke down")
                continue
            found = json.loads((Path(folder) / f"told-{index}.json").read_text())
            report.errors += found["errors"]
            for kind, seconds in found["seconds"].items():
                report.seconds[kind] += seconds
    return report


def ask(told: str) -> None:
    """Be one process of clients: asked on standard input, told in a file."""
    asked = json.load(sys.stdin)
    print("ready", flush=True)
    report = asyncio.run(clients(*asked))
    Path(told).write_text(json.dumps({"seconds": report.seconds, "errors": report.errors}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["ask"]:
        ask(sys.argv[2])
    else:
        words = [int(word) for word in sys.argv[1:]]
        for line in measured(*(*words, *USUAL[len(words) :])).lines():
            print(line)
