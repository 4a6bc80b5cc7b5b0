"""Speed of the plan search: absolute figures are printed, ratios within one run are held."""

import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from app.engine.operators.table import OperatorTable
from app.engine.records import GpuSystem
from app.engine.search.enumeration import spread_of
from app.engine.search.evaluate import Candidates, GpuEvaluator
from app.engine.search.space import Space, layouts
from app.estimating.deciding import decide
from app.estimating.scenario import Scenario
from app.estimating.workload import resolve_model
from tests.conftest import asked, sizing_context
from tests.engine.search.conftest import gpu_plans

pytestmark = pytest.mark.benchmark

MODELS = (
    *("llama-7b", "llama-13b", "llama-33b", "llama-65b", "llama2-70b", "llama3-405b"),
    *("megatron-1.7b", "megatron-18.4b", "megatron-39.1b", "megatron-76.1b", "megatron-145.6b"),
    *("megatron-310.1b", "megatron-1t", "gpt3-175b", "bloom-176b", "mt-nlg-530b"),
)

MACHINES = (1, 4, 16, 32, 64, 128, 256, 512)

BATCHES = (512, 1024, 1536, 2048)

SEQ_LEN = 2048

MILLION = 1_000_000

ROUNDS = 3

NAIVE = ("llama-7b", "gpt3-175b", "megatron-1t")

USABLE = 0.94
"""Share of a device that a plan fills at most."""

MOST_BYTES_A_PLAN = 400
"""Fifteen columns, two indices, memory, time and fit of a plan are 160 bytes; as much again passes by."""


def scenarios() -> dict[str, Scenario]:
    context = sizing_context()
    found = {}
    for name in MODELS:
        request = asked(model={"preset": name}, workload={"seq_len": SEQ_LEN, "global_batch": 512})
        hardware = context.hardware.system("dgx-a100-640gb", 512)
        found[name] = decide(request, resolve_model(request.model, context), hardware, context).scenario.tuned
    return found


def sweep(scenarios: dict[str, Scenario]) -> Iterator[tuple[Scenario, Space]]:
    """Spaces of all models, counts of GPUs and batches."""
    for scenario in scenarios.values():
        for machines in MACHINES:
            for batch in BATCHES:
                yield scenario, space_of(scenario, 8 * machines, batch)


def space_of(scenario: Scenario, devices: int, batch: int) -> Space:
    table: OperatorTable = scenario.table
    return Space(
        devices=devices, devices_per_node=8, global_batch=batch, depth=table.depth,
        heads=int(table.attention_heads), ipu=False, allowed={},
        fused_attention=scenario.gpu_software().fused_attention > 0.0,
    )  # fmt: skip


def search(scenario: Scenario, space: Space, limit: float = np.inf, worth: float = np.inf) -> Candidates:
    """Find the plans of a space that fit, with memory and time of each; all fit without a limit."""
    case = scenario.gpu_case()
    if np.isinf(limit):
        case = replace(case, host_memory=0.0)
    evaluator = GpuEvaluator(case)
    return evaluator.fitting(spread_of(space, layouts(space)), evaluator.limits(limit, worth=worth))


def usable(scenario: Scenario) -> float:
    """Return what a plan may fill of one device. [B]"""
    assert isinstance(scenario.hardware, GpuSystem)
    return USABLE * scenario.hardware.chip.memory_capacity


def report(name: str, value: object) -> None:
    """Print one figure; ``pytest -m benchmark -rP`` shows them."""
    print(f"{name}: {value}")


def swept(found: dict[str, Scenario], *, limited: bool) -> tuple[int, int, float]:
    """Return distinct plans, those whose time was computed, and the seconds of one sweep.

    Each space counts with the fastest of several searches, so that what else the machine does counts little.
    """
    count = timed = 0
    total = 0.0
    for scenario, space in sweep(found):
        limit = usable(scenario) if limited else np.inf
        seconds = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            kept = search(scenario, space, limit)
            seconds.append(time.perf_counter() - start)
        count += kept.count
        timed += int(kept.evaluated.fits.sum())
        total += min(seconds)
    return count, timed, total


