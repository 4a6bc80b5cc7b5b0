"""How long another person's page takes while the largest questions are computed.

``python -m tests.endurance.beside [SECONDS] [PROCESSES]`` starts a server, asks it pages, and then the same
pages while sizings of the whole catalogue, a sweep of 10,000 points and uploads of 25 MB run without a pause.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from app.platform.web.examples import GPT3, RESNET, STUDY
from tests.endurance.load import row
from tests.serving import serving, spoken
from tests.sizing.sweeping import wide

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


@contextmanager
def expensive(base: str, seconds: Seconds, errors: list[str]) -> Iterator[None]:
    """Keep the server busy with the largest questions."""
    stop = threading.Event()

    def again(name: str, ask: Callable[[httpx.Client, int], httpx.Response]) -> None:
        with httpx.Client(base_url=base, timeout=300, trust_env=False) as client:
            for turn in itertools.count():
                if stop.is_set():
                    return
                begun = time.perf_counter()
                answer = ask(client, turn)
                seconds[name].append(time.perf_counter() - begun)
                if answer.status_code not in {200, 201, 202}:
                    errors.append(f"{name}: {answer.status_code} {answer.text[:200]}")

    content = sample()

    def size(client: httpx.Client, turn: int) -> httpx.Response:
        return client.post("/api/v1/sizings", json={**LARGEST, "deadline_s": (90 + turn) * 86_400})

    def upload(client: httpx.Client, turn: int) -> httpx.Response:
        return client.post("/api/v1/workloads", files={"file": (f"{turn}.jsonl", content)})

    threads = [
        threading.Thread(target=again, args=pair)
        for pair in (("largest sizing", size), ("25 MB upload", upload))
    ]
    with httpx.Client(base_url=base, timeout=60, trust_env=False) as client:
        request = wide(POINTS).request.model_dump(mode="json", exclude_unset=True)
        sweep = client.post("/api/v1/sweeps", json=request).raise_for_status().json()
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            state = client.get(f"/api/v1/sweeps/{sweep['id']}", params={"limit": 1}).json()
            print(f"sweep: {state['status']}, {state['done']} of {state['total']} points")
            begun = time.perf_counter()
            client.post(f"/api/v1/sweeps/{sweep['id']}/cancel")
            for thread in threads:
                thread.join()
            print(f"ended {time.perf_counter() - begun:.1f} s after it was told to")


def read(base: str, until: float, seconds: Seconds, errors: list[str]) -> None:
    """Ask pages and small estimates as one person does, a fifth of a second apart."""
    with httpx.Client(base_url=base, timeout=60, trust_env=False) as client:
        study = client.post("/api/v1/studies", json=STUDY).raise_for_status().json()["id"]
        for turn in itertools.count(int(time.time() * 1000) % 100_000):
            if time.monotonic() >= until:
                return
            moved = f"/studies/{study}?utilisation=0.{turn % 900_000 + 100_001}"
            small = {**RESNET, "assumptions": {"electricity_per_kwh": 0.05 + turn * 1e-7}}
            asked = (
                ("page", "GET", "/catalog/chips", None),
                ("page of a study", "GET", moved, None),
                ("small estimate", "POST", "/api/v1/estimates", small),
            )
            for name, method, path, body in asked:
                begun = time.perf_counter()
                headers = {"accept": "text/html" if method == "GET" else "application/json"}
                answer = client.request(method, path, json=body, headers=headers, follow_redirects=True)
                seconds[name].append(time.perf_counter() - begun)
                if answer.status_code not in {200, 201}:
                    errors.append(f"{name}: {answer.status_code} {answer.text[:200]}")
                time.sleep(0.1)


def measured(length: float = 60, processes: int = 1) -> tuple[Seconds, Seconds, list[str]]:
    """Return how long each kind of question takes alone and beside the largest ones."""
    alone, beside, errors = defaultdict(list), defaultdict(list), list[str]()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), "--workers", str(processes)) as (server, client),
    ):
        base = str(client.base_url)
        read(base, time.monotonic() + 5, defaultdict(list), errors)
        read(base, time.monotonic() + length / 3, alone, errors)
        with expensive(base, beside, errors):
            time.sleep(5)
            read(base, time.monotonic() + length, beside, errors)
        print(*spoken(server)[-20:])
    return alone, beside, errors


if __name__ == "__main__":
    words = [int(word) for word in sys.argv[1:]]
    length = float(words[0]) if words else 60.0
    found = measured(*words)
    for title, seconds in zip(("alone", "beside the largest questions"), found[:2], strict=True):
        print(title)
        for kind, values in seconds.items():
            print(row(kind, values, length))
    print(f"errors: {len(found[2])}", *found[2][:5], sep="\n")
