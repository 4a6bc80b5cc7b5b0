"""Searches through the API: seconds are reported, and held against one estimate in the same run."""

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.main import create_app
from app.settings import Settings
from tests.conftest import run

pytestmark = pytest.mark.benchmark

ESTIMATES_OF_A_SEARCH = 60.0
"""Estimates that take as long as a search at most; each is a few thousand operations on short arrays."""

QUESTIONS: dict[str, tuple[str, int, int]] = {
    "GPT-3 175B on 64 GPUs": ("gpt3-175b", 8, 64),
    "GPT-3 175B on 512 GPUs": ("gpt3-175b", 64, 1536),
    "GPT-3 175B on 4096 GPUs": ("gpt3-175b", 512, 4096),
    "1T on 512 GPUs": ("megatron-1t", 64, 3072),
}


def question(preset: str, count: int, batch: int) -> dict[str, Any]:
    return {
        "model": {"preset": preset},
        "workload": {"global_batch": batch},
        "system": {"id": "dgx-a100-640gb", "count": count},
        "software": "megatron-2022",
    }


def test_the_whole_space_through_the_api(tmp_path: Path) -> None:
    application = create_app(Settings.at(tmp_path))

    async def timed() -> dict[str, tuple[float, dict[str, Any]]]:
        found = {}
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for name, asked in QUESTIONS.items():
                body = question(*asked)
                seconds = []
                for _ in range(4):
                    start = time.perf_counter()
                    answered = await client.post("/api/v1/searches", json=body)
                    seconds.append(time.perf_counter() - start)
                    assert answered.status_code == 200, answered.text
                found[name] = (min(seconds), answered.json())
            plan = found["GPT-3 175B on 512 GPUs"][1]["plans"][0]["plan"]
            given = {
                name: plan[name]
                for name in ("tensor", "pipeline", "data", "micro_batch", "interleave", "recompute")
            }
            body = question(*QUESTIONS["GPT-3 175B on 512 GPUs"])
            body["workload"]["samples"] = 1e6
            seconds = []
            for _ in range(4):
                start = time.perf_counter()
                answered = await client.post("/api/v1/estimates", json=body | {"plan": given})
                seconds.append(time.perf_counter() - start)
                assert answered.status_code == 201, answered.text
            found["one estimate"] = (min(seconds), {})
        return found

    found = run(timed())
    alone = found.pop("one estimate")[0]
    print(f"milliseconds of one estimate with a given plan: {1e3 * alone:.1f}")
    for name, (seconds, answer) in found.items():
        counts = ", ".join(f"{key} {answer[key]:,}" for key in ("enumerated", "evaluated", "feasible"))
        inside = 1e3 * answer["seconds"]
        print(f"milliseconds of {name}: {1e3 * seconds:.0f} ({counts}; in the search {inside:.0f})")
        assert seconds < ESTIMATES_OF_A_SEARCH * alone
