"""Clients that send the largest bodies a server takes: what others wait meanwhile, what memory is kept.

``python -m tests.endurance.bodies --seconds 20`` measures a server of its own. Small requests are timed with
nobody beside them first, so that a busy machine is seen; memory is compared with what it was after one
round of the large bodies, since what is loaded on first use is not kept by a body.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from app.platform.web.examples import CHECK
from app.platform.web.requirements import LARGE_BODY, SMALL_BODY, BodyLimit
from tests.endurance.load import held_by
from tests.support.serving import serving

CLIENTS = 12

PAUSE = 0.1
"""Between two small requests. [s]"""

REST = 5.0
"""Between the end of the load and the last look at the memory. [s]"""

SMALL: Sequence[tuple[str, str, Any]] = (
    ("GET", "/api/v1/estimates?limit=1", None),
    ("POST", "/api/v1/checks", CHECK),
    ("GET", "/api/v1/catalog/systems?limit=5", None),
)

Bodies = Sequence[tuple[str, bytes]]


def filled(before: str, item: str, after: str, limit: BodyLimit) -> bytes:
    """Return a list in a body that is as large as a limit allows."""
    free = limit.values - sum((before + after).count(mark) for mark in ",[{")
    values = 1 + sum(item.count(mark) for mark in ",[{")
    count = min(free // values, (limit.size - len(before) - len(after)) // (len(item) + 1))
    return f"{before}{','.join([item] * count)}{after}".encode()


def layers(limit: BodyLimit) -> bytes:
    """Return an estimate of the longest layer table."""
    row = {"kind": "gemm", "count": 1, "rows": 512, "inner": 1024, "columns": 1024, "bias": True}
    rows = [{"name": f"encoder.layer.{place}.{'block.' * 8}projection", **row} for place in range(10_000)]
    system, workload = {"id": "dgx-a100-640gb"}, {"samples": 1e6, "global_batch": 512}
    return json.dumps({"model": {"layers": rows}, "system": system, "workload": workload}).encode()[
        : limit.size
    ]


def bodies(small: BodyLimit, large: BodyLimit) -> Bodies:
    """Return the largest bodies of an address that takes few fields, and of those that take models."""
    names = "".join(f',"u{place}":1' for place in range(148))
    return (
        ("/api/v1/checks", filled('{"devices":[', '{"a":{"b":[1,"x"]}}', "]}", small)),
        ("/api/v1/estimates", filled('{"model":{"config":{"a":[', '{"a":[1,"x"]}', "]}}}", large)),
        ("/api/v1/comparisons", filled('{"rows":[', '{"a":{"b":[[[1]]]}}', "]}", large)),
        ("/api/v1/sweeps", filled('{"models":[', f'{{"z":1{names}}}', "]}", large)),
        ("/api/v1/estimates", layers(large)),
        ("/api/v1/profiles", filled('{"config":{"a":{"b":[', "[[]]", "]}}}", large)),
    )


@dataclass
class Figures:
    """What was seen at one server."""

    alone: list[float] = field(default_factory=list)
    """Small requests with nobody beside them. [s]"""
    beside: list[float] = field(default_factory=list)
    """Small requests beside the large bodies. [s]"""
    held: dict[str, int] = field(default_factory=dict)
    """Memory of the server and its children: after one round, at most, and in the end. [B]"""
    answers: Counter[str] = field(default_factory=Counter)
    """What the large bodies were answered."""

    @property
    def kept(self) -> float:
        """Memory that is kept afterwards, as a share of what was held before."""
        return self.held["end"] / self.held["start"] - 1

    def lines(self) -> Iterator[str]:
        for name, seconds in (("alone", self.alone), ("beside", self.beside)):
            marks = "  ".join(
                f"p{mark} {1e3 * np.percentile(seconds, mark):7.1f} ms" for mark in (50, 95, 99)
            )
            yield f"{name:7} {len(seconds):5}  {marks}  max {max(seconds):.2f} s"
        ratio = np.percentile(self.beside, 95) / np.percentile(self.alone, 95)
        yield f"p95 beside to p95 alone: {ratio:.1f}"
        yield "memory: " + ", ".join(f"{name} {held / 1e6:.0f} MB" for name, held in self.held.items())
        yield f"kept: {self.kept:+.1%}"
        yield f"answers: {dict(self.answers)}"


def insisting(base: str, keys: Sequence[Mapping[str, str]], sent: Bodies, stop: Any, told: Any) -> None:
    """Send large bodies by a client for each key until told to stop; who is told to wait waits."""
    answers: Counter[str] = Counter()

    def insist(place: int) -> None:
        with httpx.Client(base_url=base, headers=keys[place], timeout=120, trust_env=False) as client:
            while not stop.is_set():
                path, body = sent[place % len(sent)]
                place += 1
                try:
                    answer = client.post(path, content=body, headers={"content-type": "application/json"})
                except httpx.HTTPError as error:
                    answers[type(error).__name__] += 1
                    continue
                answers[f"{path} {answer.status_code}"] += 1
                stop.wait(float(answer.headers.get("retry-after", 0)))

    threads = [threading.Thread(target=insist, args=(place,)) for place in range(len(keys))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told.put(answers)


def asked(client: httpx.Client, seconds: float) -> list[float]:
    """Ask small things one after the other for so long."""
    taken, ends, place = list[float](), time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        method, path, body = SMALL[place % len(SMALL)]
        place += 1
        begun = time.perf_counter()
        answer = client.request(method, path, json=body)
        taken.append(time.perf_counter() - begun)
        assert answer.status_code == 200, answer.text
        time.sleep(PAUSE)
    return taken


def measured(seconds: float, sent: Bodies) -> Figures:
    """Start a server, time small requests alone and beside large bodies, and look at its memory."""
    figures, context = Figures(), multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (process, client):

        def held() -> int:
            return sum(held_by(process.pid).values())

        def key(name: str) -> dict[str, str]:
            made = client.post("/api/v1/keys", json={"name": name, "scopes": ["read", "estimate", "propose"]})
            return {"authorization": f"Bearer {made.raise_for_status().json()['secret']}"}

        keys = [key(f"client {place}") for place in range(CLIENTS)]
        client.headers.update(key("small"))
        client.timeout = httpx.Timeout(120)
        for path, body in sent:
            answer = client.post(path, content=body, headers={**keys[0], "content-type": "application/json"})
            figures.answers[f"first {path} {answer.status_code} {len(body)} B"] += 1
        asked(client, 1.0)
        figures.alone = asked(client, seconds / 2)
        figures.held = {"start": held(), "most": held()}
        stop, told = context.Event(), context.SimpleQueue()
        crowd = context.Process(target=insisting, args=(str(client.base_url), keys, sent, stop, told))
        watching = threading.Event()

        def watch() -> None:
            while not watching.wait(0.1):
                figures.held["most"] = max(figures.held["most"], held())

        watcher = threading.Thread(target=watch)
        crowd.start()
        watcher.start()
        try:
            # Clients take a moment to be there.
            time.sleep(2.0)
            figures.beside = asked(client, seconds)
        finally:
            stop.set()
            while crowd.is_alive() and told.empty():
                time.sleep(0.1)
            if not told.empty():
                figures.answers += told.get()
            crowd.join()
            watching.set()
            watcher.join()
        time.sleep(REST)
        figures.held["end"] = held()
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--size", type=int, help="bytes of every body, without a limit of values [B]")
    given = parser.parse_args()
    same = BodyLimit(given.size or 0, 10**9)
    sent = bodies(same, same) if given.size else bodies(SMALL_BODY, LARGE_BODY)
    print(*measured(given.seconds, sent).lines(), sep="\n")


if __name__ == "__main__":
    main()
