"""Sessions of people at real servers for as long as is asked: rates, waiting times, errors and memory.

``python -m tests.endurance.load --seconds 1800 --sessions 100 --pause 10`` starts servers of its own and
lets sessions work: each asks, thinks for a while (an exponential law), and asks again. Each has a study
whose knobs it turns; besides it computes, searches, compares, reads lists, pages and documents.
``--accounts`` gives each a key of its own, ``--beside`` lets another workspace ask the largest questions
meanwhile, ``--postgres`` takes PostgreSQL, ``--servers 2`` serves twice. Without a pause it is a load that
waits only for answers.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import random
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from app.platform.web.examples import GPT3, HEAD_TO_HEAD, MODELLED, PROPOSAL, RESNET
from tests.conftest import ROOT, run
from tests.endurance.beside import Seconds, expensive
from tests.support.postgres import DURABLE, own_cluster
from tests.support.serving import descendants, serving

MIX: dict[str, int] = {
    "study page": 30,
    "new estimate": 15,
    "same estimate": 10,
    "estimate page": 8,
    "comparison page": 8,
    "comparison": 6,
    "catalogue page": 6,
    "list": 6,
    "list page": 4,
    "search": 4,
    "proposal kept": 2,
    "proposal drawn": 1,
}
"""How often each is asked, of all. [%]"""

WARM = 60.0
"""By then every process has met every model: what is asked first is computed from nothing. [s]"""

SAMPLED = 2.0
"""How often the memory of the servers is looked at. [s]"""

MODELS = ("bert-large", "resnet50", "gpt2-1.5b", "vit-large", "t5-3b", "llama-7b")

SYSTEMS = ("dgx-a100-640gb", "dgx-a100-320gb", "aws-p4d", "bow-pod16", "ipu-pod64", "ipu-pod16")

SCOPES = ["read", "estimate", "propose"]


@dataclass
class Report:
    """What the sessions met, and what the servers held meanwhile."""

    length: float
    seconds: Seconds = field(default_factory=lambda: defaultdict(list))
    """From question to the last byte of its answer, by kind. [s]"""
    warmed: Seconds = field(default_factory=lambda: defaultdict(list))
    """The same without the first minute."""
    errors: list[str] = field(default_factory=list)
    processes: list[tuple[float, dict[int, int]]] = field(default_factory=list)
    """Seconds since the start, and memory of each process of the servers, by its number. [s, B]"""
    processor: float = 0.0
    """Processor time of the servers. [s]"""

    @property
    def memory(self) -> list[tuple[float, int]]:
        """Seconds since the start, and memory of the servers with their children. [s, B]"""
        return [(at, sum(held.values())) for at, held in self.processes]

    def held(self, share: float) -> float:
        """Return the median memory of the thirtieth of the run that ends at a share of it. [B]"""
        ends = (share - 1 / 30) * self.length, share * self.length
        found = [held for at, held in self.memory if ends[0] <= at <= ends[1]]
        return float(np.median(found or [held for _, held in self.memory]))

    def growth(self) -> float:
        """Return the least memory of the last tenth less the least of the tenth after the first half. [B]"""
        found = [held for at, held in self.memory if at >= self.length / 2]
        part = max(len(found) // 5, 1)
        return float(min(found[-part:]) - min(found[:part]))

    def lines(self) -> Iterator[str]:
        """Write it all."""
        for title, seconds in (("all", self.seconds), (f"after {WARM:.0f} s", self.warmed)):
            asked = [one for kind, found in seconds.items() if kind in MIX for one in found]
            yield row(title, asked, self.length)
        for kind in self.seconds:
            yield row(kind, self.seconds[kind], self.length)
        marks = [1 / 3, 1 / 2, 2 / 3, 5 / 6, 1.0]
        held = [self.held(share) for share in marks]
        ends = [share * self.length / 60 for share in marks]
        shown = [f"{end:.0f} min {value / 1e6:.0f} MB" for end, value in zip(ends, held, strict=True)]
        most, growth = max(held for _, held in self.memory) / 1e6, held[-1] / held[0] - 1
        yield f"memory: {', '.join(shown)}; at most {most:.0f} MB; {growth:+.1%} since a third"
        yield from self.process_lines()
        yield f"processors used by the servers: {self.processor / self.length:.2f}"
        yield f"errors: {len(self.errors)}"
        yield from self.errors[:20]

    def process_lines(self) -> Iterator[str]:
        """Write what each process held in the course of the run, but for those of a moment."""
        for process in dict.fromkeys(process for _, held in self.processes for process in held):
            seen = [(at, held[process]) for at, held in self.processes if process in held]
            if len(seen) > len(self.processes) / 30:
                marks = [seen[round(share * (len(seen) - 1))] for share in (0.0, 1 / 3, 1 / 2, 2 / 3, 1.0)]
                shown = ", ".join(f"{at / 60:.0f} min {held / 1e6:.0f} MB" for at, held in marks)
                yield f"  process {process}: {shown}"


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


def study(place: int) -> dict[str, Any]:
    """Return the study of one session."""
    options = [{"system": {"id": system, "count": 1 + place % 4}} for system in SYSTEMS[:5]]
    workload = {"samples": 1e8, "global_batch": 2048}
    base = {"model": {"preset": MODELS[place % len(MODELS)]}, "workload": workload}
    return {"name": f"session {place}", "base": base, "options": options}


@dataclass
class Session:
    """One person: where they ask, how they are known, and their study."""

    client: httpx.AsyncClient
    chance: random.Random
    base: str
    headers: dict[str, str]
    address: str
    options: list[str]
    places: Mapping[str, Any]

    def question(self, kind: str) -> tuple[str, str, Any]:
        """Return method, address and body of one question."""
        chance = self.chance
        match kind:
            case "new estimate":
                return "POST", "/api/v1/estimates", new_estimate(chance)
            case "same estimate":
                return "POST", "/api/v1/estimates", chance.choice((GPT3, RESNET))
            case "search":
                return "POST", "/api/v1/searches", search(chance)
            case "comparison":
                return "POST", "/api/v1/comparisons", chance.choice((HEAD_TO_HEAD, MODELLED))
            case "study page":
                return "GET", f"{self.address}?{self.knob()}", None
            case "comparison page":
                # As the page itself writes it: without zeros at the end, which it would send elsewhere.
                return "GET", f"{self.places[kind]}{chance.uniform(0.7, 0.99):.3g}", None
        return "GET", self.places[kind], None

    def knob(self) -> str:
        """Turn one knob of the study."""
        chance = self.chance
        knobs = (
            f"count.{chance.choice(self.options)}={chance.choice([1, 2, 3, 4, 6, 8])}",
            f"batch={chance.choice([1024, 2048, 4096])}",
            f"scaling_efficiency={chance.uniform(0.7, 1.0):.2g}",
            f"utilisation={chance.uniform(0.4, 0.9):.3g}",
        )
        return chance.choice(knobs)

    async def work(self, begun: float, pause: float, report: Report) -> None:
        """Ask and think until the time is up."""
        kinds, weights = list(MIX), list(MIX.values())
        await asyncio.sleep(self.chance.uniform(0.0, pause))
        while time.monotonic() < begun + report.length:
            kind = self.chance.choices(kinds, weights)[0]
            method, path, body = self.question(kind)
            accept = "text/html" if kind.endswith("page") else "application/json"
            headers, asked = {**self.headers, "accept": accept}, time.monotonic()
            try:
                answer = await self.client.request(
                    method, self.base + path, json=body, headers=headers, follow_redirects=True
                )
            except httpx.HTTPError as error:
                report.errors.append(f"{method} {path}: {type(error).__name__} {error}")
                continue
            taken = time.monotonic() - asked
            report.seconds[kind].append(taken)
            if asked >= begun + WARM:
                report.warmed[kind].append(taken)
            if answer.status_code not in {200, 201}:
                said = re.sub(r"<style.*?</style>|<[^>]+>|\s+", " ", answer.text, flags=re.DOTALL)
                report.errors.append(f"{method} {path}: {answer.status_code} {' '.join(said.split())[:400]}")
            if pause:
                await asyncio.sleep(self.chance.expovariate(1.0 / pause))


async def prepared(client: httpx.AsyncClient) -> dict[str, Any]:
    """Make what the pages show, and return where it is."""

    async def made(path: str, body: object) -> str:
        answer = await client.post(f"/api/v1/{path}", json=body)
        answer.raise_for_status()
        return str(answer.json()["id"])

    claimed = await made("comparisons", HEAD_TO_HEAD)
    drawn = await made("proposals", {**PROPOSAL, "comparison_id": claimed})
    kept = await made("proposals", {**PROPOSAL, "comparison_id": claimed})
    (await client.post(f"/api/v1/proposals/{kept}/freeze")).raise_for_status()
    return {
        "estimate page": f"/estimates/{await made('estimates', GPT3)}",
        "comparison page": f"/comparisons/{await made('comparisons', MODELLED)}?scaling_efficiency=",
        "catalogue page": "/catalog/chips",
        "list": "/api/v1/estimates?search=bert&limit=20",
        "list page": "/studies?search=session",
        "proposal drawn": f"/api/v1/proposals/{drawn}.pdf",
        "proposal kept": f"/api/v1/proposals/{kept}.pdf",
    }


async def seated(bases: Sequence[str], client: httpx.AsyncClient, count: int, keys: bool) -> list[Session]:
    """Return sessions with a study each, and where keys are wanted a key each, spread over the servers."""
    async with httpx.AsyncClient(base_url=bases[0], timeout=300, trust_env=False) as maker:
        places, found = await prepared(maker), []
        for place in range(count):
            made = (await maker.post("/api/v1/studies", json=study(place))).raise_for_status().json()
            headers = {}
            if keys:
                asked = {"name": f"session {place}", "scopes": SCOPES}
                key = (await maker.post("/api/v1/keys", json=asked)).raise_for_status().json()["secret"]
                headers["authorization"] = f"Bearer {key}"
            options = [option["key"] for option in made["content"]["options"]]
            address, base = f"/studies/{made['id']}", bases[place % len(bases)]
            found.append(Session(client, random.Random(place), base, headers, address, options, places))
    return found


def command(environment: Mapping[str, str], *arguments: str) -> str:
    """Run a command on the data of the servers, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


