"""Servers and workers that are killed at any moment while clients write, and what must hold afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx
import sqlalchemy as sa

from app.platform.store.database import Store, make_engine
from app.platform.web.examples import BOOK, STUDY
from tests.conftest import ROOT
from tests.support.sweeping import BERT

MACHINE = {"id": "dgx-a100-640gb"}

ESTIMATE = {**BERT, "system": MACHINE}

COMPARISON = {
    "rows": [{"label": "article", "hours": 24.0, "kind": "published"}, {**ESTIMATE, "label": "ours"}]
}

POINTS = 24

SWEEP = {
    "models": [BERT],
    "systems": [{**MACHINE, "counts": list(range(1, POINTS + 1))}],
    "scenarios": [{"label": "usual"}],
}

KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "estimate": ("estimates", ESTIMATE, "label"),
    "comparison": ("comparisons", COMPARISON, "title"),
    "study": ("studies", STUDY, "name"),
    "price_book": ("price-books", BOOK, "name"),
    "sweep": ("sweeps", SWEEP, "title"),
}
"""Table, address, body, and the field that a name goes into."""

WEIGHTS = (6, 3, 3, 3, 2)

AWAITED = 0.7
"""Share of the kills that wait until the server answers; the others may hit it while it starts."""

PROGRESS = 3
"""After so many kills the next one waits until something was written: on a busy machine they would otherwise
come before anything was answered."""

PATIENCE = 300.0
"""How long an answer is waited for before it is taken for lost. [s]"""

AGAIN = (0, 502, 503)
"""Answers after which the same is asked again under the same key; 0 stands for none."""


@dataclass
class Receipts:
    """What was answered with success."""

    kind: str
    name: str
    id: str
    version: int = 1


@dataclass
class Arena:
    """One installation: its database, its processes, who writes and who kills."""

    folder: Path
    database_url: str
    roles: dict[str, dict[str, Any]]
    """Settings of each process by its name; the first one serves."""
    chance: random.Random
    port: int = 0
    processes: dict[str, int] = field(default_factory=dict)
    """Descriptor of each process: its number might meanwhile be another's."""
    kept: list[Receipts] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    killed: Counter[str] = field(default_factory=Counter)
    gave_up: int = 0
    changing: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)
    _orders: IO[str] | None = None
    _answers: IO[str] | None = None

    @contextlib.contextmanager
    def living(self) -> Iterator[None]:
        """Start every process; at the end all of them are killed."""
        self.port = free_port()
        command = [sys.executable, "-m", "tests.endurance.nursery"]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        with (
            (self.folder / "log").open("w", encoding="utf-8") as log,
            subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            ) as nursery,
        ):
            assert nursery.stdin is not None and nursery.stdout is not None
            self._orders, self._answers = nursery.stdin, nursery.stdout
            assert self._answers.readline() == "ready\n"
            try:
                for name in self.roles:
                    self.start(name)
                yield
            finally:
                for process in self.processes.values():
                    with contextlib.suppress(ProcessLookupError):
                        signal.pidfd_send_signal(process, signal.SIGKILL)
                nursery.stdin.close()

    def start(self, name: str) -> None:
        """Start a process."""
        assert self._orders is not None and self._answers is not None
        role = "serve" if name.startswith("serve") else "work"
        home = self.folder / self.roles[name].get("home", "data")
        settings = {
            "data_dir": str(home), "database_url": self.database_url, "log": "json",
            **{key: value for key, value in self.roles[name].items() if key != "home"},
        }  # fmt: skip
        self._orders.write(json.dumps({"role": role, "port": self.port, "settings": settings}) + "\n")
        self._orders.flush()
        self.processes[name] = os.pidfd_open(int(self._answers.readline()))

    def kill_one(self) -> None:
        """Kill a process at random and start it again, perhaps after a while."""
        name = self.chance.choice(list(self.processes))
        with self.changing:
            try:
                signal.pidfd_send_signal(self.processes[name], signal.SIGKILL)
                self.killed[name] += 1
            except ProcessLookupError:
                self.gave_up += 1
            # What is killed holds its port until the system has taken it apart.
            select.select([self.processes[name]], [], [])
            os.close(self.processes[name])
            time.sleep(self.chance.choice((0.0, 0.0, self.chance.uniform(0, 0.5))))
            self.start(name)

    def supervise(self) -> None:
        """Start again what gave up by itself, as when the database was not there: as systemd does."""
        while not self.stop.wait(0.3):
            with self.changing:
                for name, process in self.processes.items():
                    if select.select([process], [], [], 0)[0]:
                        self.gave_up += 1
                        os.close(process)
                        self.start(name)

    def client(self) -> httpx.Client:
        """Return a client of the server."""
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30, trust_env=False)

    def ask(self, client: httpx.Client, method: str, path: str, **values: Any) -> httpx.Response:
        """Ask until there is an answer."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                found = client.request(method, f"/api/v1/{path}", **values)
            except httpx.TransportError:
                found = None
            if found is not None and found.status_code not in AGAIN:
                return found
            time.sleep(0.05)
        raise AssertionError(f"nobody answers {method} {path}")

    def await_answer(self) -> None:
        """Wait until the server answers, where it has just been started."""
        with self.client() as client:
            self.ask(client, "GET", "jobs/nosuch")

    def await_progress(self) -> None:
        """Wait until one thing more is acknowledged, or something is wrong."""
        before, deadline = len(self.kept), time.monotonic() + PATIENCE
        while len(self.kept) == before and not self.wrong:
            assert time.monotonic() < deadline, "nothing is acknowledged any more"
            time.sleep(0.05)

    def write(self, seed: int) -> None:
        """Write one thing after the other and note what was acknowledged."""
        chance, count = random.Random(seed), 0
        try:
            with self.client() as client:
                while not self.stop.is_set():
                    count += 1
                    self._write_one(client, chance, f"{seed}-{count}")
        except Exception as error:
            self.wrong.append(repr(error))

    def _write_one(self, client: httpx.Client, chance: random.Random, name: str) -> None:
        (kind,) = chance.choices(list(KINDS), WEIGHTS)
        address, body, field_name = KINDS[kind]
        made = self.ask(
            client, "POST", address, json={**body, field_name: name}, headers={"idempotency-key": name}
        )
        if made.status_code != 201:
            self.wrong.append(f"{kind} {name}: {made.status_code} {made.text[:200]}")
            return
        kept = Receipts(kind, name, made.json()["id"])
        self.kept.append(kept)
        if kind == "price_book":
            changed = self.ask(
                client, "PATCH", f"{address}/{kept.id}", json={"comment": "new", "name": f"{name}!"},
                headers={"if-match": '"1"'},
            )  # fmt: skip
            # Where the answer was lost with the server, the second attempt meets what the first has done.
            if changed.status_code in {200, 409, 412}:
                kept.version = 2
            else:
                self.wrong.append(f"change of {name}: {changed.status_code} {changed.text[:200]}")

    def check_some(self, most: int) -> None:
        """Read some of what was acknowledged, and the newest, from the server that has come back."""
        known = list(self.kept)
        some = known[-3:] + self.chance.sample(known, min(most, len(known)))
        with self.client() as client:
            for one in some:
                found = self.ask(client, "GET", f"{KINDS[one.kind][0]}/{one.id}")
                if found.status_code != 200:
                    self.wrong.append(f"{one.kind} {one.id} is gone: {found.status_code}")

    def settle(self, seconds: float) -> None:
        """Wait until no job is left."""
        store, deadline = Store(self.database_url), time.monotonic() + seconds
        while left := store.watched_jobs():
            if time.monotonic() > deadline:
                raise AssertionError(f"jobs were lost: {left[:5]} of {len(left)}")
            time.sleep(0.5)
        store.close()

    def verify(self) -> dict[str, int]:
        """Hold the database against everything that was acknowledged; return how much there was."""
        engine = make_engine(self.database_url)
        with engine.connect() as connection:
            for kind, (_, _, field_name) in KINDS.items():
                # A comparison is kept as a study.
                table, column = ("study", "name") if kind == "comparison" else (kind, field_name)
                columns = f"id, {column}" + (", version" if kind == "price_book" else "")
                rows = connection.execute(sa.text(f"SELECT {columns} FROM {table}")).all()
                there = {row[0]: row for row in rows}
                for one in (one for one in self.kept if one.kind == kind):
                    row = there.get(one.id)
                    if row is None or str(row[1]).rstrip("!") != one.name:
                        self.wrong.append(f"{kind} {one.id} ({one.name}) is not there")
                    elif kind == "price_book" and row[2] < one.version:
                        self.wrong.append(f"change of {one.id} is not there")
                if kind != "estimate":
                    # Comparisons keep estimates of their own, all under the label of their row.
                    names = Counter(str(row[1]).rstrip("!") for row in rows)
                    self.wrong += [
                        f"{kind} {name} {count} times" for name, count in names.items() if count > 1
                    ]
            jobs = connection.execute(sa.text("SELECT id, status, total, done FROM job")).all()
            for job, status, total, done in jobs:
                query = sa.text("SELECT position FROM sweep_row WHERE sweep_id = :job ORDER BY position")
                positions = list(connection.execute(query, {"job": job}).scalars())
                if (status, done) != ("done", total) or positions != list(range(total)):
                    self.wrong.append(f"job {job}: {status}, {done} of {total}, {len(positions)} rows")
            refused = connection.execute(sa.text("SELECT count(*) FROM sweep_row WHERE refused")).scalar_one()
            if refused:
                self.wrong.append(f"{refused} points were refused")
            if engine.dialect.name == "sqlite":
                for pragma in ("integrity_check", "foreign_key_check"):
                    said = connection.exec_driver_sql(f"PRAGMA {pragma}").fetchall()
                    if said not in ([], [("ok",)]):
                        self.wrong.append(f"{pragma}: {said[:3]}")
            most = connection.execute(sa.text("SELECT max(fence) FROM job")).scalar_one()
        engine.dispose()
        return {
            "kills": self.killed.total(),
            "acknowledged": len(self.kept),
            "sweeps": len(jobs),
            "rows": sum(job[3] for job in jobs),
            "most claims of one sweep": most,
        }


def free_port() -> int:
    """Return a port that no outgoing connection is given: one that asks for a server that is not there
    could otherwise be connected to itself."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def endure(arena: Arena, kills: int, pause: float, disturb: Any = None) -> dict[str, int]:
    """Kill so often while clients write; then everything acknowledged must be there and every job done."""
    with arena.living():
        writers = [threading.Thread(target=arena.write, args=(seed,)) for seed in (1, 2)]
        writers.append(threading.Thread(target=arena.supervise))
        for writer in writers:
            writer.start()
        try:
            count = 0
            while arena.killed.total() < kills:
                if count % PROGRESS == 0:
                    arena.await_progress()
                if arena.chance.random() < AWAITED:
                    arena.await_answer()
                time.sleep(arena.chance.uniform(0.02, 2 * pause))
                arena.kill_one()
                count += 1
                if disturb is not None:
                    disturb(count)
                if count % 10 == 0:
                    arena.check_some(10)
                if arena.wrong:
                    break
        finally:
            arena.stop.set()
            for writer in writers:
                writer.join()
        arena.settle(600)
        arena.check_some(len(arena.kept))
    return arena.verify()
