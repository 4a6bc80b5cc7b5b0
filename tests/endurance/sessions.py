"""Consulting sessions at once: readers who turn a knob, look, and turn the next one.

``python -m tests.endurance.sessions [SESSIONS] [SECONDS] [PAUSE] [PROCESSES]`` starts a server and prints
rates and waiting times of the whole page; the pause between two knobs of one reader is drawn from an
exponential law.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from tests.loops import run
from tests.serving import serving

SYSTEMS = (
    *(("dgx-a100-640gb", 2), ("dgx-a100-640gb", 4), ("aws-p4d", 2)),
    *(("bow-pod16", 1), ("ipu-pod64", 1)),
)
USUAL = (50.0, 60.0, 5.0, 2.0)
"""Readers, seconds, seconds between two knobs of one reader, processes of the server."""

WARM = 10.0
"""By then every process has met every model: what is asked first is computed from nothing. [s]"""

MODELS = ("bert-large", "resnet50", "gpt2-1.5b", "vit-large", "t5-3b")


@dataclass
class Heard:
    """What the readers met."""

    at: list[float] = field(default_factory=list)
    """When a page was asked for, since the readers began. [s]"""
    seconds: list[float] = field(default_factory=list)
    """From asking for a page to its last byte. [s]"""
    answers: Counter[int] = field(default_factory=Counter)
    """Answers by status."""

    def told(self, length: float) -> str:
        """Write rates and percentiles, of all and without the first seconds."""
        later = [seconds for at, seconds in zip(self.at, self.seconds, strict=True) if at >= WARM]
        return "\n".join(
            [
                f"all: {marks(self.seconds)}, {len(self.seconds) / length:.1f} pages a second",
                f"after {WARM:.0f} s: {marks(later)}",
                f"answers by status: {dict(self.answers)}",
            ]
        )


def marks(seconds: Sequence[float]) -> str:
    """Write percentiles."""
    found = (f"p{mark} {1e3 * np.percentile(seconds, mark):.0f} ms" for mark in (50, 95, 99))
    return f"{len(seconds)} pages, {', '.join(found)}"


def question(place: int) -> dict[str, Any]:
    """Return the study of one reader."""
    model = MODELS[place % len(MODELS)]
    options = [{"system": {"id": system, "count": count}} for system, count in SYSTEMS]
    workload = {"samples": 1e8, "global_batch": 2048}
    return {
        "name": f"session {place}",
        "base": {"model": {"preset": model}, "workload": workload},
        "options": options,
    }


async def reader(
    client: httpx.AsyncClient, address: str, keys: list[str], until: float, pause: float, heard: Heard
) -> None:
    """Turn knobs until the time is up."""
    chance, begun = random.Random(address), time.perf_counter()
    await asyncio.sleep(chance.uniform(0.0, pause))
    while time.monotonic() < until:
        key = chance.choice(keys)
        knob = chance.choice(
            [
                {f"count.{key}": chance.choice([1, 2, 3, 4, 6, 8])},
                {"batch": chance.choice([1024, 2048, 4096])},
                {"scaling_efficiency": round(chance.uniform(0.7, 1.0), 2)},
                {"utilisation": round(chance.uniform(0.4, 0.9), 2)},
            ]
        )
        start = time.perf_counter()
        answer = await client.get(address, params=knob, follow_redirects=True)
        heard.at.append(start - begun)
        heard.seconds.append(time.perf_counter() - start)
        heard.answers[answer.status_code] += 1
        await asyncio.sleep(chance.expovariate(1.0 / pause))


async def sessions(base: str, count: int, length: float, pause: float) -> Heard:
    """Let so many readers work at once for so long."""
    heard = Heard()
    limits = httpx.Limits(max_connections=count + 10)
    headers = {"accept": "text/html"}
    async with httpx.AsyncClient(
        base_url=base, limits=limits, timeout=60, headers=headers, trust_env=False
    ) as client:
        studies = []
        for place in range(count):
            made = await client.post("/api/v1/studies", json=question(place))
            assert made.status_code == 201, made.text
            studies.append(
                (f"/studies/{made.json()['id']}", [one["key"] for one in made.json()["content"]["options"]])
            )
        for address, _ in studies[: len(MODELS)]:
            (await client.get(address)).raise_for_status()
        until = time.monotonic() + length
        await asyncio.gather(*(reader(client, *study, until, pause, heard) for study in studies))
    return heard


def measured(count: int = 50, length: float = 60.0, pause: float = 5.0, processes: int = 2) -> Heard:
    """Start a server and let the readers at it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), "--workers", str(processes)) as (_, client),
    ):
        return run(sessions(str(client.base_url), count, length, pause))


if __name__ == "__main__":
    numbers = [float(text) for text in sys.argv[1:]]
    count, length, pause, processes = [*numbers, *USUAL[len(numbers) :]]
    print(measured(int(count), length, pause, int(processes)).told(length))
