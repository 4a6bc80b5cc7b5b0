"""Speed: absolute figures are printed, ratios within one run are held."""

import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import httpx
import numpy as np
import pytest

from app.engine.plans import Plans
from app.engine.search.space import Space
from app.estimating.deciding import decide
from app.estimating.estimate import estimate
from app.estimating.scenario import Scenario
from app.estimating.validation.run import read_rows, validate
from app.estimating.workload import resolve_model
from app.features.sizings.answering import size
from app.features.sizings.model import SizingRequest
from app.main import create_app
from app.platform.caches import LruCache
from app.settings import Settings
from tests.benchmarks.conftest import report
from tests.conftest import DATA, answer, asked, plan_given_back, run, sizing_context
from tests.engine.search.conftest import gpu_plans
from tests.features.sizings.conftest import DAY, MODELS

pytestmark = pytest.mark.benchmark

GPT3: dict[str, Any] = {
    "model": {"preset": "gpt3-175b"},
    "workload": {"samples": 1e6, "global_batch": 1536, "seq_len": 2048},
    "system": {"count": 128},
}


def fastest(work: Callable[[], object], times: int = 5) -> float:
    """Return the seconds of the fastest of several runs."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    request, context = asked(**GPT3), sizing_context()
    hardware = context.hardware.system("dgx-a100-640gb", 128)
    return decide(request, resolve_model(request.model, context), hardware, context).scenario


@pytest.fixture(scope="module")
def plans() -> Plans:
    space = Space(
        devices=1024, devices_per_node=8, global_batch=1536, depth=96, heads=96, ipu=False, allowed={}
    )
    return gpu_plans(space)


@pytest.mark.parametrize("system", ["dgx-a100-640gb", "bow-pod64"])
def test_an_estimate_with_a_given_plan(system: str) -> None:
    parts = {"system": {"id": system}, "workload": {"global_batch": 1024}}
    found = answer(**parts)
    given = parts | {"plan": plan_given_back(found)}
    seconds = fastest(lambda: answer(**given), 10)
    report(f"milliseconds of an estimate of BERT-Large on {system}", round(1e3 * seconds, 2))
    assert seconds < 1.5 * fastest(lambda: answer(**parts), 5)


def test_a_search_over_1024_devices() -> None:
    seconds = fastest(lambda: answer(**GPT3), 3)
    report("milliseconds of an estimate of GPT-3 with its plan searched", round(1e3 * seconds, 1))


def test_plans_in_arrays_are_faster_than_one_by_one(scenario: Scenario, plans: Plans) -> None:
    few = np.arange(0, plans.tensor.size, max(plans.tensor.size // 50, 1))[:50]
    together = fastest(lambda: scenario.step(plans.take(few)), 3)
    alone = fastest(lambda: [scenario.step(plans.take(one)) for one in few[:, np.newaxis]], 1)
    report("fifty plans together over one by one", round(alone / together, 1))
    assert alone > 5 * together


def test_validation_of_every_measured_row() -> None:
    rows = read_rows((DATA / "validation" / "measured.csv").read_text(encoding="utf-8"))
    sizing_context()
    seconds = fastest(lambda: validate(rows, sizing_context()), 1)
    report("validation rows per second", round(len(rows) / seconds))
    assert seconds < 30 * len(rows) / 1000


def test_an_estimate_through_the_api(tmp_path: Path) -> None:
    """Server time of one estimate with a given plan: parsing, deciding, storing and writing it out."""
    parts: dict[str, Any] = {"workload": {"global_batch": 1024}}
    given = parts | {"plan": plan_given_back(answer(**parts))}
    document = asked(**given).model_dump(exclude_unset=True)
    application = create_app(Settings.at(tmp_path))

    async def timed() -> float:
        transport = httpx.ASGITransport(application)
        found = []
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for _ in range(10):
                start = time.perf_counter()
                answered = await client.post("/api/v1/estimates", json=document)
                found.append(time.perf_counter() - start)
                assert answered.status_code == 201, answered.text
        return min(found)

    seconds = run(timed())
    report("milliseconds of an estimate through the API", round(1e3 * seconds, 1))
    assert seconds < 10 * fastest(lambda: answer(**given))


@pytest.mark.parametrize("name", ["gpt3-175b", "bert-large", "resnet50"])
def test_a_sizing_over_the_whole_catalogue(name: str) -> None:
    """Every system at every count to 4,096 accelerators, held against as many searches of one system."""
    request = SizingRequest.model_validate({**MODELS[name], "deadline_s": 30 * DAY})
    found = size(request, sizing_context()).document
    seconds = fastest(lambda: size(request, sizing_context()), 1)
    report(f"seconds of a sizing of {name} over the catalogue", round(seconds, 2))
    report("candidates, searches", (found.considered, found.searched))
    one = request.model_copy(update={"systems": ["dgx-a100-640gb"], "counts": [16]})
    alone = fastest(lambda: size(one, sizing_context()), 3)
    assert seconds < 2 * found.searched * alone


LOOPS = {"gpt3-175b": 24.0, "bert-large": 19.0}
"""Processor time of a sizing of the whole catalogue, in loops of three million multiply-adds of CPython."""
SLOWER = 1.3
SIZED: dict[str, dict[str, Any]] = {
    "gpt3-175b": {**MODELS["gpt3-175b"], "deadline_s": 14 * DAY},
    "bert-large": {
        "model": {"preset": "bert-large"},
        "workload": {"target": "mlperf-bert"},
        "deadline_s": 3700.0,
    },
}


def processor_time(work: Callable[[], object], times: int) -> float:
    """Return the least processor time of several runs. [s]"""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def loop() -> None:
    value = 0.0
    for _ in range(3_000_000):
        value = value * 1.0000001 + 1.0


@pytest.mark.parametrize("name", LOOPS)
def test_a_sizing_takes_few_loops(name: str) -> None:
    request = SizingRequest.model_validate(SIZED[name])
    size(request.model_copy(update={"systems": ["dgx-a100-640gb"]}), sizing_context())
    before = processor_time(loop, 2)
    seconds = processor_time(lambda: size(request, sizing_context()), 2)
    loops = seconds / max(before, processor_time(loop, 2))
    report(f"loops of a sizing of {name}", round(loops, 1))
    assert loops < SLOWER * LOOPS[name]


ESTIMATED: dict[str, dict[str, Any]] = {
    "given": {
        "workload": {"samples": 2e7, "global_batch": 512, "seq_len": 512},
        "plan": {"tensor": 1, "pipeline": 1, "micro_batch": 64},
    },
    "bow-pod16": {"workload": {"samples": 2e7}, "system": {"id": "bow-pod16"}},
}
CALLS = {"given": (430, 7_300), "bow-pod16": (400, 6_400)}
"""Functions of the application on the way of an estimate, and calls of Python, beside numbers of samples
that were never asked: machines under load change neither."""


@pytest.mark.parametrize("name", CALLS)
def test_an_estimate_calls_few_functions(name: str) -> None:
    context = replace(sizing_context(), remember=LruCache[Any](384).get)
    functions, calls = set[CodeType](), 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}
        if event == "call" and "/app/" in frame.f_code.co_filename:
            functions.add(frame.f_code)

    estimate(asked(**ESTIMATED[name]), context)
    parts = ESTIMATED[name] | {"workload": ESTIMATED[name]["workload"] | {"samples": 3e7}}
    request = asked(**parts)
    sys.setprofile(note)
    try:
        estimate(request, context)
    finally:
        sys.setprofile(None)
    report(f"functions and calls of an estimate, {name}", (len(functions), calls))
    most = CALLS[name]
    assert len(functions) < SLOWER * most[0] and calls < SLOWER * most[1]


def test_a_sizing_stays_small_in_memory() -> None:
    request = SizingRequest.model_validate({**MODELS["resnet50"], "deadline_s": 30 * DAY})
    sizing_context()
    tracemalloc.start()
    size(request, sizing_context())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    report("peak MB of a sizing over the catalogue", round(peak / 1e6))
    assert peak < 500e6