def other_workspace(environment: Mapping[str, str]) -> dict[str, str]:
    """Turn accounts on; return how somebody of another workspace is known."""
    command(environment, "user", "add", "owner@example.com", "--workspace", "ws_local")
    made = re.search(r"ws_\w+", command(environment, "workspace", "add", "Another"))
    assert made is not None
    scopes = [word for scope in SCOPES for word in ("--scope", scope)]
    key = command(environment, "key", "create", "large", *scopes, "--workspace", made[0]).strip()
    return {"authorization": f"Bearer {key}"}


def held_by(pid: int) -> dict[int, int]:
    """Return the memory of a process and of each below it. [B]"""
    held = {}
    for each in descendants(pid):
        with contextlib.suppress(OSError):
            pages = int(Path(f"/proc/{each}/statm").read_text().split()[1])
            held[each] = pages * os.sysconf("SC_PAGE_SIZE")
    return held


def used_by(pid: int) -> float:
    """Return the processor time of a process and those below it, ended ones too. [s]"""
    ticks = 0
    for each in descendants(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(value) for value in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


async def watch(servers: Sequence[subprocess.Popen[str]], begun: float, report: Report) -> None:
    """Look at the memory of the servers until the time is up."""
    before = sum(used_by(server.pid) for server in servers)
    while (at := time.monotonic() - begun) <= report.length:
        held = {pid: size for server in servers for pid, size in held_by(server.pid).items()}
        report.processes.append((at, held))
        if len(report.processes) % 30 == 0:
            counted = sum(map(len, report.seconds.values()))
            print(
                f"{at:.0f} s: {sum(held.values()) / 1e6:.0f} MB, {counted} asked, "
                f"{len(report.errors)} errors, load of the machine {os.getloadavg()[0]:.1f}",
                *report.errors[-3:], sep="\n", file=sys.stderr,
            )  # fmt: skip
        if any(server.poll() is not None for server in servers):
            report.errors.append("a server has ended")
            return
        await asyncio.sleep(SAMPLED)
    report.processor = sum(used_by(server.pid) for server in servers) - before


@contextlib.contextmanager
def busy(base: str, headers: Mapping[str, str], report: Report) -> Iterator[None]:
    """Let a process of its own ask the largest questions meanwhile."""
    context = multiprocessing.get_context("spawn")
    stop, told = context.Event(), context.SimpleQueue()
    process = context.Process(target=expensive, args=(base, headers, stop, told))
    process.start()
    try:
        yield
    finally:
        stop.set()
        while process.is_alive() and told.empty():
            time.sleep(0.1)
        if told.empty():
            report.errors.append("the process of large questions broke down")
        else:
            seconds, errors = told.get()
            report.seconds.update(seconds)
            report.errors += errors
        process.join()


def measured(
    length: float = 600,
    count: int = 100,
    pause: float = 10,
    *,
    workers: int = 2,
    servers: int = 1,
    accounts: bool = False,
    beside: bool = False,
    postgres: bool = False,
) -> Report:
    """Start servers, let sessions at them, and look at their memory meanwhile."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = {"RACKLINE_SECRET": secrets.token_hex(20), "RACKLINE_UPLOADS": str(folder / "uploads")}
        if postgres:
            settings["RACKLINE_DATABASE_URL"] = stack.enter_context(own_cluster(DURABLE)).make()
            settings["RACKLINE_SHARED_LIMITS"] = "true"
        homes = [folder / f"server-{place}" for place in range(servers)]
        started = [
            stack.enter_context(serving(home, "--workers", str(workers), **settings)) for home in homes
        ]
        if pause:
            # Who asks gives way to who answers, as on machines of their own.
            os.nice(3)
        bases = [str(client.base_url).rstrip("/") for _, client in started]
        processes, report = [process for process, _ in started], Report(length)
        environment = {**settings, "RACKLINE_DATA_DIR": str(homes[0])}

        async def sessions() -> None:
            limits = httpx.Limits(max_connections=count + 10)
            async with httpx.AsyncClient(limits=limits, timeout=120, trust_env=False) as client:
                found = await seated(bases, client, count, accounts or beside)
                with contextlib.ExitStack() as around:
                    if accounts or beside:
                        other = other_workspace(environment)
                        if beside:
                            around.enter_context(busy(bases[0], other, report))
                    begun = time.monotonic()
                    working = (one.work(begun, pause, report) for one in found)
                    await asyncio.gather(watch(processes, begun, report), *working)

        run(sessions())
    return report


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--pause", type=float, default=10, help="mean time to think [s]")
    parser.add_argument("--workers", type=int, default=2, help="processes of each server")
    parser.add_argument("--servers", type=int, default=1)
    for name in ("accounts", "beside", "postgres"):
        parser.add_argument(f"--{name}", action="store_true")
    given = parser.parse_args()
    report = measured(
        given.seconds, given.sessions, given.pause, workers=given.workers, servers=given.servers,
        accounts=given.accounts, beside=given.beside, postgres=given.postgres,
    )  # fmt: skip
    print(*report.lines(), sep="\n")


if __name__ == "__main__":
    main()
