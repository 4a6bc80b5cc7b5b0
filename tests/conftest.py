"""What all tests share: the browser's path, the same examples each time, no silent omissions in CI."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import time
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from hypothesis import settings
from structlog.stdlib import ProcessorFormatter

import dev
from app.catalog.own import OwnAccelerator
from app.engine.records import Intra
from app.estimating.context import SizingContext, load_context
from app.estimating.documents import CheckWarning, Estimate
from app.estimating.estimate import estimate
from app.estimating.request import EstimateRequest, PlanInput

pytest_plugins = [
    "tests.support.application",
    "tests.support.postgres",
    "tests.support.stores",
    "tests.support.windows",
]

ROOT = Path(__file__).parents[1]
DATA = ROOT / "data"

settings.register_profile("seeded", derandomize=True, deadline=None, database=None)
settings.load_profile("seeded")

# httpx looks for this module at every request to an application; the search for what is not there takes as
# long as a quick answer does.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]

LONG = (
    *("tests/isolation/test_walk.py", "tests/browser/test_pages.py", "tests/tools/test_accuracy.py"),
    *(
        "tests/browser/test_figures.py",
        "tests/platform/wording/test_language.py",
        "tests/browser/test_sweeps.py",
    ),
    *("tests/test_", "tests/browser/", "tests/features/", "tests/journeys/", "tests/generated/"),
    *("tests/platform/", "tests/isolation/", "tests/commands/", "tests/estimating/", "tests/tools/"),
)
"""Where files take long, the longest first; begun last, one of them would keep one processor when the others
have nothing more to do."""

SELDOM = (20_000, 10, 10)
"""New objects after which the garbage is looked for, and how often it is among older ones too."""

NO_BROWSER = "there is no Chromium on PATH"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Take what is loaded for lasting; the search for garbage among it took a fifth of the time."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.set_threshold(*SELDOM)
    gc.enable()
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, and leave browser tests out where there is no browser to drive."""
    items.sort(
        key=lambda item: next((at for at, name in enumerate(LONG) if item.nodeid.startswith(name)), len(LONG))
    )
    if dev.find("browser tests") is None:
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason=NO_BROWSER))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that left something out where nothing may be left out."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and reporter is not None and reporter.stats.get("skipped"):
        reporter.ensure_newline()
        reporter.write_line("Tests were skipped, and with CI=true none may be.")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def browser_path() -> str:
    """Path of the Chromium to drive; only for tests marked ``browser``."""
    path = dev.find("browser tests")
    assert path is not None, NO_BROWSER
    return path


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """Take back the log that a command has set up: it writes to the error output of that command."""
    root = logging.getLogger()
    level = root.level
    yield
    root.setLevel(level)
    for handler in list(root.handlers):
        if isinstance(handler.formatter, ProcessorFormatter):
            root.removeHandler(handler)


Answer = TypeVar("Answer")

RUN = asyncio.run
"""As it is, wherever a test puts :func:`run` in its place."""


def run(coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """Return what a coroutine answers, run in a thread of its own.

    The browser tests keep a loop alive in the main thread for as long as the browser is open.
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(RUN, coroutine).result()


BERT: Mapping[str, Any] = {
    "model": {"preset": "bert-large"},
    "workload": {"samples": 1e7, "global_batch": 1024, "seq_len": 128},
    "system": {"id": "dgx-a100-640gb"},
}
"""A request that is answered without a warning."""


@cache
def sizing_context() -> SizingContext:
    return load_context(DATA)


def asked(**parts: Any) -> EstimateRequest:
    """Return the request of :data:`BERT` with some parts changed, field by field."""
    request = {name: dict(value) for name, value in BERT.items()}
    for name, value in parts.items():
        before = request.get(name)
        request[name] = before | value if isinstance(before, dict) and name != "model" else value
    return EstimateRequest.model_validate(request)


def answer(**parts: Any) -> Estimate:
    return estimate(asked(**parts), sizing_context())


def codes(found: Estimate) -> set[str]:
    return {warning.code for warning in found.warnings}


def problem_of(answer: httpx.Response) -> tuple[int | str, ...]:
    """Return the status of a refusal, its code and the fields that are at fault, in their order."""
    problem = answer.json()
    return (answer.status_code, problem["code"], *sorted({error["field"] for error in problem["errors"]}))


def warning(found: Estimate, code: str) -> CheckWarning:
    (one,) = (entry for entry in found.warnings if entry.code == code)
    return one


def seconds(found: Estimate) -> float:
    assert found.time_to_train is not None
    return found.time_to_train.value


def plan_given_back(found: Estimate) -> dict[str, Any]:
    """Return the plan of an answer as a request states it."""
    assert found.plan is not None
    return {name: getattr(found.plan, name) for name in PlanInput.model_fields}


@pytest.fixture(scope="session")
def context() -> SizingContext:
    return sizing_context()


H200 = OwnAccelerator(
    id="own-aaaaaaaaaaaaaaaa",
    name="Twin of H200",
    maker="NVIDIA",
    version=3,
    as_of="2026-11-23",
    stated_by="Ann",
    data_sheet="brief",
    data_sheet_date=None,
    withdrawn=False,
    peaks={"bf16_tflops": 989.0, "tf32_tflops": 494.5, "fp8_tflops": 1979.0},
    sparse=False,
    memory_gb=141.0,
    memory_gb_per_s=4800.0,
    power_w=700.0,
    link=Intra.NVSWITCH,
    link_gb_per_s=450.0,
    devices=8,
    linked_devices=8,
    fabric="ndr-infiniband",
    ports=8,
    machine_price=300_000.0,
    hourly_rent=None,
    currency="USD",
    price_date="2026-11-01",
)
"""The data sheet of a chip that the catalogue has, as somebody would state it."""


def until(said: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not said():
        assert time.monotonic() < deadline
        time.sleep(0.02)