def test_a_sweep_of_a_million_plans_is_faster_than_every_plan_anew() -> None:
    """Enumeration, memory and full step time of each; the naive way on a sample of the same plans."""
    found = scenarios()
    alone = naive_seconds(found)
    report("million plans per second anew", round(1e-6 / alone, 4))
    for limited, name in ((False, "memory and time of every plan"), (True, "time of those that fit")):
        count, timed, seconds = swept(found, limited=limited)
        report(f"plans of the sweep, {name}", f"{count:,}, of which timed {timed:,}")
        report("million plans per second", round(count / seconds / 1e6, 3))
        report("shared over anew", round(alone * count / seconds, 1))
        assert count >= MILLION
        assert alone * count > 2 * seconds


def naive_seconds(found: dict[str, Scenario], sample: int = 4096) -> float:
    """Return the seconds of a plan where nothing is shared: memory and step of a sample, in arrays."""
    generator = np.random.default_rng(0)
    spent = 0.0
    for name in NAIVE:
        scenario = found[name]
        plans = gpu_plans(space_of(scenario, 1024, 1536))
        chosen = plans.take(generator.integers(0, plans.tensor.size, sample))
        seconds = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            scenario.memory(chosen)
            scenario.step(chosen)
            seconds.append(time.perf_counter() - start)
        spent += min(seconds) / sample
    return spent / len(NAIVE)


WORTH = 1.5
MOST_EVALUATED = 0.7
"""Share of the plans of the sweep that are evaluated where others are passed over: it is 0.55."""


def test_what_is_not_worth_it_is_not_evaluated() -> None:
    """Bounds leave most plans out, and the best is the same."""
    count = evaluated = 0
    for scenario, space in sweep(scenarios()):
        every, some = (search(scenario, space, usable(scenario), worth) for worth in (np.inf, WORTH))
        count, evaluated = count + every.count, evaluated + some.count
        assert some.evaluated.seconds.min() == every.evaluated.seconds.min()
    report("share of plans that are evaluated", round(evaluated / count, 3))
    assert evaluated < MOST_EVALUATED * count


def test_plans_of_the_sweep_are_distinct() -> None:
    distinct = count = 0
    for _, space in sweep(scenarios()):
        plans = gpu_plans(space)
        columns = [getattr(plans, name) for name in plans.__slots__]
        order = np.lexsort(columns)
        same = np.ones(max(plans.tensor.size - 1, 0), dtype=bool)
        for column in columns:
            same &= np.diff(column[order]) == 0
        count += plans.tensor.size
        distinct += plans.tensor.size - int(same.sum())
    report("distinct plans", f"{distinct:,} of {count:,}")
    assert distinct == count


@pytest.mark.parametrize("name", MODELS)
def test_the_best_plan_takes_as_long_as_that_plan_alone(name: str) -> None:
    scenario = scenarios()[name]
    found = search(scenario, space_of(scenario, 1024, 1536), usable(scenario))
    best = int(np.argmin(found.evaluated.seconds))
    seconds = float(found.evaluated.seconds[best] * scenario.time_factor())
    alone = scenario.step(found.plans.take(np.array([best]))).total
    report(f"seconds of the best of {found.count:,} plans", seconds)
    assert seconds == pytest.approx(float(alone[0]), rel=1e-12)


def test_the_memory_of_a_search_is_bounded() -> None:
    scenario = scenarios()["megatron-1t"]
    space = space_of(scenario, 3072, 1536)
    tracemalloc.start()
    count = search(scenario, space).count
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    report(f"megabytes at the peak of {count:,} plans", round(peak / 1e6, 1))
    report("bytes a plan", round(peak / count))
    assert peak < MOST_BYTES_A_PLAN * count + 64e6
