"""The largest questions that one workspace can ask, again and again: what others wait meanwhile.

``python -m tests.endurance.load --beside`` asks them beside its sessions.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from app.platform.web.examples import GPT3
from tests.support.sweeping import wide

POINTS = 10_000

UPLOAD_BYTES = 25_000_000

LARGEST = {
    "model": GPT3["model"],
    "workload": {"tokens": 300e9, "seq_len": 2048},
    "most_accelerators": 16_384,
    "deadline_s": 90 * 86_400,
}
"""Every system at every count, with the global batch left to the search."""

Seconds = dict[str, list[float]]


def sample() -> bytes:
    """Return 25 MB of texts as JSON lines."""
    line = b'{"text": "%s"}\n' % (b"several words of a text " * 20)
    return line * (UPLOAD_BYTES // len(line))


def expensive(base: str, headers: Mapping[str, str], stop: Any, told: Any) -> None:
    """Ask for sizings of the whole catalogue, sweeps and uploads until told to stop; tell what was met.

    Who has used up what a workspace is allowed waits as long as the answer says.
    """
    seconds: Seconds = defaultdict(list)
    errors: list[str] = []

    def again(name: str, ask: Callable[[httpx.Client, int], httpx.Response]) -> None:
        with httpx.Client(base_url=base, headers=headers, timeout=600, trust_env=False) as client:
            for turn in itertools.count():
                if stop.is_set():
                    return
                begun = time.perf_counter()
                try:
                    answer = ask(client, turn)
                except httpx.HTTPError as error:
                    errors.append(f"{name}: {type(error).__name__} {error}")
                    continue
                if answer.status_code == 429:
                    seconds[f"{name}, 429"].append(time.perf_counter() - begun)
                    stop.wait(float(answer.headers["retry-after"]))
                    continue
                seconds[name].append(time.perf_counter() - begun)
                if answer.status_code not in {200, 201, 202}:
                    errors.append(f"{name}: {answer.status_code} {answer.text[:200]}")

    content = sample()
    request = wide(POINTS).request.model_dump(mode="json", exclude_unset=True)

    def size(client: httpx.Client, turn: int) -> httpx.Response:
        return client.post("/api/v1/sizings", json={**LARGEST, "deadline_s": (90 + turn) * 86_400})

    def upload(client: httpx.Client, turn: int) -> httpx.Response:
        return client.post("/api/v1/workloads", files={"file": (f"{turn}.jsonl", content)})

    def sweep(client: httpx.Client, turn: int) -> httpx.Response:
        answer = client.post("/api/v1/sweeps", json={**request, "title": f"sweep {turn}"})
        while answer.is_success:
            address = f"/api/v1/sweeps/{answer.json()['id']}"
            if stop.wait(2.0):
                return client.post(f"{address}/cancel")
            answer = client.get(address, params={"limit": 1})
            if answer.is_success and answer.json()["status"] in {"done", "failed"}:
                break
        return answer

    asked = (("largest sizing", size), ("25 MB upload", upload), ("whole sweep", sweep))
    threads = [threading.Thread(target=again, args=pair) for pair in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told.put((dict(seconds), errors))
